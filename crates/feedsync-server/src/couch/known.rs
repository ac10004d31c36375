//! Cache of stored revisions, which saves reading the store to answer comparisons (6.1).
//!
//! A replicator that pulled an edit compares it with the hub, since it may not know the edit's origin: every
//! device soon names the revisions that one device pushed. Guarantees:
//! - A revision is reported as stored only if it was stored when the database row of the response was read,
//!   or later.
//! - Purged revisions are no longer reported, whichever node purged them: a database counts its purges in its
//!   row.
//! - A database that is created again, restored or moved has no cached revisions, since its epoch differs.
//! - Where a revision path has outgrown what the store keeps of it, the cache may know older ancestors than
//!   the store does. Their descendants are stored, so nothing is lost when a client does not send them.

use std::collections::HashSet;
use std::hash::{BuildHasher as _, Hash as _, RandomState};
use std::sync::{Mutex, MutexGuard, PoisonError};

use feedsync_couch::Revision;
use feedsync_endpoint::documents::difference::{MissingRevisions, find_missing};
use feedsync_store::{Database, Databases, StoreError};
use siphasher::sip128::{Hasher128 as _, SipHasher13};

/// Minimum number of recent facts in the cache. The maximum is twice as many, of about 20 bytes each.
const MIN_CACHED_FACTS: usize = 200_000;

/// Cache of stored revisions.
pub(crate) struct KnownRevisions {
    keys: [u64; 2],
    latest: Mutex<RecentFacts>,
}

/// The fact that a database has a revision: 128 bits of a hash with secret keys.
type Fact = u128;

/// The facts that were added or used most recently.
struct RecentFacts {
    least: usize,
    new: HashSet<Fact>,
    old: HashSet<Fact>,
}

/// Hasher for facts about one database.
struct Facts(SipHasher13);

impl KnownRevisions {
    pub(crate) fn new() -> Self {
        Self::of_at_least(MIN_CACHED_FACTS)
    }

    fn of_at_least(least: usize) -> Self {
        // The hash of any value under such a state is random.
        let keys = [RandomState::new(), RandomState::new()].map(|state| state.hash_one(0));
        let new = HashSet::with_capacity(least);
        let latest = RecentFacts { least, new, old: HashSet::new() };
        Self { keys, latest: Mutex::new(latest) }
    }

    /// Adds revisions that were written to a database, whose row was read before the write.
    pub(super) fn learn<'a>(
        &self,
        database: &Database,
        written: impl Iterator<Item = (&'a str, &'a Revision)>,
    ) {
        let facts = self.facts(database);
        let mut latest = self.latest();
        written.for_each(|(id, revision)| latest.learn(facts.of(id, revision)));
    }

    /// Runs [`find_missing`] for a database that was just read.
    pub(super) async fn find_missing(
        &self,
        databases: &dyn Databases,
        database: &Database,
        mut wanted: Vec<(String, Vec<Revision>)>,
    ) -> Result<Vec<MissingRevisions>, StoreError> {
        let facts = self.facts(database);
        let mut asked = Vec::new();
        {
            let mut latest = self.latest();
            wanted.retain(|(id, revisions)| {
                let before = asked.len();
                asked.extend(revisions.iter().map(|revision| facts.of(id, revision)));
                let is_known = asked[before..].iter().all(|fact| latest.knows(*fact));
                if is_known {
                    asked.truncate(before);
                }
                !is_known
            });
        }
        if wanted.is_empty() {
            return Ok(Vec::new());
        }
        let differences = find_missing(databases, &database.name, wanted).await?;
        let missing = |it: &MissingRevisions| -> Vec<Fact> {
            it.missing.iter().map(|revision| facts.of(&it.id, revision)).collect()
        };
        let missing: HashSet<Fact> = differences.iter().flat_map(missing).collect();
        let mut latest = self.latest();
        asked.into_iter().filter(|it| !missing.contains(it)).for_each(|it| latest.learn(it));
        Ok(differences)
    }

    fn facts(&self, Database { name, epoch, purges, .. }: &Database) -> Facts {
        let mut hasher = SipHasher13::new_with_keys(self.keys[0], self.keys[1]);
        (name.as_str(), epoch, purges).hash(&mut hasher);
        Facts(hasher)
    }

    fn latest(&self) -> MutexGuard<'_, RecentFacts> {
        self.latest.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Facts {
    fn of(&self, id: &str, revision: &Revision) -> Fact {
        let mut hasher = self.0;
        (id, revision).hash(&mut hasher);
        hasher.finish128().as_u128()
    }
}

impl RecentFacts {
    fn learn(&mut self, fact: Fact) {
        if self.new.len() >= self.least {
            let new = HashSet::with_capacity(self.least);
            self.old = std::mem::replace(&mut self.new, new);
        }
        self.new.insert(fact);
    }

