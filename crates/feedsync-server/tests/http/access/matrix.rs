//! Access matrix: the response of every route and method to every caller, for each kind of collection
//! (AH5, AH29).
//!
//! It is generated from the route table. A new route is covered by its right. The test fails on a right,
//! a path segment or a resource decision that this file does not know.

use axum::body::Body;
use feedsync_server::{Right, rights};
use feedsync_store::{Role, Scope, TokenKind};
use http::{Method, Response};
use tempfile::TempDir;

use super::world::{World, bearer, collection, user};
use crate::hub::bytes;

/// A caller: its credentials and its identity.
struct Caller {
    name: &'static str,
    authorization: Option<String>,
    is: Is,
}

#[derive(Clone, Copy, PartialEq)]
enum Is {
    /// An anonymous caller.
    Nobody,
    /// An anonymous caller with expired or invalid credentials.
    Refused,
    /// A signed-in user of databases alone.
    DatabasesOnly,
    /// A signed-in caller, with or without a role in all collections, and perhaps with a restricted
    /// token.
    Known { role: Option<Role>, administers: bool, bounded: bool },
}

/// Expected response.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Verdict {
    Allowed,
    SignIn,
    Forbidden,
    Hidden,
}

async fn callers(world: &World) -> Vec<Caller> {
    let known = |role, administers| Is::Known { role, administers, bounded: false };
    let bounded = |role| Is::Known { role, administers: false, bounded: true };
    let scoped = |role, only: Option<&str>| Scope { role, collection: only.map(collection) };
    let all = Scope::default();
    let owner = Some(Role::Owner);
    let mut callers = vec![
        Caller { name: "nobody", authorization: None, is: Is::Nobody },
        Caller {
            name: "another scheme",
            authorization: Some("WSSE profile=\"UsernameToken\"".to_owned()),
            is: Is::Refused,
        },
        Caller {
            name: "a guess",
            authorization: Some(bearer(&format!("fsy_{}", "0".repeat(64)))),
            is: Is::Refused,
        },
    ];
    let expired = world.expired("owen").await;
    let session = world.token("owen", TokenKind::Session, all.clone()).await;
    let revoked = world.access("owen").await;
    for token in world.endpoint.store().tokens(&user("owen")).await.unwrap() {
        let is = feedsync_store::Digest::of(revoked.as_bytes()) == token.digest;
        if is {
            world.endpoint.revoke_token(&user("owen"), token.digest).await.unwrap();
        }
    }
    let disabled = world.access("gone").await;
    world.endpoint.set_disabled(&user("gone"), true).await.unwrap();
    for (name, token) in [
        ("an expired token", expired),
        ("a revoked token", revoked),
        ("a disabled user", disabled),
        ("a session's token as a program's", session),
    ] {
        callers.push(Caller { name, authorization: Some(bearer(&token)), is: Is::Refused });
    }
    for (name, of, scope, is) in [
        ("no role", "nora", all.clone(), known(None, false)),
        ("reader", "rita", all.clone(), known(Some(Role::Reader), false)),
        ("editor", "eddy", all.clone(), known(Some(Role::Editor), false)),
        ("owner", "owen", all.clone(), known(owner, false)),
        ("administrator", "root", all, known(owner, true)),
        ("owner, to read", "owen", scoped(Some(Role::Reader), None), bounded(Some(Role::Reader))),
        (
            "administrator, to edit",
            "root",
            scoped(Some(Role::Editor), None),
            bounded(Some(Role::Editor)),
        ),
        ("owner, elsewhere", "owen", scoped(None, Some("else")), bounded(None)),
        ("administrator, elsewhere", "root", scoped(None, Some("else")), bounded(None)),
    ] {
        let token = world.token(of, TokenKind::Access, scope).await;
        callers.push(Caller { name, authorization: Some(bearer(&token)), is });
    }
    let token = world.access("data").await;
    let authorization = Some(bearer(&token));
    callers.push(Caller { name: "databases only", authorization, is: Is::DatabasesOnly });
    callers
}

