//! The port that needs no token: how it is opened and closed, and who sees it. `gate` has who may use it.

mod gate;

use rustix::process::Signal;
use serde_json::{Value, json};
use tabwire_tests::{Client, Exit, Relay, http, run, target_of, until};

use crate::many_browsers;
use crate::setup::{MULTI_CLIENT, start_relay};

/// Runs `tabwire open-port`. The option is needed where nobody can be identified, and must change nothing
/// on Linux.
fn open(relay: &Relay, arguments: &[&str]) -> Exit {
    let arguments = [&["open-port", "--json", "--without-user-check"], arguments].concat();
    run(&relay.home(), &arguments, &[])
}

/// Opens a free port and returns its number.
pub fn open_port(relay: &Relay, arguments: &[&str]) -> u16 {
    let exit = open(relay, &[&["--port", "0"], arguments].concat());
    assert_eq!(exit.code, Some(0), "{exit:?}");
    let opened: Value = serde_json::from_str(&exit.stdout).unwrap();
    opened["port"].as_u64().unwrap().try_into().unwrap()
}

pub fn close_port(relay: &Relay) -> Exit {
    run(&relay.home(), &["close-port"], &[])
}

#[track_caller]
fn assert_fails(exit: &Exit, part: &str) {
    assert_eq!(exit.code, Some(1), "{exit:?}");
    assert!(exit.stderr.contains(part), "no {part:?} in {exit:?}");
}

async fn is_listening(port: u16) -> bool {
    let address = (std::net::Ipv4Addr::LOCALHOST, port);
    tokio::net::TcpStream::connect(address).await.is_ok()
}

