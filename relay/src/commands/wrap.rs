//! `tabwire wrap`: runs a program that needs the relay's address, with placeholders in its arguments
//! replaced.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::process::{ExitCode, ExitStatus};
use std::time::Duration;

use clap::Args;
use rustix::process::{Pid, Signal, getpgrp, kill_process};
use rustix::termios::tcgetpgrp;
use tabwire_home::{Home, State, Token, cdp_url};
use tokio::process::{Child, Command};
use tokio::signal::unix::SignalKind;

use crate::commands::{browser_name, exit_code};
use crate::error::Error;
use crate::signals::StopSignals;

/// How long to wait for a relay, and how often to look for it: more and more rarely.
const RELAY_TIMEOUT: Duration = Duration::from_secs(10);
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

#[derive(Debug, Clone, Args)]
pub struct WrapOptions {
    /// The browser, by its name in `tabwire browsers` [default: the only one]
    #[arg(long, env = "TABWIRE_BROWSER", value_parser = browser_name)]
    pub browser: Option<String>,
    /// The program and its arguments, after `--`. Replaced in them: {cdp_port}; {cdp_endpoint}, the
    /// http:// address; {cdp_url}, the ws:// address with the token; {token}
    ///
    /// Other users of this machine can see the arguments of a program. Use {cdp_url} and {token} only if
    /// the program reads them from nowhere else; it also finds the URL in TABWIRE_CDP_URL.
    #[arg(last = true, required = true, value_name = "PROGRAM")]
    pub program: Vec<OsString>,
}

/// Exits as the program does.
pub async fn run(options: &WrapOptions) -> Result<ExitCode, Error> {
    let home = Home::open()?;
    let state = wait_for_relay(&home).await?;
    let values = Values::new(state, &Token::load(&home)?, options.browser.as_deref());
    let mut words = options.program.iter().map(|word| values.replace_in(word));
    let program = words.next().unwrap_or_default();
    // Before the program starts, so that a signal never ends this process alone.
    let signals = StopSignals::new()?;
    let child = Command::new(&program)
        .args(words)
        // Unlike arguments, only this user can read it.
        .env("TABWIRE_CDP_URL", &values.cdp_url)
        .spawn()
        .map_err(|reason| Error::StartProgram {
            program: program.display().to_string(),
            reason,
        })?;
    let status = wait(child, signals).await?;
    Ok(exit_code(status))
}

async fn wait_for_relay(home: &Home) -> Result<State, Error> {
    let mut pause = FIRST_PAUSE;
    let waiting = async {
        loop {
            if let Some(state) = home.running_relay() {
                return state;
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    };
    let found = tokio::time::timeout(RELAY_TIMEOUT, waiting).await;
    found.map_err(|_| Error::NoRelay {
        home: home.path().to_owned(),
    })
}

/// What the placeholders stand for.
struct Values {
    port: u16,
    token: String,
    cdp_url: String,
}

impl Values {
    fn new(state: State, token: &Token, browser: Option<&str>) -> Self {
        Self {
            port: state.port,
            token: token.reveal().to_owned(),
            cdp_url: cdp_url(state.port, token, browser),
        }
    }

    /// Also in an argument that is not valid UTF-8, such as the name of an old file.
    fn replace_in(&self, word: &OsStr) -> OsString {
        let mut replaced = Vec::with_capacity(word.len());
        for chunk in word.as_bytes().utf8_chunks() {
            replaced.extend(self.replace_in_text(chunk.valid()).into_bytes());
            replaced.extend(chunk.invalid());
        }
        OsString::from_vec(replaced)
    }

    fn replace_in_text(&self, word: &str) -> String {
        // Not `localhost`: a client may try ::1 first, where another user's program can listen on this
        // port, and would be sent the token.
        let endpoint = format!("http://127.0.0.1:{}", self.port);
        word.replace("{cdp_port}", &self.port.to_string())
            .replace("{cdp_endpoint}", &endpoint)
            .replace("{cdp_url}", &self.cdp_url)
            .replace("{token}", &self.token)
    }
}

/// Passes signals on to the program until it has exited.
async fn wait(mut child: Child, mut signals: StopSignals) -> Result<ExitStatus, Error> {
    loop {
        let received = tokio::select! {
            status = child.wait() => return Ok(status?),
            signal = signals.next() => signal,
        };
        if received == SignalKind::interrupt() && is_in_foreground() {
            // Ctrl-C, which the terminal has sent to the program, too.
            continue;
        }
        let pid = child.id().and_then(|pid| i32::try_from(pid).ok());
        let signal = Signal::from_named_raw(received.as_raw_value());
        if let (Some(pid), Some(signal)) = (pid.and_then(Pid::from_raw), signal) {
            let _ = kill_process(pid, signal);
        }
    }
}

/// Whether Ctrl-C in the terminal reaches this process, and with it the program, which is in the same
/// process group.
fn is_in_foreground() -> bool {
    let terminal = File::open("/dev/tty");
    let group = terminal.and_then(|terminal| Ok(tcgetpgrp(terminal)?));
    group.is_ok_and(|group| group == getpgrp())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::Instant;

    #[tokio::test(start_paused = true)]
    async fn gives_up_after_ten_seconds_without_a_relay() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open_at(folder.path().to_owned()).unwrap();
        let start = Instant::now();
        let error = wait_for_relay(&home).await.unwrap_err();
        // On the paused clock, which moves only when everything waits for it.
        assert_eq!(start.elapsed().as_secs(), RELAY_TIMEOUT.as_secs());
        let message = error.to_string();
        assert!(message.contains("No relay is running in"), "{message}");
        assert!(message.contains("`tabwire serve`"), "{message}");
    }
}
