//! Pages for signing in and out, their sessions, and the forms that belong to a session.

use std::time::Duration;

use feedsync_endpoint::{NewUser, Password};
use feedsync_server::rights;
use feedsync_store::{AuditAction, AuditSelection, Token, TokenKind};
use http::{Method, Response, StatusCode};
use tokio::time::sleep;

use crate::access::world::{World, basic, user};
use crate::hub::{bytes, request, text};
use crate::visitor::{Visitor, hidden, html};

pub(crate) const SECRET: &str = "correct horse";
pub(crate) const ACCOUNT: &str = "/pages/account";

/// Slightly more than the lifetime of cached rights.
pub(crate) const RIGHTS_CACHE_TIME: Duration = Duration::from_millis(1_100);

/// A hub on which all users have the same password.
pub(crate) async fn world() -> World {
    let world = World::in_memory().await;
    for name in ["root", "rita", "eddy", "owen", "nora"] {
        world.password(name, SECRET).await;
    }
    world
}

pub(crate) async fn visitor(world: &World, name: &str) -> Visitor {
    Visitor::signed_in(&world.router, name, SECRET).await
}

pub(crate) fn goes_to(answer: &Response<axum::body::Body>, place: &str) {
    assert_eq!(answer.status(), StatusCode::SEE_OTHER);
    assert_eq!(text(answer, "location"), place);
}

/// The newest record.
pub(crate) async fn newest(world: &World) -> AuditAction {
    let selection = AuditSelection { limit: 1, ..Default::default() };
    world.endpoint.store().acts(selection).await.unwrap().remove(0).act
}

/// Lifetime of a token in days; the clock advances at each read.
pub(crate) fn days(token: &Token) -> u64 {
    (token.expires.unwrap().micros() - token.created.micros()).div_ceil(86_400_000_000)
}

async fn acts(world: &World) -> usize {
    let selection = AuditSelection { limit: 10_000, ..Default::default() };
    world.endpoint.store().acts(selection).await.unwrap().len()
}

#[tokio::test]
async fn a_browser_is_led_to_sign_in_and_back_to_what_it_asked_for() {
    let world = world().await;
    let visitor = Visitor::new(&world.router);
    let asked = "/pages/collections/notes?q=a&conflicts=1";
    let led = visitor.get(asked).await;
    let login = "/pages/login?to=%2Fpages%2Fcollections%2Fnotes%3Fq%3Da%26conflicts%3D1";
    goes_to(&led, login);
    assert_eq!(text(&led, "cache-control"), "no-store");
    assert_eq!(visitor.cookie("feedsync-form"), None, "who only reads is given nothing");
    let page = visitor.page(login).await;
    let to = hidden(&page, "to").unwrap();
    assert_eq!(to, asked);

    let wrong = visitor.sign_in("rita", "battery staple", &to).await;
    assert_eq!(wrong.status(), StatusCode::FORBIDDEN);
    let again = html(wrong).await;
    assert!(again.contains("value=\"rita\"") && again.contains("Wrong user name or password"));
    assert!(!again.contains("battery staple"), "{again}");
    assert_eq!(hidden(&again, "to").unwrap(), asked);
    assert_eq!(visitor.cookie("feedsync-session"), None);
    let unknown = visitor.sign_in("nobody", SECRET, &to).await;
    assert_eq!(unknown.status(), StatusCode::FORBIDDEN);
    assert_eq!(html(unknown).await.replace("nobody", "rita").len(), again.len(), "the same answer");

    goes_to(&visitor.sign_in("rita", SECRET, &to).await, asked);
    assert!(visitor.page(asked).await.contains("aria-label=\"My account: rita\""));
    let selection = AuditSelection { limit: 1, ..Default::default() };
    let act = world.endpoint.store().acts(selection).await.unwrap().remove(0).act;
    assert_eq!((act.user, &*act.action), (Some(user("rita")), "sign in"));
    let session = world.endpoint.store().tokens(&user("rita")).await.unwrap().remove(0);
    assert_eq!(session.kind, TokenKind::Session);
    assert_eq!(days(&session), 30, "a session has an end");

    goes_to(&visitor.post("/pages/logout", &[]).await, "/");
    assert_eq!(visitor.cookie("feedsync-session"), None);
    assert!(world.endpoint.store().tokens(&user("rita")).await.unwrap().is_empty());
    goes_to(&visitor.get(asked).await, login);
    assert!(visitor.page("/").await.contains("href=\"/pages/login\">Sign in</a>"));
}

