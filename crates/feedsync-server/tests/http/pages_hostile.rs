//! Markup in every text that others send, on every page that shows it: it stays text.

use feedsync::{
    By, Edit, Format, History, Item, ItemId, Payload, Sequence, Update, Updates, Version,
};
use feedsync_endpoint::Source;
use feedsync_store::{CollectionName, NewCollection, NewRemote};
use http::StatusCode;

use crate::hub::{TestHub, bytes, hub};

const SCRIPT: &str = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>";

/// What must not stand on a page: each would be markup that somebody else wrote.
const HARM: [&str; 9] = [
    "<script>alert",
    "<img src=x",
    "onerror=alert(1)>",
    "href=\"javascript:",
    "href='javascript:",
    "<svg/onload",
    "<iframe",
    "<svg><",
    "</textarea><",
];

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
         <category term=\"{text}\" label=\"{text}\" scheme=\"{text}\"/>\
         <link rel=\"{text}\" href=\"javascript:alert(1)\" title=\"{text}\"/>\
         <link href=\"{text}\"/><link href=\"https://example.org/{text}\"/>\
         <content type=\"{kind}\">{content}</content></entry>",
        title = construct("title"),
        summary = construct("summary"),
        name = plain("name"),
    );
    Payload::new(Format::Atom, payload)
}

fn contents() -> Vec<(&'static str, String)> {
    let svg = "<svg/onload=alert(1)><iframe srcdoc=x></iframe></textarea><p>";
    vec![
        ("text", escaped(&format!("{SCRIPT}{svg}"))),
        ("html", escaped(&format!("{SCRIPT}{svg}<a href='javascript:alert(1)'>x</a>"))),
        (
            "xhtml",
            "<div xmlns=\"http://www.w3.org/1999/xhtml\"><script>alert(1)</script>\
             <img src=\"x\" onerror=\"alert(1)\"/><a href=\"javascript:alert(1)\">x</a></div>"
                .to_owned(),
        ),
        (
            "image/svg+xml",
            "<svg xmlns=\"http://www.w3.org/2000/svg\"><script>alert(1)</script></svg>".to_owned(),
        ),
        ("text/csv", escaped(&format!("{SCRIPT}{svg},another"))),
    ]
}

async fn clean(hub: &TestHub, path: &str) -> String {
    let response = hub.get(path).await;
    assert_eq!(response.status(), StatusCode::OK, "{path}");
    let page = String::from_utf8(bytes(response).await.to_vec()).unwrap();
    for harm in HARM {
        assert!(!page.contains(harm), "{harm} on {path}: {page}");
    }
    page
}

/// A version as a stranger may sign it.
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

#[tokio::test]
async fn what_others_wrote_is_text_on_every_page() {
    let hub = hub().await;
    let name = CollectionName::new("hostile").unwrap();
    let new = NewCollection {
        name: name.clone(),
        title: SCRIPT.to_owned(),
        format: Format::Atom,
        settings: Default::default(),
    };
    hub.endpoint.store().create_collection(new).await.unwrap();
    let remote = NewRemote {
        collection: name.clone(),
        name: Some(SCRIPT.to_owned()),
        url: format!("javascript:alert(1)//{SCRIPT}"),
    };
    let mut remote = hub.endpoint.store().add_remote(remote).await.unwrap();
    remote.state.failures = 2;
    remote.state.failure = Some(SCRIPT.to_owned());
    hub.endpoint.store().change_remote(remote).await.unwrap();

    let mut items = Vec::new();
    for (number, (kind, content)) in contents().into_iter().enumerate() {
        let other = contents()[(number + 1) % contents().len()].clone();
        items.push(Item {
            id: ItemId::new(&format!("'onclick=alert(1)//;{number}")).unwrap(),
            winner: version("'onerror=alert(1)//", 2, hostile(kind, &content)),
            conflicts: vec![version("');alert(1)//", 1, hostile(other.0, &other.1))],
        });
    }
    let ids: Vec<_> = items.iter().map(|item| item.id.clone()).collect();
    let report = hub.endpoint.incorporate(&name, Source::Offered, items, None).await.unwrap();
    assert_eq!(report.collection.live, ids.len() as u64);

    let home = clean(&hub, "/").await;
    assert!(home.contains("&#60;script&#62;alert(1)"), "{home}");
    clean(&hub, "/pages/remotes").await;
    clean(&hub, "/pages/collections/hostile").await;
    clean(&hub, "/pages/collections/hostile?conflicts=1&q=alert").await;
    let query =
        "%3Cscript%3Ealert(1)%3C/script%3E%22%27%3E%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E";
    let list = clean(&hub, &format!("/pages/collections/hostile?q={query}")).await;
    assert!(list.contains("&#60;script&#62;"));
    for id in ids {
        let path = format!("/pages/collections/hostile/items/{}", id.as_str().replace('/', "%2F"));
        let page = clean(&hub, &path).await;
        assert!(page.contains("&#60;script&#62;alert(1)"), "{page}");
        assert!(!page.contains("'onclick=") && !page.contains("'onerror="), "{page}");
        assert!(page.contains("<del>") || page.contains("<ins>"), "nothing differs: {page}");
        clean(&hub, &format!("{path}?said={query}")).await;
        let edit = Edit::delete();
        hub.endpoint.edit(&name, &id, None, edit).await.unwrap();
        clean(&hub, &path).await;
    }
    clean(&hub, "/pages/collections/hostile?deleted=1").await;
    for path in [
        "/pages/%3Cscript%3Ealert(1)",
        "/pages/collections/%3Cimg%20src=x%3E",
        "/pages/collections/hostile/items/%3Csvg%3E%3Ca",
        "/pages/collections/hostile?before=%3Ciframe",
    ] {
        let response = hub.get(path).await;
        assert!(response.status().is_client_error(), "{path}");
        let page = String::from_utf8(bytes(response).await.to_vec()).unwrap();
        assert!(HARM.iter().all(|harm| !page.contains(harm)), "{path}: {page}");
    }
}
