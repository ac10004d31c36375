//! The history of an item as a graph: a lane for each authoring line, the newest update on top, and
//! each update connected to its predecessors.

use std::fmt::Write as _;

use feedsync_core::{By, History, Item, Payload, Update};

/// Maximum number of updates in the graph; a history may be much longer.
const MAX_ROWS: usize = 60;

/// Maximum number of versions in the graph, and of updates that are read of each, since both come
/// from other endpoints.
const MAX_VERSIONS: usize = 12;
const MAX_UPDATES: usize = 400;

/// Pixels between rows, as in the style sheet, and between lanes.
const ROW: usize = 28;
const LANE: usize = 18;

/// One update.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) sequence: u32,
    pub(super) when: Option<String>,
    pub(super) by: Option<String>,
    /// Version that it made, if that is a current one: winner, conflict 1, ...
    pub(super) version: Option<String>,
}

/// A history for display.
pub(super) struct Graph {
    /// An `svg` element that contains only numbers and class names, no untrusted text.
    pub(super) drawing: String,
    pub(super) rows: Vec<Row>,
    /// Whether older updates or more conflicts were left out.
    pub(super) cut: bool,
}

impl Graph {
    /// Combined histories of all versions of an item.
    pub(super) fn of(item: &Item<Payload>) -> Self {
        let ranked = item.ranked_conflicts();
        let histories: Vec<_> = std::iter::once(&item.winner)
            .chain(ranked.iter().map(|(_, version)| *version))
            .map(|version| &version.history)
            .take(MAX_VERSIONS)
            .collect();
        let mut updates = ordered(&histories);
        let cut = updates.len() > MAX_ROWS || ranked.len() >= MAX_VERSIONS;
        updates.truncate(MAX_ROWS);
        let row = |update: &&Update| Row {
            sequence: update.sequence().get(),
            when: update.when().map(|when| when.to_string()),
            by: update.by().map(|by| by.as_str().to_owned()),
            version: histories.iter().position(|history| history.topmost().is_same(update)).map(
                |place| match place {
                    0 => "winner".to_owned(),
                    place => format!("conflict {place}"),
                },
            ),
        };
        let rows = updates.iter().map(row).collect();
        Self { drawing: drawing(&histories, &updates), rows, cut }
    }
}

/// All updates of the histories, each once, each after its successors; newest first among unordered
/// ones, or where the histories contradict each other.
fn ordered<'h>(histories: &[&'h History]) -> Vec<&'h Update> {
    let shown = |history: &&'h History| {
        let updates = history.updates();
        &updates[..updates.len().min(MAX_UPDATES)]
    };
    let mut rests: Vec<&'h [Update]> = histories.iter().map(shown).collect();
    let mut updates: Vec<&'h Update> = Vec::new();
    while updates.len() <= MAX_ROWS {
        let heads = || rests.iter().filter_map(|rest| rest.first());
        let ready = |update: &&Update| {
            !rests.iter().any(|rest| rest.iter().skip(1).any(|later| later.is_same(update)))
        };
        let newest = |update: &&Update| (update.when(), update.sequence());
        let next = heads().filter(ready).max_by_key(newest).or_else(|| heads().max_by_key(newest));
        let Some(next) = next else { return updates };
        if !updates.iter().any(|update| update.is_same(next)) {
            updates.push(next);
        }
        for rest in &mut rests {
            if rest.first().is_some_and(|head| head.is_same(next)) {
                *rest = &rest[1..];
            }
        }
    }
    updates
}

