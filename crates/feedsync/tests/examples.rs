//! The examples: each does what its first page says, with the embedded hub of the example `hub`.

#[path = "../examples/bridge.rs"]
#[allow(dead_code)]
mod bridge;
#[path = "../examples/files.rs"]
#[allow(dead_code)]
mod files;
#[path = "../examples/hub.rs"]
#[allow(dead_code)]
mod hub;
#[path = "../examples/subscriptions.rs"]
#[allow(dead_code)]
mod subscriptions;
#[path = "../examples/todo.rs"]
#[allow(dead_code)]
mod todo;

use std::path::Path;

use feedsync::Replica;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// The application of the example `hub`.
struct Hub {
    url: String,
    address: String,
    replica: Replica,
    stop: oneshot::Sender<()>,
    serving: JoinHandle<()>,
}

impl Hub {
    async fn new() -> Self {
        let replica = Replica::in_memory();
        let application = hub::application(&replica).await.unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let url = format!("http://{address}/collections/todo");
        let (stop, stopped) = oneshot::channel();
        let serve = async {
            let stopped = async { drop(stopped.await) };
            axum::serve(listener, application).with_graceful_shutdown(stopped).await.unwrap();
        };
        Self { url, address, replica, stop, serving: tokio::spawn(serve) }
    }

    /// The response to a request for a path.
    async fn ask(&self, path: &str, body: Option<&str>) -> String {
        let mut stream = TcpStream::connect(&self.address).await.unwrap();
        let method = if body.is_some() { "POST" } else { "GET" };
        let (host, body) = (&self.address, body.unwrap_or_default());
        let head = format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n");
        let request = format!("{head}Content-Length: {}\r\n\r\n{body}", body.len());
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).await.unwrap();
        response
    }
}

/// A directory for the data of a person.
struct Device(TempDir);

impl Device {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn data(&self) -> &str {
        self.0.path().to_str().unwrap()
    }

    async fn todo(&self, arguments: &[&str]) -> String {
        todo::run(self.data(), arguments).await.unwrap()
    }

    async fn feeds(&self, arguments: &[&str]) -> String {
        subscriptions::run(self.data(), arguments).await.unwrap()
    }
}

#[tokio::test]
async fn todo_lists_of_two_devices_meet_at_the_embedded_hub() {
    let (hub, phone, desk) = (Hub::new().await, Device::new(), Device::new());
    let milk = phone.todo(&["add", "Milk"]).await;
    let bread = phone.todo(&["add", "Bread", "and", "butter"]).await;
    assert_eq!(phone.todo(&["sync", &hub.url]).await, "0 received, 2 sent\n");
    assert_eq!(desk.todo(&["sync", &hub.url]).await, "2 received, 0 sent\n");
    desk.todo(&["done", milk.trim()]).await;
    phone.todo(&["rm", bread.trim()]).await;
    desk.todo(&["sync"]).await;
    phone.todo(&["sync"]).await;
    assert_eq!(phone.todo(&["list"]).await, format!("[x] {:.8}  Milk\n", milk.trim()));
    desk.todo(&["sync"]).await;
    assert_eq!(desk.todo(&["list"]).await, phone.todo(&["list"]).await);

    assert!(hub.ask("/tasks", Some("Cheese")).await.contains("201 Created"));
    assert!(hub.ask("/tasks", None).await.ends_with("Milk\nCheese\n"));
    let feed = hub.ask("/collections/todo.rss", None).await;
    assert!(feed.contains("<title>Cheese</title>"), "{feed}");
    phone.todo(&["sync"]).await;
    assert!(phone.todo(&["list"]).await.contains("Cheese"));
}

#[tokio::test]
async fn todo_keeps_edits_while_the_hub_is_away() {
    let (hub, phone) = (Hub::new().await, Device::new());
    phone.todo(&["sync", &hub.url]).await;
    hub.stop.send(()).unwrap();
    hub.serving.await.unwrap();
    phone.todo(&["add", "Eggs"]).await;
    assert!(phone.todo(&["sync"]).await.starts_with("offline"));
    assert!(phone.todo(&["list"]).await.contains("Eggs"));
}

