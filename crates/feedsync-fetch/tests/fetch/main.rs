//! The outbound policy against web servers with unusual behaviour.

mod logins;
mod policy;
