//! History of an item as a graph: one column for each version, with the newest update on top. Columns join
//! where the versions have an update in common.
//!
//! ```text
//! *    3  2026-11-20T10:05:00Z  laptop.4f2k  winner
//! | *  2  2026-11-20T10:04:00Z  phone.9x1c   conflict 1
//! |/
//! *    1  2026-11-20T10:00:00Z  laptop.4f2k
//! ```

use feedsync_core::{History, Update};

/// One row of the graph.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Row<'h> {
    /// Drawing of the row; all rows have the same width.
    pub(crate) drawing: String,
    /// Update in this row; `None` for a row that only joins columns.
    pub(crate) update: Option<&'h Update>,
    /// Index of the version whose topmost update this is.
    pub(crate) version: Option<usize>,
}

/// Returns the graph of the histories of an item's versions, of which the winner's is the first.
pub(crate) fn rows<'h>(histories: &[&'h History]) -> Vec<Row<'h>> {
    let mut columns: Vec<Column<'h>> = histories
        .iter()
        .map(|history| Column { updates: history.updates(), begun: false })
        .collect();
    let mut rows = Vec::new();
    while let Some(update) = next(&columns) {
        let here: Vec<_> =
            (0..columns.len()).filter(|&place| columns[place].next() == Some(update)).collect();
        let first = here[0];
        for &place in here[1..].iter().rev() {
            if columns[place].begun {
                rows.push(Row {
                    drawing: joint(&columns, first, place),
                    update: None,
                    version: None,
                });
            }
            columns[place].updates = &[];
        }
        let version = (!columns[first].begun).then_some(first);
        columns[first].begun = true;
        let drawing = draw(&columns, |place| if place == first { '*' } else { '|' });
        rows.push(Row { drawing, update: Some(update), version });
        columns[first].updates = &columns[first].updates[1..];
    }
    rows
}

struct Column<'h> {
    /// Updates that are not drawn yet, newest first.
    updates: &'h [Update],
    /// Whether the first update of the column is drawn.
    begun: bool,
}

impl<'h> Column<'h> {
    fn next(&self) -> Option<&'h Update> {
        self.updates.first()
    }
}

/// Returns the newest update that no column has further down. If the columns contradict each other, returns
/// the newest of all.
fn next<'h>(columns: &[Column<'h>]) -> Option<&'h Update> {
    let heads = || columns.iter().filter_map(Column::next);
    let ready = |update: &&Update| {
        columns.iter().all(|column| !column.updates.iter().skip(1).any(|later| later == *update))
    };
    let newest = |update: &&Update| (update.when(), update.sequence());
    heads().filter(ready).max_by_key(newest).or_else(|| heads().max_by_key(newest))
}

fn draw(columns: &[Column<'_>], mark: impl Fn(usize) -> char) -> String {
    let mut drawing = String::new();
    for (place, column) in columns.iter().enumerate() {
        let open = column.begun && !column.updates.is_empty();
        drawing.push(if open { mark(place) } else { ' ' });
        drawing.push(' ');
    }
    drawing
}

/// Draws a row in which one column joins another on its left.
fn joint(columns: &[Column<'_>], to: usize, from: usize) -> String {
    let mut drawing: Vec<char> =
        draw(columns, |place| if place == from { ' ' } else { '|' }).chars().collect();
    for mark in &mut drawing[2 * to + 1..2 * from - 1] {
        if *mark == ' ' {
            *mark = '_';
        }
    }
    drawing[2 * from - 1] = '/';
    drawing.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use feedsync_core::{By, Sequence, Timestamp};

    use super::*;

    fn history(updates: &[(u32, &str)]) -> History {
        let update = |&(sequence, by): &(u32, &str)| {
            let when = Timestamp::from_unix_seconds(1_000_000 + i64::from(sequence)).unwrap();
            Update::signed(Sequence::new(sequence).unwrap(), when, By::new(by).unwrap())
        };
        History::from_updates(updates.iter().map(update).collect()).unwrap()
    }

    fn drawn(histories: &[History]) -> String {
        let histories: Vec<_> = histories.iter().collect();
        let text = |row: &Row<'_>| match row.update {
            Some(update) => {
                let version = row.version.map(|version| format!(" v{version}")).unwrap_or_default();
                format!("{}{}{version}\n", row.drawing, update.sequence().get())
            }
            None => format!("{}\n", row.drawing.trim_end()),
        };
        rows(&histories).iter().map(text).collect()
    }

    #[test]
    fn one_version_is_a_line() {
        assert_eq!(drawn(&[history(&[(2, "a"), (1, "a")])]), "* 2 v0\n* 1\n");
    }

    #[test]
    fn two_versions_part_where_their_edits_did() {
        let histories = [history(&[(3, "a"), (2, "a"), (1, "a")]), history(&[(2, "b"), (1, "a")])];
        assert_eq!(drawn(&histories), "*   3 v0\n| * 2 v1\n* | 2\n|/\n*   1\n");
    }

    #[test]
    fn a_column_joins_across_others() {
        let histories = [
            history(&[(5, "a"), (1, "a")]),
            history(&[(4, "b"), (2, "b")]),
            history(&[(3, "c"), (1, "a")]),
        ];
        let expected = "*     5 v0\n| *   4 v1\n| | * 3 v2\n| * | 2\n|__/\n*     1\n";
        assert_eq!(drawn(&histories), expected);
    }

    #[test]
    fn histories_that_contradict_each_other_still_end() {
        let histories = [history(&[(2, "a"), (1, "b")]), history(&[(1, "b"), (2, "a")])];
        assert_eq!(drawn(&histories).lines().count(), 2);
    }
}
