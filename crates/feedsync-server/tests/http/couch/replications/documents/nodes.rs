//! Several processes over one store: one of them carries out the documents.

use feedsync_endpoint::Endpoint;
use feedsync_store::conformance::wait;
use feedsync_store::{EndpointName, PostgresStore, SystemEnvironment};
use feedsync_test::postgres::Cluster;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{sleep, timeout};

use super::super::super::served::Served;

/// Two stores over one database of PostgreSQL.
fn nodes() -> [Endpoint; 2] {
    let open = || {
        let url = Cluster::shared().database();
        let (name, environment) = (EndpointName::new("hub").unwrap(), Arc::new(SystemEnvironment));
        let first = wait(PostgresStore::init(&url, &name, environment.clone())).unwrap();
        let second = wait(PostgresStore::open(&url, environment.clone())).unwrap();
        [first, second].map(|store| Endpoint::new(Arc::new(store), environment.clone()))
    };
    // Where a test's executor runs nothing else can be waited for.
    std::thread::scope(|scope| scope.spawn(open).join()).unwrap()
}

/// Number of replications that a hub runs.
async fn running(hub: &Served) -> usize {
    hub.get("/_active_tasks").await.1.as_array().unwrap().len()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_node_carries_out_the_documents_and_another_one_takes_over() {
    let [first, second] = nodes();
    let hubs = [Served::over(&first).await, Served::over(&second).await];
    for path in ["/db", "/_replicator"] {
        assert_eq!(hubs[0].put(path, Value::Null).await.0, 201);
    }
    for name in ["a", "b", "c"] {
        let document =
            json!({"source": "db", "target": name, "create_target": true, "continuous": true});
        assert_eq!(hubs[1].put(&format!("/_replicator/{name}"), document).await.0, 201);
    }
    let counts = async || [running(&hubs[0]).await, running(&hubs[1]).await];
    let all_run = async {
        while !matches!(counts().await, [3, 0] | [0, 3]) {
            sleep(Duration::from_millis(100)).await;
        }
    };
    timeout(Duration::from_secs(30), all_run).await.unwrap();
    for _ in 0..20 {
        assert!(matches!(counts().await, [3, 0] | [0, 3]));
        sleep(Duration::from_millis(100)).await;
    }
    // The other node does not know the states.
    let holder = usize::from(running(&hubs[0]).await == 0);
    let path = "/_scheduler/docs/_replicator/a";
    assert_eq!(hubs[holder].get(path).await.1["state"], "running");
    assert_eq!(hubs[1 - holder].get(path).await.1["state"], "initializing");
    // A node that stops gives the documents up.
    let [one, other] = hubs;
    let (holder, next) = if holder == 0 { (one, other) } else { (other, one) };
    holder.stop().await;
    assert_eq!(next.put("/db/later", json!({})).await.0, 201);
    for name in ["a", "b", "c"] {
        next.await_that("", &format!("/{name}/later"), |status, _| status == 200).await;
    }
    assert_eq!(running(&next).await, 3);
}
