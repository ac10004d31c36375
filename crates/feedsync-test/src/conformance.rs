//! Checks of `docs/conformance.md`: every clause has one row, and every test that a row names exists in the
//! workspace and is run.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Proof of a clause, as its row states it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Proof {
    /// Paths of the tests that prove the clause.
    Tests(Vec<String>),
    /// The clause only defines a word or a location in the text, so there is nothing to prove.
    Definition,
    /// The test has not been written.
    Missing,
}

/// One clause of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Line in the file, from 1.
    pub line: usize,
    /// Number of the clause, such as `F46`.
    pub clause: String,
    /// Proof of the clause.
    pub proof: Proof,
}

/// A row of a table that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct RowError {
    /// Line in the file, from 1.
    pub line: usize,
    /// Description of the fault.
    pub message: &'static str,
}

/// Parses the rows of all tables of the document.
pub fn rows(document: &str) -> Result<Vec<Row>, RowError> {
    let mut rows = Vec::new();
    for (line, text) in (1..).zip(document.lines()) {
        if !text.starts_with('|') || text.starts_with("|---") || text.starts_with("| clause |") {
            continue;
        }
        let fault = |message| RowError { line, message };
        let cells: Vec<&str> = text.split('|').map(str::trim).collect();
        let [_, clause, _level, asks, _reading, test, _] = cells[..] else {
            return Err(fault("a row has five columns"));
        };
        if asks.is_empty() {
            return Err(fault("a row says what is asked"));
        }
        let proof = match test {
            "definition" => Proof::Definition,
            "missing" => Proof::Missing,
            _ => Proof::Tests(test_paths(test).ok_or_else(|| {
                fault("the last column holds `paths` of tests, definition or missing")
            })?),
        };
        rows.push(Row { line, clause: clause.to_owned(), proof });
    }
    Ok(rows)
}

/// Parses paths in backticks, separated by commas; at least one.
fn test_paths(cell: &str) -> Option<Vec<String>> {
    cell.split(',')
        .map(|path| path.trim().strip_prefix('`')?.strip_suffix('`').map(str::to_owned))
        .collect()
}

/// Returns the paths of all tests in a workspace: package, then modules or the name of the integration test,
/// then the function, as in `feedsync_core::laws::merge_is_commutative`. Ignored tests are left out. A suite of
/// tests in a macro lists its cases as `module: [ case case ]`. These cases count where the macro is used.
pub fn tests(workspace: &Path) -> io::Result<BTreeSet<String>> {
    let mut sources = Vec::new();
    for package in fs::read_dir(workspace.join("crates"))? {
        let package = package?.path();
        let Some(name) = package.file_name().and_then(|name| name.to_str()) else { continue };
        let name = name.replace('-', "_");
        for root in ["src", "tests", "examples"] {
            let root = package.join(root);
            if !root.is_dir() {
                continue;
            }
            for file in rust_files(&root)? {
                let module = module_of(&name, file.strip_prefix(&root).unwrap_or(&file));
                sources.push((module, fs::read_to_string(&file)?));
            }
        }
    }
    let suites: Vec<_> = sources.iter().flat_map(|(_, source)| suites_of(source)).collect();
    let mut tests = BTreeSet::new();
    for (module, source) in &sources {
        tests.extend(tests_of(module, source));
        for (_, cases) in suites.iter().filter(|(name, _)| uses(source, name)) {
            tests.extend(cases.iter().map(|case| format!("{module}::{case}")));
        }
    }
    Ok(tests)
}

/// Returns the suites of tests that the macros of a file make: the name of each macro and its cases. A macro that
/// calls another one of the file has the cases of that one.
fn suites_of(source: &str) -> Vec<(&str, Vec<String>)> {
    let macros = source.split("\nmacro_rules! ").skip(1);
    let bodies: Vec<_> = macros
        .filter_map(|text| {
            let (name, text) = text.split_once(" {\n")?;
            Some((name, text.split_once("\n}")?.0))
        })
        .collect();
    let mut suites: Vec<_> = bodies.iter().map(|(name, body)| (*name, cases_of(body))).collect();
    for (at, (_, body)) in bodies.iter().enumerate() {
        let called =
            bodies.iter().enumerate().filter(|(other, (name, _))| *other != at && uses(body, name));
        let cases: Vec<_> = called.flat_map(|(other, _)| suites[other].1.clone()).collect();
        suites[at].1.extend(cases);
    }
    suites.retain(|(_, cases)| !cases.is_empty());
    suites
}

/// Returns the cases that the body of a macro lists.
fn cases_of(body: &str) -> Vec<String> {
    let mut cases = Vec::new();
    for (before, list) in body.split(']').filter_map(|part| part.rsplit_once('[')) {
        let Some(module) = before.trim_end().strip_suffix(':') else { continue };
        let module = module.split_whitespace().last().unwrap_or_default();
        if !module.starts_with('$') && !list.contains('$') {
            cases.extend(list.split_whitespace().map(|case| format!("{module}::{case}")));
        }
    }
    cases
}

fn uses(source: &str, suite: &str) -> bool {
    source.lines().any(|line| {
        let called = line.trim_start().split_once("!(").map(|(path, _)| path);
        let path = called.filter(|path| !path.contains(' '));
        path.is_some_and(|path| path.rsplit("::").next() == Some(suite))
    })
}

