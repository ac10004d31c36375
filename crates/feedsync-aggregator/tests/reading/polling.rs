//! Tests of polling feeds and of storing their articles.

use std::sync::Arc;

use feedsync_aggregator::{ArticleText, Selection, StoredFeed};
use feedsync_aggregator::{FeedSchedule, MIN_POLL_INTERVAL};
use feedsync_endpoint::{NewUser, Password};
use feedsync_fetch::{Fetcher, Policy, Private};
use feedsync_store::UserName;

use crate::scene::{BEGIN, Page, Scene, rss};

const AT: u64 = BEGIN / 1_000 - 86_400;
const HOUR: u64 = 3_600_000;

async fn only(scene: &Scene) -> StoredFeed {
    let person = scene.somebody().await;
    let subscription_view = person.subscription_view().await.unwrap();
    let [feed] = subscription_view.feeds() else {
        panic!("{} feeds", subscription_view.feeds().len())
    };
    feed.kept.clone()
}

#[tokio::test]
async fn feeds_are_polled_when_due_and_parsed_when_changed() {
    let scene = Scene::new().await;
    let person = scene.somebody().await;
    let tagged = |tag: &str, items: &[(&str, u64)]| Page {
        status: 200,
        headers: vec![("etag", format!("\"{tag}\""))],
        body: rss(items),
    };
    scene.web.put("/feed", tagged("1", &[("a", AT)]));
    scene.subscribe(&person, &["/feed"]).await;
    assert_eq!(scene.poll().await, 1);
    assert_eq!(scene.poll().await, 0, "it was asked just now");
    let feed = only(&scene).await;
    assert_eq!((feed.articles, feed.head.title.as_deref()), (1, Some("News")));
    assert!(feed.state.due >= scene.now().after(MIN_POLL_INTERVAL.as_millis() as u64));
    scene.web.asked();

    scene.wait(48 * HOUR);
    assert_eq!(scene.poll().await, 1);
    let asked = scene.web.asked();
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0].1["if-none-match"], "\"1\"");
    assert_eq!(only(&scene).await.articles, 1);

    scene.web.put("/feed", tagged("2", &[("b", AT + 60), ("a", AT)]));
    scene.wait(48 * HOUR);
    scene.poll().await;
    let feed = only(&scene).await;
    assert_eq!(feed.articles, 2);
    assert_eq!(person.subscription_view().await.unwrap().feeds()[0].unread, 2);
}

#[tokio::test]
async fn permanent_redirects_are_stored_and_discarded_after_failures() {
    let scene = Scene::new().await;
    let person = scene.somebody().await;
    let moved =
        Page { status: 301, headers: vec![("location", "/new".to_owned())], ..Page::default() };
    scene.web.put("/old", moved);
    scene.web.feed("/new", &[("a", AT)]);
    scene.subscribe(&person, &["/old"]).await;
    scene.poll().await;
    let feed = only(&scene).await;
    assert_eq!(feed.state.redirect_target.as_ref().unwrap().as_str(), scene.web.url("/new"));
    scene.web.asked();
    scene.web.put("/new", Page { status: 500, ..Page::default() });
    let mut paths = Vec::new();
    for _ in 0..4 {
        scene.wait(48 * HOUR);
        assert_eq!(scene.poll().await, 1);
        paths.extend(scene.web.asked().into_iter().map(|(path, _)| path));
    }
    assert_eq!(paths, ["/new", "/new", "/new", "/old", "/new"]);
    let feed = only(&scene).await;
    assert!(feed.state.fault.unwrap().contains("500"));
    assert_eq!(feed.articles, 1, "what was told stays");
}

