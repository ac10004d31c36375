//! Values, their names, and their limits.

use feedsync_core::sse::{DowngradeLoss, UpgradeLoss, VersionNumber};
use feedsync_core::{
    By, Format, History, Incorporation, Item, ItemId, MAX_CONFLICTS, MAX_READ_UPDATES, MAX_UPDATES,
    Refusal, Related, RelatedKind, Sequence, Sharing, Timestamp, UnknownFormat, Update, Updates,
    Version, incorporate, line,
};

fn update(sequence: u32, by: &str) -> Update {
    let when = Timestamp::from_unix_seconds(0).unwrap();
    Update::signed(Sequence::new(sequence).unwrap(), when, By::new(by).unwrap())
}

fn version(updates: u32, history: Vec<Update>) -> Version<&'static str> {
    Version {
        updates: Updates::new(updates).unwrap(),
        deleted: false,
        noconflicts: None,
        history: History::from_updates(history).unwrap(),
        payload: "",
    }
}

fn item(
    winner: Version<&'static str>,
    conflicts: Vec<Version<&'static str>>,
) -> Item<&'static str> {
    Item { id: ItemId::new("item").unwrap(), winner, conflicts }
}

/// Creates so many updates, each with an authoring line of its own.
fn lines(prefix: &str, count: usize) -> Vec<Update> {
    (0..count).map(|number| update(1, &format!("{prefix}.{number}"))).collect()
}

#[test]
fn foreign_markup_stays_with_its_update_and_decides_nothing() {
    let plain = update(2, "a");
    let marked = plain.clone().with_foreign("<x/>");
    assert_eq!((plain.foreign(), marked.foreign()), (None, Some("<x/>")));
    assert!(plain.is_same(&marked) && marked.is_same(&plain));
}

#[test]
fn an_item_covers_the_updates_of_all_its_versions_and_no_others() {
    let winner = version(2, vec![update(2, "a"), update(1, "a")]);
    let item = item(winner, vec![version(1, vec![update(3, "b")])]);
    for (sequence, by, is_covered) in [
        (1, "a", true),
        (2, "a", true),
        (3, "a", false),
        (2, "b", true),
        (4, "b", false),
        (1, "c", false),
    ] {
        assert_eq!(item.covers(&update(sequence, by)), is_covered, "{sequence} {by}");
    }
}

#[test]
fn conflicts_are_ranked_as_winners_are_and_then_by_sequence() {
    let ranked = |conflicts: Vec<Version<&'static str>>| -> Vec<usize> {
        let item = item(version(9, vec![update(9, "w")]), conflicts);
        let ranked = item.ranked_conflicts();
        assert!(ranked.iter().all(|&(place, version)| *version == item.conflicts[place]));
        ranked.into_iter().map(|(place, _)| place).collect()
    };
    let of = |updates, sequence, by: &str| version(updates, vec![update(sequence, by)]);
    assert!(ranked(vec![]).is_empty());
    assert_eq!(
        ranked(vec![of(1, 9, "z"), of(3, 1, "a"), of(3, 1, "b"), of(2, 1, "c")]),
        [2, 1, 3, 0]
    );
    assert_eq!(ranked(vec![of(3, 1, "a"), of(3, 2, "a")]), [1, 0]);
}

#[test]
fn formats_have_names_that_are_read_again() {
    let names = ["atom", "rss", "opml", "json", "pox"];
    assert_eq!(Format::ALL.map(Format::name), names);
    for (format, name) in Format::ALL.into_iter().zip(names) {
        assert_eq!(format.to_string(), name);
        assert_eq!(name.parse(), Ok(format));
    }
    assert_eq!("ATOM".parse::<Format>(), Err(UnknownFormat("ATOM".into())));
}

#[test]
fn f39_the_first_complete_feed_is_the_one_to_read_and_no_aggregated_one() {
    let related = |link: &str, kind| Related { link: link.into(), title: None, kind };
    let complete =
        |related| Sharing { related, ..Sharing::default() }.complete().map(str::to_owned);
    let (all, other) = (RelatedKind::Complete, RelatedKind::Aggregated);
    assert_eq!(complete(vec![related("http://a/", other)]), None);
    let several = vec![related("http://a/", other), related("http://b/", all), related("c", all)];
    assert_eq!(complete(several).as_deref(), Some("http://b/"));
}

