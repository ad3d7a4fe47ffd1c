//! Writes messages to a client. Small ones are collected and written together; a large one is
//! written from its own memory.

use std::io::{self, IoSlice};

use tokio::io::{AsyncWrite, AsyncWriteExt as _};

use super::frame::{self, Opcode};

/// A payload of at least this size is written from its own memory.
const LARGE_PAYLOAD: usize = 16 << 10;
/// How much is collected before it has to be written.
const MAX_COLLECTED: usize = 32 << 10;
/// The longest reason that fits into a close frame.
const MAX_CLOSE_REASON: usize = 123;

#[derive(Debug)]
pub enum Outgoing {
    Text(String),
    Pong(Vec<u8>),
    Close(Close),
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

    #[cfg(test)]
    pub fn payload(&self) -> &[u8] {
        &self.0
    }
}

impl Outgoing {
    pub fn payload_size(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Pong(payload) | Self::Close(Close(payload)) => payload.len(),
        }
    }
}

pub struct Writer<W> {
    stream: W,
    /// Small frames, and the header of the large frame behind them.
    collected: Vec<u8>,
    /// The payload of one large frame.
    large: Vec<u8>,
    /// How many bytes of both have been written.
    written: usize,
}

impl<W: AsyncWrite + Unpin> Writer<W> {
    pub fn new(stream: W) -> Self {
        Self {
            stream,
            collected: Vec::new(),
            large: Vec::new(),
            written: 0,
        }
    }

    /// Adds a message to what `flush` writes. A full writer must be flushed first.
    pub fn put(&mut self, message: Outgoing) {
        let (opcode, payload) = match message {
            Outgoing::Text(text) => (Opcode::Text, text.into_bytes()),
            Outgoing::Pong(payload) => (Opcode::Pong, payload),
            Outgoing::Close(Close(payload)) => (Opcode::Close, payload),
        };
        frame::put_header(&mut self.collected, opcode, payload.len());
        if payload.len() >= LARGE_PAYLOAD {
            self.large = payload;
        } else {
            self.collected.extend_from_slice(&payload);
        }
    }

    pub fn is_full(&self) -> bool {
        !self.large.is_empty() || self.collected.len() >= MAX_COLLECTED
    }

    /// Writes everything. Cancel safe: the next call continues where this one stopped.
    pub async fn flush(&mut self) -> io::Result<()> {
        while self.written < self.collected.len() + self.large.len() {
            let collected = self.collected.get(self.written..).unwrap_or_default();
            let large_written = self.written.saturating_sub(self.collected.len());
            let large = self.large.get(large_written..).unwrap_or_default();
            let parts = [IoSlice::new(collected), IoSlice::new(large)];
            match self.stream.write_vectored(&parts).await? {
                0 => return Err(io::ErrorKind::WriteZero.into()),
                count => self.written += count,
            }
        }
        self.collected.clear();
        self.large = Vec::new();
        self.written = 0;
        self.stream.flush().await
    }
}
