//! `tabwire serve`: runs a relay in the foreground until a signal stops it.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use tabwire_home::control::LaunchOptions;
use tabwire_home::{DEFAULT_PORT, Home};

use crate::browser::name::choose_name;
use crate::browser::program::READY_TIMEOUT;
use crate::browser::{bundle, detect};
use crate::commands::{absolute_program, browser_name};
use crate::config::{BrowserMode, ClientMode, Config, OnDisconnect};
use crate::direct::{Browser, BrowserUrl};
use crate::error::Error;
use crate::log::{Log, Observer, Transcript, trim_output};
use crate::relay::{Relay, Start};
use crate::signals::StopSignals;

// What options are if they are not set.
const RECOVERY_TIMEOUT: u32 = 5;
const COMMAND_TIMEOUT: u32 = 30;
const ATTACH_TIMEOUT: u32 = 10;
const MAX_MESSAGE_MIB: u32 = 256;
const CLIENT_TIMEOUT: u32 = 15;

#[derive(Debug, Clone, Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an option of its own"
)]
pub struct ServeOptions {
    /// Port on 127.0.0.1 to listen on; 0 picks a free one
    #[arg(long, default_value_t = DEFAULT_PORT)]
    pub port: u16,
    /// One client at a time, or several at once [env: TABWIRE_CLIENT_MODE, BF_CLIENT_MODE; default:
    /// single-active]
    #[arg(long, value_enum)]
    pub client_mode: Option<ClientMode>,
    /// How many browsers can be connected at the same time
    #[arg(long, value_enum, default_value_t = BrowserMode::One)]
    pub browsers: BrowserMode,
    #[command(flatten)]
    pub on_demand: OnDemand,
    /// Use the browser with this debugging port, such as http://127.0.0.1:9222. It needs no extension
    #[arg(long, value_name = "URL")]
    pub browser_url: Option<BrowserUrl>,
    /// What the browser at --browser-url is called [default: its product, such as chrome]
    #[arg(long, value_name = "NAME", requires = "browser_url", value_parser = browser_name)]
    pub browser_name: Option<String>,
    /// Seconds to wait for the browser at --browser-url to come back when a client needs it
    #[arg(long, value_name = "SECONDS", default_value_t = RECOVERY_TIMEOUT, value_parser = clap::value_parser!(u32).range(0..=3600))]
    pub recovery_timeout: u32,
    /// Also allow the extension with this id; can be repeated
    #[arg(long = "extension-id", value_name = "ID", value_parser = extension_id)]
    pub extension_ids: Vec<String>,
    /// Also serve extensions that do not prove who they are. For tests only: any program on this
    /// machine can then pose as your browser
    #[arg(long)]
    pub allow_unpaired: bool,
    /// Serve POST /command, for trying things out with curl. It needs the token
    #[arg(long)]
    pub debug_http: bool,
    /// Do not write the CDP URL to a file
    #[arg(long)]
    pub no_cdp_url_file: bool,
    /// Do not let your tabs in the background believe that they have the focus while clients use them.
    /// Clicks there wait until the tab is visible
    #[arg(long, env = "TABWIRE_NO_FOCUS_EMULATION", value_parser = clap::builder::FalseyValueParser::new())]
    pub no_focus_emulation: bool,
    /// What to do with the tabs a client created when it disconnects. Your own tabs are never
    /// closed
    #[arg(long, value_enum, default_value_t = OnDisconnect::Keep)]
    pub on_disconnect: OnDisconnect,
    /// Seconds a page may stay unresponsive before a command to it fails
    #[arg(long, value_name = "SECONDS", default_value_t = COMMAND_TIMEOUT, value_parser = clap::value_parser!(u32).range(1..=3600))]
    pub command_timeout: u32,
    /// Seconds the browser may take to attach its debugger to a tab, or to create or close one
    #[arg(long, value_name = "SECONDS", default_value_t = ATTACH_TIMEOUT, value_parser = clap::value_parser!(u32).range(1..=3600))]
    pub attach_timeout: u32,
    /// Largest message accepted from a client or the extension, in MiB
    #[arg(long, default_value_t = MAX_MESSAGE_MIB, value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub max_message_mib: u32,
    /// Seconds a client may be silent before it is disconnected; 0 for no limit. One that answers
    /// pings is not silent
    #[arg(long, value_name = "SECONDS", default_value_t = CLIENT_TIMEOUT, value_parser = clap::value_parser!(u32).range(0..=3600))]
    pub client_timeout: u32,
    #[command(flatten)]
    pub logging: Logging,
}

/// What is written down.
#[derive(Debug, Clone, Args)]
pub struct Logging {
    /// Log to the file relay.log only, not to stderr
    #[arg(long)]
    pub quiet: bool,
    /// Write every message to this new file, as lines of JSON. It will contain everything that passes,
    /// cookies and typed passwords included
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
}

impl Logging {
    fn observer(&self, log: &Log) -> Result<Observer, Error> {
        let transcript = self.record.as_deref().map(Transcript::create);
        Ok(Observer::new(log.clone(), transcript.transpose()?))
    }

