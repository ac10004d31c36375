//! Tests of the interface of a library, with a comparison of its implementation to a model.

mod claims;
mod file;
mod keeping;
mod model;
mod samples;
mod sequences;
mod settling;
mod walks;

/// Runs a future to its end on this thread.
fn wait<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().expect("a runtime").block_on(future)
}
