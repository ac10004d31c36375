//! Fuzz bodies as plain functions: any bytes may come in, nothing may panic.

use feedsync::Format;
use feedsync_formats::{Document, Mode, ReadOptions, detect, read};

use super::written;

/// Reads in both modes. What reads must come out of its document as it came in, and its items, written
/// in their own format, must read back as they were.
pub(crate) fn read_write_read(bytes: &[u8]) {
    detect(bytes);
    for mode in [Mode::Strict, Mode::Tolerant] {
        let options = ReadOptions { mode, ..ReadOptions::strict() };
        let Ok(document) = Document::read(bytes, &options) else { continue };
        let reading = document.reading();
        assert_eq!(read(bytes, None, &options).as_ref(), Ok(reading));
        assert_eq!(document.to_bytes_with(&reading.feed.items), bytes);
        if reading.feed.items.is_empty() {
            continue;
        }
        let format = reading.format;
        let text = written(format, &reading.feed.items, reading.feed.sharing.as_ref());
        let again = read(text.as_bytes(), Some(format), &options)
            .unwrap_or_else(|error| panic!("{error}: {text}"));
        let mut left = again.feed.items;
        let mut right = reading.feed.items.clone();
        if format == Format::Opml {
            left.sort_by_key(|item| format!("{item:?}"));
            right.sort_by_key(|item| format!("{item:?}"));
        }
        assert_eq!(left, right, "{text}");
        assert_eq!(again.feed.sharing, reading.feed.sharing, "{text}");
    }
}
