//! The same tests over PostgreSQL, in a database for each test: those that use the store run again, all in
//! one process, so that they share one server.

use std::process::Command;

use crate::hub::OVER_POSTGRES;

/// Tests that do not run again. They have their own store, stop the clock while the database works, or test
/// bytes, pages and sockets, which do not depend on the store.
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
