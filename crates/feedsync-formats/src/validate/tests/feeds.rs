//! Namespaces, windows and stamps of feeds, in XML and JSON.

use super::{assert_only, faults, findings};
use crate::validate::{Contents, validate};

const FEEDSYNC: &str = "http://feedsync.org/2007/feedsync";

fn rss(namespace: &str, inside: &str) -> String {
    format!("<rss version='2.0' @xmlns:sx='{namespace}'><channel>{inside}</channel></rss>")
}

fn clean_rss(inside: &str) -> String {
    rss(FEEDSYNC, inside).replacen('@', "", 1)
}

const ITEM: &str = "<item><sx:sync id='i' updates='1'>\
     <sx:history sequence='1' when='2007-01-01T00:00:00Z' by='a'/></sx:sync></item>";

#[test]
fn a_namespace_that_is_almost_right_is_a_fault_where_it_is_used() {
    for namespace in [
        "http://feedsync.org/2007/feedsync/",
        "http://feedsync.org/2007/FeedSync",
        "https://feedsync.org/2007/feedsync",
        "http://feedsync.org/2006/feedsync",
    ] {
        assert_only(&rss(namespace, ITEM), "fault", "FeedSync 1.1");
        assert_only(&rss(namespace, ""), "warning", "FeedSync 1.1");
    }
    let sse = "http://www.microsoft.com/schemas/rss/sse/";
    assert_only(&rss(sse, ITEM), "fault", "SSE 1.1");
    let feed = "<feed @xmlns='http://www.w3.org/2005/atom'/>";
    assert_only(feed, "fault", "RFC 4287 1.2");
    assert!(validate(feed.replace('@', "").as_bytes()).contents.is_err());
    assert_only("@<feed/>", "fault", "RFC 4287 1.2");
    assert_eq!(findings(&clean_rss(ITEM)), [""; 0]);
    // Each of several namespaces is reported once.
    let two = |one: &str, other: &str| {
        let feed = format!("<rss version='2.0'><a xmlns='{one}'/><b xmlns='{other}'/></rss>");
        findings(&feed).len()
    };
    assert_eq!(two("http://feedsync.org/", "http://feedsync.org/"), 1);
    assert_eq!(two("http://feedsync.org/", "http://feedsync.org/2"), 2);
    let many = |namespace: &str, element: &str| {
        let all = (0..70).map(|number| format!("<{element} xmlns:sx='{namespace}{number}'/>"));
        let feed = format!("<rss version='2.0'>{}</rss>", all.collect::<String>());
        findings(&feed).len()
    };
    assert_eq!(many("http://feedsync.org/", "a"), 64);
    assert_eq!(many("urn:x", "sx:sync"), 64);
}

#[test]
fn elements_that_look_like_feedsync_in_an_unknown_namespace_are_a_warning_once() {
    let item = ITEM.replacen("<sx:sync", "@<sx:sync", 1);
    let feed = rss("urn:x", &format!("{item}{ITEM}")).replacen('@', "", 1);
    assert_only(&feed, "warning", "FeedSync 1.1");
    let other =
        "<rss version='2.0'><channel><item>@<sync id='i' updates='1'/></item></channel></rss>";
    assert_only(other, "warning", "FeedSync 1.1");
    let found = findings(&feed.replace('@', ""));
    assert!(found[0].contains("\"sx:sync\" in the namespace \"urn:x\""), "{found:?}");
    let of_sse = other.replace("updates", "version");
    assert_only(&of_sse, "warning", "FeedSync 1.1");
    for foreign in [
        "<x:sync/>",
        "<x:sync id='i'/>",
        "<x:sync updates='1'/>",
        "<x:history id='i' updates='1'/>",
        "<sx:other xmlns:sx='urn:x' id='i' updates='1'/>",
        "<sx:sync xmlns:sx='urn:feedsync:1' id='i' updates='1'/>",
    ] {
        let feed = format!(
            "<rss version='2.0' xmlns:x='urn:x'><channel><item>{foreign}</item></channel></rss>"
        );
        assert_eq!(findings(&feed), [""; 0], "{foreign}");
    }
}

