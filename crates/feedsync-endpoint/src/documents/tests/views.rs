//! Views: they equal map and reduce over all documents, after any writes.

mod limits;

use std::cmp::Ordering;
use std::sync::Mutex;

use feedsync_couch::collation::compare;
use feedsync_couch::view::{GroupLevel, PositionRange};
use feedsync_formats::json::Node;
use feedsync_store::{NodeContent, RowLimit, StoredViews, ViewRow};

use super::super::functions::{Call, CallError, DesignFunctions, DesignSource, ReduceList};
use super::super::views::{Group, GroupCursor, Views};
use super::super::{leaves, purge_documents};
use super::*;

/// A design document with three views of the same rows. The last one collects values, so that the order in which rows are
/// reduced is seen.
const DESIGN: &str = r#"{"views":{
    "collected":{"map":"rows","reduce":"collect"},
    "plain":{"map":"rows"},
    "summed":{"map":"rows","reduce":"_sum"}
}}"#;
const COLLECTED: u32 = 0;
const PLAIN: u32 = 1;
const SUMMED: u32 = 2;

/// Stands for the engine: the rows of a document are its member `rows`. Calls with more documents than a limit fail.
#[derive(Default)]
struct Engine {
    most: Option<usize>,
    skipped: Mutex<Vec<String>>,
    mapped: Mutex<Vec<String>>,
}

#[async_trait::async_trait]
impl DesignFunctions for Engine {
    async fn call(&self, design: &DesignSource, call: &Call<'_>) -> Result<String, CallError> {
        match call {
            Call::Map { documents } => {
                if self.most.is_some_and(|most| documents.len() > most) {
                    return Err(CallError::OutputLimit);
                }
                let rows = |document: &&str| {
                    let document = Node::root(document);
                    let id = document.member("_id").unwrap().value.string().unwrap();
                    self.mapped.lock().unwrap().push(id.into());
                    let rows = document.member("rows").map_or("[]", |rows| rows.value.raw());
                    match rows {
                        "\"endless\"" => return Err(CallError::TimeLimit),
                        "\"fault\"" => return Err(CallError::Compilation("fault".to_owned())),
                        _ => {}
                    }
                    let views = Node::root(&design.source).member("views").unwrap().value;
                    Ok(format!("[{}]", vec![rows; views.members().count()].join(",")))
                };
                let rows = documents.iter().map(rows).collect::<Result<Vec<_>, _>>()?;
                Ok(format!("[{}]", rows.join(",")))
            }
            Call::Reduce { view, lists, is_again } => {
                assert_eq!(*view, "collected");
                let collected = |list: &ReduceList| {
                    assert_eq!(*is_again, list.keys == "null");
                    collect(Node::root(&list.values).elements().map(Node::raw))
                };
                let lists: Vec<String> = lists.iter().map(collected).collect();
                Ok(format!("[{}]", lists.join(",")))
            }
            other => unreachable!("{other:?}"),
        }
    }

    fn report_skipped(&self, design: &DesignSource, document: &DocumentId, _: &CallError) {
        self.skipped.lock().unwrap().push(format!("{} {document}", design.id));
    }
}

/// The values without their brackets and quotes, as one string: associative, and sensitive to the order.
fn collect<'a>(values: impl Iterator<Item = &'a str>) -> String {
    let digits: String = values.map(|value| value.trim_matches('"')).collect();
    // Long texts are cut off in the middle, so that reductions do not grow.
    format!("\"{}\"", &digits[digits.len().saturating_sub(60)..])
}

fn views_of(room: &Room) -> Views {
    let id = "_design/d".parse().unwrap();
    room.endpoint.views(&room.name, id, Node::root(DESIGN)).unwrap().unwrap()
}

fn with(engine: Engine) -> (Room, Arc<Engine>) {
    let (room, engine) = (Room::new(), Arc::new(engine));
    let endpoint = room.endpoint.clone().with_functions(Arc::clone(&engine) as _);
    (Room { endpoint, ..room }, engine)
}

/// All rows that the documents give, in the order of a view: key, id and value.
fn expected(room: &Room) -> Vec<(String, String, String)> {
    let range = feedsync_store::DocumentRange {
        from: std::ops::Bound::Unbounded,
        to: std::ops::Bound::Unbounded,
        is_descending: false,
        live_only: true,
        skip: 0,
        most: 10_000,
    };
    let page = room.databases.documents_by_id(&room.name, range, leaves::winner(), u64::MAX);
    let mut rows = Vec::new();
    for read in wait(page).unwrap().documents.into_iter().flatten() {
        let body = read.bodies.values().next().unwrap();
        let Some(of_document) = Node::root(&body.text).member("rows") else { continue };
        for row in of_document.value.elements() {
            let row: Vec<&str> = row.elements().map(Node::raw).collect();
            rows.push((row[0].to_owned(), read.document.id.to_string(), row[1].to_owned()));
        }
    }
    rows.sort_by(|one, other| {
        order(&one.0, &other.0)
            .then_with(|| one.1.cmp(&other.1))
            .then_with(|| order(&one.2, &other.2))
    });
    rows
}

