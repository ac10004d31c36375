//! Citations of clauses in comments and documents, such as `F88` or `R-F13`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Words that have the form of a clause and are none.
const OTHER_WORDS: [&str; 1] = ["MD5"];

/// A citation of a clause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Citation {
    /// Path of the file, relative to the workspace.
    pub file: PathBuf,
    /// Line in the file, from 1.
    pub line: usize,
    /// The clause that is cited.
    pub clause: String,
}

/// Returns the citations in comments of Rust sources and in Markdown documents.
pub fn citations(workspace: &Path) -> io::Result<Vec<Citation>> {
    let mut found = Vec::new();
    let mut waiting = vec![workspace.to_owned()];
    while let Some(folder) = waiting.pop() {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if path.is_dir() {
                if !name.starts_with('.') && !["target", "node_modules", "dist"].contains(&name) {
                    waiting.push(path);
                }
                continue;
            }
            let is_source = name.ends_with(".rs");
            if !is_source && !name.ends_with(".md") {
                continue;
            }
            let file = path.strip_prefix(workspace).unwrap_or(&path);
            for (line, text) in (1..).zip(fs::read_to_string(&path)?.lines()) {
                let text = if is_source { comment(text) } else { text };
                let cited =
                    clauses(text).map(|clause| Citation { file: file.to_owned(), line, clause });
                found.extend(cited);
            }
        }
    }
    Ok(found)
}

/// Returns the comment that ends a line of Rust; empty if there is none.
fn comment(line: &str) -> &str {
    let places = line.match_indices("//").map(|(place, _)| place);
    let mut begins = places.filter(|place| !line[..*place].ends_with(':'));
    begins.next().map_or("", |place| &line[place..])
}

/// Returns the clauses that a text cites. Code in backticks is ignored.
fn clauses(text: &str) -> impl Iterator<Item = String> {
    let prose = text.split('`').step_by(2);
    let is_part = |it: char| it.is_alphanumeric() || "-_./#+%".contains(it);
    prose.flat_map(move |prose| {
        let words = prose.split(move |it| !is_part(it));
        let readings = prose.split("(reading ").skip(1).filter_map(|rest| {
            let number = rest.split(|it: char| !it.is_ascii_digit()).next()?;
            (!number.is_empty()).then(|| format!("reading {number}"))
        });
        let words = words.map(|word| word.trim_end_matches('.')).filter(|word| is_clause(word));
        words.map(str::to_owned).chain(readings).collect::<Vec<_>>()
    })
}

/// Whether a word is one or two capital letters and at most three digits, possibly after a letter and a
/// hyphen.
fn is_clause(word: &str) -> bool {
    let letters = word.trim_end_matches(|it: char| it.is_ascii_digit());
    let digits = word.len() - letters.len();
    let family = match letters.as_bytes() {
        [kind, b'-', ..] if kind.is_ascii_uppercase() => &letters[2..],
        _ => letters,
    };
    (1..=3).contains(&digits)
        && (1..=2).contains(&family.len())
        && family.bytes().all(|it| it.is_ascii_uppercase())
        && !OTHER_WORDS.contains(&word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clauses_are_found_in_prose_and_not_in_code_or_addresses() {
        let found = |text| clauses(text).collect::<Vec<_>>();
        assert_eq!(found("as told (F88, R-F13; LR20 to LR23)."), ["F88", "R-F13", "LR20", "LR23"]);
        assert_eq!(
            found("the winner's (reading 6), `B31`, MD5, UTF8, X-1, a/B7, %C3."),
            ["reading 6"]
        );
        assert_eq!(found("A sentence that ends with N12."), ["N12"]);
        assert_eq!(found("readings of another list (C-A7), UTF-8 and X-1"), ["C-A7"]);
    }

    #[test]
    fn comments_begin_at_slashes_that_are_no_address() {
        assert_eq!(comment("let a = 1; // F88"), "// F88");
        assert_eq!(comment("let a = \"http://host/\";"), "");
        assert_eq!(comment("/// text"), "/// text");
    }
}
