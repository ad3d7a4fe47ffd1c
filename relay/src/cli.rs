//! The command line: what can be said, and its help.

use std::net::{Ipv4Addr, SocketAddrV4};
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use tabwire_mcp::relay::DEFAULT_PORT;

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
    /// Serve an agent: MCP over stdin and stdout, with the tools `execute` and `reset`.
    Mcp(McpOptions),
    /// Run Playwright JavaScript in the browser, and print what it gives.
    Exec(ExecOptions),
    /// Print the accessibility tree of a tab.
    Snapshot(SnapshotOptions),
    /// Take a picture of a tab.
    Screenshot(ScreenshotOptions),
    /// List the tabs of the browser.
    Tabs(TabsOptions),
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
    /// How long the browser may take, in seconds, to attach its debugger to a tab, or to create or close one.
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=3600))]
    pub attach_timeout: u32,
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

/// How code gets at the browser, for an agent as for a shell.
#[derive(Debug, Clone, Args)]
pub struct SessionOptions {
    /// The port of the relay; none is started there while this home's runs on another [default: where this home's relay is, else 19222]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    pub port: Option<u16>,
    /// How many seconds to wait while another client has the browser.
    #[arg(long, value_name = "SECONDS", default_value_t = 30.0, value_parser = seconds)]
    pub standby: f64,
    /// The most memory that running code may take, in MiB.
    #[arg(long, value_name = "MIB", default_value_t = 1024, value_parser = clap::value_parser!(u64).range(128..=1 << 20))]
    pub memory: u64,
}

#[derive(Debug, Clone, Args)]
pub struct McpOptions {
    #[command(flatten)]
    pub session: SessionOptions,
    /// Serve streamable HTTP at http://ADDRESS/mcp instead, for agents that have the token; 127.0.0.1 only.
    #[arg(long, value_name = "127.0.0.1:PORT", value_parser = loopback)]
    pub http: Option<SocketAddrV4>,
    /// After how many seconds without calls the browser is let go for other clients.
    #[arg(long, value_name = "SECONDS", default_value_t = 15.0, value_parser = seconds)]
    pub idle: f64,
    /// The longest text of an answer, in characters; the rest can be asked for.
    #[arg(long, value_name = "CHARACTERS", default_value_t = 20_000)]
    pub output_limit: usize,
    /// The largest picture of an answer, in bytes; larger ones are scaled.
    #[arg(long, value_name = "BYTES", default_value_t = 600_000)]
    pub image_limit: usize,
    /// Install what running code needs, and end.
    #[arg(long)]
    pub install: bool,
}

#[derive(Debug, Clone, Args)]
pub struct ExecOptions {
    #[command(flatten)]
    pub session: SessionOptions,
    /// The code.
    #[arg(short, long, value_name = "CODE", conflicts_with = "file")]
    pub eval: Option<String>,
    /// A file with the code; `-`, or nothing, is stdin.
    pub file: Option<PathBuf>,
    /// The tab that `page` is: its number in `tabwire tabs`, its target id, or a part of its address or title [default: a new one, closed at the end]
    #[arg(long)]
    pub tab: Option<String>,
    /// After how many seconds the code is ended.
    #[arg(long, value_name = "SECONDS", default_value_t = 30.0, value_parser = seconds)]
    pub timeout: f64,
    /// Print JSON, for a program.
    #[arg(long)]
    pub json: bool,
    /// The folder that pictures are written to.
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub images: PathBuf,
}

#[derive(Debug, Clone, Args)]
pub struct SnapshotOptions {
    #[command(flatten)]
    pub session: SessionOptions,
    /// The tab: its number in `tabwire tabs`, its target id, or a part of its address or title. Not needed if there is only one.
    #[arg(default_value = "", hide_default_value = true)]
    pub tab: String,
    /// Print JSON, for a program.
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Clone, Args)]
pub struct ScreenshotOptions {
    #[command(flatten)]
    pub session: SessionOptions,
    /// The tab: its number in `tabwire tabs`, its target id, or a part of its address or title. Not needed if there is only one.
    #[arg(default_value = "", hide_default_value = true)]
    pub tab: String,
    /// The file to write to, a PNG or, if its name says so, a JPEG [default: a new PNG in this folder]
    #[arg(short, long, value_name = "FILE", value_parser = picture)]
    pub output: Option<Picture>,
    /// The whole page, and not only what is seen of it.
    #[arg(long)]
    pub full_page: bool,
    /// Draw the refs of `tabwire snapshot` over the elements.
    #[arg(long)]
    pub labels: bool,
    /// Print JSON, for a program.
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Clone, Args)]
pub struct TabsOptions {
    #[command(flatten)]
    pub session: SessionOptions,
    /// Print JSON, for a program.
    #[arg(long)]
    pub json: bool,
}

/// A file for a picture, of the kind that its name says.
#[derive(Debug, Clone)]
pub struct Picture {
    pub path: PathBuf,
    pub kind: PictureKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PictureKind {
    Png,
    Jpeg,
}

impl PictureKind {
    /// As Playwright calls it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Png => "png",
            Self::Jpeg => "jpeg",
        }
    }
}

fn picture(text: &str) -> Result<Picture, String> {
    let path = PathBuf::from(text);
    let extension = path
        .extension()
        .map(|extension| extension.to_string_lossy().to_lowercase());
    let kind = match extension.as_deref() {
        None | Some("png") => PictureKind::Png,
        Some("jpg" | "jpeg") => PictureKind::Jpeg,
        Some(_) => return Err("a name that ends in .png, .jpg or .jpeg".to_owned()),
    };
    Ok(Picture { path, kind })
}

fn seconds(text: &str) -> Result<f64, String> {
    let seconds = text.parse::<f64>().map_err(|error| error.to_string())?;
    if (0.0..=86_400.0).contains(&seconds) {
        Ok(seconds)
    } else {
        Err("a number of seconds, up to a day".to_owned())
    }
}

/// Nothing of Tabwire listens to the network.
fn loopback(text: &str) -> Result<SocketAddrV4, String> {
    let address = text
        .parse::<SocketAddrV4>()
        .map_err(|_| "an address such as 127.0.0.1:19333".to_owned())?;
    if *address.ip() == Ipv4Addr::LOCALHOST {
        Ok(address)
    } else {
        Err("Tabwire listens on 127.0.0.1 only".to_owned())
    }
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
    fn a_picture_is_of_the_kind_that_its_name_says() {
        for (name, kind) in [
            ("a.png", PictureKind::Png),
            ("a.JPG", PictureKind::Jpeg),
            ("b/a.jpeg", PictureKind::Jpeg),
            ("a", PictureKind::Png),
        ] {
            assert_eq!(picture(name).unwrap().kind, kind, "{name}");
        }
        assert!(picture("a.webp").is_err());
    }

    #[test]
    fn agents_are_served_on_this_machine_only() {
        assert!(loopback("127.0.0.1:4000").is_ok());
        for elsewhere in ["0.0.0.0:4000", "192.0.2.1:4000", "127.0.0.2:4000", "4000"] {
            assert!(loopback(elsewhere).is_err(), "{elsewhere}");
        }
    }

    #[test]
    fn only_what_chrome_calls_an_extension_id_is_one() {
        assert!(extension_id(&"abcdefghijklmnop".repeat(2)).is_ok());
        assert!(extension_id("*").is_err());
        assert!(extension_id(&"q".repeat(32)).is_err());
    }
}
