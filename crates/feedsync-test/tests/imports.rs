//! The import graph of each crate: no large cycles, and folders of servers that stay apart.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use feedsync_test::imports::Imports;

/// Maximum number of files that may import each other.
const MAX_CYCLE: usize = 6;

fn crates() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let folders = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    folders.filter(|folder| folder.join("src").is_dir()).collect()
}

fn imports_of(name: &str) -> Imports {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name);
    Imports::of(&folder.join("src")).unwrap()
}

#[test]
fn no_crate_has_a_large_import_cycle() {
    let crates = crates();
    assert!(crates.len() > 10, "{crates:?}");
    let mut faults = Vec::new();
    for folder in crates {
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        for cycle in Imports::of(&folder.join("src")).unwrap().cycles() {
            if cycle.len() > MAX_CYCLE {
                faults.push(format!("{name}: {} files: {}", cycle.len(), cycle.join(" ")));
            }
        }
    }
    assert!(faults.is_empty(), "files that import each other:\n{}", faults.join("\n"));
}

/// Folders of the server that each serve one kind of resource import none of their sisters. What they share is
/// in `http` (mechanics), `access` (rights and admitted requests) and `reading` (the state of a reader).
#[test]
fn resource_folders_of_the_server_do_not_import_each_other() {
    let resources = ["collections", "couch", "logs", "operations", "pages", "readers"];
    let shared = ["access", "http", "reading"];
    let mut faults = BTreeSet::new();
    for ((from, to), example) in imports_of("feedsync-server").arrows() {
        let is_resource = |name: &str| resources.contains(&name);
        let is_sister = is_resource(&from) && is_resource(&to);
        let is_upward = shared.contains(&&*from) && (is_resource(&to) || to == "routes");
        if is_sister || is_upward || from == "http" && to == "reading" {
            faults.insert(example);
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn imports_are_followed_through_re_exports_and_cycles_are_found() {
    let folder = std::env::temp_dir().join(format!("feedsync-imports-{}", std::process::id()));
    let source = folder.join("src");
    fs::create_dir_all(source.join("pages")).unwrap();
    let file = |name: &str, text: &str| fs::write(source.join(name), text).unwrap();
    file("lib.rs", "mod a; mod b; mod c; mod pages; pub use c::C;");
    file("a.rs", "use crate::b::B; pub struct A; #[cfg(test)] mod tests { use crate::c::C; }");
    file("b.rs", "use super::{a, pages::*}; pub fn b(_: a::A, _: Page) -> crate::C { loop {} }");
    file("c.rs", "pub struct C;");
    file("pages/mod.rs", "mod page; pub use page::Page;");
    file("pages/page.rs", "pub struct Page(crate::a::A);");
    let imports = Imports::of(&source).unwrap();
    fs::remove_dir_all(&folder).unwrap();
    assert_eq!(imports.cycles(), [["a", "b"]]);
    let arrows: Vec<_> = imports.arrows().into_keys().collect();
    let expected = [("a", "b"), ("b", "a"), ("b", "c"), ("b", "pages"), ("pages", "a")];
    assert_eq!(arrows, expected.map(|(from, to)| (from.to_owned(), to.to_owned())));
}
