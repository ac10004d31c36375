//! Locks, waits and rejections of transactions of a PostgreSQL store.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use feedsync_core::Format;
use feedsync_couch::AttachmentDigest;
use feedsync_store::conformance::samples::{all, create, item, named, put, store_each, write};
use feedsync_store::conformance::wait;
use feedsync_store::{
    Alteration, AlterationDecision, AuditAction, ChangeNumber, Collection, CollectionChange,
    Databases as _, Digest, DocumentsSnapshot, EndpointName, Epoch, Grant, ItemStore as _, Moment,
    NewCollection, NewRemote, Origin, PastDocuments as _, People as _, PostgresStore, Put, Remote,
    RemoteId, RemoteState, Role, Scope, Snapshot, StoreError, SystemEnvironment, Token, TokenKind,
    Transfer as _, TransferPart, User, UserName, Write,
};
use feedsync_test::postgres::Cluster;

fn open(url: &str) -> Result<PostgresStore, StoreError> {
    wait(PostgresStore::open(url, Arc::new(SystemEnvironment)))
}

/// A store with a collection of notes.
fn notes() -> (String, Arc<PostgresStore>) {
    let url = Cluster::shared().database();
    let name = EndpointName::new("tester").unwrap();
    let store = wait(PostgresStore::init(&url, &name, Arc::new(SystemEnvironment))).unwrap();
    create(&store, "notes");
    (url, Arc::new(store))
}

/// A newer schema is usable unless it is marked as incompatible. Then the store cannot be opened, and a node
/// that has it open can read and writes nothing.
#[test]
fn a_schema_that_is_too_new_is_refused() {
    let cluster = Cluster::shared();
    let (url, store) = notes();
    let name = url.rsplit('=').next().unwrap();
    // A sweep writes nothing if there is nothing to remove.
    let (documents, digest) = ("documents".parse().unwrap(), AttachmentDigest::of(b"swept"));
    wait(store.create_database(&documents, Default::default())).unwrap().unwrap();
    assert!(wait(store.put_attachment(&documents, &digest, b"swept".to_vec())).unwrap());
    cluster.sql(name, "UPDATE feedsync.schema SET version = 99");
    store_each(&open(&url).unwrap(), &named("notes"), &["a"]);
    cluster.sql(name, "UPDATE feedsync.schema SET oldest_compatible = 98");
    let refused = open(&url).err().unwrap();
    assert!(matches!(refused, StoreError::Newer { found: 99, known: 13, .. }), "{refused}");
    for (what, refused) in all_writes(&store) {
        assert!(matches!(refused, Err(StoreError::Newer { .. })), "{what}: {refused:?}");
    }
    assert!(matches!(wait(store.identity()), Err(StoreError::Newer { .. })));
    assert_eq!(all(&*store, &named("notes")).len(), 1);
}

