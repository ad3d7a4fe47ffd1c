//! The slots: one extension, and one client or several; taken, told and given back.

use std::time::{Duration, Instant, SystemTime};

use serde_json::{Value, json};
use tabwire_tests::{Client, EXTENSION_ID, Relay, ScriptedExtension, Start, http, tab, until};

const MULTI: &[&str] = &["--client-mode", "multi-client"];

fn now_in_milliseconds() -> u64 {
    u64::try_from(
        SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap()
            .as_millis(),
    )
    .unwrap()
}

fn is_recent(at: &Value) -> bool {
    let (at, now) = (at.as_u64().unwrap(), now_in_milliseconds());
    at <= now && now - at < 60_000
}

#[tokio::test]
async fn a_second_extension_is_told_who_holds_the_slot() {
    let relay = Relay::start(&[]).await;
    let origin = format!("chrome-extension://{EXTENSION_ID}");
    let first = ScriptedExtension::connect(&relay, &[tab(1)]).await;
    let (_, answer) = http::upgrade(relay.port, "/extension", &[("Origin", &origin)]).await;
    assert_eq!(answer.status, 409);
    let body = answer.json();
    assert_eq!(body["holder"], origin);
    assert!(is_recent(&body["connectedAt"]), "{body}");
    assert!(
        body["error"].as_str().unwrap().contains("another browser"),
        "{body}"
    );
    first.vanish().await;
    until("the slot is free", async || {
        (http::upgrade(relay.port, "/extension", &[("Origin", &origin)])
            .await
            .1
            .status
            == 101)
            .then_some(())
    })
    .await;
}

/// The one test that waits for the relay's clock: pings come every 5 seconds, and an answer is due 10 seconds later.
#[tokio::test]
async fn an_extension_that_falls_silent_gives_way_to_the_next_one() {
    let (relay, silent_from_the_start) = (Relay::start(MULTI).await, Relay::start(&[]).await);
    let stranger = ScriptedExtension::open(&silent_from_the_start, EXTENSION_ID, &[]).await;

    let hung = ScriptedExtension::connect(&relay, &[tab(1)]).await;
    let mut client = Client::connect(&relay).await;
    let session = crate::attach(&mut client, 1).await;
    client
        .ok_in(&session, "Runtime.evaluate", json!({ "expression": "1" }))
        .await;
    hung.mute();
    let on_the_way = client
        .send(
            Some(&session),
            "Runtime.evaluate",
            json!({ "expression": "click()" }),
        )
        .await;
    let error = client.reply_to(on_the_way).await.unwrap_err();
    assert!(
        crate::message_of(&error).contains("outcome is unknown"),
        "{error}"
    );

    let next = ScriptedExtension::connect(&relay, &[tab(1)]).await;
    let result = client
        .ok_in(&session, "Runtime.evaluate", json!({ "expression": "2" }))
        .await;
    assert_eq!(
        result,
        crate::echo("Runtime.evaluate", &json!({ "expression": "2" }))
    );
    assert_eq!(
        next.calls("Runtime.evaluate").len(),
        1,
        "what was under way is not sent again"
    );
    let (code, reason) = hung.closed().await.unwrap();
    assert_eq!(code, 1008);
    assert!(reason.contains("ping"), "{reason}");

    let (code, reason) = stranger.closed().await.unwrap();
    assert_eq!(code, 1008);
    assert!(reason.contains("hello"), "{reason}");
    ScriptedExtension::connect(&silent_from_the_start, &[]).await;
}

#[tokio::test]
async fn a_second_client_is_told_who_holds_the_slot() {
    let relay = Relay::start(&[]).await;
    let _first = Client::connect(&relay).await;
    let (_, answer) =
        http::upgrade(relay.port, &format!("/cdp?token={}", relay.token()), &[]).await;
    assert_eq!(answer.status, 409);
    let (body, slot) = (answer.json(), relay.get("/client-slot").await);
    assert!(
        body["error"].as_str().unwrap().contains("multi-client"),
        "{body}"
    );
    assert_eq!(body["activeClientId"], slot["activeClientId"]);
    assert!(
        body["activeClientId"].is_string() && is_recent(&body["connectedAt"]),
        "{body}"
    );
    assert_eq!(body.as_object().unwrap().len(), 3, "{body}");
}

#[tokio::test]
async fn several_clients_are_let_in_by_the_flag_and_by_both_names_of_the_environment() {
    let none: &[(&str, &str)] = &[];
    let ways = [
        (
            ["--port", "0", "--client-mode", "multi-client"].as_slice(),
            none,
        ),
        (&["--port", "0"], &[("TABWIRE_CLIENT_MODE", "multi-client")]),
        (&["--port", "0"], &[("BF_CLIENT_MODE", "multi-client")]),
        (
            &["--port", "0"],
            &[
                ("TABWIRE_CLIENT_MODE", "multi-client"),
                ("BF_CLIENT_MODE", "single-active"),
            ],
        ),
    ];
    for (arguments, environment) in ways {
        let relay = Relay::start_as(Start {
            arguments,
            environment,
            ..Start::default()
        })
        .await;
        let mut clients = Vec::new();
        for _ in 0..5 {
            clients.push(Client::connect(&relay).await);
        }
        let slot = relay.get("/client-slot").await;
        assert_eq!(
            (&slot["mode"], &slot["busy"], &slot["clients"]),
            (&json!("multi-client"), &json!(false), &json!(5)),
            "{environment:?}"
        );
    }
}

