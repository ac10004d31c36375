//! Feeds of a web page, because users subscribe to the address that they see.
//!
//! A page names its feeds by `<link rel="alternate">` with the media type of a feed. Feeds of articles precede
//! feeds of comments, and media types of feeds precede generic XML. Otherwise the order of the page counts, since
//! sites name their main feed before those of sections.

use std::cell::RefCell;

use feedsync_fetch::Url;
use html5ever::tendril::StrTendril;
use html5ever::tokenizer::states::RawKind;
use html5ever::tokenizer::{
    BufferQueue, DoctypeToken, StartTag, Tag, TagToken, Token, TokenSink, TokenSinkResult,
    Tokenizer, TokenizerOpts,
};

use super::find::{FeedKind, NamedFeed};

/// Maximum number of bytes of a page that are parsed. Feeds are named at the start, and the tokenizer compares
/// each attribute of an element with the previous ones.
const MAX_PAGE_BYTES: usize = 64 << 10;

/// Number of bytes that are passed to the tokenizer at once.
const CHUNK_BYTES: usize = 16 << 10;

const FEEDS: [&str; 4] =
    ["application/rss+xml", "application/atom+xml", "application/feed+json", "application/rdf+xml"];

/// Media types of XML that may be a feed.
const XML: [&str; 2] = ["application/xml", "text/xml"];

/// Maximum number of feeds of a page that are tried.
const MAX_FEEDS: usize = 5;

/// Maximum length of the title of a named feed, in characters.
const MAX_TITLE: usize = 200;

/// Maximum number of links of a page that are examined.
const MAX_LINKS: usize = 64;

/// Word stems for comments, in titles and paths of feeds.
const COMMENTS: [&str; 6] =
    ["comment", "kommentar", "comentari", "comentári", "commenti", "reacties"];

/// A document that is a web page.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct WebPage {
    /// Feeds that the page names, the best first.
    pub(super) feeds: Vec<NamedFeed>,
}

impl WebPage {
    /// Parses a document at an address; returns `None` if it is not a web page.
    pub(super) fn read(document: &[u8], at: &Url) -> Option<Self> {
        let document = &document[..document.len().min(MAX_PAGE_BYTES)];
        let tokenizer = Tokenizer::new(LinkCollector::at(at), TokenizerOpts::default());
        let input = BufferQueue::default();
        for piece in document.chunks(CHUNK_BYTES) {
            // Addresses are in ASCII in all encodings of pages except UTF-16, which is hardly used.
            input.push_back(StrTendril::from(&*String::from_utf8_lossy(piece)));
            // The tokenizer stops at points where a browser might act, such as scripts; here it just continues.
            while !input.is_empty() {
                let _ = tokenizer.feed(&input);
            }
        }
        let FoundLinks { is_page, mut links, .. } = tokenizer.sink.found.into_inner();
        // A stable sort keeps the order of the page among equals.
        links.sort_by_key(|(rank, _)| *rank);
        let mut feeds: Vec<NamedFeed> = Vec::new();
        for (_, feed) in links {
            let is_new = feeds.iter().all(|known| known.address != feed.address);
            if feeds.len() < MAX_FEEDS && is_new {
                feeds.push(feed);
            }
        }
        is_page.then_some(Self { feeds })
    }
}

/// Token sink that collects the links of a page.
struct LinkCollector<'a> {
    at: &'a Url,
    found: RefCell<FoundLinks>,
}

#[derive(Default)]
struct FoundLinks {
    is_page: bool,
    /// Base of relative addresses, if the page declares one.
    base: Option<Url>,
    /// Feeds with their ranks, in the order of the page.
    links: Vec<(u8, NamedFeed)>,
}

impl<'a> LinkCollector<'a> {
    fn at(at: &'a Url) -> Self {
        Self { at, found: RefCell::default() }
    }

    fn see(&self, tag: &Tag) {
        let mut found = self.found.borrow_mut();
        match &*tag.name {
            "html" | "head" | "body" => found.is_page = true,
            "base" if found.base.is_none() => {
                found.base = attribute(tag, "href").and_then(|to| self.at.join(to).ok());
            }
            "link" if found.links.len() < MAX_LINKS => {
                let Some(rank) = rank(tag) else { return };
                let to = attribute(tag, "href").unwrap_or_default();
                let url = found.base.as_ref().unwrap_or(self.at).join(to.trim());
                // As with redirects, a secure address must not lead to an insecure one.
                let is_other = |url: &Url| {
                    url.as_str() != self.at.as_str()
                        && (self.at.scheme() != "https" || url.scheme() == "https")
                };
                let url = url.ok().filter(is_other);
                let address = url.and_then(|url| url.as_str().parse().ok());
                let title =
                    attribute(tag, "title").map(str::trim).filter(|title| !title.is_empty());
                let title = title.map(|title| title.chars().take(MAX_TITLE).collect());
                let named =
                    |address| NamedFeed { address, title, kind: kind(tag), article_count: None };
                found.links.extend(address.map(|address| (rank, named(address))));
            }
            _ => {}
        }
    }
}

