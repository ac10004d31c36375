//! Several queries of one resource in a request. The response has the results of each.

use std::collections::VecDeque;

use feedsync_couch::{Refusal, RefusalKind, named};
use feedsync_formats::json::{Kind, Node};
use feedsync_store::Database;

use super::pieces::Pieces;
use super::{CouchRequest, Failure};

/// Maximum number of queries in one request.
const MAX_QUERIES: usize = 1_000;

/// A query that was parsed.
pub(super) trait Query: Send + 'static {
    /// Its results.
    type Results: Pieces;

    /// Whether the results may contain more than ids and revisions.
    fn may_be_large(&self) -> bool;

    /// Returns the text before the results, and the results.
    fn open(
        self,
        asked: &CouchRequest,
        database: Database,
    ) -> impl Future<Output = Result<(String, Self::Results), Failure>> + Send;
}

/// Returns the queries in the body of a request.
pub(super) fn read(body: Node<'_>) -> Result<Vec<Node<'_>>, Refusal> {
    let refuse = |reason: &str| RefusalKind::BadRequest.with_reason(reason);
    let queries = body.member("queries");
    let queries = queries.ok_or_else(|| refuse("POST body must include `queries` parameter."))?;
    if queries.value.kind() != Kind::Array {
        return Err(refuse("`queries` parameter must be an array."));
    }
    let queries = named(queries.value)?;
    if queries.len() > MAX_QUERIES {
        let reason = format!("a request can have at most {MAX_QUERIES} queries");
        return Err(RefusalKind::TooLarge.with_reason(reason));
    }
    Ok(queries)
}

/// Queries that were not answered yet.
pub(super) struct Queries<Q: Query> {
    asked: CouchRequest,
    database: Database,
    queries: VecDeque<Q>,
    current: Option<Q::Results>,
    is_first: bool,
}

impl<Q: Query> Queries<Q> {
    pub(super) const BEGIN: &'static str = "{\"results\":[";

    pub(super) fn new(asked: &CouchRequest, database: Database, queries: VecDeque<Q>) -> Self {
        Self { asked: asked.clone(), database, queries, current: None, is_first: true }
    }
}

impl<Q: Query> Pieces for Queries<Q> {
    const END: &'static str = "]}\n";

    fn database(&self) -> Option<&Database> {
        Some(&self.database)
    }

    fn may_be_large(&self) -> bool {
        self.queries.iter().any(Query::may_be_large)
    }

    fn is_over(&self) -> bool {
        self.current.is_none() && self.queries.is_empty()
    }

    async fn push_some(&mut self, text: &mut String) -> Result<(), Failure> {
        if self.current.is_none()
            && let Some(query) = self.queries.pop_front()
        {
            let (begin, results) = query.open(&self.asked, self.database.clone()).await?;
            text.push_str(if self.is_first { "\n" } else { ",\n" });
            self.is_first = false;
            text.push_str(&begin);
            self.current = Some(results);
        }
        if let Some(results) = &mut self.current {
            if !results.is_over() {
                results.push_some(text).await?;
            }
            if results.is_over() {
                text.push_str(Q::Results::END);
                self.current = None;
            }
        }
        Ok(())
    }
}
