//! Tests of documents whose addresses lead through the gateway in reverse mode.

use std::io::Write as _;

use feedsync_gateway::Config;
use feedsync_gateway::upstream::Origins;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::json;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;

use crate::kept::{ATOM, Kept, Site, entry};
use crate::support::{Answer, Gateway, Origin, config, head, message, raw};

const HOST: &str = "Host: localhost:99";

/// A document, and the same document as an application gets it. `ORIGIN` is the authority of the origin.
const DOCUMENTS: [(&str, &str, &str); 7] = [
    (
        "application/atom+xml;type=feed",
        "<feed xmlns='http://www.w3.org/2005/Atom' xml:base=\"http://ORIGIN/a/\"><id>http://ORIGIN/</id>\
         <link rel='next' href='http://ORIGIN/?p=2&amp;q'/><link href='1'/></feed>",
        "<feed xmlns='http://www.w3.org/2005/Atom' xml:base=\"http://localhost:99/o/a/\"><id>http://ORIGIN/</id>\
         <link rel='next' href='http://localhost:99/o/?p=2&amp;q'/><link href='1'/></feed>",
    ),
    (
        "application/atomsvc+xml",
        "<service xmlns='http://www.w3.org/2007/app'><collection href='http://ORIGIN/c'/></service>",
        "<service xmlns='http://www.w3.org/2007/app'><collection href='http://localhost:99/o/c'/></service>",
    ),
    (
        "application/atomcat+xml",
        "<categories xmlns='http://www.w3.org/2007/app' href='http://ORIGIN/c'/>",
        "<categories xmlns='http://www.w3.org/2007/app' href='http://localhost:99/o/c'/>",
    ),
    (
        "text/xml; charset=utf-8",
        "<rss><channel><link><![CDATA[http://ORIGIN/]]></link><enclosure url='http://127.0.0.1:1/deep/a.mp3'/>\
         <enclosure url='http://127.0.0.1:1/a.mp3'/></channel></rss>",
        "<rss><channel><link><![CDATA[http://localhost:99/o/]]></link><enclosure \
         url='http://localhost:99/far/a.mp3'/><enclosure url='http://127.0.0.1:1/a.mp3'/></channel></rss>",
    ),
    (
        "text/x-opml",
        "<opml><body><outline xmlUrl='http://ORIGIN/f' htmlUrl='https://elsewhere.example/'/></body></opml>",
        "<opml><body><outline xmlUrl='http://localhost:99/o/f' htmlUrl='https://elsewhere.example/'/></body></opml>",
    ),
    (
        "application/feed+json",
        r#"{"version":"https://jsonfeed.org/version/1.1","next_url":"http:\/\/ORIGIN\/2"}"#,
        r#"{"version":"https://jsonfeed.org/version/1.1","next_url":"http:\/\/localhost:99\/o\/2"}"#,
    ),
    (
        "application/json",
        r#"{"version":"https://jsonfeed.org/version/1.1","items":[{"url":"http://ORIGIN/2"}]}"#,
        r#"{"version":"https://jsonfeed.org/version/1.1","items":[{"url":"http://localhost:99/o/2"}]}"#,
    ),
];

const FEED: &str =
    "<feed xmlns='http://www.w3.org/2005/Atom'><link href='http://ORIGIN/1'/></feed>";
const SHOWN: &str =
    "<feed xmlns='http://www.w3.org/2005/Atom'><link href='http://localhost:99/o/1'/></feed>";

/// A gateway with the mounts `o`, a site, and `far`.
async fn before(site: &Site, change: impl FnOnce(&mut Config)) -> Gateway {
    let mounts = [format!("o={}", site.url("/")), "far=http://127.0.0.1:1/deep/".to_owned()];
    let mut config = config(&mounts.each_ref().map(String::as_str), &[]);
    change(&mut config);
    Gateway::of(config, Origins::default()).await
}

fn of(site: &Site, document: &str) -> String {
    document.replace("ORIGIN", &site.address.to_string())
}

fn typed(kind: &str, more: &str) -> String {
    format!("Content-Type: {kind}\r\n{more}")
}

