//! Debian's `libatompub-perl`, an independent client of AtomPub.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Command, Stdio};

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
    let mut client = Command::new("perl")
        .arg(format!("{}/tests/{script}", env!("CARGO_MANIFEST_DIR")))
        .args(arguments)
        .envs([("ATOMPUB_USER", user), ("ATOMPUB_PASSWORD", password)])
        .envs(environment.iter().copied())
        .env_remove("no_proxy")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(client.stdout.take().unwrap());
    let mut text = String::new();
    while !text.ends_with(&format!("# {at}\n")) {
        assert_ne!(said.read_line(&mut text).unwrap(), 0, "{text}");
    }
    hub.kill();
    client.stdin.take().unwrap().write_all(b"\n").unwrap();
    said.read_to_string(&mut text).unwrap();
    assert!(client.wait().unwrap().success(), "{text}");
    assert!(text.contains("the client finds nothing odd"), "{text}");
}
