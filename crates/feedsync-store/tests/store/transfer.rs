//! A store is moved into another one of any kind without loss.

use std::any::Any;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use feedsync_core::By;
use feedsync_store::conformance::logs::{append, begun, done, grown, read_all};
use feedsync_store::conformance::samples::{
    all, by, create, deleted, id, item, named, put, sequence, store_each, version, write,
};
use feedsync_store::conformance::{TestEnvironment, wait};
use feedsync_store::{
    Append, AuditAction, AuditSelection, ChangeNumber, Collection, CollectionName, Digest,
    DiscardedId, EndpointName, Environment as _, Expected, Grant, GrantFilter, ItemStore as _,
    MemoryStore, Moment, NewGeneration, NewRemote, NewSnapshot, Origin, PostgresStore, Put, Remote,
    RemoteState, Role, Scope, SqliteStore, StoreError, Token, TokenKind, Transfer, TransferReport,
    User, UserName, Write, transfer,
};
use feedsync_test::postgres::Cluster;

use crate::transfer_databases;

/// A store, with values that must live as long as it does.
pub(crate) type Kept = (Arc<dyn Transfer>, Box<dyn Any>);

pub(crate) fn environment(seed: u64) -> Arc<TestEnvironment> {
    Arc::new(TestEnvironment::new(seed))
}

pub(crate) fn tester() -> EndpointName {
    EndpointName::new("tester").unwrap()
}

pub(crate) fn memory(seed: u64) -> Kept {
    (Arc::new(MemoryStore::new(&tester(), environment(seed))), Box::new(()))
}

pub(crate) fn sqlite(seed: u64) -> Kept {
    let directory = tempfile::tempdir().unwrap();
    let store = SqliteStore::init(directory.path(), &tester(), environment(seed)).unwrap();
    (Arc::new(store), Box::new(directory))
}

pub(crate) fn postgres(seed: u64) -> Kept {
    let url = Cluster::shared().database();
    let store = wait(PostgresStore::init(&url, &tester(), environment(seed))).unwrap();
    (Arc::new(store), Box::new(()))
}

/// Fills a store with data of every kind.
fn fill(store: &dyn Transfer) {
    let notes = create(store, "notes").name;
    create(store, "empty");
    let url = "http://example.org/notes".to_owned();
    let new = NewRemote {
        collection: notes.clone(),
        name: Some("a".to_owned()),
        url,
        subscription: None,
    };
    let gone = wait(store.add_remote(NewRemote { url: "http://gone".to_owned(), ..new.clone() }));
    wait(store.remove_remote(gone.unwrap().id)).unwrap();
    let remote = wait(store.add_remote(new.clone())).unwrap();
    let late = wait(store.add_remote(NewRemote { url: "http://late".to_owned(), ..new })).unwrap();
    wait(store.remove_remote(late.id)).unwrap();
    let state = RemoteState {
        until: Some("u".to_owned()),
        pushed: ChangeNumber::new(3),
        may_lack: true,
        failures: 2,
        succeeded: Some(Moment::from_micros(7)),
        ..RemoteState::default()
    };
    wait(store.change_remote(Remote { state, ..remote.clone() })).unwrap();
    let names: Vec<String> = (0..450).map(|number| format!("item{number:03}")).collect();
    for name in &names {
        store_each(store, &notes, &[name]);
    }
    let blobs: Vec<Digest> =
        ["one", "two"].map(|text| wait(store.put_blob(text.into())).unwrap()).into();
    let mut conflicted = item("conflicted", "A", 3);
    conflicted.conflicts = vec![version("B", 1, "<b/>"), version("C", 2, "<c/>")];
    let origin = Origin::Remote(remote.id);
    let from_there = Put { item: conflicted, created_here: false, origin, blobs };
    let act = AuditAction {
        user: Some(user("anna").name),
        address: None,
        action: "edit".to_owned(),
        collection: Some(notes.clone()),
        item: Some(id("conflicted")),
        detail: "why".to_owned(),
    };
    let issue = |item: &str, line: By, number: u32| Write::Issue {
        item: id(item),
        by: line,
        sequence: sequence(number),
    };
    let keys = ["conflicted", "dead", "item001", "item002", "item003"];
    let writes = vec![
        Write::Put(from_there),
        put(deleted(item("dead", "A", 2))),
        issue("conflicted", by("tester.x"), 4),
        issue("conflicted", by("tester.y"), 1),
        Write::Reincarnate { by: by("tester.again") },
        issue("dead", by("tester.x"), 2),
        Write::Purge { ids: vec![id("item001")] },
        Write::Discard { ids: vec![id("item002"), id("item003")], reason: "gone".to_owned() },
        Write::Record(act.clone()),
    ];
    write(store, &notes, &keys, writes).unwrap();
    let discard = Write::Discard { ids: vec![id("item004")], reason: "gone".to_owned() };
    write(store, &notes, &["item004"], vec![discard]).unwrap();
    write(store, &notes, &[], vec![Write::Recovered(DiscardedId(3))]).unwrap();
    create(store, "dropped");
    begun(store, &named("dropped"), b"gone\n");
    wait(store.drop_collection(&named("dropped"))).unwrap();
    wait(store.mark_sent(&notes, ChangeNumber::new(400))).unwrap();
    wait(store.add_user(user("anna"))).unwrap();
    wait(store.add_user(User { administrator: false, password: None, ..user("berta") })).unwrap();
    let grant = Grant { user: user("berta").name, collection: notes.clone(), role: Role::Editor };
    wait(store.grant(grant)).unwrap();
    let token = Token {
        digest: Digest::of(b"token"),
        user: user("berta").name,
        kind: TokenKind::Access,
        label: "phone".to_owned(),
        scope: Scope { role: Some(Role::Reader), collection: Some(notes) },
        created: Moment::from_micros(5),
        expires: Some(Moment::from_micros(50)),
    };
    wait(store.add_token(token)).unwrap();
    fill_logs(store);
    transfer_databases::fill(store);
    for number in 0..450 {
        wait(store.record(AuditAction { detail: number.to_string(), ..act.clone() })).unwrap();
    }
}

