//! Lines of any meaning to append to a log, without reading it.

use std::collections::VecDeque;

use feedsync_log::{Device, Event, MAX_RECORD_BYTES, RecordId, Session, Start, append_batch};

use super::{Follower, LogError};

/// Lines to append, in order.
#[derive(Debug, Clone)]
pub struct PendingLines {
    waiting: VecDeque<(RecordId, String)>,
}

impl PendingLines {
    /// Creates records of the lines of a text. `random` determines their names, so that an append whose
    /// response was lost is recognised. An error gives the number of the faulty line, from 1.
    pub fn new(text: &str, random: u64) -> Result<Self, (usize, &'static str)> {
        let device = Device::minted(random);
        let mut waiting = VecDeque::new();
        for (number, line) in (1_u64..).zip(text.split_inclusive('\n')) {
            let at = |fault| (usize::try_from(number).unwrap_or(usize::MAX), fault);
            if !line.ends_with('\n') {
                return Err(at("a line ends in a line feed"));
            }
            if line.len() > MAX_RECORD_BYTES {
                return Err(at("a line has at most 256 KiB"));
            }
            waiting.push_back((
                RecordId { device: device.clone(), sequence: number },
                line.to_owned(),
            ));
        }
        Ok(Self { waiting })
    }

    /// Returns a session for appending, which reads no more of the log than it needs for that.
    pub fn session() -> Session {
        Session::new(None, Start::End)
    }

    /// Returns the number of waiting lines.
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Whether no lines wait.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }
}

impl Follower for PendingLines {
    type Error = LogError;

    fn waiting(&mut self, _: &Session) -> Result<Vec<(RecordId, String)>, LogError> {
        Ok(append_batch(self.waiting.iter().cloned()).collect())
    }

    fn apply(&mut self, event: Event, _: &mut Session) -> Result<(), LogError> {
        if let Event::Appended(count) = event {
            self.waiting.drain(..count);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_torn_or_a_too_long_line_is_named() {
        assert_eq!(PendingLines::new("one\ntwo\n", 1).unwrap().len(), 2);
        assert!(PendingLines::new("", 1).unwrap().is_empty());
        assert_eq!(PendingLines::new("one\ntwo", 1).unwrap_err().0, 2);
        let long = format!("one\n{}\n", "x".repeat(MAX_RECORD_BYTES));
        assert_eq!(PendingLines::new(&long, 1).unwrap_err().0, 2);
    }
}