#[tokio::test]
async fn documents_lead_through_the_gateway_and_return_with_the_addresses_of_the_origin() {
    let site = Site::start().await;
    let gateway = before(&site, |_| ()).await;
    let strict = before(&site, |config| config.rewrites_links = false).await;
    for (kind, document, shown) in DOCUMENTS {
        let (document, shown) = (of(&site, document), of(&site, shown));
        site.answers("GET /a/f", 200, &typed(kind, ""), &document);
        site.answers("PUT /a/f", 200, &typed(kind, ""), &document);
        let answer = gateway.get("/o/a/f", &[HOST]).await;
        assert_eq!(answer.text(), shown, "{kind}");
        assert_eq!(answer.values("content-length"), [shown.len().to_string()]);
        let length = format!("Content-Length: {}", shown.len());
        let kind = format!("Content-Type: {kind}");
        let request = head(gateway.address, "PUT", "/o/a/f", &[HOST, &kind, &length]);
        let answer = gateway.raw(format!("{request}{shown}")).await;
        assert_eq!(answer.text(), shown, "{kind}");
        let put = site.received("PUT /a/f").pop().unwrap();
        assert!(put.ends_with(&format!("\r\n\r\n{document}")), "{put}");
        assert!(put.to_lowercase().contains(&format!("content-length: {}\r\n", document.len())));
        // Without the option, nothing changes in either direction.
        assert_eq!(strict.get("/o/a/f", &[HOST]).await.text(), document);
        strict.raw(format!("{request}{shown}")).await;
        assert!(site.received("PUT /a/f").pop().unwrap().ends_with(&shown));
        // A client that uses the gateway as its proxy gets the document of the server.
        let url = site.url("/a/f");
        assert_eq!(gateway.get(&url, &[&format!("Host: {}", site.address)]).await.text(), document);
    }
}

#[tokio::test]
async fn other_responses_stay() {
    let site = Site::start().await;
    let gateway = before(&site, |config| config.limits.links_bytes = 300).await;
    let feed = of(&site, FEED);
    let long = feed.replace("</feed>", &format!("<!--{}--></feed>", "-x".repeat(200)));
    let whole = "ETag: \"1\"\r\nContent-Digest: x\r\nAccept-Ranges: bytes\r\n";
    for (kind, document) in [
        ("text/html", &*feed),
        ("application/atom+xml", &*long),
        ("application/atom+xml", "<feed xmlns='http://www.w3.org/2005/Atom'/>"),
        ("application/atom+xml", "no document"),
        ("application/json", "{\"url\":\"http://ORIGIN/\"}"),
    ] {
        let document = of(&site, document);
        site.answers("GET /f", 200, &typed(kind, whole), &document);
        let answer = gateway.get("/o/f", &[HOST]).await;
        assert_eq!(answer.text(), document, "{kind}");
        assert_eq!(answer.values("etag"), ["\"1\""]);
        assert_eq!(answer.values("content-digest"), ["x"]);
    }
    // A chunked document that turns out to be too large is forwarded whole.
    let chunks = format!("{:x}\r\n{long}\r\n0\r\n\r\n", long.len());
    let lines = typed("application/atom+xml", "Transfer-Encoding: chunked\r\n");
    site.answers_raw("GET /f", &format!("HTTP/1.1 200 OK\r\n{lines}\r\n{chunks}"));
    let answer = gateway.get("/o/f", &[HOST]).await;
    assert!(answer.text().contains(&long), "{answer:?}");
}

#[tokio::test]
async fn a_document_that_breaks_off_is_an_error() {
    let site = Site::start().await;
    let gateway = before(&site, |_| ()).await;
    let lines =
        typed("application/atom+xml", "Connection: close\r\nTransfer-Encoding: chunked\r\n");
    site.answers_raw("GET /f", &format!("HTTP/1.1 200 OK\r\n{lines}\r\n5\r\n<feed\r\nx\r\n"));
    assert_eq!(gateway.get("/o/f", &[HOST]).await.status(), 502);
    let length = format!("Content-Length: {}", SHOWN.len() + 1);
    let kind = "Content-Type: application/atom+xml";
    let request = head(gateway.address, "PUT", "/o/f", &[HOST, kind, &length]);
    let mut stream = TcpStream::connect(gateway.address).await.unwrap();
    stream.write_all(format!("{request}{SHOWN}").as_bytes()).await.unwrap();
    stream.shutdown().await.unwrap();
    Answer::rest(&mut stream).await;
    assert!(site.received("PUT /f").is_empty(), "half a document was sent");
}

