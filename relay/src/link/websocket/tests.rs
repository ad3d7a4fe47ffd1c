//! The codec over an in-memory stream. `tests/relay/websocket` has the conformance cases, on both
//! addresses of a relay.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex};

use super::frame::{LENGTH_IN_2_BYTES, LENGTH_IN_8_BYTES, MASKED, apply_mask};
use super::*;

const LIMIT: usize = 1 << 20;
const MASK: [u8; 4] = [0x12, 0x34, 0x56, 0x78];

/// A frame as a client writes it.
fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = header(first, payload.len());
    let start = bytes.len();
    bytes.extend(payload);
    apply_mask(&mut bytes[start..], MASK, 0);
    bytes
}

fn header(first: u8, length: usize) -> Vec<u8> {
    let mut bytes = vec![first];
    match length {
        0..=125 => bytes.push(MASKED | u8::try_from(length).unwrap()),
        126..=65_535 => {
            bytes.push(MASKED | LENGTH_IN_2_BYTES);
            bytes.extend(u16::try_from(length).unwrap().to_be_bytes());
        }
        _ => {
            bytes.push(MASKED | LENGTH_IN_8_BYTES);
            bytes.extend((length as u64).to_be_bytes());
        }
    }
    bytes.extend(MASK);
    bytes
}

fn reader(max_message: usize) -> (DuplexStream, Reader<DuplexStream>) {
    let (client, server) = duplex(64 << 10);
    (client, Reader::new(server, &[], max_message))
}

/// Reads these bytes, which arrive in pieces of this size, and the error at the end.
async fn read(bytes: &[u8], piece: usize) -> (Vec<Message>, ReadError) {
    let (mut client, mut reader) = reader(LIMIT);
    let send = async move {
        for piece in bytes.chunks(piece) {
            // The reader stops reading at an error.
            let _ = client.write_all(piece).await;
            tokio::task::yield_now().await;
        }
    };
    let receive = async {
        let mut messages = Vec::new();
        let error = loop {
            match reader.next().await {
                Ok(message) => messages.push(message),
                Err(error) => break error,
            }
        };
        // Otherwise the sender could wait forever.
        drop(reader);
        (messages, error)
    };
    tokio::join!(send, receive).1
}

#[tokio::test]
async fn joins_the_pieces_of_messages_of_any_size() {
    let sizes = [
        0, 1, 3, 7, 8, 9, 125, 126, 127, 32_761, 32_768, 65_535, 65_536, 200_001,
    ];
    let texts = sizes.map(|size| "abcdefghi".chars().cycle().take(size).collect::<String>());
    let bytes: Vec<u8> = texts
        .iter()
        .flat_map(|text| frame(0x81, text.as_bytes()))
        .collect();
    for piece in [7, 1_000, 32_768, bytes.len()] {
        let (messages, _) = read(&bytes, piece).await;
        let expected = texts.iter().cloned().map(Message::Text);
        assert!(messages.into_iter().eq(expected), "in pieces of {piece}");
    }
}

#[tokio::test]
async fn joins_fragments_with_a_ping_between_them() {
    let bytes = [
        frame(0x01, b"sch"),
        frame(0x89, b"?"),
        frame(0x00, &"ö".as_bytes()[..1]),
        frame(0x80, &[0xB6, b'n']),
    ]
    .concat();
    let (messages, _) = read(&bytes, 1).await;
    assert_eq!(
        messages,
        [
            Message::Ping(b"?".to_vec()),
            Message::Text("schön".to_owned())
        ]
    );
}

#[tokio::test]
async fn rejects_a_fragment_after_the_last() {
    let bytes = [frame(0x01, b"a"), frame(0x80, b"b"), frame(0x80, b"c")].concat();
    let (messages, error) = read(&bytes, 1).await;
    assert_eq!(messages, [Message::Text("ab".to_owned())]);
    assert!(matches!(error, ReadError::Protocol(_)), "{error}");
}

#[tokio::test]
async fn reads_what_arrived_with_the_handshake() {
    let (mut client, server) = duplex(64);
    let bytes = frame(0x81, b"early");
    let mut reader = Reader::new(server, &bytes[..8], LIMIT);
    client.write_all(&bytes[8..]).await.unwrap();
    assert_eq!(
        reader.next().await.unwrap(),
        Message::Text("early".to_owned())
    );
}

#[tokio::test]
async fn names_what_is_wrong() {
    let cases: [(Vec<u8>, &str); 15] = [
        (vec![0x81, 0x01, b'x'], "masked"),
        (frame(0xC1, b"x"), "extension"),
        (frame(0x83, b"x"), "opcode"),
        (frame(0x80, b"x"), "continue"),
        ([frame(0x01, b"x"), frame(0x81, b"y")].concat(), "not ended"),
        (frame(0x82, b"x"), "Binary"),
        (frame(0x09, b"x"), "final"),
        (frame(0x89, &[0; 126]), "125 bytes"),
        (vec![0x81, 0xFE, 0, 125], "few bytes"),
        (vec![0x81, 0xFF, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF], "few bytes"),
        (frame(0x88, &[3]), "half"),
        (frame(0x88, &[0, 1]), "status code"),
        (frame(0x88, &[0x03, 0xE8, 0xFF]), "UTF-8"),
        (frame(0x81, &[0xFF]), "UTF-8"),
        (vec![0x81], "lost"),
    ];
    for (bytes, word) in cases {
        let error = read(&bytes, 100).await.1.to_string();
        assert!(error.contains(word), "{bytes:x?}: {error}");
    }
}