/// A subscription to the address of a site reads its feed.
#[tokio::test]
async fn the_feed_that_a_web_page_names_is_asked_in_its_place() {
    let scene = Scene::new().await;
    let person = scene.somebody().await;
    let page = |to: &str| {
        let link = format!("<link rel=alternate type='application/rss+xml' href='{to}'>");
        let body = format!("<!doctype html><html><head><meta charset=utf-8>{link}</head><p>Hello");
        Page { status: 200, headers: vec![("etag", "\"page\"".to_owned())], body }
    };
    scene.web.put("/", page("/feed"));
    scene.web.feed("/feed", &[("a", AT)]);
    scene.subscribe(&person, &["/"]).await;
    scene.poll().await;
    let feed = only(&scene).await;
    assert_eq!((feed.state.fault, feed.state.failures, feed.articles), (None, 0, 1));
    assert_eq!(feed.address.as_str(), scene.web.url("/"), "the subscription stays what it is");
    let asked = || -> Vec<_> {
        let asked = scene.web.asked().into_iter().map(|(path, _)| path);
        asked.filter(|path| path != "/favicon.ico").collect()
    };
    assert_eq!(asked(), ["/", "/feed"]);
    // Afterwards the page is not fetched until the feed disappears from its address.
    scene.web.put("/feed", Page { status: 404, ..Page::default() });
    scene.web.put("/", page("/new"));
    scene.web.feed("/new", &[("a", AT), ("b", AT + 1)]);
    for _ in 0..3 {
        scene.wait(48 * HOUR);
        scene.poll().await;
    }
    assert_eq!(asked(), ["/feed", "/feed", "/feed"]);
    scene.wait(48 * HOUR);
    scene.poll().await;
    assert_eq!(asked(), ["/", "/new"]);
    assert_eq!(only(&scene).await.articles, 2);
}

/// A page in place of a feed, for example during maintenance of a host, does not lead to another feed at once.
#[tokio::test]
async fn a_feed_in_whose_place_a_page_is_shown_is_doubted_first() {
    let scene = Scene::new().await;
    let person = scene.somebody().await;
    scene.web.feed("/feed", &[("a", AT)]);
    scene.web.feed("/other", &[("b", AT), ("c", AT)]);
    scene.subscribe(&person, &["/feed"]).await;
    scene.poll().await;
    let link = "<link rel=alternate type='application/rss+xml' href='/other'>";
    let body = format!("<html><head>{link}</head><p>Back soon");
    scene.web.put("/feed", Page { status: 200, body, ..Page::default() });
    for failures in 1..=3 {
        scene.wait(48 * HOUR);
        scene.poll().await;
        let feed = only(&scene).await;
        assert_eq!(
            (feed.state.failures, feed.articles, feed.state.redirect_target),
            (failures, 1, None)
        );
    }
    scene.wait(48 * HOUR);
    scene.poll().await;
    assert_eq!(only(&scene).await.articles, 3);
}

/// The first readable feed that a page names is used; until there is one, the page is fetched again.
#[tokio::test]
async fn feeds_that_a_web_page_names_are_tried_until_one_is_readable() {
    let scene = Scene::new().await;
    let person = scene.somebody().await;
    let link = |to: &str| format!("<link rel=alternate type='application/rss+xml' href='{to}'>");
    let links = ["/comments/feed", "/gone", "/page", "/feed", "/late"].map(link).concat();
    let page = |body: String| Page { status: 200, body, ..Page::default() };
    scene.web.put("/", page(format!("<html><head>{links}</head>")));
    scene.web.put("/gone", Page { status: 410, ..Page::default() });
    scene.web.put("/page", page("<html><p>Not found".to_owned()));
    scene.subscribe(&person, &["/"]).await;
    scene.poll().await;
    let state = only(&scene).await.state;
    assert_eq!((state.redirect_target, state.failures, state.gone), (None, 1, false));
    assert!(state.fault.unwrap().contains("410"));
    let asked: Vec<_> = scene.web.asked().into_iter().map(|(path, _)| path).collect();
    assert_eq!(asked, ["/", "/gone", "/page", "/feed", "/late", "/comments/feed"]);

    scene.web.feed("/feed", &[("a", AT)]);
    scene.web.feed("/comments/feed", &[("c", AT), ("d", AT)]);
    scene.wait(48 * HOUR);
    scene.poll().await;
    let feed = only(&scene).await;
    assert_eq!(feed.state.redirect_target.unwrap().as_str(), scene.web.url("/feed"));
    assert_eq!((feed.articles, feed.state.fault), (1, None));
}

