//! The layout of a frame: parsing and writing its header, masking, and the payload of a close
//! frame.

use super::ReadError;

/// The longest payload of a control frame.
const MAX_CONTROL_PAYLOAD: u64 = 125;

const FINAL: u8 = 0x80;
const RESERVED: u8 = 0x70;
const OPCODE: u8 = 0x0F;
pub const MASKED: u8 = 0x80;
/// In place of a length: the length follows in 2 bytes.
pub const LENGTH_IN_2_BYTES: u8 = 126;
/// In place of a length: the length follows in 8 bytes.
pub const LENGTH_IN_8_BYTES: u8 = 127;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opcode {
    Continuation = 0,
    Text = 1,
    Binary = 2,
    Close = 8,
    Ping = 9,
    Pong = 10,
}

impl Opcode {
    fn parse(byte: u8) -> Option<Self> {
        Some(match byte & OPCODE {
            0 => Self::Continuation,
            1 => Self::Text,
            2 => Self::Binary,
            8 => Self::Close,
            9 => Self::Ping,
            10 => Self::Pong,
            _ => return None,
        })
    }

    fn is_control(self) -> bool {
        matches!(self, Self::Close | Self::Ping | Self::Pong)
    }
}

/// The header of a frame from a client.
#[derive(Debug, PartialEq, Eq)]
pub struct Header {
    /// The length of the header itself.
    pub size: usize,
    pub is_final: bool,
    pub opcode: Opcode,
    pub mask: [u8; 4],
    /// The length of the payload.
    pub length: u64,
}

impl Header {
    /// Returns `None` if `bytes` ends before the header does. An invalid header is an error as
    /// early as possible.
    pub fn parse(bytes: &[u8]) -> Result<Option<Self>, ReadError> {
        let [first, second, rest @ ..] = bytes else {
            return Ok(None);
        };
        if first & RESERVED != 0 {
            return protocol_error("Reserved bits are set, but no extension was negotiated.");
        }
        let Some(opcode) = Opcode::parse(*first) else {
            return protocol_error("Unknown opcode.");
        };
        if second & MASKED == 0 {
            return protocol_error("Frames from a client must be masked.");
        }
        let is_final = first & FINAL != 0;
        let short_length = second & !MASKED;
        if opcode.is_control() && !(is_final && u64::from(short_length) <= MAX_CONTROL_PAYLOAD) {
            return protocol_error("A control frame must be final and at most 125 bytes long.");
        }
        let Some((length, rest)) = parse_length(short_length, rest)? else {
            return Ok(None);
        };
        let Some((mask, rest)) = rest.split_first_chunk() else {
            return Ok(None);
        };
        Ok(Some(Self {
            size: bytes.len() - rest.len(),
            is_final,
            opcode,
            mask: *mask,
            length,
        }))
    }
}

/// The payload's length, and the bytes after it.
fn parse_length(short_length: u8, bytes: &[u8]) -> Result<Option<(u64, &[u8])>, ReadError> {
    let (length, rest, is_valid) = match short_length {
        LENGTH_IN_2_BYTES => {
            let Some((length, rest)) = bytes.split_first_chunk() else {
                return Ok(None);
            };
            let length = u64::from(u16::from_be_bytes(*length));
            (length, rest, length >= u64::from(LENGTH_IN_2_BYTES))
        }
        LENGTH_IN_8_BYTES => {
            let Some((length, rest)) = bytes.split_first_chunk() else {
                return Ok(None);
            };
            let length = u64::from_be_bytes(*length);
            // The highest bit must be 0.
            let is_valid = length > u64::from(u16::MAX) && i64::try_from(length).is_ok();
            (length, rest, is_valid)
        }
        length => (u64::from(length), bytes, true),
    };
    if is_valid {
        Ok(Some((length, rest)))
    } else {
        protocol_error("The payload length must be encoded in as few bytes as possible.")
    }
}

/// Appends the header of an unfragmented frame to a client.
pub fn put_header(out: &mut Vec<u8>, opcode: Opcode, length: usize) {
    out.push(FINAL | opcode as u8);
    match (u8::try_from(length), u16::try_from(length)) {
        (Ok(length @ 0..LENGTH_IN_2_BYTES), _) => out.push(length),
        (_, Ok(length)) => {
            out.push(LENGTH_IN_2_BYTES);
            out.extend_from_slice(&length.to_be_bytes());
        }
        _ => {
            out.push(LENGTH_IN_8_BYTES);
            out.extend_from_slice(&(length as u64).to_be_bytes());
        }
    }
}

/// Applies or removes the mask of a part of a payload, which starts at this offset in the payload.
pub fn apply_mask(part: &mut [u8], mut mask: [u8; 4], offset: usize) {
    mask.rotate_left(offset % 4);
    let [a, b, c, d] = mask;
    let wide = u64::from_ne_bytes([a, b, c, d, a, b, c, d]);
    let (chunks, rest) = part.as_chunks_mut();
    for chunk in chunks {
        *chunk = (u64::from_ne_bytes(*chunk) ^ wide).to_ne_bytes();
    }
    for (byte, mask) in rest.iter_mut().zip(mask.iter().cycle()) {
        *byte ^= mask;
    }
}

/// The status code of a close frame.
pub fn parse_close(payload: &[u8]) -> Result<u16, ReadError> {
    const NORMAL: u16 = 1000;
    match payload {
        [] => Ok(NORMAL),
        [_] => protocol_error("A close frame must not contain half a status code."),
        [high, low, reason @ ..] => {
            let code = u16::from_be_bytes([*high, *low]);
            if !matches!(code, 1000..=1003 | 1007..=1014 | 3000..=4999) {
                return protocol_error("Invalid status code in a close frame.");
            }
            match std::str::from_utf8(reason) {
                Ok(_) => Ok(code),
                Err(_) => Err(ReadError::InvalidUtf8),
            }
        }
    }
}

fn protocol_error<T>(reason: &'static str) -> Result<T, ReadError> {
    Err(ReadError::Protocol(reason))
}