/// A log with a snapshot, keys and an earlier generation, and one that was removed.
fn fill_logs(store: &dyn Transfer) {
    let (notes, empty) = (named("notes"), named("empty"));
    begun(store, &notes, b"one\n");
    for number in 0..3 {
        let key = Some(format!("key{number}"));
        let append = Append { key, ..append(Expected::Present, b"more\n") };
        done(wait(store.append_to_log(&notes, append)));
    }
    let bytes = b"compact\n".repeat(200_000);
    let new = NewGeneration { expected: Expected::Present, bytes, most: u64::MAX, act: None };
    let covers = done(wait(store.begin_log_generation(&notes, new))).place;
    let (media_type, bytes) = ("application/json".to_owned(), b"{}".to_vec());
    done(wait(store.put_log_snapshot(&notes, NewSnapshot { covers, media_type, bytes })));
    grown(store, &notes, b"last\n");
    begun(store, &empty, b"gone\n");
    done(wait(store.remove_log(&empty, Expected::Present, None)));
}

/// Everything that a transfer preserves of a log; its generation changes.
fn log_contents(store: &dyn Transfer, name: &CollectionName) -> String {
    let Some(log) = wait(store.log(name)).unwrap() else { return "no log".to_owned() };
    let snapshot = wait(store.log_snapshot(name)).unwrap();
    if let Some((snapshot, _)) = &snapshot {
        assert_eq!(snapshot.covers.generation, log.place.generation, "it stands for what is there");
    }
    format!(
        "{} {} {} {:?} {:?} {:?} {:?}",
        log.media_type,
        log.removed,
        log.place.length,
        log.changed,
        snapshot.map(|(snapshot, bytes)| (snapshot.covers.length, snapshot.digest, bytes)),
        wait(store.log_keys(name)).unwrap(),
        read_all(store, name, log.place.generation).map(|bytes| Digest::of(&bytes)),
    )
}

fn user(name: &str) -> User {
    User {
        id: feedsync_store::UserId::new(&format!(
            "{:x}",
            name.len() * 256 + name.as_bytes()[0] as usize
        ))
        .unwrap(),
        name: UserName::new(name).unwrap(),
        password: Some("$argon2id$...".to_owned()),
        administrator: true,
        disabled: false,
        databases_only: false,
        created: Moment::from_micros(3),
    }
}

