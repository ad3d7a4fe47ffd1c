//! `tabwire cdp-url`: prints the URL with the token. No other command does, and this one only when
//! a relay is running: otherwise a client would send the token to whoever takes the port next.

use std::process::ExitCode;

use clap::Args;
use tabwire_home::{Home, NameFault, Token, read_to_string};

use crate::commands::browser_name;
use crate::error::Error;

#[derive(Debug, Clone, Args)]
pub struct CdpUrlOptions {
    /// The browser, by its name in `tabwire browsers` [default: the only one]
    #[arg(long, env = "TABWIRE_BROWSER", value_parser = browser_name)]
    pub browser: Option<String>,
}

pub fn run(options: &CdpUrlOptions) -> Result<ExitCode, Error> {
    let home = Home::open()?;
    if home.running_relay().is_none() {
        let home = home.path().to_owned();
        return Err(Error::NoRelay { home });
    }
    // The file may be older than the token.
    Token::load(&home)?;
    if let Some(name) = &options.browser
        && !home
            .pairings()?
            .browsers()
            .any(|browser| browser.name.eq_ignore_ascii_case(name))
    {
        return Err(NameFault::Unknown(name.clone()).into());
    }
    let file = home.cdp_url_file();
    let url = read_to_string(&file).map_err(|fault| Error::CdpUrlFile {
        file,
        reason: fault.into(),
    })?;
    let browser = options.browser.as_ref();
    let suffix = browser.map(|name| format!("&browser={name}"));
    print_line!("{}{}", url.trim(), suffix.unwrap_or_default());
    Ok(ExitCode::SUCCESS)
}
