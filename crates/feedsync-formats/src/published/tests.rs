use super::*;
use crate::entry::{ContentType, Entry, Link};

fn read(document: &str) -> PublishedFeed {
    let options =
        ReadOptions { base: Some("https://a.example/feeds/x"), ..ReadOptions::tolerant() };
    read_published(document.as_bytes(), None, &options).unwrap()
}

#[test]
fn rss_metadata_and_update_intervals_are_read() {
    let feed = read(
        "<rss version='2.0' xmlns:a='http://www.w3.org/2005/Atom'><channel><title>A &amp;amp; B</title>\
         <link>/home</link><description>&lt;b>All&lt;/b> of it</description><ttl>90</ttl>\
         <a:link rel='self' href='http://b.example/feed'/><image><url>i.png</url></image>\
         <skipHours><hour>0</hour><hour>24</hour><hour>23</hour><hour>99</hour></skipHours>\
         <skipDays><day>Sunday</day><day>never</day></skipDays>\
         <item><title>One</title><link>one</link><guid isPermaLink='false'>1</guid>\
         <enclosure url='one.mp3' type='audio/mpeg' length='7'/></item></channel></rss>",
    );
    assert_eq!(feed.title.as_deref(), Some("A & B"));
    assert_eq!(feed.description.as_deref(), Some("All of it"));
    assert_eq!(feed.site.as_deref(), Some("https://a.example/home"));
    assert_eq!(feed.icon.as_deref(), Some("https://a.example/feeds/i.png"));
    assert_eq!(feed.address.as_deref(), Some("http://b.example/feed"));
    assert_eq!(feed.polling_hints.every, Some(Duration::from_secs(90 * 60)));
    assert!(
        feed.polling_hints.is_idle(2, 0)
            && feed.polling_hints.is_idle(6, 12)
            && feed.polling_hints.is_idle(0, 23)
    );
    assert!(!feed.polling_hints.is_idle(5, 22));
    let [entry] = &feed.entries[..] else { panic!("{:?}", feed.entries) };
    // Links of entries are resolved against the site.
    assert_eq!(entry.link(), Some("https://a.example/one"));
    assert_eq!(entry.links[1].href, "https://a.example/one.mp3");
    assert_eq!(feed.repaired_fault, None);
}

#[test]
fn atom_rss_1_and_json_feed_give_the_same_metadata() {
    let atom = read(
        "<feed xmlns='http://www.w3.org/2005/Atom' xml:base='http://b.example/x/'>\
         <title type='html'>&lt;i>T&lt;/i></title><subtitle>S</subtitle><link href='home'/>\
         <link rel='self' href='feed'/><icon>i.png</icon><logo>l.png</logo>\
         <entry><id>1</id><title>One</title><link href='1'/></entry></feed>",
    );
    let rdf = read(
        "<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#' xmlns='http://purl.org/rss/1.0/' \
         xmlns:sy='http://purl.org/rss/1.0/modules/syndication/' xml:base='http://b.example/x/'>\
         <channel><title>T</title><link>home</link><description>S</description>\
         <sy:updatePeriod>daily</sy:updatePeriod><sy:updateFrequency>4</sy:updateFrequency></channel>\
         <image><url>i.png</url></image><item><title>One</title><link>1</link></item></rdf:RDF>",
    );
    let json = read(
        r#"{"version":"https://jsonfeed.org/version/1.1","title":"T","description":"S",
        "home_page_url":"http://b.example/x/home","favicon":"http://b.example/x/i.png","items":[{"id":"1",
        "title":"One","url":"http://b.example/x/1","content_html":"<p>x</p>","date_published":"2026-11-22T10:00:00Z",
        "authors":[{"name":"A"}],"attachments":[{"url":"/m.mp3","mime_type":"audio/mpeg","size_in_bytes":9}]}]}"#,
    );
    for feed in [&atom, &rdf, &json] {
        assert_eq!(feed.title.as_deref(), Some("T"));
        assert_eq!(feed.description.as_deref(), Some("S"));
        assert_eq!(feed.site.as_deref(), Some("http://b.example/x/home"));
        assert_eq!(feed.icon.as_deref(), Some("http://b.example/x/i.png"));
        assert_eq!(feed.entries[0].title.as_deref(), Some("One"));
        assert_eq!(feed.entries[0].link(), Some("http://b.example/x/1"));
    }
    assert_eq!(atom.address.as_deref(), Some("http://b.example/x/feed"));
    assert_eq!(rdf.polling_hints.every, Some(Duration::from_secs(6 * 3_600)));
    let entry = &json.entries[0];
    assert_eq!(entry.content.as_deref(), Some("<p>x</p>"));
    assert_eq!(entry.content_type, ContentType::Html);
    assert!(entry.published.is_some());
    assert_eq!(entry.author.as_ref().unwrap().name.as_deref(), Some("A"));
    let enclosure = entry.links.iter().find(|link| link.rel == "enclosure").unwrap();
    assert_eq!((&*enclosure.href, enclosure.length), ("http://b.example/m.mp3", Some(9)));
}

