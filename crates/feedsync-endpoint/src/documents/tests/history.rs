//! Histories of databases: restoring past states, ended revisions, expiry and mass losses.

use std::ops::Range;
use std::sync::atomic::Ordering;

use feedsync_store::{Environment as _, History, PastPage, PastRange, WriteOrigin};
use rand::rngs::SmallRng;
use rand::{Rng as _, SeedableRng as _};

use super::compaction::Clock;
use super::*;
use crate::documents::history::{RestoreError, RestoreRequest, RestoreSummary};

const SECOND: u64 = 1_000_000;

/// A database with a clock, whose history is kept for 30 days.
pub(super) struct PastRoom {
    pub(super) room: Room,
    pub(super) clock: Arc<Clock>,
}

/// The contents of the documents that are not deleted, with those of their attachments.
pub(super) type Contents = BTreeMap<String, (String, Vec<(String, Vec<u8>)>)>;

impl PastRoom {
    pub(super) fn new() -> Self {
        let clock = Arc::new(Clock::default());
        clock.0.store(1_000_000 * SECOND, Ordering::Relaxed);
        let name = EndpointName::new("tester").unwrap();
        let store = Arc::new(MemoryStore::new(&name, clock.clone()));
        let endpoint = Endpoint::new(store, clock.clone());
        let (databases, name) = (endpoint.databases(), "notes".parse::<DatabaseName>().unwrap());
        wait(databases.create_database(&name, Default::default())).unwrap();
        let room = Self { room: Room { endpoint, databases, name }, clock };
        room.keep(History::Kept { seconds: feedsync_store::HISTORY_SECONDS });
        room
    }

    pub(super) fn pass(&self, seconds: u64) {
        self.clock.0.fetch_add(seconds * SECOND, Ordering::Relaxed);
    }

    /// The moment of the last write, or a later one. Later writes have later ones.
    pub(super) fn now(&self) -> Moment {
        let now = self.database().past.last.max(self.clock.now());
        self.pass(1);
        now
    }

    pub(super) fn keep(&self, history: History) {
        wait(self.room.endpoint.set_history(&self.database(), history)).unwrap();
    }

    pub(super) fn database(&self) -> Database {
        wait(self.room.databases.database(&self.room.name)).unwrap().unwrap()
    }

    pub(super) fn write_as(&self, name: Option<&str>, texts: &[String]) -> Vec<Revision> {
        let new = |text: &String| {
            let json = Json::read(text.clone().into_bytes()).unwrap();
            let sent = Submission::read(json.root()).unwrap();
            let id = sent.id.clone().unwrap();
            NewDocument { id, sent, followed: BTreeMap::new() }
        };
        let author = Author { name: name.map(str::to_owned), ..Author::SERVER };
        let writer = self.room.endpoint.documents_writer(author);
        let database = self.database();
        let written = writer.write(&database, texts.iter().map(new).collect(), Edits::New);
        wait(written).unwrap().into_iter().map(Result::unwrap).collect()
    }

    /// Writes a document on its present winner.
    pub(super) fn put(&self, id: &str, members: &str) -> Revision {
        let found = self.room.changes();
        let found = found.iter().find(|it| it.document.id.as_str() == id);
        let winner = found.and_then(|it| it.document.tree.winner());
        let winner = winner.filter(|leaf| !leaf.content.is_deleted);
        let base = winner.map_or(String::new(), |it| format!(",\"_rev\":\"{}\"", it.revision));
        self.write_as(None, &[format!("{{\"_id\":\"{id}\"{base}{members}}}")]).remove(0)
    }

    pub(super) fn restore(&self, request: &RestoreRequest) -> RestoreSummary {
        let writer = self.room.endpoint.documents_writer(Author::SERVER);
        let (endpoint, name) = (&self.room.endpoint, &self.room.name);
        let source = wait(endpoint.database_at(name, request.moment)).unwrap().unwrap();
        wait(writer.restore(&self.database(), &source, request)).unwrap()
    }

    fn contents(&self) -> Contents {
        contents(&self.room)
    }
}

