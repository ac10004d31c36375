//! What came of asking a feed.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::time::Duration;

use feedsync_reader::{ArticleId, Remembered};
use sha2::{Digest as _, Sha256};

use crate::article::{ArticleText, MOST_ARTICLE, MOST_LIST, MOST_TEXT, NewArticle};
use crate::error::LibraryError;
use crate::feed::{FeedHead, PollState};
use feedsync_newsreader::ArticleNumber;

/// The most articles of one document.
pub const MOST_ARTICLES: usize = 10_000;

/// An article that comes with a date before that of the newest of its feed, but not earlier than this before it came, is
/// late, and stands above that one: who marked the feed as read meanwhile has not seen it. What is dated earlier
/// stands where it is dated, so that a feed that shows more of its past does not flood who has read it.
pub const LATE_AT_MOST: Duration = Duration::from_secs(48 * 60 * 60);

/// What came of asking a feed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Poll {
    /// What is known of it now.
    pub state: PollState,
    /// What it said, if it said something else than the last time.
    pub document: Option<PolledDocument>,
}

/// What a feed said.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PolledDocument {
    /// Of itself.
    pub head: FeedHead,
    /// Its articles in the order of the document. Of several that are one article the one with the latest dates
    /// counts, of those the first.
    pub articles: Vec<NewArticle>,
    /// What [`feedsync_reader::identify`] is to remember.
    pub remembered: Remembered,
}

/// What a document brought.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settled {
    /// Articles that are new, in the order of their numbers.
    pub added: Vec<ArticleNumber>,
    /// Articles that say something else than before, in the order of the document.
    pub changed: Vec<ArticleNumber>,
}

impl Poll {
    /// Refuses what is too large to be kept, and names it.
    pub(crate) fn check(&self) -> Result<(), LibraryError> {
        let PollState { etag, last_modified, fault, .. } = &self.state;
        short(etag, || "an entity tag".to_owned())?;
        short(last_modified, || "a time of modification".to_owned())?;
        short(fault, || "the reason of a failure".to_owned())?;
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
            short(text, || format!("the feed's {name}"))?;
        }
        few(self.articles.len(), MOST_ARTICLES, "articles", || "the document".to_owned())?;
        self.articles.iter().try_for_each(NewArticle::check)
    }

    /// The articles, each once, in the order of the document.
    pub(crate) fn told(&self) -> Vec<&NewArticle> {
        let mut told: Vec<&NewArticle> = Vec::with_capacity(self.articles.len());
        let mut places: HashMap<&ArticleId, usize> = HashMap::new();
        for article in &self.articles {
            match places.entry(&article.name) {
                Entry::Vacant(place) => {
                    place.insert(told.len());
                    told.push(article);
                }
                Entry::Occupied(place) => {
                    let known = &mut told[*place.get()];
                    if article.dates() > known.dates() {
                        *known = article;
                    }
                }
            }
        }
        told
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
            short(text, || named(part))?;
        }
        few(text.enclosures.len(), MOST_LIST, "entries", || named("list of enclosures"))?;
        few(text.categories.len(), MOST_LIST, "entries", || named("list of categories"))?;
        let lengths = [title, link, author, base, summary, &text.content];
        let mut bytes: usize =
            lengths.iter().map(|text| text.as_ref().map_or(0, String::len)).sum();
        bytes += text.content_type.name().len();
        for enclosure in &text.enclosures {
            let media_type = enclosure.media_type.as_ref().map_or(0, String::len);
            bytes += enclosure.address.len() + media_type;
        }
        bytes += text.categories.iter().map(String::len).sum::<usize>();
        few(bytes, MOST_ARTICLE, "bytes", || named("text"))?;
        few(self.plain.len(), MOST_ARTICLE, "bytes", || named("plain text"))
    }

    /// Tells whether what it says is what it said before. Stored, so it stays as it is.
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
        let mut said = Said(Sha256::new());
        said.number(updated.map(|updated| updated.get()));
        for text in [title, link, author, base, content, summary] {
            said.text(text.as_deref());
        }
        said.text(Some(content_type.name()));
        said.number(Some(enclosures.len() as u64));
        for enclosure in enclosures {
            said.text(Some(&enclosure.address));
            said.text(enclosure.media_type.as_deref());
            said.number(enclosure.length);
        }
        categories.iter().for_each(|category| said.text(Some(category)));
        said.text(None);
        said.text(Some(&self.plain));
        // At the end, and only where there is one: digests of before durations were known still hold.
        for (place, enclosure) in (0..).zip(enclosures) {
            if let Some(duration) = enclosure.duration {
                said.number(Some(place));
                said.number(Some(duration.into()));
            }
        }
        let digest: [u8; 32] = said.0.finalize().into();
        // Half of it tells apart well enough what one feed says of one article.
        std::array::from_fn(|place| digest[place])
    }
}

/// What is hashed: each part says how long it is, and whether it is there.
struct Said(Sha256);

impl Said {
    fn text(&mut self, text: Option<&str>) {
        self.number(text.map(|text| text.len() as u64));
        self.0.update(text.unwrap_or_default());
    }

    fn number(&mut self, number: Option<u64>) {
        self.0.update([u8::from(number.is_some())]);
        self.0.update(number.unwrap_or_default().to_be_bytes());
    }
}

fn short(text: &Option<String>, part: impl FnOnce() -> String) -> Result<(), LibraryError> {
    few(text.as_ref().map_or(0, String::len), MOST_TEXT, "bytes", part)
}

pub(crate) fn few(
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
    use crate::article::Enclosure;

    fn article(name: &str) -> NewArticle {
        NewArticle {
            name: name.parse().unwrap(),
            published: None,
            text: ArticleText::default(),
            plain: String::new(),
        }
    }

    /// Whatever is changed in what an article says, its digest tells.
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
        // Its name and its date are not what it says.
        let dated = NewArticle { published: Some(Millis::new(1)), ..article("b") };
        assert_eq!(dated.digest(), article("a").digest());
    }

    #[test]
    fn the_latest_telling_counts_and_of_those_the_first() {
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
        let titles: Vec<_> =
            document.told().iter().map(|told| told.text.title.as_deref()).collect();
        assert_eq!(titles, [Some("late"), Some("first")]);
    }

    #[test]
    fn what_is_too_large_is_named() {
        let refusal = |poll: &Poll| poll.check().unwrap_err().to_string();
        let long = || Some("x".repeat(MOST_TEXT + 1));
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
        let poll = of_article(|article| article.text.title = Some("x".repeat(MOST_TEXT + 1)));
        assert_eq!(refusal(&poll), "the title of the article \"a\" has more than 65536 bytes");
        let poll = of_article(|article| article.text.content = Some("x".repeat(MOST_ARTICLE + 1)));
        assert_eq!(refusal(&poll), "the text of the article \"a\" has more than 1048576 bytes");
        let poll = of_article(|article| article.plain = "x".repeat(MOST_ARTICLE + 1));
        assert_eq!(
            refusal(&poll),
            "the plain text of the article \"a\" has more than 1048576 bytes"
        );
        let poll =
            of_article(|article| article.text.categories = vec![String::new(); MOST_LIST + 1]);
        assert_eq!(
            refusal(&poll),
            "the list of categories of the article \"a\" has more than 1000 entries"
        );
        let articles = vec![article("a"); MOST_ARTICLES + 1];
        let poll = of(PolledDocument { articles, ..PolledDocument::default() });
        assert_eq!(refusal(&poll), "the document has more than 10000 articles");
    }
}
