//! Writes messages to a client. Small ones are collected and written together; a large one is
//! written from its own memory.

use std::fmt;
use std::io::{self, IoSlice};

use tokio::io::{AsyncWrite, AsyncWriteExt as _};

use super::frame::{self, Opcode};

/// A payload of at least this size is written from its own memory.
pub const LARGE_PAYLOAD: usize = 16 << 10;
/// How much is collected before it has to be written.
const MAX_COLLECTED: usize = 32 << 10;
/// The longest reason that fits into a close frame.
const MAX_CLOSE_REASON: usize = 123;

#[derive(Debug)]
pub enum Outgoing {
    Text(String),
    /// A large text in memory of another type, which is written without a copy.
    Shared(SharedText),
    Ping,
    Pong(Vec<u8>),
    Close(Close),
}

pub struct SharedText(Box<dyn AsRef<str> + Send>);

impl SharedText {
    pub fn new(text: impl AsRef<str> + Send + 'static) -> Self {
        Self(Box::new(text))
    }

    pub fn as_str(&self) -> &str {
        (*self.0).as_ref()
    }
}

impl fmt::Debug for SharedText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_str().fmt(f)
    }
}

/// The payload of a close frame: a status code and a reason.
#[derive(Debug, Clone)]
pub struct Close(Vec<u8>);

impl Close {
    /// A reason that is too long is cut off.
    pub fn new(code: u16, reason: &str) -> Self {
        let ends = reason.char_indices().map(|(at, c)| at + c.len_utf8());
        let end = ends.take_while(|end| *end <= MAX_CLOSE_REASON).last();
        let reason = reason.get(..end.unwrap_or(0)).unwrap_or_default();
        Self([&code.to_be_bytes(), reason.as_bytes()].concat())
    }

    pub fn reason(&self) -> &str {
        let reason = self.0.get(2..).unwrap_or_default();
        std::str::from_utf8(reason).unwrap_or_default()
    }

    #[cfg(test)]
    pub fn payload(&self) -> &[u8] {
        &self.0
    }
}

impl Outgoing {
    pub fn payload_size(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Shared(text) => text.as_str().len(),
            Self::Ping => 0,
            Self::Pong(payload) | Self::Close(Close(payload)) => payload.len(),
        }
    }
}

enum Large {
    None,
    Owned(Vec<u8>),
    Shared(SharedText),
}

impl Large {
    fn as_bytes(&self) -> &[u8] {
        match self {
            Self::None => &[],
            Self::Owned(payload) => payload,
            Self::Shared(text) => text.as_str().as_bytes(),
        }
    }
}

pub struct Writer<W> {
    stream: W,
    /// Small frames, and the header of the large frame behind them.
    collected: Vec<u8>,
    /// The payload of one large frame.
    large: Large,
    /// How many bytes of both have been written.
    written: usize,
}

impl<W: AsyncWrite + Unpin> Writer<W> {
    pub fn new(stream: W) -> Self {
        Self {
            stream,
            collected: Vec::new(),
            large: Large::None,
            written: 0,
        }
    }

    /// Adds a message to what `flush` writes. A full writer must be flushed first.
    pub fn put(&mut self, message: Outgoing) {
        let (opcode, payload) = match message {
            Outgoing::Text(text) => (Opcode::Text, Large::Owned(text.into_bytes())),
            Outgoing::Shared(text) => (Opcode::Text, Large::Shared(text)),
            Outgoing::Ping => (Opcode::Ping, Large::None),
            Outgoing::Pong(payload) => (Opcode::Pong, Large::Owned(payload)),
            Outgoing::Close(Close(payload)) => (Opcode::Close, Large::Owned(payload)),
        };
        let bytes = payload.as_bytes();
        frame::put_header(&mut self.collected, opcode, bytes.len());
        if bytes.len() >= LARGE_PAYLOAD {
            self.large = payload;
        } else {
            self.collected.extend_from_slice(bytes);
        }
    }

    pub fn is_full(&self) -> bool {
        !matches!(self.large, Large::None) || self.collected.len() >= MAX_COLLECTED
    }

    /// Whether nothing is left to write.
    pub fn is_flushed(&self) -> bool {
        self.collected.is_empty() && matches!(self.large, Large::None)
    }

    /// Writes everything. Cancel safe: the next call continues where this one stopped.
    pub async fn flush(&mut self) -> io::Result<()> {
        while !self.is_flushed() {
            self.write_some().await?;
        }
        Ok(())
    }

    /// Writes at least one byte. Cancel safe.
    pub async fn write_some(&mut self) -> io::Result<()> {
        let large = self.large.as_bytes();
        let size = self.collected.len() + large.len();
        if self.written < size {
            let collected = self.collected.get(self.written..).unwrap_or_default();
            let large_written = self.written.saturating_sub(self.collected.len());
            let large = large.get(large_written..).unwrap_or_default();
            let parts = [IoSlice::new(collected), IoSlice::new(large)];
            match self.stream.write_vectored(&parts).await? {
                0 => return Err(io::ErrorKind::WriteZero.into()),
                count => self.written += count,
            }
        }
        if self.written == size {
            self.stream.flush().await?;
            self.collected.clear();
            self.large = Large::None;
            self.written = 0;
        }
        Ok(())
    }

    /// Ends the stream's writing direction.
    pub async fn shutdown(&mut self) -> io::Result<()> {
        self.stream.shutdown().await
    }
}
