//! The `feedsync` program: arguments in, output and an exit code out. What it does is decided in the
//! libraries; here is only how a person or a script says it and is told.

mod arguments;
mod commands;
mod confirm;
mod context;
mod dropped;
mod edited_file;
mod explanation;
mod failure;
mod feed_file;
mod media_files;
mod output;
mod secret;
mod signals;
mod source;
mod store;
mod view;

use std::num::NonZero;
use std::process::ExitCode;

use clap::Parser as _;

use crate::arguments::Cli;
use crate::failure::Failure;

/// Much of a short answer is memory that is taken and given back.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// What waits in one thread must not hold up the rest, on the smallest machine neither.
const LEAST_THREADS: usize = 2;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version come this way too; a closed pipe is no fault then.
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() { 2 } else { 0 });
        }
    };
    let threads = std::thread::available_parallelism().map_or(LEAST_THREADS, NonZero::get);
    let outcome = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(threads.max(LEAST_THREADS))
        .enable_all()
        .build()
        .map_err(|error| Failure::store(format!("cannot start: {error}")))
        .and_then(|runtime| runtime.block_on(cli.run()));
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
