//! A seeded simulation of databases and replicators. Documents are edited, deleted and purged in all
//! databases, and databases are restored from backups. Replications fail and are interrupted anywhere. Then a
//! quiet period follows.
//!
//! In the end all documents that were never purged are equal everywhere. No acknowledged write is lost,
//! except those in a database that was restored before another one had them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use feedsync_client::replicate::{
    ChangesQuery, Replica, ReplicaLocalDocument, Replication, ReplicationError, ReplicationFilter,
    ReplicationPace,
};
use feedsync_couch::replication::{
    ChangedDocument, ChangesPage, FetchedDocument, MissingDocument, RejectedDocument,
    UnavailableRevision,
};
use feedsync_couch::selector::Selector;
use feedsync_couch::{ChangesFilter, DocumentId, Json, Revision};
use feedsync_endpoint::documents::{Edits, purge_documents};
use feedsync_fetch::FetchError;
use feedsync_store::{Image, MemoryStore};
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom as _;
use rand::{Rng as _, SeedableRng as _};
use tokio::time::{sleep, timeout};

use super::{NoProgress, Shelf, notes};

/// A replica with random delays. It fails at times, before a request takes effect or after.
pub(super) struct Rough {
    to: Arc<dyn Replica>,
    random: AtomicU64,
    fails: bool,
    /// Number of bytes of documents that are being written, and the maximum so far.
    writing: [AtomicU64; 2],
    absent: Option<Absent>,
}

/// A document that a source lists but lacks for a number of requests. `is_purged` is whether the source
/// itself reports it as missing.
pub(super) struct Absent {
    pub(super) id: &'static str,
    pub(super) times: AtomicU64,
    pub(super) is_purged: bool,
}

impl Rough {
    fn over(to: Arc<dyn Replica>, random: u64) -> Arc<Self> {
        let (random, writing) = (AtomicU64::new(random), <_>::default());
        Arc::new(Self { to, random, fails: true, writing, absent: None })
    }

    /// Returns a replica that only delays requests.
    pub(super) fn slow(to: Arc<dyn Replica>, random: u64) -> Arc<Self> {
        let (random, writing) = (AtomicU64::new(random), <_>::default());
        Arc::new(Self { to, random, fails: false, writing, absent: None })
    }

    /// Returns a replica of a source that lacks a document that it lists.
    pub(super) fn without(to: Arc<dyn Replica>, absent: Absent) -> Arc<Self> {
        let (random, writing) = (AtomicU64::new(1), <_>::default());
        Arc::new(Self { to, random, fails: false, writing, absent: Some(absent) })
    }

    /// Returns the maximum number of bytes of documents that were written at once.
    pub(super) fn most_written_at_once(&self) -> u64 {
        self.writing[1].load(Ordering::Relaxed)
    }

    /// Makes one request.
    async fn ask<T>(
        &self,
        request: impl Future<Output = Result<T, ReplicationError>>,
    ) -> Result<T, ReplicationError> {
        let seed = self.random.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed);
        let mut random = SmallRng::seed_from_u64(seed);
        sleep(Duration::from_millis(random.random_range(0..20))).await;
        let reason = || "it is rough here".to_owned();
        let lost = || FetchError::Unreachable { url: "rough".to_owned(), reason: reason() };
        match random.random_range(0..40) {
            0 if self.fails => Err(lost().into()),
            1 if self.fails => {
                request.await?;
                Err(lost().into())
            }
            _ => {
                let answer = request.await;
                sleep(Duration::from_millis(random.random_range(0..20))).await;
                answer
            }
        }
    }
}

#[async_trait]
impl Replica for Rough {
    fn shown(&self) -> String {
        self.to.shown()
    }

    async fn open(&self, creates: bool) -> Result<String, ReplicationError> {
        self.ask(self.to.open(creates)).await
    }

