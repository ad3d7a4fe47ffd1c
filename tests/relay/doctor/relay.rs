//! What `doctor` finds out about the relay, and about whoever has its port.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::thread;

use rustix::process::{Pid, Signal, kill_process};
use tabwire_home::{Claim, Home, State, Token};
use tabwire_tests::Relay;

use super::Findings;
use crate::machine::Machine;

const STATUS: &str = r#"{"status":"ok","mode":"single-active","extension":true,"browsers":1,"targets":1,"clients":0}"#;

/// Owns a machine's home as a relay does, and responds to `/`, but not as it should to `/browsers`.
struct FakeRelay {
    machine: Machine,
    _claim: Claim,
}

impl FakeRelay {
    /// `status_line` is of the response to `/browsers`. `None`: it never responds.
    fn start(status_line: Option<&'static str>) -> Self {
        let machine = Machine::new();
        let home = Home::open_at(machine.home()).unwrap();
        Token::load_or_create(&home).unwrap();
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let claim = home.claim().unwrap().unwrap();
        let pid = std::process::id();
        claim.write(State { port, pid }, None).unwrap();
        thread::spawn(move || {
            // A connection that gets no response stays open until the test ends.
            let mut open = Vec::new();
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                if let Some(response) = response(&stream, status_line) {
                    stream.write_all(response.as_bytes()).unwrap();
                } else {
                    open.push(stream);
                }
            }
        });
        Self {
            machine,
            _claim: claim,
        }
    }

    fn findings(&self) -> Findings {
        Findings::of(&self.machine, &self.machine.home(), &[])
    }
}

fn response(stream: &TcpStream, status_line: Option<&str>) -> Option<String> {
    let mut lines = BufReader::new(stream).lines().map(Result::unwrap);
    let request = lines.next().unwrap();
    lines.find(String::is_empty);
    let (status_line, body) = if request.starts_with("GET / ") {
        ("200 OK", STATUS)
    } else {
        (status_line?, r#"{"error":"No."}"#)
    };
    Some(format!("HTTP/1.1 {status_line}\r\n\r\n{body}"))
}

#[test]
fn relay_that_refuses_the_token_has_to_be_restarted() {
    let findings = FakeRelay::start(Some("401 Unauthorized")).findings();
    findings.expect("problem", "does not accept this home's token");
    findings.expect("problem", &format!("`kill {}`", std::process::id()));
}

/// A relay that is merely slow must not be ended.
#[test]
fn relay_that_does_not_list_its_browsers_in_time_is_not_to_be_killed() {
    for (status_line, reason) in [
        (None, "no response within 2 seconds"),
        (Some("500 Internal Server Error"), "No."),
    ] {
        let findings = FakeRelay::start(status_line).findings();
        findings.expect("problem", &format!("does not list its browsers: {reason}"));
        findings.expect("problem", "Try again in a moment.");
        findings.expect_none("kill");
        findings.expect_none("home's token");
        // Nothing is known about the browsers.
        findings.expect_none("No browser");
    }
}

#[tokio::test]
async fn suspended_relay_can_be_resumed() {
    let relay = Relay::start(&[]).await;
    let pid = Pid::from_raw(relay.pid().try_into().unwrap()).unwrap();
    kill_process(pid, Signal::STOP).unwrap();
    let findings = Findings::of(&Machine::new(), &relay.home(), &[]);
    kill_process(pid, Signal::CONT).unwrap();
    findings.expect("problem", "does not respond");
    findings.expect("problem", &format!("`kill -CONT {}`", relay.pid()));
}

#[test]
fn missing_relay_is_a_note_with_the_command_that_starts_one() {
    let machine = Machine::new();
    machine.run(&["status"]);
    let findings = Findings::of(&machine, &machine.home(), &[]);
    findings.expect("note", "No relay is running. Run `tabwire serve`");
}

#[test]
fn names_the_program_that_has_the_port() {
    let machine = Machine::new();
    machine.run(&["status"]);
    let squatter = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = squatter.local_addr().unwrap().port();
    let state = format!(r#"{{"port":{port},"pid":1}}"#);
    fs::write(machine.home().join("state.json"), state).unwrap();
    let findings = Findings::of(&machine, &machine.home(), &[]);
    findings.expect("problem", &format!("process {}", std::process::id()));
    findings.expect("note", "was killed and left files behind");
}
