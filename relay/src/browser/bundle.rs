//! The extension inside this binary, and writing it to a folder that a browser can load.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use include_dir::{Dir, include_dir};
use tabwire_home::{Home, PairingId, Secret, now};

use super::worker_script;
use crate::error::Error;

static EXTENSION: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../extension");

/// Determined by the `key` in the extension's manifest, wherever it is loaded from.
pub const EXTENSION_ID: &str = "jdnijfjfenoiidgbdaeakppincocjdkn";

/// What the extension's manifest asks for. A policy that forbids one of them forbids the extension.
pub const PERMISSIONS: [&str; 9] = [
    "alarms",
    "contentSettings",
    "cookies",
    "debugger",
    "downloads",
    "storage",
    "tabGroups",
    "tabs",
    "webNavigation",
];

/// The one file that differs between copies. It contains the copy's secret.
const PAIRING_FILE: &str = "pairing.json";

/// The script of the extension's service worker.
const WORKER: &str = "background.js";

/// What a copy of the extension is written for.
pub struct Copy<'a> {
    pub folder: &'a Path,
    /// The relay that the extension connects to.
    pub port: u16,
    pub secret: &'a Secret,
    /// Whether the extension opens its welcome page when it is installed.
    pub shows_welcome: bool,
    /// Whether the relay launches the browser that loads this copy. It then starts sooner, with a
    /// service worker in one file. A copy that the user loads has the files as they were written.
    pub is_launched: bool,
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
        // Whoever reads the secret can pose as this browser.
        fs::set_permissions(folder, fs::Permissions::from_mode(0o700))?;
        for file in EXTENSION.files() {
            let name = file.path();
            if name != Path::new(PAIRING_FILE) {
                replace(folder, name, 0o644, file.contents())?;
            }
        }
        if let Some(script) = self.is_launched.then(joined_worker).flatten() {
            replace(folder, Path::new(WORKER), 0o644, script.as_bytes())?;
        }
        let pairing = serde_json::json!({
            "port": self.port,
            "secret": self.secret.reveal(),
            "welcome": self.shows_welcome,
            "launched": self.is_launched,
        });
        replace(
            folder,
            Path::new(PAIRING_FILE),
            0o600,
            format!("{pairing}\n").as_bytes(),
        )
    }
}

/// The service worker in one file.
fn joined_worker() -> Option<String> {
    worker_script::join(WORKER, |name| EXTENSION.get_file(name)?.contents_utf8())
}

/// Replaces a file as a whole. Never writes through a link, or into another name of a file.
fn replace(folder: &Path, name: &Path, mode: u32, content: &[u8]) -> io::Result<()> {
    let mut file = tempfile::Builder::new()
        .permissions(fs::Permissions::from_mode(mode))
        .tempfile_in(folder)?;
    file.write_all(content)?;
    file.persist(folder.join(name))?;
    Ok(())
}

/// Creates the folder. The extension is never written into a folder of other files.
fn prepare_folder(folder: &Path) -> Result<(), Error> {
    let failed = |reason| Error::WriteExtension {
        folder: folder.to_owned(),
        reason,
    };
    fs::create_dir_all(folder).map_err(failed)?;
    let is_empty = fs::read_dir(folder).map_err(failed)?.next().is_none();
    if is_empty || has_extension(folder) {
        Ok(())
    } else {
        Err(Error::OtherFiles(folder.to_owned()))
    }
}

/// Whether the folder has a version of this extension.
fn has_extension(folder: &Path) -> bool {
    version_in(folder).is_some()
}

/// The version of this extension in a folder, if it is there. Its key is the same in all versions.
pub fn version_in(folder: &Path) -> Option<String> {
    let own = Manifest::parse(EXTENSION.get_file("manifest.json")?.contents())?;
    let present = Manifest::parse(&read_small(&folder.join("manifest.json"))?)?;
    (present.key == own.key).then_some(present.version)
}

#[derive(serde::Deserialize)]
struct Manifest {
    key: String,
    version: String,
}

impl Manifest {
    fn parse(text: &[u8]) -> Option<Self> {
        serde_json::from_slice(text).ok()
    }
}