/// Expected response to a caller where a right guards a collection.
fn expected(right: Right, is: Is, public: bool, drafts: bool) -> Verdict {
    use Verdict::{Allowed, Forbidden, Hidden, SignIn};
    let (role, administers) = match is {
        _ if right == Right::Public => return Allowed,
        Is::Refused => return SignIn,
        Is::DatabasesOnly => return Forbidden,
        Is::Nobody => (None, false),
        Is::Known { role, administers, .. } => (role, administers),
    };
    let least = match right {
        Right::Public | Right::Resource | Right::Databases => return Allowed,
        Right::SignedIn if is == Is::Nobody => return SignIn,
        Right::SignedIn => return Allowed,
        Right::Administer => return if administers { Allowed } else { refused(is, Forbidden) },
        Right::Account => {
            let whole = matches!(is, Is::Known { bounded: false, .. });
            return if whole { Allowed } else { refused(is, Forbidden) };
        }
        Right::Create if role < Some(Role::Owner) => return refused(is, Forbidden),
        Right::Read => Role::Reader,
        Right::Follow if drafts => Role::Editor,
        Right::Follow => Role::Reader,
        Right::Edit | Right::Append => Role::Editor,
        Right::Own | Right::Create => Role::Owner,
    };
    if role >= Some(least) || least == Role::Reader && public {
        Allowed
    } else if role.is_some() || public {
        refused(is, Forbidden)
    } else {
        refused(is, Hidden)
    }
}

fn refused(is: Is, known: Verdict) -> Verdict {
    if is == Is::Nobody { Verdict::SignIn } else { known }
}

/// Expected response of a route that decides for itself; only `notes` names the blob.
fn decided(path: &str, method: &Method, is: Is) -> Verdict {
    // Lists contain what the caller may see; a signed-out caller may sign in, and out again.
    let lists = ["/", "/collections", "/service", "/pages/remotes", "/pages/limits"];
    let sessions = ["/pages/login", "/pages/logout"];
    match (path, method.as_str()) {
        (_, _) if is == Is::Refused => Verdict::SignIn,
        // It is the user of databases for whom nothing else decides.
        (path, _) if is == Is::DatabasesOnly && !path.starts_with("/couch") => Verdict::Forbidden,
        (path, "GET") if lists.contains(&path) => Verdict::Allowed,
        (path, "GET" | "POST") if sessions.contains(&path) => Verdict::Allowed,
        ("/blobs/{sha256}", "GET") => expected(Right::Read, is, false, false),
        ("/metrics", "GET") => expected(Right::Administer, is, false, false),
        // The request decides, first of all whether it is valid: `newsreaders` tests the rest.
        ("/reader/miniflux/{*path}", "GET") if is == Is::Nobody => Verdict::SignIn,
        (path, _) if path.starts_with("/reader/") => Verdict::Allowed,
        // A database names its users itself: `couch::rights` tests the rest.
        (path, _) if path.starts_with("/couch") && is == Is::Nobody => Verdict::SignIn,
        (path, _) if path.starts_with("/couch") => Verdict::Allowed,
        (path, method) => panic!("say here what {method} {path} must answer to whom"),
    }
}

/// A path of the table with a value for each of its segments.
pub(super) fn filled(path: &str, target: &str, world: &World) -> String {
    let filled = path
        .replace("{collection}", target)
        .replace("{sha256}", &world.blob.to_string())
        .replace("{generation}", "1.00000000")
        .replace("{id}", "a")
        .replace("{name}", "n")
        .replace("{number}", "1")
        .replace("{*path}", "v1/feeds");
    assert!(!filled.contains('{'), "say here what stands in {path}");
    filled
}

/// Verdict in a response, from a problem or a page.
async fn verdict(response: Response<Body>, target: &str) -> Verdict {
    let status = response.status().as_u16();
    let challenges = response.headers().get_all("www-authenticate").iter().count();
    let told = match status {
        403 | 404 => String::from_utf8(bytes(response).await.to_vec()).unwrap(),
        _ => String::new(),
    };
    match status {
        401 => {
            assert_eq!(challenges, 2, "Basic and Bearer");
            Verdict::SignIn
        }
        403 if told.contains("your account or token does not permit this") => Verdict::Forbidden,
        404 if told.contains(&format!("there is no collection {target}")) => Verdict::Hidden,
        404 if told.contains("there is no blob") => Verdict::Hidden,
        500.. => panic!("a fault is no verdict: {status}"),
        _ => Verdict::Allowed,
    }
}