/// Everything that is moved, as text.
fn contents(store: &dyn Transfer) -> Vec<String> {
    let mut lines = vec![format!("{:?}", wait(store.remotes(None)).unwrap())];
    let epoch = "0".repeat(25).parse().unwrap();
    for collection in wait(store.collections()).unwrap() {
        let name = collection.name.clone();
        lines.push(format!("{:?}", Collection { epoch, ..collection }));
        lines.extend(all(store, &name).iter().map(|stored| format!("{stored:?}")));
        lines.push(format!("{:?}", wait(store.purged(&name, None, 999)).unwrap()));
        lines.push(format!("{:?}", wait(store.discarded(&name)).unwrap()));
        lines.push(log_contents(store, &name));
    }
    lines.extend(transfer_databases::contents(store));
    lines.push(format!("{:?}", wait(store.ledger(None, 999)).unwrap()));
    for digest in wait(store.blobs(None, 999)).unwrap() {
        lines.push(format!("{digest} {:?}", wait(store.blob(digest)).unwrap()));
    }
    for user in wait(store.users()).unwrap() {
        lines.push(format!("{user:?} {:?}", user.password));
        lines.push(format!("{:?}", wait(store.grants(GrantFilter::User(&user.name))).unwrap()));
        lines.push(format!("{:?}", wait(store.tokens(&user.name)).unwrap()));
    }
    let selection = AuditSelection { limit: 999, ..Default::default() };
    let acts = wait(store.acts(selection)).unwrap();
    lines.extend(acts.iter().map(|recorded| format!("{:?} {:?}", recorded.at, recorded.act)));
    lines
}

/// Transfers between all kinds of stores, one after the other; all earlier incarnations are retained.
#[test]
fn a_store_is_moved_between_all_kinds_and_loses_nothing() {
    let (mut store, mut kept) = memory(1);
    fill(&*store);
    let expected = contents(&*store);
    let kinds: [fn(u64) -> Kept; 6] = [sqlite, postgres, sqlite, memory, postgres, memory];
    for (seed, kind) in (2..).zip(kinds) {
        let (next, next_kept) = kind(seed);
        let told = Mutex::new(Vec::new());
        let moved = wait(transfer(&*store, &*next, &|moved| told.lock().unwrap().push(*moved)));
        let expected_counts = TransferReport {
            collections: 2,
            items: 448,
            purged: 1,
            discarded: 2,
            signed: 2,
            logs: 2,
            databases: 2,
            documents: 457,
            attachments: 3,
            remotes: 1,
            blobs: 2,
            users: 2,
            tokens: 1,
            acts: 451,
        };
        assert_eq!(moved.unwrap(), expected_counts);
        let told = told.into_inner().unwrap();
        assert!(told.len() > 5 && told.last().unwrap().acts == 451, "{told:?}");
        assert!(told.windows(2).all(|pair| pair[0].items <= pair[1].items));
        let moved = contents(&*next);
        assert_eq!(moved.len(), expected.len());
        moved.iter().zip(&expected).for_each(|(moved, expected)| assert_eq!(moved, expected));
        let before = wait(store.identity()).unwrap();
        let after = wait(next.identity()).unwrap();
        assert_eq!(after.retired, [before.retired, vec![before.by]].concat());
        assert!(!after.retired.contains(&after.by), "a new incarnation");
        let epoch =
            |store: &dyn Transfer| wait(store.collection(&named("notes"))).unwrap().unwrap().epoch;
        assert!(epoch(&*next) > epoch(&*store), "a new epoch");
        let log = |store: &dyn Transfer| wait(store.log(&named("notes"))).unwrap().unwrap();
        let (before, after) = (log(&*store), log(&*next));
        assert!(after.place.generation > before.place.generation, "a new generation");
        assert!(after.earlier.is_empty());
        assert_eq!(wait(next.marks()).unwrap().last_dropped_generation, 1, "logs begin later");
        assert_eq!(read_all(&*next, &named("notes"), before.place.generation), None);
        (store, kept) = (next, next_kept);
    }
    // Later changes take numbers and ids that were never issued, even those of removed objects.
    let notes = named("notes");
    let last = wait(store.collection(&notes)).unwrap().unwrap().last;
    let discard = Write::Discard { ids: vec![id("new")], reason: "gone".to_owned() };
    let writes = vec![put(item("new", "A", 1)), discard];
    let after = write(&*store, &notes, &["new"], writes).unwrap();
    assert_eq!(after.last.get(), last.get() + 2);
    assert_eq!(begun(&*store, &named("empty"), b"again\n").place.generation.number(), 3);
    grown(&*store, &notes, b"more\n");
    assert_eq!(wait(store.discarded(&notes)).unwrap().last().unwrap().id.0, 4);
    let new = NewRemote {
        collection: notes,
        name: None,
        url: "http://new".to_owned(),
        subscription: None,
    };
    assert_eq!(wait(store.add_remote(new)).unwrap().id.0, 4);
    drop(kept);
}