    async fn changes(&self, asked: ChangesQuery<'_>) -> Result<ChangesPage, ReplicationError> {
        self.ask(self.to.changes(asked)).await
    }

    async fn missing(
        &self,
        changed: &[ChangedDocument],
    ) -> Result<Vec<MissingDocument>, ReplicationError> {
        let mut missing = self.ask(self.to.missing(changed)).await?;
        let absent = self.absent.iter().filter(|absent| absent.is_purged);
        for ChangedDocument { id, revisions } in changed {
            if absent.clone().any(|absent| absent.id == id) {
                let (id, revisions) = (id.clone(), revisions.clone());
                missing.push(MissingDocument { id, revisions, ancestors: Vec::new() });
            }
        }
        Ok(missing)
    }

    async fn documents(
        &self,
        missing: &[MissingDocument],
        most_bytes: u64,
    ) -> Result<(Vec<FetchedDocument>, Vec<UnavailableRevision>), ReplicationError> {
        // Some servers return little at once.
        let bytes = if missing.len() > 2 { 300 } else { most_bytes };
        let absent = self.absent.iter().find(|it| it.times.load(Ordering::Relaxed) > 0);
        let (gone, asked): (Vec<_>, Vec<_>) =
            missing.iter().cloned().partition(|it| absent.is_some_and(|absent| absent.id == it.id));
        let (found, mut unread) = self.ask(self.to.documents(&asked, bytes)).await?;
        for MissingDocument { id, revisions, .. } in gone {
            if let Some(Absent { times, .. }) = absent {
                times.fetch_sub(1, Ordering::Relaxed);
            }
            unread.extend(revisions.into_iter().map(|revision| UnavailableRevision {
                id: id.clone(),
                revision,
                error: "not_found".to_owned(),
                reason: "missing".to_owned(),
            }));
        }
        Ok((found, unread))
    }

    async fn write(
        &self,
        documents: &[FetchedDocument],
    ) -> Result<Vec<RejectedDocument>, ReplicationError> {
        let bytes = documents.iter().map(|document| document.text.len() as u64).sum();
        let [now, most] = &self.writing;
        most.fetch_max(now.fetch_add(bytes, Ordering::Relaxed) + bytes, Ordering::Relaxed);
        let written = self.ask(self.to.write(documents)).await;
        now.fetch_sub(bytes, Ordering::Relaxed);
        written
    }

    async fn settle(&self) -> Result<String, ReplicationError> {
        self.ask(self.to.settle()).await
    }

    async fn local(&self, id: &str) -> Result<Option<ReplicaLocalDocument>, ReplicationError> {
        self.ask(self.to.local(id)).await
    }

    async fn put_local(&self, id: &str, text: String) -> Result<String, ReplicationError> {
        self.ask(self.to.put_local(id, text)).await
    }
}

struct World {
    random: SmallRng,
    shelves: Vec<Shelf>,
    backups: Vec<Option<Image>>,
    /// Acknowledged writes.
    acknowledged: BTreeSet<(DocumentId, Revision)>,
    purged: BTreeSet<DocumentId>,
    next: u64,
    restores: u64,
    /// Number of replications that should have ended by themselves, and did not.
    broken_off: u64,
    /// Number of continuous replications that were stopped normally.
    stopped: u64,
}

impl World {
    async fn new(seed: u64) -> Self {
        let mut random = SmallRng::seed_from_u64(seed);
        let count = random.random_range(2..=4);
        let mut shelves = Vec::new();
        for number in 0..count {
            shelves.push(Shelf::new(seed.wrapping_mul(10).wrapping_add(number)).await);
        }
        Self {
            random,
            backups: shelves.iter().map(|_| None).collect(),
            shelves,
            acknowledged: BTreeSet::new(),
            purged: BTreeSet::new(),
            next: 0,
            restores: 0,
            broken_off: 0,
            stopped: 0,
        }
    }

