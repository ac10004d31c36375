//! Pages that would cost a parser or the extraction too much.

use std::time::{Duration, Instant};

use feedsync_aggregator::{ExtractError, MAX_PAGE_BYTES, extract};
use proptest::prelude::*;

const ADDRESS: &str = "https://pages.example/articles/1.html";

/// Time that the extraction of any page may take in a test. Tests are not optimised, and run beside others.
const MAX_TIME: Duration = Duration::from_secs(20);

/// Pieces of hostile pages. `#` stands for a number that differs in each.
const FAMILIES: [&str; 40] = [
    "<div>",
    "<div>text, with a comma. ",
    "<div><p>text, with a comma. ",
    "<div class=article><p>some text, with commas, and more of it.</p>",
    "<ul><li>",
    "<ul><li> \n \t ",
    "<ul> <b> </b>",
    "<ul><li><a href=/#>text</a>",
    "<section><div>x</div>",
    "<p>x",
    "<br>",
    "<br>x",
    "<br><br>x",
    "<br> <br><span>x</span>",
    "<table><tr><td>",
    "<table><tr><td>some text, with commas, and more of it.",
    "<table>x",
    "<table><b>x</b>",
    "<a href=#>x",
    "<a href=http://h/#>a link, and text</a> ",
    "<b a=#>x",
    "<b><p>x</b></p>",
    "<del><ins>x",
    "<svg><g><title>x</title>",
    "<math><annotation-xml encoding=text/html><p>x",
    "<form><div><input>",
    "<fieldset><p>x, y",
    "<img src=a.jpg class=lazy data-src='b.jpg 1x'>",
    "<figure><img data-x=a.jpg>",
    "<noscript><img src=a.jpg></noscript>",
    "<p class='comment share #' id=x#>some text, with commas, and more of it.</p>",
    "<div style='display:none'>",
    "<h1>Title</h1>",
    "<span>text</span>",
    "<object data=x><embed src='\u{65e5}www.youtube.com'>",
    "<template><div>x",
    "<select><option>x",
    "<pre>                                                                              x",
    "<meta property='og:title' content='#'>",
    "<title>x",
];

fn family(piece: &str, bytes: usize) -> String {
    let mut html = String::with_capacity(bytes + piece.len());
    html.push_str("<!DOCTYPE html><html><head><title>A title</title></head><body>");
    for number in 0.. {
        if html.len() + piece.len() + 8 >= bytes {
            break;
        }
        html.push_str(&piece.replace('#', &number.to_string()));
    }
    html
}

#[test]
fn hostile_pages_of_the_maximum_size_take_bounded_time() {
    let mut slowest = (Duration::ZERO, "", String::new());
    for piece in FAMILIES {
        for bytes in [MAX_PAGE_BYTES, 1 << 20, 200 << 10] {
            let begun = Instant::now();
            let result = extract(family(piece, bytes).as_bytes(), "text/html", ADDRESS);
            let time = begun.elapsed();
            let result = result.map(|html| html.len());
            assert!(time < MAX_TIME, "{piece}, {bytes} bytes: {time:?}, {result:?}");
            if time > slowest.0 {
                slowest = (time, piece, format!("{bytes} bytes, {result:?}"));
            }
        }
    }
    println!("slowest: {slowest:?}");
}

/// Work for each element is repeated for its ancestors, so a wide page inside deep elements costs most.
#[test]
fn wide_pages_inside_deep_elements_take_bounded_time() {
    let mut slowest = (Duration::ZERO, "", "");
    for outer in ["<div>", "<ul><li>", "<div class=article>", "<table><tr><td>", "<section><form>"]
    {
        for piece in [
            "some text, with commas, and more of it. ",
            "<p>text, more</p>",
            " <b> </b>",
            "<a href=/x>link</a>, ",
            "<li>",
            "<img src=a.jpg>",
            "<div class=subscribe>x</div>",
            "<br>x<br><br>",
        ] {
            let page = format!("<title>A</title>{}{}", outer.repeat(70), family(piece, 1 << 20));
            let begun = Instant::now();
            let _ = extract(page.as_bytes(), "text/html", ADDRESS);
            let time = begun.elapsed();
            assert!(time < MAX_TIME, "{outer} {piece}: {time:?}");
            slowest = slowest.max((time, outer, piece));
        }
    }
    println!("slowest: {slowest:?}");
}

#[test]
fn page_larger_than_the_limit_is_refused() {
    let page = family("<p>Some text, with commas, and more of it.</p>", MAX_PAGE_BYTES);
    let large = [page.as_bytes(), &[b' '; 64]].concat();
    assert_eq!(extract(&large, "text/html", ADDRESS), Err(ExtractError::TooLarge));
    let elements = family("<i></i>", MAX_PAGE_BYTES);
    let refused = extract(elements.as_bytes(), "text/html", ADDRESS);
    assert_eq!(refused, Err(ExtractError::TooComplex));
}

/// Start and end tags, texts and attributes in any order.
fn pieces() -> impl Strategy<Value = String> {
    let name = prop::sample::select(vec![
        "a", "article", "b", "body", "br", "code", "del", "div", "embed", "figure", "font", "form",
        "h1", "h2", "head", "html", "iframe", "img", "ins", "li", "link", "main", "math", "meta",
        "nav", "noscript", "object", "ol", "p", "pre", "script", "section", "select", "span",
        "style", "svg", "table", "tbody", "td", "template", "textarea", "title", "tr", "ul",
        "video",
    ]);
    let attribute = prop::sample::select(vec![
        "",
        " class=comment",
        " class='lazy article'",
        " id=main",
        " href='javascript:x()'",
        " href=../a",
        " src='\u{e9}youtube.com/x'",
        " data-src='a.jpg 1x, b.jpg 2x'",
        " srcset=', , a.jpg'",
        " style='display:'",
        " hidden",
        " role=dialog",
        " colspan=99999999",
        " rel=author",
        " itemprop=author",
        " property='og:title' content='x'",
        " data-x='.jpg 1'",
    ]);
    let text = prop::sample::select(vec![
        "Some text, with commas, and more of it, so that it counts as a paragraph of an article. ",
        "\u{65e5}\u{672c}\u{8a9e}\u{306e}\u{6587}\u{7ae0}\u{3002}",
        " ",
        "\n\n",
        "&#0;&nbsp;&lt;",
        "\0",
        "\u{202e}x",
        "<!-- c -->",
        "<![CDATA[x]]>",
        "<",
        "</",
        "<!",
        "\u{1f600}",
    ]);
    prop_oneof![
        3 => (name.clone(), attribute).prop_map(|(name, attribute)| format!("<{name}{attribute}>")),
        2 => name.prop_map(|name| format!("</{name}>")),
        3 => text.prop_map(str::to_owned),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(512) })]

    /// Every page has a text or an error, and the text is never larger than the page could make it.
    #[test]
    fn any_page_has_a_text_or_an_error(pieces in prop::collection::vec(pieces(), 0..80)) {
        let page = format!("<!DOCTYPE html><html>{}", pieces.concat());
        if let Ok(html) = extract(page.as_bytes(), "text/html", ADDRESS) {
            prop_assert!(html.len() < 100 * page.len() + 10_000);
        }
    }

    #[test]
    fn any_bytes_have_a_text_or_an_error(
        bytes in prop::collection::vec(any::<u8>(), 0..2_000),
        media_type in "(text/html(; charset=[a-z0-9-]{1,12})?|.{0,20})",
    ) {
        let _ = extract(&bytes, &media_type, ADDRESS);
    }
}