fn drawing(histories: &[&History], updates: &[&Update]) -> String {
    let mut lanes: Vec<Option<&By>> = Vec::new();
    for update in updates {
        if !lanes.contains(&update.by()) {
            lanes.push(update.by());
        }
    }
    let place = |update: &Update| {
        let row = updates.iter().position(|known| known.is_same(update))?;
        let lane = lanes.iter().position(|by| *by == update.by())?;
        Some((row, lane))
    };
    let (width, height) = (lanes.len() * LANE, updates.len() * ROW);
    let mut svg = format!(
        "<svg class=\"graph\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
         aria-hidden=\"true\" focusable=\"false\">"
    );
    let mut joined: Vec<(usize, usize)> = Vec::new();
    for history in histories {
        let places: Vec<_> = history.updates().iter().take(MAX_UPDATES).filter_map(place).collect();
        for pair in places.windows(2) {
            let ((from, from_lane), (to, to_lane)) = (pair[0], pair[1]);
            if from < to && !joined.contains(&(from, to)) {
                joined.push((from, to));
                let _ = write!(svg, "{}", line(from, from_lane, to, to_lane));
            }
        }
    }
    for (row, update) in updates.iter().enumerate() {
        let lane = place(update).map_or(0, |(_, lane)| lane);
        let (x, y) = (x(lane), y(row));
        let _ = write!(svg, "<circle class=\"lane{}\" cx=\"{x}\" cy=\"{y}\" r=\"5\"/>", lane % 6);
    }
    svg.push_str("</svg>");
    svg
}

/// Path from an update to the one below: straight within a lane, else in its own lane down to the
/// last row before it.
fn line(from: usize, from_lane: usize, to: usize, to_lane: usize) -> String {
    let (x1, y1, x2, y2) = (x(from_lane), y(from), x(to_lane), y(to));
    let (bend, half) = (y2 - ROW, y2 - ROW / 2);
    let class = from_lane.max(to_lane) % 6;
    format!(
        "<path class=\"lane{class}\" d=\"M{x1} {y1}L{x1} {bend}C{x1} {half} {x2} {half} {x2} {y2}\"/>"
    )
}

const fn x(lane: usize) -> usize {
    lane * LANE + LANE / 2
}

const fn y(row: usize) -> usize {
    row * ROW + ROW / 2
}

#[cfg(test)]
mod tests {
    use feedsync_core::{Format, ItemId, Sequence, Timestamp, Updates, Version};

    use super::*;

    fn version(updates: &[(u32, &str)]) -> Version<Payload> {
        let update = |&(sequence, by): &(u32, &str)| {
            let when = Timestamp::from_unix_seconds(1_000_000 + i64::from(sequence)).unwrap();
            Update::signed(Sequence::new(sequence).unwrap(), when, By::new(by).unwrap())
        };
        Version {
            updates: Updates::new(updates.len() as u32).unwrap(),
            deleted: false,
            noconflicts: None,
            history: History::from_updates(updates.iter().map(update).collect()).unwrap(),
            payload: Payload::from_parsed(Format::Atom, "<entry/>"),
        }
    }

    fn graph(versions: &[&[(u32, &str)]]) -> Graph {
        let mut versions: Vec<_> = versions.iter().map(|updates| version(updates)).collect();
        let winner = versions.remove(0);
        Graph::of(&Item { id: ItemId::new("a").unwrap(), winner, conflicts: versions })
    }

    #[test]
    fn every_update_has_one_row_and_every_line_of_edits_one_lane() {
        let graph = graph(&[&[(3, "a"), (2, "a"), (1, "a")], &[(2, "b"), (1, "a")]]);
        let rows: Vec<_> = graph
            .rows
            .iter()
            .map(|row| (row.sequence, row.by.as_deref().unwrap(), row.version.as_deref()))
            .collect();
        assert_eq!(rows.len(), 4);
        assert_eq!(rows[0], (3, "a", Some("winner")));
        assert!(rows.contains(&(2, "b", Some("conflict 1"))));
        assert_eq!(rows[3], (1, "a", None));
        assert_eq!(graph.drawing.matches("<circle").count(), 4);
        assert_eq!(graph.drawing.matches("<path").count(), 3);
        assert!(graph.drawing.contains(&format!("width=\"{}\"", 2 * LANE)));
        assert!(!graph.cut);
    }

    #[test]
    fn a_long_history_is_cut_and_contradictions_end() {
        let updates: Vec<_> = (1..=500).rev().map(|sequence| (sequence, "a")).collect();
        let long = graph(&[&updates]);
        assert_eq!((long.rows.len(), long.cut), (MAX_ROWS, true));
        let odd = graph(&[&[(2, "a"), (1, "b")], &[(1, "b"), (2, "a")]]);
        assert_eq!(odd.rows.len(), 2);
    }
}
