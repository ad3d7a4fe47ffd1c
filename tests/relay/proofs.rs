//! Extensions that have to prove who they are: what a forged one receives, and that it is in
//! nobody's way.

use futures_util::future::join_all;
use serde_json::{Value, json};
use tabwire_home::Secret;
use tabwire_tests::link::{self, Socket};
use tabwire_tests::{
    EXTENSION_ID, Installation, Relay, ScriptedExtension, http, introduction, origin, tab, within,
};
use tokio_tungstenite::tungstenite::Message;

use crate::setup::start;

/// A connection that has received the challenge and proven nothing.
async fn open(relay: &Relay) -> (Socket, String) {
    let origin = origin(EXTENSION_ID);
    let opened = link::open(relay.port, "/extension", &[("Origin", &origin)]).await;
    let mut socket = opened.expect("/extension is a WebSocket");
    let challenge = link::read_text(&mut socket).await.unwrap();
    (socket, challenge)
}

async fn send(socket: &mut Socket, message: &Value) {
    use futures_util::SinkExt as _;
    // The relay may have closed the connection already.
    let _ = socket.send(Message::text(message.to_string())).await;
}

/// Sends a message instead of a valid hello, and returns the code of the relay's close frame.
async fn refusal(relay: &Relay, message: impl FnOnce(&str) -> Value) -> u16 {
    let origin = origin(EXTENSION_ID);
    let opened = link::open(relay.port, "/extension", &[("Origin", &origin)]).await;
    let mut socket = opened.expect("/extension is a WebSocket");
    let challenge = match link::read_text(&mut socket).await {
        Ok(challenge) => challenge,
        // It had to go before it was challenged.
        Err(close) => return close.map_or(0, |(code, _)| code),
    };
    // A reset at the end leaves no socket in TIME_WAIT, of which there could be thousands.
    socket.get_ref().set_zero_linger().unwrap();
    send(&mut socket, &message(&challenge)).await;
    let closed = link::read_text(&mut socket).await;
    closed
        .expect_err("nothing but a close frame")
        .map_or(0, |(code, _)| code)
}

fn address(relay: &Relay) -> String {
    format!("127.0.0.1:{}", relay.port)
}

#[tokio::test]
async fn challenge_contains_a_fresh_nonce_and_nothing_else() {
    let relay = Relay::start(&[]).await;
    let (_first, first) = open(&relay).await;
    let (_second, second) = open(&relay).await;
    let parse = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    let (first, second) = (parse(&first), parse(&second));
    let expected = json!({ "method": "challenge", "params": { "protocol": 2, "nonce": first["params"]["nonce"] } });
    assert_eq!(first, expected);
    assert_ne!(first, second);
}

#[tokio::test]
async fn extension_that_is_not_paired_is_refused() {
    let relay = Relay::start(&[]).await;
    let stranger = Installation {
        secret: Secret::random(),
        ..relay.installation()
    };
    let refused = ScriptedExtension::prove(&relay, &stranger, EXTENSION_ID, false).await;
    assert_eq!(refused.unwrap_err().close, Some(4401));
    // A browser that has connected before is known, so its proof is wrong.
    ScriptedExtension::connect(&relay, &[])
        .await
        .drop_connection()
        .await;
    let refused = ScriptedExtension::prove(&relay, &stranger, EXTENSION_ID, false).await;
    assert_eq!(refused.unwrap_err().close, Some(4403));
}

#[tokio::test]
async fn message_before_the_proof_closes_the_connection() {
    let relay = Relay::start(&[]).await;
    let tabs = json!({ "id": 1, "result": { "tabs": [tab(1)] } });
    let event = json!({ "method": "tabCreated", "params": tab(1) });
    for message in [
        tabs,
        event,
        introduction(),
        json!({}),
        json!([]),
        json!("x"),
    ] {
        assert_eq!(
            refusal(&relay, |_| message.clone()).await,
            1008,
            "{message}"
        );
    }
    assert_eq!(relay.get("/").await["targets"], 0);
}

