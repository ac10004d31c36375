//! `upto`, and the marks on articles: `read`, `unread`, `star`, `unstar`, `hide`, `unhide`, `tag`, `untag`, as rows
//! grouped by device.

use std::collections::BTreeMap;
use std::fmt;

use feedsync_log::{Device, Millis, Stamp, Tick};
use serde::Deserialize;
use serde::de::{Deserializer, Error as _, SeqAccess, Visitor};

use super::registers::StampText;
use super::{DocumentError, Members, fault};
use crate::article::ArticleId;
use crate::feed::FeedState;
use crate::marks::Marks;
use crate::members::{Pairs, object, push_string};
use crate::names::Tag;
use crate::register::Register;
use crate::up_to::{UpTo, UpTos};

/// Rows by device, each with a comma after it.
#[derive(Default)]
struct Rows<'a>(BTreeMap<&'a Device, String>);

impl<'a> Rows<'a> {
    fn push(&mut self, article: &ArticleId, at: Option<Option<Millis>>, stamp: &'a Stamp) {
        let rows = self.0.entry(&stamp.device).or_default();
        rows.push_str(if rows.is_empty() { "[[" } else { ",[" });
        push_string(rows, article.as_str());
        match at {
            None => {}
            Some(None) => rows.push_str(",null"),
            Some(Some(at)) => rows.push_str(&format!(",{at}")),
        }
        rows.push_str(&format!(",{}", stamp.tick.millis()));
        if stamp.tick.count() != 0 {
            rows.push_str(&format!(",{}", stamp.tick.count()));
        }
        rows.push(']');
    }

    fn json(mut self) -> String {
        self.0.values_mut().for_each(|rows| rows.push(']'));
        object(self.0.iter().map(|(device, rows)| (device.as_str(), rows.as_str())))
    }
}

