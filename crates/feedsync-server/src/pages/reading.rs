//! What somebody reads, as pages: subscriptions, lists of articles, articles.
//!
//! They do to somebody's reading what newsreaders do to it, through the same [`Reading`], and who may not use that may
//! not use these. Looking at a page marks nothing, since browsers look at pages that nobody has asked for yet: marks
//! are forms, and a script sends the one that says that an article was opened.

pub(crate) mod article;
pub(crate) mod articles;
pub(crate) mod export;
pub(crate) mod feed;
mod list;
pub(crate) mod subscriptions;
pub(crate) mod transfer;

use feedsync_formats::ContentType;
use feedsync_library::ArticleText;
use feedsync_log::Millis;
use feedsync_newsreader::{FeedNumber, Label};
use feedsync_reader::Folder;
use feedsync_store::Moment;

use crate::call::Call;
use crate::hub::Hub;
use crate::newsreaders::Reading;
use crate::pages::answer::{Time, sentence};
use crate::pages::content::short;
use crate::problem::Problem;

/// The reading of whoever asks for a page.
async fn reading(hub: &Hub, call: &Call) -> Result<Reading, Problem> {
    Ok(Reading::of(hub, call, &call.principal).await?)
}

/// The address of the subscriptions.
fn home(root: &str) -> String {
    format!("{root}/pages/reading")
}

/// The address of what there is to say of a feed.
fn feed_page(root: &str, feed: FeedNumber) -> String {
    format!("{}/feeds/{feed}", home(root))
}

/// An address with one parameter more.
fn with(address: &str, name: &str, value: &str) -> String {
    let sign = if address.contains('?') { '&' } else { '?' };
    format!("{address}{sign}{name}={value}")
}

fn time(at: Millis) -> Time {
    Time::of(Moment::from_micros(at.get().saturating_mul(1_000)))
}

/// The folder that somebody typed: the top, if they typed nothing.
fn typed_folder(reading: &Reading, text: &str) -> Result<Folder, String> {
    if text.trim().is_empty() {
        return Ok(Folder::TOP);
    }
    let label: Label = text.trim().parse().map_err(sentence)?;
    match reading.folders.called(&label) {
        Some(folder) => Ok(folder.clone()),
        None => label.folder().map_err(sentence),
    }
}

/// Bytes of a content that its first words are looked for in.
const BEGINNING: usize = 8 << 10;

/// How an article begins, as text on one line.
fn beginning(text: &ArticleText, characters: usize) -> String {
    let Some(said) = text.summary.as_ref().or(text.content.as_ref()) else { return String::new() };
    let mut begin = &said[..said.floor_char_boundary(BEGINNING)];
    // A tag that was cut is no text.
    if let Some(tag) = begin.rfind('<').filter(|tag| !begin[*tag..].contains('>')) {
        begin = &begin[..tag];
    }
    let is_markup = text.summary.is_none()
        && matches!(text.content_type, ContentType::Html | ContentType::Xhtml);
    let plain = if is_markup { feedsync_formats::plain_text(begin) } else { begin.to_owned() };
    short(&plain, characters)
}
