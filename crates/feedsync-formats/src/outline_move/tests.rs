//! Moves behave as in a tree: impossible moves are refused with their reason, and moves read back as they were
//! written.

use std::collections::BTreeMap;

use feedsync_core::{By, Creation, Edit, Stamp, Timestamp};

use super::*;
use crate::random::Random;
use crate::{Document, ReadOptions, nest, read};

fn placed(text: &str, parent: Option<&str>) -> Option<String> {
    let parent = parent.map(|id| ItemId::new(id).unwrap());
    let payload = with_place(&Payload::from_parsed(Format::Opml, text), parent.as_ref(), 7)?;
    Some(payload.text().to_string())
}

#[test]
fn a_claim_replaces_the_one_before_and_every_other_byte_stays() {
    for (before, top, inside) in [
        (
            "<outline text='a' />",
            "<outline xmlns:fs=\"urn:feedsync:1\" fs:position=\"7\" text='a' />",
            "<outline xmlns:fs=\"urn:feedsync:1\" fs:parent=\"b\" fs:position=\"7\" text='a' />",
        ),
        (
            "<outline text='a'  fs:parent='x' xmlns:fs='urn:feedsync:1' c='d'\n fs:position='1'><x/></outline>",
            "<outline text='a' xmlns:fs='urn:feedsync:1' fs:position=\"7\" c='d'><x/></outline>",
            "<outline text='a' xmlns:fs='urn:feedsync:1' fs:parent=\"b\" fs:position=\"7\" c='d'><x/></outline>",
        ),
        (
            "<outline xmlns:o='urn:feedsync:1' o:parent='x'/>",
            "<outline xmlns:fs=\"urn:feedsync:1\" fs:position=\"7\" xmlns:o='urn:feedsync:1'/>",
            "<outline xmlns:fs=\"urn:feedsync:1\" fs:parent=\"b\" fs:position=\"7\" xmlns:o='urn:feedsync:1'/>",
        ),
    ] {
        assert_eq!(placed(before, None).as_deref(), Some(top));
        assert_eq!(placed(before, Some("b")).as_deref(), Some(inside));
        assert_eq!(claim(&Payload::from_parsed(Format::Opml, top)).position, Some(7));
    }
    assert_eq!(placed("<outline xmlns:fs='urn:other' fs:x='y'/>", None), None);
    assert_eq!(placed("<outline", None), None);
}

fn id(number: usize) -> ItemId {
    ItemId::new(&format!("o{number}")).unwrap()
}

fn stamp(number: usize) -> Stamp {
    let when = Timestamp::from_unix_seconds(0).unwrap();
    Stamp::new(when, By::new(&format!("x{number}")).unwrap())
}

/// Returns a document with outlines at the top, as written by other software or by FeedSync.
fn document(count: usize, is_ours: bool) -> String {
    let ours = match is_ours {
        true => " xmlns:fs=\"urn:feedsync:1\" fs:self-contained=\"true\"",
        false => "",
    };
    let outlines: String = (0..count)
        .map(|number| {
            format!(
                "<outline text=\"o{number}\"><sx:sync id=\"o{number}\" updates=\"1\">\
                 <sx:history sequence=\"1\" by=\"x\"/></sx:sync></outline>\n"
            )
        })
        .collect();
    format!(
        "<opml version=\"2.0\" xmlns:sx=\"http://feedsync.org/2007/feedsync\"{ours}><head><title>t</title></head>\
         <body>{outlines}</body></opml>"
    )
}

fn items(text: &str) -> Vec<Item<Payload>> {
    let reading = read(text.as_bytes(), Some(Format::Opml), &ReadOptions::strict()).unwrap();
    assert!(reading.refused.is_empty(), "{:?}", reading.refused);
    reading.feed.items
}

/// Returns the outlines of each parent in document order. The key of the outlines at the top is `None`.
fn nesting(text: &str) -> BTreeMap<Option<ItemId>, Vec<ItemId>> {
    let (mut open, mut children) = (Vec::new(), BTreeMap::<_, Vec<_>>::new());
    for part in text.split('<') {
        if part.starts_with("outline") {
            let (_, name) = part.split_once(" text=\"").unwrap();
            let name = ItemId::new(name.split_once('"').unwrap().0).unwrap();
            children.entry(open.last().cloned()).or_default().push(name.clone());
            open.push(name);
        } else if part.starts_with("/outline") {
            open.pop();
        }
    }
    children
}

