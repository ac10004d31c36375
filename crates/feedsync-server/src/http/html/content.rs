//! Rendering of content of items and articles for pages and newsreaders. Text is escaped when it is written.
//! HTML and XHTML are cleaned (`html`).

use feedsync_aggregator::ArticleText;
use feedsync_formats::{ContentType, Entry};

use super::{Purpose, Ticket};
use crate::http::html;

/// Content in the form that a page shows.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum RenderedContent {
    /// No content.
    Nothing,
    /// Text, to be escaped.
    Text(String),
    /// Safe HTML.
    Html(String),
    /// Content that is not text.
    Other { media_type: String, bytes: usize },
}

/// Maximum size of displayed content, in bytes; stored content may have 16 MiB.
const MAX_SHOWN_BYTES: usize = html::MAX_BYTES;

impl RenderedContent {
    /// The content of an item, and whether it was truncated or lost its markup.
    pub(crate) fn of(entry: &Entry, ticket: &Ticket) -> (Self, bool) {
        let Some(content) = entry.content.as_deref() else { return (Self::Nothing, false) };
        match &entry.content_type {
            ContentType::Html | ContentType::Xhtml => match safe(content, ticket) {
                Some(html) => (Self::Html(html), false),
                None => (Self::Text(cut(&entry.plain_content().unwrap_or_default()).0), true),
            },
            ContentType::Other(media_type) if entry.plain_content().is_none() => {
                (Self::Other { media_type: media_type.clone(), bytes: content.len() }, false)
            }
            _ => {
                let (text, is_cut) = cut(content);
                (Self::Text(text), is_cut)
            }
        }
    }
}

/// The text of an article in the form that a page shows.
pub(crate) struct RenderedArticle {
    pub(crate) shown: RenderedContent,
    /// Whether it was truncated or lost its markup.
    pub(crate) is_reduced: bool,
    /// Number of its pictures.
    pub(crate) pictures: usize,
}

impl RenderedArticle {
    /// The content of an article, or its summary, cleaned for this purpose.
    pub(crate) fn of(text: &ArticleText, purpose: &Purpose, ticket: &Ticket) -> Self {
        let reduced = |text: &str| {
            let (text, is_reduced) = cut(text);
            Self { shown: RenderedContent::Text(text), is_reduced, pictures: 0 }
        };
        match (&text.content, &text.summary) {
            (Some(content), _) => match text.content_type {
                ContentType::Html | ContentType::Xhtml => {
                    let cleaned = html::cleaned(content, purpose, ticket);
                    match &cleaned.html {
                        Some(html) => Self {
                            shown: RenderedContent::Html(html.clone()),
                            is_reduced: false,
                            pictures: cleaned.pictures.len(),
                        },
                        None => Self {
                            is_reduced: true,
                            ..reduced(&feedsync_formats::plain_text(content))
                        },
                    }
                }
                _ => reduced(content),
            },
            (None, Some(summary)) => reduced(summary),
            (None, None) => {
                Self { shown: RenderedContent::Nothing, is_reduced: false, pictures: 0 }
            }
        }
    }
}

/// Address of a picture of an article, by its name. The purpose is that of the page with pictures, so that the result
/// of cleaning is usually cached.
pub(crate) fn picture_address(
    text: &ArticleText,
    purpose: &Purpose,
    name: &str,
    ticket: &Ticket,
) -> Option<String> {
    let is_markup = matches!(text.content_type, ContentType::Html | ContentType::Xhtml);
    let content = text.content.as_ref().filter(|_| is_markup)?;
    html::cleaned(content, purpose, ticket).pictures.get(name).cloned()
}

/// HTML that is safe on a page; `None` if it is too large or takes too much work.
fn safe(html: &str, ticket: &Ticket) -> Option<String> {
    html::cleaned(html, &Purpose::Item, ticket).html.clone()
}

/// HTML that is safe in newsreaders. It may contain pictures, since newsreaders load them themselves.
pub(crate) fn for_newsreaders(html: &str, ticket: &Ticket) -> String {
    match &html::cleaned(html, &Purpose::Newsreader, ticket).html {
        Some(html) => html.clone(),
        None => of_text(&feedsync_formats::plain_text(html)),
    }
}

/// Text as HTML.
pub(crate) fn of_text(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    feedsync_formats::escape_text(&mut escaped, text);
    escaped.replace('\n', "<br>")
}

/// The address of a link, if a page may link to it.
pub(crate) fn web(href: &str) -> Option<&str> {
    let (scheme, _) = href.split_once(':')?;
    let web = ["http", "https", "mailto"].iter().any(|web| web.eq_ignore_ascii_case(scheme));
    (web && !href.chars().any(char::is_control)).then_some(href)
}

/// At most [`MAX_SHOWN_BYTES`] bytes of a text, and whether it was longer.
pub(crate) fn cut(text: &str) -> (String, bool) {
    if text.len() <= MAX_SHOWN_BYTES {
        return (text.to_owned(), false);
    }
    (format!("{}\u{2026}", &text[..text.floor_char_boundary(MAX_SHOWN_BYTES)]), true)
}

