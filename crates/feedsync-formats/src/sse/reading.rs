//! Reads an SSE document as a feed of FeedSync, so that collections can synchronize with software that supports only
//! SSE (U1 to U9).

use feedsync_core::sse::{Date, Sharing, UpgradeLoss};
use feedsync_core::{Feed, ItemId, Related, Window};

use super::document::Document;
use crate::diagnostic::{Diagnostic, Position, ReadError, Severity};
use crate::options::ReadOptions;
use crate::reading::{Reading, Refused};

/// A document as a feed of FeedSync, and the losses of its items.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SseReading {
    /// The feed. The bounds of its window are dates in chronological order (RFC 3339, UTC). An empty `until` means
    /// that the publisher gives none, and an empty `since` that the feed is complete (S6, S7).
    pub reading: Reading,
    /// Losses of each item that has any.
    pub losses: Vec<(ItemId, Vec<UpgradeLoss>)>,
}

/// Reads an SSE document in RSS or OPML. An item that cannot be upgraded is refused on its own.
pub fn read_as_feed(bytes: &[u8], options: &ReadOptions<'_>) -> Result<SseReading, ReadError> {
    let document = Document::read(bytes, options)?;
    let mut reading = Reading {
        format: document.format(),
        feed: Feed {
            sharing: document.sharing().map(sharing),
            items: Vec::new(),
            plain_items: document.plain_items(),
        },
        title: document.title().map(str::to_owned),
        details: document.details().clone(),
        diagnostics: document.diagnostics().to_vec(),
        refused: document.refused().to_vec(),
    };
    let mut losses = Vec::new();
    for (index, upgraded) in document.upgraded().enumerate() {
        match upgraded {
            Ok(upgraded) => {
                if !upgraded.losses.is_empty() {
                    losses.push((upgraded.item.id.clone(), upgraded.losses));
                }
                reading.feed.items.push(upgraded.item);
            }
            Err((id, error)) => reading.refused.push(Refused {
                id: Some(id.to_string()),
                index,
                reason: Diagnostic {
                    severity: Severity::Fault,
                    position: Position { line: 1, column: 1 },
                    clause: "SSE 2.3",
                    message: error.to_string(),
                    item: Some(id.to_string()),
                },
            }),
        }
    }
    Ok(SseReading { reading, losses })
}

fn sharing(of: &Sharing) -> feedsync_core::Sharing {
    let text = |date: &Option<Date>| {
        date.as_ref().map(|date| date.timestamp().to_string()).unwrap_or_default()
    };
    let related = of.related.iter().map(|related| Related {
        link: related.link.clone(),
        title: related.title.clone(),
        kind: related.kind,
    });
    feedsync_core::Sharing {
        window: Some(Window { since: text(&of.since), until: text(&of.until) }),
        expires: None,
        related: related.collect(),
    }
}
