//! The extension inside this binary, and writing it to a folder that a browser can load.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use include_dir::{Dir, include_dir};

use crate::cli::InstallOptions;
use crate::home::Home;

static EXTENSION: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../extension");

/// Fixed by the `key` of the extension's manifest, wherever it is loaded from.
pub const EXTENSION_ID: &str = "jdnijfjfenoiidgbdaeakppincocjdkn";

/// The one file that is not the same everywhere: which relay the extension connects to.
const RELAY_FILE: &str = "relay.json";

pub fn run(options: &InstallOptions) -> anyhow::Result<ExitCode> {
    let folder = match &options.to {
        Some(folder) => std::path::absolute(folder)?,
        None => Home::open()?.file("extension"),
    };
    write(&folder, options.port)?;
    say!("The Tabwire extension is in {}", folder.display());
    say!("It connects to the relay on 127.0.0.1:{}.", options.port);
    say!("");
    say!("Load it once in the browser you use:");
    say!("  1. open chrome://extensions");
    say!("  2. switch on Developer mode (top right)");
    say!("  3. choose Load unpacked, and that folder");
    Ok(ExitCode::SUCCESS)
}

/// Writes the extension over what is there.
pub fn write(folder: &Path, port: u16) -> anyhow::Result<PathBuf> {
    let write_all = || -> anyhow::Result<()> {
        let foreign = folder.is_dir()
            && fs::read_dir(folder)?.next().is_some()
            && !folder.join("manifest.json").is_file();
        anyhow::ensure!(
            !foreign,
            "it holds other files and no extension; choose an empty folder"
        );
        fs::create_dir_all(folder)?;
        EXTENSION.extract(folder)?;
        fs::write(
            folder.join(RELAY_FILE),
            serde_json::json!({ "port": port }).to_string() + "\n",
        )?;
        Ok(())
    };
    write_all().with_context(|| format!("cannot write the extension to {}", folder.display()))?;
    Ok(folder.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine as _;
    use sha2::Digest as _;

    #[test]
    fn the_id_is_the_one_that_chrome_makes_of_the_manifests_key() {
        let manifest = EXTENSION
            .get_file("manifest.json")
            .unwrap()
            .contents_utf8()
            .unwrap();
        let manifest: serde_json::Value = serde_json::from_str(manifest).unwrap();
        let key = base64::engine::general_purpose::STANDARD
            .decode(manifest["key"].as_str().unwrap())
            .unwrap();
        let digest = sha2::Sha256::digest(key);
        let id: String = digest
            .iter()
            .take(16)
            .flat_map(|byte| [byte >> 4, byte & 15])
            .map(|nibble| char::from(b'a' + nibble))
            .collect();
        assert_eq!(id, EXTENSION_ID);
    }

    #[test]
    fn it_is_written_whole_and_pointed_at_the_port() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), 4321).unwrap();
        assert!(folder.path().join("manifest.json").is_file());
        assert_eq!(
            fs::read_to_string(folder.path().join(RELAY_FILE))
                .unwrap()
                .trim(),
            r#"{"port":4321}"#
        );
        write(folder.path(), 19222).unwrap();
    }

    #[test]
    fn a_folder_with_other_files_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("thesis.txt"), "x").unwrap();
        assert!(write(folder.path(), 1).is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
