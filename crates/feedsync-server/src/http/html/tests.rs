use feedsync_aggregator::html::{MAX_ATTRIBUTES, MAX_DEPTH, MAX_SEARCHED, MAX_STEPS};
use html5ever::tendril::TendrilSink as _;
use html5ever::{Attribute, ParseOpts, QualName, local_name, ns, parse_fragment};
use markup5ever_rcdom::{Handle, NodeData, RcDom};
use proptest::prelude::*;

use super::rules::apply;
use super::*;

/// Pieces of hostile documents. `#` stands for a number that differs in each.
const FAMILIES: [&str; 68] = [
    "<ul><li>x",
    "<ol><li>x</ol>",
    "<li>x",
    "<dl><dd>x",
    "<dd>x<dt>y",
    "<div>x",
    "<span>x",
    "<blockquote>x",
    "<p>x",
    "</p>",
    "</br>",
    "<h1>x",
    "<x-y>x",
    "<table><tr><td>x",
    "<table>x",
    "<table><b>x</b>",
    "<table><tr><b>x",
    "<tr><td>x",
    "<td>x<table>",
    "<caption>x<table>",
    "<colgroup><col>",
    "<b>x",
    "<b><i>x",
    "<b a=#>x",
    "<b a=#>x</p>",
    "<p><b a=#>x",
    "<p><b a=#>x</b>",
    "<p><b a=#></p>x",
    "<b><p>x</b>",
    "<b><p>x</b></p>",
    "<a><div>x",
    "<a href=http://h/#>x",
    "<a>x<b>y</a>",
    "<a><b><p>x</a>",
    "<font size=#>x",
    "<font size=#><p>x</font>",
    "<nobr>x",
    "<i><div></i>",
    "<form>x",
    "<form><div></form>",
    "<select>x",
    "<select><option>x",
    "<select><optgroup><b>x",
    "<selectedcontent><option>x",
    "<button>x",
    "<ruby><rt>x",
    "<template>x",
    "<object><b>x",
    "<marquee><b>x</div>",
    "<div><object></div>",
    "<svg><g>x",
    "<svg>x",
    "<svg><p>x",
    "<svg><foreignObject><div>x",
    "<svg><title>x",
    "<math><mi>x",
    "<math><annotation-xml encoding=text/html><p>x",
    "&amp;&#x41;&notin;&x",
    "<!--x-->",
    "<!--<!",
    "<!x>",
    "<title>x",
    "<xmp>x</xmp>",
    "<script>x</script>",
    "<body a#=1>",
    "<frameset><frame>",
    "<",
    "</x a#=\"",
];

fn family(piece: &str, bytes: usize) -> String {
    let mut html = String::new();
    for number in 0.. {
        if html.len() >= bytes {
            break;
        }
        html.push_str(&piece.replace('#', &number.to_string()));
    }
    html
}

fn clean_as(html: &str, purpose: &Purpose) -> Option<String> {
    bounded(html).html.map(|html| apply(&html, purpose).0)
}

/// Tree that a parser builds. Its nodes lose their children when its root is dropped.
pub(super) fn tree(html: &str) -> RcDom {
    let context = QualName::new(None, ns!(html), local_name!("div"));
    let options = ParseOpts::default();
    let parser = parse_fragment(RcDom::default(), options, context, Vec::<Attribute>::new(), false);
    parser.one(html)
}

/// Depth of the tree that a parser builds.
fn depth(html: &str) -> usize {
    let tree = tree(html);
    let mut open: Vec<(Handle, usize)> = vec![(tree.document.clone(), 0)];
    let mut deepest = 0;
    while let Some((node, depth)) = open.pop() {
        deepest = deepest.max(depth);
        open.extend(node.children.borrow().iter().map(|child| (child.clone(), depth + 1)));
    }
    deepest
}

/// Doubling the size of a document about doubles the work. Refused documents were stopped at a limit.
#[test]
fn work_grows_with_the_size_of_hostile_documents() {
    for piece in FAMILIES {
        let [one, two] = [32 << 10, 64 << 10].map(|bytes| bounded(&family(piece, bytes)));
        let is_refused = one.html.is_none() || two.html.is_none();
        let is_linear = two.steps * 2 <= one.steps * 5 + 20_000;
        assert!(is_refused || is_linear, "{piece}: {} steps, then {}", one.steps, two.steps);
        let copies = two.created * 2 <= one.created * 5 + 1_000;
        assert!(is_refused || copies, "{piece}: {} elements, then {}", one.created, two.created);
        // The limit may be exceeded by one token.
        let all = bounded(&family(piece, MAX_BYTES));
        assert!(all.steps < MAX_STEPS + 1_000_000, "{piece}: {} steps", all.steps);
        assert!(all.searched < MAX_SEARCHED + 1_000_000, "{piece}: {} searched", all.searched);
        assert!(all.created < 400_000, "{piece}: {} elements", all.created);
    }
}