    async fn step(&mut self) {
        let at = self.random.random_range(0..self.shelves.len());
        match self.random.random_range(0..100) {
            0..60 => self.edit(at).await,
            60..90 => self.replicate(at).await,
            90..93 => self.purge(at).await,
            93..97 => self.backups[at] = Some(self.shelves[at].store.image()),
            _ => self.put_back(at).await,
        }
    }

    /// Edits a document: on a current leaf, or beside it.
    async fn edit(&mut self, at: usize) {
        let shelf = &self.shelves[at];
        let id = format!("d{}", self.random.random_range(0..12));
        self.next += 1;
        let documents = shelf.documents().await;
        let found = documents.iter().find(|read| read.document.id.as_str() == id);
        let leaves = found.map(|read| read.document.tree.leaves()).unwrap_or_default();
        let base = leaves.choose(&mut self.random).map(|leaf| leaf.revision.to_string());
        let base = base.filter(|_| self.random.random_bool(0.9));
        let base = base.map(|base| format!(",\"_rev\":\"{base}\"")).unwrap_or_default();
        let more = match self.random.random_range(0..10) {
            0 => ",\"_deleted\":true",
            1 => ",\"_attachments\":{\"a\":{\"data\":\"aGVsbG8=\"}}",
            2 => ",\"type\":\"leaf\"",
            _ => "",
        };
        let text = format!("{{\"_id\":\"{id}\"{base},\"n\":{}{more}}}", self.next);
        if let Some(revision) = shelf.write(&text, Edits::New).await {
            self.acknowledged.insert((id.parse().unwrap(), revision));
        }
    }

    /// Runs a replication of a random kind, which may fail or be interrupted anywhere.
    async fn replicate(&mut self, at: usize) {
        let other = self.random.random_range(0..self.shelves.len());
        let rough = |of: &Shelf, random| Rough::over(of.replica(), random) as Arc<dyn Replica>;
        let source = rough(&self.shelves[other], self.random.random());
        let target = rough(&self.shelves[at], self.random.random());
        let filter = match self.random.random_range(0..4) {
            0 => selected("{\"type\":\"leaf\"}"),
            1 => ReplicationFilter::Ids(vec!["d1".to_owned(), "d2".to_owned()]),
            _ => ReplicationFilter::All,
        };
        let replication = Replication {
            filter,
            is_continuous: self.random.random_bool(0.3),
            pace: ReplicationPace {
                page: 3,
                batch: 2,
                batches: 3,
                checkpoint: Duration::from_millis(self.random.random_range(1..300)),
            },
            ..Replication::default()
        };
        let within = Duration::from_millis(self.random.random_range(1..2_000));
        let environment = self.shelves[at].environment();
        let is_continuous = replication.is_continuous;
        let is_stopped = is_continuous && self.random.random();
        let stop = async {
            match is_stopped {
                true => sleep(within / 2).await,
                false => std::future::pending().await,
            }
        };
        let run = replication.run(source, target, environment, &NoProgress, stop);
        let is_broken_off = !matches!(timeout(within, run).await, Ok(Ok(_)));
        self.stopped += u64::from(is_stopped && !is_broken_off);
        self.broken_off += u64::from(is_broken_off && !is_continuous);
    }

    async fn purge(&mut self, at: usize) {
        let documents = self.shelves[at].documents().await;
        let Some(read) = documents.choose(&mut self.random) else { return };
        let leaves = read.document.tree.leaves();
        let Some(leaf) = leaves.choose(&mut self.random) else { return };
        let id = read.document.id.clone();
        self.purged.insert(id.clone());
        let databases = self.shelves[at].endpoint.databases();
        let database = databases.database(&notes()).await.unwrap().unwrap();
        let named = BTreeMap::from([(id, vec![leaf.revision.clone()])]);
        purge_documents(&*databases, &database, named).await.unwrap();
    }

