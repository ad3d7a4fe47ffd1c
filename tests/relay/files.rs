//! The files of Tabwire's home: who can read them, when they are there, and what is refused.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::future::join_all;
use rustix::process::Signal;
use serde_json::json;
use tabwire_tests::{Client, Ended, Relay, ScriptedExtension, Start, http, run, tab};
use tempfile::TempDir;

fn mode(path: &Path) -> u32 {
    fs::metadata(path)
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()))
        .permissions()
        .mode()
        & 0o777
}

/// A home that is there before the relay, with this mode.
fn prepared_home(mode: u32) -> (Arc<TempDir>, PathBuf) {
    let folder = Arc::new(TempDir::new().unwrap());
    let home = folder.path().join("home");
    fs::create_dir(&home).unwrap();
    fs::set_permissions(&home, fs::Permissions::from_mode(mode)).unwrap();
    (folder, home)
}

async fn start_in(folder: &Arc<TempDir>) -> Result<Relay, Ended> {
    Relay::try_start(Start {
        home: Some(folder.clone()),
        ..Start::default()
    })
    .await
}

async fn refused_in(folder: &Arc<TempDir>) -> Ended {
    let ended = start_in(folder)
        .await
        .err()
        .expect("the relay does not start");
    assert_eq!(ended.code, Some(1), "{ended:?}");
    ended
}

#[tokio::test]
async fn the_files_are_private_under_any_umask() {
    for umask in ["000", "022", "077", "277", "777"] {
        let relay = Relay::start_as(Start {
            umask: Some(umask),
            ..Start::default()
        })
        .await;
        let home = relay.home();
        assert_eq!(mode(&home), 0o700, "umask {umask}");
        for name in ["auth-token", "cdp-url", "state.json"] {
            assert_eq!(mode(&home.join(name)), 0o600, "{name}, umask {umask}");
        }
        let left: Vec<_> = fs::read_dir(&home)
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert_eq!(left.len(), 3, "{left:?}");
    }
}

#[tokio::test]
async fn the_files_say_where_the_relay_is() {
    let relay = Relay::start(&[]).await;
    let state: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(relay.home().join("state.json")).unwrap())
            .unwrap();
    assert_eq!(state, json!({ "port": relay.port, "pid": relay.pid() }));
    let url = fs::read_to_string(relay.home().join("cdp-url")).unwrap();
    assert_eq!(
        url,
        format!("ws://127.0.0.1:{}/cdp?token={}", relay.port, relay.token())
    );
}

#[tokio::test]
async fn the_token_is_43_url_safe_characters_and_is_kept() {
    let first = Relay::start(&[]).await;
    let token = first.token();
    assert_eq!(token.len(), 43);
    assert!(
        token
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_'),
        "{token}"
    );
    let (_, _, folder) = first.stop(Signal::TERM).await;
    let second = start_in(&folder).await.unwrap();
    assert_eq!(second.token(), token);
    Client::connect_with(second.port, &token).await;
    let other = Relay::start(&[]).await;
    assert_ne!(other.token(), token, "each home has its own");
}

#[tokio::test]
async fn a_token_that_others_can_read_is_closed_with_a_warning() {
    let (_, home, folder) = Relay::start(&[]).await.stop(Signal::TERM).await;
    fs::set_permissions(home.join("auth-token"), fs::Permissions::from_mode(0o644)).unwrap();
    let relay = start_in(&folder).await.unwrap();
    assert_eq!(mode(&home.join("auth-token")), 0o600);
    assert!(
        relay
            .stderr()
            .contains("auth-token could be read by others"),
        "{}",
        relay.stderr()
    );
}

#[tokio::test]
async fn a_token_that_is_a_link_is_refused() {
    let (folder, home) = prepared_home(0o700);
    let elsewhere = folder.path().join("elsewhere");
    for exists in [false, true] {
        if exists {
            fs::write(&elsewhere, "A".repeat(43)).unwrap();
        }
        let _ = fs::remove_file(home.join("auth-token"));
        symlink(&elsewhere, home.join("auth-token")).unwrap();
        let ended = refused_in(&folder).await;
        assert!(
            ended.stderr.contains("auth-token") && ended.stderr.contains("symbolic link"),
            "{ended:?}"
        );
        assert_eq!(
            elsewhere.exists(),
            exists,
            "nothing is made at the other end"
        );
    }
}

#[tokio::test]
async fn a_token_file_with_other_content_is_refused_and_left_alone() {
    let (folder, home) = prepared_home(0o700);
    let file = home.join("auth-token");
    for content in [
        "",
        "short",
        &"A".repeat(42),
        &"A".repeat(44),
        &"!".repeat(43),
        &"x".repeat(100_000),
    ] {
        fs::write(&file, content).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        let ended = refused_in(&folder).await;
        assert!(
            ended.stderr.contains("auth-token") && ended.stderr.contains("remove it"),
            "{ended:?}"
        );
        assert!(
            content.len() < 43 || !ended.stderr.contains(content),
            "what it holds is not said"
        );
        assert_eq!(fs::read_to_string(&file).unwrap(), content);
    }
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    let ended = refused_in(&folder).await;
    assert!(ended.stderr.contains("not a plain file"), "{ended:?}");
}

#[tokio::test]
async fn a_home_that_others_can_enter_is_closed_with_a_warning() {
    for open in [0o755, 0o710] {
        let (folder, home) = prepared_home(open);
        let relay = start_in(&folder).await.unwrap();
        assert_eq!(mode(&home), 0o700);
        assert!(
            relay.stderr().contains("could be entered by others"),
            "{}",
            relay.stderr()
        );
    }
}

