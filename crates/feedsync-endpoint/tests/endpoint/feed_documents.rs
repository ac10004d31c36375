//! Edits of the feed in a document.

use feedsync_core::{
    Base, By, Creation, Edit, Format, Item, ItemId, Keep, Payload, Resolution, Resolved,
};
use feedsync_endpoint::{EditFailure, FeedDocument, FileAuthor, FileEditError};
use feedsync_formats::{Entry, FeedHead, FeedWriter, MoveError, compose, entry};
use feedsync_store::EndpointName;

fn author(name: &str, seconds: i64) -> FileAuthor {
    let now = feedsync_core::Timestamp::from_unix_seconds(seconds).unwrap();
    FileAuthor { name: EndpointName::new(name).unwrap(), now }
}

fn id(text: &str) -> ItemId {
    ItemId::new(text).unwrap()
}

fn titled(format: Format, title: &str) -> Payload {
    compose(format, &Entry { title: Some(title.to_owned()), ..Entry::default() })
}

fn title(item: &Item<Payload>) -> String {
    entry(&item.winner.payload).title.unwrap_or_default()
}

/// A feed with the items `a` and `b`.
fn notes(format: Format) -> FeedDocument {
    let ann = author("ann", 0);
    let mut feed = FeedDocument::empty(format, "urn:x:feed", "Notes", &ann).unwrap();
    for name in ["a", "b"] {
        feed.add(&ann, id(name), Creation::default(), titled(format, name)).unwrap();
    }
    FeedDocument::read(&feed.to_bytes()).unwrap()
}

fn edit(feed: &mut FeedDocument, by: &FileAuthor, name: &str, title: &str) -> Item<Payload> {
    let payload = titled(feed.format(), title);
    feed.edit(by, &id(name), None, payload.into()).unwrap().clone()
}

#[test]
fn an_edit_of_a_file_follows_the_steps_of_3_2_on_a_line_of_its_own() {
    for format in Format::ALL {
        let mut feed = notes(format);
        assert_eq!(feed.format(), format);
        edit(&mut feed, &author("ann", 1), "a", "c");
        let item = edit(&mut feed, &author("ann", 2), "a", "d");
        let winner = &item.winner;
        assert_eq!((winner.updates.get(), title(&item)), (3, "d".to_owned()));
        let updates = winner.history.updates();
        assert_eq!(updates.iter().map(|it| it.sequence().get()).collect::<Vec<_>>(), [3, 2, 1]);
        assert_eq!(winner.dot().when().unwrap().to_string(), "1970-01-01T00:00:02Z");
        let lines: Vec<_> = updates.iter().map(|it| it.by().unwrap().as_str()).collect();
        assert!(lines.iter().all(|line| line.starts_with("ann.file-")), "{lines:?}");
        assert!(lines[0] != lines[1] && lines[1] != lines[2], "{lines:?}");
        let read = FeedDocument::read(&feed.to_bytes()).unwrap();
        assert_eq!(read.item(&id("a")), Some(&item), "{format}");
        assert_eq!(read.items().len(), 2);
    }
}

#[test]
fn one_edit_that_is_made_in_two_copies_is_one_version() {
    let (mut one, mut two) = (notes(Format::Atom), notes(Format::Atom));
    assert_eq!(one.item(&id("a")), two.item(&id("a")), "also of the creation");
    let left = edit(&mut one, &author("ann", 1), "a", "c");
    assert_eq!(left, edit(&mut two, &author("ann", 1), "a", "c"));
    for (by, title) in [(author("ann", 1), "d"), (author("ann", 2), "c"), (author("bob", 1), "c")] {
        let mut other = notes(Format::Atom);
        let right = edit(&mut other, &by, "a", title);
        assert_ne!(left.winner.dot().by(), right.winner.dot().by(), "{by:?}");
        other.merge(one.items().to_vec());
        assert_eq!(other.item(&id("a")).unwrap().conflicts.len(), 1);
    }
}

#[test]
fn different_edits_have_different_lines() {
    let line = |change: &dyn Fn(&mut FeedDocument) -> Item<Payload>| -> By {
        change(&mut notes(Format::Json)).winner.dot().by().unwrap().clone()
    };
    let ann = author("ann", 1);
    let a = id("a");
    let lines = [
        line(&|feed| feed.edit(&ann, &a, None, Edit::delete()).unwrap().clone()),
        line(&|feed| {
            let payload = Some(titled(Format::Json, "a"));
            feed.edit(&ann, &a, None, Edit { payload, deleted: None }).unwrap().clone()
        }),
        line(&|feed| feed.edit(&ann, &id("b"), None, Edit::delete()).unwrap().clone()),
        line(&|feed| feed.delete_truncated(&ann, &a).unwrap().clone()),
        line(&|feed| {
            edit(feed, &ann, "a", "c");
            feed.edit(&ann, &a, None, Edit::delete()).unwrap().clone()
        }),
        line(&|feed| {
            let creation = Creation { noconflicts: None, deleted: true };
            feed.add(&ann, id("c"), creation, titled(Format::Json, "a")).unwrap().clone()
        }),
        line(&|feed| {
            let creation = Creation { noconflicts: Some(true), deleted: true };
            feed.add(&ann, id("c"), creation, titled(Format::Json, "a")).unwrap().clone()
        }),
    ];
    for (index, one) in lines.iter().enumerate() {
        assert!(!lines[..index].contains(one), "{index}");
    }
}

