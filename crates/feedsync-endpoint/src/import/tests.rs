use std::sync::atomic::{AtomicU64, Ordering};

use feedsync_core::{Format, Resolution, Resolved};
use feedsync_store::{
    CollectionName, EndpointName, Environment, ItemStore as _, MemoryStore, Moment, NewCollection,
};

use super::*;
use crate::incorporate::Source;

/// A clock that advances a second with each reading, and random numbers that differ by endpoint.
struct Counting(AtomicU64);

impl Environment for Counting {
    fn now(&self) -> Moment {
        let tick = self.0.fetch_add(1, Ordering::Relaxed);
        Moment::from_micros(1_700_000_000_000_000 + (tick & 0xffff_ffff) * 1_000_000)
    }

    fn random(&self) -> u64 {
        self.0.fetch_add(1, Ordering::Relaxed).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }
}

struct Desk {
    endpoint: Endpoint,
    notes: CollectionName,
}

impl Desk {
    async fn new(name: &str, seed: u64) -> Self {
        let environment: Arc<dyn Environment> = Arc::new(Counting(AtomicU64::new(seed << 40)));
        let name = EndpointName::new(name).unwrap();
        let store = Arc::new(MemoryStore::new(&name, Arc::clone(&environment)));
        let notes = CollectionName::new("notes").unwrap();
        let new = NewCollection {
            name: notes.clone(),
            title: "Notes".to_owned(),
            format: Format::Atom,
            settings: Default::default(),
        };
        store.create_collection(new).await.unwrap();
        Self { endpoint: Endpoint::new(store, environment), notes }
    }

    async fn import(&self, entries: &[PlainItem]) -> Imported {
        self.endpoint.import(&self.notes, entries.to_vec(), false).await.unwrap()
    }

    async fn mirror(&self, entries: &[PlainItem]) -> Imported {
        self.endpoint.import(&self.notes, entries.to_vec(), true).await.unwrap()
    }

    async fn item(&self) -> Item<Payload> {
        self.endpoint.item(&self.notes, &id("a")).await.unwrap().item
    }

    async fn edit(&self, edit: Edit<Payload>) {
        self.endpoint.edit(&self.notes, &id("a"), None, edit).await.unwrap();
    }

    async fn hears(&self, other: &Desk) {
        let items = vec![other.item().await];
        self.endpoint.incorporate(&self.notes, Source::Offered, items, None).await.unwrap();
    }
}

fn id(text: &str) -> ItemId {
    ItemId::new(text).unwrap()
}

fn payload(text: &str) -> Payload {
    Payload::from_parsed(Format::Atom, text)
}

fn entry(name: &str, text: &str) -> PlainItem {
    let when = Some(Timestamp::parse("2005-05-21T11:43:33Z").unwrap());
    PlainItem { id: id(name), payload: payload(text), when }
}

#[tokio::test]
async fn entry_above_the_maximum_size_is_not_imported() {
    let desk = Desk::new("desk", 1).await;
    let large = "x".repeat((16 << 20) + 1);
    let counts = desk.import(&[entry("a", &large)]).await.counts;
    assert_eq!(counts, Counts { refused: 1, ..Counts::default() });
    assert!(desk.endpoint.item(&desk.notes, &id("a")).await.is_err());
    desk.import(&[entry("a", "one")]).await;
    let before = desk.item().await;
    let counts = desk.import(&[entry("a", &large)]).await.counts;
    assert_eq!(counts, Counts { refused: 1, ..Counts::default() });
    assert_eq!(desk.item().await, before);
}

#[tokio::test]
async fn two_importers_of_one_entry_agree() {
    let (desk, phone) = (Desk::new("desk", 1).await, Desk::new("phone", 2).await);
    let counts = desk.import(&[entry("a", "one")]).await.counts;
    assert_eq!(counts, Counts { added: 1, ..Counts::default() });
    phone.import(&[entry("a", "one")]).await;
    assert_eq!(desk.item().await, phone.item().await);
    let first = desk.item().await.winner;
    assert_eq!((first.updates.get(), first.history.updates().len()), (1, 1));
    assert_eq!(first.dot().when().unwrap().to_string(), "2005-05-21T11:43:33Z");
    assert!(first.dot().by().unwrap().as_str().starts_with("import."));
}

