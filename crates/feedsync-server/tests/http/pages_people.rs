//! Pages about users: the own account, users, roles; access to them, and the effects of their forms.

use feedsync_store::{GrantFilter, Role, Scope, TokenKind};
use http::StatusCode;
use tokio::time::sleep;

use crate::access::world::{bearer, collection, user};
use crate::hub::{hub, text};
use crate::pages_sessions::{
    ACCOUNT, RIGHTS_CACHE_TIME, SECRET, days, goes_to, newest, visitor, world,
};
use crate::visitor::{Visitor, html};

#[tokio::test]
async fn another_password_ends_the_other_sessions_and_no_token() {
    let world = world().await;
    let (here, there) = (visitor(&world, "rita").await, visitor(&world, "rita").await);
    let program = bearer(&world.access("rita").await);
    let page = here.page(ACCOUNT).await;
    assert_eq!(page.matches("this browser</span>").count(), 1, "{page}");
    let change = async |current: &str, new: &str, again: &str| {
        let fields = [("action", "password"), ("current", current), ("new", new), ("again", again)];
        here.post(ACCOUNT, &fields).await
    };
    for (current, new, again, field) in [
        ("wrong horse", "battery staple", "battery staple", "current-error"),
        (SECRET, "short", "short", "new-error"),
        (SECRET, "fsy_battery staple", "fsy_battery staple", "new-error"),
        (SECRET, "battery staple", "battery", "again-error"),
    ] {
        let refused = change(current, new, again).await;
        assert_eq!(refused.status(), StatusCode::UNPROCESSABLE_ENTITY, "{field}");
        let page = html(refused).await;
        assert!(page.contains(&format!("id=\"{field}\"")), "{field}: {page}");
        assert!(!page.contains("battery"), "no password comes back");
    }
    assert_eq!(there.get(ACCOUNT).await.status(), StatusCode::OK);
    let changed = change(SECRET, "battery staple", "battery staple").await;
    goes_to(&changed, "/pages/account?said=password");
    let act = newest(&world).await;
    assert_eq!((act.user, &*act.action), (Some(user("rita")), "set password"));
    assert!(!act.detail.contains("staple"));
    sleep(RIGHTS_CACHE_TIME).await;
    assert!(here.page(ACCOUNT).await.contains("this browser</span>"));
    assert_eq!(there.get(ACCOUNT).await.status(), StatusCode::SEE_OTHER);
    assert_eq!(world.get("/collections/notes", &program).await, 200);
    let visitor = Visitor::new(&world.router);
    assert_eq!(visitor.sign_in("rita", SECRET, "/").await.status(), StatusCode::FORBIDDEN);
    goes_to(&visitor.sign_in("rita", "battery staple", "/").await, "/");
}

#[tokio::test]
async fn a_token_is_shown_in_the_one_answer_that_makes_it_and_allows_what_was_chosen() {
    let world = world().await;
    let owner = visitor(&world, "owen").await;
    let fields = [
        ("action", "token"),
        ("label", "<b>phone</b>"),
        ("role", "reader"),
        ("collection", "notes"),
        ("expires", "7d"),
    ];
    let made = owner.post(ACCOUNT, &fields).await;
    assert_eq!(made.status(), StatusCode::CREATED);
    assert_eq!(text(&made, "cache-control"), "no-store");
    let page = html(made).await;
    assert_eq!(page.matches("fsy_").count(), 1, "{page}");
    let token = format!("fsy_{}", &page.split_once("fsy_").unwrap().1[..64]);
    assert!(!owner.page(ACCOUNT).await.contains("fsy_"), "never again");
    assert_eq!(world.get("/collections/notes", &bearer(&token)).await, 200);
    assert_eq!(world.get("/collections/drafty", &bearer(&token)).await, 404);
    let tokens = world.endpoint.store().tokens(&user("owen")).await.unwrap();
    let kept = tokens.iter().find(|token| token.kind == TokenKind::Access).unwrap();
    assert_eq!(
        (&kept.scope, &*kept.label),
        (
            &Scope { role: Some(Role::Reader), collection: Some(collection("notes")) },
            "<b>phone</b>"
        )
    );
    assert_eq!(days(kept), 7);
    assert_eq!(newest(&world).await.action, "issue token");

    for (name, value, status) in [
        ("label", "a\nb", StatusCode::UNPROCESSABLE_ENTITY),
        ("role", "king", StatusCode::BAD_REQUEST),
        ("expires", "soon", StatusCode::BAD_REQUEST),
        ("collection", "none", StatusCode::NOT_FOUND),
    ] {
        let refused = owner.post(ACCOUNT, &[("action", "token"), (name, value)]).await;
        assert_eq!(refused.status(), status, "{name}={value}");
    }
    // A restricted token cannot create one with more rights.
    for scope in [
        Scope { role: Some(Role::Reader), collection: None },
        Scope { role: None, collection: Some(collection("notes")) },
    ] {
        let bounded = bearer(&world.token("root", TokenKind::Access, scope).await);
        for path in [ACCOUNT, "/pages/users"] {
            assert_eq!(world.get(path, &bounded).await, 403, "{path}");
        }
    }
    let digest = kept.digest.to_string();
    let other = visitor(&world, "eddy").await;
    other.post(ACCOUNT, &[("action", "revoke"), ("token", &digest)]).await;
    assert_eq!(world.get("/collections/notes", &bearer(&token)).await, 200, "not another user's");
    goes_to(
        &owner.post(ACCOUNT, &[("action", "revoke"), ("token", &digest)]).await,
        "/pages/account?said=revoked",
    );
    assert_eq!(newest(&world).await.action, "revoke token");
    sleep(RIGHTS_CACHE_TIME).await;
    assert_eq!(world.get("/collections/notes", &bearer(&token)).await, 401);
}

