//! Conversion to FeedSync and back on the wire (U1 to U13, D1 to D7).

use feedsync_core::sse::{DowngradeLoss, UpgradeLoss};
use feedsync_core::{
    By, Creation, Format, Item, ItemId, Payload, Related, RelatedKind, Sharing, Stamp, Timestamp,
    Window,
};

use super::*;
use crate::FeedHead;
use crate::sse::{Dates, Exported, export};

fn stamp(by: &str) -> Stamp {
    Stamp::new(Timestamp::parse("2005-05-21T09:43:33Z").unwrap(), By::new(by).unwrap())
}

fn created(id: &str, format: Format, text: &str) -> Item<Payload> {
    let creation = Creation::default();
    Item::create(
        ItemId::new(id).unwrap(),
        creation,
        &stamp("A"),
        Payload::from_parsed(format, text),
    )
    .unwrap()
}

fn updated(item: &Item<Payload>, by: &str, text: &str) -> Item<Payload> {
    let mut item = item.clone();
    let payload = Payload::from_parsed(item.winner.payload.format(), text);
    let edit = feedsync_core::Edit { payload: Some(payload), deleted: None };
    item.update(&stamp(by), edit).unwrap();
    item
}

fn exported(format: Format, items: &[Item<Payload>]) -> Exported {
    let sharing = Sharing {
        window: Some(Window { since: "0".into(), until: "1".into() }),
        expires: None,
        related: vec![Related {
            link: "http://x.com/all.xml".into(),
            title: None,
            kind: RelatedKind::Complete,
        }],
    };
    let head = FeedHead {
        id: "urn:x:feed",
        title: "T & T",
        updated: Timestamp::parse("2005-05-21T09:43:33Z").unwrap(),
        author: "A",
        details: None,
        self_link: None,
        next: None,
        links: &[],
        complete: false,
        sharing: Some(&sharing),
    };
    export(format, &head, &Dates::default(), items)
}

fn back(text: &str) -> Vec<Item<Payload>> {
    let document = read(text);
    assert!(document.diagnostics().is_empty() && document.refused().is_empty());
    document
        .upgraded()
        .map(|upgraded| {
            let upgraded = upgraded.unwrap();
            assert_eq!(upgraded.losses, []);
            upgraded.item
        })
        .collect()
}

#[test]
fn items_that_fit_come_back_as_they_were() {
    let rss = created("a", Format::Rss, "<item><title>milk</title>\n</item>");
    let mut other = created("a", Format::Rss, "<item/>");
    let dot = rss.winner.dot();
    let by = By::new("B").ok();
    let update = feedsync_core::Update::new(dot.sequence(), dot.when(), by).unwrap();
    other.winner.history = feedsync_core::History::new(update);
    let conflict = feedsync_core::merge(Some(rss.clone()), other).unwrap().0;
    assert_eq!(conflict.conflicts.len(), 1);
    let mut gone = created("g", Format::Rss, "<item><title>gone</title></item>");
    gone.update(&stamp("A"), feedsync_core::Edit::delete()).unwrap();
    let items = [conflict, gone, updated(&rss, "Z", "<item><title>2</title></item>")];
    for items in [&items[..2], &items[2..]] {
        let Exported { text, losses } = exported(Format::Rss, items);
        assert_eq!(losses, []);
        assert_eq!(back(&text), items, "{text}");
    }
}

#[test]
fn items_of_other_formats_are_projected_and_restored() {
    let entry = "<entry xmlns=\"http://www.w3.org/2005/Atom\"><id>urn:x:1</id><title>milk</title>\
        <updated>2005-05-21T09:43:33Z</updated></entry>";
    let items =
        [created("a", Format::Atom, entry), created("b", Format::Json, "{\"title\":\"x\"}")];
    for format in [Format::Rss, Format::Opml] {
        let Exported { text, losses } = exported(format, &items);
        assert_eq!(losses, []);
        assert_eq!(read(&text).format(), format);
        assert_eq!(back(&text), items, "{text}");
    }
}

#[test]
fn outlines_keep_their_place_on_the_way() {
    let outline = |id: &str, parent: &str, position: u8| {
        let parent =
            if parent.is_empty() { String::new() } else { format!(" fs:parent=\"{parent}\"") };
        let text = format!(
            "<outline xmlns:fs=\"urn:feedsync:1\"{parent} fs:position=\"{position}\" text=\"{id}\"/>"
        );
        created(id, Format::Opml, &text)
    };
    let items = [outline("child", "p", 3), outline("p", "", 1), outline("q", "", 0)];
    let Exported { text, losses } = exported(Format::Opml, &items);
    assert_eq!(losses, []);
    let document = read(&text);
    let ids: Vec<_> = document.items().map(|item| item.id.as_str()).collect();
    assert_eq!(ids, ["q", "p", "child"], "{text}");
    let mut items_back = back(&text);
    items_back.sort_by(|a, b| a.id.cmp(&b.id));
    assert_eq!(items_back, items);
}