#[tokio::test]
async fn json_that_is_no_feed_is_not_delayed() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mount = format!("o=http://{}/", listener.local_addr().unwrap());
    let gateway = Gateway::with(&[&mount], &[]).await;
    let origin = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        message(&mut stream).await.unwrap();
        let start = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{\"seq\":1}\n";
        stream.write_all(start.as_bytes()).await.unwrap();
        stream
    });
    let mut stream = TcpStream::connect(gateway.address).await.unwrap();
    let request = head(gateway.address, "GET", "/o/_changes", &[]);
    stream.write_all(request.as_bytes()).await.unwrap();
    let _open = origin.await.unwrap();
    let first = async {
        let mut got = Vec::new();
        while !String::from_utf8_lossy(&got).contains("{\"seq\":1}") {
            assert_ne!(tokio::io::AsyncReadExt::read_buf(&mut stream, &mut got).await.unwrap(), 0);
        }
    };
    tokio::time::timeout(crate::support::DEADLINE, first).await.expect("the first change arrives");
}

/// A document in gzip.
fn packed(document: &str) -> Vec<u8> {
    let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
    packer.write_all(document.as_bytes()).unwrap();
    packer.finish().unwrap()
}

#[tokio::test]
async fn a_packed_document_is_unpacked_and_its_digests_are_dropped() {
    let origin = Origin::saying("HTTP/1.1 204 No Content\r\n\r\n").await;
    let feed = FEED.replace("ORIGIN", &origin.address.to_string());
    let body = packed(&feed);
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/atom+xml\r\nContent-Encoding: gzip\r\nContent-MD5: x\r\n\
         Digest: x\r\nContent-Digest: x\r\nRepr-Digest: x\r\nAccept-Ranges: bytes\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    let packed_origin = Origin::saying([head.as_bytes(), &body].concat()).await;
    let mounts = [format!("o={}", origin.url()), format!("p={}", packed_origin.url())];
    let gateway = Gateway::with(&mounts.each_ref().map(String::as_str), &[]).await;
    let answer = gateway.get("/p/f", &[HOST, "Accept-Encoding: gzip"]).await;
    assert_eq!(answer.text(), SHOWN);
    assert_eq!(answer.values("content-length"), [SHOWN.len().to_string()]);
    for name in [
        "content-encoding",
        "content-md5",
        "digest",
        "content-digest",
        "repr-digest",
        "accept-ranges",
    ] {
        assert_eq!(answer.values(name), [""; 0], "{name}");
    }
    // So is one that an application sends.
    let body = packed(SHOWN);
    let lines = [
        HOST,
        "Content-Type: application/atom+xml",
        "Content-Encoding: gzip",
        "Content-MD5: x",
        &format!("Content-Length: {}", body.len()),
    ];
    let request = crate::support::head(gateway.address, "POST", "/o/f", &lines);
    gateway.raw([request.as_bytes(), &body].concat()).await;
    let posted = origin.only();
    assert!(posted.ends_with(&format!("\r\n\r\n{feed}")), "{posted}");
    assert!(!posted.to_lowercase().contains("content-encoding"), "{posted}");
    assert!(!posted.to_lowercase().contains("content-md5"), "{posted}");
}

#[tokio::test]
async fn a_document_in_another_coding_or_in_part_is_requested_again() {
    let site = Site::start().await;
    let gateway = before(&site, |_| ()).await;
    let range = "Content-Range: bytes 0-3/100\r\n";
    site.answers("GET /f", 206, &typed("application/atom+xml", range), "<fee");
    let answer = gateway.get("/o/f", &[HOST, "Range: bytes=0-3", "If-Range: \"1\""]).await;
    assert_eq!(answer.text(), "<fee", "the server ignores that no range was requested");
    let received = site.received("GET /f");
    assert_eq!(received.len(), 2);
    assert!(
        received[0].contains("Range: bytes=0-3") && !received[1].to_lowercase().contains("range")
    );
    // Parts of what is no document are forwarded.
    site.answers("GET /m", 206, &typed("audio/mpeg", range), "abcd");
    assert_eq!(gateway.get("/o/m", &[HOST, "Range: bytes=0-3"]).await.status(), 206);
    assert_eq!(site.received("GET /m").len(), 1);
    let coded = typed("application/atom+xml", "Content-Encoding: br\r\n");
    site.answers("GET /b", 200, &coded, "packed");
    assert_eq!(gateway.get("/o/b", &[HOST, "Accept-Encoding: br"]).await.text(), "packed");
    let received = site.received("GET /b");
    assert_eq!(received.len(), 2);
    assert!(received[1].to_lowercase().contains("accept-encoding: gzip, identity\r\n"));
}