pub(super) fn contents(room: &Room) -> Contents {
    let mut contents = Contents::new();
    for read in room.changes() {
        let winner = read.document.tree.winner().unwrap();
        if winner.content.is_deleted {
            continue;
        }
        let body = &read.bodies[winner.revision];
        let attachments = body.attachments.iter().map(|attachment| {
            let stored = wait(room.databases.attachment(&room.name, &attachment.digest)).unwrap();
            (format!("{} {}", attachment.name, attachment.content_type), stored.unwrap())
        });
        let text = (body.text.to_string(), attachments.collect());
        contents.insert(read.document.id.to_string(), text);
    }
    contents
}

pub(super) fn all(moment: Moment) -> RestoreRequest {
    RestoreRequest { moment, documents: None, deletes_newer: true, is_trial: false }
}

/// The seeds of schedules: so many, or `FEEDSYNC_SCHEDULES`, or the single one `FEEDSYNC_SEED`.
fn seeds(schedules: u64) -> Range<u64> {
    let number = |name: &str| std::env::var(name).ok()?.parse().ok();
    match (number("FEEDSYNC_SEED"), number("FEEDSYNC_SCHEDULES")) {
        (Some(seed), _) => seed..seed + 1,
        (None, wanted) => 0..wanted.unwrap_or(schedules),
    }
}

/// A client deletes or overwrites everything, compactions and sweeps follow, and the state before is restored, with its
/// attachments. Replicas get it as edits. A second restore finds nothing to do.
#[test]
fn state_before_a_loss_is_restored_completely() {
    for seed in seeds(100) {
        let mut random = SmallRng::seed_from_u64(seed);
        let past = PastRoom::new();
        let (room, replica) = (&past.room, Room::new());
        let ids = ["a", "b", "c", "d", "e", "f"];
        let edit = |past: &PastRoom, random: &mut SmallRng| {
            let id = ids[random.random_range(0..ids.len())];
            let attached = match random.random_range(0..3) {
                0 => format!(
                    ",\"_attachments\":{{\"n\":{{\"data\":\"QUF{}\"}}}}",
                    ["B", "C"][random.random_range(0..2)]
                ),
                _ => String::new(),
            };
            match random.random_range(0..6) {
                0 if past.contents().contains_key(id) => drop(past.put(id, ",\"_deleted\":true")),
                1 => {
                    let rev =
                        format!("{}-{:032x}", random.random_range(1..4), random.random_range(0..9));
                    let text = format!("{{\"_id\":\"{id}\",\"_rev\":\"{rev}\",\"c\":1}}");
                    room.write(&[&text], Edits::Replicated).unwrap();
                }
                _ => {
                    drop(past.put(id, &format!(",\"n\":{}{attached}", random.random_range(0..99))))
                }
            }
            past.pass(random.random_range(0..3));
        };
        for _ in 0..random.random_range(3..20) {
            edit(&past, &mut random);
        }
        let (moment, before) = (past.now(), past.contents());
        match random.random_range(0..3) {
            0 => before.keys().for_each(|id| drop(past.put(id, ",\"_deleted\":true"))),
            1 => before.keys().for_each(|id| drop(past.put(id, ",\"x\":\"y\""))),
            _ => {
                let path = |revision: &Revision| {
                    let new = (0..1_001).map(|at| format!("\"{at:032x}\""));
                    let old = format!("\"{}\"", revision.signature());
                    let ids: Vec<String> = new.chain([old]).collect();
                    let start = revision.generation() + 1_001;
                    format!("{{\"start\":{start},\"ids\":[{}]}}", ids.join(","))
                };
                for read in room.changes() {
                    let (id, tree) = (read.document.id, read.document.tree);
                    let path = path(tree.winner().unwrap().revision);
                    let text = format!("{{\"_id\":\"{id}\",\"_revisions\":{path},\"gone\":1}}");
                    room.write(&[&text], Edits::Replicated).unwrap();
                }
            }
        }
        past.put("newer", ",\"n\":1");
        past.pass(3 * 24 * 60 * 60);
        wait(room.endpoint.compact_database(&room.name)).unwrap();
        let summary = past.restore(&all(moment));
        assert_eq!(past.contents(), before, "FEEDSYNC_SEED={seed}");
        assert!(summary.deleted > 0 && summary.refused == 0, "{summary:?}");
        replica.take(room);
        assert_eq!(contents(&replica), before, "FEEDSYNC_SEED={seed}");
        let again = past.restore(&all(moment));
        let unchanged = room.changes().len() as u64;
        assert_eq!(again, RestoreSummary { unchanged, ..RestoreSummary::default() });
    }
}

