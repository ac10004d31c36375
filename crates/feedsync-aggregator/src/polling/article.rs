//! Converts entries of a feed to articles of the library.

use crate::library::{ArticleText, Enclosure, MAX_ARTICLE_BYTES, MAX_TEXT_BYTES, NewArticle};
use feedsync_formats::{ContentType, Entry, Link, Person};
use feedsync_log::Millis;
use feedsync_reading_state::ArticleId;

/// Converts an entry with its identifier. Long parts are truncated, since newsreaders only show the start.
pub(super) fn article(name: ArticleId, entry: Entry) -> NewArticle {
    let plain = entry.plain_content().or_else(|| entry.summary.clone()).unwrap_or_default();
    let (published, updated) = (millis(entry.published), millis(entry.updated));
    // A truncated address would be a different one.
    let link = entry.link().filter(|link| link.len() <= MAX_ADDRESS_BYTES).map(str::to_owned);
    let is_media = |link: &&Link| link.rel == "enclosure" && link.href.len() <= MAX_ADDRESS_BYTES;
    let enclosures = entry.links.iter().filter(is_media).take(MAX_PARTS).map(|link| Enclosure {
        address: link.href.clone(),
        media_type: link.media_type.clone().map(|text| cut(text, MAX_NAME_BYTES)),
        length: link.length,
        duration: link.duration,
    });
    let enclosures: Vec<_> = enclosures.collect();
    let categories = entry.categories.into_iter().take(MAX_PARTS);
    let categories = categories.map(|category| category.label.unwrap_or(category.term));
    // Newsreaders cannot show content that is neither text nor markup.
    let is_shown = match &entry.content_type {
        ContentType::Other(media_type) => media_type.starts_with("text/"),
        _ => true,
    };
    let short = |text: Option<String>| text.map(|text| cut(text, MAX_TEXT_BYTES));
    let title = entry.title.or_else(|| placeholder(&plain)).or_else(|| link.clone());
    let title = title.or_else(|| Some(enclosures.first()?.address.clone()));
    let text = ArticleText {
        updated,
        title: short(title),
        link,
        author: short(entry.author.and_then(named)),
        base: None,
        content: entry.content.filter(|_| is_shown).map(|text| cut(text, MAX_CONTENT_BYTES)),
        content_type: if is_shown { entry.content_type } else { ContentType::Text },
        summary: short(entry.summary),
        enclosures,
        categories: categories.map(|text| cut(text, MAX_NAME_BYTES)).collect(),
    };
    NewArticle {
        name,
        published: published.or(updated),
        text,
        plain: cut(plain, MAX_CONTENT_BYTES),
    }
}

/// Maximum length of a title that is derived from the text, in characters.
const MAX_TITLE_CHARACTERS: usize = 100;

/// Title for an article without one: the start of its text, as Miniflux and FreshRSS derive it.
fn placeholder(plain: &str) -> Option<String> {
    let mut title = String::new();
    let mut count = 0;
    for word in plain.split_whitespace() {
        count += word.chars().count() + usize::from(count > 0);
        if count > MAX_TITLE_CHARACTERS {
            if title.is_empty() {
                title.extend(word.chars().take(MAX_TITLE_CHARACTERS));
            }
            title.push('…');
            return Some(title);
        }
        if !title.is_empty() {
            title.push(' ');
        }
        title.push_str(word);
    }
    (!title.is_empty()).then_some(title)
}

/// Maximum lengths of an address, and of a category or media type, in bytes; maximum number of enclosures, and of
/// categories.
const MAX_ADDRESS_BYTES: usize = 2 << 10;
const MAX_NAME_BYTES: usize = 256;
const MAX_PARTS: usize = 100;

/// Maximum length of the content, in bytes. The remainder suffices for all other parts at their maximum lengths.
const MAX_CONTENT_BYTES: usize = MAX_ARTICLE_BYTES / 2;
const _: () = assert!(
    MAX_CONTENT_BYTES
        + 3 * MAX_TEXT_BYTES
        + MAX_ADDRESS_BYTES
        + MAX_PARTS * (MAX_ADDRESS_BYTES + 2 * MAX_NAME_BYTES)
        < MAX_ARTICLE_BYTES
);

fn named(person: Person) -> Option<String> {
    person.name.or(person.email).or(person.uri)
}

fn millis(moment: Option<feedsync_core::Timestamp>) -> Option<Millis> {
    let seconds = u64::try_from(moment?.unix_seconds()).ok()?;
    Some(Millis::new(seconds.saturating_mul(1_000)))
}

/// Truncates a text to a number of bytes.
fn cut(mut text: String, most: usize) -> String {
    text.truncate(text.floor_char_boundary(most));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_title_is_derived_from_the_text() {
        let words = "word ".repeat(30);
        for (text, title) in [
            ("Just a\n microblog  post", Some("Just a microblog post".to_owned())),
            (&*words, Some(format!("{}…", words[..99].trim_end()))),
            (&*"é".repeat(200), Some(format!("{}…", "é".repeat(100)))),
            (" \n", None),
        ] {
            assert_eq!(placeholder(text), title);
        }
        let titled = |entry: Entry| {
            let name = ArticleId::of("a").unwrap();
            article(name, entry).text.title
        };
        let link = |rel: &str, href: &str| vec![Link::new(rel, href)];
        let of_links = |links| Entry { links, ..Entry::default() };
        assert_eq!(
            titled(of_links(link("alternate", "http://h/1"))).as_deref(),
            Some("http://h/1")
        );
        assert_eq!(
            titled(of_links(link("enclosure", "http://h/m"))).as_deref(),
            Some("http://h/m")
        );
        let said = Entry {
            content: Some("<p>a <b>b</b></p>".into()),
            content_type: ContentType::Html,
            ..Entry::default()
        };
        assert_eq!(titled(said).as_deref(), Some("a b"));
        assert_eq!(titled(Entry::default()), None);
    }
}
