//! A static web server, and an endpoint that publishes a partial and a complete feed on it, as files.
//!
//! Caches in front of the server may return any version that a file ever had.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use feedsync_core::{Format, Related, RelatedKind, Sharing};
use feedsync_endpoint::Publication;
use feedsync_formats::{FeedHead, FeedWriter, Mode, ReadOptions, Reading, read, suffix};
use feedsync_store::{ChangeNumber, PageLimit, StoredItem};

use super::peer::{Peer, list, now};

/// Kinds of files, in the order in which they are written. A subscriber that is out of sync reads the partial
/// feed and then the complete one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Extent {
    Complete,
    Partial,
}

/// One version of a file.
#[derive(Debug)]
pub(crate) struct Version {
    text: String,
    /// Entity tag, which differs for each version of this file.
    pub(crate) etag: String,
    reading: OnceCell<Reading>,
}

impl Version {
    /// Returns the document as parsed by a subscriber. None of its items is refused.
    pub(crate) fn reading(&self) -> &Reading {
        self.reading.get_or_init(|| {
            // Our own documents must be valid in both modes.
            let mode =
                if self.text.len().is_multiple_of(2) { Mode::Strict } else { Mode::Tolerant };
            let options = ReadOptions { mode, ..ReadOptions::tolerant() };
            let reading = read(self.text.as_bytes(), None, &options)
                .unwrap_or_else(|error| panic!("{error}: {}", self.text));
            assert!(reading.refused.is_empty(), "{:?}: {}", reading.refused, self.text);
            reading
        })
    }

    pub(crate) fn sharing(&self) -> Option<&Sharing> {
        self.reading().feed.sharing.as_ref()
    }

    fn until(&self) -> Option<&str> {
        Some(&self.sharing()?.window.as_ref()?.until)
    }
}

/// The files of all endpoints, by address.
#[derive(Debug, Default)]
pub(crate) struct Server(BTreeMap<String, Vec<Rc<Version>>>);

impl Server {
    /// Returns all versions of a file, newest last; none if there is no such file.
    pub(crate) fn versions(&self, address: &str) -> &[Rc<Version>] {
        self.0.get(address).map_or(&[], Vec::as_slice)
    }

    /// Writes a file, unless it has this text already; returns whether it was written. `until` never
    /// decreases.
    fn write(&mut self, address: String, text: String) -> bool {
        let versions = self.0.entry(address).or_default();
        if versions.last().is_some_and(|last| last.text == text) {
            return false;
        }
        let (etag, reading) = (format!("\"{}\"", versions.len()), OnceCell::new());
        let new = Rc::new(Version { text, etag, reading });
        if let Some(last) = versions.last() {
            assert!(last.until() <= new.until(), "until fell: {} {}", last.text, new.text);
        }
        versions.push(new);
        true
    }
}

/// Steps that publishing completes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Progress {
    /// The process dies after the first file.
    OneFile,
    /// The process dies before its store records that others can see its changes.
    BothFiles,
    Done,
}

/// Writes the files of an endpoint. Returns whether a file changed.
pub(crate) fn publish(
    server: &mut Server,
    peer: &Peer,
    index: usize,
    format: Format,
    progress: Progress,
) -> bool {
    let partial = now(peer.endpoint.publish(&list(), None)).expect("a publication");
    let complete = now(peer.endpoint.publish_complete(&list())).expect("a publication");
    let mut changed = false;
    for (extent, publication) in [(Extent::Complete, &complete), (Extent::Partial, &partial)] {
        let address = address(index, extent, format);
        let items = match extent {
            Extent::Complete => peer.stored(),
            Extent::Partial => in_window(peer, publication),
        };
        let text = document(publication, extent, index, format, &items);
        changed |= server.write(address, text);
        if progress == Progress::OneFile {
            return changed;
        }
    }
    if progress == Progress::Done {
        now(peer.endpoint.mark_sent(&list(), complete.up_to)).expect("a store that works");
    }
    changed
}

/// Returns the address of a file of an endpoint; subscribers know that of the partial feed.
pub(crate) fn address(index: usize, extent: Extent, format: Format) -> String {
    match extent {
        Extent::Partial => format!("http://peer-{index}.example/list"),
        Extent::Complete => format!("http://peer-{index}.example/list.complete{}", suffix(format)),
    }
}

fn in_window(peer: &Peer, publication: &Publication) -> Vec<StoredItem> {
    let (mut items, mut after): (Vec<StoredItem>, ChangeNumber) = (Vec::new(), publication.after);
    loop {
        let page = now(peer.endpoint.page(publication, after, PageLimit::items(2)));
        let page = page.expect("a page");
        items.extend(page.items);
        if !page.more {
            return items;
        }
        after = page.through;
    }
}

fn document(
    publication: &Publication,
    extent: Extent,
    index: usize,
    format: Format,
    items: &[StoredItem],
) -> String {
    let complete = Related {
        link: address(index, Extent::Complete, format),
        title: None,
        kind: RelatedKind::Complete,
    };
    let Publication { collection, window, expires, .. } = publication;
    let sharing =
        Sharing { window: Some(window.clone()), expires: *expires, related: vec![complete] };
    let head = FeedHead {
        id: &collection.feed_id,
        title: &collection.title,
        updated: collection.edited.timestamp().expect("a date"),
        author: "somebody",
        details: None,
        self_link: Some(&address(index, extent, format)),
        next: None,
        links: &[],
        complete: extent == Extent::Complete,
        sharing: Some(&sharing),
    };
    let (mut writer, mut out) = (FeedWriter::new(format), String::new());
    writer.begin(&mut out, &head);
    items.iter().for_each(|stored| writer.item(&mut out, &stored.item));
    writer.end(&mut out);
    out
}
