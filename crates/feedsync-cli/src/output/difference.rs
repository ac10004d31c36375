//! Differences of two texts by line, in the format of `diff -u`.

use anstyle::{AnsiColor, Style};
use similar::{ChangeTag, TextDiff};

use crate::output::text;

const ADDED: Style = Style::new().fg_color(Some(anstyle::Color::Ansi(AnsiColor::Green)));
const REMOVED: Style = Style::new().fg_color(Some(anstyle::Color::Ansi(AnsiColor::Red)));

/// Unified difference of two texts with three lines of context; empty if the texts are equal.
pub(crate) fn unified(old_name: &str, old: &str, new_name: &str, new: &str) -> String {
    let (old, new) = (ended(old), ended(new));
    let diff = TextDiff::from_lines(&old, &new);
    let mut out = String::new();
    for hunk in diff.unified_diff().context_radius(3).iter_hunks() {
        if out.is_empty() {
            out.push_str(&format!("{REMOVED}--- {old_name}{REMOVED:#}\n"));
            out.push_str(&format!("{ADDED}+++ {new_name}{ADDED:#}\n"));
        }
        out.push_str(&format!("{}\n", hunk.header()));
        for change in hunk.iter_changes() {
            let line = change.value().trim_end_matches('\n');
            match change.tag() {
                ChangeTag::Equal => out.push_str(&format!(" {line}\n")),
                ChangeTag::Delete => out.push_str(&format!("{REMOVED}-{line}{REMOVED:#}\n")),
                ChangeTag::Insert => out.push_str(&format!("{ADDED}+{line}{ADDED:#}\n")),
            }
        }
    }
    out
}

fn ended(text: &str) -> String {
    let mut text = text::lines(text);
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_shows_both_sides_and_equal_texts_none() {
        let plain = anstream::adapter::strip_str(&unified("a", "x\ny", "b", "x\nz")).to_string();
        assert_eq!(plain, "--- a\n+++ b\n@@ -1,2 +1,2 @@\n x\n-y\n+z\n");
        assert_eq!(unified("a", "x", "b", "x\n"), "");
    }
}