/// Format of the feed that a link names.
fn kind(tag: &Tag) -> FeedKind {
    let media_type = attribute(tag, "type").unwrap_or_default().to_ascii_lowercase();
    match media_type.split(';').next().unwrap_or_default().trim() {
        "application/atom+xml" => FeedKind::Atom,
        "application/feed+json" => FeedKind::Json,
        _ => FeedKind::Rss,
    }
}

/// Rank of the feed that a link names; the best is lowest. Returns `None` if the link names no feed.
fn rank(tag: &Tag) -> Option<u8> {
    let relations = attribute(tag, "rel").unwrap_or_default();
    let media_type = attribute(tag, "type").unwrap_or_default();
    let media_type = media_type.split(';').next().unwrap_or_default().trim();
    let is_of = |types: &[&str]| types.iter().any(|known| known.eq_ignore_ascii_case(media_type));
    let has = |relation: &str| {
        relations.split_ascii_whitespace().any(|one| one.eq_ignore_ascii_case(relation))
    };
    let is_feed = is_of(&FEEDS) || (has("feed") && media_type.is_empty());
    let is_named = (has("alternate") || has("feed")) && (is_feed || is_of(&XML));
    let says_comments = |name: &str| {
        let text = attribute(tag, name).unwrap_or_default().to_lowercase();
        COMMENTS.iter().any(|word| text.contains(word))
    };
    let is_of_comments = says_comments("title") || says_comments("href");
    is_named.then(|| u8::from(!is_feed) + 2 * u8::from(is_of_comments))
}

fn attribute<'t>(tag: &'t Tag, name: &str) -> Option<&'t str> {
    tag.attrs.iter().find(|attribute| &*attribute.name.local == name).map(|it| &*it.value)
}

