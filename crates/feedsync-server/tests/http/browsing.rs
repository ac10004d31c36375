//! Checks of a page as a browser sees it: parsed as HTML, with a search for everything that could run,
//! load or lead to unintended addresses.

use html5ever::tendril::TendrilSink as _;
use html5ever::{Attribute, ParseOpts, parse_document};
use markup5ever_rcdom::{Handle, NodeData, RcDom};

/// Elements that occur in pages and in entries.
const KNOWN: [&str; 88] = [
    "html",
    "head",
    "meta",
    "title",
    "link",
    "script",
    "body",
    "header",
    "nav",
    "main",
    "footer",
    "section",
    "article",
    "div",
    "span",
    "p",
    "a",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "ul",
    "ol",
    "li",
    "dl",
    "dt",
    "dd",
    "table",
    "caption",
    "colgroup",
    "col",
    "thead",
    "tbody",
    "tfoot",
    "tr",
    "th",
    "td",
    "form",
    "fieldset",
    "legend",
    "input",
    "textarea",
    "select",
    "option",
    "button",
    "label",
    "details",
    "summary",
    "code",
    "pre",
    "time",
    "bdi",
    "bdo",
    "b",
    "i",
    "em",
    "strong",
    "s",
    "u",
    "small",
    "sub",
    "sup",
    "del",
    "ins",
    "q",
    "cite",
    "abbr",
    "dfn",
    "kbd",
    "samp",
    "var",
    "mark",
    "blockquote",
    "br",
    "hr",
    "wbr",
    "img",
    "figure",
    "figcaption",
    "svg",
    "path",
    "circle",
    "aside",
    "dialog",
    "audio",
    "noscript",
];

/// Attributes that contain addresses.
const ADDRESSES: [&str; 14] = [
    "href",
    "src",
    "action",
    "formaction",
    "srcset",
    "poster",
    "background",
    "data",
    "cite",
    "ping",
    "manifest",
    "longdesc",
    "usemap",
    "codebase",
];

/// Faults of a page; none if it is safe.
pub(crate) fn faults(page: &str) -> Vec<String> {
    let mut faults = Vec::new();
    walk(&parsed(page).document, &mut faults);
    faults
}

/// Text that a user sees, and the content of fields and names.
pub(crate) fn words(page: &str) -> String {
    let mut words = String::new();
    read(&parsed(page).document, &mut words);
    words
}

fn parsed(page: &str) -> RcDom {
    parse_document(RcDom::default(), ParseOpts::default()).one(page)
}

fn read(node: &Handle, words: &mut String) {
    match &node.data {
        NodeData::Text { contents } => words.push_str(&contents.borrow()),
        NodeData::Element { attrs, .. } => {
            attrs.borrow().iter().for_each(|attribute| words.push_str(&attribute.value));
        }
        _ => {}
    }
    node.children.borrow().iter().for_each(|child| read(child, words));
}

fn walk(node: &Handle, faults: &mut Vec<String>) {
    if let NodeData::Element { name, attrs, .. } = &node.data {
        let tag = &*name.local;
        let attributes = attrs.borrow();
        let value = |name: &str| {
            attributes.iter().find(|one| &*one.name.local == name).map(|one| &*one.value)
        };
        if !KNOWN.contains(&tag) {
            faults.push(format!("<{tag}>"));
        }
        if tag == "script" {
            let own = value("src").is_some_and(|src| {
                ["script-", "reading-", "offline-store-", "offline-page-"]
                    .iter()
                    .any(|own| src.starts_with(&format!("/pages/assets/{own}")))
            });
            if !own || !node.children.borrow().is_empty() {
                faults.push(format!("a script: {:?}", value("src")));
            }
        }
        let waits = value("preload") == Some("none") && value("autoplay").is_none();
        if tag == "audio" && !(waits && value("controls").is_some()) {
            faults.push("a sound that nobody asked for".to_owned());
        }
        if tag == "meta"
            && (value("http-equiv").is_some()
                || value("content").is_some() && value("name").is_none())
        {
            faults.push("a meta that does something".to_owned());
        }
        if tag == "link" {
            let known = matches!(
                (value("rel"), value("href")),
                (Some("icon"), Some("data:,"))
                    | (Some("stylesheet" | "alternate"), Some(_))
                    | (Some("manifest"), Some("/pages/reading.webmanifest"))
            );
            if !known {
                faults.push(format!("a link: {:?}", value("rel")));
            }
        }
        for attribute in attributes.iter() {
            faults.extend(fault(tag, attribute));
        }
    }
    node.children.borrow().iter().for_each(|child| walk(child, faults));
}

