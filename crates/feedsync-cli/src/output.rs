//! What is printed: plain text for people, JSON for programs, progress on standard error.

pub(crate) mod difference;
pub(crate) mod graph;
pub(crate) mod progress;
pub(crate) mod table;
pub(crate) mod text;

use std::io::Write as _;

use anstyle::{AnsiColor, Style};
use serde_json::Value;

use crate::failure::Failure;

/// Headings and names.
pub(crate) const BOLD: Style = Style::new().bold();
/// What matters less.
pub(crate) const DIM: Style = Style::new().dimmed();
/// What waits for a decision.
pub(crate) const CONFLICT: Style =
    Style::new().bold().fg_color(Some(anstyle::Color::Ansi(AnsiColor::Yellow)));

/// Prints text as it is; styles in it are taken off where they are not wanted (`NO_COLOR`, a pipe).
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut out = anstream::stdout().lock();
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}

/// Prints bytes of a document.
pub(crate) fn print_bytes(bytes: &[u8]) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    out.write_all(bytes)?;
    Ok(out.flush()?)
}

/// Prints one line.
pub(crate) fn line(text: impl AsRef<str>) -> Result<(), Failure> {
    print(&format!("{}\n", text.as_ref()))
}

/// Prints one JSON value over several lines.
pub(crate) fn json(value: &Value) -> Result<(), Failure> {
    print_bytes(format!("{value:#}\n").as_bytes())
}

/// Prints a JSON array piece by piece, so that a long list needs no memory.
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

    /// Prints the end.
    pub(crate) fn end(self) -> Result<(), Failure> {
        print_bytes(if self.begun { b"\n]\n" } else { b"[]\n" })
    }
}
