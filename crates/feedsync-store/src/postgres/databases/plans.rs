//! Tests of query plans: the cost of a query follows its result, not the database. No query scans all
//! documents, or sorts more than those whose ids share a prefix.

use std::ops::Bound;
use std::sync::Arc;

use feedsync_couch::{Content, DocumentId, Path};
use feedsync_test::postgres::Cluster;

use super::attachments::{REMOVE, SCAN};
use super::changes::{BY_NUMBERS, CHANGES, COUNT_AFTER, COUNT_UP_TO, LATEST};
use super::documents::{BODIES, BY_KEYS};
use super::pages::{IN_ORDER, by_id_sql};
use super::transfer::{ATTACHMENTS_AFTER, BODIES_AFTER, DOCUMENTS_AFTER, LOCAL_DOCUMENTS_AFTER};
use crate::conformance::wait;
use crate::database::{DatabasesExt as _, DocumentRange, DocumentWrite, DocumentsSnapshot};
use crate::postgres::rows::get;
use crate::{
    Databases as _, DocumentRequest, EndpointName, PostgresStore, StoreError, StoredBody,
    SystemEnvironment,
};

fn fill(store: &PostgresStore, count: u64) {
    let name = "notes".parse().unwrap();
    let ids: Vec<DocumentId> =
        (0..count).map(|number| format!("{number:05}").parse().unwrap()).collect();
    let wanted = |id: &DocumentId| DocumentRequest { id: id.clone(), with_attachments: false };
    let all = ids.iter().map(wanted).collect();
    let decide = move |snapshot: &DocumentsSnapshot| {
        let write = |(id, number): (&DocumentId, u64)| {
            let body = StoredBody { text: "{}".into(), attachments: Arc::from([]) };
            let place = body.place(number);
            let mut tree = snapshot.document(id).unwrap().tree.clone();
            let path = Path::new(1, vec!["a".parse().unwrap()]).unwrap();
            tree.graft(&path, Content { is_deleted: false, body: place });
            let bodies = vec![(number, body)];
            DocumentWrite { id: id.clone(), tree, is_change: true, kind: None, bodies }
        };
        (ids.iter().zip(snapshot.next_body()..).map(write).collect(), ())
    };
    wait(store.decide_documents(&name, all, decide)).unwrap();
}

#[test]
fn everything_is_read_along_an_index() {
    let url = Cluster::shared().database();
    let name = EndpointName::new("tester").unwrap();
    let store = wait(PostgresStore::init(&url, &name, Arc::new(SystemEnvironment))).unwrap();
    wait(store.create_database(&"notes".parse().unwrap(), None)).unwrap();
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
    let all: Vec<_> = by_id.chain(others).collect();
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
            let sorts = plan.matches("Sort").count();
            let within =
                plan.matches("Incremental Sort").count() + plan.matches("Sort Key").count();
            assert_eq!(sorts, within, "{plan}");
            assert!(plan.contains("Index") && !plan.contains("Seq Scan"), "{plan}");
            assert!(!plan.contains("Hash") && !plan.contains("Merge"), "{plan}");
        }
    }
}
