//! Reading elements and attributes of SSE (2).

use feedsync_core::{Format, RelatedKind};

use super::*;
use crate::Severity;
use crate::sse::uses_sse;

fn remarks(text: &str) -> Vec<String> {
    read(text).diagnostics().iter().map(ToString::to_string).collect()
}

#[test]
fn both_spellings_of_the_namespace_under_any_prefix_are_read() {
    for namespace in [HTTP, HTTPS] {
        let prefixed = rss(&item("a", "A", &["X"])).replace(HTTP, namespace);
        let other = prefixed.replace("sx:", "share:").replace("xmlns:sx", "xmlns:share");
        let default = prefixed.replace(
            &sync("a", &["X"], ""),
            &format!(
                "<sync xmlns=\"{namespace}\" id=\"a\" version=\"1\"><history by=\"X\"/></sync>"
            ),
        );
        for text in [&prefixed, &other, &default] {
            assert_eq!(read(text).items().count(), 1, "{text}");
            assert!(uses_sse(text.as_bytes(), &ReadOptions::strict()));
        }
    }
    let another = rss(&item("a", "A", &["X"])).replace(HTTP, "http://feedsync.org/2007/feedsync");
    assert_eq!((read(&another).items().count(), read(&another).plain_items()), (0, 1));
    assert!(!uses_sse(another.as_bytes(), &ReadOptions::strict()));
    assert!(!uses_sse(rss("<item/>").as_bytes(), &ReadOptions::strict()));
}

#[test]
fn only_rss_and_opml_are_documents_of_sse() {
    assert_eq!(read(&rss("")).format(), Format::Rss);
    assert_eq!(read(&opml("")).format(), Format::Opml);
    for text in ["<feed xmlns=\"http://www.w3.org/2005/Atom\"/>", "<rss/>", "<opml><head/></opml>"]
    {
        assert!(Document::read(text.as_bytes(), &ReadOptions::tolerant()).is_err(), "{text}");
    }
}

#[test]
fn an_item_needs_an_id_and_a_version() {
    let message = fault(&rss("<item><sx:sync version='1'><sx:history by='A'/></sx:sync></item>"));
    assert_eq!(message, "2:7: fault: sx:sync lacks the attribute \"id\" (SSE 2.3)");
    let message = fault(&rss("<item><sx:sync id='a'><sx:history by='A'/></sx:sync></item>"));
    assert_eq!(
        message,
        "2:7: fault: item \"a\": sx:sync lacks the attribute \"version\" (SSE 2.3)"
    );
    for id in ["a b", "", "caf\u{e9}", "100%"] {
        assert!(fault(&rss(&item(id, "A", &["X"]))).contains("id="), "{id}");
    }
    for version in ["0", "-1", "01", "1.0", "", "18446744073709551616"] {
        let text = rss(&item("a", "A", &["X"]))
            .replace("version=\"1\"", &format!("version=\"{version}\""));
        assert!(fault(&text).contains("version="), "{version}");
    }
    let high =
        rss(&item("a", "A", &["X"])).replace("version=\"1\"", "version=\"18446744073709551615\"");
    assert_eq!(read(&high).items().next().unwrap().version.get(), u64::MAX);
}

#[test]
fn deleted_and_conflict_are_true_false_or_empty() {
    for (value, set) in [("true", true), ("false", false), ("", false)] {
        let sync = sync("a", &["X"], &format!(" deleted=\"{value}\" conflict=\"{value}\""));
        let document = read(&rss(&format!("<item>{sync}</item>")));
        let item = document.items().next().unwrap();
        assert_eq!((item.deleted, item.conflict), (set, set), "{value:?}");
    }
    for value in ["TRUE", "1", "yes", " true"] {
        for name in ["deleted", "conflict"] {
            let sync = sync("a", &["X"], &format!(" {name}=\"{value}\""));
            assert!(fault(&rss(&format!("<item>{sync}</item>"))).contains(name), "{value}");
        }
    }
}

#[test]
fn an_item_has_one_history_that_says_when_or_by() {
    let with = |history: &str| {
        rss(&format!("<item><sx:sync id=\"a\" version=\"1\">{history}</sx:sync></item>"))
    };
    for history in [
        "",
        "<sx:history by='A'/><sx:history by='B'/>",
        "<sx:history/>",
        "<sx:history by=''/>",
        "<sx:history when=''/>",
        "<sx:history by='A'><sx:update/></sx:history>",
        "<sx:history by='a b'/>",
        "<sx:history when='2005-05-21T09:43:33Z' by='A'/>",
        "<sx:history when='Sat, 21 May 2005 09:43:33 EST'/>",
    ] {
        assert!(fault(&with(history)).contains("(SSE 2."), "{history}");
    }
    for history in ["<sx:history by='A'/>", "<sx:history when='21 May 2005 09:43 GMT' by=''/>"] {
        assert_eq!(read(&with(history)).items().count(), 1, "{history}");
    }
    let message = fault(&with("\n<sx:history by='A'>\n<sx:update when='soon'/></sx:history>"));
    assert!(message.starts_with("4:12: fault: item \"a\": when=\"soon\": "), "{message}");
}

