//! The same over PostgreSQL, in a database for each test: the tests of this program that reach the store are
//! run again, all in one process, so that they share one server.

use std::process::Command;

use crate::hub::OVER_POSTGRES;

/// What is not run again: what brings its own store, what stops the clock while the database works, and what
/// is about bytes, pages and sockets, whatever the store.
const SKIPPED: [&str; 10] = [
    "postgres::",
    "sqlite::",
    "over_a_database",
    "a_silent_stream_says_that_it_is_alive",
    "answers::",
    "attacks::",
    "gates::",
    "operating::",
    "pages",
    "sockets::",
];

#[test]
fn the_tests_of_the_hub_pass_over_postgresql() {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.env(OVER_POSTGRES, "1").arg("--test-threads=8");
    for skipped in SKIPPED {
        command.args(["--skip", skipped]);
    }
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}");
    let matrix = "access::matrix::every_route_answers_every_role_as_its_right_demands ... ok";
    assert!(text.contains(matrix), "{text}");
}
