//! The client's end: it writes messages to descriptor 3 of the browser it launches, and reads the
//! browser's from descriptor 4. Each message ends with a zero byte.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileTypeExt as _;
use std::os::unix::net::UnixStream as StdUnixStream;
use std::thread;

use command_fds::{CommandFdExt as _, FdMapping};
use filedescriptor::FileDescriptor;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use tokio::io::{
    AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, BufReader,
    BufWriter,
};
use tokio::net::UnixStream;
use tokio::net::unix::pipe;
use tokio::process::Command;
use tokio::sync::watch;

use crate::error::Error;

const FROM_CLIENT: i32 = 3;
const TO_CLIENT: i32 = 4;
const BUFFER: usize = 64 << 10;

pub struct ClientPipe {
    from_client: File,
    to_client: File,
}

impl ClientPipe {
    /// Takes what this process has inherited from the client.
    pub fn inherited() -> Result<Self, Error> {
        Ok(Self {
            from_client: inherited(FROM_CLIENT)?,
            to_client: inherited(TO_CLIENT)?,
        })
    }

    /// Notices when the client leaves, without reading what it sends.
    pub fn watch(&self) -> io::Result<HangUp> {
        let file = self.from_client.try_clone()?;
        let (left, has_left) = watch::channel(false);
        // Waiting asynchronously would make the descriptor non-blocking for the browser, too.
        thread::spawn(move || {
            // Without flags, only the end of the pipe is reported.
            let mut ends = [PollFd::new(&file, PollFlags::empty())];
            while poll(&mut ends, None) == Err(Errno::INTR) {}
            left.send_replace(true);
        });
        Ok(HangUp(has_left))
    }

    /// Gives both descriptors to a browser that is about to be started.
    pub fn give_to(self, command: &mut Command) -> io::Result<()> {
        let mapping = |file: File, child_fd| FdMapping {
            parent_fd: file.into(),
            child_fd,
        };
        let mappings = vec![
            mapping(self.from_client, FROM_CLIENT),
            mapping(self.to_client, TO_CLIENT),
        ];
        command.fd_mappings(mappings).map_err(io::Error::other)?;
        Ok(())
    }

    /// Reads and writes messages of at most this many bytes.
    pub fn open(self, max_message: usize) -> io::Result<(MessageReader, MessageWriter)> {
        let reader = Input {
            bytes: BufReader::with_capacity(BUFFER, reader(self.from_client)?),
            max_message,
        };
        let writer = BufWriter::with_capacity(BUFFER, writer(self.to_client)?);
        Ok((MessageReader(reader), MessageWriter(writer)))
    }
}

/// A second descriptor of the same pipe. Without a client, this process may have opened something
/// else under that number, but never a pipe or a socket.
fn inherited(number: i32) -> Result<File, Error> {
    let open = || -> Option<File> {
        let file = FileDescriptor::dup(&number).ok()?.as_file().ok()?;
        let kind = file.metadata().ok()?.file_type();
        (kind.is_fifo() || kind.is_socket()).then_some(file)
    };
    open().ok_or(Error::NoClientPipe)
}

/// Node.js uses sockets as pipes.
fn is_socket(file: &File) -> io::Result<bool> {
    Ok(file.metadata()?.file_type().is_socket())
}

fn reader(file: File) -> io::Result<Box<dyn AsyncRead + Send + Unpin>> {
    Ok(if is_socket(&file)? {
        Box::new(socket(file)?)
    } else {
        Box::new(pipe::Receiver::from_owned_fd(file.into())?)
    })
}

fn writer(file: File) -> io::Result<Box<dyn AsyncWrite + Send + Unpin>> {
    Ok(if is_socket(&file)? {
        Box::new(socket(file)?)
    } else {
        Box::new(pipe::Sender::from_owned_fd(file.into())?)
    })
}

fn socket(file: File) -> io::Result<UnixStream> {
    let socket = StdUnixStream::from(OwnedFd::from(file));
    socket.set_nonblocking(true)?;
    UnixStream::from_std(socket)
}

/// Watches the client's end of the pipe.
pub struct HangUp(watch::Receiver<bool>);

impl HangUp {
    /// Resolves when the client has closed its end, as it does at the latest when it exits.
    pub async fn wait(&self) {
        let _ = self.0.clone().wait_for(|has_left| *has_left).await;
    }
}

struct Input<R> {
    bytes: R,
    max_message: usize,
}

pub struct MessageReader(Input<BufReader<Box<dyn AsyncRead + Send + Unpin>>>);

impl MessageReader {
    /// `None` when the client has closed its end. What it sent of an incomplete message is dropped.
    pub async fn next(&mut self) -> io::Result<Option<String>> {
        self.0.next().await
    }
}

impl<R: tokio::io::AsyncBufRead + Unpin> Input<R> {
    async fn next(&mut self) -> io::Result<Option<String>> {
        let mut message = Vec::new();
        let limit = u64::try_from(self.max_message).unwrap_or(u64::MAX);
        let mut limited = (&mut self.bytes).take(limit.saturating_add(1));
        limited.read_until(0, &mut message).await?;
        if message.pop() == Some(0) {
            let text = String::from_utf8(message);
            return text.map(Some).map_err(io::Error::other);
        }
        if message.len() < self.max_message {
            return Ok(None);
        }
        let reason = "the client sent a message that is too large";
        Err(io::Error::new(io::ErrorKind::InvalidData, reason))
    }
}

pub struct MessageWriter(BufWriter<Box<dyn AsyncWrite + Send + Unpin>>);

impl MessageWriter {
    pub async fn send(&mut self, text: &str) -> io::Result<()> {
        self.0.write_all(text.as_bytes()).await?;
        self.0.write_all(&[0]).await?;
        self.0.flush().await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn read_all(bytes: &[u8], max_message: usize) -> io::Result<Vec<String>> {
        let mut input = Input { bytes, max_message };
        let mut messages = Vec::new();
        while let Some(message) = input.next().await? {
            messages.push(message);
        }
        Ok(messages)
    }

    #[tokio::test]
    async fn messages_end_with_a_zero_byte() {
        let read = read_all(b"{}\0[1]\0incomplete", 64).await;
        assert_eq!(read.unwrap(), ["{}", "[1]"]);
        assert!(read_all(b"", 64).await.unwrap().is_empty());
    }

    #[tokio::test]
    async fn messages_have_a_size_limit_and_are_text() {
        assert_eq!(read_all(b"1234\0", 4).await.unwrap(), ["1234"]);
        assert!(read_all(b"12345\0", 4).await.is_err());
        assert!(read_all(b"12345", 4).await.is_err());
        assert!(read_all(b"\xff\0", 4).await.is_err());
    }
}