#[test]
fn losses_of_either_way_are_told_in_different_words() {
    let version = VersionNumber::new(7).unwrap();
    let up = [
        UpgradeLoss::Flag,
        UpgradeLoss::Content { version },
        UpgradeLoss::Covered { version },
        UpgradeLoss::Surplus { updates: 3 },
    ];
    let down = [
        DowngradeLoss::Sequence,
        DowngradeLoss::Gap { updates: 3 },
        DowngradeLoss::Sideline { updates: 3 },
        DowngradeLoss::Order,
        DowngradeLoss::Noconflicts,
        DowngradeLoss::Conflict,
        DowngradeLoss::ConflictHistory,
        DowngradeLoss::ConflictDeleted,
        DowngradeLoss::Foreign,
    ];
    let mut texts: Vec<String> =
        up.iter().map(ToString::to_string).chain(down.iter().map(ToString::to_string)).collect();
    assert!(texts[1].contains("version 7") && texts[2].contains("version 7"), "{texts:?}");
    assert!(
        texts[3].contains('3') && texts[5].contains('3') && texts[6].contains('3'),
        "{texts:?}"
    );
    assert!(texts.iter().all(|text| !text.is_empty()));
    let count = texts.len();
    texts.sort();
    texts.dedup();
    assert_eq!(texts.len(), count);
    // Debug output is the readable text.
    assert_eq!(format!("{version:?} {:?}", Sequence::FIRST), "7 1");
    let date: feedsync_core::sse::Date = "Mon, 01 Nov 2004 09:43:33 GMT".parse().unwrap();
    assert_eq!(
        format!("{date:?} {:?}", date.timestamp()),
        "Mon, 01 Nov 2004 09:43:33 GMT 2004-11-01T09:43:33Z"
    );
}

#[test]
fn lines_that_have_one_update_are_told_by_their_names() {
    let in_file = "ann.file-0123456789abcdef01234567";
    for by in ["couch.3-ab", "import.ab", "reader.ab", "ann.x1.import-ab", in_file] {
        assert!(line::has_one_update(&By::new(by).unwrap()), "{by}");
    }
    // Endpoints may have names with dots: the last two are incarnations of `ann.file-x` and `ann.file-1`.
    for by in [
        "ann",
        "ann.x1",
        "ann.x1-2",
        "a.couch.3-ab",
        "ann.import.x",
        "couch",
        "readers.a",
        "ann.file-0123",
        "ann.file-x.0123456789ab",
        "ann.file-1.0123456789ab-1",
    ] {
        assert!(!line::has_one_update(&By::new(by).unwrap()), "{by}");
    }
}

#[test]
fn an_edit_in_a_file_has_a_line_of_its_own_that_no_endpoint_extends() {
    let ann = By::new("ann").unwrap();
    let (one, two) = ("0".repeat(64), format!("{}1{}", "0".repeat(23), "0".repeat(40)));
    let lines = [&one, &two].map(|digest| line::in_file(&ann, digest).unwrap());
    assert_eq!(lines[0].as_str(), format!("ann.file-{}", "0".repeat(24)));
    assert_ne!(lines[0], lines[1]);
    for line in &lines {
        // Neither the name alone nor an incarnation of an endpoint of that name has it.
        for incarnation in ["ann", "ann.0123456789ab", "ann.file"] {
            assert!(!line::belongs_to(line, &By::new(incarnation).unwrap()), "{incarnation}");
        }
    }
    assert_eq!(line::in_file(&By::new(&"a".repeat(1024)).unwrap(), &one), None);
}

#[test]
fn an_incoming_item_has_513_conflicts_at_most_and_those_that_are_covered_do_not_count() {
    let winner = || version(3, vec![update(600, "a")]);
    // The winner covers all of them.
    let covered = |count| (1..=count).map(|number| version(1, vec![update(number, "a")])).collect();
    let Incorporation::Added(added) = incorporate(None, None, item(winner(), covered(513))) else {
        panic!("it is not taken");
    };
    assert_eq!(added, item(winner(), vec![]));
    let refusal = Refusal::TooManyConflicts { conflicts: 514 };
    let refused = incorporate(None, None, item(winner(), covered(514)));
    assert_eq!(refused, Incorporation::Refused(refusal));
}

#[test]
fn an_incoming_item_has_as_many_updates_as_are_read_and_no_more() {
    let of = |count| item(version(1, lines("l", count)), vec![]);
    let taken = incorporate(None, None, of(MAX_READ_UPDATES));
    assert!(matches!(taken, Incorporation::Added(_)));
    let updates = MAX_READ_UPDATES + 1;
    let refused = incorporate(None, None, of(updates));
    assert_eq!(refused, Incorporation::Refused(Refusal::TooManyUpdates { updates }));
}

#[test]
fn histories_are_shortened_only_if_they_are_too_long_together() {
    let of =
        |most| item(version(2, lines("long", most - 100)), vec![version(1, lines("short", 100))]);
    let mut full = of(MAX_UPDATES);
    full.shorten_histories();
    assert_eq!(full, of(MAX_UPDATES));
    let mut longer = of(MAX_UPDATES + 1);
    longer.shorten_histories();
    let lengths: Vec<_> = longer.versions().map(|it| it.history.updates().len()).collect();
    assert_eq!(lengths, [MAX_UPDATES / 2, 100]);
}

#[test]
fn histories_of_as_many_versions_as_there_may_be_are_within_the_bound_together() {
    let conflicts = (0..MAX_CONFLICTS).map(|at| version(1, lines(&format!("c{at}"), 40)));
    let mut full = item(version(2, lines("w", 40)), conflicts.collect());
    full.shorten_histories();
    let length: usize = full.versions().map(|it| it.history.updates().len()).sum();
    assert_eq!(length, (MAX_CONFLICTS + 1) * (MAX_UPDATES / (MAX_CONFLICTS + 1)));
    assert!(length <= MAX_UPDATES);
}
