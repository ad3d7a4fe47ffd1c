//! `tabwire completions`: prints a completion script, made from the definition of the command line.

use std::io::Write as _;
use std::process::ExitCode;

use clap::Args;
use clap_complete::Shell;

use crate::commands::documented;

#[derive(Debug, Clone, Args)]
pub struct CompletionsOptions {
    /// The shell to write the script for
    shell: Shell,
}

pub fn run(options: &CompletionsOptions) -> ExitCode {
    // A reader that closes the pipe early must not fail the command.
    let _ = std::io::stdout().write_all(&script(options.shell));
    ExitCode::SUCCESS
}

fn script(shell: Shell) -> Vec<u8> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut documented(), "tabwire", &mut script);
    script
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum as _;

    use super::*;

    #[test]
    fn scripts_name_every_command() {
        for shell in Shell::value_variants() {
            let script = String::from_utf8(script(*shell)).unwrap();
            for command in documented().get_subcommands() {
                let name = command.get_name();
                assert!(script.contains(name), "{shell}: {name}");
            }
            assert!(script.contains("rename"), "{shell}");
            assert!(script.contains("client-mode"), "{shell}");
        }
    }
}
