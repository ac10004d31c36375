//! `docs/conformance.md` has one row for every clause, and names only tests that exist.

use std::collections::BTreeSet;
use std::path::Path;

use feedsync_test::citations::citations;
use feedsync_test::conformance::{Proof, Row, rows, tests};

/// Families of clauses with their last number; every family is numbered from 1.
const CLAUSES: [(&str, usize); 31] = [
    ("F", 138),
    ("P", 14),
    ("S", 56),
    ("V", 31),
    ("W", 10),
    ("R-F", 45),
    ("R-P", 11),
    ("R-S", 13),
    ("R-B", 44),
    ("U", 13),
    ("D", 7),
    ("T", 16),
    ("B", 53),
    ("E", 20),
    ("A", 20),
    ("AP", 64),
    ("AT", 24),
    ("AR", 12),
    ("AJ", 7),
    ("AF", 3),
    ("AD", 36),
    ("AH", 38),
    ("N", 22),
    ("BI", 166),
    ("LR", 49),
    ("LT", 10),
    ("CP", 55),
    ("CG", 16),
    ("CL", 45),
    ("CD", 15),
    ("reading ", 27),
];

fn workspace() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

fn table() -> Vec<Row> {
    let document = std::fs::read_to_string(workspace().join("docs/conformance.md")).unwrap();
    rows(&document).unwrap_or_else(|error| panic!("docs/conformance.md: {error}"))
}

#[test]
fn every_clause_has_one_row() {
    let all = |(family, last): (&str, usize)| -> BTreeSet<String> {
        (1..=last).map(|number| format!("{family}{number}")).collect()
    };
    let expected: BTreeSet<String> = CLAUSES.into_iter().flat_map(all).collect();
    let mut seen = BTreeSet::new();
    for row in table() {
        assert!(expected.contains(&row.clause), "line {}: no clause {:?}", row.line, row.clause);
        assert!(seen.insert(row.clause.clone()), "line {}: {} again", row.line, row.clause);
    }
    let lacking: Vec<_> = expected.difference(&seen).collect();
    assert!(lacking.is_empty(), "clauses without a row: {lacking:?}");
}

#[test]
fn every_test_that_a_row_names_exists() {
    let existing = tests(workspace()).unwrap();
    let mut faults = Vec::new();
    for row in table() {
        let Proof::Tests(named) = row.proof else { continue };
        for test in named.into_iter().filter(|test| !existing.contains(test)) {
            faults.push(format!("line {}, {}: {test}", row.line, row.clause));
        }
    }
    assert!(faults.is_empty(), "tests that do not exist:\n{}", faults.join("\n"));
}

#[test]
fn no_row_lacks_its_test() {
    let missing: Vec<_> = table()
        .into_iter()
        .filter(|row| row.proof == Proof::Missing)
        .map(|row| row.clause)
        .collect();
    assert!(missing.is_empty(), "clauses without a test: {missing:?}");
}

#[test]
fn every_citation_names_a_clause_of_the_table() {
    let known: BTreeSet<String> = table().into_iter().map(|row| row.clause).collect();
    let cited = citations(workspace()).unwrap();
    assert!(cited.len() > 1_000, "only {} citations were found", cited.len());
    let unknown: Vec<_> = cited
        .iter()
        .filter(|it| !known.contains(&it.clause))
        .map(|it| format!("{}:{}: {}", it.file.display(), it.line, it.clause))
        .collect();
    assert!(unknown.is_empty(), "citations of unknown clauses:\n{}", unknown.join("\n"));
}