async fn check(mut world: World) {
    let new = feedsync_store::NewCollection {
        name: collection("else"),
        title: String::new(),
        format: feedsync_core::Format::Atom,
        settings: Default::default(),
    };
    world.endpoint.store().create_collection(new).await.unwrap();
    let callers = callers(&world).await;
    let targets = [
        ("notes", false, false),
        ("drafty", false, true),
        ("open", true, false),
        ("news", true, true),
    ];
    let mut asked = 0;
    for (path, method, right) in rights() {
        for (target, public, drafts) in targets {
            let address = filled(&path, target, &world);
            for caller in &callers {
                // Requests that are refused early cannot affect other checks: the tag never matches, and
                // rights are checked before preconditions.
                let mut headers = vec![("if-match", "\"none\"")];
                if method == Method::GET {
                    headers.clear();
                }
                headers
                    .extend(caller.authorization.as_deref().map(|value| ("authorization", value)));
                if caller.is == Is::Refused {
                    world.restarted();
                }
                let expected = match right {
                    Right::Resource | Right::Databases => decided(&path, &method, caller.is),
                    right => expected(right, caller.is, public, drafts),
                };
                let response = world.ask(method.clone(), &address, &headers).await;
                let status = response.status();
                let found = verdict(response, target).await;
                let (name, place) = (caller.name, format!("{method} {address}"));
                assert_eq!(found, expected, "{name}: {place} answers {status}");
                if method == Method::GET {
                    let head = world.ask(Method::HEAD, &address, &headers).await.status();
                    if caller.is != Is::Refused {
                        assert_eq!(head, status, "{name}: HEAD {address}");
                    }
                }
                asked += 1;
            }
        }
    }
    assert_eq!(asked, rights().len() * targets.len() * callers.len());
    for (target, ..) in targets {
        assert!(world.endpoint.collection(&collection(target)).await.is_ok(), "{target} is there");
    }
    making(&world, &callers).await;
}

/// A missing collection may be created by callers who may create any.
async fn making(world: &World, callers: &[Caller]) {
    for (number, caller) in callers.iter().enumerate() {
        let expected = match caller.is {
            Is::Nobody | Is::Refused => Verdict::SignIn,
            Is::Known { bounded: false, .. } => Verdict::Allowed,
            Is::Known { bounded: true, .. } | Is::DatabasesOnly => Verdict::Forbidden,
        };
        let address = format!("/collections/new-{number}");
        let mut headers = vec![("if-match", "\"none\"")];
        headers.extend(caller.authorization.as_deref().map(|value| ("authorization", value)));
        let response = world.ask(Method::PUT, &address, &headers).await;
        assert_eq!(verdict(response, "new").await, expected, "{}", caller.name);
    }
    // The same holds for its log; a caller who edits all collections learns that it does not exist.
    for (number, caller) in callers.iter().enumerate() {
        let expected = match caller.is {
            Is::Nobody | Is::Refused => Verdict::SignIn,
            Is::Known { bounded: false, .. } => Verdict::Allowed,
            Is::Known { role: Some(Role::Editor), .. } => Verdict::Allowed,
            Is::Known { bounded: true, .. } => Verdict::Hidden,
            Is::DatabasesOnly => Verdict::Forbidden,
        };
        let address = format!("/logs/new-{number}");
        let mut headers = vec![("if-match", "\"none\"")];
        headers.extend(caller.authorization.as_deref().map(|value| ("authorization", value)));
        let response = world.ask(Method::POST, &address, &headers).await;
        assert_eq!(verdict(response, "new").await, expected, "{}", caller.name);
    }
}

#[tokio::test]
async fn every_route_answers_every_role_as_its_right_demands() {
    check(World::in_memory().await).await;
}

#[tokio::test]
async fn every_route_answers_every_role_as_its_right_demands_over_a_database() {
    let directory = TempDir::new().unwrap();
    check(World::in_database(directory.path()).await).await;
}
