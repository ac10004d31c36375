//! Identification of articles over several documents of a feed (LR7).

use feedsync_core::Timestamp;
use feedsync_formats::{Entry, Link, entry};
use feedsync_reading_state::{ArticleId, IdentificationState, MAX_REMEMBERED_ARTICLES, identify};
use feedsync_test::corpora::{corpora, fixtures};
use proptest::prelude::*;

/// The values of an entry; an empty text is absent. The time of publication is a number.
#[derive(Debug, Clone, Default, PartialEq)]
struct Said {
    guid: String,
    link: String,
    title: String,
    content: String,
    published: i64,
}

fn said(guid: &str, link: &str, title: &str, content: &str, published: i64) -> Said {
    let [guid, link, title, content] = [guid, link, title, content].map(str::to_owned);
    Said { guid, link, title, content, published }
}

impl Said {
    fn entry(&self) -> Entry {
        let text = |text: &String| (!text.is_empty()).then(|| text.clone());
        let published = Timestamp::from_unix_seconds(self.published).filter(|_| self.published > 0);
        Entry {
            id: text(&self.guid),
            title: text(&self.title),
            content: text(&self.content),
            published,
            links: text(&self.link).map(|link| Link::new("alternate", &link)).into_iter().collect(),
            ..Entry::default()
        }
    }

    /// Whether nothing distinguishes it from another entry.
    fn is_told_twice(&self, other: &Self) -> bool {
        let name = |said: &Self| {
            [&said.guid, &said.link].into_iter().find(|name| !name.is_empty()).cloned()
        };
        let is_told = !self.title.is_empty() && name(self).is_some();
        (name(self), &self.link, &self.title) == (name(other), &other.link, &other.title)
            && (is_told || self.content == other.content)
    }
}

/// A device with the state that it remembers of the feed.
#[derive(Default)]
struct Device(IdentificationState);

impl Device {
    /// The ids of a document that the device reads; its state is stored and parsed in between.
    fn read(&mut self, document: &[Said]) -> Vec<String> {
        let stored = serde_json::to_string(&self.0).unwrap();
        let entries: Vec<_> = document.iter().map(Said::entry).collect();
        let (ids, identification_state) =
            identify(&entries, serde_json::from_str(&stored).unwrap());
        self.0 = identification_state;
        ids.iter().map(ArticleId::to_string).collect()
    }

    /// Reads so many other articles that no earlier ones are remembered.
    fn forget(&mut self) {
        let other = |number| said(&format!("urn:{number}"), "", "", "", 0);
        let others: Vec<_> = (0..MAX_REMEMBERED_ARTICLES).map(other).collect();
        self.read(&others);
        assert!(self.0.articles().all(|id| id.as_str().starts_with("urn:")));
    }
}

/// The ids on a device that reads the feed for the first time.
fn newcomer(document: &[Said]) -> Vec<String> {
    Device::default().read(document)
}

/// The ids of entries that come one after another, each in its own document.
fn one_by_one<const N: usize>(entries: [Said; N]) -> [String; N] {
    let mut device = Device::default();
    entries.map(|entry| device.read(&[entry]).remove(0))
}

#[test]
fn last_article_of_a_shared_guid_keeps_its_id() {
    let (a, b) = (said("g", "http://a/1", "A", "x", 1), said("g", "http://a/2", "B", "y", 2));
    let c = said("g", "http://a/3", "C", "z", 3);
    let mut device = Device::default();
    let both = device.read(&[a, b.clone()]);
    assert_eq!(device.read(std::slice::from_ref(&b)), both[1..]);
    let edited = Said { title: "B2".to_owned(), content: "y2".to_owned(), ..b };
    assert_eq!(device.read(&[edited]), both[1..]);
    let new = device.read(std::slice::from_ref(&c));
    assert!(new[0].starts_with("g#") && !both.contains(&new[0]), "{new:?} {both:?}");
    // A device that starts now cannot know.
    assert_eq!(newcomer(&[c]), ["g"]);
}

