//! Outcomes of polls.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::time::Duration;

use feedsync_log::Millis;
use feedsync_reading_state::{ArticleId, IdentificationState};
use sha2::{Digest as _, Sha256};

use crate::library::article::{
    ArticleText, MAX_ARTICLE_BYTES, MAX_LIST_ENTRIES, MAX_TEXT_BYTES, NewArticle,
};
use crate::library::error::LibraryError;
use crate::library::feed::{FeedHead, PollState};
use feedsync_reader_api::ArticleNumber;

/// Maximum number of articles in one document.
pub const MAX_DOCUMENT_ARTICLES: usize = 10_000;

/// Maximum age of a late article. An article is late if its date is before that of the newest article of its
/// feed, but not more than this before its arrival. It is then placed above the newest one, since a user who
/// marked the feed as read meanwhile has not seen it. Articles with earlier dates stay at their dates, so that a
/// feed that adds old articles does not flood its readers.
pub const MAX_LATENESS: Duration = Duration::from_secs(48 * 60 * 60);

/// Outcome of a poll.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Poll {
    /// New state of polling.
    pub state: PollState,
    /// Document, if it differs from the last one.
    pub document: Option<PolledDocument>,
}

/// A parsed document.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PolledDocument {
    /// Metadata of the feed.
    pub head: FeedHead,
    /// Articles in the order of the document. Of several with the same identifier, the one with the latest dates
    /// counts, and of those the first.
    pub articles: Vec<NewArticle>,
    /// Identification state for the next call of [`feedsync_reading_state::identify`].
    pub identification_state: IdentificationState,
}

/// Changes that a document caused.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PollChanges {
    /// New articles, ordered by number.
    pub added: Vec<ArticleNumber>,
    /// Articles with changed contents, in the order of the document.
    pub changed: Vec<ArticleNumber>,
}

impl Poll {
    /// Checks the limits; an error names the part that exceeds one.
    pub(crate) fn check(&self) -> Result<(), LibraryError> {
        let PollState { etag, last_modified, fault, .. } = &self.state;
        check_text(etag, || "an entity tag".to_owned())?;
        check_text(last_modified, || "a time of modification".to_owned())?;
        check_text(fault, || "the reason of a failure".to_owned())?;
        self.document.as_ref().map_or(Ok(()), PolledDocument::check)
    }
}

impl PolledDocument {
    fn check(&self) -> Result<(), LibraryError> {
        let FeedHead { title, site, description, icon, hub, topic } = &self.head;
        let texts = [
            (title, "title"),
            (site, "site"),
            (description, "description"),
            (icon, "icon's address"),
            (hub, "hub's address"),
            (topic, "topic"),
        ];
        for (text, name) in texts {
            check_text(text, || format!("the feed's {name}"))?;
        }
        check_count(self.articles.len(), MAX_DOCUMENT_ARTICLES, "articles", || {
            "the document".to_owned()
        })?;
        self.articles.iter().try_for_each(NewArticle::check)
    }

    /// Returns the articles without duplicates, in the order of the document.
    pub(crate) fn deduplicated(&self) -> Vec<&NewArticle> {
        let mut deduplicated: Vec<&NewArticle> = Vec::with_capacity(self.articles.len());
        let mut places: HashMap<&ArticleId, usize> = HashMap::new();
        for article in &self.articles {
            match places.entry(&article.name) {
                Entry::Vacant(place) => {
                    place.insert(deduplicated.len());
                    deduplicated.push(article);
                }
                Entry::Occupied(place) => {
                    let known = &mut deduplicated[*place.get()];
                    if article.dates() > known.dates() {
                        *known = article;
                    }
                }
            }
        }
        deduplicated
    }
}

impl NewArticle {
    fn dates(&self) -> impl Ord + use<> {
        (self.published, self.text.updated)
    }

    fn check(&self) -> Result<(), LibraryError> {
        let named = |part: &str| format!("the {part} of the article {:?}", self.name);
        let text = &self.text;
        let ArticleText { title, link, author, base, summary, .. } = text;
        let texts =
            [(title, "title"), (link, "address"), (author, "author's name"), (base, "base")];
        for (text, part) in texts {
            check_text(text, || named(part))?;
        }
        check_count(text.enclosures.len(), MAX_LIST_ENTRIES, "entries", || {
            named("list of enclosures")
        })?;
        check_count(text.categories.len(), MAX_LIST_ENTRIES, "entries", || {
            named("list of categories")
        })?;
        let lengths = [title, link, author, base, summary, &text.content];
        let mut bytes: usize =
            lengths.iter().map(|text| text.as_ref().map_or(0, String::len)).sum();
        bytes += text.content_type.name().len();
        for enclosure in &text.enclosures {
            let media_type = enclosure.media_type.as_ref().map_or(0, String::len);
            bytes += enclosure.address.len() + media_type;
        }
        bytes += text.categories.iter().map(String::len).sum::<usize>();
        check_count(bytes, MAX_ARTICLE_BYTES, "bytes", || named("text"))?;
        check_count(self.plain.len(), MAX_ARTICLE_BYTES, "bytes", || named("plain text"))
    }