#[tokio::test]
async fn two_importers_of_different_texts_have_a_conflict() {
    let (desk, phone) = (Desk::new("desk", 1).await, Desk::new("phone", 2).await);
    desk.import(&[entry("a", "one")]).await;
    phone.import(&[entry("a", "two")]).await;
    desk.hears(&phone).await;
    phone.hears(&desk).await;
    assert_eq!(desk.item().await, phone.item().await);
    assert_eq!(desk.item().await.conflicts.len(), 1);
}

#[tokio::test]
async fn importing_again_updates_only_what_changed_in_the_feed() {
    let desk = Desk::new("desk", 1).await;
    desk.import(&[entry("a", "one"), entry("b", "one")]).await;
    let counts = desk.import(&[entry("a", "two"), entry("b", "one")]).await.counts;
    assert_eq!(counts, Counts { updated: 1, unchanged: 1, ..Counts::default() });
    let item = desk.item().await;
    assert_eq!((item.winner.payload, item.winner.updates.get()), (payload("two"), 2));
    // A return to the first content is an update like any other.
    assert_eq!(desk.import(&[entry("a", "one")]).await.counts.updated, 1);
    assert_eq!(desk.import(&[entry("a", "one")]).await.counts.unchanged, 1);
    assert_eq!(desk.item().await.winner.payload, payload("one"));
}

#[tokio::test]
async fn local_edit_stays_until_the_feed_changes_and_is_then_kept_as_conflict() {
    let desk = Desk::new("desk", 1).await;
    desk.import(&[entry("a", "one")]).await;
    desk.edit(payload("mine").into()).await;
    assert_eq!(desk.import(&[entry("a", "one")]).await.counts.unchanged, 1);
    assert_eq!(desk.item().await.winner.payload, payload("mine"));

    assert_eq!(desk.import(&[entry("a", "two")]).await.counts.conflict, 1);
    let texts = |item: Item<Payload>| {
        let mut texts: Vec<_> =
            item.versions().map(|version| version.payload.text().to_string()).collect();
        texts.sort();
        texts
    };
    assert_eq!(texts(desk.item().await), ["mine", "two"]);
    // The next change replaces only the imported version.
    assert_eq!(desk.import(&[entry("a", "three")]).await.counts.conflict, 1);
    assert_eq!(texts(desk.item().await), ["mine", "three"]);
    assert_eq!(desk.import(&[entry("a", "three")]).await.counts.unchanged, 1);

    let seen = desk.item().await;
    let keep = feedsync_core::Keep::Content { payload: payload("both"), deleted: None };
    let resolution = Resolution { resolved: Resolved::All, keep };
    desk.endpoint.resolve(&desk.notes, &seen, resolution).await.unwrap();
    assert_eq!(desk.import(&[entry("a", "three")]).await.counts.unchanged, 1);
    assert_eq!(texts(desk.item().await), ["both"]);
}

#[tokio::test]
async fn entries_that_another_endpoint_imported_are_not_imported_again() {
    let (desk, phone) = (Desk::new("desk", 1).await, Desk::new("phone", 2).await);
    desk.import(&[entry("a", "one")]).await;
    phone.import(&[entry("a", "one")]).await;
    desk.import(&[entry("a", "two")]).await;
    phone.hears(&desk).await;
    assert_eq!(phone.import(&[entry("a", "two")]).await.counts.unchanged, 1);
    assert_eq!(phone.item().await, desk.item().await);
}

