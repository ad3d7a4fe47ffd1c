//! Launches that are interrupted, refused or given up. The browser is a script that never gets ready.

use std::io;
use std::path::PathBuf;
use std::process::Command;
use std::{fs, path::Path};

use rustix::process::Signal;
use serde_json::json;
use tabwire_home::control::{self, LaunchOptions, LaunchReport, LoadBy, ProfileChoice};
use tabwire_home::{Home, Token};
use tabwire_tests::{Relay, ScriptedExtension, StartOptions, http, until, within};
use tokio::io::AsyncWriteExt as _;
use tokio::task::JoinHandle;

use crate::machine::Machine;

const NEVER_READY: &str = "sleep 600 & wait";
/// Ignores that it should exit.
const STUBBORN: &str = "trap '' TERM; while :; do sleep 0.1; done";

/// A browser's program, which notes its process when it is started.
pub struct Program {
    pub machine: Machine,
    pub path: PathBuf,
}

impl Program {
    pub fn new(script: &str) -> Self {
        let machine = Machine::new();
        let script = format!("echo $$ >> {}; {script}", machine.path("pids").display());
        let path = machine.program("browser", &script);
        Self { machine, path }
    }

    /// The processes that were started.
    pub fn pids(&self) -> Vec<u32> {
        let text = fs::read_to_string(self.machine.path("pids")).unwrap_or_default();
        text.lines().filter_map(|line| line.parse().ok()).collect()
    }

    pub async fn until_started(&self) -> u32 {
        until("the browser runs", async || self.pids().pop()).await
    }
}

/// A relay's browser that is being launched.
pub struct Launching {
    pub pid: u32,
    pub program: Program,
    pub outcome: JoinHandle<io::Result<LaunchReport>>,
}

impl Launching {
    pub async fn start(relay: &Relay) -> Self {
        Self::start_script(relay, NEVER_READY, LaunchOptions::default()).await
    }

    /// With a temporary profile.
    async fn start_script(relay: &Relay, script: &str, options: LaunchOptions) -> Self {
        let program = Program::new(script);
        let options = LaunchOptions {
            browser: Some(program.path.display().to_string()),
            profile: ProfileChoice::Temporary,
            headless: true,
            ..options
        };
        let (port, token) = (relay.port, token(relay));
        let outcome = tokio::spawn(async move { control::launch(port, &token, &options).await });
        let pid = program.until_started().await;
        until("the relay has noted its process", async || {
            let folders = temporary_folders(&relay.home());
            let mut files = folders.iter().map(|folder| folder.join("process.json"));
            files.any(|file| file.exists()).then_some(())
        })
        .await;
        Self {
            pid,
            program,
            outcome,
        }
    }

    pub fn is_running(&self) -> bool {
        is_running(self.pid)
    }

    /// What the launch ended with.
    async fn error(self) -> String {
        let outcome = within("the launch ends", self.outcome).await.unwrap();
        outcome.unwrap_err().to_string()
    }
}

/// A process that has exited is not running, even if nobody has waited for it.
pub fn is_running(pid: u32) -> bool {
    let state = Command::new("ps")
        .args(["-o", "stat=", "-p", &pid.to_string()])
        .output()
        .unwrap()
        .stdout;
    !state.is_empty() && !state.starts_with(b"Z")
}

pub fn temporary_folders(home: &Path) -> Vec<PathBuf> {
    let folders = fs::read_dir(home.join("temporary")).into_iter().flatten();
    folders.map(|folder| folder.unwrap().path()).collect()
}

pub fn token(relay: &Relay) -> Token {
    Token::load(&Home::open_at(relay.home()).unwrap()).unwrap()
}

#[tokio::test]
async fn browser_is_stopped_while_it_is_being_launched() {
    let relay = Relay::start(&[]).await;
    let browser = Launching::start(&relay).await;
    let pid = browser.pid;
    let stopped = control::stop_browser(relay.port, &token(&relay), None).await;
    assert_eq!(stopped.unwrap().name.as_deref(), Some("browser"));
    assert_eq!(
        browser.error().await,
        "The browser was stopped. Launch it again with `tabwire launch`."
    );
    assert!(!is_running(pid) && temporary_folders(&relay.home()).is_empty());
}

