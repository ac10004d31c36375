//! Rendering of articles on pages: no content runs, loads or leads elsewhere; and import and export of files.

use axum::body::Body;
use feedsync_aggregator::Enclosure;
use feedsync_aggregator::{FeedHead, Poll, PolledDocument};
use http::{Method, Response, StatusCode};
use tower::ServiceExt as _;

use crate::browsing::words;
use crate::hub::{bytes, request, text};
use crate::newsroom::{ARRIVAL_TIME, Newsroom, PASSWORD, article};
use crate::pages_reading::{FEED, HOME, LIST, done, reading, seen};
use crate::visitor::{Visitor, html};

const SCRIPT: &str = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)></title></textarea>\
                      <svg/onload=alert(1)><iframe srcdoc=x><base href=//example.org>";

/// Known attacks, and some invented ones.
const HOSTILE: [&str; 20] = [
    SCRIPT,
    "<a href='javascript:alert(1)'>x</a><a href='jav&#x09;ascript:alert(1)'>x</a><a href=' javascript:x'>",
    "<a href='data:text/html,<script>alert(1)</script>'>x</a><a href='vbscript:x'>x</a>",
    "<svg><script>alert(1)</script><a xlink:href='javascript:alert(1)'><text>x</text></a></svg>",
    "<svg><animate onbegin=alert(1) attributeName=x dur=1s><use href='data:image/svg+xml,x#a'/></svg>",
    "<math><mtext><table><mglyph><style><!--</style><img title='--><img src=1 onerror=alert(1)>'>",
    "<math href='javascript:alert(1)'><maction actiontype='statusline#javascript:x'>x</maction></math>",
    "<meta http-equiv=refresh content='0;url=https://example.org'><link rel=stylesheet href=//x>",
    "<form action=/pages/logout method=post><input name=form><button formaction=/x>Go</button></form>",
    "<iframe srcdoc='<script>parent.alert(1)</script>'></iframe><object data=x></object><embed src=x>",
    "<style>body{display:none}</style><div style='position:fixed;inset:0;z-index:9'>over all</div>",
    "<div id=said class=skip name=main data-article data-opens data-mark=read>clobbered</div>",
    "<img name=getElementById><form name=body><input id=attributes></form><a id=keys name=cookie>x</a>",
    "<noscript><p title='</noscript><script>alert(1)</script>'></noscript><template><script>1</script>",
    "<video autoplay src=https://example.org/v onloadstart=alert(1)></video><audio autoplay src=//x>",
    "<input autofocus onfocus=alert(1)><details open ontoggle=alert(1)><marquee onstart=alert(1)>",
    "<a href=https://example.org target=_top ping=//x onclick=alert(1)>x</a><area href=javascript:x>",
    "<p dir=rtl lang='\"><script>' title='</p><script>alert(1)</script>'>words</p>",
    "<xss style='behavior:url(x)' onpointerover=alert(1)>x</xss><x:script xmlns:x='http://www.w3.org/1999/xhtml'>1</x:script>",
    "]]><!--><script>alert(1)</script>--><![CDATA[<script>alert(1)</script>]]><plaintext>",
];

async fn hostile() -> (Newsroom, Visitor, usize) {
    let (room, anna) = reading(0).await;
    let mut articles = Vec::new();
    for (number, content) in HOSTILE.iter().enumerate() {
        let mut one =
            article(&format!("h{number}"), &format!("{SCRIPT} {number}"), content, number as u64);
        one.text.author = Some(SCRIPT.to_owned());
        one.text.link = Some(format!("javascript:alert({number})"));
        one.text.categories = vec![SCRIPT.to_owned()];
        let media = |address: &str, kind: &str| Enclosure {
            address: address.to_owned(),
            media_type: Some(kind.to_owned()),
            length: Some(1_234_567),
            duration: None,
        };
        one.text.enclosures = vec![
            media("javascript:alert(1)", "audio/mpeg"),
            media("https://media.example/\"><script>1</script>.mp3", "audio/mpeg\"><script>"),
            media("https://media.example/a.svg", SCRIPT),
        ];
        articles.push(one);
    }
    let text = || Some(SCRIPT.to_owned());
    let head = FeedHead {
        title: text(),
        description: text(),
        site: Some("javascript:alert(1)".to_owned()),
        ..FeedHead::default()
    };
    let count = articles.len();
    let document = PolledDocument { head, articles, ..PolledDocument::default() };
    room.settle(FEED, Poll { document: Some(document), ..Poll::default() }, ARRIVAL_TIME).await;
    let tag = [("action", "tag"), ("tag", "<script>alert(1)</script>")];
    done(&anna, &format!("{LIST}/1"), &tag).await;
    done(
        &anna,
        "/pages/reading/feeds/1",
        &[("action", "save"), ("title", ""), ("folder", "<b>\"'")],
    )
    .await;
    room.fail(FEED, SCRIPT, 2).await;
    (room, anna, count)
}

