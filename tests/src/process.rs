//! The `tabwire` program: building it once, and running it to its end as a user would.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// What is left of a process that ended.
#[derive(Debug)]
pub struct Ended {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

/// The program of the sources as they are now, from the same profile and target folder as the test that asks.
pub fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let test = std::env::current_exe().expect("a test has a path");
        let profile = test
            .ancestors()
            .find(|folder| folder.file_name().is_some_and(|name| name == "deps"))
            .and_then(Path::parent);
        let profile = profile.expect("a test lies in target/<profile>/deps");
        let name = profile
            .file_name()
            .and_then(|name| name.to_str())
            .expect("a profile has a name");
        let mut build = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        build
            .args([
                "build",
                "--quiet",
                "--package",
                "tabwire",
                "--profile",
                if name == "debug" { "dev" } else { name },
                "--target-dir",
            ])
            .arg(
                profile
                    .parent()
                    .expect("a profile lies in the target folder"),
            )
            .current_dir(env!("CARGO_MANIFEST_DIR"));
        assert!(
            build.status().expect("cargo runs").success(),
            "tabwire does not build"
        );
        profile.join("tabwire")
    })
}

/// A command of the program that knows nothing of this machine's own settings.
pub(crate) fn command(home: &Path) -> Command {
    let mut command = Command::new(program());
    isolate(&mut command, home);
    command
}

pub(crate) fn isolate(command: &mut Command, home: &Path) {
    command.env("TABWIRE_HOME", home).stdin(Stdio::null());
    for name in ["TABWIRE_CLIENT_MODE", "BF_CLIENT_MODE", "TABWIRE_LOG"] {
        command.env_remove(name);
    }
}

/// Runs a command that ends by itself.
pub fn run(home: &Path, arguments: &[&str], environment: &[(&str, &str)]) -> Ended {
    let output = command(home)
        .args(arguments)
        .envs(environment.iter().copied())
        .output()
        .expect("tabwire runs");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("it speaks UTF-8");
    Ended {
        code: output.status.code(),
        stdout: text(output.stdout),
        stderr: text(output.stderr),
    }
}
