//! `_find`: documents that match a selector, in the order of an index or of ids.
//!
//! A request waits until its index contains all documents. Without a suitable index, the selector's conditions on ids
//! limit the documents that are read.

mod source;

use std::time::Instant;

use axum::body::Body;
use axum::response::Response;
use feedsync_couch::selector::Subject;
use feedsync_couch::{DatabaseName, FindRequest, FindStatistics, Refusal, quoted};
use feedsync_endpoint::documents::show::{AttachmentContents, DocumentOptions};
use feedsync_formats::json::Node;
use feedsync_store::{Database, LoadedDocument};
use http::Method;

use super::pieces::{self, Pieces};
use super::{CouchRequest, Failure, run_inline};
use crate::access::databases::Need;
use source::Source;

/// Documents that were not tested yet.
struct FindResults {
    asked: CouchRequest,
    database: Database,
    request: FindRequest,
    source: Source,
    statistics: FindStatistics,
    began: Instant,
    is_over: bool,
}

pub(super) async fn answer(
    asked: &CouchRequest,
    name: &DatabaseName,
    body: Body,
) -> Result<Response, Failure> {
    asked.method_of(&[Method::POST])?;
    let began = Instant::now();
    let database = asked.database(name, Need::Use).await?;
    let request = {
        let (_permit, sent) = asked.json(body).await?;
        FindRequest::parse(sent.root())?
    };
    let database = asked.recheck(&database, Need::Use).await?;
    let source = Source::open(asked, name, &request).await?;
    // The index may have been built for long.
    let database = asked.recheck(&database, Need::Use).await?;
    let finding = FindResults {
        asked: asked.clone(),
        database,
        request,
        source,
        statistics: FindStatistics::default(),
        began,
        is_over: false,
    };
    pieces::answer(asked, finding, String::from("{\"docs\":[")).await
}

impl Pieces for FindResults {
    const END: &'static str = "}\n";

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
            self.push_end(text);
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
        let wanted = self.request.limit.saturating_add(self.request.skip);
        let Some(page) = self.source.read(&self.asked, &self.database, wanted).await? else {
            // The index was removed or is being built again.
            self.source =
                self.source.reopen(&self.asked, &self.database.name, &self.request).await?;
            self.database = self.asked.recheck(&self.database, Need::Use).await?;
            return Ok(());
        };
        self.is_over = page.is_empty();
        for row in &page {
            self.statistics.keys += 1;
            let is_match = self.is_match(row.document());
            self.source.advance(row);
            if is_match {
                self.push(text, row.document())?;
            }
            if self.request.limit == 0 {
                self.is_over = true;
                break;
            }
        }
        Ok(())
    }

    /// Evaluates the selector on a document.
    fn is_match(&mut self, read: &LoadedDocument) -> bool {
        let winner = read.document.tree.winner().filter(|_| !read.document.id.is_design());
        let Some(winner) = winner else { return false };
        let Some(stored) = read.bodies.get(winner.revision) else { return false };
        self.statistics.documents += 1;
        let (id, revision) = (read.document.id.as_str(), winner.revision.to_string());
        let body = Node::root(&stored.text);
        let subject = Subject { id, revision: &revision, is_deleted: false, body };
        run_inline(stored.text.len(), || self.request.selector.matches(&subject))
    }

    /// Appends a document that matches, unless it is skipped.
    fn push(&mut self, text: &mut String, read: &LoadedDocument) -> Result<(), Failure> {
        let request = &mut self.request;
        if request.skip > 0 {
            request.skip -= 1;
            return Ok(());
        }
        request.limit -= 1;
        request.position = self.source.position();
        text.push_str(if self.statistics.results == 0 { "\n" } else { ",\n" });
        self.statistics.results += 1;
        let winner = read.document.tree.winner().ok_or_else(Refusal::missing)?;
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

    /// Appends the members after the documents.
    fn push_end(&self, text: &mut String) {
        let bookmark = self.request.position.bookmark();
        text.push_str(&format!("\n],\"bookmark\":{}", quoted(&bookmark)));
        if self.request.execution_stats {
            let statistics = self.statistics.written(self.began.elapsed());
            text.push_str(&format!(",\"execution_stats\":{statistics}"));
        }
        if let Some(warning) = self.source.warning(&self.statistics) {
            text.push_str(&format!(",\"warning\":{}", quoted(&warning)));
        }
    }
}