#[test]
fn a_zone_that_means_gmt_is_a_warning() {
    let text = rss(
        "<item><sx:sync id='a' version='1'><sx:history when='21 May 2005 09:43 UTC'/></sx:sync></item>",
    );
    let document = read(&text);
    assert_eq!(document.items().count(), 1);
    let [warning] = document.diagnostics() else { panic!("{:?}", document.diagnostics()) };
    assert_eq!(warning.severity, Severity::Warning);
    assert_eq!(warning.item.as_deref(), Some("a"));
}

#[test]
fn a_fault_refuses_its_item_and_leaves_the_others() {
    let document = read(&rss(&format!(
        "{}\n{}\n<item/>\n{}",
        item("a", "A", &["X"]),
        item("b b", "B", &["X"]),
        item("c", "C", &["X"])
    )));
    let ids: Vec<_> = document.items().map(|item| item.id.as_str()).collect();
    assert_eq!((ids, document.plain_items()), (vec!["a", "c"], 1));
    let [refused] = document.refused() else { panic!("{:?}", document.refused()) };
    assert_eq!((refused.id.as_deref(), refused.index), (Some("b b"), 1));
    let bad = item("b b", "B", &["X"]);
    let document =
        read(&rss(&format!("<item/><item/>{}{bad}{bad}<item/>{bad}", item("a", "A", &["X"]))));
    let indexes: Vec<_> = document.refused().iter().map(|refused| refused.index).collect();
    assert_eq!(indexes, [3, 4, 6]);
}

#[test]
fn an_id_occurs_once() {
    let text =
        rss(&format!("{}\n{}", item("a", "first", &["X"]), item("a", "second", &["X", "Y"])));
    let document = read(&text);
    assert!(document.items().next().unwrap().payload.text().contains("first"));
    assert!(document.refused()[0].reason.message.contains("occurs twice"));
}

#[test]
fn two_syncs_or_both_namespaces_on_one_item_are_a_fault() {
    let sse = sync("a", &["X"], "");
    assert!(fault(&rss(&format!("<item>{sse}{sse}</item>"))).contains("a second sx:sync"));
    let feedsync = "<f:sync xmlns:f=\"http://feedsync.org/2007/feedsync\" id=\"a\" updates=\"1\"/>";
    for mixed in [format!("{sse}{feedsync}"), format!("{feedsync}{sse}")] {
        let message = fault(&rss(&format!("<item>{mixed}</item>")));
        assert!(message.contains("SSE and FeedSync at the same time"), "{message}");
        let message = fault(&opml(&format!("<outline>{mixed}</outline>")));
        assert!(message.contains("SSE and FeedSync at the same time"), "{message}");
    }
    let beside = remarks(&rss(&format!("<item>{sse}</item><item>{feedsync}</item>")));
    assert!(beside[0].contains("others in the document use SSE"), "{beside:?}");
}

#[test]
fn empty_conflicts_are_reported_and_data_is_an_item() {
    let with = |conflicts: &str| {
        rss(&format!(
            "<item><sx:sync id=\"a\" version=\"2\"><sx:history by=\"A\"/>{conflicts}</sx:sync></item>"
        ))
    };
    assert!(remarks(&with("<sx:conflicts/>"))[0].contains("(SSE 5.1)"));
    let text = with(
        "<sx:conflicts><sx:conflict version='2' by='B'><item><title>lost</title><sx:sync/></item></sx:conflict>\
         <sx:conflict version='1' by='C'><other/></sx:conflict></sx:conflicts>",
    );
    let document = read(&text);
    let conflicts = &document.items().next().unwrap().conflicts;
    assert_eq!(conflicts[0].payload.as_ref().unwrap().text(), "<item><title>lost</title></item>");
    assert_eq!(conflicts[1].payload, None);
    for conflict in
        ["<sx:conflict by='B'/>", "<sx:conflict version='1'/>", "<sx:conflict version='0' by='B'/>"]
    {
        let message = fault(&with(&format!("<sx:conflicts>{conflict}</sx:conflicts>")));
        assert!(message.contains("(SSE 5.2)"), "{message}");
    }
}

#[test]
fn sharing_is_optional_and_blank_is_absent() {
    assert_eq!(read(&rss("")).sharing(), None);
    let text = rss("<sx:sharing since='' until=' ' version='0.91' window='30'/>");
    let document = read(&text);
    let sharing = document.sharing().unwrap();
    assert_eq!((&sharing.since, &sharing.until, sharing.window), (&None, &None, Some(30)));
    assert!(document.diagnostics().is_empty());
    let in_head =
        opml("").replace("<head/>", "<head><title>T</title><sx:sharing version='0.91'/></head>");
    assert!(read(&in_head).sharing().is_some());
    assert_eq!(read(&in_head).title(), Some("T"));
}