#[tokio::test]
async fn todo_merges_what_two_devices_edited() {
    let (hub, phone, desk) = (Hub::new().await, Device::new(), Device::new());
    let milk = phone.todo(&["add", "Milk"]).await;
    phone.todo(&["sync", &hub.url]).await;
    desk.todo(&["sync", &hub.url]).await;
    phone.todo(&["done", milk.trim()]).await;
    desk.todo(&["done", milk.trim()]).await;
    phone.todo(&["sync"]).await;
    desk.todo(&["sync"]).await;
    assert!(desk.todo(&["list"]).await.contains("edited in two places"));
    desk.todo(&["conflicts"]).await;
    assert_eq!(desk.todo(&["list"]).await, format!("[x] {:.8}  Milk\n", milk.trim()));
}

#[tokio::test]
async fn subscriptions_are_shared_and_written_as_opml() {
    let (hub, mine, yours) = (Hub::new().await, Device::new(), Device::new());
    let url = hub.url.replace("todo", "feeds");
    hub.replica.collection("feeds").await.unwrap();
    mine.feeds(&["add", "https://a.example/feed?x=1&y=2", "A & B"]).await;
    mine.feeds(&["add", "https://b.example/feed"]).await;
    mine.feeds(&["sync", &url]).await;
    assert_eq!(yours.feeds(&["sync", &url]).await, "2 received, 0 sent\n");
    assert_eq!(yours.feeds(&["list"]).await.lines().count(), 2);
    yours.feeds(&["rm", "https://b.example/feed"]).await;
    yours.feeds(&["sync", &url]).await;
    mine.feeds(&["sync", &url]).await;
    assert_eq!(mine.feeds(&["list"]).await, "https://a.example/feed?x=1&y=2  A & B\n");
    let opml = mine.feeds(&["opml"]).await;
    assert!(opml.contains("xmlUrl=\"https://a.example/feed?x=1&amp;y=2\""), "{opml}");
}

#[tokio::test]
async fn bridge_carries_lines_and_items_both_ways() {
    let (hub, folder, phone) = (Hub::new().await, Device::new(), Device::new());
    let file = format!("{}/todo.txt", folder.data());
    let bridge = || async { bridge::run(&file, &hub.url).await.unwrap() };
    let lines = || std::fs::read_to_string(&file).unwrap();

    std::fs::write(&file, "Milk\nx Bread\n").unwrap();
    assert_eq!(bridge().await, "0 received, 2 sent");
    assert!(lines().starts_with("Milk id:") && lines().contains("\nx Bread id:"), "{}", lines());
    phone.todo(&["sync", &hub.url]).await;
    let cheese = phone.todo(&["add", "Cheese"]).await;
    phone.todo(&["sync"]).await;

    // A line is edited, one is removed, and one is new; meanwhile somebody added an item.
    let edited = lines().replace("Milk", "x Milk");
    let kept = edited.lines().filter(|line| !line.contains("Bread"));
    let edited: String = kept.chain(["Eggs"]).map(|line| format!("{line}\n")).collect();
    std::fs::write(&file, edited).unwrap();
    bridge().await;
    phone.todo(&["sync"]).await;
    let listed = phone.todo(&["list"]).await;
    assert!(listed.contains("[x]") && listed.contains("Milk"), "{listed}");
    assert!(listed.contains("Eggs") && !listed.contains("Bread"), "{listed}");
    assert!(lines().contains(&format!("Cheese id:{cheese}")), "{}", lines());

    phone.todo(&["rm", cheese.trim()]).await;
    phone.todo(&["sync"]).await;
    bridge().await;
    assert!(!lines().contains("Cheese"), "{}", lines());
    let before = lines();
    assert_eq!(bridge().await, "0 received, 0 sent");
    assert_eq!(lines(), before);
}

