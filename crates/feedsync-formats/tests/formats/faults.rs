//! Invalid input. A fault in an item refuses only that item, with the clause and the position. A
//! document that cannot be read is refused with line and column.

use feedsync_core::{Format, MAX_COUNTER, RelatedKind};
use feedsync_formats::{
    Diagnostic, Limits, Mode, Position, ReadError, ReadOptions, Reading, Severity, detect, read,
};

const HISTORY: &str = "<sx:history sequence='1' by='a'/>";

fn feed(content: &str) -> String {
    format!(
        "<rss version='2.0' xmlns:sx='http://feedsync.org/2007/feedsync'><channel>\n{content}\n\
         </channel></rss>"
    )
}

/// Returns a feed whose first item has this `sx:sync`, its second none, and its third a valid one.
fn with_sync(sync: &str) -> String {
    let good = format!("<sx:sync id='good' updates='1'>{HISTORY}</sx:sync>");
    feed(&format!("<item>{sync}</item>\n<item/>\n<item>{good}</item>"))
}

fn read_as(text: &str, mode: Mode) -> Reading {
    read(text.as_bytes(), None, &ReadOptions { mode, ..ReadOptions::strict() }).unwrap()
}

/// Reads a feed whose first item is faulty and returns the reason of the refusal.
#[track_caller]
fn refusal_as(sync: &str, mode: Mode) -> Diagnostic {
    let text = with_sync(sync);
    let reading = read_as(&text, mode);
    let ids: Vec<_> = reading.feed.items.iter().map(|item| item.id.as_str()).collect();
    assert_eq!(ids, ["good"], "{sync}");
    assert_eq!(reading.feed.plain_items, 1);
    let [refused] = &reading.refused[..] else { panic!("{sync}: {:?}", reading.refused) };
    assert_eq!(refused.index, 0);
    assert_eq!(refused.reason.severity, Severity::Fault);
    assert_eq!(refused.reason.position.line, 2, "{:?}", refused.reason);
    refused.reason.clone()
}

/// Like [`refusal_as`], asserting that both modes give the same reason.
#[track_caller]
fn refusal(sync: &str) -> Diagnostic {
    let reason = refusal_as(sync, Mode::Strict);
    assert_eq!(reason, refusal_as(sync, Mode::Tolerant));
    reason
}

fn sync_with(attributes: &str) -> String {
    format!("<sx:sync {attributes}>{HISTORY}</sx:sync>")
}

fn history_with(attributes: &str) -> String {
    format!("<sx:sync id='i' updates='1'><sx:history {attributes}/></sx:sync>")
}

#[test]
fn a_refused_item_is_named_with_its_line_column_and_clause() {
    let text = with_sync(&sync_with("id='i' updates='none'"));
    let reading = read_as(&text, Mode::Strict);
    let reason = &reading.refused[0].reason;
    assert_eq!(reason.position, Position { line: 2, column: 23 });
    assert_eq!((reason.clause, reason.item.as_deref()), ("FeedSync 2.4", Some("i")));
    assert_eq!(reading.refused[0].id.as_deref(), Some("i"));
    assert!(reason.message.starts_with("updates=\"none\": must be a whole number"), "{reason}");
}

#[test]
fn updates_and_sequence_are_whole_numbers_from_1_to_2_147_483_647() {
    for number in
        ["0", "-1", "2147483648", "1.0", " 1", "1 ", "+1", "", "1e0", "99999999999999999999"]
    {
        let reason = refusal(&sync_with(&format!("id='i' updates='{number}'")));
        assert_eq!(reason.clause, "FeedSync 2.4");
        let reason = refusal(&history_with(&format!("sequence='{number}' by='a'")));
        assert_eq!(reason.clause, "FeedSync 2.5");
    }
    assert!(refusal(&sync_with("id='i'")).message.contains("lacks the attribute \"updates\""));
    assert!(refusal(&history_with("by='a'")).message.contains("lacks the attribute \"sequence\""));
    let largest = format!("id='i' updates='{MAX_COUNTER}'");
    let reading = read_as(&with_sync(&sync_with(&largest)), Mode::Strict);
    assert_eq!(reading.feed.items[0].winner.updates.get(), MAX_COUNTER);
}