#[tokio::test]
async fn an_administrator_keeps_users_as_the_command_line_does() {
    let world = world().await;
    let root = visitor(&world, "root").await;
    let users = "/pages/users";
    let store = world.endpoint.store();
    let change = async |action: &str, name: &str, more: &[(&str, &str)]| {
        let fields = [&[("action", action), ("name", name)], more].concat();
        root.post(users, &fields).await
    };
    for (name, password, said) in [
        ("Zoe", SECRET, "name-error"),
        ("rita", SECRET, "there is already a user rita"),
        ("zoe", "short", "new-password-error"),
    ] {
        let refused = change("add", name, &[("password", password)]).await;
        assert_eq!(refused.status(), StatusCode::UNPROCESSABLE_ENTITY, "{name}");
        let page = html(refused).await.to_lowercase();
        assert!(
            page.contains(said) && page.contains(&format!("value=\"{}\"", name.to_lowercase()))
        );
    }
    goes_to(&change("add", "zoe", &[("password", SECRET)]).await, "/pages/users?said=added");
    let act = newest(&world).await;
    assert_eq!(
        (act.user, &*act.action, &*act.detail),
        (Some(user("root")), "add user", "zoe: no administrator")
    );
    for (action, more, said, recorded) in [
        ("promote", &[][..], "promoted", "change user"),
        ("demote", &[], "demoted", "change user"),
        ("disable", &[], "disabled", "change user"),
        ("enable", &[], "enabled", "change user"),
        ("password", &[("password", "battery staple")], "password", "set password"),
        ("remove", &[("sure", "1")], "removed", "remove user"),
    ] {
        goes_to(&change(action, "zoe", more).await, &format!("/pages/users?said={said}"));
        assert_eq!(newest(&world).await.action, recorded, "{action}");
        let zoe = store.user(&user("zoe")).await.unwrap();
        match action {
            "promote" | "demote" => {
                assert_eq!(zoe.unwrap().administrator, action == "promote");
            }
            "disable" | "enable" => assert_eq!(zoe.unwrap().disabled, action == "disable"),
            "password" => {
                let known = world.endpoint.check_password(&user("zoe"), "battery staple").await;
                assert!(known.unwrap().is_some());
            }
            _ => assert!(zoe.is_none()),
        }
    }
    for (action, name, more) in [
        ("remove", "root", &[("sure", "1")][..]),
        ("demote", "root", &[]),
        ("disable", "root", &[]),
        ("remove", "rita", &[]),
        ("password", "rita", &[("password", "short")]),
    ] {
        let refused = change(action, name, more).await;
        assert_eq!(refused.status(), StatusCode::UNPROCESSABLE_ENTITY, "{action} {name}");
        assert!(html(refused).await.contains("role=\"alert\""), "{action} {name}");
    }
    assert_eq!(change("promote", "zoe", &[]).await.status(), StatusCode::NOT_FOUND);
    assert_eq!(store.users().await.unwrap().len(), 7);
    assert_eq!(visitor(&world, "owen").await.get(users).await.status(), StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn an_owner_says_who_may_do_what_in_a_collection() {
    let world = world().await;
    let owner = visitor(&world, "owen").await;
    let people = "/pages/collections/notes/people";
    assert!(owner.page("/pages/collections/notes").await.contains(people));
    let role = async |name: &str| {
        let name_of = collection("notes");
        let grants =
            world.endpoint.store().grants(GrantFilter::Collection(&name_of)).await.unwrap();
        grants.into_iter().find(|grant| grant.user == user(name)).map(|grant| grant.role)
    };
    let change = async |action: &str, name: &str, role: &str| {
        owner.post(people, &[("action", action), ("user", name), ("role", role)]).await
    };
    let said = |word: &str| format!("{people}?said={word}");
    goes_to(&change("grant", "nora", "editor").await, &said("granted"));
    assert_eq!(role("nora").await, Some(Role::Editor));
    let act = newest(&world).await;
    assert_eq!(
        (act.user, &*act.action, act.collection, &*act.detail),
        (Some(user("owen")), "grant", Some(collection("notes")), "nora: editor")
    );
    goes_to(&change("grant", "nora", "reader").await, &said("granted"));
    assert_eq!(role("nora").await, Some(Role::Reader));
    goes_to(&change("revoke", "nora", "").await, &said("revoked"));
    assert_eq!((role("nora").await, &*newest(&world).await.action), (None, "revoke"));
    for (name, status) in
        [("nobody", StatusCode::UNPROCESSABLE_ENTITY), ("<b>", StatusCode::UNPROCESSABLE_ENTITY)]
    {
        assert_eq!(change("grant", name, "reader").await.status(), status, "{name}");
    }
    assert_eq!(change("grant", "rita", "king").await.status(), StatusCode::BAD_REQUEST);
    for (name, status) in [
        ("rita", StatusCode::FORBIDDEN),
        ("eddy", StatusCode::FORBIDDEN),
        ("nora", StatusCode::NOT_FOUND),
        ("root", StatusCode::OK),
    ] {
        assert_eq!(visitor(&world, name).await.get(people).await.status(), status, "{name}");
    }
    goes_to(&change("grant", "owen", "reader").await, "/");
    assert_eq!(role("owen").await, Some(Role::Reader));
}

#[tokio::test]
async fn readers_see_no_controls_for_changes() {
    let world = world().await;
    for path in ["/pages/collections/notes", "/pages/collections/notes/items/a"] {
        let page = visitor(&world, "rita").await.page(path).await;
        assert_eq!(page.matches("method=\"post\"").count(), 1, "to sign out: {page}");
        let page = visitor(&world, "eddy").await.page(path).await;
        assert!(page.matches("method=\"post\"").count() > 1, "{path}");
    }
    let open = Visitor::new(&world.router);
    let page = open.page("/pages/collections/open").await;
    assert!(!page.contains("method=\"post\"") && page.contains(">Sign in</a>"), "{page}");
    assert_eq!(open.cookie("feedsync-form"), None, "who only reads is given no cookie");
}

#[tokio::test]
async fn without_users_pages_are_open_and_say_so_until_there_is_one() {
    let hub = hub().await;
    let visitor = Visitor::new(&hub.router);
    for path in ["/", "/pages/users", ACCOUNT, "/pages/login", "/pages/collections/notes"] {
        let page = visitor.page(path).await;
        assert!(page.contains("every program on this machine has full access"), "{path}");
        assert!(!page.contains(">Sign out<"), "{path}");
    }
    let add = async |name: &str, password: &str, administrator: bool| {
        let mut fields = vec![("action", "add"), ("name", name), ("password", password)];
        fields.extend(administrator.then_some(("administrator", "1")));
        visitor.post("/pages/users", &fields).await
    };
    for (password, administrator) in [("", true), (SECRET, false)] {
        let refused = add("anna", password, administrator).await;
        assert_eq!(refused.status(), StatusCode::UNPROCESSABLE_ENTITY);
    }
    assert!(hub.endpoint.store().users().await.unwrap().is_empty());
    goes_to(&add("anna", SECRET, true).await, "/pages/login?to=%2Fpages%2Fusers");
    sleep(RIGHTS_CACHE_TIME).await;
    goes_to(&visitor.get("/pages/users").await, "/pages/login?to=%2Fpages%2Fusers");
    goes_to(&visitor.sign_in("anna", SECRET, "/pages/users").await, "/pages/users");
    assert!(visitor.page("/pages/users").await.contains("administrator</span>"));
}

#[tokio::test]
async fn the_bounds_of_the_hub_are_a_page() {
    let hub = hub().await;
    let page = Visitor::new(&hub.router).page("/pages/limits").await;
    assert!(page.contains("<code>body_items</code>") && page.contains(">1000<"), "{page}");
    let links = Visitor::new(&hub.router).page("/").await;
    assert!(links.contains("href=\"/pages/limits\""));
}
