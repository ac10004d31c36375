//! Tests of query plans: the cost of a query follows its result, not the database. No query scans all
//! documents, or sorts more than those whose ids share a prefix.

use std::ops::Bound;
use std::sync::Arc;

use feedsync_couch::{Content, DocumentId, Path};
use feedsync_test::postgres::Cluster;

use super::attachments::{REMOVE, SCAN};
use super::changes::{BY_NUMBERS, CHANGES, COUNT_AFTER, COUNT_UP_TO, LATEST};
use super::documents::{BODIES, BY_KEYS};
use super::indexes::{self as index_rows, ASCENDING, DESCENDING, OF_DATABASE, WITH_DATABASE};
use super::pages::{IN_ORDER, by_id_sql};
use super::past_batch::FORGET;
use super::past_documents::{
    ENDED_AFTER, FIRST_ENDED, LATEST_ENDED, LATEST_ENDED_OF, ORIGINS_AFTER, REMOVE_ORIGINS,
};
use super::past_rows::{ENDED_OF, HOLD, ORIGINS, REMOVE_ENDED};
use super::rows::DROPPED_OF;
use super::sweep::REMOVE_INDEX_ROWS;
use super::transfer::{ATTACHMENTS_AFTER, BODIES_AFTER, DOCUMENTS_AFTER, LOCAL_DOCUMENTS_AFTER};
use super::view_removal::{DROPPED, FIRST_ROWS, REMOVE_NODES, REMOVE_ROWS};
use super::views::STATEMENTS as VIEWS;
use crate::Queries as _;
use crate::conformance::wait;
use crate::database::{DatabasesExt as _, DocumentRange, DocumentWrite, DocumentsSnapshot};
use crate::postgres::rows::get;
use crate::{
    DatabaseChange, Databases as _, DocumentRequest, EndpointName, History, PostgresStore,
    StoreError, StoredBody, SystemEnvironment,
};

fn write(store: &PostgresStore, ids: Vec<DocumentId>, text: &'static str) {
    let name = "notes".parse().unwrap();
    let wanted = |id: &DocumentId| DocumentRequest { id: id.clone(), with_attachments: false };
    let all = ids.iter().map(wanted).collect();
    let decide = move |snapshot: &DocumentsSnapshot| {
        let write = |(id, number): (&DocumentId, u64)| {
            let body = StoredBody { text: text.into(), attachments: Arc::from([]) };
            let place = body.place(number);
            let mut tree = snapshot.document(id).unwrap().tree.clone();
            let path = Path::new(1, vec!["a".parse().unwrap()]).unwrap();
            tree.graft(&path, Content { is_deleted: false, body: place });
            let bodies = vec![(number, body)];
            DocumentWrite {
                id: id.clone(),
                tree,
                is_change: true,
                kind: None,
                bodies,
                is_purge: false,
                author: None,
            }
        };
        (ids.iter().zip(snapshot.next_body()..).map(write).collect(), ())
    };
    wait(store.decide_documents(&name, all, decide)).unwrap();
}

/// Writes documents, of which an index contains all.
fn fill(store: &PostgresStore, count: u64) {
    write(store, (0..count).map(|number| format!("{number:05}").parse().unwrap()).collect(), "{}");
    while wait(store.build_indexes(&"notes".parse().unwrap(), 30_000)).unwrap() {}
}

