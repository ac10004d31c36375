//! Markup in every text of other parties, on every page that shows it: it stays text.
//!
//! The pages are those of the route table, each parsed as a browser does.

use feedsync_core::{
    By, Edit, Format, History, Item, ItemId, Payload, Sequence, Update, Updates, Version,
};
use feedsync_endpoint::{NewToken, Settings, Source};
use feedsync_server::rights;
use feedsync_store::{Grant, NewCollection, NewRemote, Role, Scope, TokenKind};
use http::{Method, StatusCode};

use crate::access::world::{World, collection, user};
use crate::browsing::{faults, words};
use crate::hub::{add_document, bytes, text};
use crate::newsroom::Newsroom;
use crate::visitor::{Visitor, html};

const SCRIPT: &str = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>\
                      </title></textarea></style></select><svg/onload=alert(1)><iframe srcdoc=x>\
                      <a href=javascript:alert(1)>x</a><base href=//example.org>";

const PASSWORD: &str = "correct horse";

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// An entry in which every text construct is hostile.
fn hostile(kind: &str, content: &str) -> Payload {
    let text = escaped(SCRIPT);
    let plain = |name: &str| format!("<{name}>{text}</{name}>");
    let construct = |name: &str| format!("<{name} type=\"html\">{text}{}</{name}>", escaped(&text));
    let payload = format!(
        "<entry xmlns=\"http://www.w3.org/2005/Atom\"><id>{text}</id>{title}{summary}\
         <updated>2026-11-20T10:00:00Z</updated>\
         <author>{name}<email>{text}</email><uri>javascript:alert(1)</uri></author>\
         <contributor>{name}</contributor><rights type=\"html\">{text}</rights>\
         <category term=\"{text}\" label=\"{text}\" scheme=\"{text}\"/><category term=\"{text}\"/>\
         <link rel=\"{text}\" href=\"javascript:alert(1)\" title=\"{text}\" type=\"{text}\"/>\
         <link href=\"JaVaScRiPt:alert(1)\"/><link href=\" javascript:alert(1)\"/>\
         <link href=\"data:text/html,x\"/><link href=\"//example.org/\"/>\
         <link href=\"{text}\"/><link href=\"https://example.org/{text}\"/>\
         <fs:blob xmlns:fs=\"urn:feedsync:1\" name=\"{text}\" type=\"image/png\" length=\"3\" \
         sha-256=\"{digest}\"/><content type=\"{kind}\">{content}</content></entry>",
        title = construct("title"),
        summary = construct("summary"),
        name = plain("name"),
        digest = "0a".repeat(32),
    );
    Payload::from_parsed(Format::Atom, payload)
}

fn contents() -> Vec<(String, String)> {
    let mutation = "<math><mtext><table><mglyph><style><!--</style><img title=\"--&gt;&lt;img src=1 \
                    onerror=alert(1)&gt;\"><noscript><p title='</noscript><script>alert(1)</script>'>";
    [
        ("text", escaped(SCRIPT)),
        ("html", escaped(&format!("{SCRIPT}<p>words</p><a href='java\nscript:alert(1)'>x</a>"))),
        ("html", escaped(&format!("<p>words</p>{mutation}"))),
        (
            "xhtml",
            "<div xmlns=\"http://www.w3.org/1999/xhtml\"><script>alert(1)</script><p>words</p>\
             <img src=\"x\" onerror=\"alert(1)\"/><a href=\"javascript:alert(1)\">x</a>\
             <svg xmlns=\"http://www.w3.org/2000/svg\" onload=\"alert(1)\"/></div>"
                .to_owned(),
        ),
        (
            "image/svg+xml",
            "<svg xmlns=\"http://www.w3.org/2000/svg\"><script>alert(1)</script></svg>".to_owned(),
        ),
        ("text/csv", escaped(&format!("{SCRIPT},another"))),
        (&escaped(SCRIPT), escaped(SCRIPT)),
        (&escaped(&format!("image/{SCRIPT}")), "YWJj".to_owned()),
    ]
    .map(|(kind, content)| (kind.to_owned(), content))
    .to_vec()
}

/// A version with an arbitrary signature.
fn version(by: &str, sequence: u32, payload: Payload) -> Version<Payload> {
    let update = Update::signed(
        Sequence::new(sequence).unwrap(),
        "2026-11-20T10:00:00Z".parse().unwrap(),
        By::new(by).unwrap(),
    );
    Version {
        updates: Updates::new(sequence).unwrap(),
        deleted: false,
        noconflicts: None,
        history: History::from_updates(vec![update]).unwrap(),
        payload,
    }
}

