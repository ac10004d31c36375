//! What an item says, safe to show: the stored bytes stay as they came, this is made of them anew for
//! each page (A55, RFC 4287 8.1). So is what an article says.
//!
//! Text is text and escaped where it is written. HTML and XHTML keep what reads as a document: no
//! scripts, styles, forms, frames, pictures from elsewhere, ids, classes or event handlers; links
//! lead to absolute web or mail addresses and tell nothing of where they stand.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};

use ammonia::{Builder, Url, UrlRelative};
use feedsync_formats::{ContentType, Entry};
use feedsync_library::ArticleText;

/// Content as a page shows it.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Shown {
    /// There is none.
    Nothing,
    /// Text, to be escaped.
    Text(String),
    /// HTML that is safe as it stands.
    Html(String),
    /// Something that is no text.
    Other { media_type: String, bytes: usize },
}

/// Bytes of a content that are shown; there may be 16 MiB.
const MOST: usize = 256 << 10;

/// Nodes that a page's markup may come to. A parser of HTML repeats open elements of these kinds in
/// each block that follows, so that a small document could otherwise become gigabytes.
const NODES: usize = 200_000;
const REPEATED: [&str; 14] = [
    "a", "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u",
];

impl Shown {
    /// The content of an item, and whether it was cut or lost its markup to be shown.
    pub(super) fn of(entry: &Entry) -> (Self, bool) {
        let Some(content) = entry.content.as_deref() else { return (Self::Nothing, false) };
        match &entry.content_type {
            ContentType::Html | ContentType::Xhtml => match safe(content) {
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

/// What an article says, as a page shows it.
pub(super) struct ShownArticle {
    pub(super) shown: Shown,
    /// Whether it was cut or lost its markup to be shown.
    pub(super) is_reduced: bool,
    /// How many pictures from elsewhere it has.
    pub(super) pictures: usize,
}

impl ShownArticle {
    /// The content of an article, or its summary. Relative addresses in it count from `base`. Its pictures are loaded
    /// if whoever reads it wants that.
    pub(super) fn of(text: &ArticleText, base: Option<Url>, with_pictures: bool) -> Self {
        let reduced = |text: &str| {
            let (text, is_reduced) = cut(text);
            Self { shown: Shown::Text(text), is_reduced, pictures: 0 }
        };
        match (&text.content, &text.summary) {
            (Some(content), _) => match text.content_type {
                ContentType::Html | ContentType::Xhtml if is_too_much(content) => {
                    let plain = reduced(&feedsync_formats::plain_text(content));
                    Self { is_reduced: true, ..plain }
                }
                ContentType::Html | ContentType::Xhtml => {
                    let (html, pictures) = readable(content, base, with_pictures);
                    Self { shown: Shown::Html(html), is_reduced: false, pictures }
                }
                _ => reduced(content),
            },
            (None, Some(summary)) => reduced(summary),
            (None, None) => Self { shown: Shown::Nothing, is_reduced: false, pictures: 0 },
        }
    }
}

/// The HTML of an article without what could do harm, and how many pictures it has.
fn readable(html: &str, base: Option<Url>, with_pictures: bool) -> (String, usize) {
    let pictures = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&pictures);
    let mut builder = cleaner();
    builder
        // What stands for a part of a page is one of this page alone.
        .rm_tags(["area", "map", "nav"])
        .add_tag_attributes("img", ["src", "width", "height"])
        .set_tag_attribute_value("img", "loading", "lazy")
        .attribute_filter(move |element, attribute, value| {
            if (element, attribute) == ("img", "src") {
                counted.fetch_add(1, Ordering::Relaxed);
            }
            let is_kept = with_pictures || element != "img" || matches!(attribute, "alt" | "title");
            is_kept.then_some(Cow::Borrowed(value))
        });
    if let Some(base) = base {
        builder.url_relative(UrlRelative::RewriteWithBase(base));
    }
    let clean = builder.clean(html).to_string();
    (below_the_title(clean), pictures.load(Ordering::Relaxed))
}

/// Headings one level lower: the title of the article stands above them. What was cleaned has tags in one spelling.
fn below_the_title(mut html: String) -> String {
    for level in (1..6).rev() {
        for tag in ["<h", "</h"] {
            html = html.replace(&format!("{tag}{level}"), &format!("{tag}{}", level + 1));
        }
    }
    html
}

/// The HTML without what could do harm; none if there is too much of it.
fn safe(html: &str) -> Option<String> {
    (!is_too_much(html)).then(|| CLEANER.clean(html).to_string())
}

/// Whether its parts would come to more than a page holds.
fn is_too_much(html: &str) -> bool {
    let tags = html.bytes().filter(|&byte| byte == b'<').count();
    let repeated = html.split('<').skip(1).filter(|tag| is_repeated(tag)).count();
    html.len() > MOST || tags.saturating_mul(repeated.saturating_add(1)) > NODES
}

/// The same for newsreaders, which show pictures: they ask for them, and not this hub's pages.
pub(crate) fn for_newsreaders(html: &str) -> String {
    match is_too_much(html) {
        true => of_text(&feedsync_formats::plain_text(html)),
        false => NEWSREADERS.clean(html).to_string(),
    }
}

/// Text as HTML.
pub(crate) fn of_text(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    feedsync_formats::escape_text(&mut escaped, text);
    escaped.replace('\n', "<br>")
}

static NEWSREADERS: LazyLock<Builder<'static>> = LazyLock::new(|| {
    let mut builder = Builder::default();
    builder
        .add_tags(["audio", "video", "source"])
        .add_tag_attributes("audio", ["src", "controls"])
        .add_tag_attributes("video", ["src", "controls", "poster", "width", "height"])
        .add_tag_attributes("source", ["src", "type"])
        .url_schemes(HashSet::from(["http", "https", "mailto"]))
        .url_relative(UrlRelative::Deny)
        .link_rel(Some("noopener noreferrer"));
    builder
});

fn is_repeated(tag: &str) -> bool {
    let end = tag.find(|character: char| !character.is_ascii_alphanumeric()).unwrap_or(tag.len());
    REPEATED.iter().any(|name| name.eq_ignore_ascii_case(&tag[..end]))
}

static CLEANER: LazyLock<Builder<'static>> = LazyLock::new(cleaner);

fn cleaner() -> Builder<'static> {
    let mut builder = Builder::default();
    builder
        // A picture from elsewhere tells its server who reads; its description is shown instead.
        .tag_attributes(HashMap::from([
            ("a", HashSet::from(["href", "hreflang"])),
            ("img", HashSet::from(["alt"])),
            ("ol", HashSet::from(["start"])),
            ("td", HashSet::from(["colspan", "rowspan"])),
            ("th", HashSet::from(["colspan", "rowspan", "scope"])),
        ]))
        .generic_attributes(HashSet::from(["dir", "lang", "title"]))
        .url_schemes(HashSet::from(["http", "https", "mailto"]))
        .url_relative(UrlRelative::Deny)
        .link_rel(Some("noopener noreferrer nofollow"));
    builder
}