#[test]
fn restore_writes_only_what_is_asked() {
    let past = PastRoom::new();
    for id in ["a", "b", "c"] {
        past.put(id, ",\"n\":1");
    }
    let moment = past.now();
    for id in ["a", "b", "new"] {
        past.put(id, ",\"n\":2");
    }
    past.put("c", ",\"_deleted\":true");
    let before = past.contents();
    let trial = past.restore(&RestoreRequest { is_trial: true, ..all(moment) });
    let expected = RestoreSummary { restored: 3, deleted: 1, ..RestoreSummary::default() };
    assert_eq!((trial, past.contents()), (expected, before.clone()));
    let ids = ["a", "none", "new"].map(|id| id.parse().unwrap()).to_vec();
    let some = RestoreRequest { documents: Some(ids), deletes_newer: false, ..all(moment) };
    let expected = RestoreSummary { restored: 1, newer: 1, ..RestoreSummary::default() };
    assert_eq!(past.restore(&some), expected);
    let text = |id: &str| past.contents().get(id).map(|(text, _)| text.clone());
    assert_eq!(text("a").as_deref(), Some("{\"n\":1}"));
    assert_eq!(text("b"), Some(before["b"].0.clone()));
    assert_eq!((text("c"), text("new").is_some()), (None, true));
    let rest = past.restore(&all(moment));
    let expected =
        RestoreSummary { restored: 2, deleted: 1, unchanged: 1, ..RestoreSummary::default() };
    assert_eq!(rest, expected);
}

/// More documents than one batch has are restored, also if they are named.
#[test]
fn restore_covers_all_batches() {
    let past = PastRoom::new();
    let texts: Vec<String> =
        (0..350).map(|at| format!("{{\"_id\":\"{at:03}\",\"n\":1}}")).collect();
    let revisions = past.write_as(None, &texts);
    let moment = past.now();
    let gone = (0..350).zip(&revisions);
    let gone =
        gone.map(|(at, it)| format!("{{\"_id\":\"{at:03}\",\"_rev\":\"{it}\",\"_deleted\":true}}"));
    past.write_as(None, &gone.collect::<Vec<_>>());
    let ids: Vec<DocumentId> = (0..130).map(|at| format!("{at:03}").parse().unwrap()).collect();
    let named = past.restore(&RestoreRequest { documents: Some(ids), ..all(moment) });
    assert_eq!(named, RestoreSummary { restored: 130, ..RestoreSummary::default() });
    let rest = past.restore(&all(moment));
    assert_eq!((rest.restored, rest.unchanged), (220, 130));
}

/// A restored document is validated as any other edit, and a refusal concerns it alone.
#[test]
fn restore_names_documents_that_are_refused() {
    let (room, _judge) = validation::room();
    let database = || wait(room.databases.database(&room.name)).unwrap().unwrap();
    let history = History::Kept { seconds: 60 };
    wait(room.endpoint.set_history(&database(), history)).unwrap();
    let written = ["{\"_id\":\"a\",\"n\":\"bad\"}", "{\"_id\":\"b\",\"n\":1}"];
    let written = room.write(&written, Edits::New).unwrap();
    let moment = database().past.last;
    let gone = |id: &str, at: usize| {
        format!("{{\"_id\":\"{id}\",\"_rev\":\"{}\",\"_deleted\":true}}", written[at])
    };
    room.write(&[&gone("a", 0), &gone("b", 1)], Edits::New).unwrap();
    room.write(&[&validation::design("bad")], Edits::New).unwrap();
    let writer = room.endpoint.documents_writer(Author::SERVER);
    let request = RestoreRequest { deletes_newer: false, ..all(moment) };
    let summary = wait(writer.restore(&database(), &database(), &request)).unwrap();
    assert_eq!((summary.restored, summary.refused, summary.newer), (1, 1, 1));
    let [(id, refusal)] = &summary.refusals[..] else { panic!("{summary:?}") };
    assert_eq!((id.as_str(), refusal.kind), ("a", RefusalKind::Forbidden));
}