/// A hub with a collection of hostile content; the ids of its items.
async fn world() -> (World, Vec<ItemId>, Newsroom) {
    let mut world = World::in_memory().await;
    world.password("root", PASSWORD).await;
    let name = collection("hostile");
    let mut settings = Default::default();
    Settings { public: true, ..Settings::default() }.write(&mut settings);
    let format = Format::Atom;
    let new = NewCollection { name: name.clone(), title: SCRIPT.to_owned(), format, settings };
    let store = world.endpoint.store();
    store.create_collection(new).await.unwrap();
    let remote = NewRemote {
        collection: name.clone(),
        name: Some(SCRIPT.to_owned()),
        url: format!("javascript:alert(1)//{SCRIPT}"),
        subscription: None,
    };
    let mut remote = store.add_remote(remote).await.unwrap();
    remote.state.failures = 2;
    remote.state.failure = Some(SCRIPT.to_owned());
    store.change_remote(remote).await.unwrap();
    for kind in [TokenKind::Access, TokenKind::Session] {
        let (user, label) = (user("root"), SCRIPT.to_owned());
        let new = NewToken { user, kind, label, scope: Scope::default(), expires: None };
        world.endpoint.issue_token(new).await.unwrap();
    }
    let grant = Grant { user: user("rita"), collection: name.clone(), role: Role::Reader };
    world.endpoint.grant(grant).await.unwrap();

    let mut items = Vec::new();
    let contents = contents();
    for (number, (kind, content)) in contents.iter().enumerate() {
        let other = &contents[(number + 1) % contents.len()];
        items.push(Item {
            id: ItemId::new(&format!("'onclick=alert(1)//;{number}")).unwrap(),
            winner: version("'onerror=alert(1)//", 2, hostile(kind, content)),
            conflicts: vec![version("');alert(1)//", 1, hostile(&other.0, &other.1))],
        });
    }
    let ids: Vec<_> = items.iter().map(|item| item.id.clone()).collect();
    let report = world.endpoint.incorporate(&name, Source::Offered, items, None).await.unwrap();
    assert_eq!(report.collection.live, ids.len() as u64);
    let room = Newsroom::over(world.endpoint.clone());
    world.router = room.router.clone();
    (world, ids, room)
}

/// Pages of the route table that support a method, with all values of their path segments.
fn pages(method: &Method, ids: &[ItemId]) -> Vec<String> {
    let mut pages = Vec::new();
    for (path, takes, _) in rights() {
        // `pages_reading_shown` tests the pages of articles and feeds.
        let is_else = path.ends_with("/{name}") || path.ends_with("/{number}");
        // Their query names a database: `untrusted_documents_are_text_on_the_pages_of_databases`.
        let is_else =
            is_else || ["/pages/database", "/pages/document", "/pages/history"].contains(&&*path);
        // Documents for scripts: `pages_reading_offline` tests them.
        let is_else = is_else
            || path.starts_with("/pages/reading/offline/")
            || ["/pages/reading-worker.js", "/pages/reading.webmanifest"].contains(&&*path);
        let shown = path == "/" || path.starts_with("/pages/") && !is_else;
        if takes != *method || !shown {
            continue;
        }
        let path = path.replace("{collection}", "hostile");
        match path.contains("{id}") {
            true => pages.extend(
                ids.iter().map(|id| path.replace("{id}", &id.as_str().replace('/', "%2F"))),
            ),
            false => pages.push(path),
        }
    }
    assert!(pages.iter().all(|path| !path.contains('{')), "{pages:?}");
    pages
}

/// Percent-encodes a text for an address.
fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

fn check(place: &str, page: &str) {
    assert_eq!(faults(page), Vec::<String>::new(), "{place}: {page}");
}

#[tokio::test]
async fn untrusted_content_is_text_on_every_page() {
    let (world, ids, _room) = world().await;
    let root = Visitor::signed_in(&world.router, "root", PASSWORD).await;
    let nobody = Visitor::new(&world.router);
    let attack = encoded(SCRIPT);
    let mut quoted = 0;
    let mut checked = 0;
    for path in pages(&Method::GET, &ids) {
        for query in ["", "q", "said", "to", "conflicts=1&q", "deleted=1&q"] {
            let address = match query {
                "" => path.clone(),
                query => format!("{path}?{query}={attack}"),
            };
            let page = root.page(&address).await;
            check(&address, &page);
            quoted += usize::from(words(&page).contains("<script>alert(1)</script>"));
            checked += 1;
            let open = nobody.get(&address).await;
            if open.status() == StatusCode::OK {
                check(&address, &html(open).await);
            } else {
                let led = text(&open, "location").to_owned();
                assert!(led.starts_with("/pages/login"), "{address}: {led}");
            }
        }
    }
    assert!(checked >= 6 * (8 + ids.len()), "{checked}");
    assert!(quoted >= 6 * (4 + ids.len()), "what is hostile is shown, as text: {quoted}");
    let name = collection("hostile");
    for id in &ids {
        world.endpoint.edit(&name, id, None, Edit::delete()).await.unwrap();
    }
    for path in pages(&Method::GET, &ids) {
        check(&path, &root.page(&path).await);
        check(&path, &root.page(&format!("{path}?deleted=1")).await);
    }
}