#[test]
fn sse_is_for_rss_and_opml_only() {
    let atom = |inside: &str| {
        format!(
            "<feed xmlns='http://www.w3.org/2005/Atom' #xmlns:sx='http://www.microsoft.com/schemas/rss/sse'>\
             {inside}</feed>"
        )
    };
    let sync = "<entry>@<sx:sync id='i' version='1'>\
                <sx:history when='Sat, 21 May 2005 09:43:33 GMT' by='A'/></sx:sync></entry>";
    assert_only(&atom(sync).replace('#', ""), "fault", "SSE 1");
    assert_only(&atom("").replace('#', "@"), "warning", "SSE 1");
    let update = clean_rss("<item>@<sx:update when='2007-01-01T00:00:00Z' by='a'/></item>");
    assert_only(&update, "fault", "FeedSync 2");
}

#[test]
fn since_and_until_order_as_texts() {
    let sharing = |since: &str, until: &str| {
        clean_rss(&format!("<sx:sharing #since='{since}' until='{until}'/>"))
    };
    for since in
        ["2 May 2006 09:10:33", "Tue, 02 May 2006 09:10:33 GMT", "2006-05-02T09:10:33+02:00"]
    {
        let feed = sharing(since, "zzz").replace('#', "@");
        assert_only(&feed, "fault", "FeedSync 4.2");
        let json =
            format!("{{\"sharing\":{{\"since\":@\"{since}\",\"until\":\"zzz\"}},\"items\":[]}}");
        assert_only(&json, "fault", "FeedSync 4.2");
    }
    let feed = sharing("17", "171").replace('#', "").replacen("<sx:sharing", "@<sx:sharing", 1);
    assert_only(&feed, "warning", "FeedSync 4.2");
    for (since, until) in [("2006-05-02T09:10:33Z", "2006-05-02T09:10:34Z"), ("1", "2"), ("a", "b")]
    {
        assert_eq!(findings(&sharing(since, until).replace('#', "")), [""; 0]);
    }
    for (part, words) in
        [("since='2' until='1'", "greater"), ("since='1'", "both"), ("until='1'", "both")]
    {
        let found = findings(&clean_rss(&format!("<sx:sharing {part}/>")));
        assert!(matches!(&found[..], [one] if one.contains(words)), "{found:?}");
    }
    for (part, words) in [
        ("\"since\":\"2\",\"until\":\"1\"", "greater"),
        ("\"since\":\"1\"", "only one"),
        ("\"until\":\"1\",\"since\":null", "only one"),
    ] {
        let found = findings(&format!("{{\"sharing\":{{{part}}},\"items\":[]}}"));
        assert!(found.iter().any(|one| one.contains(words)), "{found:?}");
    }
    let null = findings("{\"sharing\":null,\"items\":[]}");
    assert!(matches!(&null[..], [one] if one.contains("is null")), "{null:?}");
    // A faulty part does not count as missing.
    for part in ["since='' until='1'", "since='1' until=''"] {
        let found = findings(&clean_rss(&format!("<sx:sharing {part}/>")));
        assert!(matches!(&found[..], [one] if !one.contains("both")), "{found:?}");
    }
    for alone in
        ["<sx:sharing since='1'/>", "<sx:sharing until='1'/>", "<sx:sharing since='2' until='1'/>"]
    {
        assert_only(&clean_rss(&format!("@{alone}")), "fault", "FeedSync 2.2");
    }
    let sse = "@<sx:sharing version='0.91' since='Sun, 22 May 2005 09:43:33 GMT' \
               until='Sat, 21 May 2005 09:43:33 GMT'/>";
    let feed = rss("http://www.microsoft.com/schemas/rss/sse", sse).replacen('@', "", 1);
    assert_only(&feed, "warning", "SSE 2.1");
    for until in ["Sun, 22 May 2005 09:43:33 GMT", "Mon, 23 May 2005 09:43:33 GMT"] {
        let right = feed.replace("Sat, 21 May 2005 09:43:33 GMT", until).replace('@', "");
        assert_eq!(findings(&right), [""; 0], "{until}");
    }
}

