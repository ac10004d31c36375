//! Gives the entry of an item another id, in place.

use feedsync_core::Payload;

use crate::entry::{Entry, entry};

/// Returns the payload with another id of its entry, and all other bytes as they are. The payload is unchanged if it
/// has no id, if the id does not occur in the text exactly once, or if the new id would change more than itself.
pub fn with_entry_id(payload: &Payload, id: &str) -> Payload {
    let before = entry(payload);
    let Some(old) = &before.id else { return payload.clone() };
    let changed = [('>', '<'), ('"', '"')].iter().find_map(|(left, right)| {
        let found = format!("{left}{old}{right}");
        let mut places = payload.text().match_indices(&found);
        let (Some((at, _)), None) = (places.next(), places.next()) else { return None };
        let (start, end) = (at + 1, at + 1 + old.len());
        let text = format!("{}{id}{}", &payload.text()[..start], &payload.text()[end..]);
        Some(payload.with_parsed_text(text))
    });
    let is_right =
        |changed: &Payload| entry(changed) == Entry { id: Some(id.to_owned()), ..before.clone() };
    changed.filter(is_right).unwrap_or_else(|| payload.clone())
}
