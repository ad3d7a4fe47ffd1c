//! The extension is built into the binary, so the binary must be rebuilt when the extension's files change.

fn main() {
    println!("cargo:rerun-if-changed=../extension");
}
