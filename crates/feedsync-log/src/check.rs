//! A line-by-line check of a log, for operators.
//!
//! The findings do not prevent reading the log: lines that are not understood are ignored, and a repeated
//! record has no effect.

use std::collections::BTreeMap;

use crate::device::{Device, RecordId};
use crate::lines::Lines;
use crate::record::{Line, LineError, MAX_RECORD_BYTES};
use crate::stamp::Millis;

/// Maximum time by which a clock may be ahead before a stamp is reported: a day.
const MAX_CLOCK_AHEAD: u64 = 24 * 60 * 60 * 1_000;

/// A check in progress; the bytes of the log are fed to it.
#[derive(Debug, Clone)]
pub struct Check {
    now: Millis,
    offset: u64,
    rest: Vec<u8>,
    /// The sequences that each device used, as the first and the last of consecutive ones.
    used: BTreeMap<Device, BTreeMap<u64, u64>>,
    summary: Summary,
}

/// Contents of a log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Summary {
    /// Number of bytes.
    pub bytes: u64,
    /// Number of lines, torn ones included.
    pub lines: u64,
    /// Number of records of this version.
    pub records: u64,
    /// Number of devices that made them.
    pub devices: u64,
}

/// A finding of a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Number of the line, from 1.
    pub line: u64,
    /// Offset of the line.
    pub offset: u64,
    /// The fault.
    pub fault: Fault,
}

/// A fault of a line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The line is not a record.
    #[error("not a record: {0}")]
    Foreign(LineError),
    /// The line is of a later version: older programs stop appending when they read it (LR48).
    #[error("the record has version {0}, which this program does not know; update the program")]
    Newer(u64),
    /// The line is a header, which is only allowed as the first line (LR8).
    #[error("a header is allowed only as the first line")]
    Header,
    /// The record is repeated.
    #[error("the record {0} occurs a second time")]
    Duplicate(RecordId),
    /// The records of a device do not ascend.
    #[error("the record {0} comes after a later record of the same device")]
    Reordered(RecordId),
    /// The record's stamp is in the future.
    #[error("the record {0} has a time more than a day in the future")]
    Future(RecordId),
    /// The last line is incomplete.
    #[error("the last line is incomplete: {0} bytes without a line feed at the end")]
    Torn(u64),
}

impl Check {
    /// A check at a given time.
    pub fn new(now: Millis) -> Self {
        Self {
            now,
            offset: 0,
            rest: Vec::new(),
            used: BTreeMap::new(),
            summary: Summary::default(),
        }
    }

    /// Checks the next bytes of the log; returns the findings in the lines that they complete.
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<Finding> {
        let mut findings = Vec::new();
        let mut bytes = bytes;
        while let Some(at) = bytes.iter().position(|byte| *byte == b'\n') {
            let (line, rest) = bytes.split_at(at + 1);
            bytes = rest;
            self.keep(line);
            let line = std::mem::take(&mut self.rest);
            findings.extend(self.line(&line));
        }
        self.keep(bytes);
        findings
    }

    /// Ends the check; returns the summary, and a finding if the last line is incomplete.
    pub fn end(mut self) -> (Summary, Option<Finding>) {
        let begin = self.offset;
        let torn = self.summary.bytes - begin;
        let finding = (torn > 0).then(|| {
            self.summary.lines += 1;
            Finding { line: self.summary.lines, offset: begin, fault: Fault::Torn(torn) }
        });
        self.summary.devices = self.used.len() as u64;
        (self.summary, finding)
    }

