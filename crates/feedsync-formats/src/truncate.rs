//! The payload of a deleted item whose data is dropped (3.2, the second MAY).

use feedsync_core::Payload;

use crate::compose::compose;
use crate::entry::{Entry, entry};

/// Returns a payload of the same format with only the data that make it valid: the item's own id,
/// its dates and its author. The title is empty (R-F16).
///
/// The result becomes the payload of the update that deletes the item. A payload is never changed
/// under an existing update.
pub fn truncate(payload: &Payload) -> Payload {
    let Entry { id, author, published, updated, .. } = entry(payload);
    let left = Entry { id, author, published, updated, ..Entry::default() };
    compose(payload.format(), &left).with_sync_foreign_of(payload)
}

#[cfg(test)]
mod tests {
    use feedsync_core::{Format, Timestamp};

    use super::*;

    /// F91, R-F16: the truncated payload is valid and contains none of the item's texts.
    #[test]
    fn a_truncated_payload_keeps_the_id_and_drops_all_texts() {
        for format in Format::ALL {
            let full = Entry {
                id: Some("urn:uuid:60a76c80-d399-11d9-b93c-0003939e0af6".into()),
                title: Some("Secret plans".into()),
                content: Some("of the secret garden".into()),
                summary: Some("secret".into()),
                updated: Some(Timestamp::parse("2026-01-01T00:00:00Z").unwrap()),
                ..Entry::default()
            };
            let whole = compose(format, &full);
            let left = truncate(&whole);
            assert!(!left.text().to_lowercase().contains("secret"), "{}", left.text());
            assert_eq!(left.format(), format);
            let kept = entry(&left);
            assert_eq!(kept.id, entry(&whole).id);
            assert_eq!(kept.updated.or(kept.published), entry(&whole).updated.or(full.updated));
            assert_eq!(truncate(&left), left);
            if format == Format::Atom {
                for needed in ["<id>", "<title", "<updated>", "<author><name"] {
                    assert!(left.text().contains(needed), "{needed}: {}", left.text());
                }
            }
        }
    }
}