#[test]
fn an_edit_of_what_changed_meanwhile_is_kept_beside_it() {
    let mut feed = notes(Format::Rss);
    let base = Base::from(&feed.item(&id("a")).unwrap().winner);
    edit(&mut feed, &author("bob", 5), "a", "theirs");
    let mine = Edit::from(titled(Format::Rss, "mine"));
    let item = feed.edit(&author("ann", 6), &id("a"), Some(base.clone()), mine.clone()).unwrap();
    let titles: Vec<_> = item.versions().map(|it| entry(&it.payload).title.unwrap()).collect();
    assert_eq!(titles, ["mine", "theirs"]);
    let again = feed.edit(&author("ann", 6), &id("a"), Some(base), mine);
    assert!(matches!(again, Err(FileEditError::Edit(EditFailure::Nothing(_)))), "{again:?}");
}

#[test]
fn a_resolution_covers_what_it_weighed_and_only_of_the_item_that_was_seen() {
    let (mut one, mut two) = (notes(Format::Opml), notes(Format::Opml));
    edit(&mut one, &author("ann", 1), "a", "mine");
    edit(&mut two, &author("bob", 2), "a", "theirs");
    one.merge(two.items().to_vec());
    let seen = one.item(&id("a")).unwrap().clone();
    let resolution = |keep| Resolution { resolved: Resolved::All, keep };
    let ann = author("ann", 3);
    let truncated = one.delete_truncated(&ann, &id("a"));
    assert!(matches!(truncated, Err(FileEditError::Edit(EditFailure::Nothing(_)))));
    let resolved = one.resolve(&ann, &seen, resolution(Keep::Conflict(0))).unwrap().clone();
    assert_eq!((resolved.conflicts.len(), title(&resolved).as_str()), (0, "mine"));
    assert!(seen.versions().all(|version| resolved.covers(version.dot())));
    two.merge(one.items().to_vec());
    assert_eq!(two.item(&id("a")), Some(&resolved));
    let stale = one.resolve(&ann, &seen, resolution(Keep::Winner));
    assert!(matches!(stale, Err(FileEditError::Edit(EditFailure::Nothing(_)))), "{stale:?}");
    let settled = one.resolve(&ann, &resolved, resolution(Keep::Winner));
    assert!(matches!(settled, Err(FileEditError::Edit(EditFailure::Nothing(_)))), "{settled:?}");
}

/// A document of another program: a window, an item that is not shared, an invalid one, and comments.
const OTHERS: &str = "<?xml version='1.0'?>\n<rss version='2.0' xmlns:s='http://feedsync.org/2007/feedsync'>\n\
    <channel><title>t</title><s:sharing since='1' until='7' expires='2030-01-01T00:00:00Z'>\
    <s:related link='http://example.com/all' type='complete'/></s:sharing><!-- kept -->\n\
    <item><title>one</title><s:sync id='one' updates='1'><s:history sequence='1' by='x'/></s:sync></item>\n\
    <item><title>plain</title></item>\n\
    <item><title>bad</title><s:sync id='bad' updates='0'><s:history sequence='1' by='x'/></s:sync></item>\n\
    <item><title>two</title><s:sync id='two' updates='1'><s:history sequence='1' by='x'/></s:sync></item>\n\
    </channel></rss>\n";

#[test]
fn everything_but_the_edited_item_and_the_window_keeps_its_bytes() {
    let mut feed = FeedDocument::read(OTHERS.as_bytes()).unwrap();
    assert_eq!(feed.to_bytes(), OTHERS.as_bytes());
    assert_eq!((feed.items().len(), feed.plain_items(), feed.refused().len()), (2, 1, 1));
    feed.edit(&author("ann", 0), &id("one"), None, Edit::delete()).unwrap();
    let text = String::from_utf8(feed.to_bytes()).unwrap();
    let (item, rest) =
        (OTHERS.find("<item>").unwrap(), OTHERS.find("\n<item><title>plain").unwrap());
    let head = OTHERS[..item].replace(" since='1' until='7'", "");
    assert!(text.starts_with(&head), "{text}");
    assert!(text.ends_with(&OTHERS[rest..]), "{text}");
    assert!(FeedDocument::read(text.as_bytes()).unwrap().item(&id("one")).unwrap().winner.deleted);
}

