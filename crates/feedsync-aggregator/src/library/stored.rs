//! Conversion of values that all kinds of libraries store in the same way.

use std::fmt::Display;
use std::str::FromStr;

use feedsync_formats::ContentType;
use feedsync_log::Millis;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::library::error::LibraryError;

pub(super) fn damaged(what: &str, error: impl Display) -> LibraryError {
    LibraryError::Damaged(format!("{what:.100}: {error}"))
}

pub(super) fn parse<T: FromStr<Err: Display>>(text: &str) -> Result<T, LibraryError> {
    text.parse().map_err(|error| damaged(text, error))
}

/// Column value of a time; all times fit into an `i64`.
pub(super) fn moment(moment: Millis) -> i64 {
    moment.get().cast_signed()
}

/// Encodes a list; an empty one becomes `NULL`.
pub(super) fn encode_list<T: Serialize>(list: &[T]) -> Result<Option<String>, LibraryError> {
    if list.is_empty() {
        return Ok(None);
    }
    serde_json::to_string(list).map(Some).map_err(|error| LibraryError::Database(error.into()))
}

pub(super) fn decode_list<T: DeserializeOwned>(
    text: Option<String>,
) -> Result<Vec<T>, LibraryError> {
    let read = |text: String| serde_json::from_str(&text).map_err(|error| damaged(&text, error));
    text.map_or(Ok(Vec::new()), read)
}

/// The type of content with this name.
pub(super) fn content_type(name: String) -> ContentType {
    [ContentType::Text, ContentType::Html, ContentType::Xhtml]
        .into_iter()
        .find(|known| known.name() == name)
        .unwrap_or(ContentType::Other(name))
}
