//! Views of design documents: `_view` with its queries, `_info` and `_view_cleanup`.
//!
//! A request waits until the rows follow the last change before it, unless it asks for other rows (`update`). Rows are read
//! page by page. Changes between two pages may move rows; a reduction always belongs to one state of the view.

mod documents;
mod rows;

use axum::body::Body;
use axum::response::Response;
use feedsync_couch::view::{PositionRange, ViewQuery, ViewUpdate};
use feedsync_couch::{DatabaseName, DocumentId, FunctionKind, Refusal, RefusalKind, quoted};
use feedsync_endpoint::documents::sequence;
use feedsync_endpoint::documents::views::{Views, drop_unused_views};
use feedsync_formats::json::Node;
use feedsync_store::{Database, StoredViews};
use http::{Method, StatusCode};

use super::queries::{self, Queries, Query as _};
use super::{CouchRequest, Failure, design, done, json, no_database, pieces};
use crate::access::databases::Need;
use rows::ViewRows;

/// A query of a view.
struct Query {
    views: Views,
    view: u32,
    query: ViewQuery,
}

/// Answers one query, given in the parameters and in the body of a `POST`.
pub(super) async fn answer(
    asked: &CouchRequest,
    mut database: Database,
    view: (DocumentId, &str),
    body: Body,
) -> Result<Response, Failure> {
    let method = asked.method_of(&[Method::GET, Method::POST])?.clone();
    let (views, number) = find(asked, &database, view).await?;
    let query = if method == Method::POST {
        let (_permit, sent) = asked.json(body).await?;
        database = asked.recheck(&database, Need::Use).await?;
        if sent.root().member("queries").is_some() {
            // CouchDB 1 answered several queries here.
            let reason = "The `queries` parameter is no longer supported at this endpoint";
            return Err(RefusalKind::BadRequest.with_reason(reason).into());
        }
        Query::read(asked, (views, number), Some(sent.root()))?
    } else {
        Query::read(asked, (views, number), None)?
    };
    let (begin, rows) = query.open(asked, database).await?;
    pieces::answer(asked, rows, begin).await
}

/// Answers several queries, each with rows of its own.
pub(super) async fn answer_queries(
    asked: &CouchRequest,
    database: Database,
    view: (DocumentId, &str),
    body: Body,
) -> Result<Response, Failure> {
    asked.method_of(&[Method::POST])?;
    let (views, number) = find(asked, &database, view).await?;
    let queries = {
        let (_permit, sent) = asked.json(body).await?;
        let read = |query| Query::read(asked, (views.clone(), number), Some(query));
        let queries = queries::read(sent.root())?.into_iter().map(read);
        queries.collect::<Result<_, Refusal>>()?
    };
    let database = asked.recheck(&database, Need::Use).await?;
    let queries = Queries::new(asked, database, queries);
    pieces::answer(asked, queries, Queries::<Query>::BEGIN.to_owned()).await
}

/// Describes the views of a design document.
pub(super) async fn information(
    asked: &CouchRequest,
    database: &Database,
    id: DocumentId,
) -> Result<Response, Failure> {
    asked.method_of(&[Method::GET])?;
    let body = design::winner(asked, database, id.clone()).await?;
    let Some(views) = asked.hub.endpoint.views(&database.name, id.clone(), Node::root(&body))?
    else {
        return Err(FunctionKind::not_executed().into());
    };
    let stored = views.stored().await?;
    let name = quoted(id.as_str().trim_start_matches("_design/"));
    let signature: String = views.signature().0.iter().map(|byte| format!("{byte:02x}")).collect();
    let is_running = asked.hub.view_updates.is_running(&views);
    let pending = asked.databases.count_changes(&database.name, stored.reached).await?;
    let text = format!(
        "{{\"name\":{name},\"view_index\":{{\"signature\":\"{signature}\",\"language\":\"javascript\",\
         \"updater_running\":{is_running},\"compact_running\":false,\"purge_seq\":{},\"update_seq\":{},\
         \"updates_pending\":{{\"minimum\":{pending},\"preferred\":{pending},\"total\":{pending}}}}}}}\n",
        stored.database.purges, stored.reached
    );
    Ok(json(StatusCode::OK, text))
}