    fn knows(&mut self, fact: Fact) -> bool {
        if self.new.contains(&fact) {
            return true;
        }
        let is_known = self.old.contains(&fact);
        if is_known {
            self.learn(fact);
        }
        is_known
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use feedsync_couch::{DatabaseName, DocumentId, Json, Submission};
    use feedsync_endpoint::Endpoint;
    use feedsync_endpoint::documents::validation::Author;
    use feedsync_endpoint::documents::{Edits, NewDocument, purge_documents};
    use feedsync_store::{EndpointName, MemoryStore, SystemEnvironment};
    use proptest::prelude::*;

    use super::*;

    fn wait<T>(future: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
    }

    /// A database of a hub, and the hub's cache.
    struct Room {
        endpoint: Endpoint,
        databases: Arc<dyn Databases>,
        name: DatabaseName,
        known: KnownRevisions,
    }

    /// An action on the documents `a` and `b`, whose revisions are `1-x`, `2-x` and so on, and `1-y` and so
    /// on.
    #[derive(Debug, Clone)]
    enum Act {
        Write { document: bool, branch: bool, generation: usize },
        Purge { document: bool, branch: bool, generation: usize },
        Again,
    }

    impl Room {
        fn new() -> Self {
            let name = EndpointName::new("tester").unwrap();
            let store = Arc::new(MemoryStore::new(&name, Arc::new(SystemEnvironment)));
            let endpoint = Endpoint::new(store, Arc::new(SystemEnvironment));
            let databases = endpoint.databases();
            let name = "notes".parse().unwrap();
            wait(databases.create_database(&name, Default::default())).unwrap();
            Self { endpoint, databases, name, known: KnownRevisions::of_at_least(3) }
        }

        fn database(&self) -> Database {
            wait(self.databases.database(&self.name)).unwrap().unwrap()
        }

        fn act(&self, act: &Act) {
            let id = |document: &bool| if *document { "a" } else { "b" };
            let branch = |branch: &bool| if *branch { "x" } else { "y" };
            let database = self.database();
            match act {
                Act::Write { document, branch: of, generation } => {
                    let id = id(document);
                    let ids = vec![format!("\"{}\"", branch(of)); *generation].join(",");
                    let text = format!(
                        "{{\"_id\":\"{id}\",\"_revisions\":{{\"start\":{generation},\"ids\":[{ids}]}}}}"
                    );
                    let json = Json::read(text.into_bytes()).unwrap();
                    let sent = Submission::read(json.root()).unwrap();
                    let new =
                        NewDocument { id: id.parse().unwrap(), sent, followed: BTreeMap::new() };
                    let edits = Edits::Replicated;
                    let writer = self.endpoint.documents_writer(Author::SERVER);
                    let written = wait(writer.write(&database, vec![new], edits));
                    let written = written.unwrap().remove(0).unwrap();
                    self.known.learn(&database, [(id, &written)].into_iter());
                }
                Act::Purge { document, branch: of, generation } => {
                    let id: DocumentId = id(document).parse().unwrap();
                    let leaf = format!("{generation}-{}", branch(of)).parse().unwrap();
                    let named = BTreeMap::from([(id, vec![leaf])]);
                    wait(purge_documents(&*self.databases, &database, named)).unwrap();
                }
                Act::Again => {
                    wait(self.databases.drop_database(&self.name, self.database().epoch)).unwrap();
                    wait(self.databases.create_database(&self.name, Default::default())).unwrap();
                }
            }
        }

        fn asks(&self) {
            let of = |branch: &'static str| (1..5).map(move |it| format!("{it}-{branch}"));
            let all: Vec<Revision> = of("x").chain(of("y")).map(|it| it.parse().unwrap()).collect();
            let each = |id: &str| all.iter().map(|it| (id.to_owned(), vec![it.clone()])).collect();
            let together: Vec<_> = ["a", "b", "_c"].map(|id| (id.to_owned(), all.clone())).into();
            let database = self.database();
            for wanted in [each("a"), together, each("b")] {
                let told =
                    wait(find_missing(&*self.databases, &self.name, wanted.clone())).unwrap();
                let known = self.known.find_missing(&*self.databases, &database, wanted);
                assert_eq!(wait(known).unwrap(), told);
            }
            let latest = self.known.latest();
            assert!(latest.new.len() <= 3 && latest.old.len() <= 3);
        }
    }

    fn act() -> impl Strategy<Value = Act> {
        let place = (any::<bool>(), any::<bool>(), 1..5_usize);
        let write = |(document, branch, generation)| Act::Write { document, branch, generation };
        let purge = |(document, branch, generation)| Act::Purge { document, branch, generation };
        prop_oneof![6 => place.clone().prop_map(write), 3 => place.prop_map(purge), 1 => Just(Act::Again)]
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(96) })]

        /// After any writes, purges and recreations the cache gives the same result as the store.
        #[test]
        fn cached_revisions_match_the_store(acts in prop::collection::vec(act(), 1..12)) {
            let room = Room::new();
            for act in &acts {
                room.act(act);
                room.asks();
            }
        }
    }

    /// Revisions that were just written are reported without reading the store, which fails here.
    #[test]
    fn written_revisions_are_answered_without_the_store() {
        let room = Room::new();
        let database = room.database();
        let revision: Revision = "1-x".parse().unwrap();
        let wanted = vec![("a".to_owned(), vec![revision.clone()])];
        room.known.learn(&database, [("a", &revision)].into_iter());
        wait(room.databases.drop_database(&room.name, database.epoch)).unwrap();
        let told = room.known.find_missing(&*room.databases, &database, wanted.clone());
        assert_eq!(wait(told).unwrap(), []);
        let other = Database { purges: 1, ..database };
        let told = room.known.find_missing(&*room.databases, &other, wanted);
        assert!(matches!(wait(told), Err(StoreError::NoDatabase(_))));
    }
}
