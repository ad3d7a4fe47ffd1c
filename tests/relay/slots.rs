//! The slots for the extension and for clients: who gets them, what a rejected peer receives, and
//! when they are free again.

use std::time::SystemTime;

use futures_util::future::join_all;
use serde_json::{Value, json};
use tabwire_tests::{
    Client, EXTENSION_ID, Relay, ScriptedExtension, StartOptions, http, tab, target_of, until,
};

use crate::setup::{MULTI_CLIENT, assert_message, echo, start, start_with_live_session};

/// Milliseconds since 1970, as in `connectedAt`.
fn now() -> u64 {
    let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    u64::try_from(since_1970.unwrap().as_millis()).unwrap()
}

/// Checks that a connection was made after `start`.
#[track_caller]
fn assert_connected_since(start: u64, body: &Value) {
    let at = body["connectedAt"].as_u64();
    assert!(
        at.is_some_and(|at| (start..=now()).contains(&at)),
        "not since {start}: {body}"
    );
}

async fn upgrade_client(relay: &Relay) -> http::Response {
    http::upgrade(relay.port, &relay.cdp_path(), &[]).await.1
}

#[tokio::test]
async fn rejects_a_second_browser_and_names_the_first() {
    let relay = Relay::start(&[]).await;
    let first = ScriptedExtension::connect(&relay, &[tab(1)]).await;
    let second = relay.installation().with_id(2);
    let refused = ScriptedExtension::prove(&relay, &second, EXTENSION_ID, false).await;
    let refused = refused.unwrap_err();
    assert_eq!(refused.busy.unwrap()["holder"], "chrome");
    assert_eq!(refused.close, Some(4409));
    first.drop_connection().await;
    until("the slot is free", async || {
        let proven = ScriptedExtension::prove(&relay, &second, EXTENSION_ID, false).await;
        proven.ok()
    })
    .await;
}