#[test]
fn feeds_have_a_maximum_of_items_and_blank_entries_are_counted() {
    let within = |document: &str, limit| {
        let mut options = ReadOptions::tolerant();
        options.limits.items = limit;
        match read_published(document.as_bytes(), None, &options) {
            Ok(feed) => Some((feed.entries.len(), feed.blank)),
            Err(ReadError::TooLarge { limit: told }) if told == limit => None,
            Err(ReadError::Document { message, .. }) if message.contains("items") => None,
            Err(error) => panic!("{error}"),
        }
    };
    let json = r#"{"items":[{"title":"a"},{"id":"1"},{"summary":"b"},{"url":"c"}]}"#;
    let rss = "<rss version='2.0'><channel><item><title>a</title></item><item><guid \
               isPermaLink='false'>1</guid></item><item><description>b</description></item>\
               <item><link>c</link></item></channel></rss>";
    for document in [json, rss] {
        assert_eq!(within(document, 5), Some((3, 1)));
        assert_eq!(within(document, 4), Some((3, 1)));
        assert_eq!(within(document, 3), None);
        assert_eq!(within(document, 2), None);
    }
}

#[test]
fn articles_whose_names_are_in_capitals_are_found_where_the_feed_reads_without_them() {
    let feed = read(
        "<rss version='2.0'><channel><title>T</title><ITEM><TITLE>a</TITLE></ITEM></channel></rss>",
    );
    assert_eq!((feed.title.as_deref(), feed.entries.len()), (Some("T"), 1));
    assert_eq!(feed.entries[0].title.as_deref(), Some("a"));
    assert_eq!(feed.repaired_fault, None);
}

#[test]
fn attachments_and_pictures_of_json_become_enclosures_with_all_that_they_say() {
    let feed = read(
        r#"{"items":[{"id":"1","image":" a.jpg ","banner_image":"b.jpg","attachments":[
        {"url":"m.mp3","mime_type":"audio/mpeg","title":"M","size_in_bytes":9,"duration_in_seconds":61},
        {"mime_type":"audio/mpeg"},{"url":" "},{"url":"n"}]},{"id":"2","title":"T","image":" ","attachments":3}]}"#,
    );
    let enclosure = |href: &str| Link::new("enclosure", &format!("https://a.example/feeds/{href}"));
    let picture = |href: &str| Link { media_type: Some("image/*".to_owned()), ..enclosure(href) };
    let sound = Link {
        media_type: Some("audio/mpeg".to_owned()),
        title: Some("M".to_owned()),
        length: Some(9),
        duration: Some(61),
        ..enclosure("m.mp3")
    };
    assert_eq!(feed.entries[0].links, [sound, enclosure("n"), picture("a.jpg"), picture("b.jpg")]);
    assert_eq!(feed.entries[1].links, []);
}

#[test]
fn json_feed_members_take_precedence_over_other_names() {
    let feed = read(
        r#"{"title":" T ","icon":"i","feed_url":"f","home_page_url":" ","items":[
        {"content_html":"<b>h</b>","content_text":"t","date_published":"2024-05-06","date_modified":"2024-05-07",
        "authors":[{"url":"u"},{"name":" A ","url":"/a"},{"name":"B"}]},
        {"content_html":" ","content_text":"t","date_published":"never"},4]}"#,
    );
    assert_eq!(feed.format, Some(Format::Json));
    assert_eq!((feed.title.as_deref(), feed.site.as_deref()), (Some("T"), None));
    assert_eq!(feed.icon.as_deref(), Some("https://a.example/feeds/i"));
    assert_eq!(feed.address.as_deref(), Some("https://a.example/feeds/f"));
    let [first, second] = &feed.entries[..] else { panic!("{:?}", feed.entries) };
    assert_eq!(
        (first.content.as_deref(), &first.content_type),
        (Some("<b>h</b>"), &ContentType::Html)
    );
    assert_eq!((second.content.as_deref(), &second.content_type), (Some("t"), &ContentType::Text));
    let dates =
        |entry: &Entry| [entry.published, entry.updated].map(|date| date.map(|d| d.to_string()));
    let midnight = |day: &str| Some(format!("{day}T00:00:00Z"));
    assert_eq!(dates(first), [midnight("2024-05-06"), midnight("2024-05-07")]);
    assert_eq!(dates(second), [None, None]);
    let author = first.author.as_ref().unwrap();
    assert_eq!(
        (author.name.as_deref(), author.uri.as_deref()),
        (Some("A"), Some("https://a.example/a"))
    );
    assert_eq!(second.author, None);
}

