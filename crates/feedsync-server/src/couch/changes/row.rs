//! Rows of `_changes`: each change as a JSON object, with the separator of its kind of feed.

use feedsync_couch::{ChangesFeed, ChangesRequest, Revision};
use feedsync_endpoint::documents::filter;
use feedsync_endpoint::documents::sequence::SequenceWriter;
use feedsync_endpoint::documents::show::{AttachmentContents, DocumentOptions};
use feedsync_formats::json::push_string;
use feedsync_store::{Database, LoadedDocument};

/// Common properties of the rows of a page.
pub(super) struct Rows<'a> {
    request: &'a ChangesRequest,
    database: &'a Database,
    places: SequenceWriter,
}

impl<'a> Rows<'a> {
    /// Rows of a database.
    pub(super) fn of(request: &'a ChangesRequest, database: &'a Database) -> Self {
        Self { request, database, places: SequenceWriter::of(database) }
    }

    /// Appends the row of a document if it is selected, and returns whether it is. `accepted` are the leaves that a function
    /// has selected, and `held` is the content of the attachments if that is requested. The first row of a response has
    /// no separator.
    pub(super) fn push(
        &self,
        out: &mut String,
        (read, accepted, held): (&LoadedDocument, Option<&[Revision]>, &AttachmentContents),
        is_first: bool,
    ) -> bool {
        let begin = out.len();
        out.push_str(match self.request.feed {
            ChangesFeed::Normal | ChangesFeed::LongPoll if !is_first => ",\n",
            ChangesFeed::Normal | ChangesFeed::LongPoll | ChangesFeed::Continuous => "",
            ChangesFeed::EventSource => "data: ",
        });
        if self.push_object(out, read, accepted, held).is_none() {
            out.truncate(begin);
            return false;
        }
        match self.request.feed {
            ChangesFeed::Normal | ChangesFeed::LongPoll => {}
            ChangesFeed::Continuous => out.push('\n'),
            ChangesFeed::EventSource => {
                out.push_str("\nid: ");
                self.places.push(out, read.document.number);
                out.push_str("\n\n");
            }
        }
        true
    }

    fn push_object(
        &self,
        out: &mut String,
        read: &LoadedDocument,
        accepted: Option<&[Revision]>,
        held: &AttachmentContents,
    ) -> Option<()> {
        let tree = &read.document.tree;
        let listed_leaves = match accepted {
            Some(accepted) => {
                let leaves = tree.leaves().into_iter();
                leaves.filter(|leaf| accepted.contains(leaf.revision)).collect()
            }
            None => filter::listed_leaves(&self.request.filter, read, self.request.all_leaves),
        };
        let winner = tree.winner().filter(|_| !listed_leaves.is_empty())?;
        out.push_str("{\"seq\":");
        self.places.push(out, read.document.number);
        out.push_str(",\"id\":");
        push_string(out, read.document.id.as_str());
        out.push_str(",\"changes\":[");
        for (at, leaf) in listed_leaves.iter().enumerate() {
            out.push_str(if at > 0 { ",{\"rev\":" } else { "{\"rev\":" });
            leaf.revision.push_quoted(out);
            out.push('}');
        }
        out.push(']');
        if winner.content.is_deleted {
            out.push_str(",\"deleted\":true");
        }
        if self.request.include_docs {
            out.push_str(",\"doc\":");
            let show = DocumentOptions {
                conflicts: self.request.conflicts,
                attachments: self.request.attachments,
                ..DocumentOptions::default()
            };
            show.push(out, read, winner.revision, held, self.database)?;
        }
        out.push('}');
        Some(())
    }
}