#[tokio::test]
async fn other_clients_are_challenged_and_a_form_of_who_is_signed_out_is_not_led_away() {
    let world = world().await;
    for headers in [
        vec![],
        vec![("accept", "*/*")],
        vec![("accept", "application/atom+xml")],
        vec![("accept", "text/html"), ("authorization", "Bearer none")],
    ] {
        for path in [ACCOUNT, "/pages/users", "/pages/collections/notes"] {
            let refused = world.ask(Method::GET, path, &headers).await;
            assert_eq!(refused.status(), StatusCode::UNAUTHORIZED, "{path} {headers:?}");
            assert_eq!(refused.headers().get_all("www-authenticate").iter().count(), 2);
        }
    }
    let browser = [("accept", "text/html")];
    let feed = world.ask(Method::GET, "/collections/notes", &browser).await;
    assert_eq!(feed.status(), StatusCode::UNAUTHORIZED, "a feed is no page");
    let nowhere = world.ask(Method::GET, "/pages/collections/none", &browser).await;
    assert_eq!(nowhere.status(), StatusCode::SEE_OTHER, "what exists is not told");
    let typed = Visitor::new(&world.router);
    let refused = typed.send("/pages/collections/notes", &[("title", "typed")]).await;
    assert_eq!(refused.status(), StatusCode::UNAUTHORIZED);
    assert!(html(refused).await.contains("/pages/login?to="));
}

#[tokio::test]
async fn a_link_of_another_site_finds_who_is_signed_in() {
    let world = world().await;
    let login = "/pages/login?to=%2Fpages%2Faccount";
    for (site, refresh) in [("cross-site", "0; url=/pages/account"), ("same-origin", "")] {
        // The browser does not send the session: its cookie forbids that.
        let headers = [("sec-fetch-site", site), ("sec-fetch-mode", "navigate")];
        let page = world.ask(Method::GET, login, &headers).await;
        assert_eq!(page.status(), StatusCode::OK);
        assert_eq!(text(&page, "refresh"), refresh, "{site}");
    }
}

#[tokio::test]
async fn signing_in_leads_to_no_other_host() {
    let world = world().await;
    for to in [
        "//example.org/pages/",
        "https://example.org/",
        "/\\example.org",
        "/pages/..//example.org",
        "javascript:alert(1)",
        "/pages/\r\nSet-Cookie: a=b",
        "/pages/\t/example.org",
    ] {
        let visitor = Visitor::new(&world.router);
        goes_to(&visitor.sign_in("rita", SECRET, to).await, "/");
    }
    let visitor = Visitor::new(&world.router);
    let page = visitor.page("/pages/login?to=//example.org/%22%3E").await;
    assert!(!page.contains("example.org"), "{page}");
}

#[tokio::test]
async fn guesses_at_the_page_run_dry() {
    let world = world().await;
    let visitor = Visitor::new(&world.router);
    let mut answers = Vec::new();
    for guess in 0..14 {
        let answer = visitor.sign_in("rita", &format!("guess {guess}"), "/").await;
        answers.push(answer.status().as_u16());
        if answer.status() == StatusCode::TOO_MANY_REQUESTS {
            assert!(!text(&answer, "retry-after").is_empty());
        }
    }
    assert!(answers[..10].iter().all(|status| *status == 403), "{answers:?}");
    assert_eq!(*answers.last().unwrap(), 429, "{answers:?}");
    let right = visitor.sign_in("rita", SECRET, "/").await;
    assert_eq!(right.status(), StatusCode::TOO_MANY_REQUESTS, "a right guess is not told either");
}

/// A path of the table with a value for each of its segments.
fn filled(path: &str) -> String {
    path.replace("{collection}", "notes").replace("{id}", "a")
}