/// At most so many characters, on one line.
pub(crate) fn short(text: &str, characters: usize) -> String {
    let mut words = String::new();
    for word in text.split_whitespace() {
        if !words.is_empty() {
            words.push(' ');
        }
        words.extend(word.chars().take(characters + 1));
        if words.chars().count() > characters {
            let short: String = words.chars().take(characters - 1).collect();
            return format!("{}\u{2026}", short.trim_end());
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn html(content: &str) -> String {
        let entry = Entry {
            content: Some(content.to_owned()),
            content_type: ContentType::Html,
            ..Entry::default()
        };
        match RenderedContent::of(&entry, &Ticket::free()) {
            (RenderedContent::Html(html), false) => html,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn markup_that_could_do_harm_goes_and_the_rest_stays() {
        assert_eq!(html("<p>One <b>two</b></p>"), "<p>One <b>two</b></p>");
        assert_eq!(html("a<script>alert(1)</script>b"), "ab");
        assert_eq!(html("<p onclick=x id=main class=c style='color:red'>t</p>"), "<p>t</p>");
        assert_eq!(
            html("<img src=http://x/y.png alt='A cat' onerror=alert(1)>"),
            "<img alt=\"A cat\">"
        );
        assert_eq!(
            html(
                "<a href='javascript:alert(1)'>a</a><a href=/pages/logout>b</a><a href=data:x>c</a>"
            ),
            "<a rel=\"noopener noreferrer nofollow\">a</a>\
             <a rel=\"noopener noreferrer nofollow\">b</a>\
             <a rel=\"noopener noreferrer nofollow\">c</a>"
        );
        assert_eq!(html("<form action=/x><input name=csrf><button>Go</button></form>"), "Go");
        for hostile in [
            "<svg><script>alert(1)</script></svg>",
            "<math><mtext><table><mglyph><style><img src=x onerror=alert(1)>",
            "<iframe srcdoc='<script>alert(1)</script>'></iframe>",
            "<noscript><p title='</noscript><script>alert(1)</script>'>",
            "<template><script>alert(1)</script></template>",
            "<object data=x></object><embed src=x><base href=//x><meta http-equiv=refresh content=0>",
            "<a href='java\nscript:alert(1)'>x</a><a href=' javascript:alert(1)'>y</a>",
            "<![CDATA[<script>alert(1)</script>]]><!--><script>alert(1)</script>-->",
        ] {
            let html = html(hostile).to_ascii_lowercase();
            for harm in [
                "<script",
                "<iframe",
                "<object",
                "<embed",
                "<base",
                "<meta",
                "<svg",
                "<style",
                " onerror=",
                "href=\"java",
                "href=\" java",
                "<template",
            ] {
                assert!(!html.contains(harm), "{hostile}: {html}");
            }
        }
    }

    #[test]
    fn an_article_counts_its_pictures_and_loads_them_if_that_is_wanted() {
        let text = ArticleText {
            content: Some(
                "<h1>One</h1><h5>Two</h5><a href='/x'>x</a><a href='javascript:y()'>y</a>\
                 <img src=p.png alt=P width=1 onload=z()><img src=data:image/gif,x><img alt=none>"
                    .to_owned(),
            ),
            content_type: ContentType::Html,
            ..ArticleText::default()
        };
        let of = |pictures: Option<&str>| {
            let base = ammonia::Url::parse("https://example.org/a/b").ok();
            let purpose = Purpose::Article { base, pictures: pictures.map(str::to_owned) };
            let RenderedArticle { shown, is_reduced, pictures } =
                RenderedArticle::of(&text, &purpose, &Ticket::free());
            assert_eq!((is_reduced, pictures), (false, 1));
            match shown {
                RenderedContent::Html(html) => html,
                other => panic!("{other:?}"),
            }
        };
        let begin = "<h2>One</h2><h6>Two</h6><a href=\"https://example.org/x\" \
                     rel=\"noopener noreferrer nofollow\">x</a>";
        assert!(of(None).starts_with(begin), "{}", of(None));
        assert!(!of(None).contains("src=") && !of(None).contains("javascript"));
        let html = of(Some("/pictures/"));
        let name = "595b68effc402335a54371036933b682";
        assert!(html.contains(&format!("src=\"/pictures/{name}\"")), "{html}");
        assert!(!html.contains("p.png"), "{html}");
        assert!(html.contains("loading=\"lazy\"") && !html.contains("data:"), "{html}");
        assert!(!html.contains("onload") && !html.contains("javascript"), "{html}");
    }

    #[test]
    fn markup_that_a_parser_would_multiply_is_shown_as_text() {
        let open: String = (0..100).map(|n| format!("<b x={n}>")).collect();
        let entry = Entry {
            content: Some(format!("<p>{open}</p>{}", "<p>word".repeat(10_000))),
            content_type: ContentType::Html,
            ..Entry::default()
        };
        let (shown, lost) = RenderedContent::of(&entry, &Ticket::free());
        assert!(matches!(shown, RenderedContent::Text(text) if text.contains("word")) && lost);
    }

    #[test]
    fn only_web_addresses_are_links() {
        for href in ["https://example.org/", "HTTP://a", "mailto:a@example.org"] {
            assert_eq!(web(href), Some(href));
        }
        for href in
            ["javascript:alert(1)", "data:text/html,x", "/pages", "java\nscript:x", "vbscript:x"]
        {
            assert_eq!(web(href), None, "{href}");
        }
    }

    #[test]
    fn long_texts_are_cut_between_characters() {
        assert_eq!(short("one  two\nthree", 20), "one two three");
        assert_eq!(short("one two three", 9), "one two\u{2026}");
        assert_eq!(short("äöüßäöüß", 4), "äöü\u{2026}");
        let (text, is_cut) = cut(&"ä".repeat(MAX_SHOWN_BYTES));
        assert!(is_cut && text.len() <= MAX_SHOWN_BYTES + 3);
    }
}
