//! The extension inside this binary, and writing it to a folder that a browser can load.

use std::fs;
use std::io;
use std::path::Path;

use include_dir::{Dir, include_dir};

use crate::error::Error;

static EXTENSION: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../extension");

/// Determined by the `key` in the extension's manifest, wherever it is loaded from.
pub const EXTENSION_ID: &str = "jdnijfjfenoiidgbdaeakppincocjdkn";

/// The one file that differs between copies: which relay the extension connects to.
const RELAY_FILE: &str = "relay.json";

/// Writes the extension, over an older one if there is one. Never writes into a folder of other
/// files.
pub fn write(folder: &Path, port: u16) -> Result<(), Error> {
    let failed = |reason| Error::WriteExtension {
        folder: folder.to_owned(),
        reason,
    };
    if has_other_files(folder).map_err(failed)? {
        return Err(Error::OtherFiles(folder.to_owned()));
    }
    extract(folder, port).map_err(failed)
}

fn has_other_files(folder: &Path) -> io::Result<bool> {
    Ok(folder.is_dir()
        && fs::read_dir(folder)?.next().is_some()
        && !folder.join("manifest.json").is_file())
}

fn extract(folder: &Path, port: u16) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    EXTENSION.extract(folder)?;
    let relay = serde_json::json!({ "port": port });
    fs::write(folder.join(RELAY_FILE), format!("{relay}\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine as _;
    use sha2::Digest as _;

    #[test]
    fn id_is_derived_from_the_manifests_key() {
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
    fn writes_all_files_and_the_port() {
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
    fn refuses_a_folder_with_other_files() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("thesis.txt"), "x").unwrap();
        assert!(write(folder.path(), 1).is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
