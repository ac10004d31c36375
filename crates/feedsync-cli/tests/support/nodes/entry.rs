//! Entries in the form in which these clients send and read them.

use feedsync_core::{Item, Payload};
use feedsync_formats::{ReadOptions, entry};

use super::said::AcknowledgedVersion;

/// A member of a collection at the hub.
#[derive(Debug, Clone)]
pub(crate) struct ObservedMember {
    pub(crate) written: AcknowledgedVersion,
    pub(crate) updates: u32,
}

/// Entry to be sent.
pub(crate) fn document(title: &str) -> String {
    format!("<entry xmlns=\"http://www.w3.org/2005/Atom\"><title>{title}</title></entry>")
}

/// Parses a member.
pub(crate) fn read(document: &[u8]) -> ObservedMember {
    let text = std::str::from_utf8(document).unwrap();
    let begin = text.find("<entry").expect("an entry");
    let feed = format!("<feed xmlns=\"http://www.w3.org/2005/Atom\">{}</feed>", &text[begin..]);
    let reading = feedsync_formats::read(feed.as_bytes(), None, &ReadOptions::tolerant()).unwrap();
    seen(reading.feed.items.first().unwrap_or_else(|| panic!("no item in {text}")))
}

/// Converts an item to a member; takes the values of the winner.
pub(crate) fn seen(item: &Item<Payload>) -> ObservedMember {
    let dot = item.winner.dot();
    ObservedMember {
        written: AcknowledgedVersion {
            id: item.id.to_string(),
            by: dot.by().expect("a hub signs").to_string(),
            sequence: dot.sequence().get(),
            title: title(&item.winner.payload),
        },
        updates: item.winner.updates.get(),
    }
}

pub(crate) fn title(payload: &Payload) -> String {
    entry(payload).title.unwrap_or_default()
}
