//! Validation reports all faults and no false ones.

mod app;
mod corpora;
mod entries;
mod feeds;
mod places;

use super::validate;
use crate::diagnostic::{Diagnostic, Severity};

/// Returns the findings of a document as `line:column: severity: … (clause)`.
fn findings(text: &str) -> Vec<String> {
    validate(text.as_bytes()).findings.iter().map(Diagnostic::to_string).collect()
}

/// Returns the faults of a document, formatted as in [`findings`].
fn faults(text: &str) -> Vec<String> {
    let all = validate(text.as_bytes()).findings;
    all.iter().filter(|it| it.severity == Severity::Fault).map(Diagnostic::to_string).collect()
}

/// Asserts that the only finding is this fault or warning of this clause, at the position of `@` in the text.
#[track_caller]
fn assert_only(text: &str, severity: &str, clause: &str) {
    let at = text.find('@').unwrap_or_else(|| panic!("no @ in {text}"));
    let text = text.replacen('@', "", 1);
    let position = crate::diagnostic::Position::of(&text, at);
    match &findings(&text)[..] {
        [one] => {
            assert!(one.starts_with(&format!("{position}: {severity}: ")), "{one}\n{text}");
            assert!(one.ends_with(&format!("({clause})")), "{one}\n{text}");
        }
        other => panic!("{other:#?}\n{text}"),
    }
}