#[test]
fn deep_lists_are_flattened_and_keep_their_text() {
    for piece in ["<ul><li>x", "<div>x", "<x-y>x", "<blockquote>x", "<b>x", "<table><tr><td>x"] {
        let html = family(piece, MAX_BYTES - 20);
        let flat = bounded(&html).html.unwrap();
        let deepest = depth(&flat);
        assert!((MAX_DEPTH / 3..2 * MAX_DEPTH + 8).contains(&deepest), "{piece}: {deepest}");
        let count = |text: &str| text.replace("x-y", "").matches('x').count();
        for purpose in [Purpose::Item, Purpose::Newsreader] {
            let safe = apply(&flat, &purpose).0;
            assert_eq!(count(&safe), count(&html), "{piece}");
        }
    }
}

#[test]
fn end_tags_of_flattened_elements_end_nothing_else() {
    let (open, close) = ("<div>".repeat(1_000), "</div>".repeat(1_000));
    let html = format!("{open}deep{close}<p>after</p>");
    let flat = bounded(&html).html.unwrap();
    assert_eq!(flat.matches("<div>").count(), flat.matches("</div>").count());
    assert!(clean_as(&html, &Purpose::Item).unwrap().ends_with("</div><p>after</p>"));
}

#[test]
fn an_element_keeps_a_bounded_number_of_attributes() {
    let many: String = (0..40_000).map(|n| format!(" a{n}=1")).collect();
    let flat = bounded(&format!("<p title=kept{many} lang=lost>x")).html.unwrap();
    assert!(flat.starts_with("<p title=\"kept\" a0=\"1\"") && !flat.contains("lost"));
    assert_eq!(flat.matches('=').count(), MAX_ATTRIBUTES);
}

#[test]
fn copies_of_long_attributes_are_refused() {
    // The element is left open in a paragraph that ends, so each paragraph that follows repeats it.
    let html = format!("<p><b title={}>x</p>{}", "t".repeat(100_000), "<p>x".repeat(10));
    assert!(bounded(&html).html.is_none());
}

#[test]
fn a_document_is_cleaned_once_for_each_purpose() {
    let clients = crate::http::clients::Clients::new(crate::config::Limits::default());
    let key = || crate::http::clients::Key::Person("somebody who reads".into());
    let ticket = Ticket::of(clients.work(key()).ok().unwrap());
    let html = format!("<p>cleaned once {}", "x".repeat(200_000));
    let spent = |purpose: &Purpose| {
        let before = clients.left(key());
        let cleaned = cleaned(&html, purpose, &ticket);
        assert!(cleaned.html.as_ref().is_some_and(|html| html.starts_with("<p>cleaned once")));
        (before - clients.left(key())).round() as usize
    };
    let with_base = |base: &str| Purpose::Article { base: Url::parse(base).ok(), pictures: None };
    for purpose in
        [Purpose::Item, Purpose::Newsreader, with_base("http://a/"), with_base("http://b/")]
    {
        assert_eq!((spent(&purpose), spent(&purpose)), (html.len(), 0), "{purpose:?}");
    }
    let large = "x".repeat(MAX_BYTES + 1);
    assert_eq!(cleaned(&large, &Purpose::Item, &ticket).html, None);
}

/// Sequences of pieces of documents, ordinary and hostile ones.
fn pieces() -> impl Strategy<Value = String> {
    const PIECES: [&str; 53] = [
        "word ",
        "a &lt; b ",
        "&amp;nbsp;",
        "\u{e9}",
        "\n",
        "<p>",
        "</p>",
        "<div class=x>",
        "</div>",
        "<b>",
        "</b>",
        "<i>",
        "</i>",
        "<a href='http://a.example/?b&c'>",
        "</a>",
        "<a href=/rel>",
        "<ul>",
        "</ul>",
        "<li>",
        "</li>",
        "<table>",
        "</table>",
        "<tr>",
        "<td colspan=2>",
        "</td>",
        "</tr>",
        "<tbody>",
        "<th>",
        "<h1>",
        "</h1>",
        "<h2>",
        "<br>",
        "<br/>",
        "<hr>",
        "<img src='http://i.example/p.png' alt='A \"cat\"' width=1 onerror=x()>",
        "<pre>\n\n",
        "</pre>",
        "<code>",
        "</code>",
        "<blockquote>",
        "</blockquote>",
        "<span lang=en title=\"t&quot;\">",
        "</span>",
        "<dl>",
        "<dt>",
        "<dd>",
        "<!-- c -->",
        "<script>alert(1)</script>",
        "<style>p{}</style>",
        "<a href='javascript:x()'>",
        "<form>",
        "<font color=red>",
        "<x-y>",
    ];
    prop::collection::vec(0..PIECES.len(), 0..40)
        .prop_map(|chosen| chosen.into_iter().map(|place| PIECES[place]).collect())
}

