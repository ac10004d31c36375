//! Unmodified PouchDB, and the scenarios for it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

pub(crate) fn scenarios() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pouchdb")
}

/// Directory with PouchDB in the version that `package.json` names.
pub(crate) fn modules() -> &'static Path {
    static MODULES: OnceLock<PathBuf> = OnceLock::new();
    MODULES.get_or_init(installed)
}

fn installed() -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("pouchdb");
    std::fs::create_dir_all(&directory).unwrap();
    let wanted = std::fs::read(scenarios().join("package.json")).unwrap();
    let installed = directory.join("installed.json");
    if std::fs::read(&installed).ok().as_ref() == Some(&wanted) {
        return directory;
    }
    std::fs::write(directory.join("package.json"), &wanted).unwrap();
    // The packages contain compiled code, so none of their scripts has to run.
    let npm = Command::new("npm")
        .args(["install", "--ignore-scripts", "--no-audit", "--no-fund", "--no-package-lock"])
        .current_dir(&directory)
        .output()
        .expect("npm is installed");
    assert!(npm.status.success(), "{}", String::from_utf8_lossy(&npm.stderr));
    std::fs::write(installed, wanted).unwrap();
    directory
}
