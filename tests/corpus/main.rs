//! Repeats the kept inputs of the fuzz targets, without cargo-fuzz. See `fuzz/README.md`.
#![allow(clippy::unwrap_used, clippy::panic)]

#[path = "../../fuzz/src/lib.rs"]
#[allow(
    clippy::all,
    clippy::pedantic,
    clippy::expect_used,
    clippy::indexing_slicing
)]
mod targets;

use std::fs;
use std::path::Path;

const SEEDS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../fuzz/seeds");

fn repeat(target: &str, run: fn(&[u8])) {
    let folder = Path::new(SEEDS).join(target);
    let mut count = 0;
    for entry in fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        println!("{}", path.display());
        run(&fs::read(&path).unwrap());
        count += 1;
    }
    assert!(count > 0, "{} is empty", folder.display());
}

#[test]
fn texts_of_clients() {
    repeat("core_client", targets::core_client::run);
}

#[test]
fn texts_of_the_extension() {
    repeat("core_extension", targets::core_extension::run);
}

#[test]
fn handshakes() {
    repeat("handshake", targets::handshake::run);
}

#[test]
fn requests_at_the_guard() {
    repeat("http_guard", targets::http_guard::run);
}

#[test]
fn frames_that_are_read() {
    repeat("websocket_read", targets::websocket_read::run);
}

#[test]
fn frames_that_are_written() {
    repeat("websocket_write", targets::websocket_write::run);
}
