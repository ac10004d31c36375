//! Feeds of the web, found through `FEEDSYNC_CORPORA`; without it, our own fixtures.

mod support;

use std::path::{Path, PathBuf};

use feedsync_formats::{Document, Mode, ReadError, ReadOptions, read};

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

/// Every document, ascending by path.
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

/// Whether the document's own header calls it clean: the feed validator's `Expect: !Error`, the feed
/// parser's `Expect: not bozo`.
fn calls_itself_clean(path: &Path, bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let expectation = text.lines().find_map(|line| line.trim().strip_prefix("Expect:"));
    let expectation = expectation.unwrap_or_default().trim();
    let folder = path.to_string_lossy();
    (folder.contains("feedvalidator") && expectation == "!Error")
        || (folder.contains("feedparser-wellformed") && expectation.starts_with("not bozo"))
}

/// What is not a feed of ours: lone entries, RSS 1.1, CDF, and a document whose encoding only its HTTP
/// header told.
fn is_beyond_us(path: &Path, bytes: &[u8]) -> bool {
    let not_a_feed = |error| {
        matches!(error, ReadError::UnknownFormat { found }
        if ["<entry>", "<Channel>", "<CHANNEL>"].iter().any(|root| found.contains(root)))
    };
    path.ends_with("encoding/http_text_xml_charset_2.xml")
        || read(bytes, None, &ReadOptions::tolerant()).is_err_and(not_a_feed)
}

#[test]
fn every_document_reads_without_panic_and_what_reads_comes_out_as_it_came_in() {
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
fn what_calls_itself_clean_is_accepted_in_tolerant_mode() {
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

/// One step of mutation: pieces of markup put in, bytes changed, spans cut out or repeated.
fn mutate(bytes: &mut Vec<u8>, random: &mut impl FnMut(usize) -> usize) {
    const PIECES: [&[u8]; 24] = [
        b"<",
        b">",
        b"&",
        b"\"",
        b"'",
        b"/>",
        b"]]>",
        b"<![CDATA[",
        b"<!--",
        b"-->",
        b"</item>",
        b"<entry>",
        b"<outline>",
        b"</sx:sync>",
        b"<sx:conflicts>",
        b" updates='0'",
        b" id=''",
        b" xmlns=''",
        b" xmlns:sx='urn:x'",
        b" xml:base='../x'",
        b"&#x20;",
        b"\xff",
        b"\0",
        b"\n",
    ];
    let at = random(bytes.len() + 1);
    match random(5) {
        0 | 1 => {
            let piece = PIECES[random(PIECES.len())];
            bytes.splice(at..at, piece.iter().copied());
        }
        2 => {
            let end = (at + random(64)).min(bytes.len());
            bytes.drain(at..end);
        }
        3 => {
            let end = (at + random(400)).min(bytes.len());
            let copy = bytes[at..end].to_vec();
            bytes.splice(at..at, copy);
        }
        _ => {
            if let Some(byte) = bytes.get_mut(at) {
                *byte = b"0a<\"& \xe9\x01"[random(8)];
            }
        }
    }
}

#[test]
fn mutated_documents_never_panic_and_what_reads_is_a_fixed_point() {
    let seed = std::env::var("FEEDSYNC_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed: u64 = seed.unwrap_or(0x5eed_f00d);
    eprintln!("FEEDSYNC_SEED={seed}");
    let mut state = seed | 1;
    let mut random = |bound: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % bound.max(1) as u64) as usize
    };
    let corpus = corpus();
    let (own, others): (Vec<_>, Vec<_>) =
        corpus.iter().filter(|(_, bytes)| bytes.len() < 20_000).partition(|(_, bytes)| {
            let name = b"http://feedsync.org/2007/feedsync";
            bytes.windows(name.len()).any(|window| window == name)
        });
    for round in 0..40_000 {
        let pool = if round % 3 == 0 && !others.is_empty() { &others } else { &own };
        let mut bytes = pool[random(pool.len())].1.clone();
        for _ in 0..=random(3) {
            mutate(&mut bytes, &mut random);
        }
        support::fuzz::read_write_read(&bytes);
    }
}
