//! Sign-in, the rights that it gives, and the record of changes of users.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::support::{endpoint, notes};
use feedsync_endpoint::{Actor, Endpoint, NewToken, NewUser, Password, PeopleError};
use feedsync_store::{
    AuditSelection, EndpointName, Environment, Grant, MemoryStore, Moment, Role, Scope, StoreError,
    SystemEnvironment, TokenKind, UserName,
};

fn user(name: &str) -> UserName {
    UserName::new(name).unwrap()
}

fn new(name: &str, password: Option<&str>, administrator: bool) -> NewUser {
    let password = password.map(|text| Password::new(text).unwrap());
    NewUser { name: user(name), password, administrator, databases_only: false }
}

fn token(name: &str, kind: TokenKind) -> NewToken {
    let (label, scope) = ("laptop".to_owned(), Scope::default());
    NewToken { user: user(name), kind, label, scope, expires: None }
}

#[tokio::test]
async fn the_first_user_has_to_administer() {
    let hub = endpoint("hub").await;
    let refused = hub.add_user(new("ben", None, false)).await.unwrap_err();
    assert!(matches!(refused, PeopleError::NotAdministrator(_)), "{refused}");
    assert!(hub.store().users().await.unwrap().is_empty());
    hub.add_user(new("anna", None, true)).await.unwrap();
    hub.add_user(new("ben", None, false)).await.unwrap();
    let again = hub.add_user(new("ben", None, false)).await.unwrap_err();
    assert!(matches!(again, PeopleError::Store(StoreError::UserExists(_))), "{again}");
}

#[tokio::test]
async fn a_password_signs_in_its_user_until_it_is_changed_or_the_user_disabled() {
    let hub = endpoint("hub").await;
    hub.add_user(new("anna", Some("correct horse"), true)).await.unwrap();
    hub.add_user(new("ben", None, false)).await.unwrap();
    let signs_in = async |name: &str, password: &str| {
        hub.check_password(&user(name), password).await.unwrap().is_some()
    };
    assert!(signs_in("anna", "correct horse").await);
    assert!(!signs_in("anna", "battery staple").await);
    assert!(!signs_in("ben", "").await, "who has no password cannot sign in with none");
    assert!(!signs_in("carl", "correct horse").await);

    let (session, _) = hub.issue_token(token("anna", TokenKind::Session)).await.unwrap();
    let (access, _) = hub.issue_token(token("anna", TokenKind::Access)).await.unwrap();
    let password = Password::new("battery staple").unwrap();
    hub.set_password(&user("anna"), Some(password)).await.unwrap();
    assert!(!signs_in("anna", "correct horse").await);
    assert!(signs_in("anna", "battery staple").await);
    let by = async |text: &str, kind| hub.sign_in_with_token(text, kind).await.unwrap().is_some();
    assert!(!by(session.as_str(), TokenKind::Session).await, "browsers are signed out");
    assert!(by(access.as_str(), TokenKind::Access).await);

    hub.add_user(new("dora", None, true)).await.unwrap();
    hub.set_disabled(&user("anna"), true).await.unwrap();
    assert!(!signs_in("anna", "battery staple").await);
    assert!(!by(access.as_str(), TokenKind::Access).await);
    hub.set_disabled(&user("anna"), false).await.unwrap();
    assert!(signs_in("anna", "battery staple").await);
}

#[tokio::test]
async fn a_token_signs_in_until_it_expires_or_is_revoked_and_for_its_kind_alone() {
    struct Clock(AtomicU64);
    impl Environment for Clock {
        fn now(&self) -> Moment {
            Moment::from_micros(self.0.load(Ordering::Relaxed))
        }
        fn random(&self) -> u64 {
            SystemEnvironment.random()
        }
    }
    let clock = Arc::new(Clock(AtomicU64::new(100)));
    let store = MemoryStore::new(&EndpointName::new("hub").unwrap(), clock.clone());
    let hub = Endpoint::new(Arc::new(store), clock.clone());
    hub.add_user(new("anna", None, true)).await.unwrap();
    hub.add_user(new("ben", None, false)).await.unwrap();
    let expires = Some(Moment::from_micros(200));
    let lasting = token("anna", TokenKind::Access);
    let (brief, _) = hub.issue_token(NewToken { expires, ..lasting.clone() }).await.unwrap();
    let (lasting, known) = hub.issue_token(lasting).await.unwrap();
    let by = async |text: &str, kind| hub.sign_in_with_token(text, kind).await.unwrap();

    let person = by(lasting.as_str(), TokenKind::Access).await.unwrap();
    assert_eq!((person.user(), person.token()), (&user("anna"), Some(known.digest)));
    assert!(person.administers());
    assert!(by(lasting.as_str(), TokenKind::Session).await.is_none());
    assert!(by(&known.digest.to_string(), TokenKind::Access).await.is_none());
    assert!(by(&format!("fsy_{}", known.digest), TokenKind::Access).await.is_none());

    assert!(by(brief.as_str(), TokenKind::Access).await.is_some());
    clock.0.store(200, Ordering::Relaxed);
    assert!(by(brief.as_str(), TokenKind::Access).await.is_none());

    let other = hub.revoke_token(&user("ben"), known.digest).await.unwrap_err();
    assert!(matches!(other, PeopleError::Store(StoreError::NoToken)), "not ben's: {other}");
    hub.revoke_token(&user("anna"), known.digest).await.unwrap();
    assert!(by(lasting.as_str(), TokenKind::Access).await.is_none());
}

