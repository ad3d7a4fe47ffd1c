//! `tabwire install-extension`: writes the bundled extension, paired with this home's relay, and
//! explains how to load it.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use tabwire_home::{DEFAULT_PORT, Home};

use crate::browser::bundle::{self, Copy};
use crate::commands::{absolute, browser_name};
use crate::error::Error;

#[derive(Debug, Clone, Args)]
pub struct InstallOptions {
    /// Folder to write to [default: `Tabwire Extension`, beside Tabwire's home]
    #[arg(long, value_name = "DIR")]
    pub to: Option<PathBuf>,
    /// Port of the relay that the extension connects to
    #[arg(long, default_value_t = DEFAULT_PORT, value_parser = clap::value_parser!(u16).range(1..))]
    pub port: u16,
    /// What to call the browser that loads it [default: its product, such as chrome]
    #[arg(long, value_parser = browser_name)]
    pub name: Option<String>,
    /// Do not open the welcome page when the extension is loaded
    #[arg(long)]
    pub no_welcome: bool,
}

pub fn run(options: &InstallOptions) -> Result<ExitCode, Error> {
    let home = Home::open()?;
    let folder = match &options.to {
        Some(folder) => absolute(folder)?,
        None => home.visible_extension_folder(),
    };
    let (_, secret) = bundle::pair(&home, &folder, options.name.as_deref())?;
    let copy = Copy {
        folder: &folder,
        port: options.port,
        secret: &secret,
        shows_welcome: !options.no_welcome,
        is_launched: false,
    };
    copy.write()?;
    print_line!("The Tabwire extension is in {}", folder.display());
    print_line!(
        "It is paired with the relay on 127.0.0.1:{} and connects by itself.",
        options.port
    );
    print_line!("");
    print_line!("Load it once in your browser, or reload it there if you have loaded it before:");
    print_line!("  1. Open chrome://extensions.");
    print_line!("  2. Turn on Developer mode (top right).");
    print_line!("  3. Choose Load unpacked and select that folder.");
    Ok(ExitCode::SUCCESS)
}