#[tokio::test]
async fn two_copies_of_a_store_that_import_the_same_change_share_no_line() {
    let (desk, copy) = (Desk::new("desk", 1).await, Desk::new("desk", 2).await);
    for store in [&desk, &copy] {
        store.import(&[entry("a", "one")]).await;
        store.import(&[entry("a", "two")]).await;
    }
    let (one, two) = (desk.item().await.winner, copy.item().await.winner);
    assert_ne!(one.dot().by(), two.dot().by());
}

#[tokio::test]
async fn import_deletes_items_only_when_mirroring() {
    let desk = Desk::new("desk", 1).await;
    desk.endpoint.add(&desk.notes, id("own"), Creation::default(), payload("own")).await.unwrap();
    desk.import(&[entry("a", "one"), entry("b", "one")]).await;
    assert_eq!(desk.import(&[entry("b", "one")]).await.deleted, 0);
    assert!(!desk.item().await.winner.deleted);
    assert_eq!(desk.mirror(&[entry("b", "one")]).await.deleted, 1);
    assert!(desk.item().await.winner.deleted);
    assert_eq!(desk.mirror(&[entry("b", "one")]).await.deleted, 0);
    let own = desk.endpoint.item(&desk.notes, &id("own")).await.unwrap();
    assert!(!own.item.winner.deleted);
    // When the entry comes back, so does its item.
    assert_eq!(desk.mirror(&[entry("a", "one"), entry("b", "one")]).await.counts.updated, 1);
    assert!(!desk.item().await.winner.deleted);
}

#[tokio::test]
async fn mirroring_keeps_an_edit_beside_the_deletion() {
    let desk = Desk::new("desk", 1).await;
    desk.import(&[entry("a", "one")]).await;
    desk.edit(payload("mine").into()).await;
    assert_eq!(desk.mirror(&[]).await.deleted, 1);
    let item = desk.item().await;
    assert!(item.versions().any(|version| !version.deleted && version.payload == payload("mine")));
}

#[tokio::test]
async fn item_deleted_by_a_person_stays_deleted() {
    let desk = Desk::new("desk", 1).await;
    desk.import(&[entry("a", "one")]).await;
    desk.edit(Edit::delete()).await;
    assert_eq!(desk.import(&[entry("a", "two")]).await.counts.unchanged, 1);
    assert!(desk.item().await.winner.deleted);
}

#[tokio::test]
async fn an_item_of_our_own_with_the_same_id_is_not_overwritten() {
    let desk = Desk::new("desk", 1).await;
    desk.endpoint.add(&desk.notes, id("a"), Creation::default(), payload("own")).await.unwrap();
    assert_eq!(desk.import(&[entry("a", "one")]).await.counts.conflict, 1);
    assert_eq!(desk.item().await.conflicts.len(), 1);
}

#[tokio::test]
async fn entries_that_share_an_id_count_once() {
    let desk = Desk::new("desk", 1).await;
    let mut entries: Vec<_> =
        (0..1_200).map(|number| entry(&format!("n{}", number % 1_100), "one")).collect();
    entries.push(entry("n7", "two"));
    let imported = desk.import(&entries).await;
    assert_eq!((imported.counts.added, imported.repeated), (1_100, 100));
    assert_eq!(imported.left_out, [id("n7")]);
}

#[test]
fn entries_without_identifying_fields_are_told_apart_by_content() {
    let rss = |inside: &str| Payload::from_parsed(Format::Rss, format!("<item>{inside}</item>"));
    let ids = |inside: &[&str]| -> Vec<ItemId> {
        let items = PlainItem::of_feed(inside.iter().map(|inside| rss(inside)));
        items.into_iter().map(|item| item.id).collect()
    };
    let bare = ids(&["<description>first</description>", "<description>second</description>"]);
    assert_ne!(bare[0], bare[1]);
    // The result is the same alone, in another order, and among other entries.
    assert_eq!(PlainItem::new(rss("<description>second</description>")).id, bare[1]);
    let again = ids(&["<title>t</title>", "<description>second</description>"]);
    assert_eq!(again[1], bare[1]);
    let same = ids(&["<title>t</title>a", "<title>t</title>b", "<title>t</title>a"]);
    assert!(same[0] != same[1] && same[0] == same[2], "{same:?}");
    let long = |tail: &str| format!("<guid>{}{tail}</guid>", "x".repeat(2_000));
    let long = ids(&[&long("a"), &long("b")]);
    assert_ne!(long[0], long[1]);
}

