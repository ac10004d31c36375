//! Findings of checks that only validation makes. Their byte offsets are converted to positions at
//! the end.

use std::collections::HashSet;

use crate::diagnostic::{Diagnostic, Position, Severity};
use crate::remarks::{Fault, PositionConverter};

/// Maximum number of findings of a document. All further ones are reported as one finding.
const MAX_FINDINGS: usize = 10_000;

/// Maximum length of a name or value that a message quotes, in characters.
const MAX_QUOTED: usize = 80;

struct Finding {
    severity: Severity,
    fault: Fault,
    item: Option<String>,
    /// Whether reading the document reports the same fault at the same position.
    is_read_too: bool,
}

/// The findings so far, in any order.
#[derive(Default)]
pub(super) struct Findings {
    list: Vec<Finding>,
    is_cut: bool,
}

impl Findings {
    pub(super) fn fault(&mut self, fault: Fault) {
        self.push(Severity::Fault, fault, false);
    }

    pub(super) fn warn(&mut self, fault: Fault) {
        self.push(Severity::Warning, fault, false);
    }

    /// Adds a fault that reading the document also reports, unless it refused the item earlier.
    pub(super) fn fault_read_too(&mut self, fault: Fault) {
        self.push(Severity::Fault, fault, true);
    }

    fn push(&mut self, severity: Severity, mut fault: Fault, is_read_too: bool) {
        match self.list.len() {
            0..MAX_FINDINGS => {}
            MAX_FINDINGS if !self.is_cut => {
                self.is_cut = true;
                let message =
                    format!("more than {MAX_FINDINGS} findings: no further ones are listed");
                fault = Fault { message, ..fault };
            }
            // A later fault is not listed, but it raises the severity.
            _ => {
                if let Some(last) = self.list.last_mut() {
                    last.severity = last.severity.max(severity);
                }
                return;
            }
        }
        self.list.push(Finding { severity, fault, item: None, is_read_too });
    }

    /// Number of findings.
    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    /// Sets the item of the findings from the given index on, where it is not set yet.
    pub(super) fn about(&mut self, first: usize, item: &str) {
        for finding in self.list.iter_mut().skip(first).filter(|finding| finding.item.is_none()) {
            finding.item = Some(item.to_owned());
        }
    }

    /// Adds the findings to the diagnostics of reading, in document order.
    pub(super) fn join(mut self, read: &mut Vec<Diagnostic>, text: &str) {
        self.list.sort_by_key(|finding| finding.fault.offset);
        let is_fault = |known: &&Diagnostic| known.severity == Severity::Fault;
        let known: HashSet<Position> = read.iter().filter(is_fault).map(|it| it.position).collect();
        let mut places = PositionConverter::new(text);
        for Finding { severity, fault, item, is_read_too } in self.list {
            let found = places.diagnostic(severity, fault, item);
            if !(is_read_too && known.contains(&found.position)) {
                read.push(found);
            }
        }
        read.sort_by_key(|remark| remark.position);
    }
}

/// Quotes a name or value of a document, and cuts it if it is too long.
pub(super) fn quoted(text: &str) -> String {
    let shown: String = text.chars().take(MAX_QUOTED).collect();
    let more = if shown.len() < text.len() { "…" } else { "" };
    format!("{:?}", shown + more)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_texts_are_cut_at_their_bound() {
        assert_eq!(quoted("a\"b"), "\"a\\\"b\"");
        let longest = "\u{e9}".repeat(MAX_QUOTED);
        assert_eq!(quoted(&longest), format!("\"{longest}\""));
        assert_eq!(quoted(&format!("{longest}x")), format!("\"{longest}\u{2026}\""));
    }

    #[test]
    fn findings_are_bounded_and_a_fault_past_the_bound_still_counts() {
        let mut findings = Findings::default();
        for offset in 0..MAX_FINDINGS + 5 {
            findings.warn(Fault::new(offset, "c", "m"));
        }
        findings.fault(Fault::new(0, "c", "m"));
        let mut all = Vec::new();
        findings.join(&mut all, "");
        assert_eq!(all.len(), MAX_FINDINGS + 1);
        let faults: Vec<_> = all.iter().filter(|it| it.severity == Severity::Fault).collect();
        assert!(matches!(&faults[..], [one] if one.message.contains("no further")), "{faults:?}");
    }
}
