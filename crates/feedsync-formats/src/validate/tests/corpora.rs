//! No false faults in the examples of the specifications, in documents that FeedSync writes, and in feeds of others.

use std::path::{Path, PathBuf};

use super::findings;
use crate::options::{Limits, Mode, ReadOptions};
use crate::random::Random;
use crate::validate::atom::Checker;
use crate::validate::findings::Findings;
use crate::validate::{entry, validate};
use crate::xml::{Namespace, Tree, decode};
use crate::{Severity, read, sse};

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() { files(&path, found) } else { found.push(path) }
    }
    found.sort();
}

fn vectors() -> Vec<(PathBuf, Vec<u8>)> {
    let mut paths = Vec::new();
    files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors"), &mut paths);
    paths.into_iter().map(|path| (path.clone(), std::fs::read(path).unwrap())).collect()
}

/// Returns the documents of the corpora, if there are any.
fn corpus() -> Vec<(PathBuf, Vec<u8>)> {
    let mut paths = Vec::new();
    if let Some(folder) = std::env::var_os("FEEDSYNC_CORPORA") {
        files(Path::new(&folder), &mut paths);
    }
    paths.into_iter().filter_map(|path| Some((path.clone(), std::fs::read(path).ok()?))).collect()
}

#[test]
fn the_examples_of_the_texts_are_without_findings() {
    let mut count = 0;
    for (path, bytes) in vectors() {
        if path.ends_with("v02-start-tag-as-printed.rss") {
            continue;
        }
        let validation = validate(&bytes);
        assert!(validation.contents.is_ok(), "{}", path.display());
        assert_eq!(validation.findings, [], "{}", path.display());
        count += 1;
    }
    assert!(count > 20, "{count}");
    // SSE 2.2.2 and 5.2. The specification prints them with wrong weekdays and as parts of a channel.
    let sse = "<rss version=\"2.0\" xmlns:sx=\"http://www.microsoft.com/schemas/rss/sse\"><channel>\
        <sx:sharing since=\"Tue, 1 Nov 2004 09:43:33 GMT\" until=\"Fri, 1 Mar 2005 09:43:33 GMT\" version=\"0.91\">\
        <sx:related link=\"http://x.com/all.xml\" type=\"complete\"/>\
        <sx:related link=\"http://y.net/B.xml\" type=\"aggregated\" title=\"Family Contacts (Dad's Copy)\"/>\
        </sx:sharing><item><description>This is a test item</description>\
        <sx:sync id=\"0a7903db47fb0ae8\" version=\"4\" conflict=\"true\">\
        <sx:history when=\"Tue, 24 May 2005 09:43:33 GMT\" by=\"REO1750\">\
        <sx:update when=\"Mon, 23 May 2005 09:43:33 GMT\" by=\"REO1750\"/></sx:history><sx:conflicts>\
        <sx:conflict when=\"Tue, 24 May 2005 08:00:11 GMT\" by=\"GPM7383\" version=\"4\">\
        <item><description>lost</description></item></sx:conflict></sx:conflicts></sx:sync></item>\
        </channel></rss>";
    assert_eq!(findings(sse), [""; 0]);
}

#[test]
fn every_format_of_the_examples_that_we_write_is_without_findings() {
    for (path, bytes) in vectors() {
        let Ok(reading) = read(&bytes, None, &ReadOptions::strict()) else { continue };
        for format in feedsync_core::Format::ALL {
            let head = crate::FeedHead {
                id: "urn:uuid:60a76c80-d399-11d9-b93c-0003939e0aaa",
                title: "A & B",
                updated: "2005-05-21T11:43:33Z".parse().unwrap(),
                author: "Ray",
                details: None,
                self_link: Some("http://example.com/a?b&c"),
                next: None,
                links: &[],
                complete: true,
                sharing: reading.feed.sharing.as_ref(),
            };
            let mut writer = crate::FeedWriter::new(format);
            let mut out = String::new();
            writer.begin(&mut out, &head);
            reading.feed.items.iter().for_each(|item| writer.item(&mut out, item));
            writer.end(&mut out);
            assert_eq!(findings(&out), [""; 0], "{} as {format}", path.display());
        }
    }
}

/// Feeds of others that read without faults also have no misplaced elements. The exceptions are feeds that their own
/// corpus marks as wrong.
#[test]
fn feeds_of_others_gain_no_faults() {
    let (mut clean, mut wrong) = (0, Vec::new());
    for (path, bytes) in corpus() {
        let options = ReadOptions::strict();
        let has_fault =
            |all: &[crate::Diagnostic]| all.iter().any(|it| it.severity == Severity::Fault);
        let is_read = !sse::uses_sse(&bytes, &options)
            && read(&bytes, None, &options).is_ok_and(|reading| {
                reading.refused.is_empty() && !has_fault(&reading.diagnostics)
            });
        if is_read {
            clean += 1;
            if has_fault(&validate(&bytes).findings) {
                wrong.push(path);
            }
        }
    }
    eprintln!("{clean} feeds without a fault");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The entries of feeds that a corpus marks as valid are valid as entries. Only the author, which an entry document
/// requires, may be missing, since the feed may have it.
#[test]
fn entries_of_valid_feeds_of_others_have_no_faults() {
    let (mut entries, mut wrong) = (0, Vec::new());
    for (path, bytes) in corpus() {
        let is_atom = path.to_string_lossy().contains("feedvalidator/atom");
        let text = decode(&bytes, &ReadOptions::strict()).map(|(text, _)| text.into_owned());
        let Some(text) = text.ok().filter(|text| is_atom && text.contains("Expect: !Error")) else {
            continue;
        };
        let Ok((tree, _)) = Tree::parse(&text, Mode::Strict, &Limits::default()) else { continue };
        let root = tree.root();
        let all = root.children().chain(std::iter::once(root));
        for element in all.filter(|it| it.is(Namespace::ATOM, "entry")) {
            entries += 1;
            let mut found = Findings::default();
            entry::check(&mut Checker::new(&mut found), element);
            let mut list = Vec::new();
            found.join(&mut list, &text);
            let is_fault = |it: &&crate::Diagnostic| {
                it.severity == Severity::Fault && !it.message.contains("has an atom:author")
            };
            wrong.extend(list.iter().filter(is_fault).map(|it| format!("{}:{it}", path.display())));
        }
    }
    eprintln!("{entries} entries of valid feeds");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn damaged_documents_are_validated_without_panic() {
    let mut random = Random(7);
    let pieces = [
        "<sx:sync>",
        "</sx:sync>",
        "<entry>",
        "xmlns:sx='",
        "\"",
        "'",
        "<",
        ">",
        "&",
        "sx:",
        "é",
        "\u{0}",
        "<app:service xmlns:app='http://www.w3.org/2007/app'>",
        "{",
        "[",
        "since='2 May 2006'",
    ];
    for (_, bytes) in vectors() {
        for _ in 0..40 {
            let mut text = String::from_utf8_lossy(&bytes).into_owned();
            for _ in 0..=random.below(3) {
                let mut at = random.below(text.len() + 1);
                while !text.is_char_boundary(at) {
                    at -= 1;
                }
                if random.below(3) == 0 {
                    text.truncate(at)
                } else {
                    text.insert_str(at, random.of::<&str>(&pieces))
                }
            }
            let validation = validate(text.as_bytes());
            assert!(validation.findings.is_sorted_by_key(|it| it.position));
        }
    }
}
