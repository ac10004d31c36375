//! Every parser on every document, unchanged and mutated: see [`feedsync_test::fuzz`].
//!
//! A failure names its seed; `FEEDSYNC_SEED` runs that one alone. `FEEDSYNC_LONG` runs more of them.

use std::ops::Range;
use std::panic::{catch_unwind, resume_unwind};

use feedsync_store::Until;
use feedsync_test::corpora::{Document, corpora, fixtures};
use feedsync_test::fuzz::{Body, TARGETS, round_trip};
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};

/// Pieces that mutations insert: the words of the formats, and input that is difficult for parsers.
const PIECES: [&[u8]; 48] = [
    b"<",
    b">",
    b"&",
    b"\"",
    b"'",
    b"=",
    b"/>",
    b"</",
    b"<!--",
    b"-->",
    b"<![CDATA[",
    b"]]>",
    b"<?",
    b"?>",
    b"<!DOCTYPE a [<!ENTITY b 'c'>]>",
    b"&b;",
    b"&#0;",
    b"&#x1F600;",
    b"xmlns=\"\"",
    b" xmlns:sx='u'",
    b" xml:base='../x'",
    b" xml:space='preserve'",
    b"<sx:sync/>",
    b"<sx:history sequence='1' by='a'/>",
    b"<sx:conflicts>",
    b"<fs:native format='json' sequence='1'>{}</fs:native>",
    b"updates=\"2147483648\"",
    b"version='18446744073709551615'",
    b"deleted=\"\"",
    b"noconflicts='true'",
    b"when='2005-02-30T00:00:00Z'",
    b"<outline>",
    b"<entry>",
    b"<item>",
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b"\\ud800",
    b"\"sync\":",
    b"null",
    b"1e9",
    b"\x00",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    "\u{201c}\r\n\u{85}\u{2028}".as_bytes(),
];

/// Changes a document in one to four places, usually so that it can still be read.
fn mutated(document: &[u8], others: &[Document], random: &mut SmallRng) -> Vec<u8> {
    let mut bytes = document.to_vec();
    for _ in 0..random.random_range(1..=4) {
        let at = random.random_range(0..=bytes.len());
        let end = bytes.len().min(at + random.random_range(0..=16));
        match random.random_range(0..16) {
            0 => drop(bytes.drain(at..end)),
            1 => drop(bytes.splice(at..end, piece(random))),
            2 => bytes.truncate(at),
            3 => bytes[at..end].iter_mut().for_each(|byte| *byte ^= 1 << random.random_range(0..8)),
            4 => drop(bytes.splice(at..at, piece(random))),
            5 => {
                if let Some(other) = others.choose(random).filter(|other| !other.bytes.is_empty()) {
                    let from = random.random_range(0..other.bytes.len());
                    let to = other.bytes.len().min(from + random.random_range(1..=256));
                    bytes.splice(at..at, other.bytes[from..to].iter().copied());
                }
            }
            6 | 7 => {
                let line = line_at(&bytes, at);
                bytes.drain(line);
            }
            8 | 9 => {
                let (line, to) = (line_at(&bytes, at), random.random_range(0..=bytes.len()));
                let copy = bytes[line].to_vec();
                let to = line_at(&bytes, to).start;
                bytes.splice(to..to, copy);
            }
            10 | 11 => {
                let value = value_at(&bytes, at);
                bytes.splice(value, piece(random));
            }
            _ => {
                for byte in &mut bytes[at..end] {
                    if byte.is_ascii_alphanumeric() && random.random_ratio(1, 4) {
                        *byte = *b"0129azAZ%.-+".choose(random).unwrap_or(byte);
                    }
                }
            }
        }
    }
    bytes
}

fn piece(random: &mut SmallRng) -> impl Iterator<Item = u8> + use<> {
    PIECES.choose(random).copied().unwrap_or_default().iter().copied()
}

/// Returns the line around a position: in our fixtures often a whole element or member.
fn line_at(bytes: &[u8], at: usize) -> Range<usize> {
    let start =
        bytes[..at].iter().rposition(|&byte| byte == b'\n').map_or(0, |newline| newline + 1);
    let end = bytes[at..].iter().position(|&byte| byte == b'\n');
    start..end.map_or(bytes.len(), |newline| at + newline + 1)
}

/// Returns the text between the next two quotes.
fn value_at(bytes: &[u8], at: usize) -> Range<usize> {
    let quote = |from: usize| {
        let found = bytes[from..].iter().position(|byte| b"\"'".contains(byte));
        found.map_or(bytes.len(), |place| from + place)
    };
    let start = bytes.len().min(quote(at) + 1);
    start..quote(start)
}

fn check(name: &str, body: Body, bytes: &[u8], what: &str) -> usize {
    catch_unwind(|| body(bytes)).unwrap_or_else(|cause| {
        eprintln!("target {name}, {what}: {}", String::from_utf8_lossy(bytes));
        resume_unwind(cause)
    })
}

#[test]
fn every_document_is_a_fixed_point_of_every_reader() {
    for (name, body) in TARGETS {
        let mut read = 0;
        for document in fixtures().into_iter().chain(corpora()) {
            read += check(name, body, &document.bytes, &document.path.display().to_string());
        }
        assert!(read > 0, "{name}: nothing was read");
    }
}

#[test]
fn mutated_documents_panic_nowhere_and_what_reads_is_a_fixed_point() {
    let own = fixtures();
    let mut documents = own.clone();
    documents.extend(corpora().into_iter().filter(|document| document.bytes.len() < 16 << 10));
    let rounds = if std::env::var_os("FEEDSYNC_LONG").is_some() { 1_000_000 } else { 100_000 };
    let mut read = [0; TARGETS.len()];
    let only = std::env::var("FEEDSYNC_SEED").ok().map(|seed| seed.parse().expect("a number"));
    let seeds = only.map_or(0..rounds, |seed: u64| seed..seed + 1);
    for seed in seeds {
        let mut random = SmallRng::seed_from_u64(seed);
        // Our own fixtures use every element: half of the rounds use them.
        let pool = if random.random() { &own } else { &documents };
        let document = pool.choose(&mut random).expect("fixtures");
        let bytes = mutated(&document.bytes, &documents, &mut random);
        let what = format!("FEEDSYNC_SEED={seed}, {}", document.path.display());
        for (index, (name, body)) in TARGETS.into_iter().enumerate() {
            read[index] += check(name, body, &bytes, &what);
        }
    }
    println!("items and values read and checked: {read:?}");
    // At least one in a hundred must be read. Otherwise the mutations are too strong for a target, or its
    // fixtures are too few among the others.
    let enough = read.iter().all(|&count| count as u64 > rounds / 100);
    assert!(only.is_some() || enough, "{read:?}");
}

#[test]
fn no_text_near_an_until_panics_and_what_parses_is_written_as_it_was() {
    let mut read = 0;
    for seed in 0..100_000 {
        let mut random = SmallRng::seed_from_u64(seed);
        let mut text = b"017636680001234561a2b3c4d-0000000000000000042".to_vec();
        for _ in 0..random.random_range(0..3) {
            let at = random.random_range(0..text.len());
            match random.random_range(0..8) {
                0 => drop(text.splice(at..at, piece(&mut random))),
                1 => drop(text.remove(at)),
                _ => text[at] = *b"0123456789abcdefg-".choose(&mut random).unwrap_or(&b'0'),
            }
        }
        read += round_trip::<Until>(&String::from_utf8_lossy(&text));
    }
    assert!((30_000..90_000).contains(&read), "{read}");
}