#[tokio::test]
async fn the_flag_is_stronger_than_the_environment_and_a_wrong_mode_is_an_error() {
    let arguments = &["--port", "0", "--client-mode", "single-active"];
    let relay = Relay::start_as(Start {
        arguments,
        environment: &[("TABWIRE_CLIENT_MODE", "multi-client")],
        ..Start::default()
    })
    .await;
    assert_eq!(relay.get("/client-slot").await["mode"], "single-active");
    let ended = Relay::try_start(Start {
        environment: &[("BF_CLIENT_MODE", "many")],
        ..Start::default()
    })
    .await
    .err()
    .expect("it does not start");
    assert_eq!(ended.code, Some(1));
    assert!(
        ended.stderr.contains("BF_CLIENT_MODE") && ended.stderr.contains("multi-client"),
        "{ended:?}"
    );
}

#[tokio::test]
async fn of_fifty_clients_at_once_one_gets_the_slot() {
    let mut relay = Relay::start(&[]).await;
    let path = format!("/cdp?token={}", relay.token());
    let answers =
        futures_util::future::join_all((0..50).map(|_| http::upgrade(relay.port, &path, &[])))
            .await;
    let count = |status| {
        answers
            .iter()
            .filter(|(_, answer)| answer.status == status)
            .count()
    };
    assert_eq!((count(101), count(409)), (1, 49));
    drop(answers);
    relay.until_clients(0).await;
    let _next = Client::connect(&relay).await;
    assert!(relay.lives().await);
}

#[tokio::test]
async fn the_slot_is_free_again_after_a_close_and_after_a_cut() {
    let relay = Relay::start(&[]).await;
    let polite = Client::connect(&relay).await;
    let goodbye = polite.close().await;
    assert_eq!(
        goodbye.map(|(code, _)| code),
        Some(1000),
        "a close is answered with a close"
    );
    relay.until_clients(0).await;
    let abrupt = Client::connect(&relay).await;
    abrupt.cut();
    relay.until_clients(0).await;
    let half_open = Client::connect(&relay).await;
    drop(half_open);
    relay.until_clients(0).await;
    assert_eq!(relay.get("/client-slot").await["busy"], false);
    let _next = Client::connect(&relay).await;
}

#[tokio::test]
async fn the_open_pages_tell_counts_and_nothing_private() {
    let relay = Relay::start(MULTI).await;
    assert_eq!(
        relay.get("/").await,
        json!({ "status": "ok", "extension": false, "targets": 0, "clients": 0 })
    );
    let extension = ScriptedExtension::connect(&relay, &[tab(1), tab(2), tab(3)]).await;
    let (first, _second) = (Client::connect(&relay).await, Client::connect(&relay).await);
    assert_eq!(
        relay.get("/").await,
        json!({ "status": "ok", "extension": true, "targets": 3, "clients": 2 })
    );
    extension.event("tabRemoved", json!({ "tabId": 2 })).await;
    until("the tab is gone", async || {
        (relay.get("/").await["targets"] == 2).then_some(())
    })
    .await;
    first.close().await;
    relay.until_clients(1).await;
    extension.vanish().await;
    let gone = json!({ "status": "ok", "extension": false, "targets": 0, "clients": 1 });
    until("the extension is gone", async || {
        (relay.get("/").await == gone).then_some(())
    })
    .await;
}

#[tokio::test]
async fn the_client_slot_tells_who_is_there_and_since_when() {
    let relay = Relay::start(&[]).await;
    let free = json!({ "mode": "single-active", "busy": false, "activeClientId": null, "connectedAt": null, "clients": 0 });
    assert_eq!(relay.get("/client-slot").await, free);
    let client = Client::connect(&relay).await;
    let taken = relay.get("/client-slot").await;
    assert_eq!(
        (&taken["busy"], &taken["clients"]),
        (&json!(true), &json!(1))
    );
    assert!(
        taken["activeClientId"].is_string() && is_recent(&taken["connectedAt"]),
        "{taken}"
    );
    client.close().await;
    until("the slot is free", async || {
        (relay.get("/client-slot").await == free).then_some(())
    })
    .await;
    let _next = Client::connect(&relay).await;
    assert_ne!(
        relay.get("/client-slot").await["activeClientId"],
        taken["activeClientId"],
        "an id is never used twice"
    );
}

#[tokio::test]
async fn a_client_that_waits_for_the_slot_gets_it_as_soon_as_it_is_free() {
    let relay = Relay::start(&[]).await;
    let (port, path) = (relay.port, format!("/cdp?token={}", relay.token()));
    let holder = Client::connect(&relay).await;
    let waiting = until("the slot", async || {
        Some(http::upgrade(port, &path, &[]).await).filter(|(_, answer)| answer.status == 101)
    });
    let started = Instant::now();
    tokio::join!(holder.close(), waiting);
    assert!(
        started.elapsed() < Duration::from_secs(2),
        "{:?}",
        started.elapsed()
    );
}