    /// Digest of the contents, to detect changes. It is stored, so its definition must not change.
    pub(crate) fn digest(&self) -> [u8; 16] {
        let ArticleText {
            updated,
            title,
            link,
            author,
            base,
            content,
            content_type,
            summary,
            enclosures,
            categories,
        } = &self.text;
        let mut hasher = ContentHasher(Sha256::new());
        hasher.number(updated.map(|updated| updated.get()));
        for text in [title, link, author, base, content, summary] {
            hasher.text(text.as_deref());
        }
        hasher.text(Some(content_type.name()));
        hasher.number(Some(enclosures.len() as u64));
        for enclosure in enclosures {
            hasher.text(Some(&enclosure.address));
            hasher.text(enclosure.media_type.as_deref());
            hasher.number(enclosure.length);
        }
        categories.iter().for_each(|category| hasher.text(Some(category)));
        hasher.text(None);
        hasher.text(Some(&self.plain));
        // Appended only where present, so that digests from before durations existed stay valid.
        for (place, enclosure) in (0..).zip(enclosures) {
            if let Some(duration) = enclosure.duration {
                hasher.number(Some(place));
                hasher.number(Some(duration.into()));
            }
        }
        let digest: [u8; 32] = hasher.0.finalize().into();
        // Half of the digest suffices to distinguish the contents of one article.
        std::array::from_fn(|place| digest[place])
    }
}

/// The new articles of a document in the order of their numbers, with their sort dates. `newest` is the sort date of the
/// newest article of their feed. Documents list new articles first, so the last one gets the lowest number.
pub(crate) fn placed(
    mut new: Vec<&NewArticle>,
    newest: Option<Millis>,
    now: Millis,
) -> impl Iterator<Item = (Millis, &NewArticle)> {
    new.reverse();
    new.sort_by_key(|article| dated(article, now));
    new.into_iter().map(move |article| (sort_date(dated(article, now), newest, now), article))
}

/// The earlier of the date of publication and the time of arrival.
fn dated(article: &NewArticle, now: Millis) -> Millis {
    article.published.map_or(now, |published| published.min(now))
}

/// Sort date of a new article: its own date, or just above the newest article of its feed if it is
/// [late](MAX_LATENESS).
fn sort_date(dated: Millis, newest: Option<Millis>, now: Millis) -> Millis {
    let since = now.get().saturating_sub(MAX_LATENESS.as_millis() as u64);
    match newest {
        Some(newest) if dated <= newest && dated.get() >= since => {
            Millis::new(newest.get() + 1).min(now)
        }
        _ => dated,
    }
}

/// Hashes parts, each prefixed by its presence and its length.
struct ContentHasher(Sha256);

impl ContentHasher {
    fn text(&mut self, text: Option<&str>) {
        self.number(text.map(|text| text.len() as u64));
        self.0.update(text.unwrap_or_default());
    }

    fn number(&mut self, number: Option<u64>) {
        self.0.update([u8::from(number.is_some())]);
        self.0.update(number.unwrap_or_default().to_be_bytes());
    }
}

fn check_text(text: &Option<String>, part: impl FnOnce() -> String) -> Result<(), LibraryError> {
    check_count(text.as_ref().map_or(0, String::len), MAX_TEXT_BYTES, "bytes", part)
}