/// Like `nesting`, for a feed that is written from the items.
fn nesting_anew(text: &str) -> BTreeMap<Option<ItemId>, Vec<ItemId>> {
    let places: Vec<_> = items(text).iter().map(OutlinePosition::of).collect();
    let (mut open, mut children) = (Vec::new(), BTreeMap::<_, Vec<_>>::new());
    for nested in nest(&places) {
        let id = places[nested.index].id().clone();
        open.truncate(nested.depth);
        children.entry(open.last().cloned()).or_default().push(id.clone());
        open.push(id);
    }
    children
}

/// A tree as a model.
#[derive(Debug, Default)]
struct Model {
    children: BTreeMap<Option<ItemId>, Vec<ItemId>>,
    parents: BTreeMap<ItemId, Option<ItemId>>,
}

impl Model {
    fn is_within(&self, id: &ItemId, other: &ItemId) -> bool {
        let mut at = Some(id.clone());
        while let Some(here) = at {
            if here == *other {
                return true;
            }
            at = self.parents[&here].clone();
        }
        false
    }

    /// Moves an outline, or returns the reason why it cannot be moved.
    fn move_to(&mut self, id: &ItemId, under: Option<&ItemId>) -> Result<(), MoveError> {
        let id = id.clone();
        match (under, &self.parents[&id]) {
            (Some(parent), _) if *parent == id => return Err(MoveError::Itself(id)),
            (Some(parent), own) if own.as_ref() == Some(parent) => {
                return Err(MoveError::Already { id, parent: parent.clone() });
            }
            (Some(parent), _) if self.is_within(parent, &id) => {
                return Err(MoveError::Descendant { id, parent: parent.clone() });
            }
            (None, None) => return Err(MoveError::AtTop(id)),
            _ => {}
        }
        let before = self.parents.insert(id.clone(), under.cloned()).unwrap();
        self.children.get_mut(&before).unwrap().retain(|other| *other != id);
        self.children.entry(under.cloned()).or_default().push(id);
        self.children.retain(|_, children| !children.is_empty());
        Ok(())
    }
}

#[test]
fn moves_of_a_document_are_those_of_a_tree_and_read_back_as_they_were_written() {
    for seed in 0..300 {
        let mut random = Random(seed);
        let count = 2 + random.below(8);
        let mut text = document(count, seed % 2 == 0);
        let mut model = Model::default();
        model.children.insert(None, (0..count).map(id).collect());
        model.parents = (0..count).map(|number| (id(number), None)).collect();
        for turn in 0..20 {
            let (moved, parent) = (id(random.below(count)), id(random.below(count)));
            let under = (random.below(4) > 0).then_some(&parent);
            let before = items(&text);
            let places: Vec<_> = before.iter().map(OutlinePosition::of).collect();
            let mut item = before.into_iter().find(|item| item.id == moved).unwrap();
            let payload = move_outline(&places, &item, under);
            let expected = model.move_to(&moved, under);
            assert_eq!(payload.as_ref().err(), expected.as_ref().err(), "seed {seed} turn {turn}");
            let Ok(payload) = payload else { continue };
            item.update(&stamp(turn), Edit::from(payload)).unwrap();
            let document = Document::read(text.as_bytes(), &ReadOptions::strict()).unwrap();
            text = String::from_utf8(document.to_bytes_with(std::slice::from_ref(&item))).unwrap();
            assert_eq!(nesting(&text), model.children, "seed {seed} turn {turn}: {text}");
            assert_eq!(nesting_anew(&text), model.children, "seed {seed} turn {turn}: {text}");
            let read = items(&text).into_iter().find(|read| read.id == moved);
            assert_eq!(read, Some(item), "seed {seed} turn {turn}");
        }
    }
}

