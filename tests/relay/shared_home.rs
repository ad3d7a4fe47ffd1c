//! Several relays in one home: which of them owns its files.

use std::fs;
use std::sync::Arc;

use futures_util::future::join_all;
use rustix::process::Signal;
use tabwire_tests::{Client, Relay, StartOptions, http, run, until};
use tempfile::TempDir;

use crate::files::{names_in, start_in};

#[tokio::test]
async fn fifty_simultaneous_starts_agree_on_one_token() {
    let folder = Arc::new(TempDir::new().unwrap());
    let relays = join_all((0..50).map(|_| start_in(&folder))).await;
    let relays: Vec<Relay> = relays.into_iter().map(Result::unwrap).collect();
    let path = format!("/browsers?token={}", relays[0].token());
    let statuses = join_all(
        relays
            .iter()
            .map(async |relay| http::get(relay.port, &path, &[]).await.status),
    )
    .await;
    assert_eq!(statuses, [200; 50]);
    assert_eq!(
        names_in(&relays[0].home()),
        ["auth-token", "cdp-url", "relay.log", "state.json"],
        "no temporary files are left"
    );
}

#[tokio::test]
async fn second_relay_in_a_home_leaves_the_files_of_the_first() {
    let first = Relay::start(&[]).await;
    let files = || {
        ["state.json", "cdp-url"].map(|name| fs::read_to_string(first.home().join(name)).unwrap())
    };
    let before = files();
    let mut second = start_in(&first.shared_home()).await.unwrap();
    let notice = format!(
        "this home's files belong to the relay on port {} (process {}).",
        first.port,
        first.pid()
    );
    assert_eq!(
        second.stdout().matches(&notice).count(),
        1,
        "{}",
        second.stdout()
    );
    assert!(second.is_alive().await);
    Client::connect_with(second.port, &second.token()).await;
    assert_eq!(files(), before);
    second.stop(Signal::TERM).await;
    assert_eq!(files(), before);
}

#[tokio::test]
async fn next_relay_takes_over_the_files_of_one_that_ended() {
    for signal in [Signal::TERM, Signal::KILL] {
        let first = Relay::start(&[]).await;
        let second = start_in(&first.shared_home()).await.unwrap();
        first.stop(signal).await;
        let third = start_in(&second.shared_home()).await.unwrap();
        let url = fs::read_to_string(third.home().join("cdp-url")).unwrap();
        assert!(
            url.contains(&format!(":{}/", third.port)),
            "{signal:?}: {url}"
        );
        second.stop(Signal::TERM).await;
        assert!(
            third.home().join("state.json").exists(),
            "a relay removes only its own files"
        );
    }
}

#[tokio::test]
async fn second_relay_in_a_home_takes_over_when_the_first_has_ended() {
    for signal in [Signal::TERM, Signal::KILL] {
        let first = Relay::start(&[]).await;
        let second = start_in(&first.shared_home()).await.unwrap();
        first.stop(signal).await;
        let url = until("the second relay has published its URL", async || {
            let url = fs::read_to_string(second.home().join("cdp-url")).ok()?;
            url.contains(&format!(":{}/", second.port)).then_some(url)
        })
        .await;
        assert!(url.contains(&second.token()), "{signal:?}");
        let status = run(&second.home(), &["status", "--json"], &[]);
        let status: serde_json::Value = serde_json::from_str(&status.stdout).unwrap();
        assert_eq!(status["pid"], second.pid(), "{signal:?}");
        until("its log goes on in the same file", async || {
            let log = fs::read_to_string(second.home().join("relay.log")).ok()?;
            log.contains("belong to this relay now").then_some(())
        })
        .await;
        let stopped = second.stop(Signal::TERM).await;
        assert!(!stopped.home.join("cdp-url").exists());
    }
}

#[tokio::test]
async fn names_the_process_that_uses_the_port_and_leaves_it_alone() {
    let mut holder = Relay::start(&[]).await;
    let port = holder.port.to_string();
    for home in [None, Some(holder.shared_home())] {
        let exit = Relay::try_start(StartOptions {
            arguments: &["--port", &port],
            home,
            ..StartOptions::default()
        })
        .await
        .err()
        .expect("the relay must not start");
        assert_eq!(exit.code, Some(1));
        let expected = format!(
            "Port {port} is in use by process {} (tabwire)",
            holder.pid()
        );
        assert!(
            exit.stderr.contains(&expected) && exit.stderr.contains("--port"),
            "{exit:?}"
        );
        assert!(holder.is_alive().await);
    }
    let url = fs::read_to_string(holder.home().join("cdp-url")).unwrap();
    assert!(
        url.contains(&format!(":{port}/")),
        "the holder keeps its files"
    );
}