#[tokio::test]
async fn no_form_is_carried_out_without_what_its_page_put_into_it() {
    let world = world().await;
    let (root, other) = (visitor(&world, "root").await, visitor(&world, "root").await);
    let foreign = other.form("/pages/users").await;
    let before = (acts(&world).await, root.cookie("feedsync-session"));
    let mut forms = 0;
    for (path, method, _) in rights() {
        // `pages_reading` tests the forms for reading.
        let is_else = !path.starts_with("/pages/") || path.starts_with("/pages/reading");
        if method != Method::POST || is_else {
            continue;
        }
        let path = filled(&path);
        forms += 1;
        for given in [None, Some(""), Some("0"), Some(&*foreign)] {
            for action in ["add", "edit", "delete", "token", "revoke", "grant", "promote"] {
                let mut fields = vec![
                    ("action", action),
                    ("name", "nora"),
                    ("user", "rita"),
                    ("role", "owner"),
                    ("title", "typed words"),
                    ("password", SECRET),
                ];
                fields.extend(given.map(|given| ("form", given)));
                let refused = root.send(&path, &fields).await;
                assert_eq!(refused.status(), StatusCode::FORBIDDEN, "{path} {action} {given:?}");
                let page = html(refused).await;
                assert!(page.contains("Nothing was changed"), "{path}: {page}");
                let typed = path.ends_with("/notes") || path.ends_with("/a") && action == "edit";
                assert_eq!(page.contains("value=\"typed words\""), typed, "{path} {action}");
            }
        }
    }
    assert!(forms >= 7, "{forms}");
    assert_eq!((acts(&world).await, root.cookie("feedsync-session")), before, "nothing was done");

    // With its own form token the form is processed; Basic, which browsers send automatically, has a
    // form token too.
    goes_to(
        &root.post("/pages/users", &[("action", "promote"), ("name", "nora")]).await,
        "/pages/users?said=promoted",
    );
    let authorization = basic("root", SECRET);
    let headers = [("authorization", &*authorization)];
    let users = html(world.ask(Method::GET, "/pages/users", &headers).await).await;
    let own = hidden(&users, "form").unwrap();
    for (form, status) in [(&foreign, StatusCode::FORBIDDEN), (&own, StatusCode::SEE_OTHER)] {
        let headers = [headers[0], ("content-type", "application/x-www-form-urlencoded")];
        let body = format!("action=demote&name=nora&form={form}");
        let request = request(Method::POST, "/pages/users", &headers, body.into());
        let answer = tower::ServiceExt::oneshot(world.router.clone(), request).await.unwrap();
        assert_eq!(answer.status(), status);
    }
}

#[tokio::test]
async fn a_session_that_ended_costs_nothing_more_and_its_cookie_goes() {
    let world = world().await;
    let visitor = visitor(&world, "rita").await;
    for token in world.endpoint.store().tokens(&user("rita")).await.unwrap() {
        world.endpoint.revoke_token(&user("rita"), token.digest).await.unwrap();
    }
    sleep(RIGHTS_CACHE_TIME).await;
    goes_to(&visitor.get(ACCOUNT).await, "/pages/login?to=%2Fpages%2Faccount");
    assert!(visitor.cookie("feedsync-session").is_some());
    visitor.page("/pages/login?to=%2Fpages%2Faccount").await;
    assert_eq!(visitor.cookie("feedsync-session"), None);
    goes_to(&visitor.sign_in("rita", SECRET, ACCOUNT).await, ACCOUNT);
}

#[tokio::test]
async fn a_session_is_one_of_so_many_and_the_oldest_ends() {
    let world = World::in_memory().await;
    let rita = user("rita");
    let most = feedsync_endpoint::Endpoint::SESSIONS;
    for number in 0..most + 3 {
        let lasts = "30d".parse().unwrap();
        let label = format!("browser {number}");
        world.endpoint.begin_session(rita.clone(), label, lasts).await.unwrap();
    }
    let sessions = world.endpoint.store().tokens(&rita).await.unwrap();
    assert_eq!(sessions.len(), most);
    assert_eq!(sessions[0].label, "browser 3");
}

#[tokio::test]
async fn over_https_the_cookies_are_for_this_host_alone() {
    let endpoint = crate::hub::endpoint("hub");
    let new = NewUser {
        name: user("anna"),
        password: Some(Password::new(SECRET).unwrap()),
        administrator: true,
        databases_only: false,
    };
    endpoint.add_user(new).await.unwrap();
    let config = feedsync_server::Config {
        public_base: Some("https://localhost:4287/hub".parse().unwrap()),
        ..Default::default()
    };
    let visitor = Visitor::new(&feedsync_server::router(endpoint, config));
    goes_to(&visitor.get(ACCOUNT).await, "/hub/pages/login?to=%2Fpages%2Faccount");
    let signed_in = visitor.sign_in("anna", SECRET, ACCOUNT).await;
    goes_to(&signed_in, "/hub/pages/account");
    assert!(text(&signed_in, "set-cookie").ends_with("; Secure"));
    assert!(visitor.cookie("__Host-feedsync-session").is_some());
    assert!(visitor.cookie("__Host-feedsync-form").is_some());
    let page = String::from_utf8(bytes(visitor.get(ACCOUNT).await).await.to_vec()).unwrap();
    assert!(page.contains("action=\"/hub/pages/logout\""));
}
