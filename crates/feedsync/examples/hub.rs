//! A hub in an axum application: other replicas sync with it, and the application has pages and edits of its own.
//!
//! ```text
//! hub 127.0.0.1:8080 hub-data
//! curl http://127.0.0.1:8080/tasks                          the application's own page
//! curl -d 'Milk' http://127.0.0.1:8080/tasks                its own edit
//! curl http://127.0.0.1:8080/collections/todo               the hub: the same list as a feed
//! todo sync http://127.0.0.1:8080/collections/todo          a replica (the example `todo`)
//! ```

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::get;
use feedsync::{Change, Collection, Error, Replica};
use feedsync_server::Config;
use serde_json::json;
use tokio::net::TcpListener;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let address = arguments.next().unwrap_or_else(|| "127.0.0.1:8080".to_owned());
    let replica = Replica::open(arguments.next().unwrap_or_else(|| "hub-data".to_owned())).await?;
    let application = application(&replica).await?;
    tokio::spawn(log_changes(replica.collection("todo").await?));

    let listener = TcpListener::bind(&address).await?;
    println!("http://{}/collections/todo", listener.local_addr()?);
    axum::serve(listener, application).await?;
    Ok(())
}

/// The application's own routes, and the hub behind them.
pub(crate) async fn application(replica: &Replica) -> Result<Router, Error> {
    let todo = replica.collection("todo").await?;
    // A hub without users serves this machine only. The guide for operators explains users and TLS.
    let hub = feedsync_server::router(replica.endpoint().clone(), Config::default());
    let own = Router::new().route("/tasks", get(list).post(add)).with_state(todo);
    Ok(own.fallback_service(hub))
}

async fn list(State(todo): State<Collection>) -> Result<String, (StatusCode, String)> {
    let items = todo.items().await.map_err(failed)?;
    Ok(items.iter().map(|item| format!("{}\n", item["title"].as_str().unwrap_or("?"))).collect())
}

async fn add(
    State(todo): State<Collection>,
    title: String,
) -> Result<(StatusCode, String), (StatusCode, String)> {
    let id = todo.add(json!({"title": title, "done": false})).await.map_err(failed)?;
    Ok((StatusCode::CREATED, format!("{id}\n")))
}

fn failed(error: Error) -> (StatusCode, String) {
    (StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n"))
}

/// Prints what changes, whether a page or a replica changed it.
async fn log_changes(todo: Collection) -> Result<(), Error> {
    let mut watch = todo.watch().await?;
    loop {
        match watch.next().await? {
            Change::Put(item) => println!("changed: {}", item["title"]),
            Change::Deleted(id) => println!("deleted: {id}"),
            _ => {}
        }
    }
}
