//! What is measured against comes from npm, in the versions that `couch/` names, and is kept beside what is built.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::answers::program;

/// The place in the repository where something is described that comes from npm.
pub(super) fn described(part: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("couch").join(part)
}

/// A directory with what it names, if there are node and npm, and npm finds it.
pub(super) fn installed(part: &str) -> Option<PathBuf> {
    program("node")?;
    let npm = program("npm")?;
    let us = std::env::current_exe().expect("our own path");
    let built = us.parent().and_then(Path::parent).expect("a directory of what is built");
    let directory = built.join("tmp").join("couch-benchmark").join(part);
    fs::create_dir_all(&directory).expect("a directory");
    let wanted = fs::read(described(part).join("package.json")).expect("a description");
    let done = directory.join("installed.json");
    if fs::read(&done).ok().as_ref() == Some(&wanted) {
        return Some(directory);
    }
    fs::write(directory.join("package.json"), &wanted).expect("a file");
    // What is compiled is not needed, so that nothing of theirs has to be run.
    let install = Command::new(npm)
        .args(["install", "--ignore-scripts", "--no-audit", "--no-fund", "--no-package-lock"])
        .current_dir(&directory)
        .stdin(Stdio::null())
        .output()
        .expect("npm");
    if !install.status.success() {
        eprintln!("{}", String::from_utf8_lossy(&install.stderr));
        return None;
    }
    fs::write(done, wanted).expect("a file");
    Some(directory)
}
