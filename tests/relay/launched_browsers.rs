//! Browsers that were launched: what they are called, how one takes the place of another, and which
//! one is stopped. A script plays the program, and a scripted extension or port the browser.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use rustix::process::{Signal, kill_process, kill_process_group, test_kill_process};
use serde_json::json;
use tabwire_home::control::{self, LaunchOptions, LaunchReport, ProfileChoice, RefusalKind};
use tabwire_home::control::{LoadBy, Refusal};
use tabwire_home::{Home, Secret};
use tabwire_tests::{
    Client, EXTENSION_ID, Installation, Relay, ScriptedBrowser, ScriptedExtension, binary, tab,
    until, within,
};
use tokio::task::JoinHandle;

use crate::launching::{Program, is_running, to_pid, token};

/// Notes where its extension is.
const WITH_EXTENSION: &str = r#"for a; do case $a in --load-extension=*) echo "${a#*=}" > "$0.extension";; esac; done; sleep 600 & wait"#;

/// A browser's program, and the relay that launches it.
pub struct Browsers {
    pub relay: Relay,
    pub program: Program,
}

impl Browsers {
    pub async fn new(arguments: &[&str]) -> Self {
        Self {
            program: Program::new(WITH_EXTENSION),
            relay: Relay::start(arguments).await,
        }
    }

    /// Launched when a client needs it.
    pub async fn on_demand() -> Self {
        let program = Program::new(WITH_EXTENSION);
        let relay = Relay::start(&["--launch", &program.path.display().to_string()]).await;
        Self { relay, program }
    }

    /// Returns when the program was started this often.
    pub async fn until_started(&self, count: usize) -> u32 {
        until("the browser was started", async || {
            self.program.pids().get(count.checked_sub(1)?).copied()
        })
        .await
    }

    pub fn options(&self, profile: ProfileChoice, name: Option<&str>) -> LaunchOptions {
        LaunchOptions {
            browser: Some(self.program.path.display().to_string()),
            name: name.map(str::to_owned),
            profile,
            headless: true,
            load_by: LoadBy::Flag,
            ..LaunchOptions::default()
        }
    }

    /// Begins a launch, and returns when the program is running.
    async fn begin(&self, options: LaunchOptions) -> (u32, JoinHandle<io::Result<LaunchReport>>) {
        let before = self.program.pids().len();
        let (port, token) = (self.relay.port, token(&self.relay));
        let outcome = tokio::spawn(async move { control::launch(port, &token, &options).await });
        let pid = until("the browser runs", async || {
            self.program.pids().get(before).copied()
        });
        (pid.await, outcome)
    }

    /// The extension of the browser that was started last connects.
    pub async fn connect(&self, install: u32) -> ScriptedExtension {
        let file = self.program.path.with_extension("extension");
        let folder = until("the browser has its extension", async || {
            let text = fs::read_to_string(&file).ok()?;
            Some(PathBuf::from(text.strip_suffix('\n')?))
        })
        .await;
        fs::remove_file(&file).unwrap();
        let pairing = fs::read_to_string(folder.join("pairing.json")).unwrap();
        let pairing: serde_json::Value = serde_json::from_str(&pairing).unwrap();
        let secret = Secret::parse(pairing["secret"].as_str().unwrap()).unwrap();
        let own = Installation {
            install_id: String::new(),
            secret,
        };
        let (relay, own) = (&self.relay, own.with_id(install));
        ScriptedExtension::open_as(relay, &own, EXTENSION_ID, &[tab(1)]).await
    }

    pub async fn launch(
        &self,
        options: LaunchOptions,
        install: u32,
    ) -> (LaunchReport, ScriptedExtension) {
        let (_, outcome) = self.begin(options).await;
        let extension = self.connect(install).await;
        (report(outcome).await, extension)
    }

    pub async fn stop(&self, name: &str) -> Result<(), String> {
        let token = token(&self.relay);
        let stopped = control::stop_browser(self.relay.port, &token, Some(name));
        stopped.await.map(drop).map_err(|error| error.to_string())
    }

    async fn until_named(&self, name: &str) {
        let path = format!("/browsers?token={}", self.relay.token());
        until("the relay knows the name", async || {
            let browsers = self.relay.get(&path).await;
            let mut browsers = browsers.as_array()?.iter();
            browsers.any(|own| own["name"] == name).then_some(())
        })
        .await;
    }
}

pub async fn report(outcome: JoinHandle<io::Result<LaunchReport>>) -> LaunchReport {
    within("the launch ends", outcome).await.unwrap().unwrap()
}