#[tokio::test]
async fn rejects_a_message_over_the_limit_before_it_is_read() {
    for length in [LIMIT + 1, usize::MAX >> 1] {
        let (_, error) = read(&header(0x81, length), 100).await;
        assert!(error.to_string().contains("too large"), "{error}");
    }
    let highest_bit = [&[0x81, 0xFF], u64::MAX.to_be_bytes().as_slice()].concat();
    let (_, error) = read(&highest_bit, 100).await;
    assert!(matches!(error, ReadError::Protocol(_)), "{error}");
    let fragments = [frame(0x01, &vec![b'x'; LIMIT]), frame(0x80, b"x")].concat();
    let (_, error) = read(&fragments, 100_000).await;
    assert!(error.to_string().contains("too large"), "{error}");
    let at_the_limit = [frame(0x01, &vec![b'x'; LIMIT - 1]), frame(0x80, b"x")].concat();
    assert_eq!(read(&at_the_limit, 100_000).await.0.len(), 1);
}

#[tokio::test]
async fn limit_can_be_raised_between_messages() {
    let text = frame(0x81, &[b'x'; 20]);
    let bytes = [frame(0x81, b"hello"), text.clone(), text].concat();
    let (mut client, mut reader) = reader(10);
    client.write_all(&bytes).await.unwrap();
    reader.next().await.unwrap();
    reader.set_max_message(20);
    reader.next().await.unwrap();
    reader.set_max_message(10);
    let error = reader.next().await.unwrap_err();
    assert!(matches!(error, ReadError::TooLarge), "{error}");
}

/// Ten headers that announced 256 MiB each used to end a process with 3 GB of address space.
#[tokio::test]
async fn memory_grows_with_what_arrives() {
    const LENGTH: usize = 256 << 20;
    const MAX_RESERVED: usize = 16 << 20;
    let mut bytes = header(0x81, LENGTH);
    bytes.extend(vec![b'x' ^ MASK[0]; 1]);
    let mut reader = Reader::new(&bytes[..], &[], LENGTH);
    reader.next().await.unwrap_err();
    assert!(reader.reserved() <= MAX_RESERVED, "{}", reader.reserved());

    let part = 20 << 20;
    let zeros = tokio::io::repeat(0).take(part as u64);
    // A mask of zeros makes zeros of zeros.
    let mut bytes = header(0x81, LENGTH);
    let mask_at = bytes.len() - 4;
    bytes[mask_at..].fill(0);
    let mut reader = Reader::new(zeros, &bytes, LENGTH);
    reader.next().await.unwrap_err();
    assert!(reader.reserved() <= 4 * part, "{}", reader.reserved());
}

/// The rest of the message never arrives.
#[tokio::test]
async fn rejects_invalid_utf8_as_soon_as_it_arrives() {
    let invalid: [&[u8]; 4] = [b"\xFF", b"ok \xC3\x28", b"\xED\xA0", b"\xF4\x90"];
    for payload in invalid {
        let mut bytes = header(0x81, 1_000);
        let start = bytes.len();
        bytes.extend(payload);
        apply_mask(&mut bytes[start..], MASK, 0);
        for sent in [bytes, frame(0x01, payload)] {
            let (mut client, mut reader) = reader(LIMIT);
            client.write_all(&sent).await.unwrap();
            let error = reader.next().await.unwrap_err();
            assert!(matches!(error, ReadError::InvalidUtf8), "{payload:x?}");
        }
    }
}

#[tokio::test]
async fn continues_a_flush_that_was_dropped() {
    let (mut client, server) = duplex(1 << 10);
    let mut writer = Writer::new(server);
    let large = "x".repeat(100_000);
    let mut expected = vec![0x81, 2, b'h', b'i', 0x81, 127];
    expected.extend((large.len() as u64).to_be_bytes());
    expected.extend(large.as_bytes());
    expected.extend([0x81, 126, 0, 200]);
    expected.extend([b'y'; 200]);
    expected.extend([0x88, 5, 0x03, 0xF5, b'b', b'y', b'e']);
    writer.put(Outgoing::Text("hi".to_owned()));
    writer.put(Outgoing::Text(large));
    assert!(writer.is_full());
    tokio::select! {
        biased;
        _ = writer.flush() => panic!("more was written than fits"),
        () = std::future::ready(()) => {}
    }
    let write = async {
        writer.flush().await.unwrap();
        assert!(!writer.is_full());
        writer.put(Outgoing::Text("y".repeat(200)));
        writer.put(Outgoing::Close(Close::new(1013, "bye")));
        writer.flush().await.unwrap();
    };
    let mut received = vec![0; expected.len()];
    let ((), read) = tokio::join!(write, client.read_exact(&mut received));
    read.unwrap();
    assert!(received == expected);
}

#[tokio::test]
async fn writes_lengths_in_as_few_bytes_as_possible() {
    for size in [0, 1, 125, 126, 127, 65_535, 65_536] {
        let mut written = Vec::new();
        let mut writer = Writer::new(&mut written);
        writer.put(Outgoing::Text("x".repeat(size)));
        writer.flush().await.unwrap();
        let expected = header(0x81, size).len() - MASK.len() + size;
        assert_eq!(written.len(), expected, "{size}");
    }
}

#[test]
fn cuts_off_a_long_close_reason_between_characters() {
    let close = Close::new(1000, &"ö".repeat(100));
    assert_eq!(close.payload().len(), 2 + 122);
    assert!(std::str::from_utf8(&close.payload()[2..]).is_ok());
    assert_eq!(Close::new(1000, &"x".repeat(200)).payload().len(), 125);
    assert_eq!(Close::new(1000, "short").payload().len(), 7);
}
