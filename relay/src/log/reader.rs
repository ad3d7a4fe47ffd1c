//! Reads the log file of a home and its older parts, and follows it while it is rotated, removed or
//! written by the next relay.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::PathBuf;

use tabwire_home::{Home, is_unsafe, open_to_read};

use super::file::OLD_FILES;
use super::line::put_escaped;

const CHUNK_SIZE: usize = 64 << 10;
/// A line that is longer is divided.
const MAX_LINE: usize = 64 << 10;

pub struct LogReader {
    home: Home,
    /// The files that exist, the oldest first. They stay open: otherwise the next file could get the
    /// number of one that was removed, and pass for it.
    files: Vec<OpenFile>,
}

struct OpenFile {
    file: File,
    /// Device and inode.
    id: (u64, u64),
    position: u64,
    /// The start of a line whose end is not written yet.
    partial: Vec<u8>,
}

impl LogReader {
    pub fn new(home: Home) -> Self {
        Self {
            home,
            files: Vec::new(),
        }
    }

    /// Whether a log was found.
    pub fn has_log(&self) -> bool {
        !self.files.is_empty()
    }

    /// Passes on every line that is new since the last call, in a form that is safe to print.
    pub fn read_new(&mut self, each: &mut impl FnMut(String) -> io::Result<()>) -> io::Result<()> {
        let mut files = self.open_all()?;
        // What was removed is older than what is left.
        for mut removed in std::mem::take(&mut self.files) {
            removed.read_new(each)?;
        }
        for file in &mut files {
            file.read_new(each)?;
        }
        self.files = files;
        Ok(())
    }

    /// Opens the files from the newest to the oldest. One that is renamed meanwhile is found twice,
    /// and none is missed.
    fn open_all(&mut self) -> io::Result<Vec<OpenFile>> {
        let mut files: Vec<OpenFile> = Vec::new();
        for path in self.paths() {
            let file = match open_to_read(&path) {
                Err(fault) if fault.is_missing() => continue,
                file => file?,
            };
            let meta = file.metadata()?;
            let id = (meta.dev(), meta.ino());
            if files.iter().any(|known| known.id == id) {
                continue;
            }
            let known = self.files.iter().position(|known| known.id == id);
            files.push(match known {
                Some(at) => self.files.swap_remove(at),
                None => OpenFile {
                    file,
                    id,
                    position: 0,
                    partial: Vec::new(),
                },
            });
        }
        files.reverse();
        Ok(files)
    }

    fn paths(&self) -> Vec<PathBuf> {
        let old = (1..=OLD_FILES).map(|number| self.home.old_relay_log_file(number));
        std::iter::once(self.home.relay_log_file())
            .chain(old)
            .collect()
    }
}

impl OpenFile {
    fn read_new(&mut self, each: &mut impl FnMut(String) -> io::Result<()>) -> io::Result<()> {
        if self.file.metadata()?.len() < self.position {
            self.position = 0;
            self.partial.clear();
        }
        let mut chunk = vec![0; CHUNK_SIZE];
        loop {
            let length = self.file.read_at(&mut chunk, self.position)?;
            if length == 0 {
                return Ok(());
            }
            self.position += length as u64;
            let read = chunk.get(..length).unwrap_or_default();
            for piece in read.split_inclusive(|byte| *byte == b'\n') {
                self.partial.extend_from_slice(piece);
                if piece.ends_with(b"\n") || self.partial.len() >= MAX_LINE {
                    each(printable(&self.partial))?;
                    self.partial.clear();
                }
            }
        }
    }
}

fn printable(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line);
    let text = text.strip_suffix('\n').unwrap_or(&text);
    let mut printable = String::with_capacity(text.len());
    put_escaped(&mut printable, text, usize::MAX, is_unsafe);
    printable
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write as _;

    use super::*;

    fn reader() -> (tempfile::TempDir, Home, LogReader) {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open_at(folder.path().join("home")).unwrap();
        let reader = LogReader::new(home.clone());
        (folder, home, reader)
    }

    fn read(reader: &mut LogReader) -> Vec<String> {
        let mut lines = Vec::new();
        reader
            .read_new(&mut |line| {
                lines.push(line);
                Ok(())
            })
            .unwrap();
        lines
    }

    fn append(home: &Home, text: &str) {
        let mut options = fs::OpenOptions::new();
        let file = options.create(true).append(true);
        let mut file = file.open(home.relay_log_file()).unwrap();
        file.write_all(text.as_bytes()).unwrap();
    }

    fn rotate(home: &Home) {
        for number in (1..OLD_FILES).rev() {
            let older = home.old_relay_log_file(number + 1);
            let _ = fs::rename(home.old_relay_log_file(number), older);
        }
        fs::rename(home.relay_log_file(), home.old_relay_log_file(1)).unwrap();
    }

    #[test]
    fn reads_old_files_first_and_each_line_once() {
        let (_folder, home, mut reader) = reader();
        assert!(read(&mut reader).is_empty());
        assert!(!reader.has_log());
        append(&home, "one\n");
        rotate(&home);
        append(&home, "two\nthr");
        assert_eq!(read(&mut reader), ["one", "two"]);
        append(&home, "ee\n");
        assert_eq!(read(&mut reader), ["three"]);
        assert!(read(&mut reader).is_empty());
    }

    #[test]
    fn follows_through_any_number_of_rotations() {
        let (_folder, home, mut reader) = reader();
        append(&home, "0\n");
        read(&mut reader);
        let mut number = 0;
        for rotations in [1, 2, 3, 1, 1, 1, 1] {
            let mut expected = Vec::new();
            for _ in 0..rotations {
                number += 1;
                append(&home, &format!("end of {number}\n"));
                rotate(&home);
                append(&home, &format!("start of {number}\n"));
                expected.push(format!("end of {number}"));
                expected.push(format!("start of {number}"));
            }
            assert_eq!(read(&mut reader), expected, "{rotations}");
        }
    }

    #[test]
    fn follows_a_file_that_was_removed_or_emptied() {
        let (_folder, home, mut reader) = reader();
        append(&home, "one\n");
        rotate(&home);
        append(&home, "two\n");
        assert_eq!(read(&mut reader).len(), 2);
        fs::remove_file(home.relay_log_file()).unwrap();
        append(&home, "three\n");
        assert_eq!(read(&mut reader), ["three"]);
        fs::write(home.relay_log_file(), "4\n").unwrap();
        assert_eq!(read(&mut reader), ["4"]);
    }

    #[test]
    fn lines_are_safe_to_print() {
        let (_folder, home, mut reader) = reader();
        append(&home, "a\u{1b}[2J\u{202e}\r\n");
        assert_eq!(read(&mut reader), ["a\\u{1b}[2J\\u{202e}\\u{d}"]);
        append(&home, &"x".repeat(MAX_LINE * 3));
        assert!(read(&mut reader).len() > 1);
    }
}
