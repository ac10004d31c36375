//! The log of the program, on standard error.
//!
//! A hub and a gateway always write one. Other commands write one if `FEEDSYNC_LOG` is set, as at level `debug`
//! to see each step of a synchronisation.

use feedsync_server::configuration::LogFormat;
use tracing::Level;
use tracing_subscriber::EnvFilter;

use crate::failure::Failure;

/// Variable with the filter of the log: a level of the program, or levels of its parts such as
/// `warn,feedsync_client=debug`. It precedes the level that a setting names.
const VARIABLE: &str = "FEEDSYNC_LOG";

/// Begins the log at this level, unless `FEEDSYNC_LOG` names a filter. `source` is what named the level.
pub(crate) fn begin(level: &str, source: &str, format: LogFormat) -> Result<(), Failure> {
    match requested() {
        Some(filter) => begin_with(&filter, VARIABLE, format),
        None => begin_with(level, source, format),
    }
}

/// Begins the log if `FEEDSYNC_LOG` names a filter.
pub(crate) fn begin_if_requested() -> Result<(), Failure> {
    match requested() {
        Some(filter) => begin_with(&filter, VARIABLE, LogFormat::Text),
        None => Ok(()),
    }
}

fn requested() -> Option<String> {
    std::env::var(VARIABLE).ok().filter(|filter| !filter.is_empty())
}

fn begin_with(filter: &str, source: &str, format: LogFormat) -> Result<(), Failure> {
    let filter = match filter.parse() {
        // Libraries log their own details at these levels, which no operator needs.
        Ok(Level::INFO | Level::DEBUG | Level::TRACE) => format!("warn,feedsync={filter}"),
        _ => filter.to_owned(),
    };
    let filter = EnvFilter::try_new(&filter)
        .map_err(|error| Failure::usage(format!("{source} {filter:?}: {error}")))?;
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    match format {
        LogFormat::Text => log.init(),
        LogFormat::Json => {
            log.json().flatten_event(true).with_current_span(true).with_span_list(false).init();
        }
    }
    Ok(())
}
