//! Users, roles, tokens and the audit record.

use super::altering::maps;
use super::samples::{act, create, id, item, named, open, put};
use super::{Constructor, wait};
use crate::{
    Alteration, AlterationDecision, AuditAction, AuditSelection, CollectionChange, CreationContext,
    Digest, Environment as _, Grant, GrantFilter, ItemStore, Moment, People, Role, Scope,
    StoreError, Token, TokenKind, User, UserName, Write,
};

pub(super) fn name(text: &str) -> UserName {
    UserName::new(text).expect("a legal name")
}

/// A user of this name.
pub fn user(text: &str, administrator: bool) -> User {
    let password = Some(format!("$argon2id$of-{text}"));
    let created = Moment::from_micros(7);
    let id = crate::UserId::new(&format!("{:x}", text.bytes().map(u32::from).sum::<u32>()));
    let id = id.expect("a legal id");
    User {
        id,
        name: name(text),
        password,
        administrator,
        disabled: false,
        databases_only: false,
        created,
    }
}

fn token(text: &str, of: &str) -> Token {
    Token {
        digest: Digest::of(text.as_bytes()),
        user: name(of),
        kind: TokenKind::Access,
        label: text.to_owned(),
        scope: Scope::default(),
        created: Moment::from_micros(8),
        expires: None,
    }
}

fn add_users(store: &(impl People + ?Sized), names: &[&str]) {
    for (index, text) in names.iter().enumerate() {
        wait(store.add_user(user(text, index == 0))).expect("added");
    }
}

/// Users are stored unchanged; a name can be used once only.
pub fn users_are_found_by_name(constructor: Constructor<impl People + ?Sized>) {
    let (fixture, _) = open(constructor);
    let store = &*fixture.store;
    assert_eq!(wait(store.users()).unwrap(), []);
    add_users(store, &["berta", "anna"]);
    assert_eq!(wait(store.users()).unwrap(), [user("anna", false), user("berta", true)]);
    assert_eq!(wait(store.user(&name("anna"))).unwrap(), Some(user("anna", false)));
    assert_eq!(wait(store.user(&name("carl"))).unwrap(), None);
    let taken = wait(store.add_user(user("anna", true)));
    assert!(matches!(taken, Err(StoreError::UserExists(who)) if who == name("anna")));

    let changed = User {
        password: None,
        administrator: true,
        disabled: true,
        databases_only: true,
        created: Moment::from_micros(99),
        ..user("anna", false)
    };
    wait(store.change_user(changed.clone())).unwrap();
    let expected = User { created: Moment::from_micros(7), ..changed };
    assert_eq!(wait(store.user(&name("anna"))).unwrap(), Some(expected));
    let missing = wait(store.change_user(user("carl", false)));
    assert!(matches!(missing, Err(StoreError::NoUser(_))));
    assert!(matches!(wait(store.remove_user(&name("carl"))), Err(StoreError::NoUser(_))));
}

/// While there are users, at least one of them may administer and sign in.
pub fn the_last_administrator_stays(constructor: Constructor<impl People + ?Sized>) {
    let (fixture, _) = open(constructor);
    let store = &*fixture.store;
    add_users(store, &["anna", "berta"]);
    let is_refused = |result| matches!(result, Err(StoreError::LastAdministrator(_)));
    assert!(is_refused(wait(store.change_user(user("anna", false)))));
    let disabled = User { disabled: true, ..user("anna", true) };
    assert!(is_refused(wait(store.change_user(disabled.clone()))));
    assert!(is_refused(wait(store.remove_user(&name("anna")))));
    assert_eq!(wait(store.user(&name("anna"))).unwrap(), Some(user("anna", true)));

    wait(store.change_user(user("berta", true))).unwrap();
    wait(store.change_user(disabled)).unwrap();
    assert!(is_refused(wait(store.remove_user(&name("berta")))));
    wait(store.remove_user(&name("anna"))).unwrap();
    wait(store.remove_user(&name("berta"))).unwrap();
    assert_eq!(wait(store.users()).unwrap(), []);
}

