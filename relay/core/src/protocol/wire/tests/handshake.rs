//! The messages of the handshake, and the status for the popup.

use super::incoming::params;
use super::outgoing::assert_text;
use crate::handshake::{
    Browser, Busy, Challenge, ClientStatus, Hello, OpenPortStatus, Status, Welcome, message,
};

const RELAY_NONCE: &str = "ICEiIyQlJicoKSorLC0uLzAxMjM0NTY3ODk6Ozw9Pj8";
const RELAY_PROOF: &str = "Ewx4Gmg4N6Efjgpx5dNwEzwpskIL96WhoQgjNL_RlwA";

#[test]
fn hello_has_the_extensions_proof() {
    let expected = Hello {
        protocol: 2,
        install_id: "6f1f3c0e-7a54-4c1e-9d53-0b5a8a6f2d11".to_owned(),
        nonce: "4OHi4-Tl5ufo6err7O3u7_Dx8vP09fb3-Pn6-_z9_v8".to_owned(),
        proof: "VGe87rdgYsVU7YB3hp07uu4kCfzbFuFoIpZ8ZmY-dc4".to_owned(),
        take_over: false,
    };
    assert_eq!(params::<Hello>("hello"), expected);
}

#[test]
fn hello_of_another_version_needs_only_its_version() {
    let hello: Hello = serde_json::from_str(r#"{"protocol":1,"browser":"Chrome"}"#).unwrap();
    assert_eq!(hello.protocol, 1);
}

#[test]
fn browser_introduces_itself() {
    let user_agent = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Safari/537.36";
    let expected = Browser {
        version: "0.1.0".to_owned(),
        product: "Chrome/156.0.8078.79".to_owned(),
        user_agent: user_agent.to_owned(),
        brand: "chrome".to_owned(),
    };
    assert_eq!(params::<Browser>("browser"), expected);
}

#[test]
fn relays_messages_match_their_fixtures() {
    let (proof, version) = (RELAY_PROOF, "0.1.0");
    let challenge = Challenge {
        protocol: 2,
        nonce: RELAY_NONCE,
    };
    assert_text("challenge", &message("challenge", &challenge));
    let welcome = Welcome {
        proof,
        version,
        name: Some("chrome"),
    };
    assert_text("welcome", &message("welcome", &welcome));
    let busy = Busy {
        proof,
        version,
        holder: Some("edge"),
        can_take_over: true,
    };
    assert_text("busy", &message("busy", &busy));
}

#[test]
fn status_matches_its_fixture() {
    let client = |name, tabs| ClientStatus { name, tabs };
    let status = Status {
        name: "chrome",
        clients: vec![
            client("playwright (node, pid 4711)", vec![412, 415]),
            client("claude (pid 4822)", Vec::new()),
        ],
        open_port: None,
    };
    assert_text("status", &message("status", &status));
    let open = Status {
        clients: Vec::new(),
        open_port: Some(OpenPortStatus {
            port: 9222,
            until: 1_795_012_320_000,
        }),
        ..status
    };
    assert_text("status-openPort", &message("status", &open));
}
