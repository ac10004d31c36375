//! Fuzz targets for feeds as newsreaders show them, and for requests of newsreaders.

use feedsync_core::Timestamp;
use feedsync_formats::{ReadOptions, read_published};
use feedsync_reader_api::{RawRequest, google, miniflux, nextcloud, ttrss};

/// Reads any bytes as a published feed. Nothing panics, and each reading gives the same feed.
pub fn published(bytes: &[u8]) -> usize {
    let options = ReadOptions { base: Some("https://a.example/feed"), ..ReadOptions::tolerant() };
    let mut count = 0;
    for charset in [None, Some("iso-8859-1")] {
        let Ok(feed) = read_published(bytes, charset, &options) else { continue };
        let again = read_published(bytes, charset, &options);
        assert_eq!(again.as_ref(), Ok(&feed), "the same bytes are another feed");
        count += feed.entries.len();
    }
    count
}

/// Reads texts between the tags and quotes of a document as dates of an article. Nothing panics, and a date
/// in the form of RFC 3339 is read as itself.
pub fn dates(bytes: &[u8]) -> usize {
    let text = String::from_utf8_lossy(bytes);
    let is_short = |text: &&str| (4..256).contains(&text.len());
    text.split(['"', '\'', '<', '>', '&']).filter(is_short).take(200).map(date).sum()
}

fn date(text: &str) -> usize {
    let Ok(text) = serde_json::to_string(text) else { return 0 };
    let feed = format!("{{\"items\":[{{\"title\":\"a\",\"date_published\":{text}}}]}}");
    let Ok(feed) = read_published(feed.as_bytes(), None, &ReadOptions::tolerant()) else {
        return 0;
    };
    let found = feed.entries.first().and_then(|entry| entry.published);
    let known = Timestamp::parse(text.trim_matches('"'));
    if let Ok(known) = known {
        assert_eq!(found.map(Timestamp::unix_seconds), Some(known.unix_seconds()), "{text}");
    }
    usize::from(found.is_some())
}

/// Reads a line with a method, a path and a query, and a body, as a request in each dialect. Nothing panics,
/// and each refusal has an error status.
pub fn newsreader(bytes: &[u8]) -> usize {
    let end = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len());
    let (line, rest) = bytes.split_at(end);
    let line = String::from_utf8_lossy(line);
    let (method, target) = line.split_once(' ').unwrap_or(("GET", &line));
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let body = rest.get(1..).unwrap_or_default();
    let mut count = 0;
    for content_type in [None, Some("application/x-www-form-urlencoded"), Some("application/json")]
    {
        let asked = RawRequest { method, path, query, content_type, body };
        let outcomes = [
            google::read(&asked).map(drop),
            miniflux::read(&asked).map(drop),
            nextcloud::read(&asked).map(drop),
            ttrss::read(&asked).map(drop),
        ];
        for outcome in outcomes {
            match outcome {
                Ok(()) => count += 1,
                Err(fault) => assert!((400..500).contains(&fault.status()), "{fault}"),
            }
        }
    }
    count
}
