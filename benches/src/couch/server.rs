//! A hub or a `pouchdb-server` in a separate process and directory.

use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tokio::runtime::Runtime;

use super::modules;
use crate::answers::free_port;
use crate::keepalive::{Answer, Connection};
use crate::memory::first_line;
use crate::process::child;
use crate::sample;

/// A server; its data is deleted with it.
pub(super) struct Server {
    pub(super) name: &'static str,
    /// Address of its databases, without `http://`.
    pub(super) place: String,
    address: String,
    process: Child,
    directory: TempDir,
}

impl Server {
    /// Starts a hub without users, with a store on the disk.
    pub(super) fn hub(runtime: &Runtime) -> Self {
        let directory = TempDir::new().expect("a directory");
        runtime.block_on(sample::create(directory.path(), "hub"));
        Self::serving(directory)
    }

    fn serving(directory: TempDir) -> Self {
        let place = directory.path().to_str().expect("UTF-8");
        let mut process = child(&["hub", place]).spawn().expect("a child");
        let address = first_line(&mut process);
        Self { name: "hub", place: format!("{address}/couch"), address, process, directory }
    }

    /// Stops a hub properly, and starts it again.
    pub(super) fn again(&mut self) {
        drop(self.process.stdin.take());
        self.process.wait().expect("a hub that ends");
        let directory =
            std::mem::replace(&mut self.directory, TempDir::new().expect("a directory"));
        *self = Self::serving(directory);
    }

    /// Starts `pouchdb-server`, if it is available, with storage in memory and without a request log.
    pub(super) fn peer() -> Option<Self> {
        let modules = modules::installed("server")?;
        let directory = TempDir::new().expect("a directory");
        let settings = "{\"log\":{\"level\":\"none\"}}";
        fs::write(directory.path().join("config.json"), settings).expect("a file");
        let port = free_port();
        let process = Command::new("node")
            .arg(modules.join("node_modules/pouchdb-server/bin/pouchdb-server"))
            .args(["--in-memory", "--port", &port.to_string()])
            .current_dir(directory.path())
            .env("NODE_ENV", "production")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .expect("node");
        let address = format!("127.0.0.1:{port}");
        let began = Instant::now();
        while std::net::TcpStream::connect(&address).is_err() {
            assert!(began.elapsed() < Duration::from_secs(30), "pouchdb-server does not listen");
            std::thread::sleep(Duration::from_millis(50));
        }
        let place = address.clone();
        Some(Self { name: "pouchdb-server", place, address, process, directory })
    }

    pub(super) fn process(&self) -> u32 {
        self.process.id()
    }

    pub(super) async fn connect(&self) -> Connection {
        Connection::open(&self.address).await
    }

    /// Bytes of a request to a path below the databases.
    pub(super) fn request(&self, method: &str, path: &str, body: &str) -> Vec<u8> {
        let (host, path) = (&self.address, format!("{}/{path}", self.place));
        let path = path.strip_prefix(&**host).expect("a place of this server");
        let length = body.len();
        format!(
            "{method} {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n\
             Content-Length: {length}\r\n\r\n{body}"
        )
        .into_bytes()
    }

    /// Sends a request over a new connection, and checks the status.
    pub(super) async fn ask(&self, method: &str, path: &str, body: &str, status: u16) -> Answer {
        let request = self.request(method, path, body);
        expect(&mut self.connect().await, &request, status).await
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The process may have ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Sends a request, and checks the status.
pub(super) async fn expect(connection: &mut Connection, request: &[u8], status: u16) -> Answer {
    let answer = connection.exchange(request).await;
    let said = String::from_utf8_lossy(&answer.body[..answer.body.len().min(1_000)]);
    assert_eq!(answer.status, status, "{said}");
    answer
}

/// Number of occurrences of a text in a response.
pub(super) fn count(answer: &Answer, part: &str) -> usize {
    std::str::from_utf8(&answer.body).expect("UTF-8").matches(part).count()
}