fn order(one: &str, other: &str) -> Ordering {
    compare(Node::root(one), Node::root(other))
}

fn all_rows(views: &Views, stored: &StoredViews, view: u32, range: &PositionRange) -> Vec<ViewRow> {
    let limit = RowLimit { is_descending: false, skip: 0, most: 100_000, most_bytes: u64::MAX };
    wait(views.rows(stored, view, range.clone(), limit)).unwrap().unwrap().rows
}

fn sum<'a>(rows: impl IntoIterator<Item = &'a (String, String, String)>) -> i64 {
    rows.into_iter().map(|(_, _, value)| value.parse::<i64>().unwrap()).sum()
}

fn collected<'a>(rows: impl IntoIterator<Item = &'a (String, String, String)>) -> String {
    collect(rows.into_iter().map(|(_, _, value)| value.as_str()))
}

/// All groups of a view, read few at a time.
fn groups(
    views: &Views,
    stored: &mut StoredViews,
    view: u32,
    mut cursor: GroupCursor,
) -> Vec<Group> {
    let (mut all, mut most) = (Vec::new(), 1);
    while cursor.has_more {
        all.extend(wait(views.groups(stored, view, &mut cursor, most)).unwrap());
        most *= 2;
    }
    all
}

/// Compares everything that a view tells with all documents.
fn check(room: &Room, views: &Views, cuts: &[u8]) -> Result<(), TestCaseError> {
    let mut stored = wait(views.update()).unwrap();
    let expected = expected(room);
    prop_assert_eq!(&stored.rows, &[expected.len() as u64; 3]);
    for view in [COLLECTED, PLAIN, SUMMED] {
        let rows = all_rows(views, &stored, view, &PositionRange::all());
        let seen: Vec<_> = rows
            .iter()
            .map(|row| (row.key.clone(), row.document.to_string(), row.value.clone()))
            .collect();
        prop_assert_eq!(&seen, &expected);
        // Ranges between any two rows, and to the end.
        let at = |cut: u8| usize::from(cut) * rows.len() / 256;
        for (begin, end) in
            cuts.iter().zip(cuts.iter().skip(1)).map(|(one, other)| (at(*one), at(*other)))
        {
            let (begin, end) = (begin.min(end), begin.max(end));
            let position = |at: usize| rows.get(at).map(|row| row.position.clone());
            let Some(from) = position(begin) else { continue };
            for (to, end) in [(position(end).unwrap(), end), (vec![0xff], rows.len())] {
                let range = PositionRange { from: from.clone(), to };
                let content = wait(views.content(&mut stored, view, &range)).unwrap();
                let of_range = &expected[begin..end];
                let reduction = match view {
                    _ if of_range.is_empty() || view == PLAIN => None,
                    SUMMED => Some(sum(of_range).to_string()),
                    _ => Some(collected(of_range)),
                };
                prop_assert_eq!(content, NodeContent { rows: of_range.len() as u64, reduction });
            }
        }
        if view != PLAIN {
            check_groups(views, &mut stored, view, &expected)?;
        }
    }
    Ok(())
}

fn check_groups(
    views: &Views,
    stored: &mut StoredViews,
    view: u32,
    rows: &[(String, String, String)],
) -> Result<(), TestCaseError> {
    for level in [GroupLevel::Exact, GroupLevel::Elements(1), GroupLevel::Elements(2)] {
        let mut expected: Vec<Group> = Vec::new();
        let mut left = rows;
        while let [first, ..] = left {
            let key = level.group_key(&first.0);
            let is_same =
                |row: &(String, String, String)| order(&level.group_key(&row.0), &key).is_eq();
            let count = left.iter().take_while(|row| is_same(row)).count();
            let (group, rest) = left.split_at(count);
            let value = if view == SUMMED { sum(group).to_string() } else { collected(group) };
            expected.push(Group { key, value });
            left = rest;
        }
        for is_descending in [false, true] {
            let cursor = GroupCursor::new(PositionRange::all(), level, is_descending, 1);
            let seen = groups(views, stored, view, cursor);
            if is_descending {
                expected.reverse();
            }
            // Equal keys may be written in several ways.
            let shown = |group: &Group| {
                (feedsync_couch::collation::key(Node::root(&group.key)), group.value.clone())
            };
            let expected: Vec<_> = expected.iter().skip(1).map(shown).collect();
            prop_assert_eq!(seen.iter().map(shown).collect::<Vec<_>>(), expected);
        }
    }
    Ok(())
}

#[derive(Debug, Clone)]
enum Act {
    /// Writes a document with rows. A conflicting revision may win or lose.
    Write {
        document: u8,
        rows: Vec<(u8, u8)>,
        is_conflict: bool,
    },
    Delete(u8),
    Purge(u8),
    /// Reads everything, with ranges between these places.
    Check(Vec<u8>),
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let rows = prop_oneof![
        3 => proptest::collection::vec(any::<(u8, u8)>(), 0..6),
        2 => proptest::collection::vec(any::<(u8, u8)>(), 100..200),
    ];
    let write = (0..9_u8, rows, proptest::bool::weighted(0.2));
    let act = prop_oneof![
        6 => write.prop_map(|(document, rows, is_conflict)| Act::Write { document, rows, is_conflict }),
        1 => (0..9_u8).prop_map(Act::Delete),
        1 => (0..9_u8).prop_map(Act::Purge),
        2 => proptest::collection::vec(any::<u8>(), 4).prop_map(Act::Check),
    ];
    proptest::collection::vec(act, 1..16)
}