#[test]
fn impossible_moves_are_refused_with_their_reason() {
    let stamp = stamp(0);
    let item = |number: usize, format: Format, text: &str| {
        let payload = Payload::from_parsed(format, text);
        Item::create(id(number), Creation::default(), &stamp, payload).unwrap()
    };
    let entry = item(0, Format::Atom, "<entry xmlns=\"http://www.w3.org/2005/Atom\"/>");
    let mut deleted = item(1, Format::Opml, "<outline text=\"a\"/>");
    deleted.winner.deleted = true;
    let outline = item(2, Format::Opml, "<outline text=\"b\"/>");
    let odd = item(3, Format::Opml, "<outline xmlns:fs=\"urn:x\" fs:y=\"z\"/>");
    let places: Vec<_> =
        [&entry, &deleted, &outline, &odd].into_iter().map(OutlinePosition::of).collect();
    let refused = |item: &Item<Payload>, under: usize| {
        move_outline(&places, item, Some(&id(under))).unwrap_err()
    };
    assert_eq!(refused(&entry, 2), MoveError::NoOutline { id: id(0), format: Format::Atom });
    assert_eq!(refused(&outline, 1), MoveError::DeletedParent(id(1)));
    assert_eq!(refused(&outline, 9), MoveError::NoParent(id(9)));
    assert_eq!(refused(&odd, 2), MoveError::Prefix(id(3)));
    assert!(move_outline(&places, &outline, Some(&id(0))).is_ok());
}

#[test]
fn an_outline_that_would_nest_too_deeply_stays() {
    let chain: Vec<_> = (0..=MAX_OUTLINE_DEPTH)
        .map(|number| {
            let payload = Payload::from_parsed(Format::Opml, "<outline text=\"a\"/>");
            let above = number.checked_sub(1).map(id);
            let payload = with_place(&payload, above.as_ref(), 0).unwrap();
            Item::create(id(number), Creation::default(), &stamp(0), payload).unwrap()
        })
        .collect();
    let lone = Payload::from_parsed(Format::Opml, "<outline text=\"b\"/>");
    let lone = Item::create(id(200), Creation::default(), &stamp(0), lone).unwrap();
    let mut pair = lone.clone();
    pair.id = id(201);
    let inner = Payload::from_parsed(Format::Opml, "<outline text=\"c\"/>");
    let inner = with_place(&inner, Some(&pair.id), 0).unwrap();
    let inner = Item::create(id(202), Creation::default(), &stamp(0), inner).unwrap();
    let all = chain.iter().chain([&lone, &pair, &inner]);
    let places: Vec<_> = all.map(OutlinePosition::of).collect();
    assert!(move_outline(&places, &lone, Some(&id(MAX_OUTLINE_DEPTH - 1))).is_ok());
    let refused = |item: &Item<Payload>, under| move_outline(&places, item, Some(&id(under)));
    assert_eq!(refused(&lone, MAX_OUTLINE_DEPTH), Err(MoveError::TooDeep(id(200))));
    assert!(refused(&pair, MAX_OUTLINE_DEPTH - 2).is_ok());
    assert_eq!(refused(&pair, MAX_OUTLINE_DEPTH - 1), Err(MoveError::TooDeep(id(201))));
}

#[test]
fn claims_that_go_in_a_circle_end_the_search() {
    let item = |number: usize, parent: usize| {
        let payload = Payload::from_parsed(Format::Opml, "<outline text=\"a\"/>");
        let payload = with_place(&payload, Some(&id(parent)), 0).unwrap();
        Item::create(id(number), Creation::default(), &stamp(0), payload).unwrap()
    };
    let items = [item(0, 1), item(1, 2), item(2, 0), item(3, 9)];
    let places: Vec<_> = items.iter().map(OutlinePosition::of).collect();
    let moved = move_outline(&places, &items[3], Some(&id(0))).unwrap();
    assert_eq!(claim(&moved).parent.as_deref(), Some("o0"));
    assert!(matches!(
        move_outline(&places, &items[0], Some(&id(2))),
        Err(MoveError::Descendant { .. })
    ));
    assert!(move_outline(&places, &items[0], None).is_ok());
}

#[test]
fn a_new_outline_is_placed_after_all_others_at_the_top() {
    let placed = |number: usize, text: &str, places: &[OutlinePosition]| {
        with_last_position(places, &id(number), Payload::from_parsed(Format::Opml, text))
    };
    let first = placed(0, "<outline/>", &[]);
    assert_eq!((claim(&first).parent, claim(&first).position), (None, Some(0)));
    let first = Item::create(id(0), Creation::default(), &stamp(0), first).unwrap();
    let places = [OutlinePosition::of(&first)];
    assert_eq!(claim(&placed(1, "<outline/>", &places)).position, Some(1));
    let claims = "<outline xmlns:fs=\"urn:feedsync:1\" fs:parent=\"o0\"/>";
    assert_eq!(placed(1, claims, &places).text(), claims);
    let entry = Payload::from_parsed(Format::Json, "{}");
    assert_eq!(with_last_position(&places, &id(1), entry.clone()), entry);
}
