//! Marks as lines, from a device that has no copy of the log: for example, a browser.

use feedsync_log::{Line, LineError, Millis, Tick};

use crate::state::ReaderState;

/// Maximum number of marks that are read at once.
pub const MAX_MARK_LINES: usize = 1_000;

/// Reason why lines are not marks. Lines are counted from 1.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MarkLinesError {
    /// A line is not valid.
    #[error("line {line}: {error}")]
    Line {
        /// Number of the line.
        line: usize,
        /// The fault.
        error: LineError,
    },
    /// A line is not a record that marks an article, in a version that is known.
    #[error("line {0}: this is not a mark of an article")]
    NotMark(usize),
    /// There are too many lines.
    #[error("at most {MAX_MARK_LINES} marks are accepted at once")]
    TooMany,
}

impl ReaderState {
    /// Reads marks of articles, one record in each line; returns the state that consists of them. Empty lines are
    /// skipped. A mark from the future gets the time `now`: otherwise it would win over later ones until that future
    /// has come. Marks that get the same time keep their order.
    pub fn read_marks(lines: &[u8], now: Millis) -> Result<Self, MarkLinesError> {
        let mut state = Self::default();
        let lines = lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        for (place, line) in lines.enumerate() {
            if place >= MAX_MARK_LINES {
                return Err(MarkLinesError::TooMany);
            }
            let line_number = place + 1;
            let mut record = match Line::read(line) {
                Line::Record(record) => record,
                Line::Foreign(error) => {
                    return Err(MarkLinesError::Line { line: line_number, error });
                }
                _ => return Err(MarkLinesError::NotMark(line_number)),
            };
            if record.stamp.tick.millis() > now {
                record.stamp.tick = Tick::new(now, u32::try_from(place).unwrap_or(u32::MAX));
            }
            let delta = Self::delta(&record).filter(|_| record.object.kind == "article");
            let (feed, mark) = delta.ok_or(MarkLinesError::NotMark(line_number))?;
            state.join_feed(feed, mark);
        }
        Ok(state)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Millis = Millis::new(9_000);

    fn line(act: &str, at: u64) -> String {
        format!(
            "{{\"v\":1,\"id\":\"phone:1\",\"ts\":\"{at}.0\",\"act\":\"{act}\",\"obj\":{{\"kind\":\"article\",\
             \"id\":\"urn:x:1\",\"feed\":\"https://example.org/feed\"}},\"at\":1000}}"
        )
    }

    fn read(lines: &[String]) -> Result<ReaderState, MarkLinesError> {
        ReaderState::read_marks(lines.join("\n").as_bytes(), NOW)
    }

    fn is_read(state: &ReaderState) -> bool {
        let feed = state.feed("https://example.org/feed").unwrap();
        feed.is_read(&"urn:x:1".parse().unwrap(), Some(Millis::new(1_000)))
    }

    #[test]
    fn latest_mark_counts_in_any_order_of_lines() {
        let lines = [line("read", 5_000), line("unread", 6_000)];
        assert!(!is_read(&read(&lines).unwrap()));
        let [first, second] = lines;
        assert!(!is_read(&read(&[second, first]).unwrap()));
    }

    #[test]
    fn mark_from_the_future_gets_the_present_time() {
        let mut state = read(&[line("read", 50_000)]).unwrap();
        assert_eq!(state.latest().unwrap().millis(), NOW);
        let later = ReaderState::read_marks(line("unread", 9_001).as_bytes(), Millis::new(10_000));
        state.join(later.unwrap());
        assert!(!is_read(&state));
    }

    #[test]
    fn marks_from_the_future_keep_their_order() {
        assert!(!is_read(&read(&[line("read", 50_000), line("unread", 50_001)]).unwrap()));
        assert!(is_read(&read(&[line("unread", 50_001), line("read", 50_000)]).unwrap()));
    }

    #[test]
    fn other_lines_are_refused_by_their_number() {
        let subscribe = "{\"v\":1,\"id\":\"phone:1\",\"ts\":\"1.0\",\"act\":\"subscribe\",\
                         \"obj\":{\"kind\":\"feed\",\"id\":\"https://h/f\"}}";
        for bad in ["{}", "x", subscribe, &line("frown", 1), "\u{0}"] {
            let error = read(&[line("read", 1), bad.to_owned()]).unwrap_err();
            assert!(error.to_string().starts_with("line 2: "), "{bad}: {error}");
        }
    }

    #[test]
    fn number_of_lines_is_bounded() {
        let mut lines = vec![line("read", 1); MAX_MARK_LINES];
        assert!(is_read(&read(&lines).unwrap()));
        lines.push(line("read", 1));
        assert_eq!(read(&lines), Err(MarkLinesError::TooMany));
        assert!(read(&[]).unwrap().is_empty());
    }
}
