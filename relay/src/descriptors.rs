//! Descriptors that a process in the background inherits from whoever ran the command that started it: a
//! lock that would stay taken, or a pipe whose reader waits for its end.

use std::fs;
use std::os::fd::RawFd;

const STDERR: RawFd = 2;

/// Closes everything but stdin, stdout and stderr. Only at the very start of the program, before it has
/// opened anything itself.
pub fn close_inherited() {
    let Ok(entries) = fs::read_dir("/dev/fd") else {
        return;
    };
    let numbers = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let inherited: Vec<RawFd> = numbers.filter(|number| *number > STDERR).collect();
    for number in inherited {
        // That of the listing is closed by now.
        let _ = nix::unistd::close(number);
    }
}
