//! Processes of this program that execute functions of design documents.

use std::path::PathBuf;
use std::process::ExitCode;

use feedsync_endpoint::Endpoint;
use feedsync_functions::engine::{Limits, run_confined};
use feedsync_functions::host::Program;
use feedsync_server::functions::HostedFunctions;

/// First argument of such a process. It is no command for people.
const ARGUMENT: &str = "execute-functions";

/// Executes functions if the arguments ask for it. This must be called before the process starts threads.
pub(crate) fn executed() -> Option<ExitCode> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (first, limits) = arguments.split_first()?;
    let is_failed = || run_confined(limits).is_err();
    (first == ARGUMENT).then(|| ExitCode::from(u8::from(is_failed())))
}

/// The endpoint, for which processes of this program execute functions.
pub(crate) fn with_functions(endpoint: Endpoint) -> Endpoint {
    let limits = Limits::default();
    // The program may have been replaced by another version since it was started.
    let running = PathBuf::from("/proc/self/exe");
    let path = match running.exists() {
        true => Ok(running),
        false => std::env::current_exe(),
    };
    let Ok(path) = path else { return endpoint };
    let arguments = std::iter::once(ARGUMENT.into()).chain(limits.to_arguments().map(Into::into));
    let program = Program { path, arguments: arguments.collect(), time: limits.time };
    endpoint.with_functions(HostedFunctions::new(program))
}
