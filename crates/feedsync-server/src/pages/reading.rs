//! Pages for reading: subscriptions, lists of articles, articles.
//!
//! They use the same [`Reading`] as newsreaders, with the same access check. Looking at a page marks nothing,
//! since browsers prefetch pages: marks are forms, and a script submits the one that reports an opened
//! article.

pub(crate) mod article;
pub(crate) mod articles;
pub(crate) mod export;
pub(crate) mod feed;
mod folders;
mod full_text;
pub(crate) mod icon;
mod list;
pub(crate) mod offline;
pub(crate) mod picture;
pub(crate) mod rules;
mod subscribing;
pub(crate) mod subscriptions;
pub(crate) mod transfer;

use feedsync_aggregator::ArticleText;
use feedsync_formats::ContentType;
use feedsync_log::Millis;
use feedsync_reader_api::{FeedNumber, Label};
use feedsync_reading_state::Folder;
use feedsync_store::Moment;
use http::HeaderValue;

use crate::access::call::Call;
use crate::http::html::content::short;
use crate::http::problem::Problem;
use crate::hub::Hub;
use crate::pages::answer::{Time, sentence};
use crate::reading::Reading;

/// Caching of pictures by browsers.
const ONCE_A_DAY: HeaderValue = HeaderValue::from_static("private, max-age=86400");

/// Reading state of the principal.
async fn reading(hub: &Hub, call: &Call) -> Result<Reading, Problem> {
    Ok(Reading::of(hub, call, &call.principal).await?)
}

/// Address of the subscriptions page.
fn home(root: &str) -> String {
    format!("{root}/pages/reading")
}

/// Address of a feed's page.
fn feed_page(root: &str, feed: FeedNumber) -> String {
    format!("{}/feeds/{feed}", home(root))
}

/// Adds a parameter to an address.
fn with(address: &str, name: &str, value: &str) -> String {
    let sign = if address.contains('?') { '&' } else { '?' };
    format!("{address}{sign}{name}={value}")
}

fn time(at: Millis) -> Time {
    Time::of(Moment::from_micros(at.get().saturating_mul(1_000)))
}

/// The folder whose name was typed; the top level for an empty name.
fn typed_folder(reading: &Reading, text: &str) -> Result<Folder, String> {
    if text.trim().is_empty() {
        return Ok(Folder::TOP);
    }
    let label: Label = text.trim().parse().map_err(sentence)?;
    match reading.folders.find_by_name(&label) {
        Some(folder) => Ok(folder.clone()),
        None => label.folder().map_err(sentence),
    }
}

/// Maximum size of a content's beginning that is searched for the first words, in bytes.
const MAX_SEARCHED_BYTES: usize = 8 << 10;

/// Beginning of an article, as text on one line.
fn beginning(text: &ArticleText, characters: usize) -> String {
    let Some(said) = text.summary.as_ref().or(text.content.as_ref()) else { return String::new() };
    let mut begin = &said[..said.floor_char_boundary(MAX_SEARCHED_BYTES)];
    // A truncated tag is not text.
    if let Some(tag) = begin.rfind('<').filter(|tag| !begin[*tag..].contains('>')) {
        begin = &begin[..tag];
    }
    let is_markup = text.summary.is_none()
        && matches!(text.content_type, ContentType::Html | ContentType::Xhtml);
    let plain = if is_markup { feedsync_formats::plain_text(begin) } else { begin.to_owned() };
    short(&plain, characters)
}
