//! Tests of the pictures of articles: their addresses lead to the hub, and nothing else changes.

use markup5ever_rcdom::{Handle, NodeData};
use proptest::prelude::*;

use super::tests::{HUB, tree};
use super::*;

/// Attributes of pictures that are absent if pictures are not loaded.
const OF_LOADED: [&str; 4] = ["src", "width", "height", "loading"];

fn article(html: &str, base: Option<&str>, loads: bool) -> Cleaned {
    let base = base.map(|base| Url::parse(base).unwrap());
    clean(html, &Purpose::Article { base, pictures: loads.then(|| HUB.to_owned()) })
}

/// Calls a function for each node.
fn walk(node: &Handle, look: &mut impl FnMut(&Handle)) {
    look(node);
    node.children.borrow().iter().for_each(|child| walk(child, look));
}

/// Each element with its attributes, and each text, in order. Pictures are without the attributes of loaded ones.
fn outline(html: &str) -> Vec<String> {
    let mut outline = Vec::new();
    walk(&tree(html).document, &mut |node| match &node.data {
        NodeData::Text { contents } => outline.push(contents.borrow().to_string()),
        NodeData::Element { name, attrs, .. } => {
            let is_picture = &*name.local == "img";
            let mut kept: Vec<_> = attrs
                .borrow()
                .iter()
                .filter(|one| !(is_picture && OF_LOADED.contains(&&*one.name.local)))
                .map(|one| format!("{}={}", one.name.local, one.value))
                .collect();
            kept.sort();
            outline.push(format!("<{} {}>", name.local, kept.join(" ")));
        }
        _ => {}
    });
    outline
}

/// Values of an attribute of all pictures.
fn sources(html: &str) -> Vec<String> {
    let mut sources = Vec::new();
    walk(&tree(html).document, &mut |node| {
        if let NodeData::Element { name, attrs, .. } = &node.data
            && &*name.local == "img"
        {
            let attrs = attrs.borrow();
            let src = attrs.iter().filter(|one| &*one.name.local == "src");
            sources.extend(src.map(|one| one.value.to_string()));
        }
    });
    sources
}

/// Documents with pictures of all kinds, and text that looks like them.
fn documents() -> impl Strategy<Value = String> {
    const PIECES: [&str; 30] = [
        "<img src=https://a.example/p.png alt='A \"cat\"'>",
        "<img src=p.png width=3 height=4 title=T>",
        "<img src=/p.png><img src=//b.example/p.png>",
        "<img src='https://a.example/p.png#part'>",
        "<img src='HTTP://A.example:80/%70.png?a=1&amp;b=\"'>",
        "<img src=' https://a.example/ space.png\n'>",
        "<img src='https://a.example/&#x2028;\u{e9}.png'>",
        "<img srcset='https://a.example/1.png 1x, https://a.example/2.png 2x' src=x.png>",
        "<picture><source srcset=https://a.example/s.webp><img src=https://a.example/s.png></picture>",
        "<video poster=https://a.example/v.png src=https://a.example/v><img src=in.png></video>",
        "<img src='data:image/png,x'><img src='javascript:x()'><img src=mailto:a@b.example>",
        "<img src='http://[broken'><img src=''><img>",
        "<img src=/pages/reading/articles/1/pictures/0123456789abcdef0123456789abcdef>",
        "<img lowsrc=https://a.example/l.png dynsrc=https://a.example/d longdesc=//x usemap=#m>",
        "<input type=image src=https://a.example/i.png>",
        "<svg><image href=https://a.example/i.png /></svg>",
        "<table background=https://a.example/b.png><tr><td>cell",
        "<a href=/pages/reading/articles/1/pictures/x>hub</a>",
        "<a href='https://a.example/?q=<img src=x>'>link</a>",
        "<a href=page title='<img src=https://a.example/t.png>'>x</a>",
        "&lt;img src=\"https://a.example/text.png\"&gt;",
        "<p>src=\"https://a.example/p.png\"",
        "</p><b>",
        "<blockquote cite=https://a.example/c>",
        "</blockquote>",
        "<pre>\n<img src=1.png alt=one>",
        "</pre>",
        "<h2>heading",
        "</h2>",
        "words &amp; more ",
    ];
    prop::collection::vec(0..PIECES.len(), 0..16)
        .prop_map(|chosen| chosen.into_iter().map(|place| PIECES[place]).collect())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(500) })]

    /// No picture leads to another site, and the hub knows the address of each picture.
    #[test]
    fn pictures_lead_to_the_hub_alone(html in documents(), has_base in any::<bool>()) {
        let base = has_base.then_some("https://site.example/a/b");
        let cleaned = article(&html, base, true);
        let safe = cleaned.html.as_ref().unwrap();
        let mut addresses = Vec::new();
        walk(&tree(safe).document, &mut |node| if let NodeData::Element { name, attrs, .. } = &node.data {
            for attribute in attrs.borrow().iter() {
                addresses.push((
                    name.local.to_string(),
                    attribute.name.local.to_string(),
                    attribute.value.to_string(),
                ));
            }
        });
        for (element, attribute, value) in addresses {
            let is_link = (&*element, &*attribute) == ("a", "href");
            let of_addresses = ["src", "srcset", "poster", "background", "href", "data", "cite"];
            if !of_addresses.contains(&&*attribute) || is_link {
                continue;
            }
            prop_assert_eq!((&*element, &*attribute), ("img", "src"));
            let name = value.strip_prefix(HUB).unwrap_or_default();
            let address = cleaned.pictures.get(name);
            prop_assert!(address.is_some_and(|address| address.starts_with("http")), "{}", value);
        }
        for link in ["src=", "srcset=", "poster="].iter().flat_map(|name| safe.split(*name).skip(1)) {
            let is_text = link.starts_with("\"https://a.example/text.png")
                || link.starts_with("\"https://a.example/p.png\"")
                || link.starts_with("https://a.example/t.png")
                || link.starts_with("x&gt;") || link.starts_with("x>");
            prop_assert!(is_text || link.starts_with(&format!("\"{HUB}")), "{}", safe);
        }
    }

    /// The same pictures are found whether they are loaded or not, and everything else is the same.
    #[test]
    fn text_and_other_attributes_do_not_depend_on_pictures(html in documents(), has_base in any::<bool>()) {
        let base = has_base.then_some("https://site.example/a/b");
        let [with, without] = [true, false].map(|loads| article(&html, base, loads));
        prop_assert_eq!(&with.pictures, &without.pictures);
        let [with, without] = [with, without].map(|cleaned| cleaned.html.unwrap());
        prop_assert_eq!(outline(&with), outline(&without));
        prop_assert_eq!(sources(&without), Vec::<String>::new());
    }
}

