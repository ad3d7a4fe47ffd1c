//! The debugging pipe of a browser that loads the extension over it. It is used for nothing else.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use command_fds::{CommandFdExt as _, FdMapping};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::unix::pipe;
use tokio::process::Command;

use crate::error::Error;

/// CDP over two pipes. Messages end with a zero byte.
pub struct DebuggingPipe {
    to_browser: pipe::Sender,
    from_browser: BufReader<pipe::Receiver>,
}

impl DebuggingPipe {
    /// Gives the browser its two ends, which it expects as descriptors 3 and 4.
    pub fn attach(command: &mut Command) -> io::Result<Self> {
        let (browser_reads, to_browser) = io::pipe()?;
        let (from_browser, browser_writes) = io::pipe()?;
        let mapping = |end: OwnedFd, child_fd| FdMapping {
            parent_fd: end,
            child_fd,
        };
        command
            .fd_mappings(vec![
                mapping(browser_reads.into(), 3),
                mapping(browser_writes.into(), 4),
            ])
            .map_err(io::Error::other)?;
        Ok(Self {
            to_browser: pipe::Sender::from_owned_fd(to_browser.into())?,
            from_browser: BufReader::new(pipe::Receiver::from_owned_fd(from_browser.into())?),
        })
    }

    /// Without a timeout of its own: launching has one.
    pub async fn load_extension(&mut self, extension: &Path) -> Result<(), Error> {
        let failed = |error: io::Error| Error::DebuggingPipe(error.to_string());
        let request = serde_json::json!({ "id": 1, "method": "Extensions.loadUnpacked", "params": { "path": extension } });
        self.to_browser
            .write_all(format!("{request}\0").as_bytes())
            .await
            .map_err(failed)?;
        let mut reply = Vec::new();
        let read = self.from_browser.read_until(0, &mut reply);
        let length = read.await.map_err(failed)?;
        if length == 0 {
            // The browser has exited. The caller waits for it and reports that.
            return Ok(());
        }
        reply.pop();
        let reply: serde_json::Value =
            serde_json::from_slice(&reply).map_err(|error| failed(error.into()))?;
        match reply.get("error") {
            Some(error) => Err(Error::DebuggingPipe(error.to_string())),
            None => Ok(()),
        }
    }
}
