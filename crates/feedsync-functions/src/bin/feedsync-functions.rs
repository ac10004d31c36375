//! The process that executes functions, for servers that do not bring a program of their own.

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match feedsync_functions::engine::run_confined(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("cannot execute functions: {error}");
            ExitCode::FAILURE
        }
    }
}