#[test]
fn articles_with_one_guid_and_link_are_identified_by_title() {
    let article = |title: &str| said("g", "http://a/", title, "", 0);
    let mut device = Device::default();
    let both = device.read(&[article("A"), article("B")]);
    assert_eq!(device.read(&[article("B")]), both[1..]);
    assert!(!both.contains(&device.read(&[article("C")])[0]));
    assert_eq!(device.read(&[article("A")]), both[..1]);
}

#[test]
fn first_article_of_a_guid_keeps_its_id_when_the_guid_is_shared() {
    let (a, b) = (said("g", "http://a/1", "A", "x", 1), said("g", "http://a/2", "B", "y", 2));
    let mut device = Device::default();
    assert_eq!(device.read(std::slice::from_ref(&a)), ["g"]);
    let both = device.read(&[b, a]);
    assert!(both[0].starts_with("g#"), "{both:?}");
    assert_eq!(both[1], "g");
}

#[test]
fn a_guid_that_is_given_again_is_a_new_article() {
    let [old, new, newer] = one_by_one([
        said("g", "http://a/1", "A", "x", 1),
        said("g", "http://a/2", "B", "y", 2),
        said("g", "http://a/3", "B", "z", 3),
    ]);
    assert_eq!(old, "g");
    assert!(new.starts_with("g#") && newer.starts_with("g#") && new != newer, "{new} {newer}");
}

#[test]
fn a_shared_guid_is_not_trusted_when_those_who_shared_it_are_forgotten() {
    let article = |number: i64| said("g", &format!("http://a/{number}"), "A", "", number);
    let at_once = vec![vec![article(1), article(2)]];
    let by_and_by = vec![vec![said("g", "http://b/", "B", "y", 9)], vec![article(1)]];
    for documents in [at_once, by_and_by] {
        let mut device = Device::default();
        for document in &documents {
            device.read(document);
        }
        device.forget();
        let [one, other] = [3, 4].map(|number| device.read(&[article(number)]).remove(0));
        assert!(one.starts_with("g#") && other.starts_with("g#") && one != other, "{one} {other}");
    }
}

#[test]
fn a_shared_link_is_not_trusted_when_those_who_shared_it_are_forgotten() {
    let article = |title: &str| said("g", "http://a/", title, "", 0);
    let mut device = Device::default();
    device.read(&[article("A"), article("B")]);
    device.forget();
    let [one, other] = ["C", "D"].map(|title| device.read(&[article(title)]).remove(0));
    assert_ne!(one, other);
}

#[test]
fn ambiguous_matches_identify_no_article() {
    let article = |link: &str| said("", link, "A", "x", 1);
    let mut device = Device::default();
    device.read(&[article("http://a/1")]);
    let two = [article("http://a/2"), article("http://a/3")];
    assert_eq!(device.read(&two), ["http://a/2", "http://a/3"]);
    assert_eq!(device.read(&[article("http://a/4")]), ["http://a/4"]);
}

#[test]
fn guids_that_number_the_entries_do_not_identify_articles() {
    let article =
        |guid: &str, name: &str, at| said(guid, &format!("http://a/{name}"), name, "Comments", at);
    let mut device = Device::default();
    let before = device.read(&[article("1", "B", 2), article("2", "A", 1)]);
    let after = device.read(&[article("1", "C", 3), article("2", "B", 2), article("3", "A", 1)]);
    assert_eq!(after[1..], before);
    assert!(!before.contains(&after[0]), "{after:?}");
}

#[test]
fn scheme_tracking_and_slash_make_no_new_article() {
    for link in
        ["https://a/x", "http://a/x/", "http://a/x?utm_source=rss", "https://a/x/?utm_source=rss"]
    {
        let before = said("", "http://a/x", "A", "x", 1);
        let after = said("", link, "A2", "x2", 2);
        assert_eq!(one_by_one([before, after]), ["http://a/x"; 2], "{link}");
    }
    // Added tracking parameters do not change the ids on later devices; another scheme does.
    assert_eq!(newcomer(&[said("", "http://a/x?utm_source=rss", "A", "", 0)]), ["http://a/x"]);
    assert_eq!(newcomer(&[said("", "https://a/x", "A", "", 0)]), ["https://a/x"]);
}

