//! The `tabwire` binary: builds it once, and runs it to completion the way a user would.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// The exit code and output of a finished process.
#[derive(Debug)]
pub struct Exit {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

/// The binary built from the current sources, in the profile and target folder of the running test.
pub fn binary() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| {
        let test = std::env::current_exe().expect("the test binary has a path");
        let profile = test
            .ancestors()
            .find(|folder| folder.file_name().is_some_and(|name| name == "deps"))
            .and_then(Path::parent)
            .expect("the test binary is in target/<profile>/deps");
        build(profile);
        profile.join("tabwire")
    })
}

fn build(profile_folder: &Path) {
    let profile = match profile_folder.file_name().and_then(|name| name.to_str()) {
        Some("debug") => "dev",
        other => other.expect("the profile folder has a name"),
    };
    let target_folder = profile_folder.parent().expect("target/<profile>");
    let status = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["build", "--quiet", "--package", "tabwire"])
        .args(["--profile", profile, "--target-dir"])
        .arg(target_folder)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .status();
    assert!(status.expect("cargo runs").success(), "tabwire builds");
}

pub(crate) fn command(home: &Path) -> Command {
    let mut command = Command::new(binary());
    isolate(&mut command, home);
    command
}

/// Keeps the settings of this machine out of the process.
pub(crate) fn isolate(command: &mut Command, home: &Path) {
    command.env("TABWIRE_HOME", home).stdin(Stdio::null());
    for name in [
        "TABWIRE_BROWSER",
        "TABWIRE_CLIENT_MODE",
        "BF_CLIENT_MODE",
        "TABWIRE_LOG",
    ] {
        command.env_remove(name);
    }
}

/// Runs a command that ends on its own.
pub fn run(home: &Path, arguments: &[&str], environment: &[(&str, &str)]) -> Exit {
    let output = command(home)
        .args(arguments)
        .envs(environment.iter().copied())
        .output()
        .expect("tabwire runs");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("the output is UTF-8");
    Exit {
        code: output.status.code(),
        stdout: text(output.stdout),
        stderr: text(output.stderr),
    }
}
