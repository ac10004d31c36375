//! A whole SSE document with its bytes.

use feedsync_core::sse::{Claim, Item, Sharing, UpgradeError, Upgraded, upgrade};
use feedsync_core::{Format, ItemId, Payload};

use super::claim;
use super::read::{Parsed, parse};
use crate::details::FeedDetails;
use crate::diagnostic::{Diagnostic, ReadError};
use crate::mapping::restore;
use crate::options::ReadOptions;
use crate::reading::Refused;
use crate::xml::{Encoding, Reader, Token, decode};

/// RSS or OPML with elements of SSE.
pub struct Document {
    pub(super) bytes: Vec<u8>,
    pub(super) text: String,
    pub(super) encoding: Encoding,
    pub(super) parsed: Parsed,
    pub(super) depth: usize,
}

impl Document {
    /// Reads a document. A document without any element of SSE is accepted and has no items.
    pub fn read(bytes: &[u8], options: &ReadOptions<'_>) -> Result<Self, ReadError> {
        let (text, encoding) = decode(bytes, options)?;
        let parsed = parse(&text, options)?;
        let depth = options.limits.depth;
        Ok(Self { bytes: bytes.to_vec(), text: text.into_owned(), encoding, parsed, depth })
    }

    /// Format of the document, RSS or OPML.
    pub fn format(&self) -> Format {
        self.parsed.kind.format
    }

    /// Publisher's statements about the feed (2.1).
    pub fn sharing(&self) -> Option<&Sharing> {
        self.parsed.sharing.as_ref()
    }

    /// Title of the document.
    pub fn title(&self) -> Option<&str> {
        self.parsed.title.as_deref()
    }

    /// Details of the feed in addition to its title.
    pub fn details(&self) -> &FeedDetails {
        &self.parsed.details
    }

    /// Items that take part in sharing, in document order.
    pub fn items(&self) -> impl Iterator<Item = &Item<Payload>> {
        self.parsed.entries.iter().map(|entry| &entry.item)
    }

    /// Positions of the items (3.2), for [`feedsync_core::sse::order`].
    pub fn claims(&self) -> Vec<Claim> {
        let claim = |entry: &super::read::Entry| Claim {
            id: entry.item.id.clone(),
            position: entry.position.clone(),
        };
        self.parsed.entries.iter().map(claim).collect()
    }

    /// Number of items or outlines without an `sx:sync` of SSE.
    pub fn plain_items(&self) -> usize {
        self.parsed.plain_items
    }

    /// Remarks, in document order. Reasons for refusals are in [`Document::refused`].
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.parsed.diagnostics
    }

    /// Items with faults. They keep their position and bytes and take no part in sharing.
    pub fn refused(&self) -> &[Refused] {
        &self.parsed.refused
    }

    /// Converts the items to FeedSync (U1 to U8), each with its losses. A conflict whose content was not stored gets
    /// an element without content. An outline gets its position (U10).
    pub fn upgraded(
        &self,
    ) -> impl Iterator<Item = Result<Upgraded<Payload>, (ItemId, UpgradeError)>> {
        let empty = match self.format() {
            Format::Opml => "<outline text=\"\"/>",
            _ => "<item><title/></item>",
        };
        self.parsed.entries.iter().map(move |entry| {
            let mut item = entry.item.clone();
            if self.format() == Format::Opml && (entry.claimed || !entry.self_contained) {
                item.payload = claim::onto_outline(&item.payload, &entry.position);
            }
            let id = item.id.clone();
            let upgraded = upgrade(item, |_| Payload::from_parsed(self.format(), empty));
            upgraded.map(restored).map_err(|error| (id, error))
        })
    }

    /// The bytes of the document as it was read.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// Restores the payloads that were projected into this format.
fn restored(mut upgraded: Upgraded<Payload>) -> Upgraded<Payload> {
    let item = upgraded.item;
    upgraded.item = feedsync_core::Item {
        id: item.id,
        winner: restore(item.winner),
        conflicts: item.conflicts.into_iter().map(restore).collect(),
    };
    upgraded
}

const IN_BOTH_SPELLINGS: &[u8] = b"www.microsoft.com/schemas/rss/sse";

/// Whether a document is RSS or OPML with an `sx:sync` or `sx:sharing` of SSE.
pub fn uses_sse(bytes: &[u8], options: &ReadOptions<'_>) -> bool {
    let Ok((text, _)) = decode(bytes, options) else { return false };
    if crate::search::find(text.as_bytes(), IN_BOTH_SPELLINGS).is_none() {
        return false;
    }
    let Ok(mut reader) = Reader::new(&text, options.mode, &options.limits) else { return false };
    let mut attributes = Vec::new();
    let mut is_root = true;
    loop {
        attributes.clear();
        match reader.token(&mut attributes) {
            Ok(Token::Start(tag)) => {
                let name = tag.local_name(&text);
                if is_root && !matches!(name, "rss" | "opml") {
                    return false;
                }
                is_root = false;
                if tag.namespace.is_sse() && matches!(name, "sync" | "sharing") {
                    return true;
                }
            }
            Ok(Token::EndOfDocument) | Err(_) => return false,
            Ok(_) => {}
        }
    }
}
