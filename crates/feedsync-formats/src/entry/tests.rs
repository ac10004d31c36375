//! Reading the fields of entries from the payloads of other software.

use feedsync_core::{Format, Payload};

use super::{ContentType, Entry, Link, Person, entry, language};

mod media;

fn view(format: Format, text: &str) -> Entry {
    entry(&Payload::from_parsed(format, text))
}

#[test]
fn the_examples_of_the_documents_have_a_title_and_a_content_in_every_format() {
    for (format, text) in [
        (
            Format::Atom,
            "<entry xmlns=\"http://www.w3.org/2005/Atom\"><title>Buy groceries</title>\
             <content>Get milk and eggs</content><updated>2005-05-21T09:43:33Z </updated></entry>",
        ),
        (
            Format::Rss,
            "<item><title>Buy groceries</title><description>Get milk and eggs</description></item>",
        ),
        (Format::Opml, "<outline text=\"Buy groceries\" description=\"Get milk and eggs\"/>"),
        (
            Format::Pox,
            "<item><subject>Buy groceries</subject><body>Get milk and eggs</body></item>",
        ),
        (Format::Json, "{\"title\" : \"Buy groceries\", \"description\": \"Get milk and eggs\"}"),
    ] {
        let view = view(format, text);
        assert_eq!(view.title.as_deref(), Some("Buy groceries"), "{format}");
        assert_eq!(view.content.as_deref(), Some("Get milk and eggs"), "{format}");
        assert_eq!(view.content_type, ContentType::Text, "{format}");
    }
}

#[test]
fn an_rss_item_is_read_as_the_web_writes_it() {
    let item = view(
        Format::Rss,
        "<item xmlns:c=\"http://purl.org/rss/1.0/modules/content/\" \
         xmlns:d=\"http://purl.org/dc/elements/1.1/\" xmlns:m=\"http://search.yahoo.com/mrss/\">\
         <title>Q&amp;amp;A</title><m:title>other</m:title><guid>http://h/1</guid>\
         <description>a &lt;b&gt;short&lt;/b&gt; one</description><c:encoded><![CDATA[<p>long</p>]]></c:encoded>\
         <author>a@h (Ann)</author><d:date>2005-05-21T11:43:33+02:00</d:date>\
         <enclosure url=\"http://h/a.mp3\" length=\"five\" type=\"audio/mpeg\"/></item>",
    );
    assert_eq!(item.title.as_deref(), Some("Q&A"));
    assert_eq!(item.content.as_deref(), Some("<p>long</p>"));
    assert_eq!(item.content_type, ContentType::Html);
    assert_eq!(item.plain_content().as_deref(), Some("long"));
    assert_eq!(item.summary.as_deref(), Some("a short one"));
    let (name, email) = (Some("Ann".into()), Some("a@h".into()));
    assert_eq!(item.author, Some(Person { name, email, uri: None }));
    assert_eq!(item.published.unwrap().to_string(), "2005-05-21T09:43:33Z");
    assert_eq!(item.link(), Some("http://h/1"));
    assert_eq!((&*item.links[0].rel, item.links[0].length), ("enclosure", None));
    assert_eq!(
        view(Format::Rss, "<item><guid isPermaLink=\"false\">http://h/1</guid></item>").link(),
        None
    );
}

#[test]
fn an_outline_that_subscribes_to_a_feed_names_it() {
    let outline = view(
        Format::Opml,
        "<outline title=\"T\" type=\"atom\" xmlUrl=\"http://h/f\" htmlUrl=\"http://h/\" category=\"/a/b, c,\"/>",
    );
    assert_eq!(outline.title.as_deref(), Some("T"));
    let media_type = Some("application/atom+xml".into());
    let feed = Link { media_type, ..Link::new("feed", "http://h/f") };
    assert_eq!(outline.links, [feed, Link::new("alternate", "http://h/")]);
    let terms: Vec<_> = outline.categories.iter().map(|category| &*category.term).collect();
    assert_eq!(terms, ["/a/b", "c"]);
}

