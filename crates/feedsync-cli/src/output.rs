//! Output: plain text for people, JSON for programs, and progress on standard error.

pub(crate) mod difference;
pub(crate) mod graph;
pub(crate) mod progress;
pub(crate) mod table;
pub(crate) mod text;

use std::io::Write as _;

use anstyle::{AnsiColor, Style};
use serde_json::Value;

use crate::failure::Failure;

/// Style of headings and names.
pub(crate) const BOLD: Style = Style::new().bold();
/// Style of less important text.
pub(crate) const DIM: Style = Style::new().dimmed();
/// Style of conflicts and other things that need a decision.
pub(crate) const CONFLICT: Style =
    Style::new().bold().fg_color(Some(anstyle::Color::Ansi(AnsiColor::Yellow)));

/// Prints text. Styles are removed where they are unwanted (`NO_COLOR`, a pipe).
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut out = anstream::stdout().lock();
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}

/// Prints the result of a command: JSON for programs, or else a line for people.
pub(crate) fn result(as_json: bool, value: &Value, text: impl AsRef<str>) -> Result<(), Failure> {
    match as_json {
        true => json(value),
        false => line(text),
    }
}

/// Refuses `--json` for a command whose output is something else. `output` names it.
pub(crate) fn refuse_json(is_json: bool, output: &str) -> Result<(), Failure> {
    match is_json {
        true => Err(Failure::usage(format!("--json is not possible here: the output is {output}"))),
        false => Ok(()),
    }
}

/// Prints the bytes of a document.
pub(crate) fn print_bytes(bytes: &[u8]) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    out.write_all(bytes)?;
    Ok(out.flush()?)
}

/// Prints one line.
pub(crate) fn line(text: impl AsRef<str>) -> Result<(), Failure> {
    print(&format!("{}\n", text.as_ref()))
}

/// Prints one JSON value on several lines.
pub(crate) fn json(value: &Value) -> Result<(), Failure> {
    print_bytes(format!("{value:#}\n").as_bytes())
}

/// Prints a JSON array value by value, so that a long list is never in memory as a whole.
#[derive(Debug, Default)]
pub(crate) struct JsonArray {
    begun: bool,
}

impl JsonArray {
    /// Prints the next value.
    pub(crate) fn push(&mut self, value: &Value) -> Result<(), Failure> {
        let before = if std::mem::replace(&mut self.begun, true) { ",\n" } else { "[\n" };
        print_bytes(format!("{before}{value}").as_bytes())
    }

    /// Prints the end of the array.
    pub(crate) fn end(self) -> Result<(), Failure> {
        print_bytes(if self.begun { b"\n]\n" } else { b"[]\n" })
    }
}
