//! Articles for newsreaders, and their marks in the log.

use super::TestEndpoint;

/// Marks of an article.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Marks {
    pub(crate) read: bool,
    pub(crate) starred: bool,
}

/// A feed of articles, newest first.
pub(crate) fn feed(title: &str, names: &[&str]) -> String {
    let item = |(hour, name): (usize, &&str)| {
        format!(
            "<item><title>{name}</title><guid isPermaLink=\"false\">urn:x:{name}</guid>\
             <pubDate>Sat, 21 Nov 2026 1{hour}:00:00 GMT</pubDate><description>About {name}\
             </description></item>"
        )
    };
    let items: String = names.iter().enumerate().map(item).rev().collect();
    format!("<rss version=\"2.0\"><channel><title>{title}</title>{items}</channel></rss>")
}

/// Marks of an article on a device that synchronises with the log.
pub(crate) fn known(device: &TestEndpoint<'_>, log: &str, article: &str) -> Marks {
    device.ok(&["reader", "sync", log]);
    let marked = device.json(&["reader", "articles"]);
    let of = |member: &str| {
        let mut marked = marked.as_array().unwrap().iter();
        let found = marked.find(|marked| marked["article"] == format!("urn:x:{article}"));
        found.is_some_and(|found| found[member] == true)
    };
    Marks { read: of("read"), starred: of("starred") }
}