    /// The relay has started, or failed to.
    fn on_start(&self, has_started: bool) {
        let Some(file) = &self.record else { return };
        if has_started {
            let file = file.display();
            print_line!(
                "Warning: recording to {file}. It will contain everything that passes, cookies and typed passwords included."
            );
        } else {
            // Otherwise it would be in the way of the next attempt.
            let _ = std::fs::remove_file(file);
        }
    }
}

/// The browser that is launched when a client needs one.
#[derive(Debug, Clone, Args)]
pub struct OnDemand {
    /// Launch a browser when the first client needs one: `auto`, a name from `tabwire browsers`, or
    /// the path of a program
    #[arg(long, value_name = "BROWSER", conflicts_with = "browser_url")]
    pub launch: Option<String>,
    /// Use the debugging port of the browser that --launch launches, not the extension. Every program
    /// on this machine can connect to that port
    #[arg(long, requires = "launch")]
    pub launch_direct: bool,
}

impl OnDemand {
    fn options(&self) -> Result<Option<LaunchOptions>, Error> {
        let Some(browser) = self.launch.clone() else {
            return Ok(None);
        };
        let browser = Some(browser).filter(|browser| browser != "auto");
        Ok(Some(LaunchOptions {
            browser: browser.map(absolute_program).transpose()?,
            direct: self.launch_direct,
            ..LaunchOptions::default()
        }))
    }
}

/// How much can always be queued for a client that does not read.
const OUTBOX_LIMIT: usize = 256 << 20;

/// How long clients wait for a browser that has connected before. Its extension retries at least
/// every 3.75 seconds.
const START_TIMEOUT: Duration = Duration::from_secs(5);

impl ServeOptions {
    /// Starts a relay. `launch`: the browser that it launches when a client needs one.
    pub async fn start(&self, launch: Option<LaunchOptions>, log: &Log) -> Result<Relay, Error> {
        let home = Home::open()?;
        if self.logging.quiet {
            trim_output(&home)?;
        }
        let direct = match self.browser_url {
            Some(url) => Some(self.attach(&home, url).await?),
            None => None,
        };
        let start = Start {
            home,
            port: self.port,
            writes_cdp_url: !self.no_cdp_url_file,
            direct,
            log: log.clone(),
            observer: self.logging.observer(log)?,
        };
        let expects_browser = start.home.pairings()?.browsers().next().is_some();
        let configure = |port| {
            let mut config = self.config(port, launch)?;
            if expects_browser {
                config.core.start_timeout = START_TIMEOUT;
            }
            Ok(config)
        };
        let relay = Relay::start(start, configure).await;
        self.logging.on_start(relay.is_ok());
        relay
    }

    /// The options that were set and that only a relay that is being started can follow. One that is
    /// running has this port.
    pub fn set_options(&self, port: u16) -> Vec<&'static str> {
        let is_set = [
            ("--port", ![DEFAULT_PORT, port].contains(&self.port)),
            ("--client-mode", self.client_mode.is_some()),
            ("--browsers", self.browsers != BrowserMode::One),
            (
                "--recovery-timeout",
                self.recovery_timeout != RECOVERY_TIMEOUT,
            ),
            ("--extension-id", !self.extension_ids.is_empty()),
            ("--allow-unpaired", self.allow_unpaired),
            ("--debug-http", self.debug_http),
            ("--no-cdp-url-file", self.no_cdp_url_file),
            ("--no-focus-emulation", self.no_focus_emulation),
            ("--on-disconnect", self.on_disconnect != OnDisconnect::Keep),
            ("--command-timeout", self.command_timeout != COMMAND_TIMEOUT),
            ("--attach-timeout", self.attach_timeout != ATTACH_TIMEOUT),
            ("--max-message-mib", self.max_message_mib != MAX_MESSAGE_MIB),
            ("--client-timeout", self.client_timeout != CLIENT_TIMEOUT),
            ("--record", self.logging.record.is_some()),
        ];
        let set = is_set.iter().filter(|(_, is_set)| *is_set);
        set.map(|(name, _)| *name).collect()
    }

    /// Finds the browser at `--browser-url`.
    async fn attach(&self, home: &Home, url: BrowserUrl) -> Result<Browser, Error> {
        let timeout = Duration::from_secs(self.recovery_timeout.into());
        let pairings = home.pairings()?;
        let requested = self.browser_name.as_deref();
        let is_taken = |name: &str| pairings.has_name_outside(None, name);
        let name = |product: &str| choose_name(is_taken, requested, product);
        Browser::attach(url, name, timeout).await
    }

    fn config(&self, port: u16, launch: Option<LaunchOptions>) -> Result<Config, Error> {
        let mut extension_ids = vec![bundle::EXTENSION_ID.to_owned()];
        extension_ids.extend(self.extension_ids.iter().cloned());
        let max_message = (self.max_message_mib as usize) << 20;
        Ok(Config {
            port,
            client_mode: self.client_mode.map_or_else(ClientMode::from_env, Ok)?,
            browser_mode: self.browsers,
            extension_ids,
            allow_unpaired: self.allow_unpaired,
            debug_http: self.debug_http,
            core: tabwire_core::Config {
                launch_timeout: launch.is_some().then_some(READY_TIMEOUT),
                ..self.core_config()
            },
            launch,
            max_message,
            outbox_limit: OUTBOX_LIMIT.max(max_message),
            client_timeout: (self.client_timeout > 0)
                .then(|| Duration::from_secs(self.client_timeout.into())),
        })
    }

    fn core_config(&self) -> tabwire_core::Config {
        tabwire_core::Config {
            command_timeout: Duration::from_secs(self.command_timeout.into()),
            tab_call_timeout: Duration::from_secs(self.attach_timeout.into()),
            on_disconnect: match self.on_disconnect {
                OnDisconnect::Keep => tabwire_core::OnDisconnect::Keep,
                OnDisconnect::CloseCreated => tabwire_core::OnDisconnect::CloseCreated,
            },
            reports_answers: true,
            emulates_focus: !self.no_focus_emulation,
            // One client must not be able to guess another's ids.
            ..tabwire_core::Config::new(rand::random())
        }
    }
}

