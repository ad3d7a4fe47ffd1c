//! Finds the process that has a socket open, in `/proc`. This reads the open files of every process
//! of a user and takes milliseconds, so it must run only for requests that have been admitted.

use std::fs;
use std::os::unix::fs::MetadataExt as _;

use super::Process;

/// The first process of this user that has the socket open.
pub fn process_of(uid: u32, inode: u32) -> Option<Process> {
    let socket = format!("socket:[{inode}]");
    let pid = fs::read_dir("/proc")
        .ok()?
        .flatten()
        .filter(|entry| entry.metadata().is_ok_and(|entry| entry.uid() == uid))
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .find(|pid| has_open(*pid, &socket))?;
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    Some(Process {
        pid,
        name: name.trim_end().to_owned(),
    })
}

fn has_open(pid: u32, link: &str) -> bool {
    fs::read_dir(format!("/proc/{pid}/fd")).is_ok_and(|files| {
        files
            .flatten()
            .filter_map(|file| fs::read_link(file.path()).ok())
            .any(|target| target.as_os_str() == link)
    })
}