#[test]
fn a_json_object_is_read_as_others_write_it() {
    let object = view(
        Format::Json,
        "{\"id\":17,\"name\":\"N\",\"subject\":\"S\",\"body\":{\"a\":[1]},\"author\":\"Ann\",\
         \"tags\":[\"x\",{\"term\":\"y\",\"label\":\"Y\"},null],\"url\":\"http://h/\",\
         \"links\":[\"http://h/a\",{\"rel\":\"up\"}],\"modified\":\"2005-05-21T09:43:33Z\"}",
    );
    assert_eq!((object.id.as_deref(), object.title.as_deref()), (Some("17"), Some("S")));
    assert_eq!(object.content.as_deref(), Some("{\"a\":[1]}"));
    assert_eq!(object.author.unwrap().name.as_deref(), Some("Ann"));
    assert_eq!(object.categories.len(), 2);
    assert_eq!(
        object.links,
        [Link::new("alternate", "http://h/a"), Link::new("alternate", "http://h/")]
    );
    assert!(object.updated.is_some());
}

#[test]
fn unreadable_payloads_give_an_empty_entry() {
    for format in Format::ALL {
        for text in ["", "<", "<a", "<a></b>", "{", "{\"title\"", "[1]", "\u{1f600}", "<a/>", "{}"]
        {
            assert_eq!(view(format, text), Entry::default(), "{format} {text:?}");
        }
    }
}

#[test]
fn content_of_json_that_is_null_or_blank_is_absent_and_structure_is_shown_as_it_is() {
    for (value, content) in [
        ("null", None),
        ("\" \\n\"", None),
        ("\"a\\tb\\f\\b\"", Some("a\tb\u{c}\u{8}")),
        ("{ \"a\": 1 }", Some("{ \"a\": 1 }")),
        ("[1,2]", Some("[1,2]")),
        ("1.50", Some("1.50")),
    ] {
        let view = view(Format::Json, &format!("{{\"title\":\"t\",\"content\":{value}}}"));
        assert_eq!(view.content.as_deref(), content, "{value}");
    }
}

#[test]
fn an_rss_item_without_pub_date_was_published_at_its_other_date() {
    let date = "2005-05-21T09:43:33Z";
    for name in ["date", "published", "dc:date", "a:published", "pubDate", "pubdate"] {
        let text = format!(
            "<item xmlns:dc='http://purl.org/dc/elements/1.1/' xmlns:a='http://www.w3.org/2005/Atom'>\
             <{name}>{date}</{name}></item>"
        );
        let published = view(Format::Rss, &text).published.map(|date| date.to_string());
        assert_eq!(published.as_deref(), Some(date), "{name}");
        let dated =
            text.replace("</item>", "<pubDate>Sun, 22 May 2005 09:43:33 GMT</pubDate></item>");
        let published = view(Format::Rss, &dated).published.map(|date| date.to_string());
        assert_eq!(published.as_deref(), Some("2005-05-22T09:43:33Z"), "{name}");
    }
}

#[test]
fn elements_of_other_namespaces_are_ignored_in_an_rss_item() {
    let date = "2005-05-21T09:43:33Z";
    let names = ["updated", "published", "date", "pubDate", "guid", "title", "description", "link"];
    let foreign = names.map(|name| format!("<x:{name}>{date}</x:{name}>")).concat();
    let item = view(Format::Rss, &format!("<item xmlns:x='urn:x'>{foreign}</item>"));
    assert_eq!(item, view(Format::Rss, "<item/>"));
}

#[test]
fn the_link_of_an_entry_is_its_first_to_a_page_or_else_its_first() {
    let link = |links: &[(&str, &str)]| {
        let links = links.iter().enumerate().map(|(number, (rel, media_type))| Link {
            media_type: Some((*media_type).to_owned()).filter(|it| !it.is_empty()),
            ..Link::new(rel, &number.to_string())
        });
        let entry = Entry { links: links.collect(), ..Entry::default() };
        entry.link().map(str::to_owned)
    };
    let (alternate, other) = ("alternate", "enclosure");
    for page in ["", "text/html", "TEXT/HTML; charset=utf-8", "application/xhtml+xml"] {
        let links = [(other, page), (alternate, "application/json"), (alternate, page)];
        assert_eq!(link(&links).as_deref(), Some("2"), "{page}");
    }
    assert_eq!(link(&[(alternate, "a/b"), (alternate, "a/b")]).as_deref(), Some("0"));
    assert_eq!(link(&[(other, "")]), None);
}

