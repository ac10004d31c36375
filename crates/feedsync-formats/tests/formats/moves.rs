//! Outlines that move in a FeedSync document.

use feedsync_core::{Incorporation, Item, Payload, incorporate_unbounded};
use feedsync_formats::{Document, ReadOptions};

const ROOT: &str = "<opml version=\"2.0\" xmlns:sx=\"http://feedsync.org/2007/feedsync\"><head>\
    <title>t</title></head><body>";

fn sync(id: &str, updates: u32) -> String {
    let history: String = (1..=updates)
        .rev()
        .map(|number| format!("<sx:history sequence=\"{number}\" by=\"x\"/>"))
        .collect();
    format!("<sx:sync id=\"{id}\" updates=\"{updates}\">{history}</sx:sync>")
}

fn outline(id: &str, updates: u32, inside: &str) -> String {
    format!("<outline text=\"{id}\">{}{inside}</outline>", sync(id, updates))
}

fn opml(outlines: &str) -> String {
    format!("{ROOT}{outlines}</body></opml>")
}

/// Returns the first document with the second merged into it.
fn merged(local: &str, incoming: &str) -> String {
    let read = |text: &str| Document::read(text.as_bytes(), &ReadOptions::strict()).unwrap();
    let (local, incoming) = (read(local), read(incoming));
    let mut items: Vec<Item<Payload>> = local.feed().items.clone();
    for item in &incoming.feed().items {
        let known = items.iter().position(|known| known.id == item.id);
        let item = match incorporate_unbounded(known.map(|at| &items[at]), item.clone()) {
            Incorporation::Unchanged => continue,
            Incorporation::Added(item)
            | Incorporation::Updated(item)
            | Incorporation::Conflict(item) => item,
            Incorporation::Refused(refusal) => panic!("{refusal}"),
        };
        match known {
            Some(at) => items[at] = item,
            None => items.push(item),
        }
    }
    String::from_utf8(local.to_bytes_with(&items)).unwrap()
}

/// Returns the ids with their depths, in document order.
fn shape(text: &str) -> Vec<String> {
    let (mut depth, mut shape) = (0_usize, Vec::new());
    for part in text.split('<').skip(1) {
        if part.starts_with("outline") && !part.trim_end().ends_with("/>") {
            let (_, rest) = part.split_once("text=\"").unwrap();
            shape.push(format!("{}{}", "-".repeat(depth), rest.split_once('"').unwrap().0));
            depth += 1;
        } else if part.starts_with("/outline") {
            depth -= 1;
        }
    }
    shape
}

#[test]
fn an_outline_moves_with_its_children_and_furniture_stays() {
    let (b, d) = (outline("b", 1, &outline("d", 1, "")), outline("c", 1, ""));
    let local = opml(&format!("{}<outline text=\"furniture\">{d}</outline>", outline("a", 1, &b)));
    let b = outline("b", 2, &outline("d", 1, ""));
    let inside = outline("c", 1, &b);
    let incoming =
        opml(&format!("{}<outline text=\"furniture\">{inside}</outline>", outline("a", 1, "")));
    let merged = merged(&local, &incoming);
    assert_eq!(shape(&merged), ["a", "furniture", "-c", "--b", "---d"], "{merged}");
    let read = Document::read(merged.as_bytes(), &ReadOptions::strict()).unwrap();
    assert!(read.diagnostics().is_empty() && read.refused().is_empty());
    assert_eq!(read.feed().items.len(), 4);
}

#[test]
fn moved_outlines_take_their_claimed_positions_among_those_that_stay() {
    let leaf = |id: &str| outline(id, 1, "");
    let local = opml(&[leaf("a"), leaf("b"), leaf("c"), outline("p", 1, &leaf("q"))].concat());
    for (incoming, expected) in [
        // To the first position of a folder, and out of it.
        (
            opml(
                &[leaf("a"), leaf("c"), outline("p", 1, &(outline("b", 2, "") + &leaf("q")))]
                    .concat(),
            ),
            ["a", "c", "p", "-b", "-q"].as_slice(),
        ),
        (
            opml(&[outline("q", 2, ""), leaf("a"), leaf("b"), leaf("c"), leaf("p")].concat()),
            &["q", "a", "b", "c", "p"],
        ),
        // Two outlines move into an outline without children, one after the other.
        (
            opml(
                &[
                    leaf("a"),
                    outline("c", 1, &(outline("b", 2, "") + &outline("p", 2, &leaf("q")))),
                ]
                .concat(),
            ),
            &["a", "c", "-b", "-p", "--q"],
        ),
    ] {
        let merged = merged(&local, &incoming);
        assert_eq!(shape(&merged), expected, "{merged}");
    }
}

#[test]
fn an_outline_is_not_moved_into_itself() {
    let local = opml(&outline("a", 1, &outline("b", 1, "")));
    let incoming = opml(&outline("b", 1, &outline("a", 2, "")));
    let merged = merged(&local, &incoming);
    assert_eq!(shape(&merged), ["a", "-b"], "{merged}");
}
