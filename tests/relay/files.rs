//! The files in Tabwire's home: their permissions, when they exist, and what the relay refuses to
//! use.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::process::Signal;
use serde_json::json;
use tabwire_tests::{Client, Exit, Relay, StartOptions, run};
use tempfile::TempDir;

use crate::setup::start;

fn mode(path: &Path) -> u32 {
    fs::metadata(path)
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()))
        .permissions()
        .mode()
        & 0o777
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// The names of the files in a folder, sorted.
pub fn names_in(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// A home with this mode that exists before the relay starts.
fn create_home(mode: u32) -> (Arc<TempDir>, PathBuf) {
    let folder = Arc::new(TempDir::new().unwrap());
    let home = folder.path().join("home");
    fs::create_dir(&home).unwrap();
    set_mode(&home, mode);
    (folder, home)
}

pub async fn start_in(folder: &Arc<TempDir>) -> Result<Relay, Exit> {
    Relay::try_start(StartOptions {
        home: Some(folder.clone()),
        ..StartOptions::default()
    })
    .await
}

/// Checks that the relay refuses to start, and returns its output.
async fn refused_in(folder: &Arc<TempDir>) -> Exit {
    let exit = start_in(folder)
        .await
        .err()
        .expect("the relay must not start");
    assert_eq!(exit.code, Some(1), "{exit:?}");
    exit
}

#[tokio::test]
async fn files_are_private_under_any_umask() {
    for umask in ["000", "022", "077", "277", "777"] {
        let relay = Relay::start_with(StartOptions {
            umask: Some(umask),
            ..StartOptions::default()
        })
        .await;
        let home = relay.home();
        assert_eq!(mode(&home), 0o700, "umask {umask}");
        relay.installation();
        for name in [
            "auth-token",
            "cdp-url",
            "state.json",
            "paired.json",
            "relay.log",
        ] {
            assert_eq!(mode(&home.join(name)), 0o600, "{name}, umask {umask}");
        }
        assert_eq!(names_in(&home).len(), 6, "{:?}", names_in(&home));
    }
}

#[tokio::test]
async fn files_contain_port_pid_and_url() {
    let relay = Relay::start(&[]).await;
    let state = fs::read_to_string(relay.home().join("state.json")).unwrap();
    let state: serde_json::Value = serde_json::from_str(&state).unwrap();
    assert_eq!(state, json!({ "port": relay.port, "pid": relay.pid() }));
    let url = fs::read_to_string(relay.home().join("cdp-url")).unwrap();
    assert_eq!(
        url,
        format!("ws://127.0.0.1:{}/cdp?token={}", relay.port, relay.token())
    );
}

#[tokio::test]
async fn token_has_43_url_safe_characters_and_survives_a_restart() {
    let first = Relay::start(&[]).await;
    let token = first.token();
    assert_eq!(token.len(), 43);
    assert!(
        token
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_'),
        "{token}"
    );
    let stopped = first.stop(Signal::TERM).await;
    let second = start_in(&stopped.folder).await.unwrap();
    assert_eq!(second.token(), token);
    Client::connect_with(second.port, &token).await;
    let other = Relay::start(&[]).await;
    assert_ne!(other.token(), token, "each home has its own token");
}

#[tokio::test]
async fn makes_a_readable_token_private_and_warns() {
    let stopped = Relay::start(&[]).await.stop(Signal::TERM).await;
    let file = stopped.home.join("auth-token");
    set_mode(&file, 0o644);
    let relay = start_in(&stopped.folder).await.unwrap();
    assert_eq!(mode(&file), 0o600);
    assert!(
        relay
            .stderr()
            .contains("auth-token was readable by other users"),
        "{}",
        relay.stderr()
    );
}

#[tokio::test]
async fn refuses_a_token_that_is_a_symbolic_link() {
    let (folder, home) = create_home(0o700);
    let target = folder.path().join("elsewhere");
    for exists in [false, true] {
        if exists {
            fs::write(&target, "A".repeat(43)).unwrap();
        }
        let _ = fs::remove_file(home.join("auth-token"));
        symlink(&target, home.join("auth-token")).unwrap();
        let exit = refused_in(&folder).await;
        assert!(
            exit.stderr.contains("auth-token") && exit.stderr.contains("symbolic link"),
            "{exit:?}"
        );
        assert_eq!(target.exists(), exists, "does not create the link's target");
    }
}

#[tokio::test]
async fn refuses_a_token_that_others_may_have_written() {
    let stopped = Relay::start(&[]).await.stop(Signal::TERM).await;
    let file = stopped.home.join("auth-token");
    set_mode(&file, 0o666);
    let exit = refused_in(&stopped.folder).await;
    assert!(
        exit.stderr.contains("other users can write to it")
            && exit.stderr.contains("Remove it to get a new token"),
        "{exit:?}"
    );
    assert_eq!(mode(&file), 0o666);
    set_mode(&file, 0o600);
    let other = stopped.folder.path().join("other");
    fs::hard_link(&file, &other).unwrap();
    let exit = refused_in(&stopped.folder).await;
    assert!(exit.stderr.contains("hard link"), "{exit:?}");
    fs::remove_file(&other).unwrap();
    start_in(&stopped.folder).await.unwrap();
}

#[tokio::test]
async fn believes_no_file_of_the_home_through_a_link() {
    let relay = Relay::start(&[]).await;
    let elsewhere = relay.home().with_file_name("elsewhere");
    let to_link = |name: &str| {
        let file = relay.home().join(name);
        fs::rename(&file, &elsewhere).unwrap();
        symlink(&elsewhere, &file).unwrap();
        file
    };
    let back = |file: PathBuf| fs::rename(&elsewhere, file).unwrap();
    let command = |arguments: &[&str]| run(&relay.home(), arguments, &[]);
    relay.installation();

    let file = to_link("state.json");
    assert!(command(&["status"]).stdout.contains("No relay is running"));
    back(file);
    let file = to_link("cdp-url");
    let exit = command(&["cdp-url"]);
    assert!(
        exit.code == Some(1) && exit.stderr.contains("symbolic link"),
        "{exit:?}"
    );
    back(file);
    for name in ["paired.json", "paired.lock"] {
        let file = to_link(name);
        let exit = command(&["pair"]);
        assert!(
            exit.code == Some(1)
                && exit
                    .stderr
                    .contains(&format!("{name}: it is a symbolic link")),
            "{exit:?}"
        );
        back(file);
    }
    assert_eq!(command(&["status"]).code, Some(0));
}

#[tokio::test]
async fn refuses_an_invalid_token_file_and_keeps_it() {
    let (folder, home) = create_home(0o700);
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
        set_mode(&file, 0o600);
        let exit = refused_in(&folder).await;
        assert!(
            exit.stderr.contains("auth-token") && exit.stderr.contains("Remove it"),
            "{exit:?}"
        );
        assert!(
            content.len() < 43 || !exit.stderr.contains(content),
            "does not print the content"
        );
        assert_eq!(fs::read_to_string(&file).unwrap(), content);
    }
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    let exit = refused_in(&folder).await;
    assert!(exit.stderr.contains("not a regular file"), "{exit:?}");
}

