//! Conformance with RFC 6455, as a table of cases that run against both addresses of a relay,
//! `/cdp` and `/extension`.

mod cases;
mod endpoint;
mod frame;
mod handshake;
mod limits;
#[cfg(target_os = "linux")]
mod memory;
mod utf8;

use futures_util::StreamExt as _;
use futures_util::future::join_all;
use futures_util::stream;
use tabwire_tests::Relay;

use endpoint::Endpoint;

/// What the relay sends, or does, in a case.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// The message got through to the core. None of the cases sends JSON, so `/cdp` replies with an
    /// error, and `/extension` is closed.
    Delivered,
    Pong(Vec<u8>),
    /// A close frame with this code, followed by the end of the connection.
    Closed(u16),
    /// The end of the connection without a close frame.
    Ended,
}

use Outcome::{Closed, Delivered, Ended, Pong};

pub struct Case {
    name: String,
    bytes: Vec<u8>,
    expected: Vec<Outcome>,
}

/// Adds a case to a table.
fn add(cases: &mut Vec<Case>, name: impl Into<String>, bytes: Vec<u8>, expected: &[Outcome]) {
    cases.push(Case {
        name: name.into(),
        bytes,
        expected: expected.to_vec(),
    });
}

fn all_cases() -> Vec<Case> {
    let mut all = Vec::new();
    for add_cases in [
        cases::add_headers,
        cases::add_lengths,
        cases::add_control_frames,
        cases::add_close_frames,
        cases::add_fragments,
        limits::add_limits,
        utf8::add_valid,
        utf8::add_invalid,
    ] {
        add_cases(&mut all);
    }
    assert!(all.len() >= 250, "only {} cases", all.len());
    all
}

#[track_caller]
fn assert_no_failures(failures: &[String], total: usize) {
    let failed = failures.len();
    assert!(
        failures.is_empty(),
        "{failed} of {total} failed:\n{}",
        failures.join("\n")
    );
}

#[tokio::test]
async fn clients_get_what_the_rfc_demands() {
    const AT_ONCE: usize = 16;
    let mut relay = Relay::start(&[
        "--client-mode",
        "multi-client",
        "--max-message-mib",
        limits::MAX_MESSAGE_MIB,
    ])
    .await;
    let cases = all_cases();
    let endpoint = Endpoint::client(&relay);
    let failures: Vec<String> = stream::iter(&cases)
        .map(|case| endpoint.run(case))
        .buffer_unordered(AT_ONCE)
        .filter_map(async |failure| failure)
        .collect()
        .await;
    assert_no_failures(&failures, cases.len());
    assert!(relay.is_alive().await);
}

/// A relay has one slot for the extension, so several relays share the cases.
#[tokio::test]
async fn the_extension_gets_what_the_rfc_demands() {
    const RELAYS: usize = 4;
    let cases = all_cases();
    let share = cases.len().div_ceil(RELAYS);
    let failures = join_all(cases.chunks(share).map(async |cases| {
        let mut relay = Relay::start(&["--max-message-mib", limits::MAX_MESSAGE_MIB]).await;
        let endpoint = Endpoint::extension(&relay);
        let mut failures = Vec::new();
        for case in cases {
            failures.extend(endpoint.run(case).await);
        }
        assert!(relay.is_alive().await);
        failures
    }))
    .await;
    assert_no_failures(&failures.concat(), cases.len());
}
