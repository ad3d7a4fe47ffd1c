//! Messages on a TCP connection, as RFC 6455 has them for a server. A message is read into memory of its own size, and
//! written from where it is: nothing of a large one stays behind when it has passed, and it is copied nowhere.
//!
//! What messages mean, and when a connection is closed, is decided elsewhere.

use std::io::{self, IoSlice};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};

/// How much is read at once where it is not known to belong to a large message.
const READ_AHEAD: usize = 32 << 10;
/// A payload of this size is written from where it is; smaller ones are gathered, to go out together.
const LARGE: usize = 16 << 10;
/// How much is gathered before it is written.
const GATHERED: usize = 32 << 10;

const FINAL: u8 = 0x80;
const RESERVED: u8 = 0x70;
const MASKED: u8 = 0x80;
/// Lengths that say that the length comes behind them.
const IN_2_BYTES: u8 = 0x7E;
const IN_8_BYTES: u8 = 0x7F;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Opcode {
    Continuation = 0,
    Text = 1,
    Binary = 2,
    Close = 8,
    Ping = 9,
    Pong = 10,
}

/// What the other side said.
#[derive(Debug, PartialEq, Eq)]
pub enum Message {
    Text(String),
    Binary,
    /// It asks for a pong with this in it.
    Ping(Vec<u8>),
    Pong,
    /// It closes, for this reason.
    Close(u16),
}