impl TokenSink for LinkCollector<'_> {
    type Handle = ();

    fn process_token(&self, token: Token, _line: u64) -> TokenSinkResult<()> {
        let tag = match token {
            TagToken(tag) => tag,
            DoctypeToken(kind) => {
                let is_html = kind.name.is_some_and(|name| name.eq_ignore_ascii_case("html"));
                self.found.borrow_mut().is_page |= is_html;
                return TokenSinkResult::Continue;
            }
            _ => return TokenSinkResult::Continue,
        };
        if tag.kind != StartTag {
            return TokenSinkResult::Continue;
        }
        self.see(&tag);
        // Text inside of these elements is not parsed as markup.
        match &*tag.name {
            "script" => TokenSinkResult::RawData(RawKind::ScriptData),
            "style" | "iframe" | "noembed" | "noframes" | "xmp" => {
                TokenSinkResult::RawData(RawKind::Rawtext)
            }
            "title" | "textarea" => TokenSinkResult::RawData(RawKind::Rcdata),
            _ => TokenSinkResult::Continue,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const AT: &str = "https://site.example/blog/";

    fn read(document: &str) -> Option<WebPage> {
        WebPage::read(document.as_bytes(), &AT.parse().unwrap())
    }

    fn feed(document: &str) -> Option<String> {
        Some(read(document)?.feeds.first()?.address.as_str().to_owned())
    }

    #[test]
    fn the_first_feed_that_a_page_names_is_its_feed() {
        let link = |rel: &str, kind: &str, to: &str| {
            format!("<link rel='{rel}' type='{kind}' href='{to}'>")
        };
        let rss = "application/rss+xml";
        for (head, found) in [
            (link("alternate", rss, "feed.xml"), "https://site.example/blog/feed.xml"),
            (
                link("home ALTERNATE", "Application/Atom+XML; charset=utf-8", "/a"),
                "https://site.example/a",
            ),
            (link("alternate", rss, "/?a=1&amp;b=2"), "https://site.example/?a=1&b=2"),
            (
                link("alternate", "application/feed+json", "//feeds.example/j"),
                "https://feeds.example/j",
            ),
            (
                format!("<base href='https://other.example/'>{}", link("alternate", rss, "f")),
                "https://other.example/f",
            ),
            (
                link("alternate", rss, "a") + &link("alternate", rss, "b"),
                "https://site.example/blog/a",
            ),
            (
                link("alternate", "text/html", "/en") + &link("alternate", rss, "b"),
                "https://site.example/blog/b",
            ),
            (
                link("alternate", rss, "http://site.example/feed") + &link("alternate", rss, "b"),
                "https://site.example/blog/b",
            ),
            (
                link("alternate", rss, AT) + &link("alternate", rss, "b"),
                "https://site.example/blog/b",
            ),
            (
                link("alternate", rss, "javascript:alert(1)") + &link("alternate", rss, "b"),
                "https://site.example/blog/b",
            ),
        ] {
            let page = format!("<!DOCTYPE html><html><head><title>A</title>{head}</head>");
            assert_eq!(feed(&page).as_deref(), Some(found), "{page}");
        }
    }

    #[test]
    fn feeds_of_articles_come_before_comments_and_plain_xml() {
        let page = "<html><head>\
            <link rel=alternate type=text/xml href=/xml>\
            <link rel=alternate type=application/rss+xml title='Site &raquo; Comments Feed' href=/c>\
            <link rel=alternate type=application/rss+xml href=/comments/feed/>\
            <link rel=alternate type=application/rss+xml title=Kommentare href=/k>\
            <link rel=alternate type=application/rss+xml href=/one>\
            <link rel=feed href=/two>\
            <link rel=alternate type=application/atom+xml href=/one>";
        let feeds = read(page).unwrap().feeds;
        let paths: Vec<_> = feeds.iter().map(|feed| &feed.address.as_str()[20..]).collect();
        assert_eq!(paths, ["/one", "/two", "/xml", "/c", "/comments/feed/"]);
    }

    #[test]
    fn named_feeds_have_the_title_and_the_format_of_their_links() {
        let page = "<html><head>\
            <link rel=alternate type='application/atom+xml; charset=utf-8' title=' Posts &amp; more ' href=/a>\
            <link rel=alternate type=application/feed+json title='' href=/j>\
            <link rel=alternate type=application/rss+xml href=/r>";
        let feeds = read(page).unwrap().feeds;
        let said: Vec<_> = feeds.iter().map(|feed| (feed.title.as_deref(), feed.kind)).collect();
        assert_eq!(
            said,
            [(Some("Posts & more"), FeedKind::Atom), (None, FeedKind::Json), (None, FeedKind::Rss)]
        );
    }

    #[test]
    fn a_page_names_a_bounded_number_of_feeds() {
        let link = |n: usize| format!("<link rel=alternate type=application/rss+xml href=/{n}>");
        let page: String = (0..500).map(link).collect();
        assert_eq!(read(&format!("<html>{page}")).unwrap().feeds.len(), MAX_FEEDS);
    }

    #[test]
    fn text_that_resembles_a_link_is_ignored() {
        let link = "<link rel=alternate type='application/rss+xml' href=/feed>";
        for page in [
            "<html><link rel=stylesheet type='application/rss+xml' href=/feed>".to_owned(),
            "<html><link rel=alternate type='application/json' href=/api>".to_owned(),
            format!("<html><script>let a = \"{link}\";</script>"),
            format!("<html><!-- {link} -->"),
            format!("<html><title>{link}</title>"),
            format!("<html><textarea>{link}</textarea>"),
            format!("<html><p title=\"{link}\">"),
            format!("<html>{}{link}", " ".repeat(MAX_PAGE_BYTES)),
        ] {
            assert_eq!(
                read(&page),
                Some(WebPage { feeds: Vec::new() }),
                "{}",
                &page[..60.min(page.len())]
            );
        }
        assert_eq!(read(link), None, "a page says that it is one");
        let page = format!("<!doctype HTML>{link}");
        assert_eq!(feed(&page).as_deref(), Some("https://site.example/feed"));
        assert_eq!(read("not well-formed <rss version='2.0'>"), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

        /// Every page is read to its end, for all contents and positions of the cuts between pieces.
        #[test]
        fn pages_with_arbitrary_contents_are_read(
            before in "(\\PC|<|>|<!--|--|]]>|<title|</script|<plaintext>|&#|\0|\r){0,200}",
            length in CHUNK_BYTES - 200..CHUNK_BYTES + 200,
        ) {
            let page = format!("<html>{}{before}", "x".repeat(length));
            prop_assert!(read(&page).is_some());
        }
    }
}
