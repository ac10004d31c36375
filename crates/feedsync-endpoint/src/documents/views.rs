//! Views: rows that the map functions of a design document compute from documents.
//!
//! Rows are stored with the number of the last change that they follow. A request brings them up to date first: documents
//! that changed since then are mapped again. The version of a design document is known by its
//! [signature](DesignViews::signature); another one has rows of its own. Rows of versions that no design document has are
//! dropped when the database has no room for a new one, and by [`drop_unused`](Views::drop_unused).
//!
//! Source: CouchDB's documentation of views.

mod groups;
mod reduce;
mod tree;
mod update;

use std::collections::BTreeSet;
use std::sync::Arc;

use feedsync_couch::view::{DesignViews, PositionRange, Reduction};
use feedsync_couch::{DatabaseName, DocumentId, Refusal, RefusalKind};
use feedsync_formats::json::Node;
use feedsync_store::{
    Databases, MAX_VIEWS, RangesLimit, RowLimit, StoredViews, ViewPage, ViewRanges, ViewState,
    ViewsSignature,
};

use super::functions::{DesignFunctions, DesignSource};
use super::{DocumentsError, designs};
use crate::endpoint::Endpoint;
pub use groups::{Group, GroupCursor};

/// Number of times that a result is computed again because rows changed meanwhile. What was computed of unchanged rows
/// is not computed again.
const MAX_ATTEMPTS: usize = 100;

/// The views of a version of a design document, in a database.
#[derive(Clone)]
pub struct Views {
    databases: Arc<dyn Databases>,
    functions: Arc<dyn DesignFunctions>,
    database: DatabaseName,
    design: DesignSource,
    definition: Arc<DesignViews>,
}

/// The rows no longer follow the change at which they are read.
#[derive(Debug)]
enum Interruption {
    /// They follow another one.
    Moved,
    Failed(DocumentsError),
}

impl<E: Into<DocumentsError>> From<E> for Interruption {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

impl Endpoint {
    /// Returns the views of a design document with this body; `None` if functions are not executed.
    pub fn views(
        &self,
        database: &DatabaseName,
        design: DocumentId,
        body: Node<'_>,
    ) -> Result<Option<Views>, Refusal> {
        let Some(functions) = self.functions() else { return Ok(None) };
        let definition = DesignViews::read(body)?;
        Ok(Some(Views {
            databases: self.databases(),
            functions: Arc::clone(functions),
            database: database.clone(),
            design: DesignSource { id: design, source: definition.source().into() },
            definition: Arc::new(definition),
        }))
    }
}

impl Views {
    /// Name of the database.
    pub fn database(&self) -> &DatabaseName {
        &self.database
    }

    /// The definitions of the design document.
    pub fn definition(&self) -> &DesignViews {
        &self.definition
    }

    /// Identifies the rows.
    pub fn signature(&self) -> ViewsSignature {
        ViewsSignature(self.definition.signature())
    }

    /// The rows as they are stored, which may not follow the last changes.
    pub async fn stored(&self) -> Result<StoredViews, DocumentsError> {
        for is_last in [false, true] {
            let count = self.definition.views.len();
            let stored = self.databases.views(&self.database, &self.signature(), count).await?;
            match stored {
                Some(stored) => return Ok(stored),
                None if is_last => break,
                None => self.drop_unused().await?,
            }
        }
        let reason = format!(
            "a database can have at most {MAX_VIEWS} design documents with views: delete one of {}",
            self.database
        );
        Err(RefusalKind::Forbidden.with_reason(reason).into())
    }

    /// A page of rows of a view, whichever change they follow.
    pub async fn rows(
        &self,
        stored: &StoredViews,
        view: u32,
        range: PositionRange,
        limit: RowLimit,
    ) -> Result<Option<ViewPage>, DocumentsError> {
        let state = ViewState { views: stored.id, view, reached: None };
        Ok(self.databases.view_rows(&self.database, state, range, limit).await?)
    }

    /// All rows of each of the first of several ranges, of as many as fit into the limit, whichever change they follow.
    pub async fn ranges(
        &self,
        stored: &StoredViews,
        view: u32,
        ranges: Vec<PositionRange>,
        limit: RangesLimit,
    ) -> Result<Option<ViewRanges>, DocumentsError> {
        let state = ViewState { views: stored.id, view, reached: None };
        Ok(self.databases.view_ranges(&self.database, state, ranges, limit).await?)
    }

    /// Drops the rows of versions that no design document of the database has.
    pub async fn drop_unused(&self) -> Result<(), DocumentsError> {
        drop_unused_views(&*self.databases, &self.database).await
    }

    fn state(&self, stored: &StoredViews, view: u32) -> ViewState {
        ViewState { views: stored.id, view, reached: Some(stored.reached) }
    }

    /// The reduction of a view.
    pub fn reduction(&self, view: u32) -> Option<&Reduction> {
        self.definition.views.get(view as usize)?.reduction.as_ref()
    }
}

/// Drops stored rows of views that no design document of a database has.
pub async fn drop_unused_views(
    databases: &dyn Databases,
    database: &DatabaseName,
) -> Result<(), DocumentsError> {
    let mut used = BTreeSet::new();
    designs::for_each(databases, database, |_, body| {
        if let Ok(defined) = DesignViews::read(Node::root(body)) {
            used.insert(ViewsSignature(defined.signature()));
        }
    })
    .await?;
    let used: Vec<_> = used.into_iter().collect();
    Ok(databases.drop_views(database, &used).await?)
}

fn interrupted() -> DocumentsError {
    RefusalKind::Unavailable.with_reason("the view changes too often; try again later").into()
}
