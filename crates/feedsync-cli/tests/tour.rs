//! The tour of the README, as a stranger would paste it.

#![cfg(unix)]

mod support;

use std::path::Path;
use std::process::Command;

use support::{Place, has};

#[test]
fn the_tour_of_the_readme_ends_with_both_endpoints_the_same() {
    if !has("bash") || !has("curl") {
        return;
    }
    let place = Place::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let output = Command::new(root.join("scripts/tour"))
        .env("FEEDSYNC_BIN", env!("CARGO_BIN_EXE_feedsync"))
        .env("FEEDSYNC_TOUR", place.path("tour"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}{said}", String::from_utf8_lossy(&output.stdout));

    let run = std::fs::read_dir(place.path("tour/tmp")).unwrap().next().unwrap().unwrap().path();
    let state = |name: &str| {
        let data = run.join(name);
        let data = data.to_str().unwrap();
        let listed = place.run(&["--data", data, "--json", "ls", "notes", "--all"]);
        let items: serde_json::Value = serde_json::from_str(&listed.out).unwrap();
        let item = |item: &serde_json::Value| {
            ["id", "title", "content", "updates", "conflicts", "by"]
                .map(|name| item[name].to_string())
        };
        let mut items: Vec<_> = items.as_array().unwrap().iter().map(item).collect();
        items.sort();
        items
    };
    let laptop = state("laptop");
    assert_eq!(laptop, state("phone"));
    assert_eq!(laptop.len(), 2);
    let milk = laptop.iter().find(|item| item[1] == "\"Oat milk\"").unwrap();
    assert_eq!((&*milk[2], &*milk[3], &*milk[4]), ("\"three litres\"", "3", "0"));
}
