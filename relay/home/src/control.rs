//! What a relay can be asked to do with browsers: the requests and responses of `POST /launch`,
//! `/restart` and `/stop`. Ask only a relay that owns the home, because it is sent the token.

use std::io;
use std::path::PathBuf;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::query::post_json;
use crate::token::Token;

/// Which browser to launch, and how.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct LaunchOptions {
    /// A name from `tabwire browsers`, or the path of a program. `None`: the first one found.
    pub browser: Option<String>,
    /// What the browser is called. `None`: its name in `tabwire browsers`, with a number if that is
    /// taken.
    pub name: Option<String>,
    pub headless: bool,
    pub profile: ProfileChoice,
    /// Use the browser's own debugging port instead of the extension.
    pub direct: bool,
    pub load_by: LoadBy,
    pub arguments: Vec<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ProfileChoice {
    /// A folder of its own in Tabwire's home, which is kept.
    #[default]
    Kept,
    Folder(PathBuf),
    /// A new one, which is removed when the browser is stopped.
    Temporary,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
pub enum LoadBy {
    /// Whatever the browser supports: a pipe for branded Chrome and Edge, a flag for others
    #[default]
    Auto,
    /// With --load-extension, which branded Chrome has ignored since version 137
    Flag,
    /// Over --remote-debugging-pipe; pages can detect that the browser is automated
    Pipe,
}

/// Who started a browser. Only one that the relay launched is ever stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ownership {
    /// It was running already.
    Attached,
    Launched,
}

impl Ownership {
    pub fn name(self) -> &'static str {
        match self {
            Self::Attached => "attached",
            Self::Launched => "launched",
        }
    }
}

/// A browser that is ready.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LaunchReport {
    /// Names this browser in a request to stop it, although another one may have the same name by
    /// then.
    #[serde(default)]
    pub id: u32,
    pub name: String,
    pub tabs: usize,
    pub ownership: Ownership,
    pub headless: bool,
    pub pid: u32,
    /// `None` for a browser with the extension.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub debug_port: Option<u16>,
    /// Whether it was running for Tabwire before this request.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub joined: bool,
}

/// Which browser to stop or restart. `None`: the only one that was launched.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BrowserChoice {
    pub name: Option<String>,
    /// Stop only the browser that a `LaunchReport` with this id was about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<u32>,
    /// Stop the relay itself.
    pub relay: bool,
    /// Stop only what is being launched with these options, and no browser that was launched before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub launching: Option<LaunchOptions>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stopped {
    /// `None` for the relay.
    pub name: Option<String>,
    /// An attached browser was only released, and stays open. `None` for the relay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ownership: Option<Ownership>,
}

impl Stopped {
    pub fn browser(name: String, ownership: Ownership) -> Self {
        Self {
            name: Some(name),
            ownership: Some(ownership),
        }
    }

    pub fn relay() -> Self {
        Self {
            name: None,
            ownership: None,
        }
    }

    pub fn stays_open(&self) -> bool {
        self.ownership == Some(Ownership::Attached)
    }
}

/// Why a relay did not do what it was asked to do, for programs that react to it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RefusalKind {
    /// No such browser is installed.
    UnknownBrowser,
    /// The relay has not launched this browser, or none, or several.
    NotLaunched,
    #[default]
    #[serde(other)]
    Other,
}

/// A relay's response to a request that it does not carry out. `get_json` and the like return it as
/// the source of an `io::Error`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, thiserror::Error)]
#[error("{error}")]
pub struct Refusal {
    /// For people.
    pub error: String,
    #[serde(default)]
    pub kind: RefusalKind,
}

impl Refusal {
    pub fn kind_of(error: &io::Error) -> RefusalKind {
        Self::of(error).map_or_else(RefusalKind::default, |refusal| refusal.kind)
    }

    /// Whether a relay responded that the token is wrong.
    pub fn is_of_token(error: &io::Error) -> bool {
        // The kernel can deny a connection, too, but it does not send a response.
        error.kind() == io::ErrorKind::PermissionDenied && Self::of(error).is_some()
    }

    fn of(error: &io::Error) -> Option<&Self> {
        error.get_ref().and_then(|source| source.downcast_ref())
    }
}

/// Launches a browser, unless it is running already.
pub async fn launch(port: u16, token: &Token, options: &LaunchOptions) -> io::Result<LaunchReport> {
    post(port, "/launch", token, options).await
}

