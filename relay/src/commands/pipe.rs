//! `tabwire pipe`: stands in for a browser's program, for clients that launch one and use it over a
//! pipe. Joins a running browser or launches one, and ends with its client.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use tabwire_home::{Home, RelayStatus, Token, get_json};

use crate::browser::detect;
use crate::commands::session::{RelayOptions, SessionOptions, seconds};
use crate::commands::{absolute, absolute_program, browser_name, exit_code, relay_query};
use crate::error::Error;
use crate::pipe::{self, BrowserArguments, ClientPipe, OwnBrowser, Socket};
use crate::shell::quoted;
use crate::signals::StopSignals;

#[derive(Debug, Clone, Args)]
pub struct PipeOptions {
    /// Write a script to this file that clients can launch as their browser, then exit
    #[arg(long, value_name = "FILE")]
    pub script: Option<PathBuf>,
    /// Join this browser, by its name in `tabwire browsers`, and never launch one
    #[arg(long, env = "TABWIRE_BROWSER", value_name = "NAME", value_parser = browser_name)]
    pub browser: Option<String>,
    /// Never launch a browser: wait for one to connect to the relay, and start a relay if none is
    /// running
    #[arg(long)]
    pub join: bool,
    /// Browser to launch if none is connected: a name from `tabwire browsers`, or the path of a program
    /// [default: the first one found]
    #[arg(long, value_name = "BROWSER", conflicts_with_all = ["join", "browser"])]
    pub launch: Option<String>,
    #[command(flatten)]
    pub relay: RelayOptions,
    /// Seconds to wait while another client is using the browser
    #[arg(long, value_name = "SECONDS", default_value_t = 20.0, value_parser = seconds)]
    pub standby: f64,
    /// Arguments for the browser, as the client passes them. A browser that is joined ignores them
    #[arg(last = true, value_name = "ARGUMENTS")]
    pub arguments: Vec<String>,
}

pub async fn run(options: &PipeOptions) -> Result<ExitCode, Error> {
    if let Some(file) = &options.script {
        return write_script(&absolute(file)?, &options.anywhere()?);
    }
    let client = ClientPipe::inherited()?;
    let mut stop = StopSignals::new()?;
    let home = Home::open()?;
    let arguments = BrowserArguments::new(&options.arguments);
    let client_left = client.watch()?;
    let found = tokio::select! {
        found = options.find(&home, &arguments) => found?,
        () = stop.recv() => return Ok(ExitCode::SUCCESS),
        () = client_left.wait() => return Ok(ExitCode::SUCCESS),
    };
    if let Some(socket) = found {
        tokio::select! {
            ended = pipe::bridge(client, socket) => ended?,
            () = stop.recv() => {}
        }
        return Ok(ExitCode::SUCCESS);
    }
    let browser = detect::choose(options.launch.as_deref())?;
    let mut own = OwnBrowser::launch(home, &browser, arguments, client)?;
    let status = tokio::select! {
        status = own.ended(&client_left) => status,
        () = stop.recv() => None,
    };
    own.close().await;
    Ok(status.map_or(ExitCode::SUCCESS, exit_code))
}

impl PipeOptions {
    /// A browser that is running already: the one with the client's profile, or one of the relay's.
    async fn find(
        &self,
        home: &Home,
        arguments: &BrowserArguments,
    ) -> Result<Option<Socket>, Error> {
        let is_chosen = self.join || self.browser.is_some();
        if !is_chosen
            && let Some(profile) = arguments.profile()
            && let Some(socket) = pipe::open_profile(&profile).await?
        {
            log_attached("port");
            return Ok(Some(socket));
        }
        if !is_chosen && !has_browser(home).await {
            return Ok(None);
        }
        let port = self.wait_for_browser().await?;
        let socket = pipe::relay(port, &Token::load(home)?, self.browser.as_deref()).await?;
        log_attached("relay");
        Ok(Some(socket))
    }

    /// Returns the relay's port when a browser is connected to it that no other client is using.
    async fn wait_for_browser(&self) -> Result<u16, Error> {
        let session = SessionOptions {
            port: self.relay.port,
            browser: self.browser.clone(),
            standby: self.standby,
            ..SessionOptions::default()
        };
        let settings = session.settings("tabwire pipe")?;
        Ok(tabwire_mcp::ensure_browser(&settings).await?)
    }

    /// The same options for a script, which runs in any folder.
    fn anywhere(&self) -> Result<Self, Error> {
        let launch = self.launch.clone().map(absolute_program).transpose()?;
        Ok(Self {
            launch,
            ..self.clone()
        })
    }