#[test]
fn a_stamp_that_lacks_a_part_is_a_warning_and_one_that_lacks_both_a_fault() {
    let item = |stamp: &str| {
        clean_rss(&format!(
            "<item><sx:sync id='i' updates='1'>@<sx:history sequence='1' {stamp}/></sx:sync></item>"
        ))
    };
    assert_only(&item("when='2007-01-01T00:00:00Z'"), "warning", "FeedSync 2.5");
    assert_only(&item("by='a'"), "warning", "FeedSync 2.5");
    assert_only(&item(""), "fault", "FeedSync 2.5");
    for (present, lacking) in [("when='2007-01-01T00:00:00Z'", "'by'"), ("by='a'", "'when'")] {
        let found = findings(&item(present).replace('@', ""));
        assert!(found[0].contains(&format!("lacks {lacking}")), "{found:?}");
    }
    let json = |stamp: &str| {
        format!(
            "{{\"items\":[{{\"sync\":{{\"id\":\"i\",\"updates\":1,\"history\":[@{{\"sequence\":1{stamp}}}]}}}}]}}"
        )
    };
    assert_only(&json(",\"when\":\"2007-01-01T00:00:00Z\""), "warning", "FeedSync 2.5");
    assert_only(&json(",\"by\":\"a\""), "warning", "FeedSync 2.5");
    assert_only(&json(""), "fault", "FeedSync 2.5");
    let sse = |stamp: &str| {
        let item =
            format!("<item><sx:sync id='i' version='1'>@<sx:history {stamp}/></sx:sync></item>");
        rss("http://www.microsoft.com/schemas/rss/sse", &item).replacen('@', "", 1)
    };
    assert_only(&sse("by='a'"), "warning", "SSE 2.4");
    assert_only(&sse(""), "fault", "SSE 2.4");
    // The finding is also reported for an item that is refused for another reason.
    let both = item("").replace("updates='1'", "updates='zero'").replace('@', "");
    assert_eq!(faults(&both).len(), 2, "{:?}", faults(&both));
}

#[test]
fn elements_and_attributes_that_no_text_defines_are_warnings() {
    let foreign = ITEM.replace("</sx:sync>", "@<sx:future/></sx:sync>");
    assert_only(&clean_rss(&foreign), "warning", "FeedSync 2");
    let prefixed = ITEM.replace("updates='1'", "updates='1' @sx:deleted='true'");
    assert_only(&clean_rss(&prefixed), "warning", "FeedSync 2.1");
}

#[test]
fn members_of_json_are_faults_in_feedsyncs_objects_and_warnings_where_names_are_free() {
    let history = "[{\"sequence\":1,\"when\":\"2007-01-01T00:00:00Z\",\"by\":\"a\"}]";
    let sync = format!("{{\"id\":\"i\",\"updates\":1,\"history\":{history}#}}");
    let with = |collection: &str, item: &str, inside: &str| {
        let sync = sync.replace('#', inside);
        format!("{{\"items\":[{{\"sync\":{sync}{item}}}]{collection}}}")
    };
    let conflicts = format!("@\"conflicts\":[{{\"sync\":{}}}]", sync.replace('#', ""));
    assert_only(&with(&format!(",{conflicts}"), "", ""), "warning", "R-P3");
    assert_only(&with("", &format!(",{conflicts}"), ""), "warning", "R-P10");
    assert_only(&with("", &format!(",@\"history\":{history}"), ""), "warning", "R-P10");
    assert_only(
        &with("", ",@\"sharing\":{\"since\":\"1\",\"until\":\"2\"}", ""),
        "warning",
        "R-P10",
    );
    let alike = sync.replace('#', "");
    assert_only(&with(&format!(",@\"sync\":{alike}"), "", ""), "warning", "R-P3");
    let related = "@\"related\":[{\"link\":\"http://h/\",\"type\":\"complete\"}]";
    assert_only(&with("", &format!(",{related}"), ""), "warning", "R-P10");
    for free in [
        "\"sync\":{\"id\":\"i\"}",
        "\"sync\":{\"updates\":1}",
        "\"related\":[{\"link\":\"http://h/\"}]",
        "\"related\":[{\"type\":\"complete\"}]",
        "\"conflicts\":[{}]",
        "\"sharing\":{\"id\":1}",
    ] {
        assert_eq!(findings(&with(&format!(",{free}"), "", "")), [""; 0], "{free}");
    }
    // Versions in conflict are checked like their item.
    let lost = sync.replace('#', ",@\"related\":[]");
    let conflicts = format!(",\"conflicts\":[{{\"sync\":{lost}}}]");
    assert_only(&with("", "", &conflicts), "fault", "R-P4");
    assert_only(&with("", "", ",@\"sharing\":{}"), "fault", "R-P4");
    assert_only(&with("", "", ",@\"related\":[]"), "fault", "R-P4");
    assert_only(&with(",\"sharing\":{@\"sync\":{}}", "", ""), "fault", "R-P4");
    let free = with(",\"history\":[1,2]", ",\"history\":\"of Rome\",\"sharing\":true", ",\"x\":1");
    assert_eq!(findings(&free), [""; 0]);
}