#[test]
fn a_related_feed_has_bounds_of_its_own_and_blank_ones_are_absent() {
    let (early, late) = ("Mon, 01 Nov 2004 09:43:33 GMT", "Tue, 01 Mar 2005 09:43:33 GMT");
    let bounds = |attributes: &str| {
        let related = format!("<sx:related link='http://b/' type='aggregated' {attributes}/>");
        let document = read(&rss(&format!("<sx:sharing version='0.91'>{related}</sx:sharing>")));
        assert!(document.diagnostics().is_empty(), "{:?}", document.diagnostics());
        let sharing = document.sharing().unwrap();
        assert_eq!((&sharing.since, &sharing.until), (&None, &None), "those of the feed itself");
        let [related] = &sharing.related[..] else { panic!("{:?}", sharing.related) };
        let text = |date: &Option<feedsync_core::sse::Date>| date.as_ref().map(ToString::to_string);
        (text(&related.since), text(&related.until))
    };
    let both = format!("since='{early}' until='{late}'");
    assert_eq!(bounds(&both), (Some(early.into()), Some(late.into())));
    assert_eq!(bounds(&format!("since='{early}'")), (Some(early.into()), None));
    assert_eq!(bounds(&format!("until='{late}'")), (None, Some(late.into())));
    for absent in ["", "since='' until=''", "since=' ' until=' '"] {
        assert_eq!(bounds(absent), (None, None), "{absent}");
    }
}

#[test]
fn a_gap_and_another_version_discard_nothing() {
    let local = rss(&format!("{}{}", item("a", "A", &["X"]), item("b", "B", &["X"])));
    let later = "since='Tue, 01 Mar 2005 09:43:33 GMT' until='Wed, 02 Mar 2005 09:43:33 GMT'";
    for (sharing, warnings) in [
        (format!("<sx:sharing {later} version='0.91'/>"), 0),
        (format!("<sx:sharing {later} version='1.0'/>"), 1),
    ] {
        let incoming = rss(&format!("{sharing}{}", item("c", "C", &["X"])));
        let found = read(&incoming);
        let severities: Vec<_> = found.diagnostics().iter().map(|it| it.severity).collect();
        assert_eq!(severities, vec![Severity::Warning; warnings]);
        let seen = "Tue, 01 Feb 2005 00:00:00 GMT".parse().unwrap();
        assert!(found.sharing().unwrap().leaves_a_gap_after(&seen));
        let (text, outcomes) = merged(&local, &incoming);
        let ids: Vec<_> = read(&text).items().map(|item| item.id.to_string()).collect();
        assert_eq!(
            (ids, outcomes),
            (vec!["a".into(), "b".into(), "c".into()], vec![Outcome::Added])
        );
    }
}

#[test]
fn a_fault_in_sharing_is_reported_and_counts_as_absent() {
    let text = rss("<sx:sharing since='yesterday' window='many'>\
         <sx:related type='complete'/><sx:related link='http://a/' type='mirror'/>\
         <sx:related link='http://b/' type='aggregated' since=''/></sx:sharing><sx:sharing/>");
    let document = read(&text);
    let sharing = document.sharing().unwrap();
    assert_eq!((&sharing.since, sharing.window, sharing.version.as_str()), (&None, None, ""));
    let [related] = &sharing.related[..] else { panic!("{:?}", sharing.related) };
    assert_eq!((related.kind, &related.since), (RelatedKind::Aggregated, &None));
    assert_eq!(document.diagnostics().len(), 6, "{:?}", document.diagnostics());
    assert!(document.diagnostics().iter().all(|d| d.severity == Severity::Fault));
    for blank in
        ["link='' type='complete'", "link=' \t' type='complete'", "link='http://a/' type=' '"]
    {
        let related = format!("<sx:sharing version='0.91'><sx:related {blank}/></sx:sharing>");
        let document = read(&rss(&related));
        assert!(document.sharing().unwrap().related.is_empty(), "{blank}");
        let [fault] = document.diagnostics() else { panic!("{:?}", document.diagnostics()) };
        assert!(fault.message.contains("must not be empty"), "{fault}");
    }
    let other = read(&rss("<sx:sharing version='1.0'/>"));
    assert_eq!(other.diagnostics()[0].severity, Severity::Warning);
}

#[test]
fn bounds_on_items_and_updates_hold() {
    let mut options = ReadOptions::strict();
    options.limits.items = 2;
    options.limits.history = 2;
    let two = rss(&format!("{}{}", item("a", "A", &["X"]), item("b", "B", &["X"])));
    assert!(Document::read(two.as_bytes(), &options).is_ok());
    let three = two.replace("</channel>", "<item/></channel>");
    assert!(Document::read(three.as_bytes(), &options).is_err());
    let long = rss(&item("a", "A", &["X", "Y", "Z"]));
    let document = Document::read(long.as_bytes(), &options).unwrap();
    assert!(document.refused()[0].reason.message.contains("more than 2"));
}