#[tokio::test]
async fn browser_with_another_profile_is_not_taken_for_the_one_that_is_launched() {
    let browsers = Browsers::new(&[]).await;
    let profile = ProfileChoice::Folder(browsers.program.machine.path("profile"));
    let (first, _first) = browsers.launch(browsers.options(profile, None), 1).await;
    assert_eq!(first.name, "browser");
    let kept = browsers.options(ProfileChoice::Kept, None);
    let (pid, outcome) = browsers.begin(kept.clone()).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(
        !outcome.is_finished(),
        "its own extension has not connected"
    );
    assert!(is_running(first.pid), "it stays until then");
    let _second = browsers.connect(2).await;
    let second = report(outcome).await;
    assert_eq!((second.pid, second.joined), (pid, false));
    assert!(!is_running(first.pid));
    browsers.until_named(&second.name).await;
    browsers.stop(&second.name).await.unwrap();
    assert!(!is_running(pid));
    let (again, _again) = browsers.launch(kept, 2).await;
    assert_eq!(again.name, second.name);
    let profiles = browsers.relay.home().join("launched");
    assert!(profiles.join("browser/extension").exists());
    assert!(
        !profiles.join("browser-2").exists(),
        "the profile is the same"
    );
}

#[tokio::test]
async fn renamed_browser_is_stopped_by_its_new_name() {
    let browsers = Browsers::new(&[]).await;
    let kept = browsers.options(ProfileChoice::Kept, None);
    let (first, _extension) = browsers.launch(kept, 1).await;
    let home = Home::open_at(browsers.relay.home()).unwrap();
    let rename = |pairings: &mut tabwire_home::Pairings| pairings.rename("browser", "work");
    home.update_pairings(rename).unwrap().unwrap();
    browsers.until_named("work").await;
    let error = browsers.stop("browser").await.unwrap_err();
    assert!(error.contains("It launched: work"), "{error}");
    browsers.stop("work").await.unwrap();
    assert!(!is_running(first.pid));
}

#[tokio::test]
async fn switch_disconnects_the_clients_of_a_browser_that_is_gone() {
    let browsers = Browsers::new(&[]).await;
    let kept = browsers.options(ProfileChoice::Kept, None);
    let (first, extension) = browsers.launch(kept, 1).await;
    let mut client = Client::connect(&browsers.relay).await;
    kill_process_group(to_pid(first.pid), Signal::KILL).unwrap();
    extension.drop_connection().await;
    browsers.relay.until_extension(false).await;
    let two = browsers.options(ProfileChoice::Temporary, Some("two"));
    let (_, _extension) = browsers.launch(two, 2).await;
    let (code, reason) = client.wait_for_close().await.unwrap();
    assert_eq!(code, 1001);
    assert!(reason.contains("switched to another browser"), "{reason}");
}

#[tokio::test]
async fn only_the_browser_of_a_report_is_stopped_although_another_one_has_its_name() {
    let browsers = Browsers::new(&[]).await;
    let temporary = || browsers.options(ProfileChoice::Temporary, Some("work"));
    let (first, _first) = browsers.launch(temporary(), 1).await;
    browsers.stop("work").await.unwrap();
    let (second, _second) = browsers.launch(temporary(), 2).await;
    let (port, token) = (browsers.relay.port, token(&browsers.relay));
    let refused = control::stop_launched(port, &token, &first).await;
    let refused = refused.unwrap_err();
    assert_eq!(Refusal::kind_of(&refused), RefusalKind::NotLaunched);
    assert!(is_running(second.pid));
    control::stop_launched(port, &token, &second).await.unwrap();
    assert!(!is_running(second.pid));
}