/// Stops a browser that was launched and launches it again. `None`: the only one.
pub async fn restart(port: u16, token: &Token, name: Option<&str>) -> io::Result<LaunchReport> {
    post(port, "/restart", token, &choice(name)).await
}

/// Stops a browser that was launched. `None`: the only one.
pub async fn stop_browser(port: u16, token: &Token, name: Option<&str>) -> io::Result<Stopped> {
    post(port, "/stop", token, &choice(name)).await
}

/// As `stop_browser`, for the one that this report is about and no other.
pub async fn stop_launched(port: u16, token: &Token, report: &LaunchReport) -> io::Result<Stopped> {
    let launched = BrowserChoice {
        id: Some(report.id),
        ..BrowserChoice::default()
    };
    post(port, "/stop", token, &launched).await
}

/// Ends a launch that is under way.
pub async fn interrupt(port: u16, token: &Token, options: &LaunchOptions) -> io::Result<Stopped> {
    let launching = BrowserChoice {
        launching: Some(options.clone()),
        ..BrowserChoice::default()
    };
    post(port, "/stop", token, &launching).await
}

/// The path of a program as a relay understands it, which may run in another folder. Names of
/// browsers stay as they are.
pub fn absolute_program(browser: String) -> io::Result<String> {
    if !browser.contains('/') {
        return Ok(browser);
    }
    let path = std::path::absolute(browser)?;
    let text = path.into_os_string().into_string();
    text.map_err(|_| io::Error::other("the current folder's path is not UTF-8"))
}

/// Asks the relay to exit. Does not wait until it has.
pub async fn stop_relay(port: u16, token: &Token) -> io::Result<()> {
    let relay = BrowserChoice {
        relay: true,
        ..BrowserChoice::default()
    };
    post::<Stopped>(port, "/stop", token, &relay)
        .await
        .map(drop)
}

fn choice(name: Option<&str>) -> BrowserChoice {
    BrowserChoice {
        name: name.map(str::to_owned),
        ..BrowserChoice::default()
    }
}

async fn post<T: DeserializeOwned>(
    port: u16,
    path: &str,
    token: &Token,
    body: &impl Serialize,
) -> io::Result<T> {
    let body = serde_json::to_string(body)?;
    post_json(port, path, token, &body).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launch_options_keep_their_wire_format() {
        let options: LaunchOptions = serde_json::from_str(
            r#"{"browser":"chromium","profile":{"folder":"/p"},"direct":true,"loadBy":"pipe"}"#,
        )
        .unwrap();
        assert_eq!(options.profile, ProfileChoice::Folder("/p".into()));
        assert!(options.direct && !options.headless);
        assert_eq!(options.load_by, LoadBy::Pipe);
        assert!(serde_json::from_str::<LaunchOptions>(r#"{"colour":1}"#).is_err());
        let text = serde_json::to_string(&LaunchOptions::default()).unwrap();
        assert_eq!(
            text,
            r#"{"browser":null,"name":null,"headless":false,"profile":"kept","direct":false,"loadBy":"auto","arguments":[]}"#
        );
    }

    #[test]
    fn only_paths_of_programs_become_absolute() {
        let folder = std::env::current_dir().unwrap();
        let absolute = |browser: &str| absolute_program(browser.to_owned()).unwrap();
        assert_eq!(absolute("chrome-beta"), "chrome-beta");
        assert_eq!(absolute("/usr/bin/chromium"), "/usr/bin/chromium");
        let expected = folder.join("out/chrome").display().to_string();
        assert_eq!(absolute("./out/chrome"), expected);
        assert_eq!(absolute("out/chrome"), expected);
    }

    #[test]
    fn refusal_keeps_its_kind_in_an_io_error() {
        let kind = |body: &str| {
            let refusal: Refusal = serde_json::from_str(body).unwrap();
            Refusal::kind_of(&io::Error::other(refusal))
        };
        assert_eq!(
            kind(r#"{"error":"No.","kind":"not-launched"}"#),
            RefusalKind::NotLaunched
        );
        assert_eq!(
            kind(r#"{"error":"No.","kind":"from-a-newer-relay"}"#),
            RefusalKind::Other
        );
        assert_eq!(kind(r#"{"error":"No."}"#), RefusalKind::Other);
        let other = io::Error::other("refused");
        assert_eq!(Refusal::kind_of(&other), RefusalKind::Other);
    }
}
