//! Conflicts that are resolved by a policy: every seed gives other edits, other clocks and another order of
//! exchanges.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use feedsync_core::{Creation, Edit, Format, Item, ItemId, Payload};
use feedsync_endpoint::{ConflictPolicy, Endpoint, Report, Source};
use feedsync_store::{
    Alteration, CollectionChange, EndpointName, Environment, MemoryStore, Moment, NewCollection,
};
use rand::rngs::SmallRng;
use rand::{Rng as _, SeedableRng as _};

use crate::support::{notes, titled};

/// A clock that the test moves.
#[derive(Debug, Default)]
struct Clock {
    seconds: AtomicU64,
    random: AtomicU64,
}

impl Clock {
    fn set(&self, seconds: u64) {
        self.seconds.store(seconds, Ordering::Relaxed);
    }
}

impl Environment for Clock {
    fn now(&self) -> Moment {
        Moment::from_micros((1_700_000_000 + self.seconds.load(Ordering::Relaxed)) * 1_000_000)
    }

    fn random(&self) -> u64 {
        let next = self.random.fetch_add(1, Ordering::Relaxed);
        next.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }
}

struct Peer {
    endpoint: Endpoint,
    clock: Arc<Clock>,
}

impl Peer {
    async fn new(number: u64, policy: ConflictPolicy) -> Self {
        let clock = Arc::new(Clock::default());
        clock.random.store(number << 40, Ordering::Relaxed);
        let name = EndpointName::new(&format!("peer{number}")).unwrap();
        let store = MemoryStore::new(&name, clock.clone());
        let endpoint = Endpoint::new(Arc::new(store), clock.clone());
        let settings = [("conflicts".to_owned(), format!("\"{}\"", policy.name()))].into();
        let (title, format) = ("Notes".to_owned(), Format::Atom);
        let new = NewCollection { name: notes(), title, format, settings };
        endpoint.store().create_collection(new).await.unwrap();
        Self { endpoint, clock }
    }

    async fn item(&self, id: &ItemId) -> Item<Payload> {
        self.endpoint.item(&notes(), id).await.unwrap().item
    }

    async fn give(&self, id: &ItemId, other: &Peer) -> Report {
        other.take(self.item(id).await).await
    }

    async fn take(&self, item: Item<Payload>) -> Report {
        self.endpoint.incorporate(&notes(), Source::Offered, vec![item], None).await.unwrap()
    }

    async fn edit(&self, id: &ItemId, at: u64, title: Option<&str>) {
        self.clock.set(at);
        let edit = Edit { payload: title.map(titled), deleted: Some(title.is_none()) };
        self.endpoint.edit(&notes(), id, None, edit).await.unwrap();
    }
}

/// Two peers with the same item.
async fn two(here: ConflictPolicy, there: ConflictPolicy) -> (Peer, Peer, ItemId) {
    let (ann, bob) = (Peer::new(1, here).await, Peer::new(2, there).await);
    let id = ann.endpoint.new_id();
    ann.endpoint.add(&notes(), id.clone(), Creation::default(), titled("Milk")).await.unwrap();
    ann.give(&id, &bob).await;
    (ann, bob, id)
}

/// Returns the title of the remaining version, if it is not deleted.
fn title(item: &Item<Payload>) -> Option<String> {
    let title = feedsync_formats::entry(&item.winner.payload).title.unwrap();
    (!item.winner.deleted).then_some(title)
}