#[test]
fn moment_before_the_history_is_refused() {
    let past = PastRoom::new();
    let since = past.database().past.since.unwrap();
    let writer = past.room.endpoint.documents_writer(Author::SERVER);
    let refused = |request: &RestoreRequest| {
        wait(writer.restore(&past.database(), &past.database(), request))
    };
    let early = refused(&all(since.previous()));
    assert!(matches!(early, Err(RestoreError::Unknown { since: it }) if it == Some(since)));
    assert!(refused(&all(since)).is_ok());
    past.keep(History::Off);
    let off = refused(&all(since));
    assert!(matches!(off, Err(RestoreError::Unknown { since: None })));
}

#[test]
fn ended_revisions_of_a_document_name_their_writers() {
    let past = PastRoom::new();
    let mut revisions: Vec<Revision> = Vec::new();
    for name in ["anna", "ben", "carl"] {
        let base = revisions.last().map_or(String::new(), |it| format!(",\"_rev\":\"{it}\""));
        let text = format!("{{\"_id\":\"a\"{base},\"by\":\"{name}\"}}");
        revisions.extend(past.write_as(Some(name), &[text]));
        past.pass(1);
    }
    let id: DocumentId = "a".parse().unwrap();
    let databases = past.room.endpoint.databases();
    let ended = wait(databases.ended_revisions(&past.room.name, Some(&id), None, 9)).unwrap();
    revisions.reverse();
    assert_eq!(ended.iter().map(|it| it.revision.clone()).collect::<Vec<_>>(), revisions[1..]);
    let author = |origin: &WriteOrigin| origin.author.clone().unwrap().to_string();
    let writers = ended.iter().map(|it| (author(it.written.as_ref().unwrap()), author(&it.ended)));
    let writers: Vec<_> = writers.collect();
    let pair = |written: &str, ended: &str| (written.to_owned(), ended.to_owned());
    assert_eq!(writers, [pair("ben", "carl"), pair("anna", "ben")]);
    let page = past.room.endpoint.documents_at(
        &past.room.name,
        ended[0].written.clone().unwrap().moment,
        PastRange::Ids(vec![id.clone()]),
        u64::MAX,
    );
    let PastPage::Known { documents, .. } = wait(page).unwrap() else { panic!("it is known") };
    assert_eq!(&*documents[0].leaves[0].body.text, "{\"by\":\"ben\"}");
}

#[test]
fn expired_histories_are_removed() {
    let past = PastRoom::new();
    past.keep(History::Kept { seconds: 100 });
    let moments: Vec<Moment> = (0..4)
        .map(|number| {
            past.put("a", &format!(",\"n\":{number}"));
            past.pass(49);
            past.now()
        })
        .collect();
    wait(past.room.endpoint.compact_database(&past.room.name)).unwrap();
    assert!(past.database().past.bytes > 0);
    wait(past.room.endpoint.expire_histories()).unwrap();
    let is_known = |moment: &Moment| {
        let range = PastRange::After { after: None, most: 9 };
        let page = past.room.endpoint.documents_at(&past.room.name, *moment, range, 99);
        matches!(wait(page).unwrap(), PastPage::Known { .. })
    };
    assert_eq!(moments.iter().map(is_known).collect::<Vec<_>>(), [false, false, true, true]);
    past.keep(History::Off);
    wait(past.room.endpoint.expire_histories()).unwrap();
    let after = past.database();
    assert_eq!((after.past.bytes, after.superseded), (0, 0));
}

