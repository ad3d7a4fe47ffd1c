use tokio::io::AsyncReadExt as _;
use tokio::net::TcpListener;

use super::*;

const LIMIT: usize = 1 << 20;

async fn connected() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let client = TcpStream::connect(listener.local_addr().unwrap())
        .await
        .unwrap();
    (client, listener.accept().await.unwrap().0)
}

/// A frame as a client writes it.
fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let mask = [0x12, 0x34, 0x56, 0x78];
    let mut bytes = vec![first];
    match payload.len() {
        length @ ..=125 => bytes.push(MASKED | u8::try_from(length).unwrap()),
        length @ ..=65_535 => {
            bytes.push(MASKED | IN_2_BYTES);
            bytes.extend(u16::try_from(length).unwrap().to_be_bytes());
        }
        length => {
            bytes.push(MASKED | IN_8_BYTES);
            bytes.extend((length as u64).to_be_bytes());
        }
    }
    bytes.extend(mask);
    bytes.extend(
        payload
            .iter()
            .zip(mask.iter().cycle())
            .map(|(byte, mask)| byte ^ mask),
    );
    bytes
}

/// What a reader makes of these bytes, when they come in pieces of this size.
async fn read(bytes: &[u8], piece: usize) -> Vec<Result<Message, Fault>> {
    let (mut client, server) = connected().await;
    client.set_nodelay(true).unwrap();
    let (mut reader, _writer) = split(server, &[], LIMIT);
    let send = async move {
        for piece in bytes.chunks(piece) {
            client.write_all(piece).await.unwrap();
            tokio::task::yield_now().await;
        }
    };
    let receive = async {
        let mut all = Vec::new();
        loop {
            let next = reader.next().await;
            let is_end = next.is_err();
            all.push(next);
            if is_end {
                return all;
            }
        }
    };
    tokio::join!(send, receive).1
}

fn messages(read: Vec<Result<Message, Fault>>) -> Vec<Message> {
    read.into_iter().filter_map(Result::ok).collect()
}

fn fault(read: Vec<Result<Message, Fault>>) -> String {
    read.into_iter().find_map(Result::err).unwrap().to_string()
}

#[tokio::test]
async fn messages_of_every_size_arrive_whole_in_whatever_pieces_they_come() {
    let sizes = [
        0,
        1,
        3,
        7,
        8,
        9,
        125,
        126,
        127,
        65_535,
        65_536,
        READ_AHEAD - 7,
        READ_AHEAD,
        200_001,
    ];
    let texts: Vec<String> = sizes
        .iter()
        .map(|size| "abcdefghi".chars().cycle().take(*size).collect())
        .collect();
    let bytes: Vec<u8> = texts
        .iter()
        .flat_map(|text| frame(0x81, text.as_bytes()))
        .collect();
    for piece in [7, 1_000, 32_768, bytes.len()] {
        let read = messages(read(&bytes, piece).await);
        assert!(
            read.into_iter()
                .eq(texts.iter().cloned().map(Message::Text)),
            "in pieces of {piece}"
        );
    }
}

#[tokio::test]
async fn fragments_make_one_message_and_a_ping_may_come_between_them() {
    let bytes = [
        frame(0x01, "sch".as_bytes()),
        frame(0x89, b"?"),
        frame(0x00, &"ö".as_bytes()[..1]),
        frame(0x80, &[0xB6, b'n']),
    ]
    .concat();
    assert_eq!(
        messages(read(&bytes, 1).await),
        [
            Message::Ping(b"?".to_vec()),
            Message::Text("schön".to_owned())
        ]
    );
}

#[tokio::test]
async fn what_is_not_allowed_is_named() {
    let cases: [(Vec<u8>, &str); 12] = [
        (vec![0x81, 0x01, b'x'], "mask"),
        (frame(0xC1, b"x"), "extension"),
        (frame(0x83, b"x"), "opcode"),
        (frame(0x80, b"x"), "continue"),
        ([frame(0x01, b"x"), frame(0x81, b"y")].concat(), "not ended"),
        (frame(0x09, b"x"), "whole"),
        (frame(0x89, &[0; 126]), "short"),
        (frame(0x88, &[3]), "half"),
        (frame(0x88, &[0, 1]), "close code"),
        (frame(0x88, &[0x03, 0xE8, 0xFF]), "UTF-8"),
        (frame(0x81, &[0xFF]), "UTF-8"),
        (vec![0x81], "gone"),
    ];
    for (bytes, word) in cases {
        let said = fault(read(&bytes, 100).await);
        assert!(said.contains(word), "{bytes:x?}: {said}");
    }
}

#[tokio::test]
async fn a_message_over_the_limit_is_refused_before_it_is_read() {
    let announced = [
        &[0x81, MASKED | IN_8_BYTES],
        u64::MAX.to_be_bytes().as_slice(),
        &[0; 4],
    ]
    .concat();
    assert!(fault(read(&announced, 100).await).contains("larger"));
    let fragments = [frame(0x01, &vec![b'x'; LIMIT]), frame(0x80, b"x")].concat();
    assert!(fault(read(&fragments, 100_000).await).contains("larger"));
    let exactly = [frame(0x01, &vec![b'x'; LIMIT - 1]), frame(0x80, b"x")].concat();
    assert_eq!(messages(read(&exactly, 100_000).await).len(), 1);
}

#[tokio::test]
async fn what_is_written_can_be_read_and_a_dropped_flush_is_taken_up_again() {
    let (mut client, server) = connected().await;
    let (_reader, mut writer) = split(server, &[], LIMIT);
    // More than the sockets' buffers hold.
    let large = "x".repeat(20 << 20);
    let mut expected = vec![0x81, 2, b'h', b'i', 0x81, 127];
    expected.extend((large.len() as u64).to_be_bytes());
    expected.extend(large.as_bytes());
    expected.extend([0x81, 126, 0, 200]);
    expected.extend([b'y'; 200]);
    expected.extend([0x88, 5, 0x03, 0xF5, b'b', b'y', b'e']);
    writer.put(Outgoing::Text("hi".to_owned()));
    writer.put(Outgoing::Text(large));
    assert!(writer.is_full());
    let dropped = tokio::time::timeout(std::time::Duration::from_millis(50), writer.flush()).await;
    assert!(dropped.is_err());
    let write = async {
        writer.flush().await.unwrap();
        writer.put(Outgoing::Text("y".repeat(200)));
        writer.put(Outgoing::Close(Close::new(1013, "bye")));
        writer.flush().await.unwrap();
    };
    let mut got = vec![0; expected.len()];
    let ((), read) = tokio::join!(write, client.read_exact(&mut got));
    read.unwrap();
    assert!(got == expected);
}

#[test]
fn a_reason_that_is_too_long_is_cut_between_letters() {
    let Close(payload) = Close::new(1000, &"ö".repeat(100));
    assert_eq!(payload.len(), 2 + 122);
    assert!(std::str::from_utf8(&payload[2..]).is_ok());
}