/// Every endpoint that has a policy may resolve at once. All end with the same item and without conflicts,
/// and then no exchange changes anything.
#[tokio::test]
async fn endpoints_with_one_policy_agree_and_stop() {
    for seed in 0..5_000 {
        let mut rng = SmallRng::seed_from_u64(seed);
        let policy = [ConflictPolicy::Latest, ConflictPolicy::Undeleted][rng.random_range(0..2)];
        let (mut peers, mut have_all) = (Vec::new(), true);
        for number in 0..rng.random_range(2..5) {
            // At least one endpoint has the policy.
            let has = number == 0 || rng.random_bool(0.6);
            have_all &= has;
            peers.push(Peer::new(number, if has { policy } else { ConflictPolicy::Keep }).await);
        }
        let (id, first) = (peers[0].endpoint.new_id(), &peers[0].endpoint);
        let (creation, milk) = (Creation::default(), titled("Milk"));
        let item = first.add(&notes(), id.clone(), creation, milk).await.unwrap().item;
        for peer in &peers {
            peer.take(item.clone()).await;
        }
        for step in 0..rng.random_range(2..12) {
            let one = rng.random_range(0..peers.len());
            if rng.random_bool(0.6) {
                // There are few texts, so that two peers sometimes write the same one.
                let text = format!("text {}", rng.random_range(0..4));
                let text = rng.random_bool(0.8).then_some(&*text);
                // The same text is not written twice in one second: that would remain a conflict.
                peers[one].edit(&id, rng.random_range(0..50) * 16 + step, text).await;
            } else {
                let other = rng.random_range(0..peers.len());
                peers[one].give(&id, &peers[other]).await;
            }
        }
        // All peers send everything at the same moment. This is the worst case, since all resolve at once.
        let mut rounds = 0;
        loop {
            let mut items = Vec::new();
            for peer in &peers {
                items.push(peer.item(&id).await);
            }
            let mut changed = 0;
            for peer in &peers {
                for item in &items {
                    changed += peer.take(item.clone()).await.counts.changed();
                }
            }
            if changed == 0 {
                break;
            }
            rounds += 1;
            assert!(rounds <= 8, "seed {seed}: no end");
        }
        let first = peers[0].item(&id).await;
        match policy {
            ConflictPolicy::Latest => assert_eq!(first.conflicts, [], "seed {seed}"),
            _ => {
                let deleted = first.versions().filter(|version| version.deleted).count();
                assert!(deleted == 0 || first.conflicts.is_empty(), "seed {seed}");
                // An endpoint without the policy does not fold equal versions of its own.
                let texts: BTreeSet<_> = first.versions().map(|it| it.payload.text()).collect();
                let is_distinct = texts.len() == first.versions().count();
                assert!(is_distinct || !have_all, "seed {seed}");
            }
        }
        for peer in &peers {
            let item = peer.item(&id).await;
            assert_eq!(item.winner.payload, first.winner.payload, "seed {seed}");
            assert_eq!(item.winner.deleted, first.winner.deleted, "seed {seed}");
            assert!(item.winner.dot().is_same(first.winner.dot()), "seed {seed}");
        }
    }
}

#[tokio::test]
async fn the_policy_decides_which_of_two_edits_stays() {
    use ConflictPolicy::{Keep, Latest, Undeleted};
    // The first peer makes two edits, so that it wins; the second makes one that is later.
    for (policy, first, second, kept) in [
        (Latest, Some("First"), Some("Second"), Some("Second")),
        (Latest, None, Some("Second"), Some("Second")),
        (Latest, Some("First"), None, None),
        (Undeleted, None, Some("Second"), Some("Second")),
        (Undeleted, Some("First"), None, Some("First")),
    ] {
        let (ann, bob, id) = two(policy, Keep).await;
        ann.edit(&id, 10, Some("Draft")).await;
        ann.edit(&id, 20, first).await;
        bob.edit(&id, 30, second).await;
        let report = bob.give(&id, &ann).await;
        assert_eq!((report.counts.updated, report.counts.conflict), (1, 0), "{policy:?}");
        let item = ann.item(&id).await;
        assert_eq!((title(&item).as_deref(), &item.conflicts[..]), (kept, &[][..]), "{policy:?}");
        // The peer without a policy accepts the resolution.
        assert_eq!(ann.give(&id, &bob).await.counts.updated, 1, "{policy:?}");
        assert_eq!(bob.item(&id).await, item, "{policy:?}");
    }
}