/// A compaction cannot remove what the history keeps, so that its bytes alone do not cause one.
#[test]
fn bytes_of_the_history_cause_no_compaction() {
    let past = PastRoom::new();
    let long = format!(",\"long\":\"{}\"", "x".repeat(3 << 20));
    past.put("a", &long);
    past.put("a", ",\"n\":1");
    assert_eq!(wait(past.room.endpoint.compact_databases()).unwrap(), 1);
    let after = past.database();
    assert!(after.superseded >= 3 << 20 && after.past.bytes == after.superseded, "{after:?}");
    assert_eq!(wait(past.room.endpoint.compact_databases()).unwrap(), 0);
}

#[test]
fn loss_of_more_than_a_quarter_within_an_hour_is_detected() {
    let deleted = ",\"_deleted\":true";
    let marked = ",\"deleted\":true";
    // Documents, lost ones, seconds since the loss, and whether it is a mass loss.
    for (count, lost, seconds, is_loss) in [
        (100, 26, 10, true),
        (100, 25, 10, false),
        (100, 26, 3_601, false),
        (20, 20, 10, true),
        (19, 19, 10, false),
        (300, 80, 3_500, true),
    ] {
        for how in [deleted, marked] {
            let past = PastRoom::new();
            let loss = || {
                let loss = past.room.endpoint.mass_loss(&past.room.name);
                wait(loss).unwrap()
            };
            let new = |at: u64| format!("{{\"_id\":\"{at:03}\",\"n\":1}}");
            let written = past.write_as(None, &(0..count).map(new).collect::<Vec<_>>());
            // Documents that were deleted before do not count.
            for number in 0..30 {
                let id = format!("\"_id\":\"old{number}\"");
                let revision = past.write_as(None, &[format!("{{{id}}}")]).remove(0);
                past.write_as(None, &[format!("{{{id},\"_rev\":\"{revision}\"{deleted}}}")]);
            }
            past.pass(5_000);
            let gone = written.iter().enumerate().take(lost);
            let gone =
                gone.map(|(at, it)| format!("{{\"_id\":\"{at:03}\",\"_rev\":\"{it}\"{how}}}"));
            past.write_as(None, &gone.collect::<Vec<_>>());
            // New documents do not hide the loss.
            let new = |at: u64| format!("{{\"_id\":\"new{at:03}\",\"n\":1}}");
            past.write_as(None, &(0..250).map(new).collect::<Vec<_>>());
            past.pass(seconds);
            let found = loss();
            assert_eq!(found.is_some(), is_loss, "{count} {lost} {seconds} {how}: {found:?}");
            if let Some(found) = found {
                assert_eq!((found.existed, found.lost), (count, lost as u64));
            }
        }
    }
    // Notes have many chunks, which do not hide a loss.
    let past = PastRoom::new();
    let chunk = |at: u64| format!("{{\"_id\":\"h:{at:03}\",\"type\":\"leaf\"}}");
    past.write_as(None, &(0..400).map(chunk).collect::<Vec<_>>());
    let note = |at: u64| format!("{{\"_id\":\"note{at:02}\"}}");
    let notes = past.write_as(None, &(0..40).map(note).collect::<Vec<_>>());
    past.pass(5_000);
    let gone = notes.iter().enumerate().take(30);
    let gone = gone.map(|(at, revision)| {
        format!("{{\"_id\":\"note{at:02}\",\"_rev\":\"{revision}\",\"deleted\":true}}")
    });
    past.write_as(None, &gone.collect::<Vec<_>>());
    let loss = past.room.endpoint.mass_loss(&past.room.name);
    let loss = wait(loss).unwrap().unwrap();
    assert_eq!((loss.existed, loss.lost), (40, 30));
    let room = Room::new();
    let none = room.endpoint.mass_loss(&room.name);
    assert_eq!(wait(none).unwrap(), None, "without a history nothing is known");
}