pub(super) fn write_marks(state: &FeedState, members: &mut BTreeMap<&'static str, String>) {
    let up_tos = state.up_tos().iter().map(|up_to| format!("[{},\"{}\"]", up_to.at, up_to.stamp));
    let up_tos: Vec<_> = up_tos.collect();
    if !up_tos.is_empty() {
        members.insert("upto", format!("[{}]", up_tos.join(",")));
    }
    // Index 0 for removed marks, index 1 for set ones.
    let [mut read, mut starred, mut hidden] = <[[Rows<'_>; 2]; 3]>::default();
    let mut tags = <[BTreeMap<&Tag, Rows<'_>>; 2]>::default();
    for (article, marks) in &state.articles {
        for (at, register) in &marks.read {
            read[usize::from(register.value)].push(article, Some(*at), &register.stamp);
        }
        if let Some(register) = &marks.starred {
            starred[usize::from(register.value)].push(article, None, &register.stamp);
        }
        if let Some(register) = &marks.hidden {
            hidden[usize::from(register.value)].push(article, None, &register.stamp);
        }
        for (tag, register) in &marks.tags {
            let rows = tags[usize::from(register.value)].entry(tag).or_default();
            rows.push(article, None, &register.stamp);
        }
    }
    let by_device = ["unread", "read"].into_iter().zip(read);
    let by_device = by_device.chain(["unstar", "star"].into_iter().zip(starred));
    let by_device = by_device.chain(["unhide", "hide"].into_iter().zip(hidden));
    for (name, rows) in by_device.filter(|(_, rows)| !rows.0.is_empty()) {
        members.insert(name, rows.json());
    }
    for (name, rows) in ["untag", "tag"].into_iter().zip(tags).filter(|(_, rows)| !rows.is_empty())
    {
        let by_tag: Vec<_> = rows.into_iter().map(|(tag, rows)| (tag, rows.json())).collect();
        let by_tag = by_tag.iter().map(|(tag, rows)| (tag.as_str(), rows.as_str()));
        members.insert(name, object(by_tag));
    }
}

pub(super) fn read_marks(
    members: &mut Members<'_>,
    state: &mut FeedState,
) -> Result<(), DocumentError> {
    let pairs: Vec<(At, StampText)> = members.take("upto")?.unwrap_or_default();
    let up_tos = pairs.into_iter().map(|(At(at), StampText(stamp))| Some(UpTo { at: at?, stamp }));
    let up_tos: Option<UpTos> = up_tos.collect();
    state.up_tos = up_tos.ok_or_else(|| fault("upto", "must be a time"))?;
    for (name, value) in [("read", true), ("unread", false)] {
        for (stamp, row) in rows(name, members.take::<ByDevice<true>>(name)?)? {
            let read = [(row.at, Register { value, stamp })].into();
            take_in(state, row.article, Marks { read, ..Marks::default() });
        }
    }
    for (name, value) in [("star", true), ("unstar", false)] {
        for (stamp, row) in rows(name, members.take::<ByDevice<false>>(name)?)? {
            let starred = Some(Register { value, stamp });
            take_in(state, row.article, Marks { starred, ..Marks::default() });
        }
    }
    for (name, value) in [("hide", true), ("unhide", false)] {
        for (stamp, row) in rows(name, members.take::<ByDevice<false>>(name)?)? {
            let hidden = Some(Register { value, stamp });
            take_in(state, row.article, Marks { hidden, ..Marks::default() });
        }
    }
    for (name, value) in [("tag", true), ("untag", false)] {
        let Some(Pairs(by_tag)) = members.take::<Pairs<ByDevice<false>>>(name)? else { continue };
        for (tag, by_device) in by_tag {
            let tag: Tag = tag.parse().map_err(|error| fault(name, error))?;
            for (stamp, row) in rows(name, Some(by_device))? {
                let tags = [(tag.clone(), Register { value, stamp })].into();
                take_in(state, row.article, Marks { tags, ..Marks::default() });
            }
        }
    }
    Ok(())
}

fn take_in(state: &mut FeedState, article: ArticleId, marks: Marks) {
    state.join(FeedState::of_article(article, marks));
}

type ByDevice<const DATED: bool> = Pairs<Vec<Row<DATED>>>;

/// All rows with their stamps.
fn rows<const DATED: bool>(
    member: &str,
    by_device: Option<ByDevice<DATED>>,
) -> Result<impl Iterator<Item = (Stamp, Row<DATED>)>, DocumentError> {
    let mut found = Vec::new();
    for (device, rows) in by_device.into_iter().flat_map(|pairs| pairs.0) {
        let device: Device = device.parse().map_err(|error| fault(member, error))?;
        found.push((device, rows));
    }
    let stamped = |(device, rows): (Device, Vec<Row<DATED>>)| {
        let stamp = move |tick| Stamp { tick, device: device.clone() };
        rows.into_iter().map(move |row| (stamp(row.tick), row))
    };
    Ok(found.into_iter().flat_map(stamped))
}

/// A time or `null`.
struct At(Option<Millis>);

impl<'de> Deserialize<'de> for At {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Option::<u64>::deserialize(deserializer)? {
            Some(millis) if millis > Millis::MAX.get() => {
                Err(D::Error::custom("a time after the year 9999"))
            }
            millis => Ok(Self(millis.map(Millis::new))),
        }
    }
}

/// A mark on an article, with its time of publication if `DATED`.
struct Row<const DATED: bool> {
    article: ArticleId,
    at: Option<Millis>,
    tick: Tick,
}

impl<'de, const DATED: bool> Deserialize<'de> for Row<DATED> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Cells<const DATED: bool>;
        impl<'de, const DATED: bool> Visitor<'de> for Cells<DATED> {
            type Value = Row<DATED>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(if DATED {
                    "an array of an article's id, its date or null, milliseconds and a count or none"
                } else {
                    "an array of an article's id, milliseconds and a count or none"
                })
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut cells: A) -> Result<Row<DATED>, A::Error> {
                let lacking = |place| A::Error::invalid_length(place, &self);
                let article = cells.next_element()?.ok_or_else(|| lacking(0))?;
                let at = if DATED {
                    let At(at) = cells.next_element()?.ok_or_else(|| lacking(1))?;
                    at
                } else {
                    None
                };
                let place = 1 + usize::from(DATED);
                let At(millis) = cells.next_element()?.ok_or_else(|| lacking(place))?;
                let millis = millis.ok_or_else(|| A::Error::custom("a stamp has milliseconds"))?;
                let count = cells.next_element()?.unwrap_or_default();
                Ok(Row { article, at, tick: Tick::new(millis, count) })
            }
        }
        deserializer.deserialize_seq(Cells)
    }
}