    /// What the script passes on.
    fn script_options(&self) -> Vec<String> {
        let mut words = Vec::new();
        let named = [("--browser", &self.browser), ("--launch", &self.launch)];
        for (option, value) in named {
            if let Some(value) = value {
                words.extend([option.to_owned(), value.clone()]);
            }
        }
        words.extend(self.join.then(|| "--join".to_owned()));
        if let Some(port) = self.relay.port {
            words.extend(["--port".to_owned(), port.to_string()]);
        }
        words.extend(["--standby".to_owned(), self.standby.to_string()]);
        words
    }
}

fn log_attached(through: &str) {
    tracing::info!(
        transportMode = "pipe",
        runtimeState = "connected",
        ownership = "attached",
        through,
        "browser of a pipe",
    );
}

/// Whether this home's relay has a browser, or launches one when a client needs it.
async fn has_browser(home: &Home) -> bool {
    let Some(state) = home.running_relay() else {
        return false;
    };
    let status = get_json::<RelayStatus>(state.port, "/").await;
    if status.is_ok_and(|status| status.launches) {
        return true;
    }
    let browsers = relay_query::browsers(home).await.unwrap_or_default();
    browsers.iter().any(|browser| browser.connected)
}

/// The first lines of a script that may be replaced.
const SCRIPT_HEADER: &str = "#!/bin/sh\n# Stands in for a browser in programs that launch one. Written by `tabwire pipe --script`.\n";

fn write_script(file: &Path, options: &PipeOptions) -> Result<ExitCode, Error> {
    let failed = |reason| Error::WriteFile {
        path: file.to_owned(),
        reason,
    };
    let is_other = fs::read(file).is_ok_and(|text| !text.starts_with(SCRIPT_HEADER.as_bytes()));
    if is_other || file.is_dir() {
        return Err(Error::OtherScript(file.to_owned()));
    }
    let folder = file.parent().unwrap_or_else(|| Path::new("/"));
    let mut script = tempfile::NamedTempFile::new_in(folder).map_err(failed)?;
    let text = script_text(&std::env::current_exe()?, home_variable(), options);
    script.write_all(text.as_bytes()).map_err(failed)?;
    let executable = fs::Permissions::from_mode(0o755);
    script
        .as_file()
        .set_permissions(executable)
        .map_err(failed)?;
    script.persist(file).map_err(|error| failed(error.error))?;
    print_line!(
        "Wrote {}.\nUse this path as the browser's executable, for example as `executablePath` of Puppeteer.",
        file.display()
    );
    Ok(ExitCode::SUCCESS)
}

fn home_variable() -> Option<PathBuf> {
    let home = std::env::var_os("TABWIRE_HOME").filter(|home| !home.is_empty())?;
    std::path::absolute(home).ok()
}

fn script_text(program: &Path, home: Option<PathBuf>, options: &PipeOptions) -> String {
    let mut text = SCRIPT_HEADER.to_owned();
    if let Some(home) = home {
        let home = quoted(&home);
        let _ = writeln!(text, "export TABWIRE_HOME={home}");
    }
    let mut words = vec![program.to_string_lossy().into_owned(), "pipe".to_owned()];
    words.extend(options.script_options());
    let words: Vec<String> = words.iter().map(quoted).collect();
    let _ = writeln!(text, "exec {} -- \"$@\"", words.join(" "));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn script_finds_its_browser_from_any_folder() {
        let options = PipeOptions {
            script: None,
            browser: None,
            join: false,
            launch: Some("./out/chrome".to_owned()),
            relay: RelayOptions { port: None },
            standby: 5.0,
            arguments: Vec::new(),
        };
        let text = script_text(Path::new("/t"), None, &options.anywhere().unwrap());
        let program = std::env::current_dir().unwrap().join("out/chrome");
        let launch = format!("'--launch' '{}'", program.display());
        assert!(text.contains(&launch), "{text}");
    }

    #[test]
    fn script_passes_its_options_and_all_arguments() {
        let options = PipeOptions {
            script: None,
            browser: Some("work".to_owned()),
            join: true,
            launch: None,
            relay: RelayOptions { port: None },
            standby: 5.0,
            arguments: Vec::new(),
        };
        let program = Path::new("/opt/it's here/tabwire");
        let text = script_text(program, Some("/my home".into()), &options);
        let expected = r#"export TABWIRE_HOME='/my home'
exec '/opt/it'\''s here/tabwire' 'pipe' '--browser' 'work' '--join' '--standby' '5' -- "$@"
"#;
        assert_eq!(text.strip_prefix(SCRIPT_HEADER), Some(expected));
    }
}
