//! Bookmarks: the positions at which pages of `_find` begin.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};

use crate::index::{INDEX_VERSION, IndexDefinition};
use crate::json::quoted;
use crate::name::DocumentId;
use crate::refusal::{Refusal, RefusalKind};

/// Bookmark before the first document.
const START: &str = "nil";

/// First byte of a bookmark in the order of ids, and of one in the order of an index.
const BY_ID: u8 = b'i';
const BY_KEY: u8 = b'k';

/// Size of the digest of an index in a bookmark, in bytes.
const DIGEST_BYTES: usize = 8;

/// Position at which a page begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Position {
    /// The first document.
    Start,
    /// After the document with this id, in the order of ids.
    AfterId(String),
    /// After a document in an index.
    AfterKey {
        /// Digest of the index.
        index: [u8; DIGEST_BYTES],
        /// Key of the document in the index.
        key: Vec<u8>,
        /// Id of the document.
        id: DocumentId,
    },
}

impl Position {
    /// The position after a document of an index.
    pub fn after_key(index: &IndexDefinition, key: Vec<u8>, id: DocumentId) -> Self {
        Self::AfterKey { index: digest(index), key, id }
    }

    /// Parses a bookmark, which clients send as they received it.
    pub fn parse(bookmark: &str) -> Result<Self, Refusal> {
        if bookmark == START {
            return Ok(Self::Start);
        }
        Self::decode(bookmark).ok_or_else(|| invalid(bookmark))
    }

    fn decode(bookmark: &str) -> Option<Self> {
        let bytes = URL_SAFE_NO_PAD.decode(bookmark).ok()?;
        let text = |bytes: &[u8]| Some(std::str::from_utf8(bytes).ok()?.to_owned());
        match bytes.split_first()? {
            (&BY_ID, id) => text(id).map(Self::AfterId),
            (&BY_KEY, rest) => {
                let (index, rest) = rest.split_first_chunk()?;
                let (length, rest) = rest.split_first_chunk()?;
                let (key, id) = rest.split_at_checked(u16::from_be_bytes(*length).into())?;
                Some(Self::AfterKey {
                    index: *index,
                    key: key.to_vec(),
                    id: text(id)?.parse().ok()?,
                })
            }
            _ => None,
        }
    }

    /// The bookmark of the position.
    pub fn bookmark(&self) -> String {
        let mut bytes = Vec::new();
        match self {
            Self::Start => return START.to_owned(),
            Self::AfterId(id) => {
                bytes.push(BY_ID);
                bytes.extend_from_slice(id.as_bytes());
            }
            Self::AfterKey { index, key, id } => {
                bytes.push(BY_KEY);
                bytes.extend_from_slice(index);
                // Keys are shorter than 64 KiB.
                let length = u16::try_from(key.len()).unwrap_or(u16::MAX);
                bytes.extend_from_slice(&length.to_be_bytes());
                bytes.extend_from_slice(key);
                bytes.extend_from_slice(id.as_str().as_bytes());
            }
        }
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// The id after which a page in the order of ids begins. A position in an index is an error.
    pub(crate) fn as_id(&self) -> Result<Option<&str>, Refusal> {
        match self {
            Self::Start => Ok(None),
            Self::AfterId(id) => Ok(Some(id)),
            Self::AfterKey { .. } => Err(invalid(&self.bookmark())),
        }
    }

    /// Key and id after which a page of an index begins. A position in another order is an error.
    pub(crate) fn in_index(
        &self,
        definition: &IndexDefinition,
    ) -> Result<Option<(Vec<u8>, DocumentId)>, Refusal> {
        match self {
            Self::Start => Ok(None),
            Self::AfterKey { index, key, id } if *index == digest(definition) => {
                Ok(Some((key.clone(), id.clone())))
            }
            Self::AfterKey { .. } | Self::AfterId(_) => Err(invalid(&self.bookmark())),
        }
    }
}

/// Digest of the order of an index. Keys have no meaning in another index, and none in another version.
fn digest(definition: &IndexDefinition) -> [u8; DIGEST_BYTES] {
    let digest = Sha256::digest(format!("{INDEX_VERSION} {}", definition.definition()));
    let mut out = [0; DIGEST_BYTES];
    out.copy_from_slice(&digest[..DIGEST_BYTES]);
    out
}

/// CouchDB's error for a bookmark that has no meaning for the request.
pub(super) fn invalid(bookmark: &str) -> Refusal {
    let reason = format_args!("Invalid bookmark value: {}", quoted(bookmark));
    RefusalKind::InvalidBookmark.with_reason(reason)
}
