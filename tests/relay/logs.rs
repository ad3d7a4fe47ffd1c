//! The relay's log: what is in its file and what is not, and the command that prints it.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, mpsc};

use rustix::process::Signal;
use serde_json::json;
use tabwire_tests::{
    Client, Relay, ScriptedBrowser, ScriptedExtension, StartOptions, TIMEOUT, binary, run, tab,
    until,
};
use tempfile::TempDir;

use crate::setup::{attach, evaluate, start, start_with_live_session};

fn log(home: &Path) -> String {
    fs::read_to_string(home.join("relay.log")).unwrap_or_default()
}

/// Waits for the line of a command, and returns its columns: client, session, duration, outcome,
/// method, name.
async fn command_line(home: &Path, method: &str) -> Vec<String> {
    let line = until(&format!("{method} is in the log"), async || {
        let log = log(home);
        let mut lines = log.lines().rev();
        let line = lines.find(|line| line.contains(" CMD ") && line.contains(method));
        line.map(str::to_owned)
    })
    .await;
    let (time, rest) = line.split_once("   CMD ").expect("a time and the columns");
    assert!(time.len() == 24 && time.ends_with('Z'), "{line}");
    rest.split_whitespace().map(str::to_owned).collect()
}

/// `tabwire logs --follow`, and what it prints.
struct Follower {
    child: Child,
    lines: mpsc::Receiver<String>,
}

impl Follower {
    fn start(home: &Path) -> Self {
        let mut child = Command::new(binary())
            .args(["logs", "--follow"])
            .env("TABWIRE_HOME", home)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = mpsc::channel();
        std::thread::spawn(move || {
            for line in output.lines() {
                let _ = sender.send(line.unwrap());
            }
        });
        Self { child, lines }
    }

