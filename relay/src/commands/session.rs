//! What `mcp`, `exec`, `snapshot`, `screenshot` and `tabs` share: options, and one run of code in
//! the browser.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use tabwire_home::{Home, State, Token};
use tabwire_mcp::exec::{self, Run};
use tabwire_mcp::{Error as McpError, Secrets, Settings};

use crate::commands::browser_name;
use crate::error::Error;
use crate::signals::StopSignals;

/// For `snapshot` and `screenshot`, which do one thing.
pub const SHORT_TIMEOUT: Duration = Duration::from_secs(30);

/// The default is for commands that run no code.
#[derive(Debug, Clone, Default, Args)]
pub struct SessionOptions {
    /// Port of the relay. Must match this home's relay if one is running [default: this home's
    /// relay, or 19222]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    pub port: Option<u16>,
    /// The browser, by its name in `tabwire browsers` [default: the only one that is connected]
    #[arg(long, env = "TABWIRE_BROWSER", value_name = "NAME", value_parser = browser_name)]
    pub browser: Option<String>,
    /// Seconds to wait while another client is using the browser
    #[arg(long, value_name = "SECONDS", default_value_t = 30.0, value_parser = seconds)]
    pub standby: f64,
    /// Seconds that an action such as a click may take, unless the code passes a timeout
    #[arg(long, value_name = "SECONDS", default_value_t = 5.0, value_parser = seconds)]
    pub action_timeout: f64,
    /// Seconds that loading a page may take, unless the code passes a timeout
    #[arg(long, value_name = "SECONDS", default_value_t = 30.0, value_parser = seconds)]
    pub navigation_timeout: f64,
    /// File with secrets that the code can type with `secret('NAME')` but never sees, as lines of
    /// NAME=value. Variables of the environment that start with TABWIRE_SECRET_ are secrets, too
    #[arg(long, value_name = "FILE")]
    pub secrets: Option<PathBuf>,
    /// Folder for files that the code downloads, prints or records [default: `files` in Tabwire's home]
    #[arg(long, value_name = "DIR")]
    pub files: Option<PathBuf>,
    /// Memory limit for running code, in MiB
    #[arg(long, value_name = "MIB", default_value_t = 1024, value_parser = clap::value_parser!(u64).range(128..=1 << 20))]
    pub memory: u64,
}

/// Which relay to use, for commands that need no browser yet.
#[derive(Debug, Clone, Args)]
pub struct RelayOptions {
    /// Port of the relay. Must match this home's relay if one is running [default: this home's
    /// relay, or 19222]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    pub port: Option<u16>,
}

impl RelayOptions {
    /// Starts a relay if none is running.
    pub async fn ensure_running(&self, home: &Home) -> Result<State, Error> {
        let session = SessionOptions {
            port: self.port,
            ..SessionOptions::default()
        };
        tabwire_mcp::ensure_relay(&session.settings("tabwire launch")?).await?;
        home.running_relay().ok_or_else(|| Error::NoRelay {
            home: home.path().to_owned(),
        })
    }
}

impl SessionOptions {
    /// Settings for a shell, which can take any amount of output: nothing is truncated or scaled
    /// down.
    /// `client_name`: what the relay calls this client.
    pub fn settings(&self, client_name: &str) -> Result<Settings, McpError> {
        let home = Home::open()?;
        // Fail now if the token is unusable.
        Token::load_or_create(&home)?;
        let files = self.files.clone().unwrap_or_else(|| home.files_folder());
        Ok(Settings {
            home,
            // The code runs in another folder.
            files: std::path::absolute(files)?,
            program: std::env::current_exe()?,
            port: self.port,
            browser: self.browser.clone(),
            client_name: client_name.to_owned(),
            standby: Duration::from_secs_f64(self.standby),
            idle: Duration::ZERO,
            action_timeout: Duration::from_secs_f64(self.action_timeout),
            navigation_timeout: Duration::from_secs_f64(self.navigation_timeout),
            output_limit: usize::MAX >> 12,
            image_limit: None,
            memory_mib: self.memory,
            after_call: Arc::new(|_| {}),
            secrets: Secrets::load(self.secrets.as_deref())?,
            browser_tools: None,
        })
    }

    /// Runs code once, prints what it returns, and closes the tabs it opened.
    pub async fn run(&self, client_name: &str, run: Run) -> Result<ExitCode, Error> {
        let mut stop = StopSignals::new()?;
        let outcome = match self.settings(client_name) {
            Ok(settings) => exec::run(settings, run, stop.recv()).await,
            Err(error) => exec::fail(error, run.json),
        };
        Ok(outcome.exit_code().into())
    }
}

pub fn seconds(text: &str) -> Result<f64, String> {
    let seconds = text.parse::<f64>().map_err(|error| error.to_string())?;
    if (0.0..=86_400.0).contains(&seconds) {
        Ok(seconds)
    } else {
        Err("must be between 0 and 86400 seconds".to_owned())
    }
}