async fn browser_url(port: u16) -> String {
    let version = http::get(port, "/json/version", &[]).await.json();
    version["webSocketDebuggerUrl"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn serves_what_chromes_own_port_serves_without_a_token() {
    let (relay, extension) = start_relay(&[], &[1]).await;
    let port = open_port(&relay, &[]);
    let version = http::get(port, "/json/version", &[]).await;
    assert!(!version.body.contains("token"), "{version:?}");
    let list = http::get(port, "/json/list", &[]).await.json();
    let page = format!("ws://127.0.0.1:{port}/devtools/page/{}", target_of(1));
    assert_eq!(list[0]["webSocketDebuggerUrl"], page);
    // `chrome://inspect` opens only what has an address of DevTools. Elsewhere it would have the token.
    let front_end = page.replace("ws://", "devtools://devtools/bundled/inspector.html?ws=");
    assert_eq!(list[0]["devtoolsFrontendUrl"], front_end);
    let main = relay
        .get(&format!("/json/list?token={}", relay.token()))
        .await;
    assert_eq!(main[0]["devtoolsFrontendUrl"], Value::Null);
    assert_eq!(http::get(port, "/json/protocol", &[]).await.status, 200);

    let mut browser = Client::connect_url(&browser_url(port).await).await;
    let mut page = Client::connect_url(&page).await;
    browser.ok("Target.getTargets", json!({})).await;
    assert_eq!(extension.call_names(), ["listTabs"], "attaches no debugger");
    let result = page.ok("Runtime.evaluate", json!({})).await;
    assert_eq!(result["echo"], "Runtime.evaluate");
    let slot = relay.get("/client-slot").await;
    assert_eq!(slot["clients"], 1, "the sockets of one program");
}

#[tokio::test]
async fn is_closed_unless_it_was_opened() {
    let (relay, _extension) = start_relay(&[], &[1]).await;
    assert_eq!(relay.get("/").await["openPort"], Value::Null);
    let exit = close_port(&relay);
    assert_eq!(
        (exit.code, exit.stdout.as_str()),
        (Some(0), "No port is open.\n")
    );
}

#[tokio::test]
async fn closing_disconnects_its_clients_with_a_reason_and_no_others() {
    let (relay, _extension) = start_relay(MULTI_CLIENT, &[1]).await;
    let port = open_port(&relay, &[]);
    let mut with_token = Client::connect(&relay).await;
    let mut without = Client::connect_url(&browser_url(port).await).await;
    let exit = close_port(&relay);
    assert_eq!(exit.stdout, format!("Closed port {port}.\n"));
    assert!(!is_listening(port).await);
    let (code, reason) = without.wait_for_close().await.unwrap();
    assert_eq!(code, 1001);
    assert!(reason.contains("`tabwire close-port`"), "{reason}");
    with_token.ok("Browser.getVersion", json!({})).await;
    assert!(
        relay
            .stderr()
            .contains("closed the port that needs no token")
    );
}

#[tokio::test]
async fn closes_by_itself_when_its_time_is_over() {
    let (relay, _extension) = start_relay(&[], &[1]).await;
    let port = open_port(&relay, &["--for", "1s"]);
    let mut client = Client::connect_url(&browser_url(port).await).await;
    let (_, reason) = client.wait_for_close().await.unwrap();
    assert!(reason.contains("time of the open port is over"), "{reason}");
    assert!(reason.contains("`tabwire open-port`"), "{reason}");
    until("the port is closed", async || {
        (!is_listening(port).await).then_some(())
    })
    .await;
    assert_eq!(relay.get("/").await["openPort"], Value::Null);
    assert_ne!(open_port(&relay, &[]), 0, "it can be opened again");
}

#[tokio::test]
async fn closes_with_the_relay() {
    let (relay, _extension) = start_relay(&[], &[1]).await;
    let port = open_port(&relay, &[]);
    let mut client = Client::connect_url(&browser_url(port).await).await;
    relay.stop(Signal::TERM).await;
    let (_, reason) = client.wait_for_close().await.unwrap();
    assert_eq!(reason, "The relay is stopping.");
    assert!(!is_listening(port).await);
}

#[tokio::test]
async fn opening_again_only_changes_its_end() {
    let (relay, _extension) = start_relay(&[], &[1]).await;
    let port = open_port(&relay, &["--for", "1m"]);
    let first = relay.get("/").await["openPort"]["until"].as_u64().unwrap();
    let again = open(&relay, &["--for", "2h"]);
    let again: Value = serde_json::from_str(&again.stdout).unwrap();
    assert_eq!(
        (&again["port"], &again["extended"]),
        (&json!(port), &json!(true))
    );
    let second = relay.get("/").await["openPort"]["until"].as_u64().unwrap();
    assert!(second > first + 3_600_000, "{first} {second}");
    let other = if port == 9222 { "9223" } else { "9222" };
    assert_fails(&open(&relay, &["--port", other]), "`tabwire close-port`");
    assert!(is_listening(port).await);
}

#[tokio::test]
async fn replacing_the_token_closes_it() {
    let (relay, _extension) = start_relay(&[], &[1]).await;
    let port = open_port(&relay, &[]);
    let mut client = Client::connect_url(&browser_url(port).await).await;
    std::fs::remove_file(relay.home().join("auth-token")).unwrap();
    let (_, reason) = client.wait_for_close().await.unwrap();
    assert!(reason.contains("token was replaced"), "{reason}");
    assert!(!is_listening(port).await);
}

#[tokio::test]
async fn person_sees_it_and_can_close_it() {
    let (relay, extension) = start_relay(&[], &[1]).await;
    let port = open_port(&relay, &["--for", "10m"]);
    let expected = relay.get("/").await["openPort"].clone();
    assert_eq!(expected["port"], port);
    extension
        .until_status("the popup shows it", |status| {
            status["openPort"] == expected
        })
        .await;
    extension
        .send_text(r#"{"method":"closePort"}"#.to_owned())
        .await;
    until("the port is closed", async || {
        (!is_listening(port).await).then_some(())
    })
    .await;
    extension
        .until_status("the popup no longer shows it", |status| {
            status["openPort"].is_null()
        })
        .await;
}

#[tokio::test]
async fn status_and_doctor_show_it() {
    let (relay, _extension) = start_relay(&[], &[1]).await;
    let shown = |arguments: &[&str]| run(&relay.home(), arguments, &[]).stdout;
    assert!(!shown(&["status"]).contains("open-port"));
    let port = open_port(&relay, &["--for", "10m"]);
    let status = shown(&["status"]);
    let line = format!("127.0.0.1:{port} is open without a token for another 10 minutes");
    assert!(status.contains(&line), "{status}");
    let status: Value = serde_json::from_str(&shown(&["status", "--json"])).unwrap();
    assert_eq!(status["relay"]["openPort"]["port"], port);
    let doctor = shown(&["doctor"]);
    assert!(
        doctor.contains(&format!("Port {port} needs no token")),
        "{doctor}"
    );
    assert!(doctor.contains("`tabwire close-port`"), "{doctor}");
}

#[tokio::test]
async fn explains_the_risk_when_it_is_opened() {
    let (relay, _extension) = start_relay(&[], &[1]).await;
    let arguments = ["open-port", "--port", "0", "--without-user-check"];
    let exit = run(&relay.home(), &arguments, &[]);
    for part in [
        "is open for 10 minutes and needs no token",
        "every program that you run can see and control everything in your browser",
        "`tabwire close-port`",
    ] {
        assert!(exit.stdout.contains(part), "no {part:?} in {exit:?}");
    }
}

#[tokio::test]
async fn errors_name_the_next_step() {
    let (relay, _extension) = start_relay(&[], &[1]).await;
    let own = relay.port.to_string();
    assert_fails(&open(&relay, &["--port", &own]), "--port");
    assert_fails(
        &open(&relay, &["--browser", "nope"]),
        "No browser is called 'nope'",
    );
    let too_long = open(&relay, &["--for", "9h"]);
    assert!(too_long.stdout.contains("at most 8h"), "{too_long:?}");
    let home = tempfile::TempDir::new().unwrap();
    let without_relay = run(&home.path().join("home"), &["open-port"], &[]);
    assert_fails(&without_relay, "`tabwire serve`");
}

#[tokio::test]
async fn opening_needs_the_token() {
    let (relay, _extension) = start_relay(&[], &[1]).await;
    for path in ["/open-port", "/close-port"] {
        let headers = [
            ("Content-Type", "application/json"),
            ("Content-Length", "0"),
        ];
        let response = http::request(relay.port, "POST", path, &headers).await;
        assert_eq!(response.status, 401, "{path}");
    }
}

#[tokio::test]
async fn with_several_browsers_it_leads_to_one_of_them() {
    let (relay, extensions) = many_browsers::start().await;
    assert_fails(&open(&relay, &["--port", "0"]), "--browser NAME");
    let port = open_port(&relay, &["--browser", "chrome-2"]);
    let list = http::get(port, "/json/list", &[]).await.json();
    assert_eq!(list[1]["id"], target_of(12), "{list}");
    let mut client = Client::connect_url(&browser_url(port).await).await;
    client.ok("Browser.getVersion", json!({})).await;
    for path in ["/json/list?browser=chrome", "/json/version?browser=chrome"] {
        assert_eq!(http::get(port, path, &[]).await.status, 403, "{path}");
    }
    extensions[1]
        .until_status("its popup shows it", |status| {
            status["openPort"]["port"] == port
        })
        .await;
    // A status that follows what the other browser was sent about the port.
    let _other = Client::connect_to(&relay, "chrome").await;
    let status = extensions[0]
        .until_status("its popup shows a client", |status| {
            status["clients"] != json!([])
        })
        .await;
    assert!(status["openPort"].is_null(), "{status}");
    let exit = open(&relay, &["--browser", "chrome"]);
    assert_fails(&exit, "already open for 'chrome-2'");
}