#[test]
fn everything_is_read_along_an_index() {
    let url = Cluster::shared().database();
    let name = EndpointName::new("tester").unwrap();
    let store = wait(PostgresStore::init(&url, &name, Arc::new(SystemEnvironment))).unwrap();
    let made = wait(store.create_database(&"notes".parse().unwrap(), Default::default()))
        .unwrap()
        .unwrap();
    let history = Some(History::Kept { seconds: 60 });
    let change = DatabaseChange { history, ..Default::default() };
    wait(store.change_database(&made.name, made.epoch, change)).unwrap();
    let view = "{\"map\":{\"fields\":{\"_id\":\"asc\"}},\"options\":{}}";
    let design = format!("{{\"language\":\"query\",\"views\":{{\"a\":{view}}}}}");
    write(&store, vec!["_design/a".parse().unwrap()], design.leak());
    let range = |flags: u8| DocumentRange {
        from: Bound::Unbounded,
        to: Bound::Unbounded,
        is_descending: flags & 1 != 0,
        live_only: flags & 2 != 0,
        skip: 0,
        most: 1,
    };
    // As prepared statements, without known parameter values.
    let by_id = (0..4).map(|flags| {
        let types = "text, bytea, bytea, bytea, bytea, bigint, bigint";
        (by_id_sql(&range(flags)), types, "'notes', 'a', '', 'b', '', 3, 1")
    });
    let changes = "text, bigint, bigint, bigint";
    let others = [
        (CHANGES, changes, "'notes', 1, 9, 3"),
        (LATEST, changes, "'notes', 1, 9, 3"),
        (COUNT_AFTER, "text, bigint", "'notes', 1"),
        (COUNT_UP_TO, "text, bigint", "'notes', 1"),
        (BY_NUMBERS, "bigint, bigint[]", "1, '{1,2}'"),
        (BODIES, "bigint, bigint[]", "1, '{1,2}'"),
        (BY_KEYS, "text, bytea[], bytea[]", "'notes', '{a,b}', '{x,x}'"),
        (DOCUMENTS_AFTER, changes, "'notes', 1, 9, 3"),
        (BODIES_AFTER, changes, "'notes', 1, 9, 3"),
        (LOCAL_DOCUMENTS_AFTER, "text, bytea, bigint, bigint", "'notes', 'a', 9, 3"),
        (ATTACHMENTS_AFTER, "text, text, bigint", "'notes', 'a', 9"),
        (SCAN, "bigint, text, bigint, bigint, bigint", "1, 'a', 2, 3, 9"),
        (REMOVE, "bigint[], text[], bigint", "'{1,2}', '{a,b}', 3"),
    ];
    let by_key = "text, bigint, bytea, bytea, bytea, bytea, bytea, bytea, bigint";
    let between = "'notes', 1, 'a', 'b', '', 'c', 'd', '', 3";
    let rows = "bigint[], bytea[], bytea[], bytea[]";
    let of_indexes = [
        (ASCENDING, by_key, between),
        (DESCENDING, by_key, between),
        (WITH_DATABASE, "text", "'notes'"),
        (OF_DATABASE, "bigint", "1"),
        (index_rows::REMOVE, rows, "'{1,2}', '{a,b}', '{a,b}', '{x,x}'"),
        (REMOVE_INDEX_ROWS, "bigint, bigint", "1, 3"),
    ];
    let of_histories = [
        (FORGET, "bigint, bytea[], bytea[]", "1, '{a,b}', '{x,x}'"),
        (ENDED_OF, "bigint, bytea[], bytea[], bigint", "1, '{a,b}', '{x,x}', 3"),
        (ENDED_AFTER, "bigint, bigint, bigint", "1, 2, 3"),
        (FIRST_ENDED, "bigint, bigint, bigint", "1, 2, 3"),
        (LATEST_ENDED, "bigint, bigint, bigint, bigint, bigint", "1, 2, 9, 3, 4"),
        (
            LATEST_ENDED_OF,
            "bigint, bigint, bigint, bigint, bigint, bytea, bytea",
            "1, 2, 9, 3, 4, 'a', 'x'",
        ),
        (ORIGINS_AFTER, "bigint, bigint, bigint", "1, 2, 3"),
        (REMOVE_ORIGINS, "bigint, bigint", "1, 3"),
        (DROPPED_OF, "text", "'notes'"),
        (ORIGINS, "bigint, bigint[]", "1, '{1,2}'"),
        (HOLD, "bigint, bigint[]", "1, '{1,2}'"),
        (REMOVE_ENDED, "bigint, bigint[]", "1, '{1,2}'"),
    ];
    let of_dropped_views = [
        (DROPPED, "bigint", "1"),
        (FIRST_ROWS, "bigint, bigint", "1, 2"),
        (REMOVE_ROWS, "bigint, bigint, bytea", "1, 2, 'a'"),
        (REMOVE_NODES, "bigint, bigint", "1, 2"),
    ];
    let of_views = VIEWS.into_iter().chain(of_dropped_views);
    let all: Vec<_> =
        by_id.chain(others).chain(of_indexes).chain(of_views).chain(of_histories).collect();
    for count in [0, 20_000] {
        fill(&store, count);
        let analyse = if count == 0 { "" } else { "ANALYZE" };
        for (sql, types, values) in all.clone() {
            let plan = wait(store.run(move |node| async move {
                let client = node.connection().await?;
                client.batch_execute(analyse).await?;
                let begin = "BEGIN; SET LOCAL plan_cache_mode = force_generic_plan";
                let in_order = if sql.contains("ORDER BY") { IN_ORDER } else { "" };
                let prepare = format!("{begin}; {in_order}; PREPARE asked ({types}) AS {sql}");
                client.batch_execute(&prepare).await?;
                let rows = client.query(&format!("EXPLAIN EXECUTE asked ({values})"), &[]).await?;
                client.batch_execute("DEALLOCATE asked; ROLLBACK").await?;
                let lines: Vec<String> =
                    rows.iter().map(|row| get(row, 0)).collect::<Result<_, StoreError>>()?;
                Ok(lines.join("\n"))
            }))
            .unwrap();
            let is_of_changes = sql == CHANGES || sql == LATEST;
            let is_index_only =
                plan.contains("Index Only Scan") && plan.contains("document_changes");
            assert!(is_index_only || !is_of_changes, "{plan}");
            if sql == ASCENDING || sql == DESCENDING {
                let bounds = "(index_id = $2) AND (ROW(key, head) >= ROW($3, $4)) AND (ROW(key, head) <= ROW($6, $7))";
                assert!(plan.contains("using index_rows_pkey on index_rows"), "{plan}");
                assert!(plan.contains(bounds) && plan.starts_with("Limit"), "{plan}");
            }
            let sorts = plan.matches("Sort").count();
            let within =
                plan.matches("Incremental Sort").count() + plan.matches("Sort Key").count();
            assert_eq!(sorts, within, "{plan}");
            assert!(plan.contains("Index") && !plan.contains("Seq Scan"), "{plan}");
            assert!(!plan.contains("Hash") && !plan.contains("Merge"), "{plan}");
        }
    }
}
