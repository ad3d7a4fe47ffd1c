//! `tabwire doctor`: what it finds, what it advises, and what it repairs.

mod extension;
mod fix;
mod relay;

use std::fs;
use std::path::Path;

use serde_json::Value;
use tabwire_tests::{Exit, Relay, ScriptedBrowser};

use crate::machine::Machine;
use crate::setup::start;

/// The exit code, and severity and text with advice of each finding.
struct Findings {
    code: Option<i32>,
    all: Vec<(String, String)>,
}

impl Findings {
    fn of(machine: &Machine, home: &Path, options: &[&str]) -> Self {
        let exit = doctor(machine, home, &[&["--json"], options].concat());
        let report: Value = serde_json::from_str(&exit.stdout).unwrap();
        let finding = |finding: &Value| {
            let part = |name: &str| finding[name].as_str().unwrap_or_default().to_owned();
            (
                part("severity"),
                format!("{} {}", part("text"), part("fix")),
            )
        };
        let all = report["findings"].as_array().unwrap();
        Self {
            code: exit.code,
            all: all.iter().map(finding).collect(),
        }
    }

    fn has(&self, severity: &str, part: &str) -> bool {
        let mut all = self.all.iter();
        all.any(|(own, text)| own == severity && text.contains(part))
    }

    #[track_caller]
    fn expect(&self, severity: &str, part: &str) {
        assert!(
            self.has(severity, part),
            "{severity} {part}: {:?}",
            self.all
        );
    }

    #[track_caller]
    fn expect_none(&self, part: &str) {
        let mut all = self.all.iter();
        let found = all.any(|(_, text)| text.contains(part));
        assert!(!found, "{part}: {:?}", self.all);
    }
}

fn doctor(machine: &Machine, home: &Path, options: &[&str]) -> Exit {
    machine.run_in(home, &[&["doctor"], options].concat())
}

#[tokio::test]
async fn finds_nothing_wrong_while_everything_works() {
    let (relay, _extension, _client) = start(&[1]).await;
    let machine = Machine::new();
    let findings = Findings::of(&machine, &relay.home(), &[]);
    assert_eq!(findings.code, Some(0), "{:?}", findings.all);
    findings.expect("ok", "chrome is connected");
    let exit = doctor(&machine, &relay.home(), &[]);
    assert!(
        exit.stdout.contains("ok      chrome is connected."),
        "{exit:?}"
    );
    assert!(!exit.stdout.contains("--fix"), "{exit:?}");
}

#[tokio::test]
async fn names_the_next_step_for_each_problem() {
    let machine = Machine::new();
    let relay = Relay::start(&[]).await;
    let none = Findings::of(&machine, &relay.home(), &[]);
    assert_eq!(none.code, Some(1));
    none.expect("problem", "none is installed here");
    machine.program("chromium", "");
    let none = Findings::of(&machine, &relay.home(), &[]);
    none.expect("problem", "install-extension");

    let (relay, extension, _client) = start(&[1]).await;
    extension.drop_connection().await;
    relay.until_extension(false).await;
    let away = Findings::of(&machine, &relay.home(), &[]);
    away.expect("problem", "No browser is connected. Paired: chrome.");
    away.expect("problem", "in no profile of the installed browsers");

    fs::write(relay.home().join("auth-token"), "short").unwrap();
    let damaged = Findings::of(&machine, &relay.home(), &[]);
    damaged.expect("problem", "rm '");
    damaged.expect("ok", "The relay on port");
}

#[tokio::test]
async fn relay_that_launches_browsers_needs_none() {
    let relay = Relay::start(&["--launch", "/bin/false"]).await;
    let findings = Findings::of(&Machine::new(), &relay.home(), &[]);
    assert_eq!(findings.code, Some(0), "{:?}", findings.all);
    findings.expect("ok", "launches one when a client needs it");
}

#[test]
fn home_that_cannot_be_used_is_a_finding() {
    let machine = Machine::new();
    let file = machine.path("file");
    fs::write(&file, "").unwrap();
    let findings = Findings::of(&machine, &file, &[]);
    assert_eq!(findings.code, Some(1));
    findings.expect("problem", "TABWIRE_HOME");
    fs::create_dir_all(machine.home()).unwrap();
    fs::write(machine.home().join("paired.json"), "{").unwrap();
    let findings = Findings::of(&machine, &machine.home(), &[]);
    findings.expect("problem", "paired.json'`, then pair your browsers again");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn knows_a_browser_with_its_own_debugging_port() {
    let browser = ScriptedBrowser::start().await;
    let (machine, url) = (Machine::new(), browser.url());
    let relay = Relay::start(&["--browser-url", &url, "--browsers", "many"]).await;
    let findings = Findings::of(&machine, &relay.home(), &[]);
    assert_eq!(findings.code, Some(0), "{:?}", findings.all);
    findings.expect("ok", &format!("chrome is connected, at {url}."));
    let list = |arguments: &[&str]| machine.run_in(&relay.home(), arguments).stdout;
    let listed: Value = serde_json::from_str(&list(&["browsers", "--json"])).unwrap();
    assert_eq!(listed["direct"][0]["url"], url);
    assert_eq!(listed["direct"][0]["connected"], true);
    assert!(list(&["browsers"]).contains(&format!("{url}  connected, 1 tab")));

    browser.hang();
    let findings = Findings::of(&machine, &relay.home(), &[]);
    assert_eq!(findings.code, Some(1), "{:?}", findings.all);
    findings.expect("ok", "The relay on port");
    findings.expect("problem", "chrome hangs");
    findings.expect_none("token.");
    findings.expect_none("kill");

    let port = browser.stop().await;
    let findings = Findings::of(&machine, &relay.home(), &[]);
    assert_eq!(findings.code, Some(1), "{:?}", findings.all);
    findings.expect("problem", &format!("--remote-debugging-port={port}"));
    assert!(list(&["browsers"]).contains("does not respond"));
}
