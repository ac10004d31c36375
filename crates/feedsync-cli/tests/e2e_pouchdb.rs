//! Unmodified PouchDB against a hub, in the scenarios of `pouchdb/`.
//!
//! The scenarios start, kill and restart their hub themselves, and print the Test Anything Protocol.

#[path = "support/pouchdb.rs"]
mod pouchdb;

use std::process::Command;

use pouchdb::{modules, scenarios};

/// Minimum number of scenarios.
const SCENARIOS: usize = 264;

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