/// The address of a link, if it is one that a page may lead to.
pub(super) fn web(href: &str) -> Option<&str> {
    let (scheme, _) = href.split_once(':')?;
    let web = ["http", "https", "mailto"].iter().any(|web| web.eq_ignore_ascii_case(scheme));
    (web && !href.chars().any(char::is_control)).then_some(href)
}

/// At most [`MOST`] bytes of a text, and whether there was more.
pub(super) fn cut(text: &str) -> (String, bool) {
    if text.len() <= MOST {
        return (text.to_owned(), false);
    }
    (format!("{}\u{2026}", &text[..text.floor_char_boundary(MOST)]), true)
}

/// At most so many characters, on one line.
pub(super) fn short(text: &str, characters: usize) -> String {
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
        match Shown::of(&entry) {
            (Shown::Html(html), false) => html,
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
        let of = |with_pictures| {
            let base = Url::parse("https://example.org/a/b").ok();
            let ShownArticle { shown, is_reduced, pictures } =
                ShownArticle::of(&text, base, with_pictures);
            assert_eq!((is_reduced, pictures), (false, 1));
            match shown {
                Shown::Html(html) => html,
                other => panic!("{other:?}"),
            }
        };
        let begin = "<h2>One</h2><h6>Two</h6><a href=\"https://example.org/x\" \
                     rel=\"noopener noreferrer nofollow\">x</a>";
        assert!(of(false).starts_with(begin), "{}", of(false));
        assert!(!of(false).contains("src=") && !of(false).contains("javascript"));
        let html = of(true);
        assert!(html.contains("src=\"https://example.org/a/p.png\""), "{html}");
        assert!(html.contains("loading=\"lazy\"") && !html.contains("data:"), "{html}");
        assert!(!html.contains("onload") && !html.contains("javascript"), "{html}");
    }

    #[test]
    fn markup_that_a_parser_would_multiply_is_shown_as_text() {
        let open: String = (0..4_000).map(|n| format!("<b x={n}>")).collect();
        let entry = Entry {
            content: Some(format!("{open}{}", "<p>word".repeat(10_000))),
            content_type: ContentType::Html,
            ..Entry::default()
        };
        let began = std::time::Instant::now();
        let (shown, lost) = Shown::of(&entry);
        assert!(matches!(shown, Shown::Text(text) if text.contains("word")) && lost);
        assert!(began.elapsed().as_secs() < 5);
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
        let (text, is_cut) = cut(&"ä".repeat(MOST));
        assert!(is_cut && text.len() <= MOST + 3);
    }
}
