//! The mapping applied to web feeds, found through `FEEDSYNC_CORPORA`, or to our test vectors if that is not set.
//! Their items first take part in sharing: each gets an `sx:sync` of its own.

use std::path::{Path, PathBuf};

use feedsync_core::{Format, Item, Payload};

use super::documents::through;
use crate::entry::{entry, is_rss};
use crate::options::{Limits, Mode, ReadOptions};
use crate::read;
use crate::xml::{Element, Namespace, Tree, decode};

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.path() {
            path if path.is_dir() => files(&path, found),
            path => found.push(path),
        }
    }
}

fn is_item(element: Element<'_, '_>) -> bool {
    match element.local() {
        "entry" => element.namespace() == Namespace::ATOM,
        "item" => is_rss(element.namespace()),
        "outline" => element.namespace() == Namespace::NONE,
        _ => false,
    }
}

fn is_enrolled(element: Element<'_, '_>) -> bool {
    element.child(Namespace::FEEDSYNC, "sync").is_some()
}

/// Returns the document as UTF-8 with `sx:sync` in every item.
fn enrolled(text: &str) -> Option<String> {
    let (tree, _) = Tree::parse(text, Mode::Tolerant, &Limits::default()).ok()?;
    let mut inserts = Vec::new();
    for (number, item) in
        tree.root().descendants().filter(|item| is_item(*item) && !is_enrolled(*item)).enumerate()
    {
        let sync = format!(
            "<sx:sync xmlns:sx=\"http://feedsync.org/2007/feedsync\" id=\"i{number:06}\" \
             updates=\"1\"><sx:history sequence=\"1\" by=\"c\"/></sx:sync>"
        );
        if text[item.start_tag_span()].ends_with("/>") {
            let end = item.span().end;
            inserts.push((end - 2..end, format!(">{sync}</{}>", item.name())));
        } else {
            let end = item.content_span().end;
            inserts.push((end..end, sync));
        }
    }
    inserts.sort_by_key(|(range, _)| range.start);
    let mut out = String::new();
    let mut from = 0;
    for (range, text_in) in inserts {
        out.push_str(&text[from..range.start]);
        out.push_str(&text_in);
        from = range.end;
    }
    out.push_str(&text[from..]);
    // The declaration is removed, since the text is now UTF-8.
    let declaration = out.find("?>").filter(|_| out.starts_with("<?xml"));
    Some(out.split_off(declaration.map_or(0, |end| end + 2)))
}

fn items(bytes: &[u8]) -> Option<Vec<Item<Payload>>> {
    let options = ReadOptions::tolerant();
    let (text, _) = decode(bytes, &options).ok()?;
    let reading = read(enrolled(&text)?.trim_start().as_bytes(), None, &options).ok()?;
    let mut items = reading.feed.items;
    // References that only a DTD defines are read as text. Strict documents cannot contain them.
    items.retain(|item| {
        Tree::parse(item.winner.payload.text(), Mode::Strict, &Limits::default()).is_ok()
    });
    items.sort_by(|left, right| left.id.cmp(&right.id));
    Some(items)
}

#[test]
fn items_of_real_feeds_survive_every_format_byte_for_byte() {
    let mut paths = Vec::new();
    match std::env::var_os("FEEDSYNC_CORPORA") {
        Some(folder) => files(Path::new(&folder), &mut paths),
        None => {
            eprintln!("FEEDSYNC_CORPORA is not set: only our own vectors are read");
            files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors"), &mut paths);
        }
    }
    let (mut count, mut real, mut told) = (0, 0, 0);
    for path in paths {
        let Some(items) = std::fs::read(&path).ok().as_deref().and_then(items) else { continue };
        for format in Format::ALL {
            let read = through(format, &items);
            assert!(read == items, "{} through {format}", path.display());
        }
        count += items.len();
        // Many documents of the other corpora lack fields on purpose.
        if path.components().any(|part| part.as_os_str() == "real-feeds") {
            real += items.len();
            told += items
                .iter()
                .map(|item| entry(&item.winner.payload))
                .filter(|view| view.title.is_some() || view.content.is_some())
                .count();
        }
    }
    eprintln!("{count} items; of {real} in real feeds {told} with a title or content");
    assert!(count > 0 && told * 100 >= real * 95, "{told} of {real}");
}