proptest::proptest! {
    #![proptest_config(proptest::test_runner::Config::with_cases(64))]

    /// The imported items are the entries, less the counted duplicates and those that are listed as left out.
    #[test]
    fn import_loses_no_entry_without_saying_so(
        feed in proptest::collection::vec((0..3_u8, 0..3_u8, 0..4_u8), 0..24)
    ) {
        let field = |name: &str, value: u8| match value {
            0 => String::new(),
            value => format!("<{name}>{value}</{name}>"),
        };
        let payloads = feed.iter().map(|(guid, title, text)| {
            let (guid, title) = (field("guid", *guid), field("title", *title));
            Payload::from_parsed(Format::Rss, format!("<item>{guid}{title}<description>{text}</description></item>"))
        });
        let entries = PlainItem::of_feed(payloads);
        let different: BTreeSet<_> = feed.iter().collect();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let imported = runtime.block_on(async {
            Desk::new("desk", 1).await.import(&entries).await
        });
        let (added, left_out) = (imported.counts.added, imported.left_out.len() as u64);
        proptest::prop_assert_eq!(added + imported.repeated + left_out, feed.len() as u64);
        // Only entries that share a guid of their own are left out.
        let no_guid = different.iter().filter(|(guid, ..)| *guid == 0).count() as u64;
        let guids: BTreeSet<_> = feed.iter().map(|(guid, ..)| guid).filter(|guid| **guid > 0).collect();
        proptest::prop_assert_eq!(added, no_guid + guids.len() as u64);
    }
}

#[test]
fn an_entry_is_named_by_its_own_id_or_by_link_and_title() {
    let named = |format, text: &str| PlainItem::new(Payload::from_parsed(format, text));
    let atom = "<entry xmlns=\"http://www.w3.org/2005/Atom\"><id>tag:x,2005:/a b</id>\
                <title>t</title><updated>2005-05-21T11:43:33Z</updated></entry>";
    let item = named(Format::Atom, atom);
    assert_eq!(item.id.as_str(), "tag:x,2005:%2Fa%20b");
    assert_eq!(item.when.unwrap().to_string(), "2005-05-21T11:43:33Z");

    let rss = |inside: &str| named(Format::Rss, &format!("<item>{inside}</item>")).id;
    assert_eq!(rss("<guid>g</guid><title>t</title>").as_str(), "g");
    let hashed = rss("<link>http://example.org/</link><title>t</title>");
    assert!(hashed.as_str().starts_with('h') && hashed.as_str().len() == 33, "{hashed}");
    assert_eq!(hashed, rss("<title>t</title><link>http://example.org/</link>x"));
    assert_ne!(hashed, rss("<title>u</title><link>http://example.org/</link>"));
    let long = "x".repeat(2_000);
    assert!(rss(&format!("<guid>{long}</guid>")).as_str().len() == 33);
}

#[test]
fn only_lines_of_imports_are_taken_for_imports() {
    let hash = "0123456789abcdef0123456789abcdef";
    let mark = |text: &str| import_mark(&By::new(text).unwrap()).map(str::to_owned);
    assert_eq!(mark(&format!("import.{hash}")).as_deref(), Some(hash));
    assert_eq!(mark(&format!("a.b-c.import-{hash}-0x1")).as_deref(), Some(hash));
    assert_eq!(mark("desk.import-gone-xyz").as_deref(), Some(GONE));
    for other in ["desk.0123456789ab", "import.x", "desk.import-x-y", "desk.import-gone"] {
        assert_eq!(mark(other), None, "{other}");
    }
}
