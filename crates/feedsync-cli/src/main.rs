//! The `feedsync` program: it parses arguments, and returns output and an exit code. The libraries make the
//! decisions; this crate is the user interface for people and scripts.

mod arguments;
mod commands;
mod confirm;
mod context;
mod dropped;
mod edited_file;
mod explanation;
mod failure;
mod feed_file;
#[cfg(feature = "functions")]
mod functions;
mod global;
mod invocation;
mod logging;
mod media_files;
mod output;
mod renamed;
mod secret;
mod signals;
mod similar;
mod source;
mod store;
mod values;
mod vault;
mod view;

use std::num::NonZero;
use std::process::ExitCode;

use crate::arguments::Cli;
use crate::failure::{Failure, hint};

/// Short requests spend much of their time on allocations, so the allocator is a fast one.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Minimum number of worker threads: with two, a blocked thread does not stop the other tasks, even on a
/// machine with one core.
const MIN_THREADS: usize = 2;

fn main() -> ExitCode {
    #[cfg(feature = "functions")]
    if let Some(code) = functions::executed() {
        return code;
    }
    let cli = match Cli::read(std::env::args_os().collect()) {
        Ok(cli) => cli,
        Err(error) => {
            // This branch also prints help and version; a closed pipe is not an error there.
            let _ = error.print();
            if let Some(suggestion) = Cli::suggestion(&error) {
                hint(&suggestion);
            }
            return ExitCode::from(if error.use_stderr() { 2 } else { 0 });
        }
    };
    let threads = std::thread::available_parallelism().map_or(MIN_THREADS, NonZero::get);
    let outcome = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(threads.max(MIN_THREADS))
        .enable_all()
        .build()
        .map_err(|error| Failure::store(format!("cannot start: {error}")))
        .and_then(|runtime| runtime.block_on(cli.run()));
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