#[tokio::test]
async fn feed_content_runs_loads_and_redirects_nothing() {
    let (_room, anna, count) = hostile().await;
    let said = "%3Cscript%3Ealert(1)%3C/script%3E";
    for page in
        ["", "/articles", "/articles?feed=1", "/articles?starred=1", "/feeds/1", "/transfer"]
    {
        let page = format!("{HOME}{page}");
        let sign = if page.contains('?') { '&' } else { '?' };
        let shown = seen(&anna, &format!("{page}{sign}q={said}&said={said}")).await;
        if !page.ends_with("transfer") {
            assert!(words(&shown).contains("alert(1)"), "{page}: it is shown as text");
        }
    }
    let mut policies = std::collections::BTreeSet::new();
    for number in 1..=count {
        for query in ["", "?pictures=1", "?q=%22%3E%3Cscript%3E&feed=1"] {
            let page = format!("{LIST}/{number}{query}");
            let answer = anna.get(&page).await;
            policies.insert(text(&answer, "content-security-policy").to_owned());
            let shown = html(answer).await;
            let found = crate::browsing::faults(&shown);
            assert_eq!(found, Vec::<String>::new(), "{page}: {shown}");
            let (_, content) = shown.split_once("class=\"prose\"").unwrap();
            let (content, _) = content.split_once("media-heading").unwrap();
            for harm in [
                "<script",
                "<iframe",
                "<svg",
                "<math",
                "<form",
                " id=",
                " class=\"skip",
                " data-",
                "style=",
            ] {
                assert!(!content.to_lowercase().contains(harm), "{page} {harm}: {content}");
            }
        }
    }
    assert_eq!(policies.len(), 1);
    for policy in policies {
        assert!(policy.starts_with("default-src 'none'; style-src 'self'; script-src 'self'; "));
        assert!(policy.ends_with("form-action 'self'; frame-ancestors 'none'; base-uri 'none'"));
    }
}

#[tokio::test]
async fn pictures_are_loaded_where_they_are_asked_for_alone() {
    let (room, anna) = reading(0).await;
    let content = "<p>Words<img src=/cat.png alt='A cat'><img src='data:image/gif,x'><a href='more'>more</a></p>";
    room.publish(FEED, vec![article("a/b", "Cat", content, 1)], ARRIVAL_TIME).await;
    let page = format!("{LIST}/1?feed=1");
    let shown = seen(&anna, &page).await;
    assert!(
        shown.contains("A picture is not loaded.") && shown.contains("alt=\"A cat\""),
        "{shown}"
    );
    assert!(shown.contains("href=\"https://news.example/a/more\""), "{shown}");
    let with = shown.split("<a href=\"").find(|link| link.contains("Show pictures")).unwrap();
    let with = with.split('"').next().unwrap().replace("&#38;", "&");
    assert_eq!(with, format!("{page}&pictures=1"));
    let shown = seen(&anna, &with).await;
    assert!(shown.contains(&format!("src=\"{LIST}/1/pictures/")), "{shown}");
    assert!(!shown.contains("cat.png"), "{shown}");
    assert!(shown.contains("Hide pictures") && shown.contains("loading=\"lazy\""));
    // The setting is carried on to the list and to the next article, and stored nowhere else.
    let list = format!("{LIST}?feed=1&#38;pictures=1");
    assert!(shown.contains(&format!("href=\"{list}\"")), "{shown}");
    for page in [&page, &with] {
        let policy = text(&anna.get(page).await, "content-security-policy").to_owned();
        assert!(policy.contains("img-src 'self' data:; media-src"), "{policy}");
    }
}

#[tokio::test]
async fn the_script_of_those_who_read_is_served_and_named_by_its_bytes() {
    let (_room, anna) = reading(1).await;
    let shown = seen(&anna, HOME).await;
    let name = shown.split("/pages/assets/reading-").nth(1).unwrap().split('"').next().unwrap();
    let script = anna.get(&format!("/pages/assets/reading-{name}")).await;
    assert_eq!(text(&script, "content-type"), "text/javascript; charset=utf-8");
    assert!(text(&script, "cache-control").contains("immutable"));
    assert_eq!(text(&script, "x-content-type-options"), "nosniff");
    assert!(!seen(&anna, "/").await.contains("/pages/assets/reading-"));
}

