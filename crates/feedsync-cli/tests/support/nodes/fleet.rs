//! Processes of a hub, which are started, killed as by `kill -9`, and restarted.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::TIMEOUT;
use super::balancer::Balancer;
use crate::support::TestDirectory;

pub(crate) struct Fleet {
    pub(crate) place: TestDirectory,
    pub(crate) balancer: Balancer,
    store: String,
    nodes: Vec<Mutex<Option<Child>>>,
}

impl Fleet {
    /// Starts this many nodes on one store.
    pub(crate) fn start(store: &str, count: usize) -> Self {
        Self::start_in(TestDirectory::new(), store, count)
    }

    /// Starts this many nodes on one store. Their data directories are `node-0` and so on in a directory.
    pub(crate) fn start_in(place: TestDirectory, store: &str, count: usize) -> Self {
        let fleet = Self {
            place,
            balancer: Balancer::start(count),
            store: store.to_owned(),
            nodes: (0..count).map(|_| Mutex::default()).collect(),
        };
        (0..count).for_each(|node| fleet.wake(node));
        fleet
    }

    pub(crate) fn count(&self) -> usize {
        self.nodes.len()
    }

    /// Starts a node and waits until it listens. Like a service manager it retries while the database is
    /// unavailable.
    pub(crate) fn wake(&self, node: usize) {
        let mut child = self.nodes[node].lock().unwrap_or_else(PoisonError::into_inner);
        let begin = Instant::now();
        while child.is_none() {
            assert!(begin.elapsed() < TIMEOUT, "node {node} does not start:\n{}", self.log(node));
            let data = format!("node-{node}");
            let arguments =
                ["--data", &data, "--endpoint", "hub", "serve", "--listen", "127.0.0.1:0"];
            let log =
                File::options().create(true).append(true).open(self.place.path(&self.file(node)));
            let mut started = self
                .place
                .command(&arguments)
                .env("FEEDSYNC_STORE", &self.store)
                .stdout(Stdio::piped())
                .stderr(log.unwrap())
                .spawn()
                .unwrap();
            let mut lines = BufReader::new(started.stdout.take().unwrap()).lines();
            let address: Option<SocketAddr> =
                lines.by_ref().map_while(Result::ok).find_map(|line| {
                    let address = line.strip_prefix("listening on http://")?;
                    address.trim_end_matches('/').parse().ok()
                });
            match address {
                Some(address) => {
                    self.balancer.set(node, Some(address));
                    *child = Some(started);
                }
                None => {
                    let _ = started.wait();
                    thread::sleep(Duration::from_millis(200));
                }
            }
        }
    }

    /// Kills a node. The balancer still has its address.
    pub(crate) fn kill(&self, node: usize) {
        let mut child = self.nodes[node].lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(mut child) = child.take() {
            let ended = child.try_wait().unwrap();
            assert!(ended.is_none(), "node {node} ended by itself: {ended:?}\n{}", self.log(node));
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    fn file(&self, node: usize) -> String {
        format!("node-{node}.log")
    }

    /// End of a node's log.
    pub(crate) fn log(&self, node: usize) -> String {
        let text = std::fs::read_to_string(self.place.path(&self.file(node))).unwrap_or_default();
        let lines: Vec<_> = text.lines().collect();
        lines[lines.len().saturating_sub(20)..].join("\n")
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        for node in &self.nodes {
            if let Some(mut child) = node.lock().unwrap_or_else(PoisonError::into_inner).take() {
                let _ = child.kill();
                let _ = child.wait();
            }
        }
    }
}
