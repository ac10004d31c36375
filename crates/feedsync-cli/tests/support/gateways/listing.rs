//! Members of a feed as a client sees them that supports only Atom.

use super::application::Answer;

/// A member of a collection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Member {
    pub(crate) title: String,
    /// Number of updates, if the feed contains it.
    pub(crate) updates: u32,
}

/// Members of a feed, in the order of the feed.
pub(crate) fn members(answer: &Answer) -> Vec<Member> {
    assert_eq!(answer.status, 200, "{}", answer.text());
    let entries = answer.text().split("<entry").skip(1);
    let live = entries.filter(|entry| !entry.contains("deleted=\"true\""));
    live.map(|entry| Member {
        title: between(entry, "<title", "</title>")
            .and_then(|title| title.split_once('>'))
            .map_or_else(String::new, |(_, title)| title.to_owned()),
        updates: between(entry, "updates=\"", "\"").and_then(|text| text.parse().ok()).unwrap_or(0),
    })
    .collect()
}

fn between<'t>(text: &'t str, before: &str, after: &str) -> Option<&'t str> {
    let (_, text) = text.split_once(before)?;
    Some(text.split_once(after)?.0)
}

/// Titles of the members of a feed, sorted.
pub(crate) fn titles(answer: &Answer) -> Vec<String> {
    let mut titles: Vec<_> = members(answer).into_iter().map(|member| member.title).collect();
    titles.sort();
    titles
}