impl Visitor {
    /// Posts a form with a file.
    async fn upload(
        &self,
        page: &str,
        form: &str,
        file: &[u8],
        more: &[(&str, &str)],
    ) -> Response<Body> {
        let mut body = Vec::new();
        for (name, value) in [&[("form", form)], more].concat() {
            body.extend(
                format!(
                    "--bb\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n"
                )
                .bytes(),
            );
        }
        let head = "--bb\r\nContent-Disposition: form-data; name=\"file\"; filename=\"x\"\r\n\r\n";
        body.extend(head.bytes());
        body.extend(file);
        body.extend(b"\r\n--bb--\r\n");
        let headers = [
            ("content-type", "multipart/form-data; boundary=bb"),
            ("origin", "http://localhost:4287"),
            ("accept", "text/html"),
        ];
        self.ask(Method::POST, page, &headers, body.into()).await
    }
}

#[tokio::test]
async fn lists_and_everything_go_in_and_out() {
    const TRANSFER: &str = "/pages/reading/transfer";
    let (room, anna) = reading(2).await;
    done(&anna, &format!("{LIST}/1"), &[("action", "star")]).await;
    let form = anna.form(HOME).await;
    let opml = "<opml version=\"2.0\"><head/><body><outline text=\"Kitchen\"><outline text=\"Bread\" \
                type=\"rss\" xmlUrl=\"https://bread.example/feed\"/><outline text=\"&lt;b&gt;\" type=\"rss\" \
                xmlUrl=\"javascript:alert(1)\"/></outline></body></opml>";
    let answer = anna.upload(TRANSFER, &form, opml.as_bytes(), &[]).await;
    assert_eq!(answer.status(), StatusCode::OK);
    let page = html(answer).await;
    assert!(
        page.contains("Imported: 1 feed, 1 change.") && page.contains("Not imported: 1"),
        "{page}"
    );
    assert!(page.contains("javascript:alert(1)") && crate::browsing::faults(&page).is_empty());
    assert!(seen(&anna, HOME).await.contains("Kitchen"));
    // A second import changes nothing, unless folders differ and should be applied.
    let again = html(anna.upload(TRANSFER, &form, opml.as_bytes(), &[]).await).await;
    assert!(again.contains("0 changes"), "{again}");
    let other = opml.replace("Kitchen", "Baking");
    anna.upload(TRANSFER, &form, other.as_bytes(), &[]).await;
    assert!(!seen(&anna, HOME).await.contains("Baking"));
    anna.upload(TRANSFER, &form, other.as_bytes(), &[("refile", "1")]).await;
    assert!(seen(&anna, HOME).await.contains("Baking"));

    let list = anna.get("/pages/reading/export/subscriptions.opml").await;
    assert!(text(&list, "content-disposition").contains("attachment"));
    let list = String::from_utf8(bytes(list).await.to_vec()).unwrap();
    assert!(list.contains("https://bread.example/feed") && list.contains("Baking"), "{list}");
    let everything = anna.get("/pages/reading/export/everything.jsonl").await;
    let everything = bytes(everything).await;
    assert_eq!(anna.get("/pages/reading/export/none").await.status(), StatusCode::NOT_FOUND);

    let bob = Visitor::signed_in(&room.router, "bob", PASSWORD).await;
    let own = bob.form(HOME).await;
    let page = html(bob.upload(TRANSFER, &own, &everything, &[]).await).await;
    assert!(page.contains("Imported: 2 feeds"), "{page}");
    assert_eq!(room.told("bob", "miniflux/v1/entries?starred=1").await["total"], 1);
    assert!(room.log("bob").await.contains("\"star\""));

    for (file, said) in [
        ("", "Choose a file first."),
        ("<opml><body>", "1:13: the document ends"),
        ("{\"v\":1}", "line 1"),
        ("<html></html>", "html"),
    ] {
        let answer = anna.upload(TRANSFER, &form, file.as_bytes(), &[]).await;
        assert_eq!(answer.status(), StatusCode::UNPROCESSABLE_ENTITY, "{file}");
        let page = html(answer).await;
        let error = page.split("role=\"alert\">").nth(1).unwrap().split("</p>").next().unwrap();
        assert!(error.to_lowercase().contains(&said.to_lowercase()), "{file}: {error}");
    }
    for form in ["", "0a"] {
        let answer = anna.upload(TRANSFER, form, opml.as_bytes(), &[]).await;
        assert_eq!(answer.status(), StatusCode::FORBIDDEN);
    }
    let none = anna.send(TRANSFER, &[("form", &form)]).await;
    assert_eq!(none.status(), StatusCode::UNSUPPORTED_MEDIA_TYPE);
    let broken =
        [("content-type", "multipart/form-data; boundary=bb"), ("origin", "http://localhost:4287")];
    let broken = anna.ask(Method::POST, TRANSFER, &broken, "--bb\r\nx".into()).await;
    assert_eq!(broken.status(), StatusCode::BAD_REQUEST);
    // A hub without articles reports it.
    let hub = crate::hub::hub().await;
    let asked = request(Method::GET, HOME, &[], Body::empty());
    let answer = hub.router.oneshot(asked).await.unwrap();
    assert_eq!(answer.status(), StatusCode::NOT_FOUND);
}
