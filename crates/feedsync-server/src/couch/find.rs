//! `_find`: documents that match a selector. There are no indexes: the selector's conditions on ids limit the
//! documents that are read.

use std::ops::Bound;

use axum::body::Body;
use axum::response::Response;
use feedsync_couch::selector::Subject;
use feedsync_couch::{DatabaseName, FindRequest, Refusal, bookmark, quoted};
use feedsync_endpoint::documents::leaves;
use feedsync_endpoint::documents::show::{AttachmentContents, DocumentOptions};
use feedsync_formats::json::Node;
use feedsync_store::{Database, DocumentRange, LoadedDocument};
use http::Method;

use super::pieces::{self, Pieces};
use super::rights::Need;
use super::{CouchRequest, Failure, no_database, run_inline};

/// Number of documents per read, and of bytes of their bodies.
const PAGE: usize = 1_000;
const PAGE_BYTES: u64 = 8 << 20;

/// Documents that were not tested yet.
struct FindResults {
    asked: CouchRequest,
    database: Database,
    request: FindRequest,
    range: DocumentRange,
    is_first: bool,
    is_over: bool,
}

pub(super) async fn answer(
    asked: &CouchRequest,
    name: &DatabaseName,
    body: Body,
) -> Result<Response, Failure> {
    asked.method_of(&[Method::POST])?;
    let database = asked.database(name, Need::Use).await?;
    let request = {
        let (_permit, sent) = asked.json(body).await?;
        FindRequest::read(sent.root())?
    };
    let database = asked.recheck(&database, Need::Use).await?;
    let range = DocumentRange {
        from: request.ids.lower.clone(),
        to: request.ids.upper.clone(),
        is_descending: request.sort.is_descending,
        live_only: true,
        skip: 0,
        most: PAGE,
    };
    let finding = FindResults {
        asked: asked.clone(),
        database,
        request,
        range,
        is_first: true,
        is_over: false,
    };
    pieces::answer(asked, finding, String::from("{\"docs\":[")).await
}

impl Pieces for FindResults {
    const END: &'static str =
        ",\"warning\":\"No matching index found, create an index to optimize query time.\"}\n";

    fn database(&self) -> Option<&Database> {
        Some(&self.database)
    }

    fn may_be_large(&self) -> bool {
        true
    }

    fn is_over(&self) -> bool {
        self.is_over
    }

    async fn push_some(&mut self, text: &mut String) -> Result<(), Failure> {
        self.push_page(text).await?;
        if self.is_over {
            text.push_str(&format!("\n],\"bookmark\":{}", quoted(&self.request.bookmark)));
        }
        Ok(())
    }
}

impl FindResults {
    async fn push_page(&mut self, text: &mut String) -> Result<(), Failure> {
        if self.request.limit == 0 {
            self.is_over = true;
            return Ok(());
        }
        let (name, range) = (&self.database.name, self.range.clone());
        let (databases, winner) = (&self.asked.databases, leaves::winner());
        let page = databases.documents_by_id(name, range, winner, PAGE_BYTES).await?;
        if page.database.epoch != self.database.epoch {
            return Err(no_database().into());
        }
        self.is_over = page.documents.is_empty();
        for read in page.documents.iter().flatten() {
            let reached = Bound::Excluded(read.document.id.as_str().to_owned());
            match self.range.is_descending {
                true => self.range.to = reached,
                false => self.range.from = reached,
            }
            self.push(text, read)?;
            if self.request.limit == 0 {
                self.is_over = true;
                break;
            }
        }
        Ok(())
    }

    /// Appends a document if it matches.
    fn push(&mut self, text: &mut String, read: &LoadedDocument) -> Result<(), Failure> {
        let request = &mut self.request;
        let id = read.document.id.as_str();
        let winner = read.document.tree.winner().filter(|_| !read.document.id.is_design());
        let Some(winner) = winner else { return Ok(()) };
        let Some(kept) = read.bodies.get(winner.revision) else { return Ok(()) };
        let revision = winner.revision.to_string();
        let body = Node::root(&kept.text);
        let subject = Subject { id, revision: &revision, is_deleted: false, body };
        if !run_inline(kept.text.len(), || request.selector.matches(&subject)) {
            return Ok(());
        }
        if request.skip > 0 {
            request.skip -= 1;
            return Ok(());
        }
        request.limit -= 1;
        request.bookmark = bookmark(id);
        text.push_str(if self.is_first { "\n" } else { ",\n" });
        self.is_first = false;
        let show = DocumentOptions { conflicts: request.conflicts, ..DocumentOptions::default() };
        let mut document = String::new();
        let shown = show.push(
            &mut document,
            read,
            winner.revision,
            &AttachmentContents::new(),
            &self.database,
        );
        shown.ok_or_else(Refusal::missing)?;
        request.fields.push(text, Node::root(&document));
        Ok(())
    }
}
