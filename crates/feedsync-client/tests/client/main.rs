//! The client against real servers: the hub, and web servers with unusual behaviour.

mod blobs;
mod crashes;
mod credentials;
mod databases;
mod details;
mod feeds;
#[cfg(target_os = "linux")]
mod full_disk;
mod hub;
mod library;
mod lives;
mod logins;
mod logs;
mod proxies;
mod scene;
mod sse;
mod strangers;
mod subscriptions;
mod watch;
mod world;
