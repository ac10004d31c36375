//! Documents that list all collections that a caller may read, built one page at a time. Their memory use
//! does not grow with the number of collections.
//!
//! The entity tag is that of the bytes. So a large document is built twice: once for its tag, and once while
//! it is sent. If the second result differs, sending is aborted, so that no complete body is sent under the
//! tag of another.

use std::io;

use axum::body::{Body, Bytes};
use axum::response::{IntoResponse as _, Response};
use feedsync_store::{Collection, CollectionName};
use futures_util::stream;
use sha2::{Digest as _, Sha256};

use crate::access::call::Call;
use crate::access::may_read;
use crate::http::address::PublicBase;
use crate::http::caching::Caching;
use crate::http::problem::Problem;
use crate::http::response_budget::MAX_UNCOUNTED_BYTES;
use crate::http::text_response::{headers, in_turn};
use crate::http::validators::EntityTag;
use crate::hub::Hub;

/// Number of collections per read.
const PAGE: usize = 100;

/// The parts of a document.
pub(crate) struct Catalogue {
    /// Media type.
    pub(crate) kind: &'static str,
    pub(crate) begin: String,
    /// Writes the part of the document about a collection.
    pub(crate) entry: fn(&PublicBase, &Collection) -> Result<String, Problem>,
    /// Text between two collections.
    pub(crate) separator: &'static str,
    pub(crate) end: &'static str,
}

impl Catalogue {
    /// Responds to a request for the document.
    pub(crate) async fn answer(self, hub: Hub, call: Call) -> Result<Response, Problem> {
        let (kind, caching) = (self.kind, Caching::OnePerson);
        let permit = hub.response_budget.permit().await?;
        let mut walk = CatalogueWriter::new(self, hub, call);
        let mut small = Some(String::new());
        while let Some(piece) = walk.next().await? {
            small =
                small.map(|text| text + &piece).filter(|text| text.len() <= MAX_UNCOUNTED_BYTES);
        }
        if let Some(text) = small {
            return in_turn(permit, &walk.call, kind, caching, text);
        }
        let digest = walk.digest();
        let headers = match headers(&EntityTag::of(&[&digest]), &walk.call, kind, caching)? {
            Ok(headers) => headers,
            Err(answer) => return Ok(answer),
        };
        let place = permit.end(true)?;
        let state = (walk.again(), digest, place);
        let pieces = stream::try_unfold(state, |(mut walk, digest, place)| async move {
            match walk.next().await {
                Ok(Some(piece)) => Ok(Some((Bytes::from(piece), (walk, digest, place)))),
                Ok(None) if walk.digest() == digest => Ok(None),
                Ok(None) => {
                    Err(io::Error::other("collections changed while their list was being sent"))
                }
                Err(_) => Err(io::Error::other("the collections cannot be read")),
            }
        });
        Ok((headers, Body::from_stream(pieces)).into_response())
    }
}

/// A document while it is built.
struct CatalogueWriter {
    catalogue: Catalogue,
    hub: Hub,
    call: Call,
    part: Part,
    hash: Sha256,
}

/// The next part of a document.
enum Part {
    Begin,
    /// Collections after this one, and whether one was written before.
    Collections(Option<CollectionName>, bool),
    Over,
}

impl CatalogueWriter {
    fn new(catalogue: Catalogue, hub: Hub, call: Call) -> Self {
        Self { catalogue, hub, call, part: Part::Begin, hash: Sha256::new() }
    }

    /// Returns the same document from its beginning.
    fn again(self) -> Self {
        Self::new(self.catalogue, self.hub, self.call)
    }

    /// The next piece, if there is one.
    async fn next(&mut self) -> Result<Option<String>, Problem> {
        let piece = match &self.part {
            Part::Begin => {
                self.part = Part::Collections(None, false);
                self.catalogue.begin.clone()
            }
            Part::Collections(after, has_any) => {
                let endpoint = &self.hub.endpoint;
                let page = endpoint.collections_after(after.as_ref(), PAGE).await?;
                let (mut piece, mut has_any) = (String::new(), *has_any);
                for collection in &page {
                    if may_read(&self.call.principal, collection)? {
                        piece.push_str(if has_any { self.catalogue.separator } else { "" });
                        piece.push_str(&(self.catalogue.entry)(&self.call.base, collection)?);
                        has_any = true;
                    }
                }
                match page.last() {
                    Some(last) => self.part = Part::Collections(Some(last.name.clone()), has_any),
                    None => {
                        piece.push_str(self.catalogue.end);
                        self.part = Part::Over;
                    }
                }
                piece
            }
            Part::Over => return Ok(None),
        };
        self.hash.update(&piece);
        Ok(Some(piece))
    }

    fn digest(&self) -> String {
        let digest = self.hash.clone().finalize();
        digest.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}
