//! Installs the compared programs from npm, in the versions that `couch/` specifies, beside the build output.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::answers::program;

/// Path of a package description in the repository.
pub(super) fn described(part: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("couch").join(part)
}

/// Directory with the installed package; `None` without node or npm, or if the installation fails.
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
    // No compiled parts are needed, so the scripts of the packages are not run.
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