/// Why there is nothing more to read.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    #[error("the connection is gone")]
    Gone(#[from] io::Error),
    #[error("{0}")]
    Protocol(&'static str),
    #[error("a text message has to be UTF-8")]
    NotUtf8,
    #[error("the message is larger than this relay takes; see --max-message-mib")]
    TooLarge,
}

pub fn split(stream: TcpStream, read_already: &[u8], max_message: usize) -> (Reader, Writer) {
    let (read, write) = stream.into_split();
    let reader = Reader {
        stream: read,
        ahead: read_already.to_vec(),
        taken: 0,
        max_message,
        max_later: max_message,
        message: Vec::new(),
        kind: None,
    };
    (
        reader,
        Writer {
            stream: write,
            gathered: Vec::new(),
            large: Vec::new(),
            written: 0,
        },
    )
}

// ---- reading ----

pub struct Reader {
    stream: OwnedReadHalf,
    /// Bytes that were read, of which `taken` have been looked at.
    ahead: Vec<u8>,
    taken: usize,
    max_message: usize,
    /// What `max_message` becomes with the first message, where the other end is not trusted before it has spoken.
    max_later: usize,
    /// The fragments of the present message so far.
    message: Vec<u8>,
    /// Its kind; `None` between messages.
    kind: Option<Opcode>,
}

#[derive(Debug, PartialEq, Eq)]
struct Header {
    /// How many bytes it took.
    size: usize,
    is_final: bool,
    opcode: Opcode,
    mask: [u8; 4],
    length: u64,
}

impl Reader {
    /// Takes only a small first message: who is at the other end is not known before it.
    pub fn first_at_most(mut self, size: usize) -> Self {
        self.max_message = size.min(self.max_later);
        self
    }

    pub async fn next(&mut self) -> Result<Message, Fault> {
        loop {
            let header = loop {
                match parse_header(self.unread())? {
                    Some(header) => break header,
                    None => self.read_ahead().await?,
                }
            };
            self.taken += header.size;
            let message = match header.opcode {
                Opcode::Continuation | Opcode::Text | Opcode::Binary => self.data(&header).await?,
                Opcode::Close | Opcode::Ping | Opcode::Pong => Some(self.control(&header).await?),
            };
            if let Some(message) = message {
                if matches!(message, Message::Text(_)) {
                    self.max_message = self.max_later;
                }
                return Ok(message);
            }
        }
    }

    fn unread(&self) -> &[u8] {
        self.ahead.get(self.taken..).unwrap_or_default()
    }

    async fn read_ahead(&mut self) -> Result<(), Fault> {
        self.ahead.drain(..self.taken);
        self.taken = 0;
        self.ahead
            .reserve(READ_AHEAD.saturating_sub(self.ahead.len()));
        received(self.stream.read_buf(&mut self.ahead).await)?;
        Ok(())
    }

    /// One frame of a message; the message, when it was its last.
    async fn data(&mut self, header: &Header) -> Result<Option<Message>, Fault> {
        let kind = match (header.opcode, self.kind) {
            (Opcode::Continuation, None) => {
                return Err(Fault::Protocol("there is no message to continue"));
            }
            (Opcode::Continuation, Some(kind)) => kind,
            (_, Some(_)) => return Err(Fault::Protocol("the message before has not ended")),
            (kind, None) => kind,
        };
        self.kind = Some(kind);
        self.read_payload(header).await?;
        if !header.is_final {
            return Ok(None);
        }
        self.kind = None;
        let message = std::mem::take(&mut self.message);
        match kind {
            Opcode::Text => String::from_utf8(message)
                .map(|text| Some(Message::Text(text)))
                .map_err(|_| Fault::NotUtf8),
            _ => Ok(Some(Message::Binary)),
        }
    }

    /// Puts a frame's payload behind what there is of its message.
    async fn read_payload(&mut self, header: &Header) -> Result<(), Fault> {
        let start = self.message.len();
        let length = usize::try_from(header.length)
            .ok()
            .filter(|length| *length <= self.max_message.saturating_sub(start));
        let length = length.ok_or(Fault::TooLarge)?;
        if header.is_final && start == 0 {
            self.message.reserve_exact(length);
        } else {
            self.message.reserve(length);
        }
        let here = length.min(self.unread().len());
        self.message.extend_from_slice(
            self.ahead
                .get(self.taken..self.taken + here)
                .unwrap_or_default(),
        );
        self.taken += here;
        let mut unmasked = start;
        loop {
            let position = unmasked - start;
            unmask(
                self.message.get_mut(unmasked..).unwrap_or_default(),
                header.mask,
                position,
            );
            unmasked = self.message.len();
            let missing = length - (unmasked - start);
            if missing == 0 {
                return Ok(());
            }
            // The rest comes straight from the connection, and nothing of what is behind it.
            received(
                (&mut self.stream)
                    .take(missing as u64)
                    .read_buf(&mut self.message)
                    .await,
            )?;
        }
    }

    async fn control(&mut self, header: &Header) -> Result<Message, Fault> {
        const LONGEST: u64 = 125;
        if !header.is_final || header.length > LONGEST {
            return Err(Fault::Protocol("a control frame has to be short and whole"));
        }
        let length = usize::try_from(header.length).unwrap_or_default();
        while self.unread().len() < length {
            self.read_ahead().await?;
        }
        let mut payload = self.unread().get(..length).unwrap_or_default().to_vec();
        self.taken += length;
        unmask(&mut payload, header.mask, 0);
        match header.opcode {
            Opcode::Ping => Ok(Message::Ping(payload)),
            Opcode::Pong => Ok(Message::Pong),
            _ => close_code(&payload).map(Message::Close),
        }
    }
}

fn received(read: io::Result<usize>) -> io::Result<usize> {
    match read {
        Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
        read => read,
    }
}

/// `None` when there is not enough of it yet.
fn parse_header(bytes: &[u8]) -> Result<Option<Header>, Fault> {
    let [first, second, rest @ ..] = bytes else {
        return Ok(None);
    };
    if first & RESERVED != 0 {
        return Err(Fault::Protocol("no extension was agreed on"));
    }
    if second & MASKED == 0 {
        return Err(Fault::Protocol("a client has to mask its frames"));
    }
    let opcode = match first & 0x0F {
        0 => Opcode::Continuation,
        1 => Opcode::Text,
        2 => Opcode::Binary,
        8 => Opcode::Close,
        9 => Opcode::Ping,
        10 => Opcode::Pong,
        _ => return Err(Fault::Protocol("there is no such opcode")),
    };
    let (length, rest) = match second & !MASKED {
        IN_2_BYTES => match rest.split_first_chunk() {
            Some((length, rest)) => (u64::from(u16::from_be_bytes(*length)), rest),
            None => return Ok(None),
        },
        IN_8_BYTES => match rest.split_first_chunk() {
            Some((length, rest)) => (u64::from_be_bytes(*length), rest),
            None => return Ok(None),
        },
        length => (u64::from(length), rest),
    };
    let Some((mask, rest)) = rest.split_first_chunk() else {
        return Ok(None);
    };
    Ok(Some(Header {
        size: bytes.len() - rest.len(),
        is_final: first & FINAL != 0,
        opcode,
        mask: *mask,
        length,
    }))
}

/// `position` is where the bytes stand in their payload.
fn unmask(bytes: &mut [u8], mut mask: [u8; 4], position: usize) {
    mask.rotate_left(position % 4);
    let [a, b, c, d] = mask;
    let wide = u64::from_ne_bytes([a, b, c, d, a, b, c, d]);
    let (words, rest) = bytes.as_chunks_mut();
    for word in words {
        *word = (u64::from_ne_bytes(*word) ^ wide).to_ne_bytes();
    }
    for (byte, mask) in rest.iter_mut().zip(mask.iter().cycle()) {
        *byte ^= mask;
    }
}

fn close_code(payload: &[u8]) -> Result<u16, Fault> {
    const NORMAL: u16 = 1000;
    match payload {
        [] => Ok(NORMAL),
        [_] => Err(Fault::Protocol("half a close code")),
        [high, low, reason @ ..] => {
            let code = u16::from_be_bytes([*high, *low]);
            if !matches!(code, 1000..=1003 | 1007..=1014 | 3000..=4999) {
                return Err(Fault::Protocol("there is no such close code"));
            }
            std::str::from_utf8(reason)
                .map(|_| code)
                .map_err(|_| Fault::NotUtf8)
        }
    }
}

// ---- writing ----

/// What is said to the other side.
#[derive(Debug)]
pub enum Outgoing {
    Text(String),
    Pong(Vec<u8>),
    Close(Close),
}

/// The last word: a code, and a reason of at most 123 bytes.
#[derive(Debug, Clone)]
pub struct Close(Vec<u8>);

impl Close {
    pub fn new(code: u16, reason: &str) -> Self {
        let end = (0..=reason.len().min(123))
            .rev()
            .find(|end| reason.is_char_boundary(*end))
            .unwrap_or(0);
        Self(
            [
                code.to_be_bytes().as_slice(),
                reason.get(..end).unwrap_or_default().as_bytes(),
            ]
            .concat(),
        )
    }
}

impl Outgoing {
    pub fn size(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Pong(payload) | Self::Close(Close(payload)) => payload.len(),
        }
    }
}

