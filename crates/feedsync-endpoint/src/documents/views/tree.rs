//! The number and reduction of the rows in a range, computed from nodes.
//!
//! Of each level, the nodes that are completely in the range are used. What the first and the last one leave is computed
//! from nodes of the level below, and at last from rows. So the work follows the logarithm of the number of rows, apart from
//! nodes whose content was not computed since their rows changed.

use std::collections::VecDeque;
use std::pin::Pin;

use feedsync_couch::view::PositionRange;
use feedsync_store::{
    MAX_ROW_LEVEL, NodeContent, RowLimit, StoredViews, ViewNode, ViewRow, ViewState,
};

use super::{Interruption, MAX_ATTEMPTS, Views, interrupted};
use crate::documents::DocumentsError;

/// Number of rows per read, and of bytes of their keys and values.
const ROWS: usize = 1_000;
const ROW_BYTES: u64 = 2 << 20;

/// Number of nodes per read.
const NODES: usize = 500;

/// Number of computed contents that are stored at once.
const STORED_NODES: usize = 500;

type Computed<'a> = Pin<Box<dyn Future<Output = Result<(), Interruption>> + Send + 'a>>;

impl Views {
    /// The number and reduction of the rows in a range. If they follow another change by now, that of `stored` becomes it.
    pub async fn content(
        &self,
        stored: &mut StoredViews,
        view: u32,
        range: &PositionRange,
    ) -> Result<NodeContent, DocumentsError> {
        for _ in 0..MAX_ATTEMPTS {
            let mut tree = Tree::new(self, self.state(stored, view));
            match tree.content(range.clone()).await {
                Ok(content) => return Ok(content),
                Err(Interruption::Failed(error)) => return Err(error),
                Err(Interruption::Moved) => *stored = self.stored().await?,
            }
        }
        Err(interrupted())
    }
}

/// A view in one state.
pub(super) struct Tree<'v> {
    views: &'v Views,
    state: ViewState,
    /// End of the range.
    end: Vec<u8>,
    /// Whether the content of a node is being computed.
    is_computing: bool,
    ahead: Ahead,
    /// Contents that were computed and not stored yet, with the level and position of their nodes.
    computed: [Vec<(Vec<u8>, NodeContent)>; MAX_ROW_LEVEL as usize],
}

/// Rows that were read and not used yet.
#[derive(Default)]
struct Ahead {
    rows: VecDeque<ViewRow>,
    /// The range of which these are all rows.
    from: Vec<u8>,
    to: Vec<u8>,
}

impl<'v> Tree<'v> {
    pub(super) fn new(views: &'v Views, state: ViewState) -> Self {
        Self {
            views,
            state,
            end: Vec::new(),
            is_computing: false,
            ahead: Ahead::default(),
            computed: Default::default(),
        }
    }

    /// The number and reduction of the rows in a range. There is no reduction without rows.
    pub(super) async fn content(
        &mut self,
        range: PositionRange,
    ) -> Result<NodeContent, Interruption> {
        self.end.clone_from(&range.to);
        let mut parts = Vec::new();
        self.collect(MAX_ROW_LEVEL, range, &mut parts).await?;
        for level in 1..=MAX_ROW_LEVEL {
            self.store(level).await?;
        }
        self.combine(parts).await
    }