    /// Waits for a line that contains this text, and returns all lines up to it.
    fn until(&self, text: &str) -> Vec<String> {
        let mut lines = Vec::new();
        loop {
            let line = self.lines.recv_timeout(TIMEOUT);
            let line = line.unwrap_or_else(|_| panic!("{text} is not printed: {lines:?}"));
            lines.push(line);
            if lines.last().is_some_and(|line| line.contains(text)) {
                return lines;
            }
        }
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[tokio::test]
async fn command_has_client_session_duration_outcome_method_and_name() {
    let relay = Relay::start(&[]).await;
    let extension = ScriptedExtension::connect(&relay, &[tab(1)]).await;
    let mut client = Client::connect_as(&relay, "my agent").await;
    let session = attach(&mut client, 1).await;
    evaluate(&mut client, &session).await;
    let home = relay.home();
    let columns = command_line(&home, "Runtime.evaluate").await;
    assert!(columns[0].starts_with("client-"), "{columns:?}");
    assert_eq!(columns[1], session[..8]);
    assert!(columns[2].ends_with("ms"), "{columns:?}");
    assert_eq!(columns[3..], ["ok", "Runtime.evaluate", "my", "agent"]);
    let columns = command_line(&home, "Target.attachToTarget").await;
    assert_eq!(columns[1], "-", "the root session has no id");
    client.error("Nonsense.more", json!({})).await;
    let columns = command_line(&home, "Nonsense.more").await;
    assert_eq!(columns[3], "-32601");
    extension.hold("Page.navigate");
    let id = client
        .send(Some(&session), "Page.navigate", json!({}))
        .await;
    extension.until_called("Page.navigate", 1).await;
    extension.drop_connection().await;
    client.error_of(id).await;
    let columns = command_line(&home, "Page.navigate").await;
    assert_eq!(columns[3], "-32000");
}

#[tokio::test]
async fn log_has_no_payload_and_no_secret_at_any_level() {
    let relay = Relay::start_with(StartOptions {
        environment: &[("TABWIRE_LOG", "trace")],
        ..StartOptions::default()
    })
    .await;
    let extension = ScriptedExtension::connect(&relay, &[tab(1)]).await;
    let mut client = Client::connect(&relay).await;
    let session = attach(&mut client, 1).await;
    let params = json!({ "expression": "MARKER-in-parameters" });
    let result = client.ok_in(&session, "Runtime.evaluate", params).await;
    assert_eq!(result["params"]["expression"], "MARKER-in-parameters");
    let url = "https://example.com/path?MARKER-in-query";
    let changes = json!({ "tabId": 1, "url": url, "title": "MARKER-in-title" });
    extension.send_event("tabUpdated", changes).await;
    let params = json!({ "url": url });
    client.ok_in(&session, "Page.navigate", params).await;
    client.send_text("MARKER-in-nonsense").await;
    client.reply_without_id().await;
    let secrets = [relay.token(), relay.installation().secret.reveal()];
    let stopped = relay.stop(Signal::TERM).await;
    assert!(stopped.exit.stderr.contains("MARKER"), "trace has payloads");
    let log = log(&stopped.home);
    for expected in [
        "Runtime.evaluate",
        "Page.navigate",
        "(malformed)",
        "stopping",
    ] {
        assert!(log.contains(expected), "{expected}: {log}");
    }
    assert!(!log.contains("TRACE"), "{log}");
    for secret in ["MARKER", &secrets[0], &secrets[1]] {
        let line = log.lines().find(|line| line.contains(secret));
        assert_eq!(line, None);
    }
}

#[tokio::test]
async fn names_and_methods_cannot_forge_lines_or_control_a_terminal() {
    let relay = Relay::start(&[]).await;
    let _extension = ScriptedExtension::connect(&relay, &[tab(1)]).await;
    let mut client = Client::connect_as(&relay, "evil\u{9b}2J\u{202e}name").await;
    let method = "Evil.\u{1b}[2J\n2026-01-01T00:00:00.000Z   CMD forged\u{2066}";
    client.error(method, json!({})).await;
    command_line(&relay.home(), "Evil.").await;
    let exit = run(&relay.home(), &["logs"], &[]);
    for text in [log(&relay.home()), exit.stdout] {
        let is_unsafe = |c: char| c != '\n' && (c.is_control() || "\u{202e}\u{2066}".contains(c));
        assert!(!text.contains(is_unsafe), "{text:?}");
        let forged = text.lines().find(|line| line.starts_with("2026-01-01"));
        assert_eq!(forged, None);
        assert!(text.contains(r"Evil.\u{1b}[2J\u{a}2026"), "{text:?}");
    }
}

#[tokio::test]
async fn log_file_is_private_and_continued_by_the_next_relay() {
    let relay = Relay::start_with(StartOptions {
        umask: Some("777"),
        ..StartOptions::default()
    })
    .await;
    let first = format!("port={}", relay.port);
    let stopped = relay.stop(Signal::TERM).await;
    let meta = fs::metadata(stopped.home.join("relay.log")).unwrap();
    assert_eq!(meta.permissions().mode() & 0o777, 0o600);
    let relay = Relay::start_with(StartOptions {
        home: Some(stopped.folder.clone()),
        ..StartOptions::default()
    })
    .await;
    let stopped = relay.stop(Signal::TERM).await;
    let log = log(&stopped.home);
    assert!(log.contains(&first), "{log}");
    assert_eq!(log.matches("stopping").count(), 2, "{log}");
}

#[tokio::test]
async fn links_in_place_of_the_log_are_refused_and_the_relay_works() {
    for is_hard in [false, true] {
        let folder = Arc::new(TempDir::new().unwrap());
        let (home, victim) = (folder.path().join("home"), folder.path().join("victim"));
        fs::create_dir(&home).unwrap();
        fs::set_permissions(&home, fs::Permissions::from_mode(0o700)).unwrap();
        fs::write(&victim, "mine").unwrap();
        let link = home.join("relay.log");
        if is_hard {
            fs::hard_link(&victim, &link).unwrap();
        } else {
            symlink(&victim, &link).unwrap();
        }
        let mut relay = Relay::start_with(StartOptions {
            home: Some(folder.clone()),
            ..StartOptions::default()
        })
        .await;
        assert!(relay.stderr().contains("link"), "{}", relay.stderr());
        assert!(relay.is_alive().await);
        relay.stop(Signal::TERM).await;
        assert_eq!(fs::read_to_string(&victim).unwrap(), "mine");
    }
}

/// Only the relay that owns a home writes its log.
#[tokio::test]
async fn second_relay_of_a_home_leaves_the_log_alone() {
    let relay = Relay::start(&[]).await;
    let second = Relay::start_with(StartOptions {
        home: Some(relay.shared_home()),
        ..StartOptions::default()
    })
    .await;
    let port = format!("port={}", second.port);
    assert!(second.stderr().contains(&port), "{}", second.stderr());
    second.stop(Signal::TERM).await;
    let stopped = relay.stop(Signal::TERM).await;
    assert!(!log(&stopped.home).contains(&port));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn follows_across_a_rotation_and_a_restart() {
    let folder = Arc::new(TempDir::new().unwrap());
    let home = folder.path().join("home");
    let in_home = || StartOptions {
        home: Some(folder.clone()),
        ..StartOptions::default()
    };
    Relay::start_with(in_home()).await.stop(Signal::TERM).await;
    // Almost full, so that a few lines are enough.
    let full = format!("{}\n", "x".repeat(99)).repeat((4 << 20) / 100);
    fs::write(home.join("relay.log"), full).unwrap();
    let follower = Follower::start(&home);
    follower.until("xxx");
    let relay = Relay::start_with(in_home()).await;
    follower.until(&format!("port={}", relay.port));
    until("the log is rotated", async || {
        home.join("relay.log.1").exists().then_some(())
    })
    .await;
    let _extension = ScriptedExtension::connect(&relay, &[tab(1)]).await;
    let mut client = Client::connect(&relay).await;
    client.error("After.rotation", json!({})).await;
    follower.until("After.rotation");
    relay.stop(Signal::TERM).await;
    let lines = follower.until("stopping");
    let again = lines.iter().any(|line| line.contains("xxx"));
    assert!(!again, "each line is printed once");
    let relay = Relay::start_with(in_home()).await;
    follower.until(&format!("port={}", relay.port));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn prints_the_last_lines_with_or_without_a_relay() {
    let (relay, _extension, mut client) = start(&[1]).await;
    for _ in 0..300 {
        client.ok("Browser.getVersion", json!({})).await;
    }
    let stopped = relay.stop(Signal::TERM).await;
    let printed = |arguments: &[&str]| {
        let exit = run(&stopped.home, &[&["logs"], arguments].concat(), &[]);
        assert_eq!(exit.code, Some(0), "{exit:?}");
        exit.stdout
    };
    assert_eq!(printed(&["-n", "0"]), log(&stopped.home));
    assert_eq!(printed(&[]).lines().count(), 200);
    let last = printed(&["--lines", "1"]);
    assert!(last.lines().count() == 1 && log(&stopped.home).ends_with(&last));
    fs::rename(
        stopped.home.join("relay.log"),
        stopped.home.join("relay.log.1"),
    )
    .unwrap();
    fs::write(stopped.home.join("relay.log"), "newest\n").unwrap();
    let last = printed(&["-n", "2"]);
    assert_eq!(last.lines().count(), 2);
    assert!(last.ends_with("\nnewest\n"), "{last}");
}

#[test]
fn names_the_next_step_if_there_is_no_log() {
    let folder = TempDir::new().unwrap();
    let exit = run(&folder.path().join("home"), &["logs"], &[]);
    assert_eq!((exit.code, exit.stdout.as_str()), (Some(0), ""));
    assert!(exit.stderr.contains("tabwire serve"), "{exit:?}");
}

#[test]
fn reason_is_printed_once_with_the_file_and_the_next_step() {
    let folder = TempDir::new().unwrap();
    let home = folder.path().join("home");
    run(&home, &["logs"], &[]);
    symlink("/nowhere", home.join("relay.log")).unwrap();
    let exit = run(&home, &["logs"], &[]);
    let file = home.canonicalize().unwrap().join("relay.log");
    let expected = format!(
        "tabwire: Cannot read the log in {}: it is a symbolic link. Remove it; the next relay starts a new one.\n",
        file.display()
    );
    assert_eq!((exit.code, exit.stderr), (Some(1), expected));
}

/// A reader such as `head` closes its end early.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn closed_pipe_ends_it_quietly() {
    let (relay, _extension, _client, _session) = start_with_live_session().await;
    command_line(&relay.home(), "Runtime.evaluate").await;
    for arguments in [&["logs"][..], &["logs", "-f"]] {
        let mut child = Command::new(binary())
            .args(arguments)
            .env("TABWIRE_HOME", relay.home())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        // Without a new line in the log.
        until("the command ends", async || child.try_wait().unwrap()).await;
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        assert!(output.stderr.is_empty(), "{output:?}");
    }
}

#[tokio::test]
async fn direct_backend_logs_commands_too() {
    let mut browser = ScriptedBrowser::start().await;
    let relay = Relay::start(&["--browser-url", &browser.url()]).await;
    until("its first state is there, too", async || {
        log(&relay.home())
            .contains("runtimeState=\"starting\"")
            .then_some(())
    })
    .await;
    let mut client = Client::connect_as(&relay, "direct client").await;
    let mut link = browser.link().await;
    let id = client
        .send(Some("ABCDEF0123456789"), "Some.method", json!({}))
        .await;
    let request = link.expect("Some.method").await;
    link.reply(&request, json!({ "MARKER": 1 })).await;
    client.reply_to(id).await.unwrap();
    let home = relay.home();
    let columns = command_line(&home, "Some.method").await;
    assert_eq!(columns[1], "ABCDEF01");
    assert_eq!(columns[3..], ["ok", "Some.method", "direct", "client"]);
    let id = client.send(None, "Other.method", json!({})).await;
    link.expect("Other.method").await;
    let error = json!({ "id": id, "error": { "code": -32601, "message": "MARKER" } });
    link.send(error.to_string()).await;
    client.error_of(id).await;
    let columns = command_line(&home, "Other.method").await;
    assert_eq!(columns[1..2], ["-"]);
    assert_eq!(columns[3], "-32601");
    let id = client.send(None, "Lost.method", json!({})).await;
    link.expect("Lost.method").await;
    drop(link);
    client.error_of(id).await;
    assert_eq!(command_line(&home, "Lost.method").await[3], "-32000");
    assert!(!log(&home).contains("MARKER"));
}