pub struct Writer {
    stream: OwnedWriteHalf,
    /// Small frames, and the head of the large one behind them.
    gathered: Vec<u8>,
    /// The payload of one large frame.
    large: Vec<u8>,
    /// How much of both is out.
    written: usize,
}

impl Writer {
    /// Takes a message to be written. A writer that is full has to be flushed first.
    pub fn put(&mut self, message: Outgoing) {
        let (opcode, payload) = match message {
            Outgoing::Text(text) => (Opcode::Text, text.into_bytes()),
            Outgoing::Pong(payload) => (Opcode::Pong, payload),
            Outgoing::Close(Close(payload)) => (Opcode::Close, payload),
        };
        self.gathered.push(FINAL | opcode as u8);
        match (u8::try_from(payload.len()), u16::try_from(payload.len())) {
            (Ok(length @ ..=125), _) => self.gathered.push(length),
            (_, Ok(length)) => {
                self.gathered.push(IN_2_BYTES);
                self.gathered.extend_from_slice(&length.to_be_bytes());
            }
            _ => {
                self.gathered.push(IN_8_BYTES);
                self.gathered
                    .extend_from_slice(&(payload.len() as u64).to_be_bytes());
            }
        }
        if payload.len() >= LARGE {
            self.large = payload;
        } else {
            self.gathered.extend_from_slice(&payload);
        }
    }

    pub fn is_full(&self) -> bool {
        !self.large.is_empty() || self.gathered.len() >= GATHERED
    }

    /// Writes all of it. A flush that was dropped half-way can be taken up again.
    pub async fn flush(&mut self) -> io::Result<()> {
        while self.written < self.gathered.len() + self.large.len() {
            let head = self.gathered.get(self.written..).unwrap_or_default();
            let payload = self
                .large
                .get(self.written.saturating_sub(self.gathered.len())..)
                .unwrap_or_default();
            let count = self
                .stream
                .write_vectored(&[IoSlice::new(head), IoSlice::new(payload)])
                .await?;
            if count == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            self.written += count;
        }
        self.gathered.clear();
        self.large = Vec::new();
        self.written = 0;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
