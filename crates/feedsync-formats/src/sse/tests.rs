//! SSE documents: the examples of the specification, its clauses on the wire, merging, and
//! conversion to FeedSync.

mod bridge;
mod corpora;
mod feeds;
mod merging;
mod outlines;
mod random;
mod vectors;
mod wire;

use feedsync_core::Outcome;

use super::{Document, Merged};
use crate::ReadOptions;

const HTTP: &str = "http://www.microsoft.com/schemas/rss/sse";
const HTTPS: &str = "https://www.microsoft.com/schemas/rss/sse";

fn read(text: &str) -> Document {
    Document::read(text.as_bytes(), &ReadOptions::strict())
        .unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Returns a channel with this content.
fn rss(inside: &str) -> String {
    format!("<rss version=\"2.0\" xmlns:sx=\"{HTTP}\"><channel>\n{inside}\n</channel></rss>")
}

/// Returns a body with this content.
fn opml(inside: &str) -> String {
    format!("<opml version=\"1.0\" xmlns:sx=\"{HTTP}\"><head/><body>\n{inside}\n</body></opml>")
}

/// Returns an item of a channel with one update for each `by` name, all in the same minute.
fn item(id: &str, title: &str, by: &[&str]) -> String {
    format!("<item><title>{title}</title>{}</item>", sync(id, by, ""))
}

/// Returns an `sx:sync` with a version for each name, the latest first, and further attributes.
fn sync(id: &str, by: &[&str], attributes: &str) -> String {
    let stamp = |by: &str| format!("when=\"21 May 2005 09:43:00 GMT\" by=\"{by}\"");
    let updates: String = by[1..].iter().map(|by| format!("<sx:update {}/>", stamp(by))).collect();
    format!(
        "<sx:sync id=\"{id}\" version=\"{}\"{attributes}><sx:history {}>{updates}</sx:history></sx:sync>",
        by.len(),
        stamp(by[0])
    )
}

/// Returns the fault of the only item of a document.
fn fault(text: &str) -> String {
    let document = read(text);
    assert_eq!((document.items().count(), document.refused().len()), (0, 1), "{text}");
    document.refused()[0].reason.to_string()
}

/// Merges two documents. Checks that the result can be read and that merging again changes nothing.
fn merged(local: &str, incoming: &str) -> (String, Vec<Outcome>) {
    let Merged { bytes, outcomes, .. } = read(local).merge(&read(incoming)).unwrap();
    let text = String::from_utf8(bytes).unwrap();
    let again = read(&text).merge(&read(incoming)).unwrap();
    assert_eq!(String::from_utf8(again.bytes).unwrap(), text);
    (text, outcomes.into_iter().map(|(_, outcome)| outcome).collect())
}
