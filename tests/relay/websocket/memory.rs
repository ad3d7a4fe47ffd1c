//! What a message costs before it has arrived. Only Linux can limit the memory of a process that is
//! running.

use rustix::process::{Pid, Resource, Rlimit, prlimit};
use tabwire_tests::Relay;
use tokio::io::AsyncWriteExt as _;

use super::endpoint::Endpoint;
use super::frame::{CLOSE, FINAL, TEXT, read_frame, unfinished_frame};
use crate::setup::MULTI_CLIENT;

/// The process may grow by 1 GiB. It used to reserve what a header announced, which was 2.5 GiB
/// here.
#[tokio::test]
async fn ten_announced_messages_of_256_mib_do_not_end_the_relay() {
    let mut relay = Relay::start(MULTI_CLIENT).await;
    limit_growth(&relay, 1 << 30);
    let endpoint = Endpoint::client(&relay);
    let bytes = unfinished_frame(FINAL | TEXT, 256 << 20, b"not UTF-8: \xFF");
    let (last, valid) = bytes.split_last().unwrap();
    let mut streams = Vec::new();
    for _ in 0..10 {
        let mut stream = endpoint.open().await;
        stream.write_all(valid).await.unwrap();
        streams.push(stream);
    }
    assert!(relay.is_alive().await);
    for mut stream in streams {
        stream.write_all(&[*last]).await.unwrap();
        let (opcode, payload) = read_frame(&mut stream).await.unwrap();
        assert_eq!(
            (opcode, &payload[..2]),
            (CLOSE, &1007_u16.to_be_bytes()[..])
        );
    }
    assert!(relay.is_alive().await);
}

fn limit_growth(relay: &Relay, bytes: u64) {
    let status = std::fs::read_to_string(format!("/proc/{}/status", relay.pid())).unwrap();
    let size = status
        .lines()
        .find_map(|line| line.strip_prefix("VmSize:")?.strip_suffix(" kB"))
        .and_then(|kib| kib.trim().parse::<u64>().ok())
        .expect("the size of the process");
    let limit = Some((size << 10) + bytes);
    let limit = Rlimit {
        current: limit,
        maximum: limit,
    };
    let pid = i32::try_from(relay.pid()).ok().and_then(Pid::from_raw);
    prlimit(pid, Resource::As, limit).unwrap();
}