/// A pause that a server requests applies to all its feeds: due ones, those that a user wants refreshed, and new
/// ones. It also applies to other processes.
#[tokio::test]
async fn retry_after_holds_for_the_whole_host() {
    for (status, retry_after, hours) in [
        (429, "7200", 2),
        (503, "7200", 2),
        (429, "864000", 24),
        (503, "Sun, 22 Nov 2026 15:00:00 GMT", 3),
    ] {
        let scene = Scene::new().await;
        let person = scene.somebody().await;
        let headers = vec![("retry-after", retry_after.to_owned())];
        scene.web.put("/busy", Page { status, headers, ..Page::default() });
        for path in ["/feed", "/new"] {
            scene.web.feed(path, &[("a", AT)]);
        }
        let asked = || -> Vec<_> {
            let asked = scene.web.asked().into_iter().map(|(path, _)| path);
            asked.filter(|path| path != "/favicon.ico").collect()
        };
        scene.subscribe(&person, &["/busy"]).await;
        scene.poll().await;
        assert_eq!(asked(), ["/busy"]);
        scene.subscribe(&person, &["/busy", "/feed", "/new"]).await;
        assert_eq!(scene.poll().await, 2);
        let subscription_view = person.subscription_view().await.unwrap();
        let all: Vec<_> = subscription_view.feeds().iter().map(|feed| feed.kept.number).collect();
        scene.wait(HOUR);
        scene.schedule.make_due(&all).await.unwrap();
        assert_eq!(scene.poll().await, 3);
        scene.wait((hours - 1) * HOUR - 1);
        scene.schedule.make_due(&all).await.unwrap();
        scene.poll().await;
        assert_eq!(asked(), Vec::<String>::new(), "{status} {retry_after}");
        scene.web.feed("/busy", &[("a", AT)]);
        scene.wait(1);
        scene.schedule.make_due(&all).await.unwrap();
        scene.poll().await;
        assert!(asked().contains(&"/feed".to_owned()), "{status} {retry_after}");
    }
}

/// An error without `Retry-After`, or with another status, concerns its feed alone.
#[tokio::test]
async fn other_refusals_do_not_hold_a_host() {
    for (status, headers) in [
        (429, vec![]),
        (503, vec![]),
        (500, vec![("retry-after", "7200".to_owned())]),
        (429, vec![("retry-after", "soon".to_owned())]),
    ] {
        let scene = Scene::new().await;
        let person = scene.somebody().await;
        scene.web.put("/busy", Page { status, headers, ..Page::default() });
        scene.subscribe(&person, &["/busy"]).await;
        scene.poll().await;
        scene.web.feed("/feed", &[("a", AT)]);
        scene.subscribe(&person, &["/busy", "/feed"]).await;
        drop(scene.web.asked());
        scene.poll().await;
        assert_eq!(scene.web.asked()[0].0, "/feed", "{status}");
    }
}