#[test]
fn a_feed_that_changes_its_guids_keeps_its_articles() {
    let before = said("http://old/?p=1", "http://old/a", "A", "see http://old/", 1);
    for after in [
        said("https://old/?p=1", "https://old/a", "Edited", "see https://old/", 1),
        said("urn:new", "https://old/a", "A", "see https://old/", 1),
        said("urn:new", "https://old/a", "A", "see http://old/", 2),
        said("", "http://old/a", "A", "", 0),
        said("https://new/?p=1", "https://new/a", "A", "see http://old/", 1),
    ] {
        assert_eq!(
            one_by_one([before.clone(), after.clone()]),
            ["http://old/?p=1"; 2],
            "{after:?}"
        );
    }
    let without = said("", "http://a/x", "A", "x", 0);
    let with = said("urn:1", "http://a/x", "A", "x", 0);
    assert_eq!(one_by_one([without, with]), ["http://a/x"; 2]);
}

#[test]
fn guids_that_change_each_time_make_no_new_articles() {
    let fetched = |guid: &str| said(guid, "http://a/1", "A", "x", 0);
    assert_eq!(one_by_one([fetched("1"), fetched("2"), fetched("3")]), ["1"; 3]);
}

#[test]
fn new_article_with_a_reused_link_and_title_gets_a_new_id() {
    let of_day =
        |guid: &str, content: &str, day| said(guid, "http://a/today", "Digest", content, day);
    let ids = one_by_one([of_day("1", "x", 1), of_day("2", "y", 2), of_day("3", "z", 3)]);
    assert_eq!(ids, ["1", "2", "3"]);
}

#[test]
fn an_article_under_a_guid_of_its_own_keeps_its_id_when_it_is_edited_or_its_link_changes() {
    let before = said("g", "http://a/x", "A", "x", 1);
    for after in [
        said("g", "http://a/x", "B", "y", 2),
        said("g", "http://a/y", "A", "y", 2),
        said("g", "http://b/y", "B", "x", 2),
        said("g", "http://b/y", "B", "y", 1),
        said("g", "", "A", "", 0),
    ] {
        assert_eq!(one_by_one([before.clone(), after.clone()]), ["g"; 2], "{after:?}");
    }
}

#[test]
fn article_without_guid_and_link_is_identified_by_its_contents() {
    let [one, same, other] = one_by_one([
        said("", "", "A", "x", 1),
        said("", "", "A", "x", 2),
        said("", "", "A", "y", 2),
    ]);
    assert_eq!(one, same);
    assert_ne!(one, other);
}

#[test]
fn later_devices_agree_on_ids_where_names_are_unique() {
    let article = |number: i64, title: &str| {
        let guid = if number % 2 == 0 { format!("urn:{number}") } else { String::new() };
        said(&guid, &format!("http://a/{number}"), title, "Comments", number)
    };
    let mut device = Device::default();
    for last in 5..40 {
        let document: Vec<_> =
            (last - 5..last).map(|number| article(number, &format!("{last}"))).collect();
        assert_eq!(device.read(&document), newcomer(&document));
    }
}

#[test]
fn remembered_articles_are_bounded_to_the_last_documents() {
    let many = MAX_REMEMBERED_ARTICLES as i64 + 100;
    let article = |number: i64| {
        said(&format!("g{}", number / 2), &format!("http://a/{number}"), "A", "", number)
    };
    let document: Vec<_> = (0..many).map(article).collect();
    let mut device = Device::default();
    let ids = device.read(&document);
    assert_eq!(device.0.articles().count(), MAX_REMEMBERED_ARTICLES);
    assert_eq!(device.read(&document), ids);
    let new = device.read(&[said("new", "", "B", "", 0)]);
    assert_eq!(device.0.articles().next().map(ArticleId::as_str), Some(&*new[0]));
    assert_eq!(device.0.articles().count(), MAX_REMEMBERED_ARTICLES);
}

