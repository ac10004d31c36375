//! An endpoint that knows SSE 0.91 alone: an item set, the rules of the specification, and its own writer of
//! RSS.

use std::collections::{BTreeMap, BTreeSet};

use feedsync_core::sse::{
    Change, Conflict, Date, Item, NAMESPACE, NAMESPACE_AS_PRINTED, Stamp, merge,
};
use feedsync_core::{By, Format, ItemId, Payload};
use feedsync_formats::ReadOptions;
use feedsync_formats::sse::Document;

use super::peer::number;
use super::truth::{EditNumber, Truth};

pub(crate) struct SsePeer {
    by: By,
    /// Number of `sx:update`s that it keeps of its own edits; `None` keeps all.
    keep: Option<usize>,
    namespace: &'static str,
    pub(crate) items: BTreeMap<ItemId, Item<Payload>>,
    /// The last `until` of each feed that it read.
    until: BTreeMap<usize, Date>,
    /// Edits that a rule of SSE discarded before anybody saw them.
    pub(crate) given_up: BTreeSet<EditNumber>,
}

impl SsePeer {
    pub(crate) fn new(name: &str, keep: Option<usize>, is_printed: bool) -> Self {
        Self {
            by: By::new(name).unwrap(),
            keep,
            namespace: if is_printed { NAMESPACE_AS_PRINTED } else { NAMESPACE },
            items: BTreeMap::new(),
            until: BTreeMap::new(),
            given_up: BTreeSet::new(),
        }
    }

    fn stamp(&self, now: &Date) -> Stamp {
        Stamp::signed(now.clone(), self.by.clone())
    }

    pub(crate) fn create(&mut self, id: ItemId, now: &Date, truth: &mut Truth) {
        let edit = truth.next();
        let item = Item::create(id.clone(), content(edit), self.stamp(now));
        self.items.insert(id.clone(), item);
        truth.made(&id, edit, [], false);
    }

    /// Edits the shown version, which resolves all kept conflicts (5).
    pub(crate) fn edit(&mut self, id: &ItemId, deleted: bool, now: &Date, truth: &mut Truth) {
        let (stamp, keep, edit) = (self.stamp(now), self.keep, truth.next());
        let Some(item) = self.items.get_mut(id) else { return };
        let seen = numbers(item);
        let change = Change { payload: Some(content(edit)), deleted, stamp, keep };
        item.change(change).unwrap();
        truth.made(id, edit, seen, deleted);
    }

    /// Returns its whole set as a feed.
    pub(crate) fn publish(&self, now: &Date) -> String {
        let mut out = format!(
            "<rss version=\"2.0\" xmlns:sx=\"{}\"><channel><title>T</title><link>http://a/</link>\
             <description>D</description><sx:sharing version=\"0.91\" until=\"{now}\"/>",
            self.namespace
        );
        for item in self.items.values() {
            let text = item.payload.text().strip_suffix("</item>").expect("an item");
            out.push_str(text);
            let flag =
                |name: &str, is: bool| if is { format!(" {name}=\"true\"") } else { String::new() };
            out.push_str(&format!(
                "<sx:sync id=\"{}\" version=\"{}\"{}{}><sx:history{}>",
                item.id,
                item.version,
                flag("deleted", item.deleted),
                flag("conflict", item.conflict),
                stamped(&item.history.latest),
            ));
            for update in &item.history.updates {
                out.push_str(&format!("<sx:update{}/>", stamped(update)));
            }
            out.push_str("</sx:history>");
            if !item.conflicts.is_empty() {
                out.push_str("<sx:conflicts>");
                for Conflict { version, stamp, payload } in &item.conflicts {
                    let data = payload.as_ref().map_or("", |payload| payload.text());
                    let stamp = stamped(stamp);
                    out.push_str(&format!(
                        "<sx:conflict version=\"{version}\"{stamp}>{data}</sx:conflict>"
                    ));
                }
                out.push_str("</sx:conflicts>");
            }
            out.push_str("</sx:sync></item>");
        }
        out.push_str("</channel></rss>");
        out
    }

    /// Incorporates a feed (3.1, 4.4). Returns whether it may lack something, so that the complete one is to
    /// be read.
    pub(crate) fn read(&mut self, from: usize, text: &str, truth: &Truth) -> bool {
        let document = Document::read(text.as_bytes(), &ReadOptions::strict()).expect("SSE");
        assert!(document.refused().is_empty(), "{:?}", document.refused());
        let sharing = document.sharing().cloned().unwrap_or_default();
        let known = self.until.get(&from);
        let is_behind = match (&sharing.since, known) {
            (None, _) => false,
            (Some(_), None) => true,
            (Some(_), Some(known)) => sharing.leaves_a_gap_after(known),
        };
        if !is_behind && let Some(until) = sharing.until {
            let known = known.map(Date::timestamp);
            assert!(known.is_none_or(|known| until.timestamp() >= known), "until never falls (S8)");
            self.until.insert(from, until);
        }
        for item in document.items() {
            let before = self.items.get(&item.id).map(numbers).unwrap_or_default();
            let offered = numbers(item);
            let local = self.items.remove(&item.id);
            let (merged, _) = merge(local, item.clone()).unwrap();
            let now = numbers(&merged);
            let is_open = truth.open(&item.id);
            let lost = before.union(&offered).filter(|edit| !now.contains(edit));
            self.given_up.extend(lost.filter(|edit| is_open.contains(edit)));
            self.items.insert(item.id.clone(), merged);
        }
        is_behind
    }
}

fn stamped(stamp: &Stamp) -> String {
    let when = stamp.when().map(|when| format!(" when=\"{when}\"")).unwrap_or_default();
    let by = stamp.by().map(|by| format!(" by=\"{by}\"")).unwrap_or_default();
    when + &by
}

fn content(edit: EditNumber) -> Payload {
    let text = format!("<item><title>edit {edit}</title></item>");
    Payload::from_parsed(Format::Rss, text.as_str())
}

/// Returns the edits that an item holds, including those in kept conflicts.
pub(crate) fn numbers(item: &Item<Payload>) -> BTreeSet<EditNumber> {
    let records = item.conflicts.iter().filter_map(|conflict| conflict.payload.as_ref());
    std::iter::once(&item.payload).chain(records).map(number).collect()
}