#[test]
fn deleted_items_are_hidden_and_shared_items_are_shown() {
    let feed = read(
        "<rss version='2.0' xmlns:sx='http://feedsync.org/2007/feedsync'><channel><title>T</title>\
         <item><sx:sync id='a' updates='1' deleted='true'><sx:history sequence='1' by='x'/></sx:sync>\
         <title>gone</title></item>\
         <item><sx:sync id='b' updates='1'><sx:history sequence='1' by='x'/></sx:sync><title>here</title></item>\
         <item><title>plain</title></item></channel></rss>",
    );
    let titles: Vec<_> = feed.entries.iter().map(|entry| entry.title.as_deref().unwrap()).collect();
    assert_eq!(titles, ["here", "plain"]);
}

#[test]
fn faults_are_repaired_and_reported() {
    let of = |document: &[u8], charset| {
        read_published(document, charset, &ReadOptions::tolerant()).unwrap()
    };
    let title = |feed: &PublishedFeed| feed.title.clone().unwrap();
    let raw = of(b"\n\n<rss version='2.0'><channel><title>Q & A\x08</title></channel></rss>", None);
    assert_eq!(title(&raw), "Q & A");
    assert!(
        matches!(raw.repaired_fault, Some(ReadError::Document { position, .. }) if position.line == 1)
    );
    let undeclared =
        of(b"<rss version='2.0'><channel><title>T</title><dc:date/></channel></rss>", None);
    assert_eq!(title(&undeclared), "T");
    let latin = b"<rss version='2.0'><channel><title>caf\xe9</title></channel></rss>";
    let told = of(latin, Some("iso-8859-1"));
    assert_eq!((title(&told), told.repaired_fault), ("caf\u{e9}".to_owned(), None));
    let untold = of(latin, None);
    assert_eq!(title(&untold), "caf\u{e9}");
    assert!(
        matches!(untold.repaired_fault, Some(ReadError::Encoding { offset: 38, .. })),
        "{:?}",
        untold.repaired_fault
    );
    // The encoding that the document declares takes precedence over the server's.
    let declared =
        b"<?xml version='1.0' encoding='koi8-r'?><rss version='2.0'><channel><title>\xc1</title></channel></rss>";
    assert_eq!(title(&of(declared, Some("utf-8"))), "\u{430}");
}

#[test]
fn documents_that_are_not_feeds_are_refused_with_the_reason() {
    for (document, part) in [
        ("<!doctype html><html><head><title>x</title></head></html>", "a web page"),
        ("", "empty"),
        ("hello", "hello"),
        ("{\"items\":3}", "items"),
        ("<opml version='2.0'><body><outline text='x'/></body></opml>", "OPML"),
        ("<rss version='2.0'><channel><title>x</title>", "1:"),
        ("<html><br><rss version='2.0'><channel><title>x</title></channel></rss>", "a web page"),
    ] {
        let error =
            read_published(document.as_bytes(), None, &ReadOptions::tolerant()).unwrap_err();
        assert!(error.to_string().contains(part), "{error}");
    }
}

fn channel(elements: &str) -> PublishedFeed {
    read(&format!(
        "<rss version='2.0' xmlns:sy='http://purl.org/rss/1.0/modules/syndication/'>\
         <channel><title>T</title>{elements}</channel></rss>"
    ))
}

#[test]
fn skipped_days_have_their_english_names_in_any_case() {
    let names = ["monday", "Tuesday", "WEDNESDAY", "Thursday", "friday", "Saturday", " sunday "];
    for (number, name) in (0..).zip(names) {
        let feed = channel(&format!("<skipDays><day>{name}</day><day>{name}</day></skipDays>"));
        for day in 0..14 {
            assert_eq!(feed.polling_hints.is_idle(day, 12), day % 7 == number, "{name}: {day}");
        }
    }
    let every = names.map(|name| format!("<day>{name}</day>")).concat();
    let feed = channel(&format!("<skipDays>{every}</skipDays>"));
    assert!((0..7).all(|day| !feed.polling_hints.is_idle(day, 12)));
}

#[test]
fn skipped_hours_count_once_and_all_hours_count_as_none() {
    let hours = |hours: std::ops::Range<u32>| -> String {
        hours.map(|hour| format!("<hour>{hour}</hour>")).collect()
    };
    let skipping = |hours: &str| channel(&format!("<skipHours>{hours}</skipHours>")).polling_hints;
    for hour in 0..24 {
        let twice = skipping(&hours(hour..hour + 1).repeat(2));
        for other in 0..48 {
            assert_eq!(twice.is_idle(0, other), other % 24 == hour, "{hour}: {other}");
        }
    }
    assert!((0..23).all(|hour| skipping(&hours(0..23)).is_idle(0, hour)));
    assert!((0..24).all(|hour| !skipping(&hours(0..24)).is_idle(0, hour)));
}

