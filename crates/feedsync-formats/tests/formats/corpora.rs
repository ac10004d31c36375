//! Web feeds, found through `FEEDSYNC_CORPORA`. Without that variable, our own fixtures are used.

use std::path::{Path, PathBuf};

use feedsync_core::Format;
use feedsync_formats::{
    Document, FeedDetails, FeedHead, FeedWriter, HeadMarkup, Mode, ReadError, ReadOptions, read,
    read_published,
};

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|extension| {
            ["xml", "opml", "atom", "rss", "rdf", "pox", "json"]
                .iter()
                .any(|&known| known == extension)
        }) {
            found.push(path);
        }
    }
}

/// Returns every document, in ascending order of paths.
fn corpus() -> Vec<(PathBuf, Vec<u8>)> {
    let mut paths = Vec::new();
    files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors"), &mut paths);
    match std::env::var_os("FEEDSYNC_CORPORA") {
        Some(folder) => {
            let own = paths.len();
            files(Path::new(&folder), &mut paths);
            assert!(paths.len() > own, "FEEDSYNC_CORPORA names a folder without feeds");
        }
        None => eprintln!("FEEDSYNC_CORPORA is not set: only our own fixtures are read"),
    }
    paths.sort();
    paths.into_iter().filter_map(|path| Some((path.clone(), std::fs::read(path).ok()?))).collect()
}

/// Whether the document's own header marks it as clean: `Expect: !Error` of the feed validator, or `Expect: not bozo`
/// of the feed parser.
fn calls_itself_clean(path: &Path, bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let expectation = text.lines().find_map(|line| line.trim().strip_prefix("Expect:"));
    let expectation = expectation.unwrap_or_default().trim();
    let folder = path.to_string_lossy();
    (folder.contains("feedvalidator") && expectation == "!Error")
        || (folder.contains("feedparser-wellformed") && expectation.starts_with("not bozo"))
}

/// Whether a document is not a supported feed: a single entry, RSS 1.1, CDF, or a document whose encoding only its
/// HTTP header declared.
fn is_beyond_us(path: &Path, bytes: &[u8]) -> bool {
    let not_a_feed = |error| {
        matches!(error, ReadError::UnknownFormat { found }
        if ["<entry>", "<Channel>", "<CHANNEL>"].iter().any(|root| found.contains(root)))
    };
    path.ends_with("encoding/http_text_xml_charset_2.xml")
        || read(bytes, None, &ReadOptions::tolerant()).is_err_and(not_a_feed)
}

#[test]
fn every_document_is_read_without_panic_and_written_unchanged() {
    let mut counts = [0; 3];
    for (path, bytes) in corpus() {
        for (index, mode) in [Mode::Strict, Mode::Tolerant].into_iter().enumerate() {
            let options = ReadOptions { mode, ..ReadOptions::strict() };
            if let Ok(document) = Document::read(&bytes, &options) {
                counts[index] += 1;
                let items = &document.feed().items;
                assert!(document.to_bytes_with(items) == bytes, "{}", path.display());
            }
        }
        counts[2] += 1;
    }
    let [strict, tolerant, all] = counts;
    eprintln!("{all} documents: {strict} read strictly, {tolerant} tolerantly");
    assert!(strict > 0 && tolerant >= strict);
}

#[test]
fn documents_that_are_marked_as_clean_are_accepted_in_tolerant_mode() {
    let mut refused = Vec::new();
    for (path, bytes) in corpus() {
        if calls_itself_clean(&path, &bytes)
            && !is_beyond_us(&path, &bytes)
            && let Err(error) = read(&bytes, None, &ReadOptions::tolerant())
        {
            refused.push((path, error));
        }
    }
    for (path, error) in &refused {
        eprintln!("{}: {error}", path.display());
    }
    assert!(refused.is_empty(), "{} refused", refused.len());
}

/// A newsreader shows every feed that can be read tolerantly, and further ones. All others are refused with the
/// reason.
#[test]
fn published_feeds_are_shown_or_refused_with_the_reason() {
    let (mut shown, mut mended, mut refused) = (0, 0, 0);
    for (path, bytes) in corpus() {
        let options =
            ReadOptions { base: Some("https://h.example/feed"), ..ReadOptions::tolerant() };
        let is_list = |format| matches!(format, Format::Opml | Format::Json);
        let known = read(&bytes, None, &options).ok().filter(|known| !is_list(known.format));
        match read_published(&bytes, None, &options) {
            Ok(feed) => {
                shown += 1;
                mended += usize::from(feed.repaired_fault.is_some());
                // Deleted items and blank items are not shown.
                let items = known.map(|known| (known.feed.plain_items, known.feed.items.len()));
                if let Some((plain, shared)) = items {
                    let count = feed.entries.len() + feed.blank;
                    assert!((plain..=plain + shared).contains(&count), "{}", path.display());
                }
            }
            Err(error) => {
                refused += 1;
                assert!(known.is_none(), "{}: {error}", path.display());
            }
        }
    }
    eprintln!("{shown} shown, {mended} of them mended, {refused} refused");
    assert!(shown > refused);
}

/// Returns a feed without items.
fn head_in(format: Format, details: &FeedDetails) -> String {
    let head = FeedHead {
        id: "urn:x:feed",
        title: "Some title that no feed has",
        updated: "2026-01-02T03:04:05Z".parse().unwrap(),
        author: "nobody",
        details: Some(details),
        self_link: None,
        next: None,
        links: &[],
        complete: false,
        sharing: None,
    };
    let (mut writer, mut out) = (FeedWriter::new(format), String::new());
    writer.begin(&mut out, &head);
    writer.end(&mut out);
    out
}

#[test]
fn details_of_every_document_come_back_in_every_format() {
    let (mut with_texts, mut with_markup) = (0, 0);
    for (path, bytes) in corpus() {
        let Ok(reading) = read(&bytes, None, &ReadOptions::tolerant()) else { continue };
        let details = FeedDetails { left_out: 0, ..reading.details };
        with_markup += usize::from(details.markup.is_some());
        with_texts += usize::from(!FeedDetails { markup: None, ..details.clone() }.is_empty());
        for format in Format::ALL {
            let text = head_in(format, &details);
            let again = read(text.as_bytes(), Some(format), &ReadOptions::strict())
                .unwrap_or_else(|error| panic!("{}: {error}: {text}", path.display()));
            let pieces = details.markup.iter().flat_map(|markup| markup.pieces_for(format));
            let markup = HeadMarkup::new(format, pieces).ok();
            let expected = FeedDetails { markup, ..details.clone() };
            assert_eq!(again.details, expected, "{}: {text}", path.display());
        }
    }
    eprintln!("{with_texts} documents with texts, {with_markup} with markup");
    assert!(std::env::var_os("FEEDSYNC_CORPORA").is_none() || with_texts.min(with_markup) > 0);
}
