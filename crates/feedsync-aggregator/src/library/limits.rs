//! Limits of the arguments of a library. An error names the part that exceeds one.

use feedsync_reader_api::ArticleNumber;

use crate::library::article::MAX_TEXT_BYTES;
use crate::library::error::LibraryError;
use crate::library::icon::{Icon, MAX_ICON_BYTES, Origin};
use crate::library::listing::{MAX_LOADED, MAX_QUERY_BYTES};
use crate::library::poll::check_count;

pub(super) fn check_host(host: &str) -> Result<(), LibraryError> {
    check_count(host.len(), MAX_TEXT_BYTES, "bytes", || "the host's name".to_owned())
}

pub(super) fn check_loaded(numbers: &[ArticleNumber]) -> Result<(), LibraryError> {
    let part = || "the list of articles to show".to_owned();
    check_count(numbers.len(), MAX_LOADED, "numbers", part)
}

pub(super) fn check_query(words: &str) -> Result<(), LibraryError> {
    check_count(words.len(), MAX_QUERY_BYTES, "bytes", || "what is searched for".to_owned())
}

pub(super) fn check_icon(origin: &Origin, icon: Option<&Icon>) -> Result<(), LibraryError> {
    let Some(Icon { media_type, bytes }) = icon else { return Ok(()) };
    check_count(bytes.len(), MAX_ICON_BYTES, "bytes", || format!("the icon of {origin}"))?;
    let part = || format!("the icon's type of {origin}");
    check_count(media_type.len(), MAX_TEXT_BYTES, "bytes", part)
}