#[test]
fn leading_zeros_are_a_fault_and_a_warning_in_tolerant_reading() {
    let sync = sync_with("id='i' updates='007'");
    assert_eq!(refusal_as(&sync, Mode::Strict).clause, "FeedSync 2.4");
    let reading = read_as(&with_sync(&sync), Mode::Tolerant);
    assert_eq!(reading.feed.items[0].winner.updates.get(), 7);
    assert_eq!(reading.diagnostics[0].severity, Severity::Warning);
    assert_eq!(reading.diagnostics[0].item.as_deref(), Some("i"));
    refusal(&sync_with("id='i' updates='000'"));
}

#[test]
fn deleted_and_noconflicts_are_true_or_false() {
    for value in ["TRUE", "1", "", " true", "yes"] {
        refusal(&sync_with(&format!("id='i' updates='1' deleted='{value}'")));
        refusal(&sync_with(&format!("id='i' updates='1' noconflicts='{value}'")));
    }
    for (attributes, deleted, noconflicts) in [
        ("", false, None),
        ("deleted='true' noconflicts='false'", true, Some(false)),
        ("deleted='false' noconflicts='true'", false, Some(true)),
    ] {
        let text = with_sync(&sync_with(&format!("id='i' updates='1' {attributes}")));
        let winner = &read_as(&text, Mode::Strict).feed.items[0].winner;
        assert_eq!((winner.deleted, winner.noconflicts), (deleted, noconflicts));
    }
}

#[test]
fn ids_follow_the_grammar_and_are_never_repaired() {
    for id in ["", "two words", "%", "%4", "%zz", "%00", "a&lt;b", "caf\u{e9}", "a|b", "&#10;"] {
        assert_eq!(refusal(&sync_with(&format!("id='{id}' updates='1'"))).clause, "FeedSync 2.4");
        let history = history_with(&format!("sequence='1' by='{id}'"));
        assert_eq!(refusal(&history).clause, "FeedSync 2.5");
    }
    assert!(refusal(&sync_with("updates='1'")).message.contains("lacks the attribute \"id\""));
    let long = "a".repeat(1025);
    assert!(refusal(&sync_with(&format!("id='{long}' updates='1'"))).message.contains("1024"));
    let reading = read_as(&with_sync(&sync_with("id='a/b' updates='1'")), Mode::Strict);
    assert_eq!(reading.feed.items[0].id.as_str(), "a/b");
    assert_eq!(reading.diagnostics[0].severity, Severity::Warning);
}

#[test]
fn times_have_whole_seconds_and_no_offset_in_either_mode() {
    for when in [
        "2005-05-21T11:43:33.0Z",
        "2005-05-21T11:43:33+00:00",
        "2005-05-21T11:43:33-00:00",
        "2005-05-21T11:43:33",
        "2005-05-21 11:43:33Z",
        "2005-02-30T11:43:33Z",
        "2005-05-21T24:00:00Z",
        "",
    ] {
        let reason = refusal(&history_with(&format!("sequence='1' by='a' when='{when}'")));
        assert_eq!(reason.clause, "FeedSync 2.5");
    }
    let lower = history_with("sequence='1' when='2005-05-21t11:43:33z'");
    refusal_as(&lower, Mode::Strict);
    let reading = read_as(&with_sync(&lower), Mode::Tolerant);
    let when = reading.feed.items[0].winner.dot().when().unwrap();
    assert_eq!(when.to_string(), "2005-05-21t11:43:33z");
    assert_eq!(reading.diagnostics.len(), 1);
}

#[test]
fn a_history_is_there_and_signed() {
    assert_eq!(refusal("<sx:sync id='i' updates='1'/>").clause, "FeedSync 2.5");
    assert_eq!(refusal(&history_with("sequence='1'")).clause, "FeedSync 2.5");
    for by_or_when in ["by='a'", "when='2005-05-21T11:43:33Z'"] {
        let text = with_sync(&history_with(&format!("sequence='1' {by_or_when}")));
        assert_eq!(read_as(&text, Mode::Strict).feed.items.len(), 2);
    }
}