/// Moves a store and stops in the middle, to be killed there.
#[test]
#[ignore = "run as a child process by the other tests"]
fn mover() {
    let (from, _kept) = memory(1);
    fill(&*from);
    let place = std::env::var(PLACE).expect("set by the parent");
    let to: Arc<dyn Transfer> = if place.starts_with("host=") {
        Arc::new(wait(PostgresStore::init(&place, &tester(), environment(2))).unwrap())
    } else {
        Arc::new(SqliteStore::init(Path::new(&place), &tester(), environment(2)).unwrap())
    };
    let stop = |moved: &TransferReport| {
        if moved.items > 0 {
            println!("\nhalf");
            loop {
                std::thread::park();
            }
        }
    };
    wait(transfer(&*from, &*to, &stop)).unwrap();
}

/// Name of the variable with the target of the move.
const PLACE: &str = "FEEDSYNC_MOVE_TO";

/// Kills a process while it moves a store to a target.
fn move_half(place: &str) {
    let mut mover = Command::new(std::env::current_exe().unwrap())
        .args(["transfer::mover", "--exact", "--ignored", "--nocapture"])
        .env(PLACE, place)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let said = BufReader::new(mover.stdout.take().unwrap());
    assert!(said.lines().any(|line| line.unwrap() == "half"), "it was in the middle");
    mover.kill().unwrap();
    mover.wait().unwrap();
}

/// A killed transfer leaves what looks like a store; if it could be opened, it would be served although it is
/// incomplete.
#[test]
fn incompletely_moved_store_is_not_opened() {
    let directory = tempfile::tempdir().unwrap();
    move_half(directory.path().to_str().unwrap());
    let url = Cluster::shared().database();
    move_half(&url);
    for _ in 0..2 {
        let opened = SqliteStore::open(directory.path(), environment(3)).err().unwrap();
        assert!(matches!(opened, StoreError::Unfinished { .. }), "{opened}");
        let opened = wait(PostgresStore::open(&url, environment(3))).unwrap_err();
        assert!(matches!(opened, StoreError::Unfinished { .. }), "{opened}");
        assert!(opened.to_string().contains("migrate again"), "{opened}");
    }
}

#[test]
fn a_store_is_moved_into_an_empty_one_of_its_name_only() {
    for kind in [memory, sqlite, postgres] {
        let (from, _kept) = memory(1);
        fill(&*from);
        let (to, _kept) = kind(2);
        create(&*to, "other");
        let refused = wait(transfer(&*from, &*to, &|_| ())).unwrap_err();
        assert!(matches!(refused, StoreError::Transfer(_)), "{refused}");
        assert_eq!(wait(to.collections()).unwrap().len(), 1);
        let names = (wait(to.identity()).unwrap().retired, wait(to.users()).unwrap());
        assert_eq!(names, (vec![], vec![]), "nothing was moved");
    }
    let (from, _kept) = memory(1);
    let other = EndpointName::new("other").unwrap();
    let other = MemoryStore::new(&other, environment(2));
    assert!(matches!(wait(transfer(&*from, &other, &|_| ())), Err(StoreError::Transfer(_))));
}

/// Even if the clock is behind that of the old store, no epoch is issued again.
#[test]
fn epochs_of_a_moved_store_are_later_whatever_the_clock_says() {
    for kind in [memory, sqlite, postgres] {
        let late = environment(1);
        late.set(Moment::from_micros(late.now().micros() + 1_000_000_000));
        let from = MemoryStore::new(&tester(), late);
        create(&from, "notes");
        let epoch = create(&from, "books").epoch;
        wait(from.drop_collection(&named("books"))).unwrap();
        let (to, _kept) = kind(2);
        wait(transfer(&from, &*to, &|_| ())).unwrap();
        assert!(wait(to.collections()).unwrap()[0].epoch > epoch);
        assert!(create(&*to, "books").epoch > epoch, "also than those of what was dropped");
    }
}
