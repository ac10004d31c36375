//! The programming interfaces of newsreaders: what they ask of a server, and what they hear.
//!
//! Newsreaders speak to servers in dialects, and each module here is one of them. All do the same: `read` makes a
//! value of a request, in which everything is typed and bounded, and functions make answers of values. In between
//! is somebody who knows what is subscribed to and read. What is asked for comes to one [`Selection`] and one
//! [`Marking`] whatever the dialect, and what is shown is the same in all of them: [`Subscription`], [`Article`].
//!
//! What cannot be read is a [`Fault`] that names the part. No request makes anything panic, and none is more
//! in memory than a few times its own size.
//!
//! There is no I/O, no clock and no randomness in here. What newsreaders really send, as recorded, is what the
//! tests begin with.

mod answer;
mod asked;
mod continuation;
mod date;
mod fault;
pub mod google;
mod marking;
mod members;
pub mod miniflux;
pub mod nextcloud;
mod parameters;
mod secret;
mod selection;
mod shown;
pub mod ttrss;

pub use answer::Answer;
pub use asked::{Asked, MOST_BODY};
pub use continuation::{Continuation, ContinuationError};
pub use fault::Fault;
pub use marking::{MOST_ARTICLES, Marking};
pub use parameters::{MOST_PARAMETERS, MOST_TEXT};
pub use secret::Secret;
pub use selection::{MOST_STREAMS, Order, Selection, Span, Stream};
pub use shown::{
    Article, ArticleNumber, Enclosure, FeedName, FeedNumber, FolderNumber, Folders, Label,
    LabelError, MOST_LABEL, NumberError, ShownFolder, ShownTag, Subscription, TagNumber, Tags,
};
