//! Requests of newsreaders in each interface.

use feedsync_bitsy::newsreader::Interface;

use crate::desk::{Said, said};

/// Actions of a user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Deed {
    Read(i64, bool),
    /// In Miniflux, this toggles the star.
    Star(i64, bool),
    All(i64),
}

const ITEM: &str = "tag:google.com,2005:reader/item/";
const STATE: &str = "user/-/state/com.google";

pub(crate) fn ttrss(session: &str, rest: &str) -> Said {
    said("POST api/", &format!(r#"{{"sid":"{session}","seq":7,{rest}}}"#))
}

pub(crate) fn write(interface: Interface, deed: Deed) -> Said {
    write_in(interface, deed, "s1")
}

pub(crate) fn write_in(interface: Interface, deed: Deed, session: &str) -> Said {
    match (interface, deed) {
        (Interface::Google, Deed::All(feed)) => {
            said("POST reader/api/0/mark-all-as-read", &format!("s=feed/{feed}&T=t"))
        }
        (Interface::Google, Deed::Read(article, is_read)) => {
            let (one, other) = if is_read { ("a", "r") } else { ("r", "a") };
            let body = format!(
                "i={ITEM}{article:016x}&{one}={STATE}/read&{other}={STATE}/kept-unread&ac=edit&T=t"
            );
            said("POST reader/api/0/edit-tag", &body)
        }
        (Interface::Google, Deed::Star(article, is_starred)) => {
            let name = if is_starred { "a" } else { "r" };
            said("POST reader/api/0/edit-tag", &format!("i={article}&{name}={STATE}/starred&T=t"))
        }
        (Interface::Miniflux, Deed::All(feed)) => {
            said(&format!("PUT v1/feeds/{feed}/mark-all-as-read"), "")
        }
        (Interface::Miniflux, Deed::Read(article, is_read)) => {
            let status = if is_read { "read" } else { "unread" };
            said("PUT v1/entries", &format!(r#"{{"entry_ids":[{article}],"status":"{status}"}}"#))
        }
        (Interface::Miniflux, Deed::Star(article, _)) => {
            said(&format!("PUT v1/entries/{article}/bookmark"), "")
        }
        (Interface::Nextcloud, Deed::All(feed)) => said(
            &format!(
                "PUT index.php/apps/news/api/v1-2/feeds/{feed}/read?newestItemId=9223372036854775807"
            ),
            "{}",
        ),
        (Interface::Nextcloud, Deed::Read(article, is_read)) => {
            let deed = if is_read { "read" } else { "unread" };
            said(&format!("PUT index.php/apps/news/api/v1-2/items/{article}/{deed}"), "{}")
        }
        (Interface::Nextcloud, Deed::Star(article, is_starred)) => {
            let deed = if is_starred { "star" } else { "unstar" };
            let feed = if article % 3 == 0 { 2 } else { 1 };
            said(
                &format!("PUT index.php/apps/news/api/v1-2/items/{feed}/urn:x:{article}/{deed}"),
                "{}",
            )
        }
        (Interface::TinyTinyRss, Deed::All(feed)) => {
            ttrss(session, &format!(r#""op":"catchupFeed","feed_id":{feed}"#))
        }
        (Interface::TinyTinyRss, Deed::Read(article, is_read)) => {
            let mode = u8::from(!is_read);
            ttrss(
                session,
                &format!(
                    r#""op":"updateArticle","article_ids":"{article}","field":2,"mode":{mode}"#
                ),
            )
        }
        (Interface::TinyTinyRss, Deed::Star(article, is_starred)) => {
            let mode = u8::from(is_starred);
            ttrss(
                session,
                &format!(
                    r#""op":"updateArticle","article_ids":"{article}","field":0,"mode":{mode}"#
                ),
            )
        }
    }
}

/// Read requests of an interface. The first returns the folders of feeds, and the second everything.
pub(crate) fn readings(interface: Interface) -> Vec<Said> {
    let gets = |paths: &[&str]| paths.iter().map(|path| said(&format!("GET {path}"), "")).collect();
    match interface {
        Interface::Google => gets(&[
            "reader/api/0/subscription/list?output=json",
            "reader/atom/feed%2F1?n=100",
            "reader/atom/feed/2?n=100",
            "reader/api/0/stream/contents/user/-/state/com.google/reading-list?n=1000",
            "reader/api/0/stream/contents/user/-/state/com.google/reading-list?n=1000&xt=user/-/state/com.google/read&ck=17",
            "reader/api/0/stream/contents/feed/2?n=1000&r=o",
            "reader/api/0/stream/contents/user/-/state/com.google/starred?n=1000",
            "reader/api/0/stream/items/ids?s=user/-/state/com.google/starred&n=1000",
            "reader/api/0/stream/items/contents?mediaRss=true&i=1&i=3&i=2",
            "reader/api/0/unread-count?output=json",
        ]),
        Interface::Miniflux => gets(&[
            "v1/feeds",
            "v1/entries?limit=1000&order=published_at&direction=desc",
            "v1/entries?limit=1000&status=unread&direction=asc",
            "v1/entries?limit=1000&starred=true&direction=desc",
            "v1/feeds/1/entries?order=published_at&direction=desc",
            "v1/categories/1/entries?status=unread&direction=desc",
            "v1/entries/2",
            "v1/feeds/counters",
            "v1/categories?counts=true",
        ]),
        Interface::Nextcloud => gets(&[
            "index.php/apps/news/api/v1-2/feeds",
            "index.php/apps/news/api/v1-2/items?type=3&id=0",
            "index.php/apps/news/api/v1-2/items?type=0&id=1",
            "index.php/apps/news/api/v1-2/items?type=2&id=0",
            "index.php/apps/news/api/v1-2/items?type=3&id=0&getRead=false&oldestFirst=true",
        ]),
        Interface::TinyTinyRss => [
            r#""op":"getFeeds","cat_id":-3"#,
            r#""op":"getHeadlines","feed_id":-4,"show_content":true"#,
            r#""op":"getHeadlines","feed_id":1,"show_content":true,"include_header":true"#,
            r#""op":"getHeadlines","feed_id":-4,"view_mode":"unread","show_content":true"#,
            r#""op":"getHeadlines","feed_id":-1,"show_content":true"#,
            r#""op":"getCompactHeadlines","feed_id":-4,"view_mode":"unread""#,
            r#""op":"getCounters""#,
            r#""op":"getUnread""#,
            r#""op":"getUnread","feed_id":2"#,
        ]
        .iter()
        .map(|rest| ttrss("s1", rest))
        .collect(),
    }
}