/// Documents with well nested elements, some of which cleaning removes.
fn well_nested() -> impl Strategy<Value = String> {
    const INLINE: [&str; 9] = [
        "word &amp; <b>bold <i>both</i></b>",
        "<a href='http://a.example/?b&c'>link</a>",
        "<a href='javascript:x()'>no link</a>",
        "<img src=http://i.example/p.png alt=A onerror=x()>",
        "<br>",
        "<code>a &lt; b</code>",
        "<span title='t&quot;' style=color:red>x</span>",
        "<script>alert(1)</script>",
        "<x-y>custom</x-y>",
    ];
    const AROUND: [(&str, &str); 8] = [
        ("<p>", "</p>"),
        ("<ul><li>", "</li><li>two</li></ul>"),
        ("<blockquote><p>", "</p></blockquote>"),
        ("<h2 id=h>", "</h2>"),
        ("<pre>", "</pre>"),
        ("<table><tbody><tr><td colspan=2>", "</td></tr></tbody></table>"),
        ("<dl><dt>term</dt><dd>", "</dd></dl>"),
        ("<form><div class=c>", "</div></form>"),
    ];
    let inline = prop::collection::vec(0..INLINE.len(), 0..5)
        .prop_map(|chosen| chosen.into_iter().map(|place| INLINE[place]).collect::<String>());
    let block = (0..AROUND.len(), inline).prop_map(|(place, inline)| {
        let (before, after) = AROUND[place];
        format!("{before}{inline}{after}")
    });
    prop::collection::vec(block, 0..8).prop_map(|blocks| blocks.concat())
}

/// Address below which pictures are served.
pub(super) const HUB: &str = "/pages/reading/articles/1/pictures/";

fn purposes() -> [Purpose; 3] {
    let base = Url::parse("https://site.example/a/").ok();
    [Purpose::Item, Purpose::Newsreader, Purpose::Article { base, pictures: Some(HUB.to_owned()) }]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    /// A document within limits renders as it does without limits, except for white space: in a table it moves along
    /// with loose text from which only a removed tag or comment separated it.
    #[test]
    fn ordinary_documents_are_unchanged(html in pieces()) {
        let flat = bounded(&html).html.unwrap();
        let dense = |html: &str, purpose: &Purpose| -> String {
            apply(html, purpose).0.split_ascii_whitespace().collect()
        };
        for purpose in purposes() {
            prop_assert_eq!(dense(&flat, &purpose), dense(&html, &purpose));
        }
    }

    /// Outside of tables white space stays, too.
    #[test]
    fn documents_without_tables_keep_their_white_space(html in pieces()) {
        let html = html.replace("<table>", "");
        let flat = bounded(&html).html.unwrap();
        for purpose in purposes() {
            prop_assert_eq!(apply(&flat, &purpose).0, apply(&html, &purpose).0);
        }
    }

    /// Documents with well nested elements stay unchanged; others are normalized the first time.
    #[test]
    fn cleaning_again_changes_nothing(html in well_nested()) {
        for purpose in [Purpose::Item, Purpose::Newsreader] {
            let once = clean_as(&html, &purpose).unwrap();
            prop_assert_eq!(clean_as(&once, &purpose).unwrap(), once);
        }
    }

    /// Cleaned HTML of any input contains no active content: only known elements, no handlers, only web and
    /// mail addresses.
    #[test]
    fn cleaned_html_holds_nothing_active(
        html in "(<|>|/|\"|'|=|&|;|-|!|\\[| |\n|x|script|style|svg|math|mtext|img|a|p|table|select|template|title\
                  |noscript|foreignObject|annotation-xml|href|src|onerror|javascript:|<!--|-->|]]>|\\PC){0,60}"
    ) {
        for purpose in purposes() {
            let Some(safe) = clean_as(&html, &purpose) else { continue };
            let tree = tree(&safe);
            let mut open = vec![tree.document.clone()];
            while let Some(node) = open.pop() {
                open.extend(node.children.borrow().iter().cloned());
                let NodeData::Element { name, attrs, .. } = &node.data else { continue };
                let active = ["script", "style", "iframe", "object", "embed", "svg", "math", "form", "template"];
                prop_assert!(!active.contains(&&*name.local), "{}", safe);
                for attribute in attrs.borrow().iter() {
                    prop_assert!(!attribute.name.local.starts_with("on"), "{}", safe);
                    let is_address = matches!(&*attribute.name.local, "href" | "src" | "poster" | "cite");
                    let is_web = ["http:", "https:", "mailto:", HUB].iter().any(|web| attribute.value.starts_with(web));
                    prop_assert!(!is_address || is_web, "{}", safe);
                }
            }
        }
    }
}
