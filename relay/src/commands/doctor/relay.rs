//! The relay: whether it runs and responds, and who has its port if it does not.

use std::net::Ipv4Addr;

use tabwire_home::control::Refusal;
use tabwire_home::{DEFAULT_PORT, State, Token};
use tokio::net::TcpStream;

use super::Situation;
use super::finding::{Finding, note, ok, problem};
use crate::commands::open_port::remaining;
use crate::http::peer;

pub async fn check(situation: &Situation) -> Vec<Finding> {
    match situation.running {
        Some(state) => {
            let mut findings = vec![check_running(situation, state)];
            findings.extend(check_open_port(situation));
            findings
        }
        None => check_port(situation).await,
    }
}

fn check_running(situation: &Situation, state: State) -> Finding {
    let pid = state.pid;
    // A token that cannot be used is reported with the home's files.
    let is_unusable = Token::load(&situation.home).is_err();
    match (&situation.browsers, &situation.status) {
        (Err(_), Some(_)) if is_unusable => ok(format!("{} is running.", capitalized(state))),
        (Ok(_), _) => ok(format!("{} is running.", capitalized(state))),
        (Err(_), None) => problem(
            format!("{} does not respond.", capitalized(state)),
            format!(
                "Run `kill -CONT {pid}` if it is suspended, or `kill -KILL {pid}` if it hangs."
            ),
        ),
        // It cannot be asked to exit, because that needs the token.
        (Err(error), Some(_)) if Refusal::is_of_token(error) => problem(
            format!("{} does not accept this home's token.", capitalized(state)),
            format!("Run `kill {pid}`, then start it again with `tabwire serve`."),
        ),
        (Err(error), Some(_)) => problem(
            format!(
                "{} is running, but does not list its browsers: {}.",
                capitalized(state),
                error.to_string().trim_end_matches('.')
            ),
            "Try again in a moment. Run `tabwire logs` to see what it is doing.",
        ),
    }
}

fn check_open_port(situation: &Situation) -> Option<Finding> {
    let open = situation.status.as_ref()?.open_port.as_ref()?;
    Some(note(
        format!(
            "Port {} needs no token for another {}: every program that you run can use your browser.",
            open.port,
            remaining(open)
        ),
        "Run `tabwire close-port` when you no longer need it.",
    ))
}

async fn check_port(situation: &Situation) -> Vec<Finding> {
    let mut findings = vec![note(
        "No relay is running.",
        "Run `tabwire serve`, or use an agent, which starts one.",
    )];
    let last = situation.home.last_relay();
    let port = last.map_or(DEFAULT_PORT, |state| state.port);
    let address = (Ipv4Addr::LOCALHOST, port);
    if TcpStream::connect(address).await.is_ok() {
        let holder = peer::holder_of(port).unwrap_or_else(|| "another program".to_owned());
        findings.push(problem(
            format!("Port {port} is in use by {holder}, which is not this home's relay."),
            "Stop that program, or use another port: `tabwire serve --port PORT` and `tabwire install-extension --port PORT`.",
        ));
    }
    findings
}

/// At the beginning of a sentence.
pub fn capitalized(state: State) -> String {
    let text = state.to_string();
    text.replacen("the relay", "The relay", 1)
}
