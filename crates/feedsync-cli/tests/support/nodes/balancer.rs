//! A simple load balancer: each connection goes to the next node that accepts it, and is forwarded in both
//! directions.

use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// Address of the balancer, and current addresses of the nodes.
pub(crate) struct Balancer {
    pub(crate) address: SocketAddr,
    nodes: Arc<Mutex<Vec<Option<SocketAddr>>>>,
}

impl Balancer {
    /// Listens until the process ends.
    pub(crate) fn start(count: usize) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let nodes = Arc::new(Mutex::new(vec![None; count]));
        let known = Arc::clone(&nodes);
        thread::spawn(move || {
            let turn = Arc::new(AtomicUsize::new(0));
            for client in listener.incoming().map_while(Result::ok) {
                let (known, turn) = (Arc::clone(&known), Arc::clone(&turn));
                thread::spawn(move || {
                    if let Some(node) = connect(&known, &turn) {
                        pass(client, node);
                    }
                });
            }
        });
        Self { address, nodes }
    }

    /// Sets the address of a node; `None` if it is not running.
    pub(crate) fn set(&self, node: usize, address: Option<SocketAddr>) {
        self.nodes.lock().unwrap_or_else(PoisonError::into_inner)[node] = address;
    }

    pub(crate) fn nodes(&self) -> Vec<SocketAddr> {
        let nodes = self.nodes.lock().unwrap_or_else(PoisonError::into_inner);
        nodes.iter().copied().flatten().collect()
    }
}

/// Connects to the next node that accepts a connection, round robin.
fn connect(nodes: &Mutex<Vec<Option<SocketAddr>>>, turn: &AtomicUsize) -> Option<TcpStream> {
    let nodes = nodes.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let first = turn.fetch_add(1, Ordering::Relaxed);
    (0..nodes.len()).find_map(|step| {
        let address = nodes[(first + step) % nodes.len()]?;
        TcpStream::connect_timeout(&address, Duration::from_millis(500)).ok()
    })
}

/// Forwards bytes in both directions until both sides have ended, or one has failed.
fn pass(client: TcpStream, node: TcpStream) {
    let (Ok(from_client), Ok(to_node)) = (client.try_clone(), node.try_clone()) else { return };
    let there = thread::spawn(move || copy(from_client, to_node));
    copy(node, client);
    let _ = there.join();
}

fn copy(mut from: TcpStream, mut to: TcpStream) {
    let broken = io::copy(&mut from, &mut to).is_err();
    let _ = to.shutdown(if broken { Shutdown::Both } else { Shutdown::Write });
    if broken {
        let _ = from.shutdown(Shutdown::Both);
    }
}