/// Reads a small regular file, and never through a link.
fn read_small(path: &Path) -> Option<Vec<u8>> {
    const MAX_SIZE: u64 = 64 << 10;
    let meta = fs::symlink_metadata(path).ok()?;
    (meta.is_file() && meta.len() <= MAX_SIZE)
        .then(|| fs::read(path).ok())
        .flatten()
}

/// What a copy was written for.
pub struct PresentCopy {
    pub port: u16,
    pub secret: Secret,
    shows_welcome: bool,
}

/// The copy in this folder, if there is one with a secret.
pub fn present_copy(folder: &Path) -> Option<PresentCopy> {
    #[derive(serde::Deserialize)]
    struct Pairing {
        port: u16,
        secret: String,
        #[serde(default)]
        welcome: bool,
    }
    let text = read_small(&folder.join(PAIRING_FILE))?;
    let pairing: Pairing = serde_json::from_slice(&text).ok()?;
    Some(PresentCopy {
        port: pairing.port,
        secret: Secret::parse(&pairing.secret)?,
        shows_welcome: pairing.welcome,
    })
}

/// Writes the version of this binary over the copy in a folder, for the same relay and with the same
/// secret.
pub fn rewrite(folder: &Path, present: &PresentCopy) -> Result<(), Error> {
    prepare_folder(folder)?;
    let copy = Copy {
        folder,
        port: present.port,
        secret: &present.secret,
        shows_welcome: present.shows_welcome,
        is_launched: false,
    };
    copy.write()
}

/// Pairs a folder with this home's relay. A secret that the folder already has stays valid.
pub fn pair(home: &Home, folder: &Path, name: Option<&str>) -> Result<(PairingId, Secret), Error> {
    prepare_folder(folder)?;
    // The same folder may be written in several ways.
    let folder = &fs::canonicalize(folder)?;
    let present = present_copy(folder).map(|copy| copy.secret);
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
        assert_eq!(manifest["permissions"], serde_json::json!(PERMISSIONS));
    }

    fn write(folder: &Path, port: u16, secret: &Secret) {
        let copy = Copy {
            folder,
            port,
            secret,
            shows_welcome: false,
            is_launched: false,
        };
        copy.write().unwrap();
    }

    #[test]
    fn copy_has_all_files_and_its_own_secret() {
        let folder = tempfile::tempdir().unwrap();
        let secret = Secret::random();
        write(folder.path(), 4321, &secret);
        assert!(folder.path().join("manifest.json").is_file());
        assert!(present_copy(folder.path()).unwrap().secret == secret);
        let text = fs::read_to_string(folder.path().join(PAIRING_FILE)).unwrap();
        let pairing: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(
            (&pairing["port"], &pairing["welcome"]),
            (&4321.into(), &false.into())
        );
        write(folder.path(), 19222, &Secret::random());
    }

    #[test]
    fn launched_browsers_get_their_worker_in_one_file() {
        let folder = tempfile::tempdir().unwrap();
        let secret = Secret::random();
        let copy = Copy {
            folder: folder.path(),
            port: 1,
            secret: &secret,
            shows_welcome: false,
            is_launched: true,
        };
        copy.write().unwrap();
        let worker = fs::read_to_string(folder.path().join(WORKER)).unwrap();
        assert!(worker.contains("class RelaySession"));
        assert!(!worker.lines().any(|line| line.starts_with("import ")));
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
        fs::write(folder.path().join("manifest.json"), r#"{"name":"My app"}"#).unwrap();
        assert!(prepare_folder(folder.path()).is_err());
    }

    #[test]
    fn never_writes_through_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let precious = folder.path().join("precious.txt");
        fs::write(&precious, "years").unwrap();
        let copy = folder.path().join("copy");
        fs::create_dir(&copy).unwrap();
        write(&copy, 1, &Secret::random());
        fs::remove_file(copy.join("popup.js")).unwrap();
        fs::hard_link(&precious, copy.join("popup.js")).unwrap();
        fs::remove_file(copy.join("popup.css")).unwrap();
        std::os::unix::fs::symlink(&precious, copy.join("popup.css")).unwrap();
        prepare_folder(&copy).unwrap();
        write(&copy, 1, &Secret::random());
        assert_eq!(fs::read_to_string(&precious).unwrap(), "years");
    }
}
