//! Clients that are scripts, and during which the hub becomes unavailable.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Command, Stdio};

use super::hub::Hub;

/// Runs a script that prints `# LINE` and then waits for a line of input. The hub is stopped before it gets that line.
/// Returns the output of the script.
pub(crate) fn run(hub: &mut Hub<'_>, command: &mut Command, line: &str) -> String {
    let mut client = command
        .env_remove("no_proxy")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(client.stdout.take().unwrap());
    let mut text = String::new();
    while !text.ends_with(&format!("# {line}\n")) {
        assert_ne!(said.read_line(&mut text).unwrap(), 0, "{text}");
    }
    hub.kill();
    client.stdin.take().unwrap().write_all(b"\n").unwrap();
    said.read_to_string(&mut text).unwrap();
    assert!(client.wait().unwrap().success(), "{text}");
    text
}