#[tokio::test]
async fn a_home_that_others_can_write_to_is_refused_and_left_as_it_is() {
    let (folder, home) = prepared_home(0o777);
    let ended = refused_in(&folder).await;
    assert!(ended.stderr.contains("others can write"), "{ended:?}");
    assert_eq!(mode(&home), 0o777);
}

#[tokio::test]
async fn a_home_that_is_no_folder_of_its_own_is_refused() {
    let folder = Arc::new(TempDir::new().unwrap());
    let (home, elsewhere) = (folder.path().join("home"), folder.path().join("elsewhere"));
    fs::create_dir(&elsewhere).unwrap();
    symlink(&elsewhere, &home).unwrap();
    let ended = refused_in(&folder).await;
    assert!(ended.stderr.contains("follows no link"), "{ended:?}");
    let ended = run(&home.join(""), &["serve", "--port", "0"], &[]);
    assert!(
        ended.stderr.contains("follows no link"),
        "nor with a slash at its end: {ended:?}"
    );
    fs::remove_file(&home).unwrap();
    fs::write(&home, "").unwrap();
    refused_in(&folder).await;
}

#[tokio::test]
async fn fifty_relays_that_start_at_once_agree_on_one_token() {
    let folder = Arc::new(TempDir::new().unwrap());
    let relays = join_all((0..50).map(|_| start_in(&folder))).await;
    let relays: Vec<Relay> = relays.into_iter().map(Result::unwrap).collect();
    let token = relays[0].token();
    let answers = join_all(relays.iter().map(|relay| {
        let path = format!("/json/list?token={token}");
        async move { http::get(relay.port, &path, &[]).await.status }
    }))
    .await;
    assert_eq!(answers, [200; 50]);
    let mut left: Vec<String> = fs::read_dir(relays[0].home())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    left.sort();
    assert_eq!(
        left,
        ["auth-token", "cdp-url", "state.json"],
        "no half-made file is left"
    );
}

#[tokio::test]
async fn each_signal_ends_the_relay_politely_and_takes_its_files_away() {
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let relay = Relay::start(&[]).await;
        let extension = ScriptedExtension::connect(&relay, &[tab(1)]).await;
        let mut client = Client::connect(&relay).await;
        let closing =
            tokio::spawn(async move { (client.closed().await, extension.closed().await) });
        let (ended, home, _folder) = relay.stop(signal).await;
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let left: Vec<_> = fs::read_dir(&home)
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert_eq!(left, ["auth-token"], "{signal:?}");
        let (client, extension) = closing.await.unwrap();
        assert_eq!(client.unwrap().0, 1001);
        assert_eq!(extension.unwrap().0, 1001);
    }
}

#[tokio::test]
async fn a_second_relay_of_a_home_runs_and_leaves_the_files_to_the_first() {
    let first = Relay::start(&[]).await;
    let files = || {
        ["state.json", "cdp-url"].map(|name| fs::read_to_string(first.home().join(name)).unwrap())
    };
    let before = files();
    let mut second = start_in(&first.shared_home()).await.unwrap();
    let told = format!(
        "this home's files stay with the relay on port {} (process {}).",
        first.port,
        first.pid()
    );
    assert_eq!(
        second.stdout().matches(&told).count(),
        1,
        "{}",
        second.stdout()
    );
    assert!(second.lives().await);
    Client::connect_with(second.port, &second.token()).await;
    assert_eq!(files(), before);
    second.stop(Signal::TERM).await;
    assert_eq!(files(), before);
}

#[tokio::test]
async fn the_files_of_a_relay_that_has_gone_are_the_next_ones() {
    for signal in [Signal::TERM, Signal::KILL] {
        let first = Relay::start(&[]).await;
        let beside = start_in(&first.shared_home()).await.unwrap();
        first.stop(signal).await;
        let next = start_in(&beside.shared_home()).await.unwrap();
        let url = fs::read_to_string(next.home().join("cdp-url")).unwrap();
        assert!(
            url.contains(&format!(":{}/", next.port)),
            "{signal:?}: {url}"
        );
        beside.stop(Signal::TERM).await;
        assert!(
            next.home().join("state.json").exists(),
            "one that never had them takes none away"
        );
    }
}

#[tokio::test]
async fn the_cdp_url_is_not_written_when_that_is_asked() {
    let relay = Relay::start(&["--no-cdp-url-file"]).await;
    assert!(!relay.home().join("cdp-url").exists());
    assert!(relay.home().join("state.json").exists());
    assert!(
        relay.stdout().contains("not written to a file"),
        "{}",
        relay.stdout()
    );
}

#[tokio::test]
async fn a_port_in_use_is_an_error_that_names_its_holder_and_leaves_it_alone() {
    let mut holder = Relay::start(&[]).await;
    let port = holder.port.to_string();
    for home in [None, Some(holder.shared_home())] {
        let ended = Relay::try_start(Start {
            arguments: &["--port", &port],
            home,
            ..Start::default()
        })
        .await
        .err()
        .expect("it does not start");
        assert_eq!(ended.code, Some(1));
        let expected = format!(
            "port {port} is in use by process {} (tabwire)",
            holder.pid()
        );
        assert!(
            ended.stderr.contains(&expected) && ended.stderr.contains("--port"),
            "{ended:?}"
        );
        assert!(holder.lives().await);
    }
    let url = fs::read_to_string(holder.home().join("cdp-url")).unwrap();
    assert!(
        url.contains(&format!(":{port}/")),
        "the holder's files are still its own"
    );
}
