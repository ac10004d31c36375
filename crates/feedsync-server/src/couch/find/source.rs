//! The documents that a request to `_find` reads: of an index, or by id.

use std::ops::Bound;

use feedsync_couch::index::IndexDefinition;
use feedsync_couch::plan::{Pages, plan};
use feedsync_couch::{DatabaseName, FindRequest, FindStatistics, Position, RefusalKind};
use feedsync_endpoint::documents::leaves;
use feedsync_store::{Database, DocumentRange, IndexRange, LoadedDocument, StoredIndex};

use crate::couch::index_builds::known;
use crate::couch::{CouchRequest, Failure, no_database};

/// Number of documents per read, and of bytes of their bodies.
const PAGE: usize = 1_000;
const PAGE_BYTES: u64 = 8 << 20;

/// Minimum number of documents that are read of an index at once.
const MIN_PAGE: usize = 50;

/// Documents that were not read yet, in the order of the response.
pub(super) struct Source {
    order: Order,
    is_begun: bool,
    warning: Option<String>,
}

enum Order {
    Ids(DocumentRange),
    Keys { index: Box<IndexDefinition>, range: IndexRange },
}

/// A document that was read.
pub(super) enum Row {
    OfIds(LoadedDocument),
    OfIndex(Vec<u8>, LoadedDocument),
}

impl Source {
    /// Chooses an index, and waits until it contains all documents.
    pub(super) async fn open(
        asked: &CouchRequest,
        name: &DatabaseName,
        request: &FindRequest,
    ) -> Result<Self, Failure> {
        loop {
            let indexes = known(&*asked.databases, name).await?;
            if let Some(source) = Self::choose(&indexes, request)? {
                return Ok(source);
            }
            asked.hub.index_builds.wait(&asked.databases, name).await?;
        }
    }

    /// Chooses an index; `None` if it must be built first.
    fn choose(indexes: &[StoredIndex], request: &FindRequest) -> Result<Option<Self>, Failure> {
        let plan = plan(request, indexes.iter().map(|index| &index.definition))?;
        let warning = plan.warning(request);
        let is_descending = plan.is_descending;
        let order = match (plan.index, plan.pages(request)?) {
            (Some(index), Pages::ByKey { keys, after }) => {
                let is_chosen = |it: &&StoredIndex| std::ptr::eq(&it.definition, index);
                let stored = indexes.iter().find(is_chosen).ok_or_else(changed)?;
                if !stored.is_built {
                    return Ok(None);
                }
                let range = IndexRange { index: stored.id, keys, after, is_descending, most: PAGE };
                Order::Keys { index: Box::new(index.clone()), range }
            }
            (None, Pages::ById(ids)) => Order::Ids(DocumentRange {
                from: ids.lower,
                to: ids.upper,
                is_descending,
                live_only: true,
                skip: 0,
                most: PAGE,
            }),
            _ => return Err(changed()),
        };
        Ok(Some(Self { order, is_begun: false, warning }))
    }

    /// Chooses an index again, since the former one cannot be read any more. Once documents were read, only an index with
    /// the same order can replace it.
    pub(super) async fn reopen(
        &self,
        asked: &CouchRequest,
        name: &DatabaseName,
        request: &FindRequest,
    ) -> Result<Self, Failure> {
        if !self.is_begun {
            return Self::open(asked, name, request).await;
        }
        let request = FindRequest { position: self.position(), ..request.clone() };
        match Self::open(asked, name, &request).await {
            Err(Failure::Refused(refusal)) if refusal.kind == RefusalKind::InvalidBookmark => {
                Err(changed())
            }
            opened => Ok(Self { is_begun: true, ..opened? }),
        }
    }

    /// Reads further documents, of which the request wants so many matches. An empty page is the end; `None` if the
    /// index changed.
    pub(super) async fn read(
        &mut self,
        asked: &CouchRequest,
        database: &Database,
        wanted: u64,
    ) -> Result<Option<Vec<Row>>, Failure> {
        let (name, winner) = (&database.name, leaves::winner());
        let (read, rows): (Database, Vec<Row>) = match &mut self.order {
            Order::Ids(range) => {
                let range = range.clone();
                let page = asked.databases.documents_by_id(name, range, winner, PAGE_BYTES).await?;
                let documents = page.documents.into_iter().flatten();
                (page.database, documents.map(Row::OfIds).collect())
            }
            Order::Keys { range, .. } => {
                // Most requests get their documents at once. Others read more and more.
                let most = match self.is_begun {
                    true => range.most.saturating_mul(2),
                    false => usize::try_from(wanted).unwrap_or(PAGE),
                };
                range.most = most.clamp(MIN_PAGE, PAGE);
                let range = range.clone();
                let page =
                    asked.databases.documents_by_key(name, range, winner, PAGE_BYTES).await?;
                let Some(page) = page else { return Ok(None) };
                let rows = page.documents.into_iter();
                (page.database, rows.map(|(key, document)| Row::OfIndex(key, document)).collect())
            }
        };
        if read.epoch != database.epoch {
            return Err(no_database().into());
        }
        self.is_begun = true;
        Ok(Some(rows))
    }

    /// Continues after a document.
    pub(super) fn advance(&mut self, row: &Row) {
        let id = &row.document().document.id;
        match (&mut self.order, row) {
            (Order::Ids(range), _) => {
                let reached = Bound::Excluded(id.as_str().to_owned());
                match range.is_descending {
                    true => range.to = reached,
                    false => range.from = reached,
                }
            }
            (Order::Keys { range, .. }, Row::OfIndex(key, _)) => {
                range.after = Some((key.clone(), id.clone()));
            }
            (Order::Keys { .. }, Row::OfIds(_)) => {}
        }
    }

    /// Position after the last document that was read.
    pub(super) fn position(&self) -> Position {
        match &self.order {
            Order::Ids(range) => {
                let reached = if range.is_descending { &range.to } else { &range.from };
                match reached {
                    Bound::Excluded(id) => Position::AfterId(id.clone()),
                    _ => Position::Start,
                }
            }
            Order::Keys { index, range } => range
                .after
                .clone()
                .map_or(Position::Start, |(key, id)| Position::after_key(index, key, id)),
        }
    }

    /// The warning in the response.
    pub(super) fn warning(&self, statistics: &FindStatistics) -> Option<String> {
        let examined = statistics.warning().map(str::to_owned);
        let warnings: Vec<String> = self.warning.iter().cloned().chain(examined).collect();
        (!warnings.is_empty()).then(|| warnings.join("\n"))
    }
}

impl Row {
    pub(super) fn document(&self) -> &LoadedDocument {
        match self {
            Self::OfIds(document) | Self::OfIndex(_, document) => document,
        }
    }
}

fn changed() -> Failure {
    let reason = "an index was changed during the request";
    RefusalKind::Unavailable.with_reason(reason).into()
}
