//! What a feed lists, as who knows Atom alone sees it.

use super::application::Answer;

/// A member, as its collection shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Member {
    pub(crate) title: String,
    /// How often it was written, where the feed tells.
    pub(crate) updates: u32,
}

/// The members of a feed, in their order.
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

/// The titles of a feed, sorted.
pub(crate) fn titles(answer: &Answer) -> Vec<String> {
    let mut titles: Vec<_> = members(answer).into_iter().map(|member| member.title).collect();
    titles.sort();
    titles
}