/// A page that names another page as its feed is treated as a page without a feed.
#[tokio::test]
async fn a_web_page_without_a_feed_is_said_to_be_one() {
    let scene = Scene::new().await;
    let person = scene.somebody().await;
    let page = |link: &str| Page {
        status: 200,
        headers: Vec::new(),
        body: format!("<html><head>{link}</head>"),
    };
    scene.web.put("/plain", page(""));
    scene.subscribe(&person, &["/plain"]).await;
    scene.poll().await;
    let fault = only(&scene).await.state.fault;
    assert_eq!(
        fault.as_deref(),
        Some("the address leads to a web page that does not link to a feed")
    );

    let link = |to: &str| format!("<link rel=alternate type='application/atom+xml' href='{to}'>");
    scene.web.put("/plain", page(&link("/other")));
    scene.web.put("/other", page(&link("/plain")));
    drop(scene.web.asked());
    scene.wait(48 * HOUR);
    scene.poll().await;
    let state = only(&scene).await.state;
    assert_eq!(state.fault.as_deref(), Some("the address leads to a web page, not to a feed"));
    assert_eq!((scene.web.asked().len(), state.failures), (2, 2));
}

#[tokio::test]
async fn gone_feeds_are_not_polled_and_unreadable_ones_report_the_reason() {
    let scene = Scene::new().await;
    let person = scene.somebody().await;
    scene.web.put("/gone", Page { status: 410, ..Page::default() });
    scene.subscribe(&person, &["/gone"]).await;
    scene.poll().await;
    assert!(only(&scene).await.state.gone);
    scene.wait(4_000 * HOUR);
    assert_eq!(scene.poll().await, 0);
    // A user requests it again.
    let number = only(&scene).await.number;
    scene.schedule.make_due(&[number]).await.unwrap();
    scene
        .web
        .put("/gone", Page { status: 200, body: "<rss><channel>".to_owned(), ..Page::default() });
    assert_eq!(scene.poll().await, 1);
    let state = only(&scene).await.state;
    assert_eq!((state.gone, state.failures), (false, 1));
    assert!(state.fault.unwrap().starts_with("1:"));
    scene.web.feed("/gone", &[("a", AT)]);
    scene.wait(48 * HOUR);
    scene.poll().await;
    let feed = only(&scene).await;
    assert_eq!((feed.state.fault, feed.state.failures, feed.articles), (None, 0, 1));
}

/// An article keeps its number and place when the identifiers or texts of its feed change.
#[tokio::test]
async fn an_article_that_is_edited_stays_the_same() {
    let scene = Scene::new().await;
    let person = scene.somebody().await;
    scene.web.feed("/feed", &[("a", AT)]);
    scene.subscribe(&person, &["/feed"]).await;
    scene.poll().await;
    let feed = only(&scene).await;
    let all = || Selection { feeds: vec![feed.number], most: 9, ..Selection::default() };
    let before = scene.library.list(all()).await.unwrap();
    let edited = rss(&[("a", AT)]).replace("Words", "Other words");
    scene.web.put("/feed", Page { status: 200, body: edited, ..Page::default() });
    scene.wait(48 * HOUR);
    scene.poll().await;
    assert_eq!(scene.library.list(all()).await.unwrap(), before);
    let articles = scene.library.articles(&[before[0].number]).await.unwrap();
    assert_eq!(articles[0].text.content.as_deref(), Some("Other words about a"));
    assert_eq!(articles[0].changed, Some(scene.now()));
}

/// An article of any length is stored, as far as newsreaders show it.
#[tokio::test]
async fn an_article_that_says_too_much_is_cut_and_kept() {
    let scene = Scene::new().await;
    let person = scene.somebody().await;
    let long = "x".repeat(100_000);
    let many = |part: &str| part.repeat(2_000);
    let media = format!("<enclosure url='http://m.example/1' type='{long}' length='1'/>");
    let body = format!(
        "<rss version='2.0'><channel><title>{long}</title><item><guid>a</guid><title>{long}</title>\
         <link>http://l.example/{long}</link><author>{long}</author><description>{}</description>{}{}\
         <enclosure url='http://m.example/{long}'/></item></channel></rss>",
        many(&long[..1_000]),
        many("<category>one of many</category>"),
        media.repeat(120),
    );
    scene.web.put("/feed", Page { status: 200, body, ..Page::default() });
    scene.subscribe(&person, &["/feed"]).await;
    scene.poll().await;
    let feed = only(&scene).await;
    assert_eq!((feed.articles, feed.state.fault), (1, None));
    let number = feedsync_reader_api::ArticleNumber::new(1);
    let text = scene.library.articles(&[number]).await.unwrap().remove(0).text;
    assert_eq!((text.link, text.enclosures.len(), text.categories.len()), (None, 100, 100));
    assert_eq!(text.content.unwrap().len(), 512 << 10);
}