    /// Restores a database from a backup: revisions that no other database has are lost with it.
    async fn put_back(&mut self, at: usize) {
        let Some(image) = self.backups[at].take() else { return };
        self.restores += 1;
        let environment = Arc::clone(&self.shelves[at].environment);
        let store = MemoryStore::restored(image, Arc::clone(&environment) as _);
        self.shelves[at] = Shelf::over(store, environment);
        let mut kept = BTreeSet::new();
        for (id, revision) in &self.acknowledged {
            for shelf in &self.shelves {
                if shelf.has(id, revision).await {
                    kept.insert((id.clone(), revision.clone()));
                    break;
                }
            }
        }
        self.acknowledged = kept;
    }

    /// Replicates between all databases until nothing changes.
    async fn lull(&self) {
        for _ in 0..10 {
            let mut written = 0;
            for target in &self.shelves {
                for source in &self.shelves {
                    let done = target.take(source).await;
                    assert_eq!((done.stats.refused, done.has_checkpoints), (0, true), "{done:?}");
                    written += done.stats.written;
                }
            }
            if written == 0 {
                return;
            }
        }
        panic!("they never come to rest");
    }

    async fn check(&self) {
        let is_writable = |id: &str| !self.purged.contains(&id.parse::<DocumentId>().unwrap());
        let mut all = Vec::new();
        for shelf in &self.shelves {
            let mut leaves = shelf.leaves().await;
            leaves.retain(|id, _| is_writable(id));
            all.push(leaves);
        }
        for (number, leaves) in all.iter().enumerate() {
            assert_eq!(*leaves, all[0], "{number} is as the first");
        }
        for (id, revision) in self.acknowledged.iter().filter(|(id, _)| is_writable(id.as_str())) {
            assert!(self.shelves[0].has(id, revision).await, "{id} {revision} is lost");
        }
        for shelf in &self.shelves {
            let changes = shelf.documents().await;
            let numbers: Vec<_> = changes.iter().map(|read| read.document.number).collect();
            assert!(numbers.is_sorted_by(|one, other| one < other), "each has a place of its own");
        }
    }
}

pub(super) fn selected(text: &str) -> ReplicationFilter {
    let json = Json::read(text.as_bytes().to_vec()).unwrap();
    let selector = Selector::parse_filter(json.root()).unwrap();
    let filter = Arc::new(ChangesFilter::Selector(Box::new(selector)));
    ReplicationFilter::Selector { text: text.to_owned(), filter }
}

/// A seed, printed if its run fails.
struct Told(u64);

impl Drop for Told {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("FEEDSYNC_SEED={}", self.0);
        }
    }
}

/// Number of seeds: 1,000, or 5,000 with `FEEDSYNC_LONG`; `FEEDSYNC_SEED` names the first.
#[test]
fn documents_never_purged_are_equal_everywhere_in_the_end() {
    let count = if std::env::var_os("FEEDSYNC_LONG").is_some() { 5_000 } else { 1_000 };
    let first: u64 =
        std::env::var("FEEDSYNC_SEED").map_or(0, |text| text.parse().expect("a number"));
    let (mut acknowledged, mut restores, mut broken_off, mut stopped) = (0, 0, 0, 0);
    for seed in first..first + count {
        let _told = Told(seed);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        let world = runtime.block_on(async {
            let mut world = World::new(seed).await;
            for _ in 0..world.random.random_range(10..80) {
                world.step().await;
            }
            world
        });
        runtime.block_on(async {
            world.lull().await;
            world.check().await;
        });
        acknowledged += world.acknowledged.len();
        restores += world.restores;
        broken_off += world.broken_off;
        stopped += world.stopped;
    }
    eprintln!(
        "{acknowledged} writes, {restores} put back, replications: {broken_off} broken off, {stopped} stopped"
    );
    let happened = acknowledged > 1_000 && restores > 50 && broken_off > 200 && stopped > 100;
    assert!(happened, "much happened");
}