#[test]
fn an_attribute_in_feedsyncs_namespace_is_foreign_markup() {
    assert!(refusal(&sync_with("sx:id='i' updates='1'")).message.contains("\"id\""));
    let reading = read_as(&with_sync(&sync_with("sx:id='x' id='i' updates='1'")), Mode::Strict);
    let foreign = reading.feed.items[0].winner.payload.sync_foreign();
    let declared = "<sync xmlns:sx=\"http://feedsync.org/2007/feedsync\" sx:id='x'/>";
    assert_eq!(foreign, Some(declared));
}

#[test]
fn elements_are_identified_by_namespace_and_not_by_prefix() {
    let sync = format!("<sx:sync xmlns:sx='urn:other' id='i' updates='1'>{HISTORY}</sx:sync>");
    let reading = read_as(&with_sync(&sync), Mode::Strict);
    assert_eq!((reading.feed.items.len(), reading.feed.plain_items), (1, 2));
    let default = "<sync xmlns='http://feedsync.org/2007/feedsync' id='i' updates='1'>\
                   <history sequence='1' by='a'/></sync>";
    assert_eq!(read_as(&with_sync(default), Mode::Strict).feed.items[0].id.as_str(), "i");
}

#[test]
fn a_second_element_is_a_fault_where_one_is_allowed() {
    let sync = sync_with("id='i' updates='1'");
    assert!(refusal(&format!("{sync}{sync}")).message.contains("a second sx:sync"));
    let two =
        format!("<sx:sync id='i' updates='1'>{HISTORY}<sx:conflicts/><sx:conflicts/></sx:sync>");
    assert!(refusal(&two).message.contains("a second sx:conflicts"));
    let sharing = "<sx:sharing since='1' until='2'/>";
    let reading = read_as(&feed(&format!("{sharing}\n{sharing}")), Mode::Strict);
    assert_eq!(reading.feed.sharing, None);
    assert_eq!(reading.diagnostics[0].severity, Severity::Fault);
    assert_eq!(reading.diagnostics[0].position.line, 3);
}

#[test]
fn feedsync_and_sse_on_one_item_are_a_fault() {
    let sse = "<s:sync xmlns:s='http://www.microsoft.com/schemas/rss/sse' id='i' version='1'/>";
    let reason = refusal(&format!("{}{sse}", sync_with("id='i' updates='1'")));
    assert!(reason.message.contains("SSE"));
    assert_eq!(read_as(&with_sync(sse), Mode::Strict).feed.plain_items, 2);
}

#[test]
fn an_id_twice_in_a_feed_is_a_fault_and_both_are_kept_in_tolerant_reading() {
    let item = format!("<item>{}</item>", sync_with("id='i' updates='1'"));
    let text = feed(&format!("{item}\n{item}"));
    let strict = read_as(&text, Mode::Strict);
    assert_eq!(strict.feed.items.len(), 1);
    assert_eq!((strict.refused[0].index, strict.refused[0].reason.position.line), (1, 3));
    let tolerant = read_as(&text, Mode::Tolerant);
    assert_eq!(tolerant.feed.items.len(), 2);
    assert_eq!(tolerant.diagnostics[0].severity, Severity::Warning);
}

fn with_conflicts(conflicts: &str) -> String {
    format!(
        "<sx:sync id='i' updates='2'>{HISTORY}<sx:conflicts>{conflicts}</sx:conflicts></sx:sync>"
    )
}

#[test]
fn a_conflict_has_a_sync_of_its_own_with_the_items_id() {
    assert_eq!(refusal(&with_conflicts("<item/>")).message, "a conflict has no sx:sync");
    let other = format!("<item>{}</item>", sync_with("id='other' updates='1'"));
    assert!(refusal(&with_conflicts(&other)).message.contains("has the id"));
    let faulty = format!("<item>{}</item>", sync_with("id='i' updates='0'"));
    assert_eq!(refusal(&with_conflicts(&faulty)).clause, "FeedSync 2.4");
    let entry = format!("<entry>{}</entry>", sync_with("id='i' updates='1'"));
    assert_eq!(refusal(&with_conflicts(&entry)).clause, "FeedSync 2.6");
}