/// Once there are users, the hub does not access private addresses for them.
#[tokio::test]
async fn private_addresses_are_not_reached_for_users() {
    let scene = Scene::new().await;
    let person = scene.somebody().await;
    scene.web.feed("/feed", &[("a", AT)]);
    scene.subscribe(&person, &["/feed"]).await;
    let password = Password::new("correct horse battery").unwrap();
    let name = UserName::new("anna").unwrap();
    let new =
        NewUser { name, password: Some(password), administrator: true, databases_only: false };
    scene.endpoint.add_user(new).await.unwrap();
    scene.poll().await;
    assert!(scene.web.asked().is_empty());
    assert!(only(&scene).await.state.fault.unwrap().contains("not a public address"));

    // An operator can allow private networks.
    let fetcher = Fetcher::new(Policy::new(Private::Allowed)).unwrap();
    for (network, articles) in [("127.0.0.2/32", 0), ("127.0.0.1/32", 1)] {
        let fetcher = fetcher.clone().with_networks(&[network.parse().unwrap()]).unwrap();
        let (library, endpoint) = (Arc::clone(&scene.library), scene.endpoint.clone());
        let schedule = FeedSchedule::new(library, endpoint, fetcher, Arc::default());
        scene.wait(48 * HOUR);
        for due in schedule.claim(1).await.unwrap() {
            schedule.poll(due).await.unwrap();
        }
        assert_eq!(only(&scene).await.articles, articles, "{network}");
    }
}

/// The icon of a site is fetched once for all its feeds; types that may contain scripts are rejected.
#[tokio::test]
async fn icon_of_a_site_is_stored_and_fetched_once_a_month() {
    let scene = Scene::new().await;
    let person = scene.somebody().await;
    let picture = |body: &str| Page { status: 200, headers: Vec::new(), body: body.to_owned() };
    scene.web.put("/favicon.ico", picture("GIF89a and so on"));
    scene.web.feed("/feed", &[("a", AT)]);
    scene.web.feed("/other", &[("b", AT)]);
    scene.subscribe(&person, &["/feed", "/other"]).await;
    let pictures = || {
        let asked = scene.web.asked();
        asked.iter().filter(|(path, _)| path == "/favicon.ico").count()
    };
    assert_eq!(scene.poll().await, 2);
    assert_eq!(pictures(), 1);
    let site = person.subscription_view().await.unwrap().feeds()[0].site();
    let kept = async || scene.library.icon(&site).await.unwrap().unwrap().icon;
    let icon = kept().await.unwrap();
    assert_eq!((&*icon.media_type, &*icon.bytes), ("image/gif", &b"GIF89a and so on"[..]));

    scene.web.put("/favicon.ico", picture("<svg xmlns='http://www.w3.org/2000/svg'/>"));
    for (days, count) in [(2, 0), (31, 1)] {
        scene.wait(days * 24 * HOUR);
        scene.web.feed("/feed", &[("a", AT), ("c", AT + days)]);
        scene.poll().await;
        assert_eq!(pictures(), count, "{days} days later");
    }
    assert_eq!(kept().await, None);
}

