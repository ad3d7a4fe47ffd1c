//! The extension inside this binary, and writing it to a folder that a browser can load.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use include_dir::{Dir, include_dir};
use tabwire_home::{Home, PairingId, Secret, now};

use crate::error::Error;

static EXTENSION: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../extension");

/// Determined by the `key` in the extension's manifest, wherever it is loaded from.
pub const EXTENSION_ID: &str = "jdnijfjfenoiidgbdaeakppincocjdkn";

/// The one file that differs between copies. It contains the copy's secret.
const PAIRING_FILE: &str = "pairing.json";

/// What a copy of the extension is written for.
pub struct Copy<'a> {
    pub folder: &'a Path,
    /// The relay that the extension connects to.
    pub port: u16,
    pub secret: &'a Secret,
    /// Whether the extension opens its welcome page when it is installed.
    pub shows_welcome: bool,
}

impl Copy<'_> {
    /// Writes the extension, over an older one if there is one.
    pub fn write(&self) -> Result<(), Error> {
        let failed = |reason| Error::WriteExtension {
            folder: self.folder.to_owned(),
            reason,
        };
        self.extract().map_err(failed)
    }

    fn extract(&self) -> io::Result<()> {
        let folder = self.folder;
        fs::create_dir_all(folder)?;
        // Whoever reads the secret can pose as this browser.
        fs::set_permissions(folder, fs::Permissions::from_mode(0o700))?;
        EXTENSION.extract(folder)?;
        let pairing = serde_json::json!({
            "port": self.port,
            "secret": self.secret.reveal(),
            "welcome": self.shows_welcome,
        });
        let mut file = tempfile::Builder::new()
            .permissions(fs::Permissions::from_mode(0o600))
            .tempfile_in(folder)?;
        writeln!(file, "{pairing}")?;
        file.persist(folder.join(PAIRING_FILE))?;
        Ok(())
    }
}

/// The extension is never written into a folder that contains other files.
pub fn check_folder(folder: &Path) -> Result<(), Error> {
    let has_other_files = folder.is_dir()
        && fs::read_dir(folder).is_ok_and(|mut files| files.next().is_some())
        && !folder.join("manifest.json").is_file();
    if has_other_files {
        return Err(Error::OtherFiles(folder.to_owned()));
    }
    Ok(())
}

/// The secret of the copy in this folder, if there is one.
pub fn present_secret(folder: &Path) -> Option<Secret> {
    #[derive(serde::Deserialize)]
    struct Pairing {
        secret: String,
    }
    let text = fs::read(folder.join(PAIRING_FILE)).ok()?;
    let pairing: Pairing = serde_json::from_slice(&text).ok()?;
    Secret::parse(&pairing.secret)
}

/// Pairs a folder with this home's relay. A secret that the folder already has stays valid.
pub fn pair(home: &Home, folder: &Path, name: Option<&str>) -> Result<(PairingId, Secret), Error> {
    check_folder(folder)?;
    let present = present_secret(folder);
    let paired = home
        .update_pairings(|pairings| pairings.pair_folder(folder, present.as_ref(), name, now()))?;
    Ok(paired)
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

    fn write(folder: &Path, port: u16, secret: &Secret) {
        let copy = Copy {
            folder,
            port,
            secret,
            shows_welcome: false,
        };
        copy.write().unwrap();
    }

    #[test]
    fn copy_has_all_files_and_its_own_secret() {
        let folder = tempfile::tempdir().unwrap();
        let secret = Secret::random();
        write(folder.path(), 4321, &secret);
        assert!(folder.path().join("manifest.json").is_file());
        assert!(present_secret(folder.path()) == Some(secret));
        let text = fs::read_to_string(folder.path().join(PAIRING_FILE)).unwrap();
        let pairing: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(
            (&pairing["port"], &pairing["welcome"]),
            (&4321.into(), &false.into())
        );
        write(folder.path(), 19222, &Secret::random());
    }

    #[test]
    fn only_the_user_can_read_the_secret() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), 1, &Secret::random());
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(folder.path()), 0o700);
        assert_eq!(mode(&folder.path().join(PAIRING_FILE)), 0o600);
    }

    #[test]
    fn has_no_folders_that_could_be_loaded_by_mistake() {
        assert_eq!(EXTENSION.dirs().count(), 0);
    }

    #[test]
    fn refuses_a_folder_with_other_files() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("thesis.txt"), "x").unwrap();
        assert!(check_folder(folder.path()).is_err());
    }
}