pub async fn run(options: &ServeOptions, log: &Log) -> Result<ExitCode, Error> {
    let mut stop = StopSignals::new()?;
    let launch = options.on_demand.options()?;
    if let Some(launch) = &launch {
        // Fail now if there is no such browser.
        detect::choose(launch.browser.as_deref())?;
    }
    let mut relay = options.start(launch, log).await?;
    print_line!(
        "Tabwire relay on 127.0.0.1:{}, {}.\nCDP URL: {}.\nBrowsers: {}.",
        relay.port(),
        relay.app.config.client_mode.name(),
        describe_cdp_url(&relay),
        describe_browsers(&relay)?,
    );
    if options.allow_unpaired {
        print_line!(
            "Warning: --allow-unpaired is for tests. Any program on this machine can pose as your browser."
        );
    }
    print_line!("Press Ctrl-C to stop.");
    let app = relay.app.clone();
    let outcome = tokio::select! {
        () = stop.recv() => Ok(ExitCode::SUCCESS),
        () = app.stop_requested.notified() => Ok(ExitCode::SUCCESS),
        error = relay.failed() => Err(error),
    };
    relay.stop().await;
    outcome
}

fn describe_cdp_url(relay: &Relay) -> String {
    match relay.files.cdp_url_file() {
        Some(file) => format!(
            "in {} (keep it secret: it controls your browser)",
            file.display()
        ),
        None if relay.files.is_owner() => "not written to a file, as requested".to_owned(),
        None => format!(
            "not written to a file: this home's files belong to {}",
            relay.home.owner()
        ),
    }
}

fn describe_browsers(relay: &Relay) -> Result<String, Error> {
    let entries = relay.app.registry.entries();
    if let Some(browser) = entries.iter().find_map(|entry| entry.direct.as_ref()) {
        return Ok(format!("{} at {}", browser.name, browser.url()));
    }
    if relay.app.launcher.is_on_demand() {
        return Ok("one is launched when a client needs it".to_owned());
    }
    let pairings = relay.home.pairings()?;
    let mut names: Vec<&str> = pairings
        .browsers()
        .map(|browser| browser.name.as_str())
        .collect();
    if names.is_empty() {
        return Ok("none has connected yet; run `tabwire install-extension` to add one".to_owned());
    }
    names.sort_unstable();
    Ok(format!("waiting for {}", names.join(", ")))
}

/// Chrome's extension ids are 32 letters from a to p.
fn extension_id(text: &str) -> Result<String, String> {
    let is_valid = text.len() == 32 && text.bytes().all(|b| (b'a'..=b'p').contains(&b));
    if is_valid {
        Ok(text.to_owned())
    } else {
        Err("an extension id has 32 letters from a to p; see chrome://extensions".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::FromArgMatches as _;

    #[test]
    fn options_that_a_running_relay_ignores_are_listed() {
        let set = |arguments: &[&str]| {
            let arguments = [&["serve"], arguments].concat();
            let command = ServeOptions::augment_args(clap::Command::new("serve"));
            let matches = command.get_matches_from(arguments);
            let options = ServeOptions::from_arg_matches(&matches).unwrap();
            options.set_options(4000)
        };
        assert!(set(&[]).is_empty());
        assert!(set(&["--port", "4000"]).is_empty(), "it has this port");
        let arguments = ["--port", "1", "--record", "f", "--browsers", "many"];
        assert_eq!(set(&arguments), ["--port", "--browsers", "--record"]);
        assert_eq!(set(&["--debug-http"]), ["--debug-http"]);
    }

    #[test]
    fn accepts_only_chromes_extension_ids() {
        assert!(extension_id(&"abcdefghijklmnop".repeat(2)).is_ok());
        assert!(extension_id("*").is_err());
        assert!(extension_id(&"q".repeat(32)).is_err());
    }
}
