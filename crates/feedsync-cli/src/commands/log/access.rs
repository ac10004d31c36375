//! Access to the log that a command names.

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use feedsync_client::{FileLog, LogAccess, RemoteLog, StoredLog};
use feedsync_fetch::{address, with_scheme};
use feedsync_log::Stop;
use feedsync_store::{CollectionName, Environment as _, SystemEnvironment};

use crate::context::Context;
use crate::failure::{Failure, note};
use crate::output::progress;

/// Maximum size in bytes of a log of this endpoint to which a command appends. The hub has its own limit.
const MAX_LOG_BYTES: u64 = 1 << 40;

/// Opens the log at an address, of a local collection, or in a file.
pub(crate) async fn access(context: &Context, named: &str) -> Result<Box<dyn LogAccess>, Failure> {
    if named.starts_with("http://") || named.starts_with("https://") {
        let log = RemoteLog::new(context.way().fetcher()?, address(named)?);
        return Ok(Box::new(log.reporting(report_retry)));
    }
    if let Some(meant) = with_scheme(named).filter(|_| !Path::new(named).exists()) {
        let message = format!("{named}: there is no such file");
        return Err(Failure::not_found(message).hint(format!("if it is an address: {meant}")));
    }
    if named.contains(['/', '.', '\\']) {
        return Ok(Box::new(FileLog::new(PathBuf::from(named))));
    }
    let name = CollectionName::new(named).map_err(|error| {
        Failure::usage(error).hint("a log is an http or https address, a collection, or a file")
    })?;
    let home = context.open().await?;
    home.endpoint.collection(&name).await?;
    Ok(Box::new(StoredLog::new(home.endpoint.clone(), name, MAX_LOG_BYTES)))
}

/// Reports a retry and its reason on a terminal.
fn report_retry(reason: &Stop, pause: Duration) {
    if std::io::stderr().is_terminal() {
        progress::above(|| note(&retry(reason, pause)));
    }
}

fn retry(reason: &Stop, pause: Duration) -> String {
    match pause.as_secs() {
        0 => format!("{reason}; trying again"),
        seconds => format!("{reason}; trying again in {seconds} s"),
    }
}

/// A random number.
pub(crate) fn random() -> u64 {
    SystemEnvironment.random()
}

#[cfg(test)]
mod tests {
    use feedsync_log::Interruption;

    use super::*;

    #[test]
    fn retry_names_the_reason_and_the_pause() {
        let (host, reason) = ("hub.example".to_owned(), "connection refused".to_owned());
        let refused = Stop::Interrupted(Interruption::Unreachable { host, reason });
        assert_eq!(
            retry(&refused, Duration::from_millis(2_300)),
            "cannot connect to hub.example: connection refused; trying again in 2 s"
        );
        assert!(retry(&refused, Duration::from_millis(300)).ends_with("; trying again"));
    }
}
