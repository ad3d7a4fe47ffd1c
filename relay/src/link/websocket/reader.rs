//! Reads messages from a client: joins fragments, enforces the size limit, and checks UTF-8 as it
//! arrives.
//!
//! Memory grows with what has arrived, never with what a header announces.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::io::{AsyncRead, AsyncReadExt as _};

use super::frame::{self, Header, Opcode};

/// How much is read at once, except for the rest of a large payload.
const READ_AHEAD: usize = 32 << 10;
/// How much memory a message may reserve before it arrives. Screenshots fit, so they do not have to
/// be moved.
const MAX_RESERVED: usize = 16 << 20;
/// How many times as much as has arrived a larger message may reserve.
const GROWTH: usize = 4;

#[derive(Debug, PartialEq, Eq)]
pub enum Message {
    Text(String),
    /// Must be answered by a pong with the same payload.
    Ping(Vec<u8>),
    Pong,
    /// The peer closes the connection with this status code.
    Close(u16),
}

/// Why no more messages can be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error("The connection was lost.")]
    Disconnected(#[from] io::Error),
    #[error("{0}")]
    Protocol(&'static str),
    #[error("Text messages must be valid UTF-8.")]
    InvalidUtf8,
    #[error("Binary messages are not supported. Send text messages.")]
    Binary,
    #[error("The message is too large. The relay's option --max-message-mib sets the limit.")]
    TooLarge,
    #[error("The relay does not have enough memory for this message.")]
    OutOfMemory,
}

pub struct Reader<R> {
    stream: R,
    /// Bytes read from the stream. The first `consumed` have been processed.
    buffer: Vec<u8>,
    consumed: usize,
    max_message: usize,
    /// What has arrived of the current message.
    message: Vec<u8>,
    /// The length of the part of `message` that is known to be valid UTF-8.
    valid: usize,
    /// Whether the current message has started, and has not ended.
    in_message: bool,
    /// Set when anything arrives.
    has_received: Arc<AtomicBool>,
}

impl<R: AsyncRead + Unpin> Reader<R> {
    /// `received`: bytes that were read from the stream together with the handshake.
    pub fn new(stream: R, received: &[u8], max_message: usize) -> Self {
        Self {
            stream,
            buffer: received.to_vec(),
            consumed: 0,
            max_message,
            message: Vec::new(),
            valid: 0,
            in_message: false,
            has_received: Arc::default(),
        }
    }

    /// Is set whenever something has arrived.
    pub fn has_received(&self) -> Arc<AtomicBool> {
        self.has_received.clone()
    }

    /// Applies to the messages after the current one.
    pub fn set_max_message(&mut self, size: usize) {
        self.max_message = size;
    }

    /// The memory reserved for the current message.
    #[cfg(test)]
    pub fn reserved(&self) -> usize {
        self.message.capacity()
    }

    /// Not cancel safe: a message that was partly read is lost when the future is dropped.
    pub async fn next(&mut self) -> Result<Message, ReadError> {
        loop {
            let header = self.read_header().await?;
            match header.opcode {
                Opcode::Text | Opcode::Binary | Opcode::Continuation => {
                    if let Some(text) = self.read_data(&header).await? {
                        return Ok(Message::Text(text));
                    }
                }
                Opcode::Ping => return Ok(Message::Ping(self.read_control(&header).await?)),
                Opcode::Pong => {
                    self.read_control(&header).await?;
                    return Ok(Message::Pong);
                }
                Opcode::Close => {
                    let payload = self.read_control(&header).await?;
                    return frame::parse_close(&payload).map(Message::Close);
                }
            }
        }
    }

    async fn read_header(&mut self) -> Result<Header, ReadError> {
        loop {
            if let Some(header) = Header::parse(self.unconsumed())? {
                self.consumed += header.size;
                return Ok(header);
            }
            self.fill_buffer().await?;
        }
    }

    fn unconsumed(&self) -> &[u8] {
        self.buffer.get(self.consumed..).unwrap_or_default()
    }

    async fn fill_buffer(&mut self) -> io::Result<()> {
        self.buffer.drain(..self.consumed);
        self.consumed = 0;
        let free = READ_AHEAD.saturating_sub(self.buffer.len());
        self.buffer.reserve(free);
        let read = self.stream.read_buf(&mut self.buffer).await;
        self.on_read(read)
    }

    /// Drops everything that arrives until the peer has closed the connection.
    pub async fn skip_to_end(&mut self) {
        self.message = Vec::new();
        self.buffer = Vec::with_capacity(READ_AHEAD);
        while matches!(self.stream.read_buf(&mut self.buffer).await, Ok(1..)) {
            self.buffer.clear();
        }
    }

    fn on_read(&self, read: io::Result<usize>) -> io::Result<()> {
        self.has_received.store(true, Ordering::Relaxed);
        match read? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(()),
        }
    }

    /// Reads one frame of a message. Returns the message if it was the last one.
    async fn read_data(&mut self, header: &Header) -> Result<Option<String>, ReadError> {
        match (header.opcode, self.in_message) {
            (Opcode::Continuation, false) => {
                return Err(ReadError::Protocol("There is no message to continue."));
            }
            (Opcode::Text | Opcode::Binary, true) => {
                return Err(ReadError::Protocol("The last message has not ended."));
            }
            (Opcode::Binary, false) => return Err(ReadError::Binary),
            _ => {}
        }
        self.read_payload(header).await?;
        self.in_message = !header.is_final;
        if self.in_message {
            return Ok(None);
        }
        self.valid = 0;
        String::from_utf8(std::mem::take(&mut self.message))
            .map(Some)
            .map_err(|_| ReadError::InvalidUtf8)
    }

    /// Appends a frame's payload to the message.
    async fn read_payload(&mut self, header: &Header) -> Result<(), ReadError> {
        let start = self.message.len();
        let end = usize::try_from(header.length)
            .ok()
            .and_then(|length| start.checked_add(length))
            .filter(|end| *end <= self.max_message)
            .ok_or(ReadError::TooLarge)?;
        let mut unmasked = start;
        while unmasked < end {
            self.receive(end - unmasked).await?;
            let received = self.message.get_mut(unmasked..).unwrap_or_default();
            frame::apply_mask(received, header.mask, unmasked - start);
            unmasked = self.message.len();
            // A complete message is checked when it becomes a `String`.
            if unmasked < end || !header.is_final {
                self.check_utf8()?;
            }
        }
        Ok(())
    }

    /// Appends at least one byte to the message, and at most `missing`.
    async fn receive(&mut self, missing: usize) -> Result<(), ReadError> {
        let buffered = missing.min(self.unconsumed().len());
        reserve(&mut self.message, buffered.max(1), missing)?;
        if buffered > 0 {
            let part = self.consumed..self.consumed + buffered;
            let part = self.buffer.get(part).unwrap_or_default();
            self.message.extend_from_slice(part);
            self.consumed += buffered;
            return Ok(());
        }
        // Bypasses the buffer, and does not read into the next frame.
        let mut payload = (&mut self.stream).take(missing as u64);
        let read = payload.read_buf(&mut self.message).await;
        Ok(self.on_read(read)?)
    }

    /// Rejects an invalid message before the rest of it arrives. Its last character may be
    /// incomplete.
    fn check_utf8(&mut self) -> Result<(), ReadError> {
        let unchecked = self.message.get(self.valid..).unwrap_or_default();
        match std::str::from_utf8(unchecked) {
            Ok(_) => self.valid = self.message.len(),
            Err(error) if error.error_len().is_none() => self.valid += error.valid_up_to(),
            Err(_) => return Err(ReadError::InvalidUtf8),
        }
        Ok(())
    }

    async fn read_control(&mut self, header: &Header) -> Result<Vec<u8>, ReadError> {
        let length = usize::try_from(header.length).map_err(|_| ReadError::TooLarge)?;
        while self.unconsumed().len() < length {
            self.fill_buffer().await?;
        }
        let mut payload = self.unconsumed().get(..length).unwrap_or_default().to_vec();
        self.consumed += length;
        frame::apply_mask(&mut payload, header.mask, 0);
        Ok(payload)
    }
}

/// Makes room for at least `now` bytes, and for all `missing` bytes unless that is much more than
/// has arrived.
fn reserve(message: &mut Vec<u8>, now: usize, missing: usize) -> Result<(), ReadError> {
    if message.capacity() - message.len() >= now {
        return Ok(());
    }
    let more = missing.min(MAX_RESERVED.max(message.len() * (GROWTH - 1)));
    let reserved = if message.is_empty() {
        message.try_reserve_exact(more)
    } else {
        message.try_reserve(more)
    };
    reserved.map_err(|_| ReadError::OutOfMemory)
}
