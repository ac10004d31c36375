//! Tests of the port on a real socket, and of its client.

use std::time::Duration;

use feedsync_gateway::control::{ADDRESS_FILE, Client, ClientError, serve};
use http::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::oneshot;

use crate::world::World;

#[tokio::test]
async fn a_program_finds_the_gateway_of_a_data_directory() {
    let world = World::new(&[]);
    let (stop, stopped) = oneshot::channel::<()>();
    let shutdown = async { drop(stopped.await) };
    let free = "127.0.0.1:0".parse().unwrap();
    let serving = serve(free, world.control.clone(), shutdown).await.unwrap();
    let data = world.directory.path();
    let client = Client::of(data, None).unwrap();
    assert_eq!(client.address(), serving.address());
    let wanted = json!({ "feed": "http://example.org/feed" });
    let made = client.ask(Method::POST, "/subscriptions", Some(&wanted)).await.unwrap();
    assert_eq!(made["id"], "1");
    let list = client.ask(Method::GET, "/subscriptions", None).await.unwrap();
    assert_eq!(list.as_array().unwrap().len(), 1);
    let gone = client.ask(Method::DELETE, "/subscriptions/1", None).await.unwrap();
    assert_eq!(gone, Value::Null);
    let none = client.ask(Method::GET, "/subscriptions/1", None).await.unwrap_err();
    assert_eq!(none.to_string(), "there is no such subscription");
    std::fs::write(data.join("control.token"), "0").unwrap();
    let stranger = Client::of(data, None).unwrap();
    let refused = stranger.ask(Method::GET, "/subscriptions", None).await.unwrap_err();
    assert!(matches!(refused, ClientError::Refused { status, .. } if status == 401), "{refused:?}");

    // An open event stream does not prevent the gateway from stopping.
    let mut follower = TcpStream::connect(serving.address()).await.unwrap();
    let head = format!(
        "GET /events HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n\r\n",
        serving.address(),
        world.token
    );
    follower.write_all(head.as_bytes()).await.unwrap();
    let mut first = [0; 12];
    follower.read_exact(&mut first).await.unwrap();
    assert_eq!(&first, b"HTTP/1.1 200");
    stop.send(()).unwrap();
    let end = tokio::time::timeout(Duration::from_secs(20), serving.finished()).await;
    end.expect("it stops").unwrap();
    let gone = client.ask(Method::GET, "/subscriptions", None).await.unwrap_err();
    assert!(matches!(gone, ClientError::Unreachable { .. }), "{gone:?}");
}

#[test]
fn client_without_a_token_file_fails() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join(ADDRESS_FILE), "127.0.0.1:1\n").unwrap();
    let error = Client::of(directory.path(), None).unwrap_err();
    assert!(error.to_string().contains("control.token"), "{error}");
    std::fs::write(directory.path().join("control.token"), "0\n").unwrap();
    let client = Client::of(directory.path(), Some("127.0.0.1:2".parse().unwrap())).unwrap();
    assert_eq!(client.address().port(), 2);
    assert_eq!(Client::of(directory.path(), None).unwrap().address().port(), 1);
}
