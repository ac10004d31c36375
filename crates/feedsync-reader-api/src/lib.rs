//! Wire dialects of newsreader clients: parses their requests and builds the responses.
//!
//! Each module implements one dialect, and all have the same structure. `read` parses a request into a typed and
//! bounded value; other functions build responses from values. The application between them knows the
//! subscriptions and the read marks. Requests of all dialects use the same [`Selection`] and [`Marking`], and
//! responses the same [`Subscription`] and [`Article`].
//!
//! A request that cannot be parsed is a [`Fault`] that names the invalid part. No request causes a panic, and the
//! memory for one is a small multiple of its size.
//!
//! The crate performs no I/O and uses neither a clock nor randomness. Its tests are based on recorded requests of
//! newsreaders.

mod answer;
mod continuation;
mod date;
mod fault;
pub mod fever;
pub mod google;
mod marking;
mod members;
pub mod miniflux;
pub mod nextcloud;
mod parameters;
mod raw_request;
mod secret;
mod selection;
mod shown;
pub mod ttrss;

pub use answer::RawResponse;
pub use continuation::{Continuation, ContinuationError};
pub use fault::Fault;
pub use marking::{MAX_REQUEST_ARTICLES, Marking};
pub use parameters::{MAX_PARAMETERS, MAX_TEXT_BYTES};
pub use raw_request::{MAX_BODY_BYTES, RawRequest};
pub use secret::Secret;
pub use selection::{MAX_STREAMS, Order, Selection, Span, Stream};
pub use shown::{
    Article, ArticleNumber, Enclosure, FeedName, FeedNumber, FolderNumber, Folders, Label,
    LabelError, MAX_LABEL_BYTES, NumberError, ShownFolder, ShownTag, Subscription, TagNumber, Tags,
};