pub(crate) fn check_count(
    count: usize,
    most: usize,
    unit: &'static str,
    part: impl FnOnce() -> String,
) -> Result<(), LibraryError> {
    if count > most { Err(LibraryError::TooMuch { part: part(), most, unit }) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use feedsync_log::Millis;

    use super::*;
    use crate::library::article::Enclosure;

    fn article(name: &str) -> NewArticle {
        NewArticle {
            name: name.parse().unwrap(),
            published: None,
            text: ArticleText::default(),
            plain: String::new(),
        }
    }

    /// Every change of the contents changes the digest.
    #[test]
    fn each_part_of_an_article_counts() {
        let some = |text: &str| Some(text.to_owned());
        let alterations: [fn(&mut NewArticle, Option<String>); 6] = [
            |article, text| article.text.title = text,
            |article, text| article.text.link = text,
            |article, text| article.text.author = text,
            |article, text| article.text.base = text,
            |article, text| article.text.content = text,
            |article, text| article.text.summary = text,
        ];
        let mut all = vec![article("a")];
        for alter in alterations {
            for text in ["", "x"] {
                let mut altered = article("a");
                alter(&mut altered, some(text));
                all.push(altered);
            }
        }
        let others: [fn(&mut NewArticle); 8] = [
            |article| article.text.updated = Some(Millis::new(0)),
            |article| article.text.content_type = feedsync_formats::ContentType::Html,
            |article| article.text.categories = vec![String::new()],
            |article| article.text.categories = vec!["x".to_owned()],
            |article| article.text.enclosures = vec![Enclosure::default()],
            |article| {
                article.text.enclosures =
                    vec![Enclosure { length: Some(0), ..Enclosure::default() }];
            },
            |article| {
                article.text.enclosures =
                    vec![Enclosure { duration: Some(0), ..Enclosure::default() }];
            },
            |article| article.plain = "x".to_owned(),
        ];
        for alter in others {
            let mut altered = article("a");
            alter(&mut altered);
            all.push(altered);
        }
        let count = all.len();
        let digests: std::collections::HashSet<_> = all.iter().map(NewArticle::digest).collect();
        assert_eq!(digests.len(), count);
        // The identifier and the date are not part of the contents.
        let dated = NewArticle { published: Some(Millis::new(1)), ..article("b") };
        assert_eq!(dated.digest(), article("a").digest());
    }

    #[test]
    fn duplicates_resolve_to_the_latest_and_then_the_first() {
        let telling = |name: &str, published: Option<u64>, title: &str| {
            let mut article = article(name);
            article.published = published.map(Millis::new);
            article.text.title = Some(title.to_owned());
            article
        };
        let articles = vec![
            telling("a", None, "no date"),
            telling("b", Some(5), "first"),
            telling("a", Some(1), "early"),
            telling("a", Some(2), "late"),
            telling("b", Some(5), "second"),
            telling("b", Some(4), "earlier"),
        ];
        let document = PolledDocument { articles, ..PolledDocument::default() };
        let titles: Vec<_> = document
            .deduplicated()
            .iter()
            .map(|deduplicated| deduplicated.text.title.as_deref())
            .collect();
        assert_eq!(titles, [Some("late"), Some("first")]);
    }

    #[test]
    fn oversized_part_is_named_in_the_error() {
        let refusal = |poll: &Poll| poll.check().unwrap_err().to_string();
        let long = || Some("x".repeat(MAX_TEXT_BYTES + 1));
        let state = PollState { etag: long(), ..PollState::default() };
        let poll = Poll { state, document: None };
        assert_eq!(refusal(&poll), "an entity tag has more than 65536 bytes");
        let of = |document| Poll { state: PollState::default(), document: Some(document) };
        let head = FeedHead { hub: long(), ..FeedHead::default() };
        let poll = of(PolledDocument { head, ..PolledDocument::default() });
        assert_eq!(refusal(&poll), "the feed's hub's address has more than 65536 bytes");
        let of_article = |alter: fn(&mut NewArticle)| {
            let mut article = article("a");
            alter(&mut article);
            of(PolledDocument { articles: vec![article], ..PolledDocument::default() })
        };
        let poll = of_article(|article| article.text.title = Some("x".repeat(MAX_TEXT_BYTES + 1)));
        assert_eq!(refusal(&poll), "the title of the article \"a\" has more than 65536 bytes");
        let poll =
            of_article(|article| article.text.content = Some("x".repeat(MAX_ARTICLE_BYTES + 1)));
        assert_eq!(refusal(&poll), "the text of the article \"a\" has more than 1048576 bytes");
        let poll = of_article(|article| article.plain = "x".repeat(MAX_ARTICLE_BYTES + 1));
        assert_eq!(
            refusal(&poll),
            "the plain text of the article \"a\" has more than 1048576 bytes"
        );
        let poll = of_article(|article| {
            article.text.categories = vec![String::new(); MAX_LIST_ENTRIES + 1]
        });
        assert_eq!(
            refusal(&poll),
            "the list of categories of the article \"a\" has more than 1000 entries"
        );
        let articles = vec![article("a"); MAX_DOCUMENT_ARTICLES + 1];
        let poll = of(PolledDocument { articles, ..PolledDocument::default() });
        assert_eq!(refusal(&poll), "the document has more than 10000 articles");
    }
}
