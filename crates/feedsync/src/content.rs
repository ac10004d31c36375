//! Content of items: JSON values, types of the application, entries of feeds, or a format of its own.

mod entry;
mod json;
mod patch;
mod payload;

use feedsync_core::{Format, ItemId, Payload, Timestamp};
use feedsync_formats::json as json_text;

pub use json::Json;

/// Maximum depth of a JSON item. The JSON reader that applications use stops at 128.
const MAX_JSON_DEPTH: usize = 120;

/// Content of the items of a [`Collection`](crate::Collection), as the application holds it.
///
/// Implemented for [`serde_json::Value`], for [`Json<T>`] with a type that serde reads and writes, for
/// [`Entry`](crate::Entry), the view that all formats share, and for [`Payload`], the bytes themselves. An application
/// implements it for a format of its own:
///
/// ```
/// use feedsync::{Content, ContentError, Format, Payload, Target, read_payload};
///
/// /// A contact, as `<contact name="…"/>`.
/// struct Contact(String);
///
/// impl Content for Contact {
///     const FORMAT: Format = Format::Pox;
///
///     fn read(payload: &Payload) -> Result<Self, ContentError> {
///         let name = payload.text().split('"').nth(1).ok_or_else(|| ContentError::new("it has no name"))?;
///         Ok(Self(name.to_owned()))
///     }
///
///     fn write(&self, _target: &Target<'_>) -> Result<Payload, ContentError> {
///         let text = format!("<contact name=\"{}\"/>", self.0.replace('"', "&quot;"));
///         read_payload(Format::Pox, &text).map_err(ContentError::caused_by)
///     }
/// }
/// # #[tokio::main]
/// # async fn main() -> Result<(), feedsync::Error> {
/// let contacts = feedsync::Replica::in_memory().collection_of::<Contact>("contacts").await?;
/// let id = contacts.add(Contact("Anna".to_owned())).await?;
/// assert_eq!(contacts.get(&id).await?.unwrap().0, "Anna");
/// # Ok(())
/// # }
/// ```
pub trait Content: Sized + Send + Sync {
    /// Format of a collection that is created for this content. Peers see its feed in this format unless they ask for
    /// another one.
    const FORMAT: Format;

    /// Reads the content of an item. A peer may have written the item in any format, and anything into it.
    fn read(payload: &Payload) -> Result<Self, ContentError>;

    /// Writes the content of an item that is added or edited. A payload comes from
    /// [`read_payload`](crate::read_payload), which parses it, so that no item can break a feed: it is one JSON object,
    /// or one XML element with its namespace declarations.
    fn write(&self, target: &Target<'_>) -> Result<Payload, ContentError>;
}

/// The item that a content is written for.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Target<'a> {
    /// Id of the item.
    pub id: &'a ItemId,
    /// Format of new items of the collection.
    pub format: Format,
    /// The current second; `None` if the clock shows a time that cannot be written.
    pub now: Option<Timestamp>,
    /// The item's content before the edit; `None` for a new item. An edit should keep the parts of it that the type
    /// of the content does not have, since other applications may have written them.
    pub before: Option<&'a Payload>,
    /// Other versions of the item that the edit replaces, when it resolves a conflict. An edit should take over the
    /// parts of them that neither it nor the type of the content has.
    pub replaced: &'a [&'a Payload],
}

/// Why a content cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct ContentError {
    message: String,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl ContentError {
    /// An error with a message for people.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), source: None }
    }

    /// An error that another error caused, which the message includes.
    pub fn caused_by(source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        let source = source.into();
        Self { message: source.to_string(), source: Some(source) }
    }
}

/// Writes a content, and checks that this type can read it again. A [`Payload`] is well-formed, since only a parser
/// makes one.
pub(crate) fn written<T: Content>(
    content: &T,
    target: &Target<'_>,
) -> Result<Payload, ContentError> {
    let payload = content.write(target)?;
    if payload.format() == Format::Json {
        json_text::check_grammar(payload.text(), MAX_JSON_DEPTH)
            .map_err(|malformed| ContentError::new(malformed.message))?;
    }
    T::read(&payload)?;
    Ok(payload)
}