#[tokio::test]
async fn browser_that_a_script_has_started_is_gone_before_its_folder_is() {
    let relay = Relay::start(&[]).await;
    // The script exits when it is asked to, and the browser does not.
    let child = format!("sh -c \"{STUBBORN}\" sh & echo $! > $0.child; wait");
    let browser = Launching::start_script(&relay, &child, LaunchOptions::default()).await;
    let child = child_of(&browser.program).await;
    assert!(is_running(child));
    let stopped = control::stop_browser(relay.port, &token(&relay), None).await;
    assert!(stopped.is_ok() && !is_running(child) && !browser.is_running());
    assert!(temporary_folders(&relay.home()).is_empty());
}

#[tokio::test]
async fn relay_does_not_wait_for_a_launch_when_it_stops() {
    let relay = Relay::start(&[]).await;
    let browser = Launching::start(&relay).await;
    let stopped = relay.stop(Signal::TERM).await;
    assert!(!browser.is_running() && temporary_folders(&stopped.home).is_empty());
}

#[tokio::test]
async fn loading_the_extension_counts_towards_the_time_for_getting_ready() {
    let relay = Relay::start(&[]).await;
    let by_pipe = LaunchOptions {
        load_by: LoadBy::Pipe,
        ..LaunchOptions::default()
    };
    let browser = Launching::start_script(&relay, NEVER_READY, by_pipe).await;
    let pid = browser.pid;
    let error = browser.error().await;
    assert!(error.contains("did not connect within 15 s"), "{error}");
    assert!(!is_running(pid) && temporary_folders(&relay.home()).is_empty());
}

#[tokio::test]
async fn launch_for_a_client_is_undone_when_its_connection_ends_with_the_relay() {
    let program = Program::new("sleep 600 & echo $! > $0.child; wait");
    let relay = Relay::start(&["--launch", program.path.to_str().unwrap()]).await;
    let (port, authorization) = (relay.port, format!("Bearer {}", relay.token()));
    let client = tokio::spawn(async move {
        let head = http::head(
            port,
            "GET",
            "/json/version",
            &[("Authorization", &authorization)],
        );
        let mut stream = http::connect(port).await;
        stream.write_all(head.as_bytes()).await.unwrap();
        http::read_to_end(&mut stream).await
    });
    let leader = program.until_started().await;
    let child = child_of(&program).await;
    relay.stop(Signal::TERM).await;
    assert!(!is_running(leader) && !is_running(child));
    client.abort();
}

#[tokio::test]
async fn clients_share_the_outcome_of_a_launch_that_fails() {
    for direct in [&[][..], &["--launch-direct"]] {
        let program = Program::new("sleep 1; exit 3");
        let path = program.path.to_str().unwrap();
        let relay = Relay::start(&[&["--launch", path], direct].concat()).await;
        let authorization = format!("Bearer {}", relay.token());
        let headers = [("Authorization", authorization.as_str())];
        let get = |path| http::get(relay.port, path, &headers);
        let responses = tokio::join!(
            get("/json/version"),
            get("/json/list"),
            http::upgrade(relay.port, "/cdp", &headers)
        );
        for response in [responses.0, responses.1, responses.2.1] {
            assert_eq!(response.status, 503);
            assert!(
                response.body.contains("exit status: 3"),
                "{}",
                response.body
            );
        }
        assert_eq!(program.pids().len(), 1, "{direct:?}");
    }
}

#[tokio::test]
async fn client_that_names_an_unknown_browser_launches_none() {
    let program = Program::new(NEVER_READY);
    let relay = Relay::start(&["--launch", program.path.to_str().unwrap()]).await;
    let banner = relay.stdout();
    assert!(
        banner.contains("Browsers: one is launched when a client needs it."),
        "{banner}"
    );
    let authorization = format!("Bearer {}", relay.token());
    let headers = [("Authorization", authorization.as_str())];
    let response = http::get(relay.port, "/json/version?browser=typo", &headers).await;
    assert_eq!(response.status, 404);
    assert!(program.pids().is_empty());
}

