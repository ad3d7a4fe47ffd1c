//! `tabwire man`: prints the manual page, made from the definition of the command line, or writes one
//! page per command.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use clap_mangen::Man;

use crate::commands::{documented, table};
use crate::error::Error;

#[derive(Debug, Clone, Args)]
pub struct ManOptions {
    /// Write the pages of all commands to this folder, such as ~/.local/share/man/man1
    #[arg(long, value_name = "DIR")]
    to: Option<PathBuf>,
}

pub fn run(options: &ManOptions) -> Result<ExitCode, Error> {
    if let Some(folder) = &options.to {
        let pages = write_pages(folder).map_err(|reason| Error::WriteFile {
            path: folder.clone(),
            reason,
        })?;
        let pages = table::count(pages, "page");
        print_line!("Wrote {pages} to {}.", folder.display());
        return Ok(ExitCode::SUCCESS);
    }
    let mut text = Vec::new();
    page(documented()).render(&mut text)?;
    // A reader that closes the pipe early must not fail the command.
    let _ = std::io::stdout().write_all(&text);
    Ok(ExitCode::SUCCESS)
}

fn page(command: clap::Command) -> Man {
    // Otherwise the footer would show the name of the subcommand without a version.
    Man::new(command).source(concat!("tabwire ", env!("CARGO_PKG_VERSION")))
}

/// Returns how many pages there are.
fn write_pages(folder: &Path) -> std::io::Result<usize> {
    std::fs::create_dir_all(folder)?;
    let mut command = documented();
    command.build();
    write_command(command, folder)
}

fn write_command(command: clap::Command, folder: &Path) -> std::io::Result<usize> {
    let mut pages = 1;
    for subcommand in command.get_subcommands().cloned() {
        pages += write_command(subcommand, folder)?;
    }
    page(command).generate_to(folder)?;
    Ok(pages)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn every_command_has_a_page() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("share/man/man1");
        let pages = write_pages(&folder).unwrap();
        let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
        let main = read("tabwire.1");
        for command in documented().get_subcommands() {
            let name = command.get_name();
            let page = read(&format!("tabwire-{name}.1"));
            assert!(page.contains(".SH SYNOPSIS"), "{name}: {page}");
            let escaped = name.replace('-', r"\-");
            assert!(
                main.contains(&format!(r"tabwire\-{escaped}(1)")),
                "{name}: {main}"
            );
        }
        assert!(read("tabwire-serve.1").contains(r"\-\-client\-mode"));
        assert!(read("tabwire-browsers-rename.1").contains("tabwire 0."));
        assert_eq!(fs::read_dir(&folder).unwrap().count(), pages);
    }
}