#[tokio::test]
async fn extension_of_another_version_is_told_so() {
    let relay = Relay::start(&[]).await;
    for protocol in [1, 3, 4_000_000_000_u32] {
        let hello = json!({ "method": "hello", "params": { "protocol": protocol } });
        assert_eq!(refusal(&relay, |_| hello).await, 4406);
    }
}

#[tokio::test]
async fn malformed_hello_is_not_checked_further() {
    let relay = Relay::start(&[]).await;
    let nonce = Secret::random().reveal();
    let install_id = "6f1f3c0e-7a54-4c1e-9d53-0b5a8a6f2d11";
    for (nonce, install_id) in [("x", install_id), (&nonce, "x")] {
        let params = json!({ "protocol": 2, "nonce": nonce, "installId": install_id, "proof": "" });
        let hello = json!({ "method": "hello", "params": params });
        assert_eq!(refusal(&relay, |_| hello).await, 1008);
    }
}

#[tokio::test]
async fn message_over_4_kib_before_the_proof_closes_the_connection() {
    let relay = Relay::start(&[]).await;
    let large =
        json!({ "method": "hello", "params": { "protocol": 2, "padding": "x".repeat(4096) } });
    assert_eq!(refusal(&relay, |_| large).await, 1009);
}

/// Depends on the relay's clock: a connection has 3 seconds to prove who it is.
#[tokio::test]
async fn silent_connection_is_closed() {
    let relay = Relay::start(&[]).await;
    let (mut socket, _) = open(&relay).await;
    let (code, reason) = link::read_text(&mut socket).await.unwrap_err().unwrap();
    assert_eq!(code, 1008);
    assert!(reason.contains("proof"), "{reason}");
}

#[tokio::test]
async fn silent_connections_do_not_keep_the_extension_out() {
    let relay = Relay::start(&[]).await;
    let origin = origin(EXTENSION_ID);
    let headers = [("Origin", origin.as_str())];
    let silent = join_all((0..50).map(|_| link::open(relay.port, "/extension", &headers))).await;
    let extension = ScriptedExtension::connect(&relay, &[tab(1)]).await;
    drop(silent);
    extension.until_called("listTabs", 1).await;
}

#[tokio::test]
async fn unproven_connection_does_not_disturb_a_browser() {
    let (relay, _extension, mut client) = start(&[1]).await;
    let (mut socket, _) = open(&relay).await;
    send(
        &mut socket,
        &json!({ "method": "tabRemoved", "params": { "tabId": 1 } }),
    )
    .await;
    assert!(link::read_text(&mut socket).await.is_err());
    let targets = client.ok("Target.getTargets", json!({})).await;
    assert_eq!(targets["targetInfos"].as_array().unwrap().len(), 1);
    assert_eq!(relay.get("/").await["extension"], true);
}

#[tokio::test]
async fn proof_for_another_address_is_refused() {
    // A program in the middle forwards the relay's challenge, but the extension dialled its port.
    let relay = Relay::start(&[]).await;
    let other = Relay::start(&[]).await;
    let installation = relay.installation();
    for address in [
        address(&other),
        format!("localhost:{}", relay.port),
        format!("[::1]:{}", relay.port),
        String::new(),
    ] {
        let hello = |challenge: &str| installation.hello(challenge, &address, false).message;
        assert_eq!(refusal(&relay, hello).await, 4401, "{address}");
    }
}