/// The key of a number: of several kinds, with few different first elements.
fn key(number: u8) -> String {
    match number {
        0..20 => "null".to_owned(),
        20..60 => format!("{}", number / 8),
        60..100 => format!("\"k{}\"", number / 8),
        _ => format!("[{},\"{}\",{}]", number % 3, number % 5, number % 7),
    }
}

impl Room {
    fn revisions(&self, id: &DocumentId) -> Vec<Revision> {
        let all = Box::new(|_: &StoredDocument| Vec::new());
        let page = self.databases.documents(&self.name, std::slice::from_ref(id), all, u64::MAX);
        let read = wait(page).unwrap().documents.pop().flatten();
        let leaves = |read: &LoadedDocument| {
            read.document.tree.leaves().into_iter().map(|leaf| leaf.revision.clone()).collect()
        };
        read.as_ref().map(leaves).unwrap_or_default()
    }

    fn carry_out(&self, act: &Act, number: usize) {
        let id = |document: u8| -> DocumentId { format!("doc{document}").parse().unwrap() };
        match act {
            Act::Write { document, rows, is_conflict } => {
                let id = id(*document);
                let rows: Vec<String> =
                    rows.iter().map(|(at, value)| format!("[{},{value}]", key(*at))).collect();
                let rows = rows.join(",");
                let current = self.revisions(&id);
                let (revision, edits) = match (is_conflict, current.first()) {
                    (true, _) => (format!("\"_rev\":\"1-{number:032x}\","), Edits::Replicated),
                    (false, Some(current)) => (format!("\"_rev\":\"{current}\","), Edits::New),
                    (false, None) => (String::new(), Edits::New),
                };
                let text = format!("{{\"_id\":\"{id}\",{revision}\"rows\":[{rows}]}}");
                self.write(&[&text], edits).unwrap();
            }
            Act::Delete(document) => {
                let id = id(*document);
                if let Some(current) = self.revisions(&id).first() {
                    let text =
                        format!("{{\"_id\":\"{id}\",\"_rev\":\"{current}\",\"_deleted\":true}}");
                    self.write(&[&text], Edits::New).unwrap();
                }
            }
            Act::Purge(document) => {
                let id = id(*document);
                let database = wait(self.databases.database(&self.name)).unwrap().unwrap();
                let named = BTreeMap::from([(id.clone(), self.revisions(&id))]);
                wait(purge_documents(&*self.databases, &database, named)).unwrap();
            }
            Act::Check(_) => {}
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    /// After any writes, deletions, conflicts and purges, rows, counts, reductions and groups are those of all documents.
    #[test]
    fn a_view_equals_map_and_reduce_over_all_documents(acts in acts()) {
        let (room, _) = with(Engine::default());
        let views = views_of(&room);
        for (number, act) in acts.iter().enumerate() {
            room.carry_out(act, number);
            if let Act::Check(cuts) = act {
                check(&room, &views, cuts)?;
            }
        }
        check(&room, &views, &[0, 3, 100, 255, 130])?;
    }
}

/// Nodes of several levels, of which some lose their contents by writes.
#[test]
fn large_views_are_reduced_by_their_nodes() {
    let (room, engine) = with(Engine::default());
    let views = views_of(&room);
    let document = |number: usize, shift: usize| {
        let rows = (0..100)
            .map(|at| format!("[[{},{}],{}]", (at + shift) % 4, number * 100 + at, at % 10));
        format!("\"rows\":[{}]", rows.collect::<Vec<_>>().join(","))
    };
    let documents: Vec<String> = (0..250)
        .map(|number| format!("{{\"_id\":\"{number:03}\",{}}}", document(number, 0)))
        .collect();
    for some in documents.chunks(50) {
        let some: Vec<&str> = some.iter().map(String::as_str).collect();
        room.write(&some, Edits::New).unwrap();
    }
    check(&room, &views, &[0, 7, 200, 255]).unwrap();
    assert_eq!(engine.mapped.lock().unwrap().len(), 250);
    for number in [3, 77, 249] {
        let id: DocumentId = format!("{number:03}").parse().unwrap();
        let current = room.revisions(&id).remove(0);
        let text = format!("{{\"_id\":\"{id}\",\"_rev\":\"{current}\",{}}}", document(number, 1));
        room.write(&[&text], Edits::New).unwrap();
        check(&room, &views, &[0, 31, 64, 255, 128]).unwrap();
    }
    // Only changed documents are mapped again.
    assert_eq!(engine.mapped.lock().unwrap()[250..], ["003", "077", "249"]);
}
