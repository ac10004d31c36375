//! Streams of Google Reader in Atom, which newsboat reads. The categories of an entry say whether it was
//! read.

use feedsync_formats::{LabelledEntry, escape_attribute, labelled_entries};
use feedsync_reader_api::google::ItemId;

use super::facts::{Fact, Facts};
use super::form::List;
use super::overlay::{Overlay, State};

/// Scheme of the categories about reading states.
const SCHEME: &str = "http://www.google.com/reader/";

const STATES: &str = "user/-/state/com.google/";

/// Facts about articles in a stream.
pub(super) fn facts(list: &List, body: &[u8]) -> Option<Facts> {
    let text = std::str::from_utf8(body).ok()?;
    let entries = labelled_entries(text, SCHEME).ok()?;
    let fact = |entry: &LabelledEntry| {
        let ItemId(article) = entry.id.parse().ok()?;
        let has = |label: &str| entry.labels.iter().any(|(_, known)| known == label);
        let is_said = ["read", "fresh", "kept-unread"].into_iter().any(has);
        Some(Fact {
            article: article.get(),
            feed: list.filter.feed,
            is_read: is_said.then(|| has("read")),
            is_starred: Some(has("starred")),
            ..Fact::default()
        })
    };
    Some(Facts { articles: entries.iter().filter_map(fact).collect(), filed: Vec::new() })
}

/// Returns a stream with changes applied. Entries that the stream lacks are not added.
pub(super) fn merged(list: &List, body: &[u8], overlay: &Overlay) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(body).ok()?;
    let mut out = String::with_capacity(text.len() + 256);
    let mut at = 0;
    for entry in labelled_entries(text, SCHEME).ok()? {
        let number = entry.id.parse().ok().map(|ItemId(number)| number.get());
        let Some(state) = number.and_then(|number| overlay.state(number)) else { continue };
        out.push_str(&text[at..entry.span.start]);
        if list.filter.may_have(state.read, state.starred) {
            push(&mut out, text, &entry, state);
        }
        at = entry.span.end;
    }
    out.push_str(&text[at..]);
    Some(out.into_bytes())
}

fn push(out: &mut String, text: &str, entry: &LabelledEntry, state: &State) {
    let is_of = |labels: &[&str], label: &str| labels.contains(&label);
    let goes = |label: &str| {
        state.read.is_some()
            && is_of(&["read", "fresh", "kept-unread", "tracking-kept-unread"], label)
            || state.starred.is_some() && label == "starred"
    };
    let mut at = entry.span.start;
    let mut copy_to = |out: &mut String, to: usize, next: usize| {
        out.push_str(&text[at..to]);
        at = next;
    };
    let mut labels = entry.labels.iter().filter(|(_, label)| goes(label)).peekable();
    // Labels may precede the id.
    while let Some((span, _)) = labels.next_if(|(span, _)| span.start < entry.behind_id) {
        copy_to(out, span.start, span.end);
    }
    copy_to(out, entry.behind_id, entry.behind_id);
    match state.read {
        Some(true) => push_state(out, "read"),
        Some(false) => push_state(out, "kept-unread"),
        None => {}
    }
    if state.starred == Some(true) {
        push_state(out, "starred");
    }
    for (span, _) in labels {
        copy_to(out, span.start, span.end);
    }
    copy_to(out, entry.span.end, entry.span.end);
}

fn push_state(out: &mut String, label: &str) {
    out.push_str("<category xmlns=\"http://www.w3.org/2005/Atom\"");
    for (name, value) in [
        ("term", format!("{STATES}{label}")),
        ("scheme", SCHEME.to_owned()),
        ("label", label.to_owned()),
    ] {
        out.push_str(&format!(" {name}=\""));
        escape_attribute(out, &value);
        out.push('"');
    }
    out.push_str("/>");
}