/// Lines that both sides changed, or whose items are gone, become tasks of their own.
#[tokio::test]
async fn bridge_loses_no_line() {
    let (hub, folder, phone) = (Hub::new().await, Device::new(), Device::new());
    let file = format!("{}/todo.txt", folder.data());
    let bridge = || async { bridge::run(&file, &hub.url).await.unwrap() };
    let lines = || std::fs::read_to_string(&file).unwrap();
    let titles = || {
        let lines = lines();
        let titles = lines.lines().map(|line| line.split(" id:").next().unwrap().to_owned());
        titles.collect::<std::collections::BTreeSet<_>>()
    };
    let set = |expected: &[&str]| expected.iter().map(|one| one.to_string()).collect();
    std::fs::write(&file, "Milk\nBread\nrecipe id:7\n").unwrap();
    bridge().await;
    assert_eq!(titles(), set(&["Milk", "Bread", "recipe"]));
    assert!(lines().contains("recipe id:7\n"), "{}", lines());

    // The line of a task that somebody deleted is edited.
    phone.todo(&["sync", &hub.url]).await;
    let id = lines().lines().find(|line| line.starts_with("Milk")).unwrap().to_owned();
    phone.todo(&["rm", id.split(" id:").nth(1).unwrap()]).await;
    phone.todo(&["sync"]).await;
    let edited = lines().replace("Milk", "Oat milk");
    bridge().await;
    assert_eq!(titles(), set(&["Bread", "recipe"]));
    std::fs::write(format!("{file}.base"), edited.replace("Oat milk", "Milk")).unwrap();
    std::fs::write(&file, &edited).unwrap();
    bridge().await;
    assert_eq!(titles(), set(&["Oat milk", "Bread", "recipe"]));

    // The replica is gone, and nobody is there who has its items.
    std::fs::remove_dir_all(format!("{file}.data")).unwrap();
    let nowhere = "http://127.0.0.1:9/collections/todo";
    assert!(bridge::run(&file, nowhere).await.unwrap().starts_with("offline"));
    assert_eq!(titles(), set(&["Oat milk", "Bread", "recipe"]));

    // A run that was interrupted before it wrote the base, and a line that was copied and edited.
    std::fs::remove_file(format!("{file}.base")).unwrap();
    let before = lines();
    bridge().await;
    assert_eq!(lines(), before);
    let copied = before.lines().find(|line| line.starts_with("Bread")).unwrap();
    std::fs::write(&file, format!("{before}{}\n", copied.replace("Bread", "Butter"))).unwrap();
    bridge().await;
    assert_eq!(titles(), set(&["Oat milk", "Bread", "Butter", "recipe"]));
}

/// An editor saves the file while the bridge talks to the hub.
#[tokio::test]
async fn bridge_carries_what_is_saved_while_it_runs() {
    let (replica, folder) = (Replica::in_memory(), Device::new());
    let file = format!("{}/todo.txt", folder.data());
    std::fs::write(&file, "Milk\n").unwrap();
    let saved = file.clone();
    let once = std::sync::Once::new();
    let saves = std::sync::Arc::new(move || {
        once.call_once(|| {
            let text = std::fs::read_to_string(&saved).unwrap();
            std::fs::write(&saved, format!("{text}Bread\n")).unwrap();
        });
    });
    let saving = axum::middleware::from_fn(
        move |request: axum::extract::Request, next: axum::middleware::Next| {
            saves();
            next.run(request)
        },
    );
    let application = hub::application(&replica).await.unwrap().layer(saving);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/collections/todo", listener.local_addr().unwrap());
    let serving = tokio::spawn(async { axum::serve(listener, application).await.unwrap() });
    bridge::run(&file, &url).await.unwrap();
    let lines = std::fs::read_to_string(&file).unwrap();
    assert!(lines.contains("Milk id:") && lines.contains("Bread id:"), "{lines}");
    assert_eq!(replica.collection("todo").await.unwrap().count().await.unwrap(), 2);
    serving.abort();
}

#[tokio::test]
async fn peers_with_a_shared_folder_have_the_same_list() {
    let (shared, data) = (Device::new(), Device::new());
    let peer = |name: &'static str, command: Vec<&'static str>| {
        let (folder, data) = (shared.data().to_owned(), format!("{}/{name}", data.data()));
        async move { files::run(Path::new(&folder), name, &data, &command).await.unwrap() }
    };
    let everybody = ["anna", "bob", "chris"];
    peer("anna", vec!["add", "Milk"]).await;
    peer("bob", vec!["add", "Bread"]).await;
    for name in everybody.into_iter().chain(everybody) {
        peer(name, vec!["sync"]).await;
    }
    let list = peer("chris", vec!["list"]).await;
    let mut list: Vec<_> = list.lines().collect();
    list.sort_unstable();
    assert_eq!(list, ["Bread", "Milk"]);
    // A file that arrived in part keeps nobody from the others.
    std::fs::write(format!("{}/anna.json", shared.data()), "{\"items\": [").unwrap();
    peer("bob", vec!["add", "Eggs"]).await;
    peer("bob", vec!["sync"]).await;
    peer("chris", vec!["sync"]).await;
    assert_eq!(peer("chris", vec!["list"]).await.lines().count(), 3);
}