/// Runs one write of each kind; returns the results.
fn all_writes(store: &PostgresStore) -> Vec<(&'static str, Result<(), StoreError>)> {
    let notes = named("notes");
    let url = "http://example.org".to_owned();
    let new = NewRemote { collection: notes.clone(), name: None, url, subscription: None };
    let remote = Remote {
        id: RemoteId(1),
        collection: notes.clone(),
        name: None,
        url: new.url.clone(),
        state: RemoteState::default(),
        subscription: None,
    };
    let anna = UserName::new("anna").unwrap();
    let now = Moment::from_micros(1);
    let user = User {
        id: feedsync_store::UserId::new("a1").unwrap(),
        name: anna.clone(),
        password: None,
        administrator: true,
        disabled: false,
        databases_only: false,
        created: now,
    };
    let token = Token {
        digest: Digest::of(b"token"),
        user: anna.clone(),
        kind: TokenKind::Access,
        label: String::new(),
        scope: Scope::default(),
        created: now,
        expires: None,
    };
    let act = AuditAction {
        user: None,
        address: None,
        action: "edit".to_owned(),
        collection: None,
        item: None,
        detail: String::new(),
    };
    let books = NewCollection {
        name: named("books"),
        title: String::new(),
        format: Format::Atom,
        settings: BTreeMap::new(),
    };
    let grant = Grant { user: anna.clone(), collection: notes.clone(), role: Role::Owner };
    let title = CollectionChange { title: Some("x".to_owned()), ..Default::default() };
    let written = write(store, &notes, &["b"], vec![put(item("b", "A", 1))]);
    vec![
        ("update", written.map(drop)),
        ("mark_sent", wait(store.mark_sent(&notes, ChangeNumber::new(1)))),
        ("create", wait(store.create_collection(books)).map(drop)),
        ("change", wait(store.change_collection(&notes, title)).map(drop)),
        ("drop", wait(store.drop_collection(&notes))),
        ("add_remote", wait(store.add_remote(new)).map(drop)),
        ("change_remote", wait(store.change_remote(remote))),
        ("reschedule", wait(store.reschedule(RemoteId(1), None, now)).map(drop)),
        ("remove_remote", wait(store.remove_remote(RemoteId(1)))),
        ("put_blob", wait(store.put_blob(b"x".to_vec())).map(drop)),
        ("sweep_blobs", wait(store.sweep_blobs(now)).map(drop)),
        ("add_user", wait(store.add_user(user.clone()))),
        ("change_user", wait(store.change_user(user))),
        ("remove_user", wait(store.remove_user(&anna))),
        ("grant", wait(store.grant(grant))),
        ("revoke", wait(store.revoke(&anna, &notes)).map(drop)),
        ("add_token", wait(store.add_token(token))),
        ("remove_token", wait(store.remove_token(Digest::of(b"token")))),
        ("remove_expired_tokens", wait(store.remove_expired_tokens(now)).map(drop)),
        ("record", wait(store.record(act))),
        ("remove_acts", wait(store.remove_acts(now)).map(drop)),
        ("load", wait(store.load(TransferPart::End))),
    ]
    .into_iter()
    .chain(all_writes_of_databases(store))
    .collect()
}

/// The same for databases. No database of this name needs to exist.
fn all_writes_of_databases(store: &PostgresStore) -> Vec<(&'static str, Result<(), StoreError>)> {
    let (name, now) = ("documents".parse().unwrap(), Moment::from_micros(1));
    let (local, digest) = ("a".parse().unwrap(), AttachmentDigest::of(b"x"));
    let nothing = Box::new(|_: &DocumentsSnapshot| Vec::new());
    let epoch = Epoch::begin(None, now, 0);
    let put_local = store.put_local_document(&name, epoch, &local, None);
    let put = store.put_attachment(&name, &digest, b"x".to_vec());
    let changed = store.change_database(&name, epoch, Default::default());
    vec![
        ("create_database", wait(store.create_database(&name, Default::default())).map(drop)),
        ("drop_database", wait(store.drop_database(&name, epoch))),
        ("drop_and_keep", wait(store.drop_and_keep_database(&name, epoch, None)).map(drop)),
        ("undrop_database", wait(store.undrop_database(&name, epoch)).map(drop)),
        ("change_database", wait(changed).map(drop)),
        ("update_documents", wait(store.update_documents(&name, Vec::new(), nothing)).map(drop)),
        ("put_local_document", wait(put_local).map(drop)),
        ("compact_documents", wait(store.compact_documents(&name, None, 9)).map(drop)),
        ("put_attachment", wait(put).map(drop)),
        ("sweep_attachments", wait(store.sweep_attachments(None, Moment::MAX)).map(drop)),
        ("sweep_databases", wait(store.sweep_databases()).map(drop)),
    ]
}

/// Runs SQL in its own transaction, which stays open for a second; returns when the SQL has run.
fn meanwhile(cluster: &'static Cluster, database: &str, sql: &str) -> thread::JoinHandle<()> {
    let (name, sql) = (database.to_owned(), format!("{sql}; SELECT pg_sleep(1)"));
    let open = thread::spawn(move || drop(cluster.sql(&name, &sql)));
    let sleeping = format!(
        "SELECT count(*) FROM pg_stat_activity
          WHERE datname = '{database}' AND wait_event = 'PgSleep'"
    );
    while cluster.sql(database, &sleeping) != "1" {
        thread::sleep(Duration::from_millis(10));
    }
    open
}