/// A user has one role in a collection. The role stays when the collection is renamed, and is removed with
/// the user or the collection.
pub fn roles_follow_users_and_collections(
    constructor: Constructor<impl ItemStore + People + ?Sized>,
) {
    let (fixture, _) = open(constructor);
    let store = &*fixture.store;
    add_users(store, &["anna", "berta"]);
    create(store, "notes");
    create(store, "books");
    let grant = |user: &str, collection: &str, role| Grant {
        user: name(user),
        collection: named(collection),
        role,
    };
    for given in [
        grant("anna", "notes", Role::Reader),
        grant("anna", "notes", Role::Owner),
        grant("anna", "books", Role::Editor),
        grant("berta", "notes", Role::Reader),
    ] {
        wait(store.grant(given)).unwrap();
    }
    let (anna, berta) = (name("anna"), name("berta"));
    let of_anna = [grant("anna", "books", Role::Editor), grant("anna", "notes", Role::Owner)];
    assert_eq!(wait(store.grants(GrantFilter::User(&anna))).unwrap(), of_anna);
    let in_notes = [grant("anna", "notes", Role::Owner), grant("berta", "notes", Role::Reader)];
    assert_eq!(wait(store.grants(GrantFilter::Collection(&named("notes")))).unwrap(), in_notes);

    let nobody = wait(store.grant(grant("carl", "notes", Role::Reader)));
    assert!(matches!(nobody, Err(StoreError::NoUser(_))));
    let nowhere = wait(store.grant(grant("anna", "other", Role::Reader)));
    assert!(matches!(nowhere, Err(StoreError::NoCollection(_))));

    let change = CollectionChange { name: Some(named("memos")), ..Default::default() };
    wait(store.change_collection(&named("notes"), change)).unwrap();
    let in_memos = wait(store.grants(GrantFilter::Collection(&named("memos")))).unwrap();
    assert_eq!(in_memos[0], grant("anna", "memos", Role::Owner));
    assert!(wait(store.revoke(&berta, &named("memos"))).unwrap());
    assert!(!wait(store.revoke(&berta, &named("memos"))).unwrap());
    wait(store.drop_collection(&named("memos"))).unwrap();
    assert_eq!(
        wait(store.grants(GrantFilter::User(&anna))).unwrap(),
        [grant("anna", "books", Role::Editor)]
    );
    create(store, "memos");
    assert_eq!(wait(store.grants(GrantFilter::Collection(&named("memos")))).unwrap(), []);
    wait(store.change_user(user("berta", true))).unwrap();
    wait(store.remove_user(&anna)).unwrap();
    assert_eq!(wait(store.grants(GrantFilter::Collection(&named("books")))).unwrap(), []);
}

/// A token is found by its digest until it, its user or its collection is removed.
pub fn tokens_end_with_what_they_are_for(
    constructor: Constructor<impl ItemStore + People + ?Sized>,
) {
    let (fixture, _) = open(constructor);
    let store = &*fixture.store;
    add_users(store, &["anna", "berta"]);
    create(store, "notes");
    let plain = token("plain", "anna");
    let bounded = Token {
        kind: TokenKind::Session,
        scope: Scope { role: Some(Role::Reader), collection: Some(named("notes")) },
        created: Moment::from_micros(9),
        expires: Some(Moment::from_micros(50)),
        ..token("bounded", "anna")
    };
    let other = token("other", "berta");
    for given in [&plain, &bounded, &other] {
        wait(store.add_token(given.clone())).unwrap();
    }
    assert_eq!(wait(store.tokens(&name("anna"))).unwrap(), [plain.clone(), bounded.clone()]);
    assert_eq!(wait(store.token(bounded.digest)).unwrap(), Some(bounded.clone()));
    assert_eq!(wait(store.token(Digest::of(b"guess"))).unwrap(), None);
    assert!(matches!(wait(store.add_token(token("x", "carl"))), Err(StoreError::NoUser(_))));
    let nowhere = Scope { role: None, collection: Some(named("other")) };
    let nowhere = Token { scope: nowhere, ..token("x", "anna") };
    assert!(matches!(wait(store.add_token(nowhere)), Err(StoreError::NoCollection(_))));

    let change = CollectionChange { name: Some(named("memos")), ..Default::default() };
    wait(store.change_collection(&named("notes"), change)).unwrap();
    let followed = wait(store.token(bounded.digest)).unwrap().expect("still there");
    assert_eq!(followed.scope.collection, Some(named("memos")));
    assert_eq!(wait(store.remove_expired_tokens(Moment::from_micros(50))).unwrap(), 0);
    assert_eq!(wait(store.remove_expired_tokens(Moment::from_micros(51))).unwrap(), 1);
    wait(store.add_token(Token { scope: followed.scope, ..bounded.clone() })).unwrap();
    wait(store.drop_collection(&named("memos"))).unwrap();
    assert_eq!(wait(store.token(bounded.digest)).unwrap(), None);

    wait(store.remove_token(plain.digest)).unwrap();
    assert!(matches!(wait(store.remove_token(plain.digest)), Err(StoreError::NoToken)));
    wait(store.remove_user(&name("berta"))).unwrap();
    assert_eq!(wait(store.token(other.digest)).unwrap(), None);
}

