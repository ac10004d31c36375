//! A TCP relay in front of a server, which counts the bytes and delays them like a long distance.
//!
//! The delay preserves the order and the rate: each byte arrives a fixed time after it was sent, independent of
//! the amount in transit. A new connection costs one round trip, like its handshake.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, sleep_until};

/// A relay. It stops accepting when it is dropped; open connections continue.
pub(crate) struct Relay {
    pub(crate) address: String,
    passed: Arc<Passed>,
    accepting: JoinHandle<()>,
}

/// Numbers of forwarded bytes.
#[derive(Default)]
struct Passed {
    /// Bytes to the server.
    there: AtomicU64,
    /// Bytes from the server.
    back: AtomicU64,
}

impl Relay {
    /// Starts a relay to a server with a delay in each direction.
    pub(crate) async fn start(server: &str, way: Duration) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        let passed = Arc::new(Passed::default());
        let (server, counts) = (server.to_owned(), Arc::clone(&passed));
        let accepting = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(relay_connection(client, server.clone(), way, Arc::clone(&counts)));
            }
        });
        Self { address, passed, accepting }
    }

    /// Returns the numbers of bytes to and from the server since the last call.
    pub(crate) fn passed(&self) -> (u64, u64) {
        let taken = |count: &AtomicU64| count.swap(0, Ordering::Relaxed);
        (taken(&self.passed.there), taken(&self.passed.back))
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn relay_connection(client: TcpStream, server: String, way: Duration, passed: Arc<Passed>) {
    sleep(way * 2).await;
    let server = TcpStream::connect(server).await.expect("a server that listens");
    for stream in [&client, &server] {
        stream.set_nodelay(true).expect("a socket");
    }
    let ((from_client, to_client), (from_server, to_server)) =
        (client.into_split(), server.into_split());
    tokio::join!(
        pass(from_client, to_server, way, &passed.there),
        pass(from_server, to_client, way, &passed.back),
    );
}

/// Forwards one direction until either side closes it.
async fn pass(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, way: Duration, passed: &AtomicU64) {
    let (under_way, mut arriving) = mpsc::unbounded_channel::<(Instant, Vec<u8>)>();
    let reading = async move {
        let mut part = vec![0; 64 << 10];
        while let Ok(count @ 1..) = from.read(&mut part).await {
            passed.fetch_add(count as u64, Ordering::Relaxed);
            if under_way.send((Instant::now() + way, part[..count].to_vec())).is_err() {
                break;
            }
        }
    };
    let writing = async move {
        while let Some((due, bytes)) = arriving.recv().await {
            if !way.is_zero() {
                sleep_until(due).await;
            }
            if to.write_all(&bytes).await.is_err() {
                break;
            }
        }
    };
    tokio::join!(reading, writing);
}
