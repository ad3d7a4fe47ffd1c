//! The extension is built into the binary; a change of its files is a change of the binary.

fn main() {
    println!("cargo:rerun-if-changed=../extension");
}
