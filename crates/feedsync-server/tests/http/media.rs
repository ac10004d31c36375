//! Media and their link entries: one item with one history (RFC 5023 9.6).

use feedsync_store::Digest;
use http::{Method, StatusCode};

use crate::hub::{TestHub, bytes, hub, hub_with, notes, path, text};
use crate::members::{ENTRY, body, expect, items, send, set};

pub(crate) const PICTURE: &[u8] = b"\x89PNG\r\n\x1a\n and so on\0";

pub(crate) struct Created {
    pub(crate) entry: String,
    pub(crate) media: String,
    told: String,
}

pub(crate) async fn created(hub: &TestHub, kind: &str, content: &[u8]) -> Created {
    let headers = [("content-type", kind), ("slug", "My Cat.png")];
    let address = "/collections/notes";
    let response = send(hub, Method::POST, address, &headers, content.to_vec()).await;
    let entry = path(text(&response, "location")).to_owned();
    let told = expect(response, StatusCode::CREATED).await;
    let source = told.split_once(" src=\"").unwrap().1.split_once('"').unwrap().0.to_owned();
    assert!(told.contains(&format!("rel=\"edit-media\" href=\"{source}\"")), "{told}");
    Created { entry, media: path(&source).to_owned(), told }
}

pub(crate) async fn media_hub() -> TestHub {
    let hub = hub().await;
    set(&hub, r#"{"accept": ["*/*"]}"#).await;
    hub
}

#[tokio::test]
async fn media_come_with_an_entry_that_leads_to_them() {
    let hub = media_hub().await;
    let Created { entry, media, told } = created(&hub, "image/png", PICTURE).await;
    assert!(media.starts_with(&entry) && media.ends_with("/media/My-Cat.png"), "{media}");
    for part in ["<summary>My-Cat.png</summary>", "<content type=\"image/png\"", "rel=\"edit\""] {
        assert!(told.contains(part), "{part}: {told}");
    }
    assert_eq!(body(hub.get(&entry).await).await, told);
    let got = hub.call(Method::GET, &media, &[("accept-encoding", "gzip")]).await;
    let tag = text(&got, "etag").to_owned();
    assert_eq!(tag, format!("\"{}\"", Digest::of(PICTURE)));
    assert_eq!((text(&got, "content-type"), text(&got, "content-encoding")), ("image/png", ""));
    assert_eq!(bytes(got).await, PICTURE);
    let held = hub.call(Method::GET, &media, &[("if-none-match", &tag)]).await;
    assert_eq!(held.status(), StatusCode::NOT_MODIFIED);
    // The name in the address is for people.
    let renamed = media.replace("My-Cat", "other");
    assert_eq!(bytes(hub.get(&renamed).await).await, PICTURE);
}

/// RFC 4287 4.1.2: entries for peers link to the media; another hub does not store these links.
#[tokio::test]
async fn peers_are_led_to_the_media_and_hubs_keep_the_bytes_of_the_entry() {
    let hub = media_hub().await;
    let Created { media, .. } = created(&hub, "image/png", PICTURE).await;
    let source = format!("src=\"http://localhost:4287{media}\"");
    for feed in ["changes", "complete", "changes?limit=5"] {
        let text = body(hub.get(&format!("/collections/notes/{feed}")).await).await;
        let content = text.split_once("<content ").expect("content").1.split_once("/>").unwrap().0;
        assert!(content.contains(&source), "{feed}: {content}");
        assert!(text.contains("rel=\"enclosure\""), "{text}");
    }
    let rss = body(hub.get("/collections/notes/changes.rss").await).await;
    assert!(rss.contains(&format!("<enclosure url=\"http://localhost:4287{media}\"")), "{rss}");
    let mine = items(&hub).await;
    for suffix in ["", ".rss", ".json", ".xml"] {
        let other = hub_with(Default::default()).await;
        let feed = hub.get(&format!("/collections/notes/changes{suffix}")).await;
        let kind = text(&feed, "content-type").to_owned();
        let taken = other.post(&kind, bytes(feed).await).await;
        assert_eq!(taken.status(), StatusCode::OK, "{suffix}");
        let theirs = items(&other).await;
        assert_eq!(theirs[0].item, mine[0].item, "{suffix}: equal dots mean equal payloads");
    }
}

#[tokio::test]
async fn parts_of_media_are_had_by_their_tag() {
    let hub = media_hub().await;
    let long: Vec<u8> = (0..200_000u32).map(|number| number as u8).collect();
    let Created { media, .. } = created(&hub, "video/mp4", &long).await;
    let tag = text(&hub.get(&media).await, "etag").to_owned();
    let part = [("range", "bytes=100-199"), ("if-range", &*tag), ("accept-encoding", "gzip")];
    let part = hub.call(Method::GET, &media, &part).await;
    assert_eq!(part.status(), StatusCode::PARTIAL_CONTENT);
    assert_eq!(text(&part, "content-range"), "bytes 100-199/200000");
    assert_eq!(bytes(part).await, long[100..200]);
    let other = [("range", "bytes=100-199"), ("if-range", "\"other\"")];
    let whole = hub.call(Method::GET, &media, &other).await;
    assert_eq!(whole.status(), StatusCode::OK);
    assert_eq!(bytes(whole).await, long);
    let beyond = hub.call(Method::GET, &media, &[("range", "bytes=200000-")]).await;
    assert_eq!(text(&beyond, "content-range"), "bytes */200000");
    assert_eq!(beyond.status(), StatusCode::RANGE_NOT_SATISFIABLE);
    let head = hub.call(Method::HEAD, &media, &[]).await;
    assert_eq!((head.status(), text(&head, "accept-ranges")), (StatusCode::OK, "bytes"));
}

#[tokio::test]
async fn an_edit_of_the_entry_leaves_the_media_and_the_other_way_round() {
    let hub = media_hub().await;
    let Created { entry, media, told } = created(&hub, "image/png", PICTURE).await;
    let tag = text(&hub.get(&media).await, "etag").to_owned();
    let same = [("content-type", ENTRY)];
    let unchanged = send(&hub, Method::PUT, &entry, &same, told.clone()).await;
    assert_eq!(text(&unchanged, "etag"), text(&hub.get(&entry).await, "etag"));
    assert_eq!(expect(unchanged, StatusCode::OK).await, told);
    let moved = told
        .replace("<title>My-Cat.png", "<title>Tom")
        .replace("src=\"http://localhost:4287", "src=\"http://other")
        .replace(&Digest::of(PICTURE).to_string(), &"0".repeat(64));
    let changed = send(&hub, Method::PUT, &entry, &same, moved).await;
    let changed = expect(changed, StatusCode::OK).await;
    assert!(changed.contains("<title>Tom") && changed.contains(&media), "{changed}");
    assert!(!changed.contains("http://other"), "{changed}");
    let got = hub.get(&media).await;
    assert_eq!(text(&got, "etag"), tag);
    assert_eq!(bytes(got).await, PICTURE);

    let before = text(&hub.get(&entry).await, "etag").to_owned();
    let new = [("content-type", "image/gif"), ("if-match", &*tag)];
    let replaced = send(&hub, Method::PUT, &media, &new, "GIF89a").await;
    let new_tag = text(&replaced, "etag").to_owned();
    assert_eq!((replaced.status(), text(&replaced, "content-type")), (StatusCode::OK, "image/gif"));
    assert_eq!(bytes(replaced).await, &b"GIF89a"[..]);
    let stale = send(&hub, Method::PUT, &media, &new, "GIF87a").await;
    assert_eq!(
        (stale.status(), text(&stale, "etag")),
        (StatusCode::PRECONDITION_FAILED, &*new_tag)
    );
    let got = hub.get(&entry).await;
    assert_ne!(text(&got, "etag"), before);
    let now = body(got).await;
    assert!(now.contains("<title>Tom") && now.contains("<content type=\"image/gif\""), "{now}");
    assert_eq!(bytes(hub.get(&media).await).await, &b"GIF89a"[..]);
    let minimal = [("content-type", "image/gif"), ("prefer", "wait=9, Return=minimal; x")];
    let minimal = send(&hub, Method::PUT, &media, &minimal, "GIF87a").await;
    assert_eq!(minimal.status(), StatusCode::NO_CONTENT);
    assert_eq!(text(&minimal, "preference-applied"), "return=minimal");
    let items = items(&hub).await;
    assert_eq!(items.len(), 1);
    assert_eq!(
        items[0].item.winner.history.updates().len(),
        4,
        "each edit of either is one update"
    );
}

#[tokio::test]
async fn media_that_are_stored_are_told_so_even_where_there_is_no_room_to_show_them() {
    let mut config = feedsync_server::Config::default();
    config.limits.answers = 1;
    let hub = hub_with(config).await;
    set(&hub, r#"{"accept": ["image/*"]}"#).await;
    let Created { media, .. } = created(&hub, "image/png", &[1; 100_000]).await;
    let read_slowly = hub.get(&media).await;
    let png = [("content-type", "image/png")];
    let replaced = send(&hub, Method::PUT, &media, &png, vec![2; 100_000]).await;
    assert_eq!(replaced.status(), StatusCode::NO_CONTENT);
    let tag = text(&replaced, "etag").to_owned();
    assert_eq!(hub.get(&media).await.status(), StatusCode::SERVICE_UNAVAILABLE);
    drop(read_slowly);
    let now = hub.get(&media).await;
    assert_eq!(text(&now, "etag"), tag);
    assert_eq!(bytes(now).await, vec![2; 100_000]);
}

#[tokio::test]
async fn an_edit_of_media_moves_their_entry_to_the_front_of_the_listing() {
    let hub = media_hub().await;
    let first = created(&hub, "image/png", PICTURE).await;
    let second = created(&hub, "image/png", PICTURE).await;
    let newest = async || {
        let listing = body(hub.get("/collections/notes").await).await;
        let entry = listing.split_once("<entry").unwrap().1.to_owned();
        let edit = entry.split_once("rel=\"edit\" href=\"").unwrap().1.split_once('"').unwrap().0;
        let edited = entry.split_once("<app:edited").unwrap().1.split_once("</").unwrap().0;
        (path(edit).to_owned(), edited.to_owned())
    };
    let (before, of_second) = newest().await;
    assert_eq!(before, second.entry);
    let gif = [("content-type", "image/gif")];
    let replaced = send(&hub, Method::PUT, &first.media, &gif, "GIF89a").await;
    expect(replaced, StatusCode::OK).await;
    let (after, of_first) = newest().await;
    assert_eq!(after, first.entry);
    assert!(of_first > of_second, "{of_first} {of_second}");
}

#[tokio::test]
async fn media_and_entry_go_together() {
    for of_media in [true, false] {
        let hub = media_hub().await;
        let Created { entry, media, .. } = created(&hub, "image/png", PICTURE).await;
        let address = if of_media { &media } else { &entry };
        let gone = hub.call(Method::DELETE, address, &[]).await;
        assert_eq!(gone.status(), StatusCode::NO_CONTENT);
        for address in [&entry, &media] {
            assert_eq!(hub.get(address).await.status(), StatusCode::GONE, "{address}");
            assert_eq!(hub.call(Method::DELETE, address, &[]).await.status(), StatusCode::GONE);
        }
        assert_eq!(hub.endpoint.collection(&notes()).await.unwrap().deleted, 1);
    }
}

#[tokio::test]
async fn executable_media_types_are_for_download_only() {
    let hub = media_hub().await;
    for (kind, shown) in [
        ("image/png", "inline"),
        ("text/plain; charset=utf-8", "inline"),
        ("text/html", "attachment"),
        ("Text/HTML; charset=utf-8", "attachment"),
        ("image/svg+xml", "attachment"),
        ("IMAGE/SVG+XML;charset=utf-8", "attachment"),
        ("image/x+xml", "attachment"),
        ("multipart/x-mixed-replace; boundary=x", "attachment"),
        ("application/octet-stream", "attachment"),
        ("application/xhtml+xml", "attachment"),
        ("text/javascript", "attachment"),
        ("application/pdf", "attachment"),
    ] {
        let Created { media, .. } = created(&hub, kind, b"<script>alert(1)</script>").await;
        let got = hub.get(&media).await;
        assert_eq!(text(&got, "content-type"), kind);
        assert_eq!(text(&got, "x-content-type-options"), "nosniff");
        assert_eq!(text(&got, "content-security-policy"), "default-src 'none'; sandbox");
        let disposition = format!("{shown}; filename*=UTF-8''My-Cat.png");
        assert_eq!(text(&got, "content-disposition"), disposition, "{kind}");
    }
}

#[tokio::test]
async fn an_entry_is_never_media_and_what_has_none_gives_none() {
    let hub = media_hub().await;
    let entry = "<entry xmlns=\"http://www.w3.org/2005/Atom\"><title>a</title></entry>";
    let headers = [("content-type", ENTRY)];
    let refused = send(&hub, Method::POST, "/collections/notes", &headers, entry).await;
    assert_eq!(refused.status(), StatusCode::UNSUPPORTED_MEDIA_TYPE);
    let Created { media, .. } = created(&hub, "image/png", PICTURE).await;
    for kind in [ENTRY, "application/atom+xml;type=feed", ""] {
        let response = send(&hub, Method::PUT, &media, &[("content-type", kind)], entry).await;
        assert_eq!(response.status(), StatusCode::UNSUPPORTED_MEDIA_TYPE, "{kind}");
    }
    crate::hub::add(&hub.endpoint, "plain").await;
    let none = hub.get("/collections/notes/items/plain/media/x").await;
    assert_eq!(none.status(), StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn an_upload_beyond_the_bound_leaves_nothing() {
    let mut config = feedsync_server::Config::default();
    config.limits.blob_bytes = 1_000;
    let hub = hub_with(config).await;
    set(&hub, r#"{"accept": ["image/*"]}"#).await;
    let headers = [("content-type", "image/png")];
    let large = vec![7; 1_001];
    let refused = send(&hub, Method::POST, "/collections/notes", &headers, large.clone()).await;
    assert_eq!(refused.status(), StatusCode::PAYLOAD_TOO_LARGE);
    let packed = [("content-type", "image/png"), ("content-encoding", "gzip")];
    let packed = send(&hub, Method::POST, "/collections/notes", &packed, "x").await;
    assert_eq!(packed.status(), StatusCode::UNSUPPORTED_MEDIA_TYPE);
    let digest = Digest::of(&large);
    assert_eq!(hub.endpoint.store().missing_blobs(&[digest]).await.unwrap(), [digest]);
    assert_eq!(hub.endpoint.collection(&notes()).await.unwrap().live, 0);
    let key = [("content-type", "image/png"), ("idempotency-key", "k")];
    let mut places = Vec::new();
    for _ in 0..2 {
        let response = send(&hub, Method::POST, "/collections/notes", &key, "x").await;
        places.push(text(&response, "location").to_owned());
        expect(response, StatusCode::CREATED).await;
    }
    assert_eq!(places[0], places[1]);
}
