//! The command line: what can be said, and its help.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

pub const DEFAULT_PORT: u16 = 19222;

/// Makes the browser you already use a CDP endpoint, for Playwright, Puppeteer and agents.
#[derive(Debug, Parser)]
#[command(name = "tabwire", version)]
pub struct CommandLine {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run the relay in the foreground.
    Serve(ServeOptions),
    /// Run the relay and a browser with the extension, in one go.
    Up(UpOptions),
    /// Write the bundled extension to a folder, ready to be loaded unpacked.
    InstallExtension(InstallOptions),
    /// Say whether a relay runs, and what is connected to it.
    Status(StatusOptions),
    /// Print the CDP URL of the running relay. It holds the token: whoever has it drives your browser.
    CdpUrl,
    /// List the Chromium-family browsers found on this machine.
    Browsers(BrowsersOptions),
}

#[derive(Debug, Clone, Args)]
pub struct ServeOptions {
    /// The port on 127.0.0.1 to listen on; 0 takes any free one.
    #[arg(long, default_value_t = DEFAULT_PORT)]
    pub port: u16,
    /// One client at a time, or several at once [env: TABWIRE_CLIENT_MODE, BF_CLIENT_MODE; default: single-active]
    #[arg(long, value_enum)]
    pub client_mode: Option<ClientMode>,
    /// Let in an extension with this id too; may be given several times.
    #[arg(long = "extension-id", value_name = "ID", value_parser = extension_id)]
    pub extension_ids: Vec<String>,
    /// Do not write the CDP URL to a file.
    #[arg(long)]
    pub no_cdp_url_file: bool,
    /// What becomes of the tabs that a client created when it goes. Tabs of the person are never closed.
    #[arg(long, value_enum, default_value_t = OnDisconnect::Keep)]
    pub on_disconnect: OnDisconnect,
    /// How long a page may be silent, in seconds, before a command to it fails.
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=3600))]
    pub command_timeout: u32,
    /// The largest message taken from a client or the extension, in MiB.
    #[arg(long, default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub max_message_mib: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ClientMode {
    SingleActive,
    MultiClient,
}

impl ClientMode {
    pub fn name(self) -> &'static str {
        match self {
            Self::SingleActive => "single-active",
            Self::MultiClient => "multi-client",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum OnDisconnect {
    /// They stay open.
    Keep,
    /// They are closed, whoever else uses them.
    CloseCreated,
}

#[derive(Debug, Clone, Args)]
pub struct UpOptions {
    #[command(flatten)]
    pub serve: ServeOptions,
    /// The browser to start: a name from `tabwire browsers`, or the path of a program.
    #[arg(long)]
    pub browser: Option<String>,
    /// The folder of the browser's profile [default: `profile` in Tabwire's home]
    #[arg(long, value_name = "DIR")]
    pub profile: Option<PathBuf>,
    /// How the extension gets into the browser.
    #[arg(long, value_enum, default_value_t = LoadBy::Auto)]
    pub load_by: LoadBy,
    /// Show no window. This is so anyway where there is no display.
    #[arg(long)]
    pub headless: bool,
    /// More arguments for the browser, after `--`.
    #[arg(last = true, value_name = "BROWSER ARGUMENTS")]
    pub browser_arguments: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LoadBy {
    /// As the browser takes it: branded Chrome and Edge by a pipe, others by a flag.
    Auto,
    /// With --load-extension, which branded Chrome ignores since version 137.
    Flag,
    /// Over --remote-debugging-pipe. Pages can tell that this browser is automated.
    Pipe,
}

#[derive(Debug, Clone, Args)]
pub struct InstallOptions {
    /// The folder to write to [default: `extension` in Tabwire's home]
    #[arg(long, value_name = "DIR")]
    pub to: Option<PathBuf>,
    /// The port of the relay that the extension shall connect to.
    #[arg(long, default_value_t = DEFAULT_PORT, value_parser = clap::value_parser!(u16).range(1..))]
    pub port: u16,
}

#[derive(Debug, Clone, Args)]
pub struct StatusOptions {
    /// Print JSON, for a program.
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Clone, Args)]
pub struct BrowsersOptions {
    /// Print JSON, for a program.
    #[arg(long)]
    pub json: bool,
}

/// Chrome's extension ids are 32 letters from a to p.
fn extension_id(text: &str) -> Result<String, String> {
    let well_formed = text.len() == 32 && text.bytes().all(|b| (b'a'..=b'p').contains(&b));
    if well_formed {
        Ok(text.to_owned())
    } else {
        Err("an extension id is 32 letters from a to p; chrome://extensions shows it".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_well_formed() {
        CommandLine::command().debug_assert();
    }

    #[test]
    fn only_what_chrome_calls_an_extension_id_is_one() {
        assert!(extension_id(&"abcdefghijklmnop".repeat(2)).is_ok());
        assert!(extension_id("*").is_err());
        assert!(extension_id(&"q".repeat(32)).is_err());
    }
}