#[test]
fn malformed_remembered_state_is_rejected() {
    let read = |text: &str| {
        serde_json::from_str::<IdentificationState>(text).map_err(|error| error.to_string())
    };
    assert!(read(r#"{"articles":[["x",{"name":1}],["y",{}]],"shared":[1]}"#).is_ok());
    let twice = read(r#"{"articles":[["x",{}],["x",{}]],"shared":[]}"#).unwrap_err();
    assert!(twice.contains("\"x\" occurs twice"), "{twice}");
    let many = vec!["1"; MAX_REMEMBERED_ARTICLES + 1].join(",");
    let many = read(&format!(r#"{{"articles":[],"shared":[{many}]}}"#)).unwrap_err();
    assert!(many.contains("more than 4096"), "{many}");
    assert!(
        read(r#"{"articles":[["",{}]],"shared":[]}"#).unwrap_err().contains("id of an article")
    );
}

#[test]
fn every_entry_of_every_feed_is_identified_consistently() {
    let mut count = 0;
    for document in fixtures().into_iter().chain(corpora()) {
        let entries: Vec<_> = document.payloads().iter().map(entry).collect();
        count += entries.len();
        let (ids, identification_state) = identify(&entries, IdentificationState::default());
        assert_eq!(ids.len(), entries.len(), "{}", document.path.display());
        assert_eq!(
            identify(&entries, identification_state.clone()),
            (ids, identification_state),
            "{}",
            document.path.display()
        );
    }
    eprintln!("{count} entries");
    assert!(count > 10);
}

fn any_said() -> impl Strategy<Value = Said> {
    let link = prop::sample::select(vec!["", "http://a/1", "http://a/2", "http://a/3"]);
    ("[gh]?", link, "[AB]?", "[xy]?", 0..3_i64)
        .prop_map(|(guid, link, title, content, at)| said(&guid, link, &title, &content, at))
}

fn any_documents() -> impl Strategy<Value = Vec<Vec<Said>>> {
    prop::collection::vec(prop::collection::vec(any_said(), 0..6), 1..6)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    /// The ids depend on the documents and their order, and not on the order within a document.
    #[test]
    fn the_same_documents_give_the_same_ids(documents in any_documents(), turn in 0..6_usize) {
        let (mut one, mut other) = (Device::default(), Device::default());
        for document in &documents {
            let mut ids = one.read(document);
            let (mut turned, turn) = (document.clone(), turn.min(document.len()));
            turned.rotate_left(turn);
            ids.rotate_left(turn);
            prop_assert_eq!(other.read(&turned), ids);
            prop_assert_eq!(&one.0, &other.0);
        }
    }

    /// Two entries of a document have the same id if and only if they are the same article.
    #[test]
    fn no_two_articles_of_a_document_have_one_id(documents in any_documents()) {
        let mut device = Device::default();
        for document in &documents {
            let ids = device.read(document);
            prop_assert_eq!(ids.len(), document.len());
            for (one, of_one) in document.iter().zip(&ids) {
                for (other, of_other) in document.iter().zip(&ids) {
                    prop_assert_eq!(of_one == of_other, one.is_told_twice(other), "{:?} {:?}", one, other);
                }
            }
        }
    }

    #[test]
    fn a_document_that_is_read_again_changes_nothing(documents in any_documents()) {
        let mut device = Device::default();
        for document in &documents {
            let ids = device.read(document);
            let identification_state = device.0.clone();
            prop_assert_eq!(device.read(document), ids);
            prop_assert_eq!(&device.0, &identification_state);
        }
    }

    /// An article that keeps its link may change title and content; one without a link, either of them.
    #[test]
    fn an_article_under_a_guid_of_its_own_keeps_its_id(
        document in prop::collection::vec(any_said(), 1..6), place in any::<prop::sample::Index>(), title in "[AB]",
        content in "[xy]", both in any::<bool>(),
    ) {
        let of_its_own = |(number, said): (usize, Said)| Said {
            guid: format!("urn:{number}"), title: format!("{}.", said.title), content: format!("{}.", said.content), ..said
        };
        let mut document: Vec<_> = document.into_iter().enumerate().map(of_its_own).collect();
        let mut device = Device::default();
        let ids = device.read(&document);
        let edited = place.get(&document).clone();
        let edited = match both && !edited.link.is_empty() {
            true => Said { title, content, published: 9, ..edited },
            false if both => Said { title, ..edited },
            false => Said { content, ..edited },
        };
        let place = place.index(document.len());
        document[place] = edited;
        prop_assert_eq!(device.read(&document), ids);
    }
}