    /// Buffers bytes of a line: at most one more than a record may have, which suffices to detect that it is
    /// too large.
    fn keep(&mut self, bytes: &[u8]) {
        self.summary.bytes += bytes.len() as u64;
        let room = (MAX_RECORD_BYTES + 1).saturating_sub(self.rest.len());
        self.rest.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    fn line(&mut self, line: &[u8]) -> Vec<Finding> {
        self.summary.lines += 1;
        let offset = std::mem::replace(&mut self.offset, self.summary.bytes);
        let number = self.summary.lines;
        let faults = match Line::read(line) {
            Line::Foreign(error) => vec![Fault::Foreign(error)],
            Line::Newer { version } => vec![Fault::Newer(version)],
            Line::Header(_) if number == 1 => Vec::new(),
            Line::Header(_) => vec![Fault::Header],
            Line::Record(record) => {
                self.summary.records += 1;
                self.record(record.id, record.stamp.tick.millis())
            }
        };
        faults.into_iter().map(|fault| Finding { line: number, offset, fault }).collect()
    }

    fn record(&mut self, id: RecordId, when: Millis) -> Vec<Fault> {
        let mut faults = Vec::new();
        let used = self.used.entry(id.device.clone()).or_default();
        let has_later = used.range(id.sequence..).next().is_some();
        if !is_first(used, id.sequence) {
            faults.push(Fault::Duplicate(id.clone()));
        } else if has_later {
            faults.push(Fault::Reordered(id.clone()));
        }
        if when > self.now.after(MAX_CLOCK_AHEAD) {
            faults.push(Fault::Future(id));
        }
        faults
    }
}

/// Adds a sequence to the consecutive ones; returns whether it is new.
fn is_first(used: &mut BTreeMap<u64, u64>, sequence: u64) -> bool {
    let before = used.range(..=sequence).next_back().map(|(first, last)| (*first, *last));
    if before.is_some_and(|(_, last)| sequence <= last) {
        return false;
    }
    let first = match before {
        Some((first, last)) if last + 1 == sequence => first,
        _ => sequence,
    };
    let last = sequence.checked_add(1).and_then(|next| used.remove(&next)).unwrap_or(sequence);
    used.insert(first, last);
    true
}

/// The last complete lines of these bytes, up to a number.
pub fn last_lines(bytes: &[u8], most: usize) -> &[u8] {
    let whole = Lines::of(bytes).bytes();
    let ends = whole.iter().enumerate().rev().filter(|(_, byte)| **byte == b'\n');
    match ends.skip(most).map(|(at, _)| at + 1).next() {
        Some(begin) => &whole[begin..],
        None => whole,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    const DAY: u64 = 86_400_000;

    fn id(text: &str) -> RecordId {
        text.parse().unwrap()
    }

    fn record(id: &str, when: u64) -> String {
        let rest = r#""obj":{"kind":"feed","id":"x"},"act":"subscribe"}"#;
        format!("{{\"v\":1,\"id\":\"{id}\",\"ts\":\"{when}.0\",{rest}\n")
    }

    fn check(log: &str, piece: usize) -> (Vec<(u64, Fault)>, Summary) {
        let mut check = Check::new(Millis::new(1_000));
        let mut findings = Vec::new();
        for piece in log.as_bytes().chunks(piece) {
            findings.extend(check.feed(piece));
        }
        let (summary, torn) = check.end();
        findings.extend(torn);
        for finding in &findings {
            let before = &log[..usize::try_from(finding.offset).unwrap()];
            assert!(before.is_empty() || before.ends_with('\n'));
            assert_eq!(before.matches('\n').count() as u64 + 1, finding.line);
        }
        (findings.into_iter().map(|finding| (finding.line, finding.fault)).collect(), summary)
    }

    /// Damaged, reordered, repeated, foreign and torn lines are reported with their numbers, however the
    /// bytes are split.
    #[test]
    fn faults_are_reported_with_their_line() {
        let header = r#"{"v":1,"log":{"generation":"x","number":1}}"#;
        let log = [
            header,
            "\n",
            &record("a:2", 5),
            &record("a:1", 5),
            &record("a:2", 5),
            "nonsense\n",
            header,
            "\n",
            "{\"v\":9}\n",
            &record("b:1", 1_001 + DAY),
            "{\"v\":1",
        ]
        .concat();
        for piece in [1, 7, 10_000] {
            let (mut found, summary) = check(&log, piece);
            let (number, foreign) = found.remove(2);
            assert!(number == 5 && matches!(foreign, Fault::Foreign(_)));
            let expected = [
                (3, Fault::Reordered(id("a:1"))),
                (4, Fault::Duplicate(id("a:2"))),
                (6, Fault::Header),
                (7, Fault::Newer(9)),
                (8, Fault::Future(id("b:1"))),
                (9, Fault::Torn(6)),
            ];
            assert_eq!(found, expected);
            let bytes = log.len() as u64;
            assert_eq!(summary, Summary { bytes, lines: 9, records: 4, devices: 2 });
        }
    }

    #[test]
    fn a_line_without_an_end_takes_no_more_memory_than_a_record() {
        let mut check = Check::new(Millis::new(0));
        for _ in 0..100 {
            assert_eq!(check.feed(&[b'x'; 10_000]), []);
        }
        assert!(check.rest.len() <= MAX_RECORD_BYTES + 1);
        let found = check.feed(b"\n");
        assert_eq!(found[0].fault, Fault::Foreign(LineError::TooLarge));
        assert_eq!(check.end().0.bytes, 1_000_001);
    }

    #[test]
    fn stamp_may_be_one_day_ahead() {
        assert_eq!(check(&record("a:1", 1_000 + DAY), 100).0, []);
        let future = (1, Fault::Future(id("a:1")));
        assert_eq!(check(&record("a:1", 1_001 + DAY), 100).0, [future]);
    }

    #[test]
    fn record_may_have_the_maximum_size_and_no_byte_more() {
        let short = record("a:1", 5);
        for (bytes, expected) in
            [(MAX_RECORD_BYTES, None), (MAX_RECORD_BYTES + 1, Some(LineError::TooLarge))]
        {
            let object = "x".repeat(bytes - short.len() + 1);
            let long = short.replace(r#""x""#, &format!(r#""{object}""#));
            assert_eq!(long.len(), bytes);
            for piece in [1_000, bytes - 1, bytes] {
                let expected = expected.clone().map(|error| (1, Fault::Foreign(error)));
                assert_eq!(check(&long, piece).0, Vec::from_iter(expected), "{bytes} {piece}");
            }
        }
    }

    #[test]
    fn memory_does_not_grow_with_records_in_a_row() {
        let ascending: Vec<u64> = (1..=100).collect();
        let descending = ascending.iter().rev().copied().collect();
        let interleaved = (1..=100).step_by(2).chain((2..=100).step_by(2)).collect();
        for sequences in [ascending, descending, interleaved] {
            let mut check = Check::new(Millis::new(0));
            for sequence in &sequences {
                check.feed(record(&format!("a:{sequence}"), 0).as_bytes());
            }
            let used: Vec<_> = check.used.values().collect();
            assert_eq!(used, [&BTreeMap::from([(1, 100)])], "{sequences:?}");
        }
    }

    proptest! {
        #[test]
        fn repeated_and_reordered_records_are_found(
            made in prop::collection::vec(("[ab]", 1..12_u64), 0..40),
        ) {
            let mut log = String::new();
            let mut seen = BTreeSet::new();
            let mut expected = Vec::new();
            for (line, (device, sequence)) in (1..).zip(made) {
                let id = id(&format!("{device}:{sequence}"));
                log.push_str(&record(&id.to_string(), 0));
                let has_later = seen
                    .iter()
                    .any(|seen: &RecordId| seen.device == id.device && seen.sequence > sequence);
                if !seen.insert(id.clone()) {
                    expected.push((line, Fault::Duplicate(id)));
                } else if has_later {
                    expected.push((line, Fault::Reordered(id)));
                }
            }
            prop_assert_eq!(check(&log, 1_000).0, expected);
        }
    }

    #[test]
    fn last_lines_are_complete() {
        let log = b"one\ntwo\nthree\nfo";
        assert_eq!(last_lines(log, 2), b"two\nthree\n");
        assert_eq!(last_lines(log, 0), b"");
        assert_eq!(last_lines(log, 9), b"one\ntwo\nthree\n");
        assert_eq!(last_lines(b"fo", 9), b"");
    }
}