#[test]
fn an_outline_of_others_gets_its_observed_place() {
    let text = opml(&format!(
        "<outline text='a'>{}<outline text='b'>{}</outline></outline>",
        sync("a", &["X"], ""),
        sync("b", &["X"], "")
    ));
    let texts: Vec<_> =
        back(&text).into_iter().map(|item| item.winner.payload.shared_text()).collect();
    assert_eq!(
        texts.iter().map(|text| &**text).collect::<Vec<_>>(),
        [
            "<outline xmlns:fs=\"urn:feedsync:1\" fs:position=\"0\" text='a'/>",
            "<outline xmlns:fs=\"urn:feedsync:1\" fs:parent=\"a\" fs:position=\"0\" text='b'/>",
        ]
    );
}

#[test]
fn a_hundred_levels_of_outlines_come_back() {
    let outline = |n: u32| {
        let parent = if n == 0 { String::new() } else { format!(" fs:parent=\"i{:03}\"", n - 1) };
        let text =
            format!("<outline xmlns:fs=\"urn:feedsync:1\"{parent} fs:position=\"0\" text=\"x\"/>");
        created(&format!("i{n:03}"), Format::Opml, &text)
    };
    let items: Vec<_> = (0..300).map(outline).collect();
    let mut items_back = back(&exported(Format::Opml, &items).text);
    items_back.sort_by(|a, b| a.id.cmp(&b.id));
    assert_eq!(items_back, items);
}

#[test]
fn losses_are_reported_for_each_item() {
    let mut marked = created("a", Format::Rss, "<item/>");
    marked.winner.noconflicts = Some(true);
    let mut foreign = created("b", Format::Rss, "<item/>");
    foreign.winner.payload =
        foreign.winner.payload.clone().with_sync_foreign(Some("<sync x=\"1\"/>"));
    let Exported { losses, .. } = exported(Format::Rss, &[marked, foreign]);
    let [(a, of_a), (b, of_b)] = &losses[..] else { panic!("{losses:?}") };
    assert_eq!((a.as_str(), &of_a[..]), ("a", &[DowngradeLoss::Noconflicts][..]));
    assert_eq!((b.as_str(), &of_b[..]), ("b", &[DowngradeLoss::Foreign][..]));
}

#[test]
fn the_window_is_left_out_and_related_feeds_are_written() {
    let items = [created("a", Format::Rss, "<item><title>A</title></item>")];
    for format in [Format::Rss, Format::Opml] {
        for items in [&[], &items[..]] {
            let text = exported(format, items).text;
            let document = read(&text);
            assert_eq!(document.items().count(), items.len());
            assert!(document.diagnostics().is_empty(), "{text}");
            let sharing = document.sharing().unwrap();
            let window = (&sharing.since, &sharing.until, sharing.window);
            assert_eq!((window, sharing.version.as_str()), ((&None, &None, None), "0.91"));
            // Bounds that are no dates would be read as absent, so the text is searched for them as well.
            assert!(!text.contains(" since=") && !text.contains(" until="), "{text}");
            assert_eq!(sharing.complete(), Some("http://x.com/all.xml"));
            assert_eq!(document.title(), Some("T & T"));
            assert!(!text.contains("feedsync.org"), "namespaces are never mixed (U13)");
        }
    }
}

#[test]
fn losses_and_refusals_of_an_upgrade_name_the_item() {
    let flagged = format!("<item>{}</item>", sync("a", &["X"], " conflict=\"true\""));
    let high = item("b", "B", &["X"]).replace("version=\"1\"", "version=\"2147483648\"");
    let document = read(&rss(&format!("{flagged}{high}")));
    let results: Vec<_> = document.upgraded().collect();
    assert_eq!(results[0].as_ref().unwrap().losses, [UpgradeLoss::Flag]);
    assert_eq!(results[1].as_ref().unwrap_err().0.as_str(), "b");
    let record = "<sx:conflicts><sx:conflict version='1' by='Q'/></sx:conflicts></sx:sync>";
    let text = rss(&item("a", "A", &["X"]).replace("</sx:sync>", record));
    let upgraded = read(&text).upgraded().next().unwrap().unwrap();
    assert_eq!(upgraded.item.conflicts[0].payload.text(), "<item><title/></item>");
}
