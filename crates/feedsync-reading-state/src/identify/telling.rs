//! The articles of a document, each once.

use std::collections::HashMap;
use std::collections::hash_map::Entry as Place;

use feedsync_formats::Entry;

use super::address::without_tracking;
use super::traces::Traces;
use crate::article::hash;

/// An article as a document states it.
#[derive(Debug)]
pub(super) struct Telling<'a> {
    /// Name that the feed gives the article; never empty.
    pub(super) name: String,
    pub(super) entry: &'a Entry,
    pub(super) traces: Traces,
}

/// Returns the articles of a document, in an order that does not depend on the document's, and for each entry
/// the index of its article.
pub(super) fn tellings(entries: &[Entry]) -> (Vec<Telling<'_>>, Vec<usize>) {
    let all: Vec<_> = entries.iter().map(|entry| (Traces::of(entry), entry)).collect();
    let mut latest = HashMap::new();
    for (traces, entry) in &all {
        match latest.entry(traces.apart()) {
            Place::Vacant(place) => _ = place.insert((traces, *entry)),
            Place::Occupied(mut place) => {
                let (known, before) = *place.get();
                if later(traces, entry) > later(known, before) {
                    place.insert((traces, *entry));
                }
            }
        }
    }
    let mut told: Vec<_> = latest.into_iter().collect();
    told.sort_unstable_by_key(|(apart, _)| *apart);
    let places: HashMap<_, _> = told.iter().map(|(apart, _)| *apart).zip(0..).collect();
    let places = all.iter().map(|(traces, _)| places[&traces.apart()]).collect();
    let telling = |(_, (traces, entry)): (_, (&Traces, _))| Telling {
        name: name(entry),
        entry,
        traces: traces.clone(),
    };
    (told.into_iter().map(telling).collect(), places)
}

/// Sort key of two entries for one article: the greater one counts, whatever the order of the document.
fn later<'a>(traces: &Traces, entry: &'a Entry) -> impl Ord + use<'a> {
    (traces.published, traces.content, entry.id.as_deref(), entry.link())
}

/// Name that the feed gives an entry.
fn name(entry: &Entry) -> String {
    let link = without_tracking(link(entry));
    let said = [entry.id.as_deref().unwrap_or_default(), &*link];
    match said.into_iter().find(|name| !name.is_empty()) {
        Some(name) => name.to_owned(),
        None => format!("sha256:{}", hash(&[title(entry), content(entry)])),
    }
}

pub(super) fn link(entry: &Entry) -> &str {
    entry.link().unwrap_or_default()
}

pub(super) fn title(entry: &Entry) -> &str {
    entry.title.as_deref().unwrap_or_default()
}

pub(super) fn content(entry: &Entry) -> &str {
    entry.content.as_deref().or(entry.summary.as_deref()).unwrap_or_default()
}