/// Returns the Rust files in a folder and below it.
pub fn rust_files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            files.extend(rust_files(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    Ok(files)
}

/// Returns the module of a file, given its path below `src` or `tests`.
fn module_of(package: &str, file: &Path) -> String {
    let file = file.with_extension("");
    let mut modules: Vec<_> = file.iter().map(|part| part.to_string_lossy()).collect();
    if modules.last().is_some_and(|name| ["lib", "main", "mod"].contains(&name.as_ref())) {
        modules.pop();
    }
    std::iter::once(package.into()).chain(modules).collect::<Vec<_>>().join("::")
}

/// Finds test functions by the lines that rustfmt gives them: an attribute that ends in `test`, further
/// attributes, and `fn`. Modules are found by their braces at equal indentation.
fn tests_of(module: &str, source: &str) -> Vec<String> {
    let mut modules: Vec<(usize, &str)> = Vec::new();
    let mut tests = Vec::new();
    let mut is_test = false;
    for line in source.lines() {
        let text = line.trim_start();
        let indent = line.len() - text.len();
        if text == "}" && modules.last().is_some_and(|&(opened, _)| opened == indent) {
            modules.pop();
        } else if let Some(name) = module_opened(text) {
            modules.push((indent, name));
        } else if let Some(attribute) = text.strip_prefix("#[") {
            let name = attribute.split(['(', ']', ' ']).next().unwrap_or_default();
            is_test |= name == "test" || name.ends_with("::test");
            is_test &= name != "ignore";
        } else if is_test && !text.starts_with("//") {
            if let Some(name) = function_name(text) {
                let inner: String = modules.iter().map(|(_, name)| format!("{name}::")).collect();
                tests.push(format!("{module}::{inner}{name}"));
            }
            is_test = false;
        }
    }
    tests
}

fn module_opened(text: &str) -> Option<&str> {
    let text =
        text.strip_prefix("pub ").or_else(|| text.strip_prefix("pub(crate) ")).unwrap_or(text);
    text.strip_prefix("mod ")?.strip_suffix(" {")
}

fn function_name(text: &str) -> Option<&str> {
    let text = text.strip_prefix("async ").unwrap_or(text);
    text.strip_prefix("fn ")?.split(['(', '<']).next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_found_by_module_and_name_and_ignored_ones_are_not() {
        let source = "\
mod tests {
    #[test]
    fn plain() {
    }

    proptest! {
        #![proptest_config(x)]
        /// Words.
        #[test]
        fn generated(a in 0..3) {
        }
    }

    mod inner {
        #[tokio::test(flavor = \"multi_thread\")]
        // why
        async fn waits() {}
    }
}

#[test]
#[ignore]
fn left_out() {}

fn no_test() {}
";
        let file = Path::new("xml/mod.rs");
        let found = tests_of(&module_of("feedsync_formats", file), source);
        let expected = ["tests::plain", "tests::generated", "tests::inner::waits"]
            .map(|test| format!("feedsync_formats::xml::{test}"));
        assert_eq!(found, expected);
        assert_eq!(module_of("feedsync", Path::new("lib.rs")), "feedsync");
        assert_eq!(module_of("feedsync", Path::new("laws.rs")), "feedsync::laws");
    }

    #[test]
    fn the_cases_of_a_suite_are_listed_in_its_macro_and_counted_where_it_is_used() {
        let source = "
#[macro_export]
macro_rules! store_tests {
    ($constructor:expr) => {
        $crate::store_tests!(@cases $constructor;
            items: [
                one
                two
            ]
            model: [ three ]
        );
    };
    (@cases $constructor:expr; $($module:ident: [$($case:ident)*])*) => {
        $(mod $module {
            $(#[test]
            fn $case() {})*
        })*
    };
}
";
        let expected = ["items::one", "items::two", "model::three"].map(str::to_owned).to_vec();
        assert_eq!(suites_of(source), [("store_tests", expected.clone())]);
        assert!(suites_of("\nmacro_rules! other {\n    () => {};\n}\n").is_empty());
        let all = "\nmacro_rules! all_tests {\n    ($c:expr) => {\n        $crate::store_tests!($c);\n    };\n}\n";
        let both = format!("{source}{all}");
        assert_eq!(suites_of(&both), [("store_tests", expected.clone()), ("all_tests", expected)]);
        assert!(uses("feedsync_store::store_tests!(memory);", "store_tests"));
        assert!(!uses("//! feedsync_store::store_tests!(open);", "store_tests"));
    }

    #[test]
    fn rows_are_read_and_faulty_ones_refused_with_their_line() {
        let head = "# Title\n\n| clause | level | what it asks | our reading | test |\n|---|---|\n";
        let table =
            format!("{head}| F1 | M | a | | `x::y`, `x::z` |\n| F2 | F | b | | missing |\n");
        let read = rows(&table).unwrap();
        assert_eq!(read[0].proof, Proof::Tests(vec!["x::y".to_owned(), "x::z".to_owned()]));
        assert_eq!((read[1].clause.as_str(), &read[1].proof), ("F2", &Proof::Missing));
        for row in ["| F1 | M | a | `x` |", "| F1 | M | a | | x |", "| F1 | M | | | missing |"] {
            assert_eq!(rows(&format!("{head}{row}")).unwrap_err().line, 5, "{row}");
        }
    }
}