/// Drops rows of views that no design document has.
pub(super) async fn clean_up(
    asked: &CouchRequest,
    name: &DatabaseName,
) -> Result<Response, Failure> {
    asked.method_of(&[Method::POST])?;
    asked.database(name, Need::Administer).await?;
    drop_unused_views(&*asked.databases, name).await?;
    Ok(done(StatusCode::ACCEPTED))
}

/// The views of a design document, and the number of one of them.
async fn find(
    asked: &CouchRequest,
    database: &Database,
    (id, name): (DocumentId, &str),
) -> Result<(Views, u32), Failure> {
    let body = design::winner(asked, database, id.clone()).await?;
    match asked.hub.endpoint.views(&database.name, id.clone(), Node::root(&body))? {
        Some(views) => {
            let (number, _) = views.definition().find(name)?;
            Ok((views, u32::try_from(number).unwrap_or(u32::MAX)))
        }
        None => Err(FunctionKind::View.refuse(Node::root(&body), name).into()),
    }
}

impl Query {
    fn read(
        asked: &CouchRequest,
        (views, view): (Views, u32),
        body: Option<Node<'_>>,
    ) -> Result<Self, Refusal> {
        let query = ViewQuery::read(&asked.parameters, body)?;
        query.check(views.reduction(view))?;
        Ok(Self { views, view, query })
    }

    /// The text before the rows.
    async fn begin(&self, stored: &mut StoredViews, is_reduced: bool) -> Result<String, Failure> {
        let mut begin = String::from("{");
        if !is_reduced && self.query.is_sorted {
            let total = stored.rows.get(self.view as usize).copied().unwrap_or_default();
            let offset = match self.query.ranges().next() {
                Some(range) if self.query.keys.is_none() => {
                    let before = self.rows_before(stored, &range).await?;
                    before.saturating_add(self.query.skip).min(total).to_string()
                }
                _ => "null".to_owned(),
            };
            begin.push_str(&format!("\"total_rows\":{total},\"offset\":{offset},"));
        }
        if self.query.update_seq {
            let sequence = quoted(&sequence::text(&stored.database, stored.reached));
            begin.push_str(&format!("\"update_seq\":{sequence},"));
        }
        begin.push_str("\"rows\":[");
        Ok(begin)
    }

    /// Number of rows before a range, in the order of the response.
    async fn rows_before(
        &self,
        stored: &mut StoredViews,
        range: &PositionRange,
    ) -> Result<u64, Failure> {
        let PositionRange { from: first, to: last } = PositionRange::all();
        let before = match self.query.is_descending {
            false => PositionRange { from: first, to: range.from.clone() },
            true => PositionRange { from: range.to.clone(), to: last },
        };
        match before.is_empty() {
            true => Ok(0),
            false => Ok(self.views.content(stored, self.view, &before).await?.rows),
        }
    }
}

impl queries::Query for Query {
    type Results = ViewRows;

    fn may_be_large(&self) -> bool {
        true
    }

    async fn open(
        self,
        asked: &CouchRequest,
        database: Database,
    ) -> Result<(String, ViewRows), Failure> {
        let updates = &asked.hub.view_updates;
        let mut stored = match self.query.update {
            ViewUpdate::Before => updates.wait(&self.views).await?,
            ViewUpdate::After | ViewUpdate::Never => self.views.stored().await?,
        };
        if self.query.update == ViewUpdate::After {
            updates.begin(&self.views);
        }
        // The update may have taken long.
        let database = asked.recheck(&database, Need::Use).await?;
        if stored.database.epoch != database.epoch {
            return Err(no_database().into());
        }
        let is_reduced = self.query.is_reduced(self.views.reduction(self.view));
        let begin = self.begin(&mut stored, is_reduced).await?;
        Ok((begin, ViewRows::new(asked.clone(), self, stored, is_reduced)))
    }
}
