//! The log file. When it is full, it becomes the newest of a few old ones. Errors are reported once
//! and never end the relay.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::ops::ControlFlow;
use std::os::unix::fs::MetadataExt as _;
use std::time::SystemTime;

use tabwire_home::{Home, open_to_append};

use super::line;
use super::queue::Sink;

const MAX_SIZE: u64 = 4 << 20;
/// How many old files are kept.
pub const OLD_FILES: usize = 3;

pub struct LogFile {
    home: Home,
    file: File,
    /// Whether the last write failed, perhaps in the middle of a line.
    is_cut: bool,
    has_warned: bool,
}

impl LogFile {
    pub fn open(home: &Home) -> io::Result<Self> {
        Ok(Self {
            file: open_to_append(&home.relay_log_file())?,
            home: home.clone(),
            is_cut: false,
            has_warned: false,
        })
    }

    fn append(&mut self, text: &str) -> io::Result<()> {
        self.reopen_if_moved()?;
        let size = self.file.metadata()?.len();
        if size > 0 && size.saturating_add(text.len() as u64) > MAX_SIZE {
            self.rotate()?;
        }
        if self.is_cut {
            self.file.write_all(b"\n")?;
        }
        self.file.write_all(text.as_bytes())
    }

    /// Somebody may have removed the file, or renamed it.
    fn reopen_if_moved(&mut self) -> io::Result<()> {
        let path = self.home.relay_log_file();
        let own = self.file.metadata()?;
        let is_own = |meta: fs::Metadata| (meta.dev(), meta.ino()) == (own.dev(), own.ino());
        if !fs::symlink_metadata(&path).is_ok_and(is_own) {
            self.file = open_to_append(&path)?;
        }
        Ok(())
    }

    fn rotate(&mut self) -> io::Result<()> {
        for number in (1..OLD_FILES).rev() {
            let older = self.home.old_relay_log_file(number + 1);
            match fs::rename(self.home.old_relay_log_file(number), older) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        let path = self.home.relay_log_file();
        fs::rename(&path, self.home.old_relay_log_file(1))?;
        self.file = open_to_append(&path)?;
        Ok(())
    }
}

impl Sink for LogFile {
    /// What cannot be written is dropped. The next text may be luckier.
    fn write(&mut self, text: &str, lost: u64) -> ControlFlow<()> {
        let mut written = self.append(text);
        if lost > 0 {
            let mut missing = String::new();
            line::put_lost(&mut missing, SystemTime::now(), lost);
            written = written.and_then(|()| self.append(&missing));
        }
        self.is_cut = written.is_err();
        if let Err(error) = written
            && !std::mem::replace(&mut self.has_warned, true)
        {
            warn(&self.home, &error);
        }
        ControlFlow::Continue(())
    }
}

/// Not with `tracing`, whose events go into this file and, in the background, nowhere else.
pub fn warn(home: &Home, error: &io::Error) {
    let path = home.relay_log_file();
    let path = path.display();
    let _ = writeln!(
        io::stderr(),
        "tabwire: Cannot write to {path}: {error}. The relay works, but its log is incomplete."
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log() -> (tempfile::TempDir, Home, LogFile) {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open_at(folder.path().join("home")).unwrap();
        let log = LogFile::open(&home).unwrap();
        (folder, home, log)
    }

    fn content(home: &Home) -> String {
        fs::read_to_string(home.relay_log_file()).unwrap()
    }

    #[test]
    fn full_file_becomes_the_newest_old_one() {
        let (_folder, home, mut log) = log();
        let large = "x".repeat(3 << 20);
        for number in 0..6 {
            let _ = log.write(&format!("{number} {large}\n"), 0);
        }
        assert!(content(&home).starts_with("5 "));
        for (number, first) in [(1, "4 "), (2, "3 "), (3, "2 ")] {
            let old = fs::read_to_string(home.old_relay_log_file(number)).unwrap();
            assert!(old.starts_with(first), "{number}");
        }
        assert!(!home.old_relay_log_file(4).exists());
        assert_eq!(
            fs::metadata(home.relay_log_file()).unwrap().mode() & 0o777,
            0o600
        );
    }

    #[test]
    fn removed_file_is_created_again() {
        let (_folder, home, mut log) = log();
        let _ = log.write("one\n", 0);
        fs::remove_file(home.relay_log_file()).unwrap();
        let _ = log.write("two\n", 7);
        let content = content(&home);
        assert!(content.starts_with("two\n"), "{content}");
        assert!(content.contains("WARN 7 lines are missing"), "{content}");
    }

    #[test]
    fn link_in_its_place_is_not_followed_and_ends_nothing() {
        let (folder, home, mut log) = log();
        let victim = folder.path().join("victim");
        fs::write(&victim, "mine").unwrap();
        fs::remove_file(home.relay_log_file()).unwrap();
        std::os::unix::fs::symlink(&victim, home.relay_log_file()).unwrap();
        assert_eq!(log.write("one\n", 0), ControlFlow::Continue(()));
        assert_eq!(fs::read_to_string(&victim).unwrap(), "mine");
        fs::remove_file(home.relay_log_file()).unwrap();
        let _ = log.write("two\n", 0);
        assert_eq!(content(&home), "\ntwo\n");
    }
}
