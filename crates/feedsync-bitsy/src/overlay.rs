//! Feeds combined with the edits that their servers have not shown yet (BITSY 3.1.1).
//!
//! An edit shows from its acknowledgement until the first fetch of the feed that began after the server
//! carried it out. So no edit shows twice, and none is missing in between (R-B32). In a paged feed, new
//! members show on the first page only (R-B30).

use std::collections::{BTreeMap, HashMap};

use feedsync_core::Payload;
use feedsync_formats::{Member, MemberEdits, MemberFeed};

use crate::location::Location;

/// An edit of a member, as it is displayed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalEdit {
    /// Address of the member, or its temporary address until its server has named one.
    pub member: Location,
    /// Whether the member was created here.
    pub made: bool,
    /// Present entry of the member; none if it was deleted.
    pub entry: Option<Payload>,
    /// The entry's `atom:id`.
    pub id: Option<String>,
}

/// Returns the feed's document with these edits, the oldest first. Returns none if no edit shows in it.
pub fn compose(
    feed: &MemberFeed,
    address: &Location,
    edits: &[LocalEdit],
    updated: &str,
) -> Option<Vec<u8>> {
    let mut now: HashMap<&Location, CombinedEdits<'_>> = HashMap::new();
    for (place, edit) in edits.iter().enumerate() {
        let new = CombinedEdits { place, made: false, ids: Vec::new(), edit };
        let combined = now.entry(&edit.member).or_insert(new);
        combined.made |= edit.made;
        combined.ids.extend(edit.id.as_deref());
        combined.edit = edit;
    }
    let mut changed: BTreeMap<usize, Option<&Payload>> = BTreeMap::new();
    let mut shown: Vec<&Location> = Vec::new();
    for (index, member) in feed.members().iter().enumerate() {
        let by_link = edit_links(member, address).find_map(|link| now.get_key_value(&link));
        let by_id = || {
            let id = member.id.as_deref()?;
            let made = now.iter().filter(|(_, combined)| combined.made);
            made.into_iter().find(|(_, combined)| combined.ids.contains(&id))
        };
        if let Some((location, combined)) = by_link.or_else(by_id) {
            changed.insert(index, combined.edit.entry.as_ref());
            shown.push(location);
        }
    }
    let mut new: Vec<&CombinedEdits<'_>> = now
        .iter()
        .filter(|(location, combined)| combined.made && !shown.contains(location))
        .map(|(_, combined)| combined)
        .collect();
    // New members are listed with the latest POST first.
    new.sort_by_key(|combined| std::cmp::Reverse(combined.place));
    let new: Vec<&Payload> =
        new.iter().filter_map(|combined| combined.edit.entry.as_ref()).collect();
    if new.is_empty() && changed.is_empty() {
        return None;
    }
    Some(feed.with(&MemberEdits { new, changed, updated: Some(updated) }))
}

/// Combined edits of one member.
struct CombinedEdits<'e> {
    /// Position of its first edit.
    place: usize,
    made: bool,
    /// Each `atom:id` that the member had here.
    ids: Vec<&'e str>,
    /// Its last edit.
    edit: &'e LocalEdit,
}

/// Addresses at which a member is edited (RFC 5023 11.1).
pub fn edit_links(member: &Member, address: &Location) -> impl Iterator<Item = Location> {
    links(member, "edit", address)
}

/// Addresses at which the media of a member are edited (RFC 5023 11.2).
pub fn edit_media_links(member: &Member, address: &Location) -> impl Iterator<Item = Location> {
    links(member, "edit-media", address)
}

fn links(
    member: &Member,
    relation: &'static str,
    address: &Location,
) -> impl Iterator<Item = Location> {
    let named = move |rel: &str| {
        rel.parse().is_ok_and(|rel: crate::relation::Relation| rel.as_str() == relation)
    };
    let links = member.links.iter().filter(move |link| named(&link.rel));
    links.filter_map(|link| Location::resolve(Some(address), &link.href).ok())
}

#[cfg(test)]
mod tests {
    use feedsync_core::Format;
    use feedsync_formats::ReadOptions;

    use super::*;
    use crate::testing::at;

    const ATOM: &str = "http://www.w3.org/2005/Atom";

    fn feed(ids: &[&str]) -> MemberFeed {
        let entry = |id: &&str| {
            format!(
                "<entry><id>{id}</id><title>{id}</title><link rel='EDIT' href='feed/{id}'/></entry>"
            )
        };
        let entries: String = ids.iter().map(entry).collect();
        let text = format!("<feed xmlns='{ATOM}'><updated>then</updated>{entries}</feed>");
        MemberFeed::read(text.as_bytes(), &ReadOptions::tolerant()).unwrap()
    }

    fn entry(id: &str, title: &str) -> Option<Payload> {
        let text = format!("<entry xmlns=\"{ATOM}\"><id>{id}</id><title>{title}</title></entry>");
        Some(Payload::from_parsed(Format::Atom, text.as_str()))
    }

    fn local(member: &str, made: bool, id: &str, title: Option<&str>) -> LocalEdit {
        let entry = title.and_then(|title| entry(id, title));
        LocalEdit { member: at(member), made, id: entry.is_some().then(|| id.to_owned()), entry }
    }

    /// Id and title of each entry.
    fn shown(feed: &MemberFeed, edits: &[LocalEdit]) -> Option<Vec<String>> {
        let bytes = compose(feed, &at("feed"), edits, "now")?;
        let text = String::from_utf8(bytes).unwrap();
        assert!(text.contains("<updated>now</updated>"), "{text}");
        let titles = text.split("<title>").skip(1);
        Some(titles.map(|rest| rest.split_once('<').unwrap().0.to_owned()).collect())
    }

    #[test]
    fn new_members_precede_all_others_with_the_latest_first() {
        let edits = [
            local("pending/1", true, "n1", Some("one")),
            local("pending/2", true, "n2", Some("two")),
            local("pending/1", false, "n1", Some("one again")),
        ];
        assert_eq!(shown(&feed(&["a"]), &edits).unwrap(), ["two", "one again", "a"]);
    }

    #[test]
    fn replaced_and_deleted_members_keep_their_positions() {
        let edits = [
            local("feed/a", false, "a", Some("A")),
            local("feed/b", false, "b", None),
            local("feed/c", false, "c", Some("first")),
            local("feed/c", false, "c", Some("C")),
            local("pending/1", true, "n", Some("never seen")),
            local("pending/1", false, "n", None),
        ];
        assert_eq!(shown(&feed(&["a", "b", "c", "d"]), &edits).unwrap(), ["A", "C", "d"]);
    }

    #[test]
    fn members_that_the_server_shows_already_are_not_shown_twice() {
        let by_link = [local("feed/a", true, "mine", Some("mine"))];
        assert_eq!(shown(&feed(&["a", "b"]), &by_link).unwrap(), ["mine", "b"]);
        let by_id = [local("pending/1", true, "a", Some("mine"))];
        assert_eq!(shown(&feed(&["a", "b"]), &by_id).unwrap(), ["mine", "b"]);
        let deleted = [by_id[0].clone(), local("pending/1", false, "a", None)];
        assert_eq!(shown(&feed(&["a", "b"]), &deleted).unwrap(), ["b"]);
    }

    #[test]
    fn edits_of_other_members_do_not_change_the_feed() {
        let elsewhere =
            [local("other/a", false, "a", Some("A")), local("feed/z", false, "z", None)];
        assert_eq!(shown(&feed(&["a"]), &elsewhere), None);
        assert_eq!(shown(&feed(&["a"]), &[]), None);
    }
}