#[test]
fn no_conflicts_are_the_same_as_none_and_other_children_are_not_conflicts() {
    for conflicts in ["", " ", "<!-- x -->"] {
        let reading = read_as(&with_sync(&with_conflicts(conflicts)), Mode::Strict);
        assert_eq!(reading.feed.items[0].conflicts, []);
        assert_eq!(reading.diagnostics, []);
    }
    let reading = read_as(&with_sync(&with_conflicts("<note/>")), Mode::Strict);
    assert_eq!(reading.feed.items[0].conflicts, []);
    assert_eq!(reading.diagnostics[0].severity, Severity::Warning);
}

#[test]
fn conflicts_in_conflicts_are_taken_as_one_flat_set_and_reported() {
    let inner = format!("<item><a/>{}</item>", sync_with("id='i' updates='1'"));
    let outer = format!(
        "<item><b/><sx:sync id='i' updates='2'><sx:history sequence='1' by='b'/>\
         <sx:conflicts>{inner}</sx:conflicts></sx:sync></item>"
    );
    let text = with_sync(&with_conflicts(&outer));
    let strict = read_as(&text, Mode::Strict);
    let payloads: Vec<_> =
        strict.feed.items[0].conflicts.iter().map(|c| c.payload.text().to_string()).collect();
    assert_eq!(payloads, ["<item><b/></item>", "<item><a/></item>"]);
    assert_eq!(strict.diagnostics[0].severity, Severity::Fault);
    assert_eq!(read_as(&text, Mode::Tolerant).diagnostics[0].severity, Severity::Warning);
}

#[test]
fn noconflicts_with_conflicts_is_read_and_reported() {
    let conflict = format!("<item>{}</item>", sync_with("id='i' updates='1' noconflicts='true'"));
    let sync = with_conflicts(&conflict).replace("updates='2'", "updates='2' noconflicts='true'");
    let reading = read_as(&with_sync(&sync), Mode::Strict);
    assert_eq!(reading.feed.items[0].conflicts.len(), 1);
    assert_eq!(reading.diagnostics.len(), 1);
    assert_eq!(reading.diagnostics[0].severity, Severity::Fault);
    let differing = with_conflicts(&conflict);
    assert!(
        read_as(&with_sync(&differing), Mode::Strict).diagnostics[0].message.contains("differ")
    );
}

fn sharing(element: &str) -> Reading {
    read_as(&feed(element), Mode::Strict)
}

#[test]
fn since_and_until_are_there_both_or_not_at_all_and_not_empty() {
    for attributes in [
        "since='1'",
        "until='1'",
        "since='2' until='1'",
        "since='' until='1'",
        "since='1' until=''",
    ] {
        let reading = sharing(&format!("<sx:sharing {attributes}/>"));
        assert_eq!(reading.feed.sharing.unwrap().window, None, "{attributes}");
        assert_eq!(reading.diagnostics[0].clause, "FeedSync 2.2");
        assert_eq!(reading.diagnostics[0].severity, Severity::Fault);
    }
    let reading = sharing("<sx:sharing since='9' until='9' expires='2005-05-21T11:43:33Z'/>");
    let sharing = reading.feed.sharing.unwrap();
    assert_eq!(sharing.window.unwrap().since, "9");
    assert!(sharing.expires.is_some());
}

#[test]
fn a_faulty_expires_counts_as_absent() {
    let reading = sharing("<sx:sharing expires='tomorrow'/>");
    assert_eq!(reading.feed.sharing.unwrap().expires, None);
    assert_eq!(reading.diagnostics.len(), 1);
}

#[test]
fn related_feeds_have_an_absolute_link_and_a_known_type() {
    for attributes in [
        "type='complete'",
        "link='' type='complete'",
        "link='all.xml' type='complete'",
        "link='//h/x' type='complete'",
        "link='http://h/x#f' type='complete'",
        "link='http://h/x'",
        "link='http://h/x' type='Complete'",
        "link='http://h/x' type='complete' title=''",
    ] {
        let reading = sharing(&format!("<sx:sharing><sx:related {attributes}/></sx:sharing>"));
        assert_eq!(reading.feed.sharing.unwrap().related, [], "{attributes}");
        assert_eq!(reading.diagnostics[0].clause, "FeedSync 2.3");
    }
    let reading =
        sharing("<sx:sharing><sx:related link='http://h/x' type='aggregated'/><x/></sx:sharing>");
    assert_eq!(reading.diagnostics, []);
    assert_eq!(reading.feed.sharing.unwrap().related[0].kind, RelatedKind::Aggregated);
}

