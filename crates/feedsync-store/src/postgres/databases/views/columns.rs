//! The columns of the changes of a view, to write them in few statements.

use super::nodes::FORGET;
use super::sets::StoredView;
use crate::database::ViewRow;
use crate::database::view_changes::{NodePlace, ViewChange};
use crate::postgres::databases::documents::Key;
use crate::postgres::pipeline::{Parameter, Pipeline};

/// Each row is looked up by its key, even if the server's statistics suggest otherwise. The lock of the set excludes
/// others who change the rows.
pub(super) const REMOVE_ROWS: &str = "
    DELETE FROM view_rows WHERE ctid = ANY(ARRAY(
      SELECT r.ctid FROM unnest($3::bytea[]) w (position),
             LATERAL (SELECT t.ctid FROM view_rows t
                       WHERE t.view_set = $1 AND t.view = $2 AND t.position = w.position LIMIT 1) r))";

pub(super) const REMOVE_NODES: &str = "
    DELETE FROM view_nodes WHERE ctid = ANY(ARRAY(
      SELECT n.ctid FROM unnest($3::bigint[], $4::bytea[]) w (level, position),
             LATERAL (SELECT t.ctid FROM view_nodes t
                       WHERE t.view_set = $1 AND t.view = $2 AND t.level = w.level
                         AND t.position = w.position LIMIT 1) n))";

const INSERT_ROWS: &str = "
    INSERT INTO view_rows (view_set, view, position, level, head, digest, rest, key, value)
    SELECT $1, $2, * FROM unnest($3::bytea[], $4::bigint[], $5::bytea[], $6::bytea[], $7::bytea[],
                                 $8::bytea[], $9::bytea[])";

const INSERT_NODES: &str = "
    INSERT INTO view_nodes (view_set, view, level, position)
    SELECT $1, $2, * FROM unnest($3::bigint[], $4::bytea[])";

const COUNT: &str = "UPDATE stored_views SET rows = $3 WHERE view_set = $1 AND view = $2";

/// Approximate number of bytes of rows that one statement writes.
const STATEMENT_BYTES: usize = 8 << 20;

/// The changes of a view.
pub(super) struct ViewColumns<'a> {
    view: &'a StoredView,
    removed: Vec<&'a [u8]>,
    removed_nodes: NodeColumns,
    added: Vec<AddedRows<'a>>,
    added_nodes: NodeColumns,
    forgotten: NodeColumns,
    count: i64,
}

#[derive(Default)]
struct NodeColumns {
    levels: Vec<i64>,
    positions: Vec<Vec<u8>>,
}

#[derive(Default)]
struct AddedRows<'a> {
    positions: Vec<&'a [u8]>,
    levels: Vec<i64>,
    heads: Vec<&'a [u8]>,
    digests: Vec<Vec<u8>>,
    rests: Vec<&'a [u8]>,
    keys: Vec<&'a [u8]>,
    values: Vec<&'a [u8]>,
    bytes: usize,
}

impl<'a> ViewColumns<'a> {
    pub(super) fn of(view: &'a StoredView, change: &'a ViewChange) -> Self {
        let mut added = vec![AddedRows::default()];
        for row in &change.added {
            if added.last().is_none_or(|rows| rows.bytes >= STATEMENT_BYTES) {
                added.push(AddedRows::default());
            }
            added.last_mut().into_iter().for_each(|rows| rows.push(row));
        }
        // Without any contents, as during the first build, there is nothing to look for.
        let forgotten = match view.has_contents {
            true => NodeColumns::of_bounds(change.bounds_of_forgotten()),
            false => NodeColumns::default(),
        };
        Self {
            view,
            removed: change.removed.iter().map(|row| &row.position[..]).collect(),
            removed_nodes: NodeColumns::of(change.removed_nodes()),
            added,
            added_nodes: NodeColumns::of(change.added_nodes()),
            forgotten,
            count: change.count(view.rows) as i64,
        }
    }

    pub(super) fn add_to<'b>(&'b self, pipeline: &mut Pipeline<'b>) {
        let (set, view) = (&self.view.set, &self.view.number);
        pipeline.add_for(self.removed.len(), REMOVE_ROWS, vec![set, view, &self.removed]);
        self.removed_nodes.add_to(pipeline, REMOVE_NODES, self.view);
        for rows in &self.added {
            rows.add_to(pipeline, self.view);
        }
        self.added_nodes.add_to(pipeline, INSERT_NODES, self.view);
        self.forgotten.add_to(pipeline, FORGET, self.view);
        pipeline.add(COUNT, vec![set, view, &self.count]);
    }
}

impl NodeColumns {
    fn of(nodes: Vec<NodePlace<'_>>) -> Self {
        let (levels, positions) = nodes
            .into_iter()
            .map(|(level, position)| (i64::from(level), position.to_vec()))
            .unzip();
        Self { levels, positions }
    }

    fn of_bounds(bounds: Vec<(u8, Vec<Vec<u8>>)>) -> Self {
        let mut columns = Self::default();
        for (level, positions) in bounds {
            columns.levels.extend(positions.iter().map(|_| i64::from(level)));
            columns.positions.extend(positions);
        }
        columns
    }

    fn add_to<'b>(&'b self, pipeline: &mut Pipeline<'b>, sql: &'static str, view: &'b StoredView) {
        let values: Vec<Parameter<'b>> =
            vec![&view.set, &view.number, &self.levels, &self.positions];
        pipeline.add_for(self.levels.len(), sql, values);
    }
}

impl<'a> AddedRows<'a> {
    fn push(&mut self, row: &'a ViewRow) {
        let Key { head, digest, rest } = Key::of(&row.document);
        let texts = [&row.position[..], head, rest, row.key.as_bytes(), row.value.as_bytes()];
        self.bytes += texts.iter().map(|text| text.len()).sum::<usize>();
        let [position, head, rest, key, value] = texts;
        self.positions.push(position);
        self.levels.push(i64::from(row.level));
        self.heads.push(head);
        self.digests.push(digest);
        self.rests.push(rest);
        self.keys.push(key);
        self.values.push(value);
    }

    fn add_to<'b>(&'b self, pipeline: &mut Pipeline<'b>, view: &'b StoredView) {
        let values: Vec<Parameter<'b>> = vec![
            &view.set,
            &view.number,
            &self.positions,
            &self.levels,
            &self.heads,
            &self.digests,
            &self.rests,
            &self.keys,
            &self.values,
        ];
        pipeline.add_for(self.levels.len(), INSERT_ROWS, values);
    }
}