#[tokio::test]
async fn wrong_names_and_arguments_are_refused_with_a_fitting_status() {
    let relay = Relay::start(&[]).await;
    let program = Program::new(NEVER_READY);
    let launch = async |options: serde_json::Value| {
        let mut options = options;
        options["browser"] = json!(program.path);
        let body = options.to_string();
        let authorization = format!("Bearer {}", relay.token());
        let length = body.len().to_string();
        let headers = [
            ("Authorization", authorization.as_str()),
            ("Content-Type", "application/json"),
            ("Content-Length", length.as_str()),
        ];
        let head = http::head(relay.port, "POST", "/launch", &headers);
        let (_, response) = http::exchange(relay.port, format!("{head}{body}")).await;
        (response.status, response.body)
    };
    let (status, body) = launch(json!({ "name": "../../x" })).await;
    assert_eq!(status, 400, "{body}");
    let (status, body) = launch(json!({ "arguments": ["--user-data-dir=/p"] })).await;
    assert_eq!(status, 400, "{body}");
    assert!(body.contains("--profile DIR"), "{body}");
    let _browser = ScriptedExtension::connect(&relay, &[]).await;
    let home = Home::open_at(relay.home()).unwrap();
    let name = until("the browser is listed", async || {
        let pairings = home.pairings().unwrap();
        pairings
            .browsers()
            .next()
            .map(|browser| browser.name.clone())
    })
    .await;
    let (status, body) = launch(json!({ "name": name, "profile": "temporary" })).await;
    assert_eq!(status, 409, "{body}");
    assert!(program.pids().is_empty());
}

#[tokio::test]
async fn only_an_object_that_is_posted_launches_a_browser() {
    let relay = Relay::start(&[]).await;
    let authorization = format!("Bearer {}", relay.token());
    let headers = [
        ("Authorization", authorization.as_str()),
        ("Content-Type", "application/json"),
        ("Content-Length", "2"),
    ];
    for (method, status) in [("POST", 422), ("GET", 405), ("PUT", 405)] {
        let head = http::head(relay.port, method, "/launch", &headers);
        let (_, response) = http::exchange(relay.port, format!("{head}[]")).await;
        assert_eq!(response.status, status, "{method}: {response:?}");
        assert!(response.json()["error"].is_string(), "{response:?}");
    }
    assert!(temporary_folders(&relay.home()).is_empty());
}

#[tokio::test]
async fn relay_accepts_connections_before_a_leftover_browser_has_exited() {
    let first = Relay::start(&[]).await;
    let options = LaunchOptions {
        name: Some("work".to_owned()),
        ..LaunchOptions::default()
    };
    let browser = Launching::start_script(&first, STUBBORN, options).await;
    let sharing = StartOptions {
        home: Some(first.shared_home()),
        ..StartOptions::default()
    };
    // The watchdog would clean up, too.
    for child in children_of(first.pid()) {
        if child != browser.pid {
            let _ = rustix::process::kill_process(to_pid(child), Signal::KILL);
        }
    }
    first.stop(Signal::KILL).await;
    let second = Relay::start_with(sharing).await;
    let status = http::get(second.port, "/", &[]).await.status;
    assert!(status == 200 && browser.is_running(), "it gets 5 seconds");
    until("nothing is left of the browser", async || {
        let is_left = browser.is_running() || !temporary_folders(&second.home()).is_empty();
        (!is_left).then_some(())
    })
    .await;
}

/// The process that a script has started and noted.
async fn child_of(program: &Program) -> u32 {
    let file = program.path.with_extension("child");
    until("the script has started a process", async || {
        let text = fs::read_to_string(&file).ok()?;
        text.strip_suffix('\n')?.parse().ok()
    })
    .await
}

fn children_of(pid: u32) -> Vec<u32> {
    let listed = Command::new("pgrep")
        .args(["-P", &pid.to_string()])
        .output();
    let text = String::from_utf8(listed.unwrap().stdout).unwrap();
    text.lines().filter_map(|line| line.parse().ok()).collect()
}

pub fn to_pid(pid: u32) -> rustix::process::Pid {
    rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap()
}