#[tokio::test]
async fn entity_tags_name_the_changed_document_and_conditions_reach_the_origin() {
    let site = Site::start().await;
    let gateway = before(&site, |_| ()).await;
    site.answers(
        "GET /f",
        200,
        &typed("application/atom+xml", "ETag: \"1\"\r\n"),
        &of(&site, FEED),
    );
    let tag = gateway.get("/o/f", &[HOST]).await.values("etag")[0].to_owned();
    assert!(tag.starts_with("\"1;links="), "{tag}");
    // Other mounts make other documents.
    let fewer = Gateway::with(&[&format!("o={}", site.url("/"))], &[]).await;
    assert_ne!(fewer.get("/o/f", &[HOST]).await.values("etag"), [tag.as_str()]);
    site.answers_raw("GET /f", "HTTP/1.1 304 Not Modified\r\nETag: \"1\"\r\n\r\n");
    let condition = format!("If-None-Match: {tag}");
    let answer = gateway.get("/o/f", &[HOST, &condition]).await;
    assert_eq!((answer.status(), answer.values("etag")), (304, vec![tag.as_str()]));
    let asked = site.received("GET /f").pop().unwrap();
    assert!(asked.to_lowercase().contains("if-none-match: \"1\"\r\n"), "{asked}");
    site.answers("PUT /f", 204, "", "");
    gateway.ask("PUT", "/o/f", &[HOST, &format!("If-Match: {tag}"), "Content-Length: 0"]).await;
    let put = site.received("PUT /f").pop().unwrap();
    assert!(put.to_lowercase().contains("if-match: \"1\"\r\n"), "{put}");
    // A document from before the mounts changed is outdated.
    fewer.get("/o/f", &[HOST, &condition]).await;
    let asked = site.received("GET /f").pop().unwrap();
    assert!(!asked.to_lowercase().contains("if-none-match"), "{asked}");
    let head = "HTTP/1.1 200 OK\r\nContent-Type: application/atom+xml\r\nContent-Length: 80\r\nContent-MD5: x\r\n\r\n";
    site.answers_raw("HEAD /f", head);
    let answer = gateway.ask("HEAD", "/o/f", &[HOST]).await;
    assert_eq!(answer.values("content-length"), [""; 0]);
    assert_eq!(answer.values("content-md5"), [""; 0]);
}