#[tokio::test]
async fn versions_with_content_stay_conflicts_where_only_deletions_are_resolved() {
    let (ann, bob, id) = two(ConflictPolicy::Undeleted, ConflictPolicy::Keep).await;
    let carl = Peer::new(3, ConflictPolicy::Keep).await;
    ann.give(&id, &carl).await;
    ann.edit(&id, 10, Some("Oat milk")).await;
    bob.edit(&id, 20, Some("Soy milk")).await;
    carl.edit(&id, 30, None).await;
    assert_eq!(bob.give(&id, &ann).await.counts.conflict, 1);
    assert_eq!(carl.give(&id, &ann).await.counts.conflict, 1);
    let item = ann.item(&id).await;
    let mut titles: Vec<_> =
        item.versions().map(|it| feedsync_formats::entry(&it.payload).title.unwrap()).collect();
    titles.sort_unstable();
    assert_eq!(titles, ["Oat milk", "Soy milk"]);
    assert!(item.versions().all(|version| !version.deleted));
}

/// The resolution has the time of an edit. A later edit that was made before the resolution is still the
/// later one.
#[tokio::test]
async fn an_edit_made_before_the_resolution_of_others_can_still_be_the_latest() {
    let (ann, bob, id) = two(ConflictPolicy::Latest, ConflictPolicy::Keep).await;
    let carl = Peer::new(3, ConflictPolicy::Keep).await;
    ann.give(&id, &carl).await;
    ann.edit(&id, 10, Some("Oat milk")).await;
    bob.edit(&id, 20, Some("Soy milk")).await;
    carl.edit(&id, 30, Some("Rice milk")).await;
    ann.clock.set(40);
    bob.give(&id, &ann).await;
    assert_eq!(title(&ann.item(&id).await).as_deref(), Some("Soy milk"));
    carl.give(&id, &ann).await;
    assert_eq!(title(&ann.item(&id).await).as_deref(), Some("Rice milk"));
}

#[tokio::test]
async fn two_people_who_deleted_the_same_are_not_left_with_a_conflict() {
    for (first, second) in [(10, 20), (20, 10)] {
        let (ann, bob, id) = two(ConflictPolicy::Latest, ConflictPolicy::Keep).await;
        ann.edit(&id, first, None).await;
        bob.edit(&id, second, None).await;
        bob.give(&id, &ann).await;
        let item = ann.item(&id).await;
        assert_eq!((title(&item), &item.conflicts[..]), (None, &[][..]));
    }
}

#[tokio::test]
async fn conflicts_from_before_are_resolved_when_asked() {
    let (ann, bob, id) = two(ConflictPolicy::Keep, ConflictPolicy::Keep).await;
    ann.edit(&id, 10, Some("Oat milk")).await;
    bob.edit(&id, 20, Some("Soy milk")).await;
    assert_eq!(bob.give(&id, &ann).await.counts.conflict, 1);
    // A policy applies to items that are incorporated from then on.
    let settings = Some([("conflicts".to_owned(), "\"latest\"".to_owned())].into());
    let change = CollectionChange { settings, ..CollectionChange::default() };
    let decide = move |_: &_| Ok::<_, ()>(Alteration::Change(change));
    ann.endpoint.alter_collection(&notes(), decide).await.unwrap().unwrap();
    assert_eq!(ann.item(&id).await.conflicts.len(), 1);
    let resolve = async |policy| ann.endpoint.resolve_all(&notes(), policy).await.unwrap();
    assert_eq!(resolve(ConflictPolicy::Keep).await, (0, 1));
    assert_eq!(resolve(ConflictPolicy::Undeleted).await, (0, 1));
    assert_eq!(resolve(ConflictPolicy::Latest).await, (1, 0));
    assert_eq!(title(&ann.item(&id).await).as_deref(), Some("Soy milk"));
    assert_eq!(resolve(ConflictPolicy::Latest).await, (0, 0));
}
