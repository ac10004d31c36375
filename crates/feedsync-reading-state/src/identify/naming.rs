//! Ids of new articles.

use std::collections::HashSet;

use super::address::without_tracking;
use super::document_article::{DocumentArticle, content, link, title};
use crate::article::{ArticleId, hash};

/// Assigns ids, none of them twice.
pub(super) struct Names {
    taken: HashSet<ArticleId>,
}

impl Names {
    /// Excludes the ids of known articles.
    pub(super) fn new(taken: HashSet<ArticleId>) -> Self {
        Self { taken }
    }

    /// Assigns ids to new articles.
    pub(super) fn all(
        mut self,
        new: &[&DocumentArticle<'_>],
        is_shared: impl Fn(&u64) -> bool,
    ) -> Vec<ArticleId> {
        let mut ids = Vec::with_capacity(new.len());
        for document_article in new {
            let id = names(document_article, &is_shared)
                .filter_map(|name| ArticleId::of(&name))
                .find(|id| !self.taken.contains(id));
            self.taken.extend(id.clone());
            // No name is empty and the sequence of names is infinite, so each article gets an id.
            ids.extend(id);
        }
        ids
    }
}

/// Candidates for the name of an article, the best first: its name alone, or with a hash of what
/// distinguishes it.
fn names(
    document_article: &DocumentArticle<'_>,
    is_shared: impl Fn(&u64) -> bool,
) -> impl Iterator<Item = String> {
    let DocumentArticle { name, entry, hashes } = document_article;
    let (link, title, content) = (without_tracking(link(entry)), title(entry), content(entry));
    let is_shared = |trace: Option<u64>| trace.is_some_and(|trace| is_shared(&trace));
    let extended = move |distinction: String| format!("{name}#{}", &distinction[..16]);

    let alone = (!is_shared(hashes.name)).then(|| name.clone());
    let by_link = (!is_shared(hashes.named_link())).then(|| hash(&["link", &link]));
    let by_title = (!title.is_empty()).then(|| hash(&["title", &link, title]));
    let by_content = hash(&["content", &link, content]);
    let again =
        (2_u64..).map(move |number| hash(&["again", &number.to_string(), &link, title, content]));
    let distinctions = by_link.into_iter().chain(by_title).chain([by_content]).chain(again);
    alone.into_iter().chain(distinctions.map(extended))
}
