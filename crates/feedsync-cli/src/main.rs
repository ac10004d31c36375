//! The `feedsync` program: arguments in, output and an exit code out. What it does is decided in the
//! libraries; here is only how a person or a script says it and is told.

mod arguments;
mod commands;
mod context;
mod failure;
mod output;
mod secret;
mod source;
mod store;
mod view;

use std::process::ExitCode;

use clap::Parser as _;

use crate::arguments::Cli;
use crate::failure::Failure;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version come this way too; a closed pipe is no fault then.
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() { 2 } else { 0 });
        }
    };
    let outcome = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| Failure::store(format!("cannot start: {error}")))
        .and_then(|runtime| runtime.block_on(cli.run()));
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
