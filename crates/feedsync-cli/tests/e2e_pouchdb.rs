//! PouchDB, unmodified, against a hub: what the scenarios in `pouchdb/` say.
//!
//! They start their hub themselves, kill it and start it again, and print the Test Anything Protocol.

use std::path::{Path, PathBuf};
use std::process::Command;

/// So many scenarios there are at least.
const SCENARIOS: usize = 200;

fn scenarios() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pouchdb")
}

/// A directory with PouchDB in the version that `package.json` names.
fn modules() -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("pouchdb");
    std::fs::create_dir_all(&directory).unwrap();
    let wanted = std::fs::read(scenarios().join("package.json")).unwrap();
    let installed = directory.join("installed.json");
    if std::fs::read(&installed).ok().as_ref() == Some(&wanted) {
        return directory;
    }
    std::fs::write(directory.join("package.json"), &wanted).unwrap();
    // What is compiled comes with the packages, so that nothing of theirs has to be run.
    let npm = Command::new("npm")
        .args(["install", "--ignore-scripts", "--no-audit", "--no-fund", "--no-package-lock"])
        .current_dir(&directory)
        .output()
        .expect("npm is installed");
    assert!(npm.status.success(), "{}", String::from_utf8_lossy(&npm.stderr));
    std::fs::write(installed, wanted).unwrap();
    directory
}

#[test]
fn pouchdb_replicates_with_a_hub_as_with_couchdb() {
    let run = Command::new("node")
        .arg(scenarios().join("scenarios.mjs"))
        .env("FEEDSYNC", env!("CARGO_BIN_EXE_feedsync"))
        .env("POUCHDB_MODULES", modules())
        .output()
        .expect("node is installed");
    let told = String::from_utf8_lossy(&run.stdout);
    println!("{told}{}", String::from_utf8_lossy(&run.stderr));
    assert!(run.status.success(), "not all scenarios hold");
    let held = told.lines().filter(|line| line.starts_with("ok ")).count();
    assert!(held >= SCENARIOS, "{held} scenarios hold, and there were more");
}