#[test]
fn an_id_that_is_taken_is_refused_even_if_its_item_cannot_be_read() {
    let mut feed = FeedDocument::read(OTHERS.as_bytes()).unwrap();
    for name in ["one", "bad"] {
        let payload = titled(Format::Rss, "x");
        let added = feed.add(&author("ann", 0), id(name), Creation::default(), payload);
        assert_eq!(added.err(), Some(FileEditError::ItemExists(id(name))));
    }
    let missing = feed.edit(&author("ann", 0), &id("none"), None, Edit::delete());
    assert_eq!(missing.err(), Some(FileEditError::NoItem(id("none"))));
    assert_eq!(feed.to_bytes(), OTHERS.as_bytes());
}

#[test]
fn a_feed_without_any_sync_information_is_plain() {
    let is_plain = |text: &str| FeedDocument::read(text.as_bytes()).unwrap().is_plain();
    let rss = |inside: &str| {
        format!(
            "<rss version='2.0' xmlns:s='http://feedsync.org/2007/feedsync'><channel>{inside}</channel></rss>"
        )
    };
    assert!(is_plain(&rss("<item><title>a</title></item>")));
    assert!(!is_plain(&rss("")), "a feed that is empty may begin to take part");
    assert!(!is_plain(&rss("<s:sharing/><item><title>a</title></item>")));
    assert!(!is_plain(OTHERS));
}

#[test]
fn outlines_of_a_file_move_and_new_ones_come_last() {
    let ann = author("ann", 9);
    let mut feed = notes(Format::Opml);
    let moved = feed.move_outline(&ann, &id("b"), Some(&id("a"))).unwrap().clone();
    assert_eq!(moved.winner.updates.get(), 2);
    let text = String::from_utf8(feed.to_bytes()).unwrap();
    assert!(text.contains("fs:parent=\"a\""), "{text}");
    assert_eq!(text.matches("</outline></outline>").count(), 1, "{text}");
    let mut read = FeedDocument::read(text.as_bytes()).unwrap();
    assert_eq!(read.item(&id("b")), Some(&moved));
    let refused = read.move_outline(&ann, &id("a"), Some(&id("b"))).unwrap_err();
    let descendant = MoveError::Descendant { id: id("a"), parent: id("b") };
    assert_eq!(refused, FileEditError::Edit(EditFailure::Move(descendant)));
    let again = read.move_outline(&ann, &id("b"), None).unwrap();
    assert_eq!(again.winner.updates.get(), 3);
    let text = String::from_utf8(read.to_bytes()).unwrap();
    assert_eq!(text.matches("</outline></outline>").count(), 0, "{text}");
}

/// A document of another program that does not state the positions of its outlines.
#[test]
fn a_new_outline_reads_back_as_it_was_written_in_documents_of_others() {
    let text = "<opml version='2.0' xmlns:s='http://feedsync.org/2007/feedsync'><head/><body>\
        <outline text='x'/><outline text='one'><s:sync id='one' updates='1'>\
        <s:history sequence='1' by='x'/></s:sync></outline></body></opml>";
    let mut feed = FeedDocument::read(text.as_bytes()).unwrap();
    let payload = titled(Format::Opml, "new");
    let added =
        feed.add(&author("ann", 0), id("new"), Creation::default(), payload).unwrap().clone();
    assert_eq!(FeedDocument::read(&feed.to_bytes()).unwrap().item(&id("new")), Some(&added));
}

/// Duplicate ids are forbidden (2.4). Both items are merged, and the next edit removes the duplicate.
#[test]
fn an_id_that_occurs_twice_is_one_item() {
    let head = FeedHead {
        id: "urn:x:feed",
        title: "Notes",
        updated: "2005-05-21T11:43:33Z".parse().unwrap(),
        author: "x",
        details: None,
        self_link: None,
        next: None,
        links: &[],
        complete: false,
        sharing: None,
    };
    let (mut one, mut two) = (notes(Format::Atom), notes(Format::Atom));
    let left = edit(&mut one, &author("ann", 1), "a", "mine");
    let right = edit(&mut two, &author("bob", 2), "a", "theirs");
    let (mut writer, mut text) = (FeedWriter::new(Format::Atom), String::new());
    writer.begin(&mut text, &head);
    writer.item(&mut text, &left);
    writer.item(&mut text, &right);
    writer.end(&mut text);
    let mut feed = FeedDocument::read(text.as_bytes()).unwrap();
    assert_eq!(feed.items().len(), 1);
    assert_eq!(feed.items()[0].conflicts.len(), 1);
    edit(&mut feed, &author("ann", 3), "a", "settled");
    let read = FeedDocument::read(&feed.to_bytes()).unwrap();
    assert_eq!((read.items().len(), read.items()[0].conflicts.len()), (1, 1));
}