fn fault(tag: &str, attribute: &Attribute) -> Option<String> {
    let (name, value) = (&*attribute.name.local, &*attribute.value);
    // Normalizes an address as browsers do.
    let address: String =
        value.chars().filter(|letter| !matches!(letter, '\t' | '\n' | '\r')).collect();
    let address = address.trim_matches(|letter: char| letter <= ' ').to_ascii_lowercase();
    let own = address.starts_with('#')
        || address.starts_with('/') && !address.starts_with("//") && !address.contains('\\');
    let web = ["http://", "https://", "mailto:"].iter().any(|scheme| address.starts_with(scheme));
    let fine = match (tag, name) {
        (_, name) if name.starts_with("on") => false,
        (_, "style" | "srcdoc" | "autofocus" | "is" | "slot") => false,
        ("a", "href") => own || web || address.is_empty(),
        ("link", "href") => own || address == "data:,",
        ("script", "src") => own,
        ("audio", "src") => web,
        ("img", "src") => is_picture(&address),
        ("form", "action") => own && (address.starts_with("/pages/")),
        (_, name) if ADDRESSES.contains(&name) => false,
        _ => true,
    };
    (!fine).then(|| format!("<{tag} {name}={value:?}>"))
}

/// Whether an address is that of a feed's icon or of an article's picture. The hub serves both in a sandbox.
fn is_picture(address: &str) -> bool {
    let digits = |text: &str| text.bytes().all(|digit| digit.is_ascii_digit());
    let icon = address.strip_prefix("/pages/reading/icons/");
    let picture = address
        .strip_prefix("/pages/reading/articles/")
        .and_then(|rest| rest.split_once("/pictures/"));
    let is_name =
        |name: &str| name.len() == 32 && name.bytes().all(|digit| digit.is_ascii_hexdigit());
    icon.is_some_and(digits)
        || picture.is_some_and(|(article, name)| digits(article) && is_name(name))
}

#[test]
fn active_content_and_foreign_addresses_are_found() {
    for harm in [
        "<script>alert(1)</script>",
        "<script src=//example.org/x.js></script>",
        "<p onclick=alert(1)>",
        "<img src=x>",
        "<img src=/pages/logout>",
        "<img src=/pages/reading/icons/1/../../../logout>",
        "<img src=https://example.org/pages/reading/icons/1>",
        "<img src=/pages/reading/articles/1/pictures/../../../../pages/logout>",
        "<img src=/pages/reading/articles/1/pictures/0123456789abcdef0123456789abcdef?x>",
        "<img/onerror=alert(1) alt>",
        "<svg><script>1</script></svg>",
        "<svg onload=alert(1)>",
        "<svg><a xlink:href=javascript:alert(1)>x</a></svg>",
        "<a href=javascript:alert(1)>",
        "<a href=' \tjava\nscript:alert(1)'>",
        "<a href=//example.org>",
        "<a href='/\\example.org'>",
        "<a href=data:text/html,x>",
        "<iframe srcdoc=x>",
        "<form action=https://example.org>",
        "<form><button formaction=/x>",
        "<meta http-equiv=refresh content='0;url=x'>",
        "<base href=//example.org>",
        "<audio src=https://example.org/a.mp3 controls>",
        "<audio src=https://example.org/a.mp3 controls preload=none autoplay>",
        "<audio src=data:audio/mpeg,x controls preload=none>",
        "<link rel=prefetch href=/x>",
        "<style>p{}</style>",
        "<p style=color:red>",
        "<textarea></textarea><script>1</script>",
        "<title></title><object data=x>",
        "<math><mtext></mtext></math>",
    ] {
        assert!(!faults(harm).is_empty(), "{harm}");
    }
    let fine = "<h1>&lt;script></h1><textarea><script>1</script></textarea>\
                <a href='https://example.org/'>x</a><form action=/pages/login><input value='\">'>";
    assert_eq!(faults(fine), Vec::<String>::new());
    assert!(words(fine).contains("<script>1</script>"));
}