/// A write that begins during a migration runs after it.
#[test]
fn a_write_and_a_migration_exclude_each_other() {
    let cluster = Cluster::shared();
    let (url, store) = notes();
    let migrating = meanwhile(
        cluster,
        url.rsplit('=').next().unwrap(),
        "SELECT pg_advisory_xact_lock(x'6665656473796e63'::bigint);
         UPDATE feedsync.schema SET version = 99, oldest_compatible = 99",
    );
    let other = store.clone();
    let blob = thread::spawn(move || wait(other.put_blob(b"x".to_vec())));
    let refused = write(&*store, &named("notes"), &["b"], vec![put(item("b", "A", 1))]);
    assert!(matches!(refused, Err(StoreError::Newer { .. })), "{refused:?}");
    let refused = blob.join().unwrap();
    assert!(matches!(refused, Err(StoreError::Newer { .. })), "{refused:?}");
    migrating.join().unwrap();
    assert_eq!(all(&*store, &named("notes")).len(), 0);
}

/// If a collection gives up its name while an update waits for its lock, the update changes the collection
/// that has the name then, under its lock.
#[test]
fn update_changes_the_collection_that_it_locked() {
    let cluster = Cluster::shared();
    let (url, store) = notes();
    let database = url.rsplit('=').next().unwrap().to_owned();
    create(&*store, "books");
    let swap = "UPDATE feedsync.collections SET name = 'swapped' WHERE name = 'notes';
                UPDATE feedsync.collections SET name = 'notes' WHERE name = 'books';
                UPDATE feedsync.collections SET name = 'books' WHERE name = 'swapped'";
    // Prints nothing if another transaction holds the row's lock.
    let free = move |database: &str| {
        let sql =
            "SELECT name FROM feedsync.collections WHERE name = 'notes' FOR UPDATE SKIP LOCKED";
        cluster.sql(database, sql)
    };
    for is_update in [true, false] {
        let swapping = meanwhile(cluster, &database, swap);
        let (seen, database) = (Arc::new(Mutex::new(None)), database.clone());
        let sees = seen.clone();
        if is_update {
            let decide = move |_: &Snapshot| {
                *sees.lock().unwrap() = Some(free(&database));
                Vec::new()
            };
            wait(store.update(&named("notes"), Vec::new(), Box::new(decide))).unwrap();
        } else {
            let decide = move |_: &Collection| {
                *sees.lock().unwrap() = Some(free(&database));
                AlterationDecision { alteration: Alteration::Keep, act: None }
            };
            wait(store.alter_collection(&named("notes"), Box::new(decide))).unwrap();
        }
        swapping.join().unwrap();
        assert_eq!(seen.lock().unwrap().as_deref(), Some(""), "it is locked when it is decided on");
    }
}

/// However much there is to remove, no statement and no transaction runs long.
#[test]
fn sweeps_run_in_several_short_transactions() {
    let cluster = Cluster::shared();
    let (url, store) = notes();
    let database = url.rsplit('=').next().unwrap();
    let mut named_one = item("a", "A", 1);
    named_one.winner.payload = named_one.winner.payload.with_parsed_text("<entry/>");
    let blobs = vec![Digest::of(b"1777")];
    let put = Put { item: named_one, created_here: true, origin: Origin::Here, blobs };
    write(&*store, &named("notes"), &["a"], vec![Write::Put(put)]).unwrap();
    cluster.sql(
        database,
        "INSERT INTO feedsync.blobs (digest, stored, content)
         SELECT sha256(n::text::bytea), 0, n::text::bytea FROM generate_series(1, 2500) n;
         INSERT INTO feedsync.acts (at, action, detail) SELECT 0, 'edit', '' FROM generate_series(1, 2500);
         CREATE TABLE public.rounds (removed_from text, round bigint);
         CREATE FUNCTION public.round() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
           INSERT INTO public.rounds VALUES (TG_TABLE_NAME, txid_current()); RETURN NULL; END $$;
         CREATE TRIGGER round AFTER DELETE ON feedsync.blobs EXECUTE FUNCTION public.round();
         CREATE TRIGGER round AFTER DELETE ON feedsync.acts EXECUTE FUNCTION public.round();",
    );
    let now = Moment::from_micros(1);
    assert_eq!(wait(store.sweep_blobs(now)).unwrap(), 2_499);
    assert_eq!(wait(store.remove_acts(now)).unwrap(), 2_500);
    assert_eq!(wait(store.sweep_blobs(now)).unwrap(), 0);
    assert_eq!(wait(store.blob(Digest::of(b"1777"))).unwrap().as_deref(), Some(&b"1777"[..]));
    let rounds =
        "SELECT removed_from, count(DISTINCT round) FROM public.rounds GROUP BY 1 ORDER BY 1";
    assert_eq!(cluster.sql(database, rounds), "acts|3\nblobs|4");
}