#[tokio::test]
async fn changes_of_users_are_recorded_without_secrets() {
    let silent = endpoint("hub").await;
    let actor = Actor { user: Some(user("anna")), address: Some("192.0.2.7".to_owned()) };
    let hub = silent.on_behalf_of(actor.clone());
    hub.add_user(new("anna", Some("correct horse"), true)).await.unwrap();
    hub.add_user(new("ben", None, false)).await.unwrap();
    let grant = Grant { user: user("ben"), collection: notes(), role: Role::Editor };
    hub.grant(grant).await.unwrap();
    assert!(hub.revoke(&user("ben"), &notes()).await.unwrap());
    assert!(!hub.revoke(&user("ben"), &notes()).await.unwrap());
    let (secret, known) = hub.issue_token(token("ben", TokenKind::Access)).await.unwrap();
    hub.revoke_token(&user("ben"), known.digest).await.unwrap();
    hub.set_password(&user("ben"), Some(Password::new("battery staple").unwrap())).await.unwrap();
    hub.set_administrator(&user("ben"), true).await.unwrap();
    hub.set_disabled(&user("ben"), true).await.unwrap();
    assert!(hub.set_disabled(&user("anna"), true).await.is_err(), "the last administrator");
    hub.remove_user(&user("ben")).await.unwrap();
    let selection = AuditSelection { limit: 99, ..Default::default() };
    let recorded = hub.store().acts(selection).await.unwrap();
    let told: Vec<_> = recorded
        .iter()
        .rev()
        .map(|recorded| {
            let act = &recorded.act;
            assert_eq!((&act.user, &act.address), (&actor.user, &actor.address));
            let within = act.collection.as_ref().map_or("", |name| name.as_str());
            (&*act.action, within, &*act.detail)
        })
        .collect();
    let expected = [
        ("add user", "", "anna: an administrator"),
        ("add user", "", "ben: no administrator"),
        ("grant", "notes", "ben: editor"),
        ("revoke", "notes", "ben"),
        ("issue token", "", "ben: laptop"),
        ("revoke token", "", "ben: laptop"),
        ("set password", "", "ben: another one"),
        ("change user", "", "ben: an administrator"),
        ("change user", "", "ben: disabled"),
        ("remove user", "", "ben"),
    ];
    assert_eq!(told, expected);
    let all = format!("{recorded:?}");
    for kept in ["correct horse", "battery staple", secret.as_str(), "$argon2"] {
        assert!(!all.contains(kept), "{kept}");
    }
}

#[tokio::test]
async fn person_again_returns_current_rights_or_none() {
    let hub = endpoint("hub").await;
    hub.add_user(new("anna", Some("correct horse"), true)).await.unwrap();
    hub.add_user(new("ben", None, false)).await.unwrap();
    let anna = hub.check_password(&user("anna"), "correct horse").await.unwrap().unwrap();
    assert_eq!(hub.refresh_person(&anna).await.unwrap(), Some(anna.clone()));
    hub.set_password(&user("anna"), Some(Password::new("battery staple").unwrap())).await.unwrap();
    assert_eq!(hub.refresh_person(&anna).await.unwrap(), None, "another password");

    let (secret, known) = hub.issue_token(token("ben", TokenKind::Access)).await.unwrap();
    let ben = hub.sign_in_with_token(secret.as_str(), TokenKind::Access).await.unwrap().unwrap();
    assert_eq!(ben.role(&notes()), None);
    let grant = Grant { user: user("ben"), collection: notes(), role: Role::Reader };
    hub.grant(grant).await.unwrap();
    let now = hub.refresh_person(&ben).await.unwrap().unwrap();
    assert_eq!(now.role(&notes()), Some(Role::Reader));
    hub.revoke_token(&user("ben"), known.digest).await.unwrap();
    assert_eq!(hub.refresh_person(&ben).await.unwrap(), None, "the token has ended");
}

#[tokio::test]
async fn change_password_keeps_the_current_session() {
    let hub = endpoint("hub").await;
    hub.add_user(new("anna", Some("correct horse"), true)).await.unwrap();
    let day = "1d".parse().unwrap();
    let begin =
        async |label: &str| hub.begin_session(user("anna"), label.to_owned(), day).await.unwrap();
    let (here, token) = begin("here").await;
    let (there, _) = begin("there").await;
    assert_eq!(token.expires.map(|expires| expires > token.created), Some(true));
    let person =
        async |secret: &str| hub.sign_in_with_token(secret, TokenKind::Session).await.unwrap();
    let anna = person(here.as_str()).await.unwrap();
    hub.change_password(&anna, Password::new("battery staple").unwrap()).await.unwrap();
    assert!(person(here.as_str()).await.is_some());
    assert!(person(there.as_str()).await.is_none());
    assert!(hub.check_password(&user("anna"), "battery staple").await.unwrap().is_some());
}