#[tokio::test]
async fn makes_an_accessible_home_private_and_warns() {
    for accessible in [0o755, 0o710] {
        let (folder, home) = create_home(accessible);
        let relay = start_in(&folder).await.unwrap();
        assert_eq!(mode(&home), 0o700);
        assert!(
            relay.stderr().contains("was accessible to other users"),
            "{}",
            relay.stderr()
        );
    }
}

#[tokio::test]
async fn refuses_a_home_that_others_can_write_to_and_keeps_its_mode() {
    let (folder, home) = create_home(0o777);
    let exit = refused_in(&folder).await;
    assert!(exit.stderr.contains("Other users can write"), "{exit:?}");
    assert_eq!(mode(&home), 0o777);
}

#[tokio::test]
async fn refuses_a_home_below_a_folder_that_others_can_change() {
    let folder = Arc::new(TempDir::new().unwrap());
    let parent = folder.path().to_owned();
    for open in [0o777, 0o757] {
        set_mode(&parent, open);
        let exit = refused_in(&folder).await;
        let remedy = format!("Run `chmod go-w {}`", parent.display());
        assert!(
            exit.stderr.contains("Other users can write to") && exit.stderr.contains(&remedy),
            "{exit:?}"
        );
    }
    if rustix::process::geteuid().is_root() {
        set_mode(&parent, 0o755);
        std::os::unix::fs::chown(&parent, Some(4_000_000), None).unwrap();
        let exit = refused_in(&folder).await;
        assert!(exit.stderr.contains("belongs to another user"), "{exit:?}");
        std::os::unix::fs::chown(&parent, Some(0), None).unwrap();
    }
    // As /tmp: nobody else can rename what is in it.
    set_mode(&parent, 0o1777);
    start_in(&folder).await.unwrap();
}

#[tokio::test]
async fn refuses_a_home_that_is_a_link_or_a_file() {
    let folder = Arc::new(TempDir::new().unwrap());
    let (home, target) = (folder.path().join("home"), folder.path().join("elsewhere"));
    fs::create_dir(&target).unwrap();
    symlink(&target, &home).unwrap();
    let exit = refused_in(&folder).await;
    assert!(exit.stderr.contains("links are not followed"), "{exit:?}");
    // A trailing slash would make the system follow the link.
    let exit = run(&home.join(""), &["serve", "--port", "0"], &[]);
    assert!(exit.stderr.contains("links are not followed"), "{exit:?}");
    fs::remove_file(&home).unwrap();
    fs::write(&home, "").unwrap();
    refused_in(&folder).await;
}

#[tokio::test]
async fn signals_close_connections_and_remove_the_files() {
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let (relay, extension, mut client) = start(&[1]).await;
        let closing = tokio::spawn(async move {
            (
                client.wait_for_close().await,
                extension.wait_for_close().await,
            )
        });
        let stopped = relay.stop(signal).await;
        assert_eq!(stopped.exit.code, Some(0), "{:?}", stopped.exit);
        let left = ["auth-token", "paired.json", "paired.lock", "relay.log"];
        assert_eq!(names_in(&stopped.home), left, "{signal:?}");
        let (client, extension) = closing.await.unwrap();
        assert_eq!(client.unwrap().0, 1001);
        assert_eq!(extension.unwrap().0, 1001);
    }
}

#[tokio::test]
async fn no_cdp_url_file_option_leaves_out_the_cdp_url() {
    let relay = Relay::start(&["--no-cdp-url-file"]).await;
    assert!(!relay.home().join("cdp-url").exists());
    assert!(relay.home().join("state.json").exists());
    assert!(
        relay.stdout().contains("not written to a file"),
        "{}",
        relay.stdout()
    );
}
