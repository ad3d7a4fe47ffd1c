//! `tabwire cdp-url`: prints the URL with the token. No other command does, and this one only when
//! a relay is running: otherwise a client would send the token to whoever takes the port next.

use std::process::ExitCode;

use tabwire_home::Home;

use crate::error::Error;

pub fn run() -> Result<ExitCode, Error> {
    let home = Home::open()?;
    if home.running_relay().is_none() {
        let home = home.path().to_owned();
        return Err(Error::NoRelay { home });
    }
    let file = home.cdp_url_file();
    let url =
        std::fs::read_to_string(&file).map_err(|reason| Error::CdpUrlFile { file, reason })?;
    print_line!("{}", url.trim());
    Ok(ExitCode::SUCCESS)
}
