//! Paired browsers: names, `tabwire browsers`, `pair`, `unpair`, and the token while a relay runs.

use std::fs;

use serde_json::{Value, json};
use tabwire_home::Secret;
use tabwire_tests::{
    Client, EXTENSION_ID, Exit, Installation, Relay, ScriptedExtension, http, run, tab, until,
};

use crate::setup::start;

fn tabwire(relay: &Relay, arguments: &[&str]) -> Exit {
    run(&relay.home(), arguments, &[])
}

fn browsers(relay: &Relay) -> Value {
    let exit = tabwire(relay, &["browsers", "--json"]);
    serde_json::from_str(&exit.stdout).unwrap_or_else(|_| panic!("{exit:?}"))
}

#[tokio::test]
async fn browsers_are_listed_with_their_names_and_whether_they_are_connected() {
    let (relay, extension, _client) = start(&[1, 2]).await;
    let listed = browsers(&relay);
    let chrome = &listed["paired"][0];
    assert_eq!(chrome["name"], "chrome");
    assert_eq!(chrome["product"], "Chrome/156.0.8078.79");
    assert_eq!(chrome["connected"], true);
    assert!(listed["installed"].is_array());
    let exit = tabwire(&relay, &["browsers"]);
    assert!(exit.stdout.contains("connected, 2 tabs"), "{exit:?}");
    let secret = relay.installation().secret.reveal();
    assert!(!exit.stdout.contains(&secret) && !listed.to_string().contains(&secret));
    extension.drop_connection().await;
    relay.until_extension(false).await;
    assert_eq!(browsers(&relay)["paired"][0]["connected"], false);
}

#[tokio::test]
async fn renamed_browser_keeps_its_connection() {
    let (relay, extension, mut client) = start(&[1]).await;
    let exit = tabwire(&relay, &["browsers", "rename", "chrome", "work"]);
    assert_eq!(exit.code, Some(0), "{exit:?}");
    let status = extension
        .until_status("the popup shows the name", |status| {
            status["name"] == "work"
        })
        .await;
    assert_eq!(status["clients"].as_array().unwrap().len(), 1, "{status}");
    client.ok("Target.getTargets", json!({})).await;
    let exit = tabwire(&relay, &["browsers", "rename", "nobody", "x"]);
    assert_eq!(exit.code, Some(1));
    assert!(
        exit.stderr.contains("No browser is called 'nobody'"),
        "{exit:?}"
    );
}

#[tokio::test]
async fn unpaired_browser_is_disconnected_at_once_and_stays_out() {
    let (relay, extension, _client) = start(&[1]).await;
    let exit = tabwire(&relay, &["unpair", "chrome"]);
    assert_eq!(exit.code, Some(0), "{exit:?}");
    assert_eq!(extension.wait_for_close().await.unwrap().0, 4401);
    relay.until_extension(false).await;
    let installation = relay.installation();
    let refused = ScriptedExtension::prove(&relay, &installation, EXTENSION_ID, false).await;
    assert_eq!(refused.unwrap_err().close, Some(4401));
    assert_eq!(browsers(&relay)["paired"], json!([]));
}

/// Every handshake reads the pairings. None of them may swallow the change.
#[tokio::test]
async fn unpaired_browser_is_disconnected_while_another_one_keeps_trying() {
    let (relay, extension, _client) = start(&[1]).await;
    let other = relay.installation().with_id(2);
    let trying = async {
        loop {
            let _ = ScriptedExtension::prove(&relay, &other, EXTENSION_ID, false).await;
        }
    };
    let unpairing = async {
        tabwire(&relay, &["unpair", "chrome"]);
        extension.wait_for_close().await.unwrap().0
    };
    tokio::select! {
        code = unpairing => assert_eq!(code, 4401),
        () = trying => {}
    }
}

#[tokio::test]
async fn clients_of_an_unpaired_browser_are_disconnected() {
    let (relay, _extension, mut client) = start(&[1]).await;
    tabwire(&relay, &["unpair", "chrome"]);
    let (_, reason) = client.wait_for_close().await.unwrap();
    assert!(reason.contains("no longer paired"), "{reason}");
}

#[tokio::test]
async fn unpaired_browser_stays_out_although_another_one_shares_its_folder() {
    let (relay, first, _client) = start(&[1]).await;
    first.drop_connection().await;
    let second = relay.installation().with_id(2);
    let second = ScriptedExtension::take_over(&relay, &second, &[]).await;
    second.until_called("listTabs", 1).await;
    let exit = tabwire(&relay, &["unpair", "chrome"]);
    assert!(exit.stdout.contains("also used by chrome-2"), "{exit:?}");
    let installation = relay.installation();
    let refused = ScriptedExtension::prove(&relay, &installation, EXTENSION_ID, false).await;
    assert_eq!(refused.unwrap_err().close, Some(4401));
}

