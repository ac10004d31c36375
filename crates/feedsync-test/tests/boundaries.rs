//! Boundaries between crates that types alone do not draw: which source may call which function.

use std::fs;
use std::path::{Path, PathBuf};

use feedsync_test::conformance::rust_files;

/// A source file: its path below `crates`, and its text without line comments and white space.
struct Source {
    path: String,
    text: String,
}

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Reads the source files of a folder below `crates`.
fn sources(folder: &str) -> Vec<Source> {
    let files = rust_files(&crates().join(folder)).unwrap();
    assert!(!files.is_empty(), "{folder} has no source");
    let source = |file: PathBuf| Source {
        path: file.strip_prefix(crates()).unwrap().to_string_lossy().into_owned(),
        text: code(&fs::read_to_string(&file).unwrap()),
    };
    files.into_iter().map(source).collect()
}

/// The text without line comments and white space.
fn code(text: &str) -> String {
    // An address in a text is no comment.
    let code_end = |line: &str| {
        let mut slashes = line.match_indices("//").map(|(at, _)| at);
        slashes.find(|at| !line[..*at].ends_with(':')).unwrap_or(line.len())
    };
    let lines = text.lines().map(|line| &line[..code_end(line)]);
    lines.flat_map(str::chars).filter(|each| !each.is_whitespace()).collect()
}

/// Handlers use the operations of the endpoint, which check and record. Only the composition of a hub wraps
/// the store, to measure it.
#[test]
fn handlers_of_the_server_do_not_use_the_store() {
    let holds_store = |source: &Source| {
        source.text.contains(".store()") || source.text.contains("Endpoint::store")
    };
    let found: Vec<_> = sources("feedsync-server/src").into_iter().filter(holds_store).collect();
    let paths: Vec<_> = found.iter().map(|source| &*source.path).collect();
    assert_eq!(paths, ["feedsync-server/src/hub.rs"]);
}

#[test]
fn clients_aggregator_and_library_use_the_endpoint_and_not_its_store() {
    for folder in ["feedsync-client/src", "feedsync-aggregator/src", "feedsync/src"] {
        for Source { path, text } in sources(folder) {
            let has_store =
                text.contains("endpoint.store()") || text.contains("endpoint().store()");
            assert!(!has_store, "{path}");
        }
    }
}

/// Documents are written by `feedsync_endpoint::documents` alone, which checks rights and asks functions that validate them.
#[test]
fn documents_are_written_in_one_place() {
    let owners = [
        "feedsync-store/",
        "feedsync-endpoint/src/documents",
        "feedsync-server/src/http/counters/",
    ];
    let mut found = 0;
    for Source { path, text } in sources("") {
        let is_test = path.split(['/', '.']).any(|part| part == "tests");
        let writes = text.contains("decide_documents(") || text.contains("update_documents(");
        let is_owner = owners.iter().any(|owner| path.starts_with(owner));
        assert!(is_test || !writes || is_owner, "{path}");
        found += usize::from(writes && !is_test);
    }
    assert!(found > 3, "{found} files write documents");
}

/// Content of items is parsed before it can be published: only parsers, and stores whose rows hold what was parsed,
/// make a payload of a bare text. Everything else calls `feedsync_formats::read_payload`.
#[test]
fn only_formats_and_stores_make_payloads_of_bare_text() {
    let owners = ["feedsync-core/", "feedsync-formats/", "feedsync-store/"];
    let makers = ["from_parsed", "with_parsed_text", "with_sync_foreign("];
    let mut found = 0;
    for Source { path, text } in sources("") {
        // Tests make samples; the last module of a file holds its tests.
        let is_test = path.split(['/', '.']).any(|part| part == "tests")
            || path.starts_with("feedsync-test/");
        let text = text.split("#[cfg(test)]modtests{").next().unwrap_or_default();
        let makes_any = !is_test && makers.iter().any(|maker| text.contains(maker));
        found += usize::from(makes_any);
        assert!(!makes_any || owners.iter().any(|owner| path.starts_with(owner)), "{path}");
    }
    assert!(found > 10, "{found} files make payloads");
}

#[test]
fn comments_and_line_breaks_do_not_hide_code() {
    assert_eq!(
        code("let a = endpoint\n    .store() // of .x()\n    .b();"),
        "leta=endpoint.store().b();"
    );
    assert_eq!(code("f(\"http://a\", x.store()); // b"), "f(\"http://a\",x.store());");
}