#[test]
fn feeds_that_mix_feedsync_and_sse_are_checked_for_both() {
    let sse = "<item xmlns:ss='http://www.microsoft.com/schemas/rss/sse'><ss:sync id='k' version='0'>\
               <ss:history when='Sat, 21 May 2005 09:43:33 GMT' by='A'/></ss:sync></item>";
    let bad = ITEM.replace("updates='1'", "updates='0'");
    let found = faults(&clean_rss(&format!("{sse}{bad}")));
    let of = |clause: &str| found.iter().filter(|it| it.ends_with(&format!("({clause})"))).count();
    assert_eq!((found.len(), of("SSE 2.3"), of("FeedSync 2.4")), (2, 1, 1), "{found:#?}");
    let found = faults(&clean_rss(&format!("{}{ITEM}", sse.replace("version='0'", "version='1'"))));
    assert!(matches!(&found[..], [one] if one.ends_with("(SSE 1.1)")), "{found:#?}");
}

#[test]
fn atompub_in_a_feed_is_checked_where_it_stands() {
    let feed = |inside: &str| {
        format!(
            "<feed xmlns='http://www.w3.org/2005/Atom' xmlns:app='http://www.w3.org/2007/app'>{inside}</feed>"
        )
    };
    let entry = |inside: &str| feed(&format!("<entry>{inside}</entry>"));
    let draft = |value: &str| format!("<app:control>@<app:draft>{value}</app:draft></app:control>");
    assert_only(&entry(&draft("maybe")), "fault", "RFC 5023 13.1.1");
    assert_only(&entry("@<app:edited>today</app:edited>"), "fault", "RFC 5023 10.2");
    assert_only(&feed("@<app:collection href='c'/>"), "fault", "RFC 5023 8.3.3.2");
    assert_only(&feed("@<app:control/>"), "fault", "RFC 5023 13.1");
    let right = draft("no").replace('@', "") + "<app:edited>2003-12-13T18:30:02.5Z</app:edited>";
    assert_eq!(findings(&entry(&right)), [""; 0]);
}

#[test]
fn contents_give_the_type_and_the_counts_of_a_document() {
    let contents = |text: &str| validate(text.as_bytes()).contents.unwrap();
    let feed =
        Contents::Feed { format: feedsync_core::Format::Rss, uses_sse: false, items: 1, plain: 1 };
    assert_eq!(contents(&clean_rss(&format!("{ITEM}<item/>"))), feed);
    let sse = "http://www.microsoft.com/schemas/rss/sse";
    let item = "<item><sx:sync id='i' version='1'><sx:history by='a'/></sx:sync></item>";
    let feed =
        Contents::Feed { format: feedsync_core::Format::Rss, uses_sse: true, items: 1, plain: 0 };
    assert_eq!(contents(&rss(sse, item).replacen('@', "", 1)), feed);
}