#[test]
fn documents_that_are_not_feeds_are_refused_with_their_type() {
    let refused = |text: &str| match read(text.as_bytes(), None, &ReadOptions::tolerant()) {
        Err(error @ ReadError::UnknownFormat { .. }) => error.to_string(),
        other => panic!("{other:?}"),
    };
    assert_eq!(refused("<html><body/></html>"), "not a feed: a document <html>");
    assert_eq!(refused(""), "not a feed: an empty document");
    assert_eq!(refused("hello, world"), "not a feed: a text that begins \"hello, world\"");
    assert_eq!(detect(b"<html/>"), None);
    assert_eq!(detect(b" {"), Some(Format::Json));
    let atom = "<feed xmlns='http://www.w3.org/2005/Atom'/>";
    let options = ReadOptions::strict();
    assert!(read(atom.as_bytes(), Some(Format::Rss), &options).is_err());
    assert!(read(atom.as_bytes(), Some(Format::Atom), &options).is_ok());
}

#[test]
fn a_truncated_body_is_refused_at_every_length() {
    let text = with_sync(&sync_with("id='i' updates='1'"));
    for length in 0..text.len() {
        let bytes = &text.as_bytes()[..length];
        for options in [ReadOptions::strict(), ReadOptions::tolerant()] {
            assert!(read(bytes, Some(Format::Rss), &options).is_err(), "{length}");
        }
    }
}

#[test]
fn each_limit_is_enforced_and_named() {
    let with = |limits: Limits, text: &str| {
        let options = ReadOptions { limits, ..ReadOptions::tolerant() };
        read(text.as_bytes(), Some(Format::Rss), &options)
    };
    let deep = feed(&format!("<item>{}{}</item>", "<a>".repeat(10_000), "</a>".repeat(10_000)));
    let Err(ReadError::Document { message, .. }) = with(Limits::default(), &deep) else { panic!() };
    assert!(message.contains("256 deep"));
    let endless: String = (0..100_000).map(|n| format!(" a{n}=''")).collect();
    let text = feed(&format!("<item{endless}/>"));
    let Err(ReadError::Document { message, .. }) = with(Limits::default(), &text) else { panic!() };
    assert!(message.contains("256 attributes"));
    let bomb = format!("<!DOCTYPE r [<!ENTITY a 'x'><!ENTITY b '&a;&a;'>]>{}", feed("&b;"));
    assert!(with(Limits::default(), &bomb).is_ok());
    assert!(read(bomb.as_bytes(), None, &ReadOptions::strict()).is_err());
    let large = with(Limits { bytes: 100, ..Limits::default() }, &feed(&" ".repeat(100)));
    assert_eq!(large, Err(ReadError::TooLarge { limit: 100 }));
    let items = feed(&"<item/>".repeat(4));
    let few = Limits { items: 3, ..Limits::default() };
    let Err(ReadError::Document { message, .. }) = with(few, &items) else { panic!() };
    assert_eq!(message, "more than 3 items");
    let updates = HISTORY.repeat(4);
    let long = feed(&format!("<item><sx:sync id='i' updates='4'>{updates}</sx:sync></item>"));
    let short = Limits { history: 3, ..Limits::default() };
    let reading = with(short, &long).unwrap();
    assert!(reading.refused[0].reason.message.contains("more than 3 updates"));
}

#[test]
fn a_feed_with_sharing_and_no_items_is_valid_and_so_is_one_without() {
    assert_eq!(sharing("<sx:sharing/>").diagnostics, []);
    assert_eq!(sharing("").feed.sharing, None);
    let mixed = read_as(&with_sync(&sync_with("id='i' updates='1'")), Mode::Strict);
    assert_eq!((mixed.feed.items.len(), mixed.feed.plain_items), (2, 1));
}
