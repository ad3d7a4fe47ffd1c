//! Tabwire's home folder: private to its owner, and the only place that files are written to. One relay at a time has its
//! `state.json` and `cdp-url`.

use std::fs::{self, File, TryLockError};
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use tabwire_mcp::state::State;
use tempfile::NamedTempFile;

/// How long a look at the home's lock may take.
const LOOKED_AT_WITHIN: Duration = Duration::from_millis(100);

#[derive(Clone)]
pub struct Home {
    path: PathBuf,
}

/// The right to the files that say where the home's relay is. The lock goes with the process, however that ends.
pub struct Claim {
    home: Home,
    _lock: File,
}

impl Home {
    /// Finds the home, makes it where it is missing, and makes sure that nobody else can look in.
    pub fn open() -> anyhow::Result<Self> {
        let path = Self::locate()?;
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&path)
            .with_context(|| format!("cannot create {}", path.display()))?;
        let meta = fs::symlink_metadata(&path)
            .with_context(|| format!("cannot look at {}", path.display()))?;
        if !meta.is_dir() {
            bail!(
                "{} is not a folder; Tabwire keeps its secret there and follows no link",
                path.display()
            );
        }
        if meta.uid() != rustix::process::geteuid().as_raw() {
            bail!(
                "{} belongs to another user; set TABWIRE_HOME to a folder of your own",
                path.display()
            );
        }
        if meta.permissions().mode() & 0o022 != 0 {
            bail!(
                "others can write to {}; set TABWIRE_HOME to a folder of your own",
                path.display()
            );
        }
        // A umask may have taken rights from its owner too.
        if meta.permissions().mode() & 0o777 != 0o700 {
            fs::set_permissions(&path, fs::Permissions::from_mode(0o700))
                .with_context(|| format!("cannot close {}", path.display()))?;
        }
        if meta.permissions().mode() & 0o077 != 0 {
            tracing::warn!(
                "{} could be entered by others; it is closed now",
                path.display()
            );
        }
        Ok(Self { path })
    }

    fn locate() -> anyhow::Result<PathBuf> {
        if let Some(path) = std::env::var_os("TABWIRE_HOME").filter(|path| !path.is_empty()) {
            let path = std::path::absolute(path).context("TABWIRE_HOME is not a path")?;
            // A slash at the end would follow a link.
            return Ok(path.components().collect());
        }
        let home = std::env::home_dir().filter(|home| !home.as_os_str().is_empty());
        Ok(home
            .context("no home folder is known; set TABWIRE_HOME")?
            .join(".tabwire"))
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    pub fn cdp_url_file(&self) -> PathBuf {
        self.file("cdp-url")
    }

    /// The relay that runs here.
    pub fn running(&self) -> Option<State> {
        State::of_running(&self.path)
    }

    /// The relay that wrote last where it is, and may have been killed.
    pub fn last(&self) -> Option<State> {
        State::read(&self.path)
    }

    /// The right to say where the home's relay is, unless a relay that lives has it.
    pub fn claim(&self) -> anyhow::Result<Option<Claim>> {
        let folder = File::open(&self.path)
            .with_context(|| format!("cannot open {}", self.path.display()))?;
        let until = Instant::now() + LOOKED_AT_WITHIN;
        loop {
            match folder.try_lock() {
                // Whoever looks whether a relay runs has a lock too, for a moment.
                Err(TryLockError::WouldBlock) if Instant::now() < until => {
                    std::thread::sleep(Duration::from_millis(5))
                }
                Err(TryLockError::WouldBlock) => return Ok(None),
                Ok(()) => {
                    // That of a relay which was killed must not pass for this one's.
                    let _ = fs::remove_file(State::file(&self.path));
                    return Ok(Some(Claim {
                        home: self.clone(),
                        _lock: folder,
                    }));
                }
                // Where the file system has no locks, the relay that was started last has the files.
                Err(TryLockError::Error(_)) => {
                    return Ok(Some(Claim {
                        home: self.clone(),
                        _lock: folder,
                    }));
                }
            }
        }
    }

    /// Who has the claim, in words.
    pub fn holder(&self) -> String {
        self.last().map_or_else(
            || "another relay".to_owned(),
            |State { port, pid }| format!("the relay on port {port} (process {pid})"),
        )
    }

    /// Readers see the old file or the new one, never half of it, and nobody else sees either.
    fn write_private(&self, name: &str, text: &str) -> anyhow::Result<()> {
        let target = self.file(name);
        let write = || -> anyhow::Result<()> {
            let mut file = self.new_file()?;
            file.write_all(text.as_bytes())?;
            file.persist(&target)?;
            Ok(())
        };
        write().with_context(|| format!("cannot write {}", target.display()))
    }

    /// One that takes its name when it is written. It is created with O_EXCL, and has mode 0600 whatever the umask.
    pub fn new_file(&self) -> std::io::Result<NamedTempFile> {
        let file = tempfile::Builder::new()
            .prefix(".new-")
            .tempfile_in(&self.path)?;
        file.as_file()
            .set_permissions(fs::Permissions::from_mode(0o600))?;
        Ok(file)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Claim {
    pub fn write(&self, state: State, cdp_url: Option<&str>) -> anyhow::Result<()> {
        match cdp_url {
            Some(url) => self.home.write_private("cdp-url", url)?,
            // One that a relay left which was killed.
            None => drop(fs::remove_file(self.home.cdp_url_file())),
        }
        // The last: who finds it may look at the other.
        self.home
            .write_private("state.json", &serde_json::to_string(&state)?)
    }

    /// Takes the files away, and lets another relay write its own.
    pub fn give_up(self) {
        // Without locks they may be another's by now.
        if self
            .home
            .last()
            .is_some_and(|state| state.pid != std::process::id())
        {
            return;
        }
        for name in ["cdp-url", "state.json"] {
            if let Err(error) = fs::remove_file(self.home.file(name))
                && error.kind() != std::io::ErrorKind::NotFound
            {
                tracing::warn!(%error, name, "could not be removed");
            }
        }
    }
}