/// A browser with a debugging port, which hangs when it is started for the second time.
async fn hanging() -> (Relay, Program, ScriptedBrowser, Client) {
    let mut port = ScriptedBrowser::start().await;
    let script = format!(
        r#"for a; do case $a in --user-data-dir=*) d="${{a#*=}}";; esac; done
        mkdir -p "$d"; if [ "$(wc -l < "${{0%/*}}/../pids")" -ne 2 ]; then
            printf '{}\n/devtools/browser/0b1c' > "$d/DevToolsActivePort"
        fi
        sleep 600 & wait"#,
        port.port
    );
    let program = Program::new(&script);
    let relay = Relay::start(&[]).await;
    let options = LaunchOptions {
        browser: Some(program.path.display().to_string()),
        headless: true,
        direct: true,
        ..LaunchOptions::default()
    };
    let launched = control::launch(relay.port, &token(&relay), &options).await;
    let mut client = Client::connect(&relay).await;
    let link = port.link().await;
    let pid = to_pid(launched.unwrap().pid);
    kill_process_group(pid, Signal::KILL).unwrap();
    // The port is still there, so the browser counts as running until the relay has noticed.
    until("the relay has noticed", async || {
        test_kill_process(pid).is_err().then_some(())
    })
    .await;
    drop(link);
    relay.until_extension(false).await;
    client.send(None, "Browser.getVersion", json!({})).await;
    until("a client launches it again", async || {
        (program.pids().len() == 2).then_some(())
    })
    .await;
    (relay, program, port, client)
}

#[tokio::test]
async fn stop_interrupts_a_launch_for_a_client_of_a_debugging_port() {
    let (relay, program, _port, mut client) = hanging().await;
    let started = Instant::now();
    let stopped = control::stop_browser(relay.port, &token(&relay), None).await;
    stopped.unwrap();
    assert!(started.elapsed() < Duration::from_secs(8), "{started:?}");
    assert!(program.pids().iter().all(|pid| !is_running(*pid)));
    assert_eq!(client.wait_for_close().await.unwrap().0, 1001);
}

#[tokio::test]
async fn restart_interrupts_a_launch_for_a_client_that_stays_connected() {
    let (relay, program, mut port, mut client) = hanging().await;
    let started = Instant::now();
    let restarted = control::restart(relay.port, &token(&relay), None).await;
    assert!(started.elapsed() < Duration::from_secs(8), "{started:?}");
    assert_eq!(program.pids().last(), Some(&restarted.unwrap().pid));
    let mut link = port.link().await;
    let request = link.expect("Browser.getVersion").await;
    link.reply(&request, json!({ "product": "Chrome/1" })).await;
    let id = request["id"].as_i64().unwrap();
    assert_eq!(client.reply_to(id).await.unwrap()["product"], "Chrome/1");
}

/// `tabwire up` in a home that has a relay already.
struct Up {
    process: Child,
    output: PathBuf,
}

impl Up {
    fn start(browsers: &Browsers) -> Self {
        let output = browsers.program.machine.path("output");
        let process = Command::new(binary())
            .args(["up", "--temp", "--headless", "--name", "work"])
            .args(["--load-by", "flag", "--debug-http", "--browser"])
            .arg(&browsers.program.path)
            .env("TABWIRE_HOME", browsers.relay.home())
            .stdout(fs::File::create(&output).unwrap())
            .spawn()
            .unwrap();
        Self { process, output }
    }

    async fn until_printed(&self, text: &str) {
        until("`up` has printed it", async || {
            let output = fs::read_to_string(&self.output).unwrap();
            output.contains(text).then_some(())
        })
        .await;
    }

    async fn until_ended(mut self) {
        let status = until("`up` has ended", async || self.process.try_wait().unwrap()).await;
        assert!(status.success(), "{status}");
    }
}

impl Drop for Up {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[tokio::test]
async fn up_stops_no_browser_that_has_taken_the_name_of_its_own() {
    let browsers = Browsers::new(&[]).await;
    let up = Up::start(&browsers);
    up.until_printed("Ignored: --debug-http.").await;
    let _own = browsers.connect(1).await;
    up.until_printed("Ctrl-C").await;
    browsers.stop("work").await.unwrap();
    let work = browsers.options(ProfileChoice::Temporary, Some("work"));
    let (other, _other) = browsers.launch(work, 2).await;
    assert_eq!(other.name, "work");
    kill_process(to_pid(up.process.id()), Signal::INT).unwrap();
    up.until_ended().await;
    assert!(is_running(other.pid));
}

#[tokio::test]
async fn up_ends_with_the_relay_that_it_uses() {
    let browsers = Browsers::new(&[]).await;
    let up = Up::start(&browsers);
    let _own = browsers.connect(1).await;
    up.until_printed("Ctrl-C").await;
    browsers.relay.stop(Signal::TERM).await;
    up.until_printed("The relay has exited.").await;
    up.until_ended().await;
}

#[tokio::test]
async fn profile_that_is_kept_is_the_same_with_a_debugging_port() {
    let browsers = Browsers::new(&[]).await;
    let kept = browsers.options(ProfileChoice::Kept, None);
    let (first, _extension) = browsers.launch(kept.clone(), 1).await;
    browsers.stop(&first.name).await.unwrap();
    let direct = LaunchOptions {
        direct: true,
        load_by: LoadBy::Auto,
        ..kept
    };
    let (pid, outcome) = browsers.begin(direct).await;
    let arguments = fs::read(format!("/proc/{pid}/cmdline")).unwrap();
    let arguments = String::from_utf8(arguments).unwrap();
    let profile = browsers.relay.home().join("launched/browser/profile");
    let expected = format!("--user-data-dir={}", profile.display());
    assert!(
        arguments.split('\0').any(|own| own == expected),
        "{arguments}"
    );
    outcome.abort();
}