#[tokio::test]
async fn browser_that_the_user_prefers_takes_the_slot() {
    let (relay, first, mut client) = start(&[1]).await;
    let second = relay.installation().with_id(2);
    let _second = ScriptedExtension::take_over(&relay, &second, &[tab(2)]).await;
    assert_eq!(first.wait_for_close().await.unwrap().0, 4409);
    relay.until_extension(true).await;
    let infos = client.ok("Target.getTargets", json!({})).await;
    assert_eq!(infos["targetInfos"][0]["targetId"], target_of(2), "{infos}");
    assert_eq!(infos["targetInfos"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn client_that_named_a_browser_is_not_moved_to_another() {
    let relay = Relay::start(MULTI_CLIENT).await;
    let _first = ScriptedExtension::connect(&relay, &[tab(1)]).await;
    let mut named = Client::connect_to(&relay, "chrome").await;
    let mut unnamed = Client::connect(&relay).await;
    let second = relay.installation().with_id(2);
    let _second = ScriptedExtension::take_over(&relay, &second, &[tab(2)]).await;
    assert_eq!(named.wait_for_close().await.unwrap().0, 1001);
    relay.until_extension(true).await;
    unnamed.ok("Target.getTargets", json!({})).await;
}

#[tokio::test]
async fn browser_that_connects_again_replaces_its_earlier_connection() {
    let (relay, first, mut client, session) = start_with_live_session().await;
    first.stop_replying();
    let _again = ScriptedExtension::open(&relay, &[tab(1)]).await;
    assert_eq!(first.wait_for_close().await.unwrap().0, 4409);
    let params = json!({ "expression": "2" });
    let result = client
        .ok_in(&session, "Runtime.evaluate", params.clone())
        .await;
    assert_eq!(result, echo("Runtime.evaluate", &params));
}

/// Depends on the relay's clock: it pings every 5 seconds and waits 10 seconds for the pong.
#[tokio::test]
async fn disconnects_an_extension_that_stops_replying() {
    let (relay, hung, mut client, session) = start_with_live_session().await;
    hung.stop_replying();
    let params = json!({ "expression": "click()" });
    let in_flight = client
        .send(Some(&session), "Runtime.evaluate", params)
        .await;
    assert_message(&client.error_of(in_flight).await, "outcome is unknown");

    let next = ScriptedExtension::connect(&relay, &[tab(1)]).await;
    let params = json!({ "expression": "2" });
    let result = client
        .ok_in(&session, "Runtime.evaluate", params.clone())
        .await;
    assert_eq!(result, echo("Runtime.evaluate", &params));
    assert_eq!(
        next.calls("Runtime.evaluate").len(),
        1,
        "commands in flight are not sent again"
    );
    let (code, reason) = hung.wait_for_close().await.unwrap();
    assert_eq!(code, 1008);
    assert!(reason.contains("ping"), "{reason}");
}

#[tokio::test]
async fn rejects_a_second_client_with_409() {
    let relay = Relay::start(&[]).await;
    let start = now();
    let _first = Client::connect(&relay).await;
    let response = upgrade_client(&relay).await;
    assert_eq!(response.status, 409);
    let (body, slot) = (response.json(), relay.get("/client-slot").await);
    assert!(
        body["error"].as_str().unwrap().contains("multi-client"),
        "{body}"
    );
    assert_eq!(body["activeClientId"], slot["activeClientId"]);
    assert!(body["activeClientId"].is_string(), "{body}");
    assert_connected_since(start, &body);
    assert_eq!(body["client"]["name"], "unnamed client", "{body}");
}

#[tokio::test]
async fn option_and_both_environment_variables_allow_several_clients() {
    let option: &[&str] = &["--port", "0", "--client-mode", "multi-client"];
    let no_option: &[&str] = &["--port", "0"];
    let none: &[(&str, &str)] = &[];
    let (multi, single) = ("multi-client", "single-active");
    for (arguments, environment) in [
        (option, none),
        (no_option, &[("TABWIRE_CLIENT_MODE", multi)]),
        (no_option, &[("BF_CLIENT_MODE", multi)]),
        (
            no_option,
            &[("TABWIRE_CLIENT_MODE", multi), ("BF_CLIENT_MODE", single)],
        ),
    ] {
        let relay = Relay::start_with(StartOptions {
            arguments,
            environment,
            ..StartOptions::default()
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
async fn client_mode_option_overrides_the_environment() {
    let relay = Relay::start_with(StartOptions {
        arguments: &["--port", "0", "--client-mode", "single-active"],
        environment: &[("TABWIRE_CLIENT_MODE", "multi-client")],
        ..StartOptions::default()
    })
    .await;
    assert_eq!(relay.get("/client-slot").await["mode"], "single-active");
}

#[tokio::test]
async fn rejects_an_unknown_client_mode() {
    let started = Relay::try_start(StartOptions {
        environment: &[("BF_CLIENT_MODE", "many")],
        ..StartOptions::default()
    });
    let exit = started.await.err().expect("the relay must not start");
    assert_eq!(exit.code, Some(1));
    assert!(
        exit.stderr.contains("BF_CLIENT_MODE") && exit.stderr.contains("multi-client"),
        "{exit:?}"
    );
}

#[tokio::test]
async fn one_of_fifty_simultaneous_clients_gets_the_slot() {
    let mut relay = Relay::start(&[]).await;
    let path = relay.cdp_path();
    let responses = join_all((0..50).map(|_| http::upgrade(relay.port, &path, &[]))).await;
    let count = |status| {
        responses
            .iter()
            .filter(|(_, response)| response.status == status)
            .count()
    };
    assert_eq!((count(101), count(409)), (1, 49));
    drop(responses);
    relay.until_clients(0).await;
    let _next = Client::connect(&relay).await;
    assert!(relay.is_alive().await);
}

#[tokio::test]
async fn frees_the_slot_however_a_client_disconnects() {
    let relay = Relay::start(&[]).await;
    let close = Client::connect(&relay).await.close().await;
    assert_eq!(
        close.map(|(code, _)| code),
        Some(1000),
        "the relay replies with a close frame"
    );
    relay.until_clients(0).await;
    Client::connect(&relay).await.reset();
    relay.until_clients(0).await;
    drop(Client::connect(&relay).await);
    relay.until_clients(0).await;
    assert_eq!(relay.get("/client-slot").await["busy"], false);
    let _next = Client::connect(&relay).await;
}

#[tokio::test]
async fn root_page_shows_only_counts() {
    let relay = Relay::start(MULTI_CLIENT).await;
    assert_eq!(
        relay.get("/").await,
        json!({ "status": "ok", "mode": "multi-client", "extension": false, "browsers": 0, "targets": 0, "clients": 0 })
    );
    let extension = ScriptedExtension::connect(&relay, &[tab(1), tab(2), tab(3)]).await;
    let (first, _second) = (Client::connect(&relay).await, Client::connect(&relay).await);
    assert_eq!(
        relay.get("/").await,
        json!({ "status": "ok", "mode": "multi-client", "extension": true, "browsers": 1, "targets": 3, "clients": 2 })
    );
    extension
        .send_event("tabRemoved", json!({ "tabId": 2 }))
        .await;
    until("the tab is removed", async || {
        (relay.get("/").await["targets"] == 2).then_some(())
    })
    .await;
    first.close().await;
    relay.until_clients(1).await;
    extension.drop_connection().await;
    let expected = json!({ "status": "ok", "mode": "multi-client", "extension": false, "browsers": 0, "targets": 0, "clients": 1 });
    until("the extension is disconnected", async || {
        (relay.get("/").await == expected).then_some(())
    })
    .await;
}

#[tokio::test]
async fn client_slot_shows_the_active_client() {
    let relay = Relay::start(&[]).await;
    let free = json!({ "mode": "single-active", "busy": false, "activeClientId": null, "connectedAt": null, "clients": 0, "connected": [] });
    assert_eq!(relay.get("/client-slot").await, free);
    let start = now();
    let client = Client::connect(&relay).await;
    let taken = relay.get("/client-slot").await;
    assert_eq!(
        (&taken["busy"], &taken["clients"]),
        (&json!(true), &json!(1))
    );
    assert!(taken["activeClientId"].is_string(), "{taken}");
    assert_connected_since(start, &taken);
    client.close().await;
    until("the slot is free", async || {
        (relay.get("/client-slot").await == free).then_some(())
    })
    .await;
    let _next = Client::connect(&relay).await;
    assert_ne!(
        relay.get("/client-slot").await["activeClientId"],
        taken["activeClientId"],
        "ids are not reused"
    );
}

#[tokio::test]
async fn slot_is_free_as_soon_as_its_holder_has_disconnected() {
    let relay = Relay::start(&[]).await;
    let holder = Client::connect(&relay).await;
    assert_eq!(upgrade_client(&relay).await.status, 409);
    let retrying = until("a client that retries gets the slot", async || {
        (upgrade_client(&relay).await.status == 101).then_some(())
    });
    tokio::join!(holder.close(), retrying);
    // No retries here: the end of the connection is the event that a waiting client can rely on.
    for _ in 0..20 {
        relay.until_clients(0).await;
        Client::connect(&relay).await.close().await;
        assert_eq!(upgrade_client(&relay).await.status, 101);
    }
}