/// Fetches a document at `/feed`; returns its articles and the fault of the feed.
async fn kept(scene: &Scene, body: &str) -> (Vec<ArticleText>, Option<String>) {
    let person = scene.somebody().await;
    scene.web.put("/feed", Page { status: 200, body: body.to_owned(), ..Page::default() });
    scene.subscribe(&person, &["/feed"]).await;
    scene.poll().await;
    let feed = only(scene).await;
    let all = Selection { feeds: vec![feed.number], most: 9, ..Selection::default() };
    let listed = scene.library.list(all).await.unwrap();
    let numbers: Vec<_> = listed.iter().map(|listed| listed.number).collect();
    let articles = scene.library.articles(&numbers).await.unwrap();
    (articles.into_iter().map(|article| article.text).collect(), feed.state.fault)
}

#[tokio::test]
async fn an_article_without_a_title_shows_the_beginning_of_its_text() {
    let scene = Scene::new().await;
    let body = "<rss version='2.0'><channel><title>T</title><link>http://site.example/</link><item><guid>g1</guid>\
                <description>Just a microblog post with no title at all</description></item></channel></rss>";
    let (articles, fault) = kept(&scene, body).await;
    let title = articles[0].title.as_deref();
    assert_eq!((title, fault), (Some("Just a microblog post with no title at all"), None));
}

#[tokio::test]
async fn references_and_media_are_kept_with_absolute_addresses() {
    let scene = Scene::new().await;
    let body = "<rss version='2.0' xmlns:itunes='http://www.itunes.com/dtds/podcast-1.0.dtd'><channel><title>T</title>\
                <item><title>a</title><link>http://site.example/blog/post/</link><itunes:duration>61</itunes:duration>\
                <enclosure url='m.mp3' type='audio/mpeg'/><description>&lt;img src=\"w.png\"></description></item></channel></rss>";
    let (articles, _) = kept(&scene, body).await;
    let ArticleText { content, enclosures, .. } = &articles[0];
    assert_eq!(content.as_deref(), Some("<img src=\"http://site.example/blog/post/w.png\">"));
    let [media] = &enclosures[..] else { panic!("{enclosures:?}") };
    assert_eq!(
        (&*media.address, media.duration),
        ("http://site.example/blog/post/m.mp3", Some(61))
    );
}

#[tokio::test]
async fn an_article_that_says_nothing_is_left_out_and_reported() {
    let scene = Scene::new().await;
    let body = "<rss version='2.0'><channel><title>T</title><item><guid isPermaLink='false'>1</guid></item>\
                <item><title>a</title></item></channel></rss>";
    let (articles, fault) = kept(&scene, body).await;
    assert_eq!(articles.len(), 1);
    assert_eq!(
        fault.as_deref(),
        Some("1 article was skipped: it has neither title, link nor text")
    );
    // The fault stays as long as the document does.
    scene.wait(48 * HOUR);
    assert_eq!(scene.poll().await, 1);
    let state = only(&scene).await.state;
    assert_eq!((state.fault, state.failures), (fault, 0));
    scene.web.feed("/feed", &[("a", AT)]);
    scene.wait(48 * HOUR);
    scene.poll().await;
    assert_eq!(only(&scene).await.state.fault, None);
}

/// A feed with too many entries is truncated, and its fault says so.
#[tokio::test]
async fn a_feed_that_is_cut_reports_it() {
    let scene = Scene::new().await;
    let names: Vec<String> = (0..10_002).map(|number| format!("n{number}")).collect();
    let items: Vec<(&str, u64)> = names.iter().map(|name| (name.as_str(), AT)).collect();
    scene.web.feed("/feed", &items);
    scene.subscribe(&*scene.somebody().await, &["/feed"]).await;
    scene.poll().await;
    let feed = only(&scene).await;
    assert_eq!((feed.articles, feed.state.failures), (10_000, 0));
    let fault =
        "the last 2 articles were skipped: only the first 10000 articles of a feed are read";
    assert_eq!(feed.state.fault.as_deref(), Some(fault));
    scene.web.feed("/feed", &items[..10_000]);
    scene.wait(48 * HOUR);
    scene.poll().await;
    assert_eq!(only(&scene).await.state.fault, None);
}
