//! Frames by hand: masked ones as a client sends them, valid or not, and a parser for the relay's
//! frames.

use tokio::io::AsyncReadExt as _;
use tokio::net::TcpStream;

pub const FINAL: u8 = 0x80;
pub const CONTINUATION: u8 = 0x0;
pub const TEXT: u8 = 0x1;
pub const BINARY: u8 = 0x2;
pub const CLOSE: u8 = 0x8;
pub const PING: u8 = 0x9;
pub const PONG: u8 = 0xA;

const MASKED: u8 = 0x80;
const MASK: [u8; 4] = [0x37, 0xFA, 0x21, 0x3D];

/// How the length of a payload is encoded.
#[derive(Debug, Clone, Copy)]
pub enum Length {
    Short,
    U16,
    U64,
}

impl Length {
    pub fn shortest(length: usize) -> Self {
        match length {
            0..=125 => Self::Short,
            126..=65_535 => Self::U16,
            _ => Self::U64,
        }
    }
}

/// A header that announces a payload of this length.
pub fn header(first: u8, encoding: Length, length: u64) -> Vec<u8> {
    let mut bytes = vec![first];
    match encoding {
        Length::Short => bytes.push(MASKED | u8::try_from(length).unwrap()),
        Length::U16 => {
            bytes.push(MASKED | 0x7E);
            bytes.extend(u16::try_from(length).unwrap().to_be_bytes());
        }
        Length::U64 => {
            bytes.push(MASKED | 0x7F);
            bytes.extend(length.to_be_bytes());
        }
    }
    bytes.extend(MASK);
    bytes
}

/// A frame with its length encoded like this, in more bytes than needed perhaps.
pub fn frame_with(first: u8, encoding: Length, payload: &[u8]) -> Vec<u8> {
    let mut bytes = header(first, encoding, payload.len() as u64);
    bytes.extend(mask(payload));
    bytes
}

pub fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    frame_with(first, Length::shortest(payload.len()), payload)
}

/// A frame that announces `length` bytes, and contains only these.
pub fn unfinished_frame(first: u8, length: usize, payload: &[u8]) -> Vec<u8> {
    let mut bytes = header(first, Length::shortest(length), length as u64);
    bytes.extend(mask(payload));
    bytes
}

pub fn unmasked_frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let length = u8::try_from(payload.len()).unwrap();
    [&[first, length], payload].concat()
}

pub fn text(payload: impl AsRef<[u8]>) -> Vec<u8> {
    frame(FINAL | TEXT, payload.as_ref())
}

pub fn ping(payload: &[u8]) -> Vec<u8> {
    frame(FINAL | PING, payload)
}

pub fn close(code: u16, reason: &[u8]) -> Vec<u8> {
    frame(FINAL | CLOSE, &[&code.to_be_bytes(), reason].concat())
}

/// One text message in these fragments.
pub fn fragments<P: AsRef<[u8]>>(parts: &[P]) -> Vec<u8> {
    let last = parts.len() - 1;
    let mut bytes = Vec::new();
    for (at, part) in parts.iter().enumerate() {
        let opcode = if at == 0 { TEXT } else { CONTINUATION };
        let fin = if at == last { FINAL } else { 0 };
        bytes.extend(frame(fin | opcode, part.as_ref()));
    }
    bytes
}

fn mask(payload: &[u8]) -> impl Iterator<Item = u8> {
    payload.iter().zip(MASK.iter().cycle()).map(|(a, b)| a ^ b)
}

/// A frame from the relay. Anything but an unfragmented, unmasked frame with the shortest length is
/// a failure.
pub async fn read_frame(stream: &mut TcpStream) -> Option<(u8, Vec<u8>)> {
    let first = stream.read_u8().await.ok()?;
    let short = stream.read_u8().await.ok()?;
    assert_eq!(short & MASKED, 0, "a server must not mask");
    assert_eq!(first & 0xF0, FINAL, "final, and no reserved bits");
    let length = match short {
        126 => usize::from(stream.read_u16().await.ok()?),
        127 => usize::try_from(stream.read_u64().await.ok()?).unwrap(),
        length => usize::from(length),
    };
    let encoded = match short {
        126 => Length::U16,
        127 => Length::U64,
        _ => Length::Short,
    };
    let shortest = Length::shortest(length);
    assert_eq!(
        std::mem::discriminant(&encoded),
        std::mem::discriminant(&shortest)
    );
    let mut payload = vec![0; length];
    stream.read_exact(&mut payload).await.ok()?;
    Some((first & 0x0F, payload))
}