/// The audit record is read newest first, and includes entries that were written together with changes of
/// items.
pub fn acts_are_recorded_and_read_newest_first(
    constructor: Constructor<impl ItemStore + People + ?Sized>,
) {
    let (fixture, environment) = open(constructor);
    let store = &*fixture.store;
    create(store, "notes");
    let act = |user: Option<&str>, collection: Option<&str>, action: &str| AuditAction {
        user: user.map(name),
        address: Some("192.0.2.1".to_owned()),
        action: action.to_owned(),
        collection: collection.map(named),
        item: collection.map(|_| id("a")),
        detail: "why".to_owned(),
    };
    let first = act(Some("anna"), None, "sign in");
    let second = act(Some("berta"), Some("notes"), "create");
    let third = act(None, Some("notes"), "edit");
    wait(store.record(first.clone())).unwrap();
    let edit = |act: &AuditAction| vec![put(item("a", "A", 1)), Write::Record(act.clone())];
    super::samples::write(store, &named("notes"), &["a"], edit(&second)).unwrap();
    let faulty = vec![Write::Record(first.clone()), Write::Purge { ids: vec![id("b")] }];
    assert!(super::samples::write(store, &named("notes"), &["b"], faulty).is_err());
    wait(store.record(third.clone())).unwrap();

    let read = |selection| wait(store.acts(selection)).unwrap();
    let all = AuditSelection { limit: 9, ..Default::default() };
    let acts = read(all);
    let what: Vec<&AuditAction> = acts.iter().map(|recorded| &recorded.act).collect();
    assert_eq!(what, [&third, &second, &first]);
    assert!(acts.windows(2).all(|pair| pair[0].place > pair[1].place));
    assert!(acts.iter().all(|recorded| recorded.at <= environment.now()));
    assert_eq!(read(AuditSelection { limit: 1, ..all })[0].act, third);
    assert_eq!(read(AuditSelection { before: Some(acts[1].place), ..all })[0].act, first);
    let anna = name("anna");
    assert_eq!(read(AuditSelection { user: Some(&anna), ..all }).len(), 1);
    let notes = named("notes");
    assert_eq!(read(AuditSelection { collection: Some(&notes), ..all }).len(), 2);
    assert_eq!(wait(store.remove_acts(Moment::MAX)).unwrap(), 3);
    assert_eq!(read(all), []);
    wait(store.record(first)).unwrap();
    assert!(read(all)[0].place > acts[0].place, "places are not used again");
}

/// A collection is created with its first owner. Changes of collections are recorded with them, and refused
/// ones are not.
pub fn changes_of_collections_are_recorded_with_them(
    constructor: Constructor<impl ItemStore + People + ?Sized>,
) {
    let (fixture, _) = open(constructor);
    let store = &*fixture.store;
    let recorded = || {
        let acts = wait(store.acts(AuditSelection { limit: 9, ..Default::default() })).unwrap();
        acts.into_iter().map(|recorded| recorded.act.action).collect::<Vec<_>>()
    };
    let alter = |name: &str, alteration, action: &str| {
        let decision = AlterationDecision { alteration, act: Some(act(action)) };
        wait(store.alter_collection(&named(name), Box::new(|_| decision)))
    };
    create(store, "notes");
    create(store, "books");
    let renamed = |to: &str| {
        let name = Some(named(to));
        Alteration::Change(CollectionChange { name, ..Default::default() })
    };
    alter("notes", renamed("memos"), "rename").unwrap();
    alter("memos", renamed("books"), "never").unwrap_err();
    alter("memos", Alteration::Drop, "drop").unwrap();
    assert_eq!(recorded(), ["drop", "rename"]);
    let context = || CreationContext { owner: Some(name("anna")), act: Some(act("create")) };
    wait(store.create_collection_with(maps(), context())).unwrap_err();
    assert_eq!(recorded(), ["drop", "rename"]);
    wait(store.add_user(user("anna", true))).unwrap();
    let maps = wait(store.create_collection_with(maps(), context())).unwrap().name;
    let owner = Grant { user: name("anna"), collection: maps.clone(), role: Role::Owner };
    assert_eq!(wait(store.grants(GrantFilter::Collection(&maps))).unwrap(), [owner]);
    assert_eq!(recorded(), ["create", "drop", "rename"]);
}