#[tokio::test]
async fn code_pairs_one_browser() {
    let relay = Relay::start(&[]).await;
    let exit = tabwire(&relay, &["pair", "--name", "store"]);
    assert_eq!(exit.code, Some(0), "{exit:?}");
    let prefix = format!("tabwire:{}:", relay.port);
    let secret = exit.stdout.trim().strip_prefix(&prefix).unwrap();
    let installation = Installation {
        install_id: "aaaaaaaa-0000-4000-8000-000000000000".to_owned(),
        secret: Secret::parse(secret).unwrap(),
    };
    let extension = ScriptedExtension::open_as(&relay, &installation, EXTENSION_ID, &[]).await;
    extension
        .until_status("it is named", |status| status["name"] == "store")
        .await;
    extension.drop_connection().await;
    let other = installation.with_id(2);
    let refused = ScriptedExtension::prove(&relay, &other, EXTENSION_ID, false).await;
    assert_eq!(refused.unwrap_err().close, Some(4401));
}

#[tokio::test]
async fn removing_the_token_disconnects_clients_and_publishes_a_new_one() {
    let (relay, _extension, mut client) = start(&[1]).await;
    let (old, home) = (relay.token(), relay.home());
    fs::remove_file(home.join("auth-token")).unwrap();
    let (code, reason) = client.wait_for_close().await.unwrap();
    assert_eq!(code, 1008);
    assert!(reason.contains("token was replaced"), "{reason}");
    until("the new URL is published", async || {
        let url = fs::read_to_string(home.join("cdp-url")).unwrap();
        (url.contains(&relay.token()) && !url.contains(&old)).then_some(())
    })
    .await;
    let path = format!("/json/version?token={old}");
    assert_eq!(http::get(relay.port, &path, &[]).await.status, 401);
    Client::connect(&relay).await;
}

#[tokio::test]
async fn replaced_token_takes_effect_on_the_next_request() {
    let (relay, _extension) = crate::setup::start_relay(&[], &[1]).await;
    let old = relay.token();
    let new = Secret::random().reveal();
    let file = relay.home().join("auth-token");
    fs::write(file.with_extension("new"), &new).unwrap();
    fs::rename(file.with_extension("new"), &file).unwrap();
    let status = async |token: &str| {
        let path = format!("/json/version?token={token}");
        http::get(relay.port, &path, &[]).await.status
    };
    assert_eq!(status(&old).await, 401);
    assert_eq!(status(&new).await, 200);
}

#[tokio::test]
async fn damaged_files_admit_nobody() {
    let (relay, extension, mut client) = start(&[1]).await;
    let token = relay.token();
    fs::write(relay.home().join("paired.json"), "{").unwrap();
    assert_eq!(extension.wait_for_close().await.unwrap().0, 4401);
    fs::write(relay.home().join("auth-token"), "short").unwrap();
    client.wait_for_close().await.unwrap();
    for token in ["short", "", &token] {
        let path = format!("/json/version?token={token}");
        assert_eq!(http::get(relay.port, &path, &[]).await.status, 401);
    }
}

#[tokio::test]
async fn popup_learns_which_client_uses_which_tab() {
    let (relay, extension) =
        crate::setup::start_relay(&["--client-mode", "multi-client"], &[1, 2]).await;
    let mut client = Client::connect_as(&relay, "my agent").await;
    let session = crate::setup::attach(&mut client, 2).await;
    crate::setup::evaluate(&mut client, &session).await;
    let status = extension
        .until_status("the tab is in use", |status| {
            status["clients"][0]["tabs"] == json!([2])
        })
        .await;
    let name = status["clients"][0]["name"].as_str().unwrap();
    assert!(name.starts_with("my agent"), "{name}");
    let slot = relay.get("/client-slot").await;
    assert_eq!(slot["connected"][0]["name"], "my agent");
    assert_eq!(slot["connected"][0]["tabsInUse"], 1);
    assert_eq!(
        slot["connected"][0]["tabs"],
        Value::Null,
        "addresses are private"
    );
    let path = format!("/client-slot?token={}", relay.token());
    let slot = http::get(relay.port, &path, &[]).await.json();
    assert_eq!(slot["connected"][0]["tabs"][0]["url"], tab(2)["url"]);
    let exit = tabwire(&relay, &["status"]);
    assert!(
        exit.stdout.contains("my agent") && exit.stdout.contains("uses 1 tab"),
        "{exit:?}"
    );
}
