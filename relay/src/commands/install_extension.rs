//! `tabwire install-extension`: writes the bundled extension and explains how to load it.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use tabwire_home::{DEFAULT_PORT, Home};

use crate::browser::bundle;
use crate::commands::absolute;
use crate::error::Error;

#[derive(Debug, Clone, Args)]
pub struct InstallOptions {
    /// Folder to write to [default: `extension` in Tabwire's home]
    #[arg(long, value_name = "DIR")]
    pub to: Option<PathBuf>,
    /// Port of the relay that the extension connects to
    #[arg(long, default_value_t = DEFAULT_PORT, value_parser = clap::value_parser!(u16).range(1..))]
    pub port: u16,
}

pub fn run(options: &InstallOptions) -> Result<ExitCode, Error> {
    let folder = match &options.to {
        Some(folder) => absolute(folder)?,
        None => Home::open()?.extension_folder(),
    };
    bundle::write(&folder, options.port)?;
    print_line!("The Tabwire extension is in {}", folder.display());
    print_line!("It connects to the relay on 127.0.0.1:{}.", options.port);
    print_line!("");
    print_line!("Load it once in your browser:");
    print_line!("  1. Open chrome://extensions.");
    print_line!("  2. Turn on Developer mode (top right).");
    print_line!("  3. Choose Load unpacked and select that folder.");
    Ok(ExitCode::SUCCESS)
}