#[test]
fn update_period_and_frequency_give_the_polling_interval() {
    const HOUR: u64 = 3_600;
    for (period, frequency, seconds) in [
        ("hourly", "1", Some(HOUR)),
        ("hourly", "2", Some(HOUR / 2)),
        ("daily", "1", Some(24 * HOUR)),
        ("daily", "0", Some(24 * HOUR)),
        ("daily", "often", Some(24 * HOUR)),
        ("weekly", "1", Some(168 * HOUR)),
        ("weekly", "7", Some(24 * HOUR)),
        // The maximum interval is a week.
        ("monthly", "1", Some(168 * HOUR)),
        ("monthly", "30", Some(24 * HOUR)),
        ("yearly", "1", Some(168 * HOUR)),
        ("yearly", "365", Some(24 * HOUR)),
        ("never", "1", None),
    ] {
        let feed = channel(&format!(
            "<sy:updatePeriod> {period} </sy:updatePeriod>\
             <sy:updateFrequency> {frequency} </sy:updateFrequency>"
        ));
        let expected = seconds.map(Duration::from_secs);
        assert_eq!(feed.polling_hints.every, expected, "{period} {frequency}");
    }
}

#[test]
fn time_to_live_is_in_minutes_and_no_longer_than_a_week() {
    for (ttl, minutes) in [
        ("0", None),
        ("1", Some(1)),
        (" 90 ", Some(90)),
        ("99999999", Some(7 * 1_440)),
        ("x", None),
    ] {
        let feed = channel(&format!("<ttl>{ttl}</ttl>"));
        let expected = minutes.map(|minutes: u64| Duration::from_secs(minutes * 60));
        assert_eq!(feed.polling_hints.every, expected, "{ttl}");
    }
}

#[test]
fn links_of_atom_give_site_address_and_icon_and_the_first_of_each_counts() {
    let feed = read(
        "<feed xmlns='http://www.w3.org/2005/Atom'><title>T</title><link rel='icon' href=' /i.png '/>\
         <link rel='icon' href='/2.png'/><link rel='next' href='/next'/><link rel='self' href=''/>\
         <link rel='self' href='f'/><link rel='self' href='f2'/><link rel='' href='s'/><link href='s2'/>\
         </feed>",
    );
    assert_eq!(feed.icon.as_deref(), Some("https://a.example/i.png"));
    assert_eq!(feed.address.as_deref(), Some("https://a.example/feeds/f"));
    assert_eq!(feed.site.as_deref(), Some("https://a.example/feeds/s"));
}

#[test]
fn elements_of_other_namespaces_are_ignored_in_an_atom_feed() {
    let feed = read(
        "<feed xmlns='http://www.w3.org/2005/Atom' xmlns:x='urn:x'><x:title>x</x:title><x:logo>x</x:logo>\
         <x:icon>x</x:icon><x:subtitle>x</x:subtitle><logo>l.png</logo><logo>m.png</logo></feed>",
    );
    assert_eq!((feed.title, feed.description), (None, None));
    assert_eq!(feed.icon.as_deref(), Some("https://a.example/feeds/l.png"));
}

#[test]
fn the_channel_is_the_first_of_its_name_in_the_namespace_of_the_root() {
    for (document, title) in [
        (
            "<rss><other><title>O</title></other><channel><title>T</title></channel></rss>",
            Some("T"),
        ),
        ("<rss xmlns='urn:x'><channel><title>T</title></channel></rss>", Some("T")),
        ("<rss><x:channel xmlns:x='urn:x'><title>T</title></x:channel></rss>", None),
        (
            "<rss><x:channel xmlns:x='urn:x'><title>O</title></x:channel>\
             <channel><title>T</title></channel></rss>",
            Some("T"),
        ),
    ] {
        assert_eq!(read(document).title.as_deref(), title, "{document}");
    }
}

#[test]
fn elements_of_other_namespaces_are_ignored_in_a_channel() {
    let foreign = channel(
        "<x:link xmlns:x='urn:x'>/x</x:link><x:description xmlns:x='urn:x'>d</x:description>\
         <x:image xmlns:x='urn:x'><url>x.png</url></x:image><x:ttl xmlns:x='urn:x'>5</x:ttl>\
         <x:skipHours xmlns:x='urn:x'><hour>1</hour></x:skipHours>\
         <x:skipDays xmlns:x='urn:x'><day>Monday</day></x:skipDays>",
    );
    assert_eq!((foreign.site, foreign.description, foreign.icon), (None, None, None));
    assert_eq!(foreign.polling_hints, PollingHints::default());
}