#[tokio::test]
async fn stored_documents_lead_through_the_gateway_with_and_without_a_network() {
    let site = Site::start().await;
    let feed = "<feed xmlns=\"http://www.w3.org/2005/Atom\" xmlns:app=\"http://www.w3.org/2007/app\">\
        <id>urn:f</id><title>F</title><updated>2026-01-01T00:00:00Z</updated>\
        <app:collection href=\"http://ORIGIN/feed\"/><entry><id>urn:e</id><title>E</title>\
        <updated>2026-01-01T00:00:00Z</updated><link rel=\"edit\" href=\"http://ORIGIN/entry\"/></entry></feed>";
    let feed = of(&site, feed);
    let tagged = format!("{ATOM}ETag: \"1\"\r\n");
    site.answers("GET /feed", 200, &tagged, &feed);
    site.answers("GET /entry", 200, &tagged, &entry("E"));
    let mount = format!("o={}", site.url("/"));
    let kept = Kept::of(config(&[&mount], &[])).await;
    kept.subscribe(json!({ "feed": site.url("/feed"), "follows": ["edit"] })).await;
    let of_gateway = format!("http://{}/o/", kept.address);
    let shown = feed.replace(&site.url("/"), &of_gateway);
    for network in ["online", "offline"] {
        kept.network(network).await;
        let answer = kept.ask("GET", "/o/feed", &["Range: bytes=0-3"]).await;
        assert_eq!((answer.status(), answer.text()), (200, shown.clone()), "{network}");
        let tag = answer.values("etag")[0].to_owned();
        assert!(tag.starts_with("\"1;links="), "{tag}");
        let condition = format!("If-None-Match: {tag}");
        let answer = kept.ask("GET", "/o/feed", &[&condition]).await;
        assert_eq!((answer.status(), answer.values("etag")), (304, vec![tag.as_str()]));
        // The stored bytes are the server's.
        assert_eq!(kept.ask("GET", &site.url("/feed"), &[]).await.text(), feed);
    }
    // An edit without a network, with a link that an application made from what it got.
    let link = |base: &str| {
        entry("New").replace("<content>", &format!("<link href=\"{base}entry\"/><content>"))
    };
    let answer = kept.send("POST", "/o/feed", &[], &link(&of_gateway)).await;
    assert_eq!(answer.status(), 201, "{answer:?}");
    assert!(answer.values("location")[0].starts_with(&of_gateway), "{answer:?}");
    let composed = kept.ask("GET", "/o/feed", &[]).await.text();
    assert!(composed.contains("<title>New</title>"), "{composed}");
    assert!(!composed.contains(&site.url("/")), "{composed}");
    let put =
        kept.send("PUT", "/o/entry", &["If-Match: \"1;links=00000000\""], &entry("Edited")).await;
    assert_eq!(put.status(), 200, "the tag names the stored version: {put:?}");
    site.answers("POST /feed", 201, &format!("{ATOM}Location: /new\r\n"), &link(&site.url("/")));
    site.answers("PUT /entry", 200, ATOM, &entry("Edited"));
    kept.network("online").await;
    kept.comes("/outbox", |outbox| outbox == &json!([])).await;
    let post = site.received("POST /feed").pop().unwrap();
    assert!(post.ends_with(&link(&site.url("/"))), "{post}");
    let put = site.received("PUT /entry").pop().unwrap();
    assert!(put.to_lowercase().contains("if-match: \"1\"\r\n"), "{put}");
}

#[tokio::test]
async fn an_address_of_the_gateway_in_a_document_leads_where_it_led() {
    let site = Site::start().await;
    let gateway = before(&site, |_| ()).await;
    let own = gateway.address;
    for (path, location) in [
        (format!("/http://{own}/o/1?x"), "/o/1?x"),
        (format!("/HTTP://{own}//evil.example/"), "/evil.example/"),
    ] {
        let answer = gateway.get(&path, &[]).await;
        assert_eq!((answer.status(), answer.values("location")), (308, vec![location]), "{path}");
    }
    site.answers("GET /1", 200, "", "one");
    for path in [format!("/http://{}/1", site.address), format!("/HTTP://{}/1", site.address)] {
        assert_eq!(gateway.get(&path, &[]).await.text(), "one", "{path}");
    }
    for path in ["/https://elsewhere.example/", "/http:/", "/http://", "/ftp://a/", "/x://a/"] {
        assert!((400..500).contains(&gateway.get(path, &[]).await.status()), "{path}");
    }
}

#[tokio::test]
async fn links_in_headers_may_lead_to_other_mounts_and_redirects_may_not() {
    let site = Site::start().await;
    let gateway = before(&site, |_| ()).await;
    let lines =
        "Link: <http://127.0.0.1:1/deep/2#x>; rel=next\r\nLocation: http://127.0.0.1:1/deep/2\r\n";
    site.answers("GET /f", 307, lines, "");
    let answer = gateway.get("/o/f", &[HOST]).await;
    assert_eq!(answer.values("link"), ["<http://localhost:99/far/2#x>; rel=next"]);
    assert_eq!(answer.values("location"), ["http://127.0.0.1:1/deep/2"]);
}

#[tokio::test]
async fn the_destination_of_a_copy_is_an_address_of_the_origin() {
    let site = Site::start().await;
    let gateway = before(&site, |_| ()).await;
    site.answers("COPY /a", 201, "", "");
    let destination = format!("Destination: http://{}/o/b%20c", gateway.address);
    raw(gateway.address, head(gateway.address, "COPY", "/o/a", &[&destination])).await;
    let copy = site.received("COPY /a").pop().unwrap();
    assert!(
        copy.to_lowercase().contains(&format!("destination: {}\r\n", site.url("/b%20c"))),
        "{copy}"
    );
}