/// What an attacker can do without the secret, with everything that passed on other connections.
#[tokio::test]
async fn ten_thousand_forged_proofs_are_all_refused() {
    const FORGERIES: usize = 10_000;
    /// As many as the relay lets wait at the same time.
    const AT_ONCE: usize = 8;
    let (relay, _extension, mut client) = start(&[1]).await;
    let installation = relay.installation();
    let (recorded, answer) = recorded_handshake(&relay, &installation).await;
    let forge = |number: usize, challenge: &str| {
        let address = address(&relay);
        let mut message = installation
            .hello(challenge, &address, number.is_multiple_of(7))
            .message;
        let proof = match number % 5 {
            // Replayed, with the nonce that it was made for.
            0 => return recorded.clone(),
            // The relay's own proof, sent back.
            1 => answer["params"]["proof"].clone(),
            // Of another secret.
            2 => {
                let secret = Secret::random();
                let other = Installation {
                    secret,
                    ..installation.clone()
                };
                other.hello(challenge, &address, false).message["params"]["proof"].clone()
            }
            3 => json!(""),
            _ => json!("A".repeat(43)),
        };
        message["params"]["proof"] = proof;
        message
    };
    for batch in 0..FORGERIES / AT_ONCE {
        let codes = (0..AT_ONCE).map(|at| {
            let relay = &relay;
            async move { refusal(relay, |challenge| forge(batch * AT_ONCE + at, challenge)).await }
        });
        for code in join_all(codes).await {
            // 1013: wrong, and one of many.
            assert!(matches!(code, 4401 | 4403 | 1013), "{code}");
        }
        if batch % 100 == 0 {
            // Proofs are still checked: a valid one is not taken for a forgery.
            let valid = installation.with_id(8);
            let refused = ScriptedExtension::prove(&relay, &valid, EXTENSION_ID, false).await;
            assert_eq!(refused.unwrap_err().close, Some(4409));
        }
    }
    let targets = client.ok("Target.getTargets", json!({})).await;
    assert_eq!(targets["targetInfos"].as_array().unwrap().len(), 1);
}

/// A complete handshake, as somebody who listens would record it: the hello and the relay's answer.
async fn recorded_handshake(relay: &Relay, installation: &Installation) -> (Value, Value) {
    let (mut socket, challenge) = open(relay).await;
    let other = installation.with_id(7);
    let hello = other.hello(&challenge, &address(relay), false);
    send(&mut socket, &hello.message).await;
    let answer = link::read_text(&mut socket).await.unwrap();
    let answer = other.check_answer(&hello, &address(relay), &answer);
    assert_eq!(answer["method"], "busy");
    (hello.message, answer)
}

#[tokio::test]
async fn many_wrong_proofs_keep_nobody_out() {
    let relay = Relay::start(&[]).await;
    let stranger = Installation {
        secret: Secret::random(),
        ..relay.installation().with_id(9)
    };
    let mut codes = Vec::new();
    for _ in 0..40 {
        let refused = ScriptedExtension::prove(&relay, &stranger, EXTENSION_ID, false).await;
        codes.push(refused.unwrap_err().close);
    }
    assert_eq!(codes.first(), Some(&Some(4401)));
    assert_eq!(codes.last(), Some(&Some(1013)), "{codes:?}");
    let warnings = relay.stderr().matches("refused an extension").count();
    assert!(warnings <= 25, "{warnings} warnings");
    within("connect", ScriptedExtension::connect(&relay, &[tab(1)])).await;
}

/// An extension that knows only the oldest form of the protocol: it answers calls and says nothing
/// by itself.
#[tokio::test]
async fn oldest_extensions_are_served_only_if_that_is_allowed() {
    let relay = Relay::start(&["--allow-unpaired"]).await;
    assert!(relay.stdout().contains("--allow-unpaired is for tests"));
    // One that can prove who it is still does.
    let paired = ScriptedExtension::connect(&relay, &[]).await;
    paired.drop_connection().await;
    let (mut socket, _) = open(&relay).await;
    let call = link::read_text(&mut socket).await.unwrap();
    let call: Value = serde_json::from_str(&call).unwrap();
    assert_eq!(call["method"], "listTabs");
    let tabs = json!([{ "id": 5, "url": "https://example.com/", "title": "Example" }]);
    send(&mut socket, &json!({ "id": call["id"], "result": tabs })).await;
    relay.until_extension(true).await;
    assert_eq!(relay.get("/").await["targets"], 1);
}

#[tokio::test]
async fn probe_is_answered_without_a_secret() {
    let relay = Relay::start(&[]).await;
    // What the extension's probe looks like: a request from a service worker.
    let headers = [
        ("Origin", origin(EXTENSION_ID)),
        ("Sec-Fetch-Site", "cross-site".to_owned()),
    ];
    let headers: Vec<(&str, &str)> = headers
        .iter()
        .map(|(name, value)| (*name, value.as_str()))
        .collect();
    let response = http::get(relay.port, "/", &headers).await;
    assert_eq!(response.status, 403);
    assert!(!response.body.contains(&relay.token()));
}