#[test]
fn names_lead_to_resolved_addresses() {
    let base = Some("https://site.example/a/b");
    for (src, base, address) in [
        ("https://a.example/p.png", None, Some("https://a.example/p.png")),
        ("HTTP://A.example:80/p q.png#x", None, Some("http://a.example/p%20q.png")),
        ("p.png", base, Some("https://site.example/a/p.png")),
        ("//b.example/p.png", base, Some("https://b.example/p.png")),
        ("?p&amp;q", base, Some("https://site.example/a/b?p&q")),
        ("p.png", None, None),
        ("mailto:anna@a.example", base, None),
        ("data:image/png,x", base, None),
        ("http://[x", base, None),
    ] {
        let cleaned = article(&format!("<img src='{src}' alt=A>"), base, true);
        let found: Vec<_> = cleaned.pictures.iter().collect();
        let shown = sources(cleaned.html.as_ref().unwrap());
        match address {
            Some(address) => {
                let [(name, known)] = found[..] else { panic!("{src}: {found:?}") };
                assert_eq!(known, address, "{src}");
                assert_eq!(shown, [format!("{HUB}{name}")], "{src}");
            }
            None => assert!(found.is_empty() && shown.is_empty(), "{src}: {found:?} {shown:?}"),
        }
        assert!(cleaned.html.unwrap().contains("alt=\"A\""), "{src}");
    }
}

#[test]
fn links_are_resolved_as_without_pictures() {
    let content = "<a href=/x>1</a><a href=HTTPS://A.example/Y>2</a><a href=/pages/reading/articles/1/pictures/x>3</a>";
    for loads in [true, false] {
        let html = article(content, Some("https://site.example/a/b"), loads).html.unwrap();
        let link = |href: &str| format!("href=\"{href}\"");
        assert!(html.contains(&link("https://site.example/x")), "{html}");
        assert!(html.contains(&link("HTTPS://A.example/Y")), "{html}");
        assert!(html.contains(&link(&format!("https://site.example{HUB}x"))), "{html}");
        let html = article(content, None, loads).html.unwrap();
        assert_eq!(html.matches("href=").count(), 1, "{html}");
    }
}

#[test]
fn number_and_size_of_pictures_are_bounded() {
    let many: String = (0..3_000).map(|number| format!("<img src={number}.png>")).collect();
    let many = article(&many, Some("https://site.example/"), true);
    assert_eq!(many.pictures.len(), 1_000);
    assert_eq!(sources(&many.html.unwrap()).len(), 1_000);
    let long = format!("<img src=https://a.example/{}>", "x".repeat(5_000));
    assert!(article(&long, None, true).pictures.is_empty());
    let repeated = "<img src=https://a.example/x.png>".repeat(3_000);
    let repeated = article(&repeated, None, true);
    assert_eq!((repeated.pictures.len(), sources(&repeated.html.unwrap()).len()), (1, 3_000));
}