#[tokio::test]
async fn untrusted_documents_are_text_on_the_pages_of_databases() {
    let (world, _, _room) = world().await;
    let root = Visitor::signed_in(&world.router, "root", PASSWORD).await;
    let quoted = serde_json::Value::from(SCRIPT).to_string();
    let attachment = format!(r#"{{{quoted}:{{"content_type":{quoted},"data":""}}}}"#);
    for revision in ["1-a", "1-b"] {
        let text = format!(
            r#"{{"_id":{quoted},"_rev":"{revision}","a":"{revision}",{quoted}:{quoted},"_attachments":{attachment}}}"#
        );
        add_document(&world.endpoint, "hostile", &text).await;
    }
    let design = format!(
        r#"{{"_id":"_design/{}","_rev":"1-a","views":{{{quoted}:{{"map":"function () {{}}"}}}}}}"#,
        quoted.trim_matches('"')
    );
    add_document(&world.endpoint, "hostile", &design).await;
    let history = "/pages/history?name=hostile";
    let keep = root.post(history, &[("action", "keep"), ("days", "30")]).await;
    assert_eq!(keep.status(), StatusCode::SEE_OTHER);
    let next = format!(
        r#"{{"_id":{quoted},"_rev":"2-c","_revisions":{{"start":2,"ids":["c","a"]}},{quoted}:{quoted}}}"#
    );
    add_document(&world.endpoint, "hostile", &next).await;
    let (attack, mut quoted) = (encoded(SCRIPT), 0);
    let document = format!("/pages/document?name=hostile&id={attack}");
    for address in [
        "/pages/database?name=hostile".to_owned(),
        "/pages/database?name=hostile&conflicts=1".to_owned(),
        format!("/pages/database?name=hostile&from={attack}"),
        format!("/pages/database?name=hostile&said={attack}"),
        history.to_owned(),
        format!("{history}&said={attack}&before={attack}"),
        document.clone(),
        format!("{document}&said={attack}"),
        format!("/pages/document?name=hostile&id=_design%2F{attack}"),
    ] {
        let page = root.page(&address).await;
        check(&address, &page);
        quoted += usize::from(words(&page).contains("<script>alert(1)</script>"));
    }
    assert_eq!(quoted, 9, "what is hostile is shown, as text");
    for address in [
        format!("/pages/database?name={attack}"),
        format!("/pages/document?name=hostile&id=x{attack}"),
        format!("/pages/databases?after={attack}"),
        format!("{history}&time={attack}"),
    ] {
        check(&address, &html(root.get(&address).await).await);
    }
    for (action, seen) in [("edit", "x"), (SCRIPT, SCRIPT)] {
        let fields = [("action", action), ("seen", seen), ("document", SCRIPT)];
        let answer = root.post(&document, &fields).await;
        assert_eq!(answer.status(), StatusCode::CONFLICT);
        check(&document, &html(answer).await);
    }
}

#[tokio::test]
async fn returned_form_input_is_text() {
    let (world, ids, _room) = world().await;
    let root = Visitor::signed_in(&world.router, "root", PASSWORD).await;
    let form = root.form("/pages/users").await;
    let mut came_back = 0;
    for path in pages(&Method::POST, &ids[..2]) {
        if path == "/pages/logout" {
            continue;
        }
        let actions = [
            "add", "remove", "password", "promote", "token", "revoke", "grant", "edit", "merge",
            "delete", "take", SCRIPT,
        ];
        for (action, form) in actions.iter().flat_map(|action| [(action, &*form), (action, "x")]) {
            let mut fields = vec![("action", *action), ("form", form)];
            for name in
                ["title", "content", "kind", "base", "seen", "place", "name", "user", "role"]
            {
                fields.push((name, SCRIPT));
            }
            for name in ["label", "collection", "expires", "to", "current", "new", "token"] {
                fields.push((name, SCRIPT));
            }
            let answer = root.send(&path, &fields).await;
            if answer.status() == StatusCode::SEE_OTHER {
                assert!(text(&answer, "location").starts_with("/pages/collections/hostile/"));
                continue;
            }
            assert!(answer.status().is_client_error(), "{path} {action}: {}", answer.status());
            let page = html(answer).await;
            check(&format!("{path} {action}"), &page);
            came_back += usize::from(words(&page).contains("<script>alert(1)</script>"));
        }
    }
    assert!(came_back > 20, "{came_back}");
}

#[tokio::test]
async fn error_about_an_invalid_address_is_text() {
    let (world, _, _room) = world().await;
    let root = Visitor::signed_in(&world.router, "root", PASSWORD).await;
    let attack = encoded(SCRIPT);
    for path in [
        format!("/pages/{attack}"),
        format!("/pages/collections/{attack}"),
        format!("/pages/collections/{attack}/people"),
        format!("/pages/collections/hostile/items/{attack}"),
        format!("/pages/collections/hostile?before={attack}"),
        format!("/pages/collections/hostile?{attack}=1&{attack}=2"),
    ] {
        let response = root.get(&path).await;
        assert!(response.status().is_client_error(), "{path}");
        let page = String::from_utf8(bytes(response).await.to_vec()).unwrap();
        check(&path, &page);
    }
}
