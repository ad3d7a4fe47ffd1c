//! The output of a relay in the background, apart from its log.

use std::fs;
use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::fs::MetadataExt as _;

use tabwire_home::{Home, open_to_append};

/// Beyond this, what earlier runs printed is removed.
const MAX_SIZE: u64 = 64 << 10;

/// Keeps the file that stderr goes to from growing with each start. launchd only appends to it.
pub fn trim_output(home: &Home) -> io::Result<()> {
    let path = home.relay_output_file();
    let stderr = fs::File::from(io::stderr().as_fd().try_clone_to_owned()?).metadata()?;
    let is_stderr = |meta: &fs::Metadata| (meta.dev(), meta.ino()) == (stderr.dev(), stderr.ino());
    if stderr.len() > MAX_SIZE && fs::symlink_metadata(&path).is_ok_and(|meta| is_stderr(&meta)) {
        open_to_append(&path)?.set_len(0)?;
    }
    Ok(())
}