#[test]
fn a_person_has_a_name_an_email_and_an_iri() {
    let author = |format, text: &str| view(format, text).author;
    let part = |text: &str| Some(text.to_owned());
    let person = Some(Person { name: part("N"), email: part("e@h"), uri: part("u") });
    let parts = "<name> N </name><email>e@h</email><uri>u</uri>";
    let atom = |parts: &str| {
        let second = "<author><name>M</name></author>";
        let text = format!(
            "<entry xmlns='http://www.w3.org/2005/Atom'><author>{parts}</author>{second}</entry>"
        );
        author(Format::Atom, &text)
    };
    assert_eq!(atom(parts), person);
    assert_eq!(atom("<name/>").unwrap().name.as_deref(), Some("M"));
    let pox = |author_text: &str| {
        author(Format::Pox, &format!("<item><author>{author_text}</author></item>"))
    };
    assert_eq!(pox(parts), person);
    assert_eq!(pox("N").unwrap(), Person { name: part("N"), ..Person::default() });
    assert_eq!(pox(" "), None);
    assert_eq!(pox("<name/>"), None);
}

#[test]
fn content_of_atom_that_is_elsewhere_is_an_enclosure() {
    let text = "<entry xmlns='http://www.w3.org/2005/Atom'><content type=' a/b ' src=' c '>x</content>\
                <link rel='up' href='l' type='a/b' title='t' length='7' hreflang='de'/></entry>";
    let entry = view(Format::Atom, text);
    let media_type = Some("a/b".to_owned());
    let content = Link { media_type: media_type.clone(), ..Link::new("enclosure", "c") };
    let up =
        Link { media_type, title: Some("t".to_owned()), length: Some(7), ..Link::new("up", "l") };
    assert_eq!(entry.links, [content, up]);
    assert_eq!(entry.content, None);
}

#[test]
fn an_entry_of_atom_without_published_was_published_at_its_other_date() {
    let entry = |inside: &str| {
        let text = format!(
            "<entry xmlns='http://www.w3.org/2005/Atom' xmlns:dc='http://purl.org/dc/elements/1.1/' \
             xmlns:x='urn:x'>{inside}</entry>"
        );
        view(Format::Atom, &text).published.map(|date| date.to_string()[..10].to_owned())
    };
    for name in ["dc:date", "pubDate", "created"] {
        let other = format!("<{name}>2005-05-21</{name}>");
        assert_eq!(entry(&other).as_deref(), Some("2005-05-21"), "{name}");
        let first = entry(&format!("{other}<{name}>2005-05-22</{name}>"));
        assert_eq!(first.as_deref(), Some("2005-05-21"), "{name}");
        let both = entry(&format!("{other}<published>2005-05-23</published>"));
        assert_eq!(both.as_deref(), Some("2005-05-23"), "{name}");
    }
    for name in ["date", "x:date", "x:pubDate", "x:published", "dc:created"] {
        assert_eq!(entry(&format!("<{name}>2005-05-21</{name}>")), None, "{name}");
    }
}

#[test]
fn an_item_says_its_language_itself_or_inherits_it() {
    let of = |attributes: &str, inside: &str| {
        let text = format!(
            "<item xmlns:dc='http://purl.org/dc/elements/1.1/' {attributes}>{inside}</item>"
        );
        language(&Payload::from_parsed(Format::Rss, text))
    };
    let said = "<dc:language> de </dc:language>";
    assert_eq!(of("", said).as_deref(), Some("de"));
    assert_eq!(of("xml:lang='en'", said).as_deref(), Some("de"));
    assert_eq!(
        of("xml:lang='en'", "<language>de</language><dc:date>de</dc:date>").as_deref(),
        Some("en")
    );
    assert_eq!(of("xml:lang=' '", "<dc:language/>"), None);
    assert_eq!(of("", "<language>de</language>"), None);
}
