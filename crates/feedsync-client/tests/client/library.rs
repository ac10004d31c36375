//! Feeds as files on a web server that has no support for FeedSync.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use feedsync_core::{Format, Item, Payload, Related, RelatedKind, Sharing, Window};
use feedsync_formats::{FeedHead, FeedWriter};

use feedsync_test::site::{Answer, Asked, Site, answer};

type Files = Arc<Mutex<BTreeMap<String, Answer>>>;

pub(crate) struct Library {
    pub(crate) site: Site,
    files: Files,
}

impl Library {
    pub(crate) async fn new() -> Self {
        let files = Files::default();
        let shelf = Arc::clone(&files);
        let site = Site::start(move |asked| lend(&shelf, asked)).await;
        Self { site, files }
    }

    /// Stores a file with a validator of its own.
    pub(crate) fn put(&self, path: &str, body: &str) {
        let tag =
            format!("\"{:x}\"", body.len() * 31 + body.bytes().map(usize::from).sum::<usize>());
        let headers = [("Content-Type", "application/xml"), ("ETag", &tag)];
        self.answer(path, answer(200, &headers, body));
    }

    pub(crate) fn answer(&self, path: &str, answer: Answer) {
        self.files.lock().unwrap().insert(path.to_owned(), answer);
    }

    pub(crate) fn url(&self, path: &str) -> String {
        self.site.url(path)
    }
}

fn lend(files: &Files, asked: &Asked) -> Answer {
    let found = files.lock().unwrap().get(&asked.target).cloned();
    let Some(found) = found else { return answer(404, &[], "") };
    let tag = asked.headers.get("if-none-match").map(|tag| format!("ETag: {tag}\r\n"));
    let feedsync_test::site::Act::Send(bytes) = &found[0] else { return found };
    match tag {
        Some(tag) if String::from_utf8_lossy(bytes).contains(&tag) => answer(304, &[], ""),
        _ => found,
    }
}

/// Returns an Atom feed of these items.
pub(crate) fn feed(
    window: Option<(&str, &str)>,
    complete: Option<&str>,
    items: &[Item<Payload>],
) -> String {
    let sharing = Sharing {
        window: window.map(|(since, until)| Window { since: since.into(), until: until.into() }),
        expires: None,
        related: complete
            .map(|link| Related { link: link.into(), title: None, kind: RelatedKind::Complete })
            .into_iter()
            .collect(),
    };
    let said = window.is_some() || complete.is_some();
    shared(said.then_some(&sharing), items)
}

pub(crate) fn shared(sharing: Option<&Sharing>, items: &[Item<Payload>]) -> String {
    let head = FeedHead {
        id: "urn:x:feed",
        title: "A feed",
        updated: "2026-01-02T03:04:05Z".parse().unwrap(),
        author: "somebody",
        details: None,
        self_link: None,
        next: None,
        links: &[],
        complete: false,
        sharing,
    };
    let mut out = String::new();
    let mut writer = FeedWriter::new(Format::Atom);
    writer.begin(&mut out, &head);
    items.iter().for_each(|item| writer.item(&mut out, item));
    writer.end(&mut out);
    out
}
