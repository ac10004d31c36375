//! Debian's `libatompub-perl`, an independent client of AtomPub.

use std::process::Command;

use super::client;
use super::hub::{Hub, LOGIN};
use crate::support::{has, lacks};

/// Whether the client is installed.
pub(crate) fn has_client() -> bool {
    has_module("Atompub::Client", "libatompub-perl")
}

/// Whether a Perl module is installed, which a package of Debian contains.
pub(crate) fn has_module(module: &str, package: &str) -> bool {
    let asked = || Command::new("perl").args([&format!("-M{module}"), "-e", "1"]).output().unwrap();
    has("perl") && (asked().status.success() || lacks(package))
}

/// Runs a script with the client, which signs in to a hub. At a line of its output the hub is stopped.
pub(crate) fn run(
    hub: &mut Hub<'_>,
    script: &str,
    arguments: [&str; 2],
    environment: &[(&str, &str)],
    at: &str,
) {
    let (user, password) = LOGIN.split_once(':').unwrap();
    let mut command = Command::new("perl");
    command
        .arg(format!("{}/tests/{script}", env!("CARGO_MANIFEST_DIR")))
        .args(arguments)
        .envs([("ATOMPUB_USER", user), ("ATOMPUB_PASSWORD", password)])
        .envs(environment.iter().copied());
    let text = client::run(hub, &mut command, at);
    assert!(text.contains("the client finds nothing odd"), "{text}");
}
