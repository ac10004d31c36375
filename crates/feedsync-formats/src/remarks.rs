//! Faults and warnings that are found while a document is read. Their byte offsets are converted to positions at the
//! end.

use std::ops::Range;

use crate::diagnostic::{Diagnostic, Position, Severity};
use crate::html_names::named;
use crate::options::Mode;
use crate::xml::{Element, undefined_references};

/// A fault in a part of a document.
#[derive(Debug, Clone)]
pub(crate) struct Fault {
    pub(crate) offset: usize,
    pub(crate) clause: &'static str,
    pub(crate) message: String,
}

impl Fault {
    pub(crate) fn new(offset: usize, clause: &'static str, message: impl Into<String>) -> Self {
        Self { offset, clause, message: message.into() }
    }
}

struct Remark {
    severity: Severity,
    item: Option<String>,
    fault: Fault,
}

/// The remarks on one document.
pub(crate) struct Remarks {
    mode: Mode,
    remarks: Vec<Remark>,
}

impl Remarks {
    pub(crate) fn new(mode: Mode) -> Self {
        Self { mode, remarks: Vec::new() }
    }

    /// Number of remarks.
    pub(crate) fn len(&self) -> usize {
        self.remarks.len()
    }

    /// Adds a warning.
    pub(crate) fn warn(&mut self, fault: Fault) {
        self.remarks.push(Remark { severity: Severity::Warning, item: None, fault });
    }

    /// Adds a violation of the specification that refuses nothing. In tolerant mode it is a warning.
    pub(crate) fn remark(&mut self, fault: Fault) {
        let severity = match self.mode {
            Mode::Strict => Severity::Fault,
            Mode::Tolerant => Severity::Warning,
        };
        self.remarks.push(Remark { severity, item: None, fault });
    }

    /// Warns of references that XML does not define, which tolerant reading takes as an HTML character or as text.
    /// There is one warning for an element. Spans that are cut out of it are not searched.
    pub(crate) fn warn_of_undefined(&mut self, element: Element<'_, '_>, cuts: &[Range<usize>]) {
        let text = element.document();
        let Range { start, end } = element.span();
        let starts = std::iter::once(start).chain(cuts.iter().map(|cut| cut.end));
        let ends = cuts.iter().map(|cut| cut.start).chain([end]);
        let mut found = starts.zip(ends).flat_map(|(start, end)| {
            undefined_references(&text[start..end])
                .map(move |span| start + span.start..start + span.end)
        });
        let Some(first) = found.next() else { return };
        let taken = match named(&text[first.start + 1..first.end - 1]) {
            Some(character) => format!("for U+{:04X}", u32::from(character)),
            None => "for text".to_owned(),
        };
        let more = match found.count() {
            0 => String::new(),
            count => format!("; so are {count} more in this element"),
        };
        let name: String = text[first.clone()].chars().take(80).collect();
        let message = format!("the reference {name} is not defined and was taken {taken}{more}");
        self.warn(Fault::new(first.start, "XML 1.0 4.1", message));
    }

    /// Sets the item of all remarks from the given index on.
    pub(crate) fn about(&mut self, first: usize, item: Option<&str>) {
        for remark in &mut self.remarks[first..] {
            remark.item = item.map(str::to_owned);
        }
    }

    /// Returns the remarks in document order, with lines and columns.
    pub(crate) fn into_diagnostics(
        mut self,
        places: &mut PositionConverter<'_>,
    ) -> Vec<Diagnostic> {
        self.remarks.sort_by_key(|remark| remark.fault.offset);
        self.remarks
            .into_iter()
            .map(|remark| places.diagnostic(remark.severity, remark.fault, remark.item))
            .collect()
    }
}

/// Converts offsets to lines and columns. Offsets should mostly ascend, since each is counted from the previous one.
pub(crate) struct PositionConverter<'a> {
    text: &'a str,
    offset: usize,
    position: Position,
}

impl<'a> PositionConverter<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self { text, offset: 0, position: Position { line: 1, column: 1 } }
    }

    fn at(&mut self, offset: usize) -> Position {
        if offset < self.offset {
            *self = Self::new(self.text);
        }
        let between = &self.text.as_bytes()[self.offset..offset.min(self.text.len())];
        for &byte in between {
            if byte == b'\n' {
                self.position.line = self.position.line.saturating_add(1);
                self.position.column = 1;
            } else if byte & 0xc0 != 0x80 {
                self.position.column = self.position.column.saturating_add(1);
            }
        }
        self.offset += between.len();
        self.position
    }

    pub(crate) fn diagnostic(
        &mut self,
        severity: Severity,
        fault: Fault,
        item: Option<String>,
    ) -> Diagnostic {
        let position = self.at(fault.offset);
        Diagnostic { severity, position, clause: fault.clause, message: fault.message, item }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Characters of one to four bytes and both kinds of line ends.
    const TEXT: &str = "a\u{e9}\n\u{4e2d}\u{301}\u{1f600}b\r\n\n\u{e9}";
    /// Line and column of each character and of the end.
    const POSITIONS: [(u32, u32); 11] =
        [(1, 1), (1, 2), (1, 3), (2, 1), (2, 2), (2, 3), (2, 4), (2, 5), (2, 6), (3, 1), (4, 1)];
    const END: (u32, u32) = (4, 2);

    fn expected() -> Vec<(usize, Position)> {
        let offsets = TEXT.char_indices().map(|(offset, _)| offset).chain([TEXT.len()]);
        let positions = POSITIONS.into_iter().chain([END]);
        offsets.zip(positions.map(|(line, column)| Position { line, column })).collect()
    }

    #[test]
    fn columns_count_characters_of_any_length() {
        for (offset, position) in expected() {
            assert_eq!(PositionConverter::new(TEXT).at(offset), position, "{offset}");
            assert_eq!(Position::of(TEXT, offset), position, "{offset}");
        }
        let past = TEXT.len() + 5;
        let end = Position { line: END.0, column: END.1 };
        assert_eq!((PositionConverter::new(TEXT).at(past), Position::of(TEXT, past)), (end, end));
    }

    #[test]
    fn positions_do_not_depend_on_the_order_of_requests() {
        let expected = expected();
        for (first, _) in &expected {
            for (second, position) in &expected {
                let mut places = PositionConverter::new(TEXT);
                places.at(*first);
                assert_eq!(places.at(*second), *position, "{first} before {second}");
                assert_eq!(places.at(*second), *position, "{second} twice");
            }
        }
    }
}
