//! Properties of random documents: the merged document can be read, contains the items of the model, is nested
//! according to the positions, and does not change when merged again.

use std::collections::BTreeMap;

use feedsync_core::Payload;
use feedsync_core::sse::{Item, Tree, merge, order};

use super::outlines::nested_claims;
use super::*;
use crate::random::Random;
use crate::sse::plan::plan;

fn one_in(random: &mut Random, bound: usize) -> bool {
    random.below(bound) == 0
}

const IDS: [&str; 8] = ["a", "b", "c", "d", "e", "f", "g", "h"];

/// Returns the start tag of an element, sometimes with its own declarations and markup.
fn element(random: &mut Random, name: &str, text: &str) -> String {
    let mut tag = format!("<{name} text=\"{text}\"");
    if one_in(random, 6) {
        tag.push_str(" xmlns:m=\"urn:m\" m:x=\"1\"");
    }
    if one_in(random, 10) {
        tag.push_str(" xml:lang=\"de\"");
    }
    if one_in(random, 10) {
        tag.push_str(" xmlns:sx=\"https://www.microsoft.com/schemas/rss/sse\"");
    }
    tag.push('>');
    if one_in(random, 4) {
        tag.push_str("<n:note xmlns:n=\"urn:n\">x<![CDATA[<y>]]></n:note>");
    }
    tag
}

fn stamped(random: &mut Random, id: &str, who: &str) -> String {
    let mut by = vec!["O"];
    for _ in 0..random.below(3) {
        by.insert(0, if one_in(random, 3) { "S" } else { who });
    }
    let deleted = if one_in(random, 8) { " deleted=\"true\"" } else { "" };
    sync(id, &by, deleted)
}

/// Returns a forest of outlines. Some of them are furniture, and one may be refused.
fn forest(random: &mut Random, ids: &mut Vec<&'static str>, who: &str, depth: usize) -> String {
    let mut out = String::new();
    while !ids.is_empty() && !one_in(random, 3) {
        out.push_str("\n  ");
        if one_in(random, 7) {
            out.push_str(&element(random, "outline", "furniture"));
            if one_in(random, 3) {
                out.push_str("<sx:sync id=\"\"/>");
            }
        } else {
            let id = ids.swap_remove(random.below(ids.len()));
            out.push_str(&element(random, "outline", &format!("{id} by {who}")));
            out.push_str(&stamped(random, id, who));
        }
        if depth < 6 && one_in(random, 2) {
            out.push_str(&forest(random, ids, who, depth + 1));
        }
        out.push_str("</outline>");
    }
    out
}

fn body(random: &mut Random, who: &str) -> String {
    let inside = forest(random, &mut IDS.to_vec(), who, 0);
    let root = if one_in(random, 3) { " xmlns:m=\"urn:other\" xml:lang=\"en\"" } else { "" };
    opml(&inside).replacen("<opml", &format!("<opml{root}"), 1)
}

fn channel(random: &mut Random, who: &str) -> String {
    let mut ids = IDS.to_vec();
    let mut inside = String::new();
    while !one_in(random, 5) && !ids.is_empty() {
        let id = ids.swap_remove(random.below(ids.len()));
        inside.push_str(&element(random, "item", &format!("{id} by {who}")));
        inside.push_str(&stamped(random, id, who));
        inside.push_str("</item>\n");
    }
    rss(&inside)
}

fn items(document: &Document) -> BTreeMap<String, Item<Payload>> {
    document.items().map(|item| (item.id.to_string(), item.clone())).collect()
}

/// Returns the properties of an item, and its records without their context.
fn essence(item: &Item<Payload>) -> impl PartialEq + std::fmt::Debug {
    let mut records: Vec<_> =
        item.conflicts.iter().map(|record| (record.version, record.stamp.clone())).collect();
    records.sort();
    (item.version, item.deleted, item.conflict, item.history.clone(), item.payload.clone(), records)
}

fn check(seed: u64, local: &str, incoming: &str) -> String {
    let (ours, theirs) = (read(local), read(incoming));
    let result = ours.merge(&theirs).unwrap();
    let text = String::from_utf8(result.bytes).unwrap();
    let context =
        format!("seed {seed}\n--- local\n{local}\n--- incoming\n{incoming}\n--- merged\n{text}");
    let document = Document::read(text.as_bytes(), &ReadOptions::strict())
        .unwrap_or_else(|error| panic!("{error}\n{context}"));
    assert_eq!(document.refused().len(), ours.refused().len(), "{context}");
    assert_eq!(document.plain_items(), ours.plain_items(), "{context}");
    let mut expected = items(&ours);
    for (id, item) in items(&theirs) {
        let merged = merge(expected.remove(&id), item).unwrap().0;
        expected.insert(id, merged);
    }
    for id in &result.moved {
        expected.get_mut(id.as_str()).unwrap().conflict = true;
    }
    let found = items(&document);
    assert_eq!(found.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>(), "{context}");
    for (id, item) in &expected {
        assert_eq!(essence(&found[id]), essence(item), "{context}");
    }
    let tree: Tree = plan(&ours, &theirs).tree;
    assert_eq!(order(&nested_claims(&text)), tree, "{context}");
    let again = document.merge(&theirs).unwrap();
    assert_eq!(String::from_utf8(again.bytes).unwrap(), text, "{context}");
    text
}

/// Merges in both directions, then the results, and once more.
fn check_all(seed: u64, here: &str, there: &str) {
    let (at_here, at_there) = (check(seed, here, there), check(seed, there, here));
    let (at_here, at_there) = (check(seed, &at_here, &at_there), check(seed, &at_there, &at_here));
    check(seed, &at_here, &at_there);
}

#[test]
fn merged_outlines_and_their_positions_match_the_model() {
    for seed in 1..=1_000 {
        let random = &mut Random(seed);
        let (local, incoming) = (body(random, "L"), body(random, "I"));
        check_all(seed, &local, &incoming);
    }
}

#[test]
fn merged_channels_match_the_model() {
    for seed in 1..=500 {
        let random = &mut Random(seed);
        let (local, incoming) = (channel(random, "L"), channel(random, "I"));
        check_all(seed, &local, &incoming);
    }
}

#[test]
fn broken_documents_are_refused_or_read_and_never_merge_into_broken_ones() {
    let mut read_at_all = 0;
    for seed in 1..=2_000 {
        let random = &mut Random(seed);
        let whole = read(&body(random, "L"));
        let mut bytes = body(random, "I").into_bytes();
        for _ in 0..=random.below(3) {
            let at = random.below(bytes.len());
            match random.below(3) {
                0 => bytes[at] = b"<>\"'=/ a1:&;x"[random.below(13)],
                1 => drop(bytes.remove(at)),
                _ => {
                    let from = random.below(bytes.len());
                    let to = (from + random.below(40)).min(bytes.len());
                    let piece = bytes[from..to].to_vec();
                    bytes.splice(at..at, piece);
                }
            }
        }
        for options in [ReadOptions::strict(), ReadOptions::tolerant()] {
            let Ok(broken) = Document::read(&bytes, &options) else { continue };
            read_at_all += 1;
            for (local, incoming) in [(&whole, &broken), (&broken, &whole)] {
                let merged = local.merge(incoming).unwrap().bytes;
                if let Err(error) = Document::read(&merged, &options) {
                    panic!("seed {seed}: {error}\n{}", String::from_utf8_lossy(&merged));
                }
            }
            broken.upgraded().for_each(drop);
        }
    }
    assert!(read_at_all > 500, "{read_at_all}");
}
