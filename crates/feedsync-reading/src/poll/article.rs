//! Entries of a feed, as the library keeps them.

use feedsync_formats::{ContentType, Entry, Person};
use feedsync_library::{ArticleText, Enclosure, MOST_ARTICLE, MOST_LIST, MOST_TEXT, NewArticle};
use feedsync_log::Millis;
use feedsync_reader::ArticleId;

/// An entry under the name that it has in its feed. What is too long is cut off: a newsreader shows the beginning.
pub(super) fn article(name: ArticleId, entry: Entry) -> NewArticle {
    let plain = entry.plain_content().or_else(|| entry.summary.clone()).unwrap_or_default();
    let (published, updated) = (millis(entry.published), millis(entry.updated));
    let link = entry.link().map(str::to_owned);
    let enclosures = entry.links.iter().filter(|link| link.rel == "enclosure").take(MOST_LIST);
    let enclosures = enclosures.map(|link| Enclosure {
        address: cut(link.href.clone(), MOST_TEXT),
        media_type: link.media_type.clone().map(|text| cut(text, MOST_TEXT)),
        length: link.length,
    });
    let enclosures = enclosures.collect();
    let categories = entry.categories.into_iter().take(MOST_LIST);
    let categories = categories.map(|category| category.label.unwrap_or(category.term));
    // What is neither text nor markup is nothing that a newsreader shows.
    let is_shown = match &entry.content_type {
        ContentType::Other(media_type) => media_type.starts_with("text/"),
        _ => true,
    };
    let short = |text: Option<String>| text.map(|text| cut(text, MOST_TEXT));
    let text = ArticleText {
        updated,
        title: short(entry.title),
        link: short(link),
        author: short(entry.author.and_then(named)),
        base: None,
        content: entry.content.filter(|_| is_shown).map(|text| cut(text, MOST_CONTENT)),
        content_type: if is_shown { entry.content_type } else { ContentType::Text },
        summary: short(entry.summary),
        enclosures,
        categories: categories.map(|text| cut(text, MOST_TEXT / 64)).collect(),
    };
    NewArticle { name, published: published.or(updated), text, plain: cut(plain, MOST_CONTENT) }
}

/// What is left for the content when all else is as long as it may be.
const MOST_CONTENT: usize = MOST_ARTICLE / 2;

fn named(person: Person) -> Option<String> {
    person.name.or(person.email).or(person.uri)
}

fn millis(moment: Option<feedsync::Timestamp>) -> Option<Millis> {
    let seconds = u64::try_from(moment?.unix_seconds()).ok()?;
    Some(Millis::new(seconds.saturating_mul(1_000)))
}

/// At most so many bytes of a text.
fn cut(mut text: String, most: usize) -> String {
    text.truncate(text.floor_char_boundary(most));
    text
}