    /// Appends the contents of the parts of a range, computed from nodes of this level and below.
    fn collect<'a>(
        &'a mut self,
        level: u8,
        range: PositionRange,
        parts: &'a mut Vec<NodeContent>,
    ) -> Computed<'a> {
        Box::pin(async move {
            match level {
                0 => self.collect_rows(range, parts).await,
                _ => self.collect_nodes(level, range, parts).await,
            }
        })
    }

    async fn collect_nodes(
        &mut self,
        level: u8,
        range: PositionRange,
        parts: &mut Vec<NodeContent>,
    ) -> Result<(), Interruption> {
        let PositionRange { from, to } = range;
        let (mut next, mut last): (Vec<u8>, Option<ViewNode>) = (from.clone(), None);
        loop {
            let nodes = self.nodes(level, PositionRange { from: next, to: to.clone() }).await?;
            let is_end = nodes.len() < NODES;
            for node in nodes {
                let begin = match last.take() {
                    Some(before) => {
                        self.collect_node(level, before, node.position.clone(), parts).await?;
                        None
                    }
                    None => Some(from.clone()).filter(|from| *from < node.position),
                };
                if let Some(from) = begin {
                    let range = PositionRange { from, to: node.position.clone() };
                    self.collect(level - 1, range, parts).await?;
                }
                last = Some(node);
            }
            match &last {
                Some(node) if !is_end => next = after(&node.position),
                _ => break,
            }
        }
        match last {
            None => self.collect(level - 1, PositionRange { from, to }, parts).await,
            Some(node) if to == PositionRange::all().to => {
                self.collect_node(level, node, to, parts).await
            }
            // The node may extend beyond the range.
            Some(node) => {
                self.collect(level - 1, PositionRange { from: node.position, to }, parts).await
            }
        }
    }

    /// Appends the content of a node that ends before a position.
    async fn collect_node(
        &mut self,
        level: u8,
        node: ViewNode,
        to: Vec<u8>,
        parts: &mut Vec<NodeContent>,
    ) -> Result<(), Interruption> {
        if let Some(content) = node.content {
            parts.push(content);
            return Ok(());
        }
        let mut of_node = Vec::new();
        let range = PositionRange { from: node.position.clone(), to };
        let is_within = std::mem::replace(&mut self.is_computing, true);
        self.collect(level - 1, range, &mut of_node).await?;
        self.is_computing = is_within;
        let content = self.combine(of_node).await?;
        let computed = &mut self.computed[usize::from(level - 1)];
        computed.push((node.position, content.clone()));
        if computed.len() >= STORED_NODES {
            self.store(level).await?;
        }
        parts.push(content);
        Ok(())
    }

    async fn collect_rows(
        &mut self,
        range: PositionRange,
        parts: &mut Vec<NodeContent>,
    ) -> Result<(), Interruption> {
        let PositionRange { mut from, to } = range;
        while from < to {
            let (rows, reached) = self.rows(from, &to).await?;
            from = reached;
            if !rows.is_empty() {
                let reduced = self.views.reduce(self.state.view, &[&rows]).await?;
                let reduction = reduced.into_iter().next().flatten();
                parts.push(NodeContent { rows: rows.len() as u64, reduction });
            }
        }
        Ok(())
    }

    /// The first rows of a range, and the position up to which these are all.
    async fn rows(
        &mut self,
        from: Vec<u8>,
        to: &[u8],
    ) -> Result<(Vec<ViewRow>, Vec<u8>), Interruption> {
        let ahead = &mut self.ahead;
        if from < ahead.from || from >= ahead.to {
            // Nodes that follow each other often lack their contents together, so their rows are read together.
            let to = if self.is_computing { self.end.clone() } else { to.to_vec() };
            let range = PositionRange { from: from.clone(), to: to.clone() };
            let limit =
                RowLimit { is_descending: false, skip: 0, most: ROWS, most_bytes: ROW_BYTES };
            let databases = &self.views.databases;
            let page = databases.view_rows(&self.views.database, self.state, range, limit).await?;
            let rows = page.ok_or(Interruption::Moved)?.rows;
            let end = rows.last().map_or(to, |row| after(&row.position));
            *ahead = Ahead { rows: rows.into(), from: from.clone(), to: end };
        }
        let reached = ahead.to.as_slice().min(to).to_vec();
        // Rows of nodes whose contents were stored are not needed.
        while ahead.rows.front().is_some_and(|row| row.position < from) {
            ahead.rows.pop_front();
        }
        let mut rows = Vec::new();
        while ahead.rows.front().is_some_and(|row| row.position < reached) {
            rows.extend(ahead.rows.pop_front());
        }
        ahead.from.clone_from(&reached);
        Ok((rows, reached))
    }

    async fn nodes(&self, level: u8, range: PositionRange) -> Result<Vec<ViewNode>, Interruption> {
        let (databases, name) = (&self.views.databases, &self.views.database);
        let nodes = databases.view_nodes(name, self.state, level, range, NODES).await?;
        nodes.ok_or(Interruption::Moved)
    }

    /// Stores the computed contents of a level.
    async fn store(&mut self, level: u8) -> Result<(), Interruption> {
        let computed = std::mem::take(&mut self.computed[usize::from(level - 1)]);
        if computed.is_empty() {
            return Ok(());
        }
        let (databases, name) = (&self.views.databases, &self.views.database);
        match databases.put_view_nodes(name, self.state, level, computed).await? {
            true => Ok(()),
            false => Err(Interruption::Moved),
        }
    }

    async fn combine(&self, parts: Vec<NodeContent>) -> Result<NodeContent, Interruption> {
        let rows = parts.iter().map(|part| part.rows).sum();
        let reductions = parts.into_iter().filter_map(|part| part.reduction).collect();
        let reduction = self.views.reduce_again(self.state.view, reductions).await?;
        Ok(NodeContent { rows, reduction })
    }
}

/// The next position.
fn after(position: &[u8]) -> Vec<u8> {
    let mut next = position.to_vec();
    next.push(0);
    next
}
