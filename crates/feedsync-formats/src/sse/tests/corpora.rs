//! Web documents, found through `FEEDSYNC_CORPORA`, in which each item gets an `sx:sync`. Without
//! that variable, our own fixtures are used.

use std::path::{Path, PathBuf};

use feedsync_core::sse::Item;
use feedsync_core::{Format, Payload};

use super::*;
use crate::xml::{Tree, decode};
use crate::{Limits, Mode};

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.path() {
            path if path.is_dir() => files(&path, found),
            path => found.push(path),
        }
    }
}

/// Returns the document with an `sx:sync` of that version in every item that has none.
fn enrolled(text: &str, version: u8) -> Option<String> {
    let (tree, _) = Tree::parse(text, Mode::Tolerant, &Limits::default()).ok()?;
    let update = if version == 2 { "<sx:update by=\"c\"/>" } else { "" };
    let mut inserts = Vec::new();
    let items = tree.root().descendants().filter(|item| matches!(item.local(), "item" | "outline"));
    for (number, item) in items.enumerate() {
        if item.children().any(|child| child.namespace().is_sse()) {
            continue;
        }
        let sync = format!(
            "<sx:sync xmlns:sx=\"{HTTP}\" id=\"i{number:06}\" version=\"{version}\">\
             <sx:history by=\"c\">{update}</sx:history></sx:sync>"
        );
        let is_empty = text[item.start_tag_span()].ends_with("/>");
        if is_empty {
            let end = item.span().end;
            inserts.push((end - 2, end, format!(">{sync}</{}>", item.name())));
        } else {
            inserts.push((item.content_span().end, item.content_span().end, sync));
        }
    }
    inserts.sort();
    let mut out = String::new();
    let mut cursor = 0;
    for (start, end, insert) in inserts {
        out.push_str(&text[cursor..start]);
        out.push_str(&insert);
        cursor = end;
    }
    out.push_str(&text[cursor..]);
    Some(out)
}

#[test]
fn items_of_the_web_are_taken_over_as_they_are() {
    let mut paths = Vec::new();
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    files(&manifest.join("tests/vectors"), &mut paths);
    match std::env::var_os("FEEDSYNC_CORPORA") {
        Some(folder) => files(Path::new(&folder), &mut paths),
        None => eprintln!("FEEDSYNC_CORPORA is not set: only our own fixtures are read"),
    }
    paths.sort();
    let options = ReadOptions::tolerant();
    let (mut documents, mut outlines) = (0, 0);
    for path in paths {
        let Ok(bytes) = std::fs::read(&path) else { continue };
        if bytes.len() > 1 << 20 {
            continue;
        }
        let Ok((text, _)) = decode(&bytes, &options) else { continue };
        let Ok(plain) = Document::read(&bytes, &options) else { continue };
        assert_eq!(plain.merge(&plain).unwrap().bytes, bytes, "{path:?}");
        let (Some(older), Some(newer)) = (enrolled(&text, 1), enrolled(&text, 2)) else { continue };
        // The declaration is removed, since the text is now UTF-8.
        let read = |text: &str| {
            let declaration = text.find("?>").filter(|_| text.starts_with("<?xml"));
            let rest = declaration.map_or(text, |end| &text[end + 2..]);
            Document::read(rest.as_bytes(), &options).unwrap_or_else(|e| panic!("{path:?}: {e}"))
        };
        let (older, newer) = (read(&older), read(&newer));
        documents += 1;
        outlines += usize::from(older.format() == Format::Opml);
        assert_eq!(newer.merge(&older).unwrap().bytes, newer.as_bytes(), "{path:?}");
        let merged = older.merge(&newer).unwrap();
        let taken = Document::read(&merged.bytes, &options)
            .unwrap_or_else(|error| panic!("{path:?}: {error}"));
        let all = |document: &Document| -> Vec<Item<Payload>> {
            let mut items: Vec<_> = document.items().cloned().collect();
            items.sort_by(|x, y| x.id.cmp(&y.id));
            items
        };
        assert_eq!(all(&taken), all(&newer), "{path:?}");
        assert_eq!(taken.plain_items(), older.plain_items(), "{path:?}");
    }
    eprintln!("{documents} documents, {outlines} of them outlines");
    assert!(documents > 0);
}
