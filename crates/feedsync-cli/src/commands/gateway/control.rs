//! Requests of commands to a running gateway.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use clap::Args;
use feedsync_gateway::control::{Client, ClientError};
use http::{Method, StatusCode};
use serde_json::Value;

use crate::context::Context;
use crate::failure::Failure;
use crate::output;
use crate::values::socket;

/// Directory of the gateway within the data directory.
const DIRECTORY: &str = "gateway";

/// Path of the gateway's data within a data directory.
pub(crate) fn directory(data: &Path) -> PathBuf {
    data.join(DIRECTORY)
}

/// The gateway that a command addresses.
#[derive(Debug, Args)]
pub(crate) struct Which {
    /// Control address of the gateway [default: the one that the gateway wrote into its data directory]
    #[arg(long, value_name = "ADDRESS", value_parser = socket)]
    control: Option<SocketAddr>,
}

/// Client of a running gateway.
pub(super) struct Gateway<'c> {
    client: Client,
    context: &'c Context,
}

impl Which {
    /// Creates a client of the gateway that the options name.
    pub(super) fn gateway<'c>(&self, context: &'c Context) -> Result<Gateway<'c>, Failure> {
        let client = Client::of(&directory(&context.data), self.control);
        let client = client.map_err(|error| failed(error, context))?;
        Ok(Gateway { client, context })
    }
}

impl Gateway<'_> {
    /// Sends a GET request.
    pub(super) async fn get(&self, path: &str) -> Result<Value, Failure> {
        self.ask(Method::GET, path, None).await
    }

    /// Sends a POST request.
    pub(super) async fn post(&self, path: &str) -> Result<Value, Failure> {
        self.ask(Method::POST, path, None).await
    }

    pub(super) async fn ask(
        &self,
        method: Method,
        path: &str,
        value: Option<&Value>,
    ) -> Result<Value, Failure> {
        let asked = self.client.ask(method, path, value).await;
        asked.map_err(|error| failed(error, self.context))
    }

    /// Finds the control path of a subscription by its number or by the address of its feed.
    pub(super) async fn subscription(&self, named: &str) -> Result<String, Failure> {
        if named.bytes().all(|byte| byte.is_ascii_digit()) {
            return Ok(format!("/subscriptions/{named}"));
        }
        let hint = self.context.command("gateway status");
        let hint = || format!("see them all: {hint}");
        let list = self.get("/subscriptions").await?;
        let is_named = |one: &&Value| one["feed"].as_str().is_some_and(|feed| is_same(feed, named));
        let found: Vec<&Value> = list.as_array().into_iter().flatten().filter(is_named).collect();
        match &*found {
            [] => Err(Failure::not_found(format!("nothing subscribes to {named}")).hint(hint())),
            [one] => Ok(format!("/subscriptions/{}", one["id"].as_str().unwrap_or_default())),
            more => {
                let ids: Vec<&str> = more.iter().filter_map(|one| one["id"].as_str()).collect();
                let message =
                    format!("{named} is subscribed to more than once: {}", ids.join(", "));
                Err(Failure::usage(message).hint("give the number instead"))
            }
        }
    }

    /// Prints the result of a command: `value` with `--json`, otherwise `text`.
    pub(super) fn done(&self, value: &Value, text: &str) -> Result<(), Failure> {
        if self.context.json { output::json(value) } else { output::line(text) }
    }
}

/// Whether two texts name the same feed. A gateway writes addresses as browsers do.
fn is_same(feed: &str, named: &str) -> bool {
    let bare = |text: &str| text.trim_end_matches('/').to_owned();
    let parsed = feedsync_fetch::address(named).map(|url| url.to_string());
    bare(feed) == bare(named) || parsed.is_ok_and(|named| bare(feed) == bare(&named))
}

/// Converts an error of the client into a failure with the matching exit code.
fn failed(error: ClientError, context: &Context) -> Failure {
    let run = context.command("gateway");
    match error {
        ClientError::Token { ref source, .. } if source.kind() == std::io::ErrorKind::NotFound => {
            Failure::not_found("no gateway has run with this data directory")
                .hint(format!("run one: {run}"))
        }
        ClientError::Token { .. } => Failure::store(error),
        ClientError::Unreachable { .. } => Failure::network(error).hint(format!("run one: {run}")),
        ClientError::Refused { status, ref detail } => match status {
            StatusCode::NOT_FOUND => Failure::not_found(detail),
            StatusCode::UNAUTHORIZED => Failure::refused(detail)
                .hint("the gateway at this address has another data directory"),
            status if status.is_server_error() => Failure::store(detail),
            _ => Failure::refused(detail),
        },
    }
}
