//! `feedsync store init`

use clap::Args;
use serde_json::json;

use crate::context::Context;
use crate::failure::Failure;
use crate::output;

const EXAMPLES: &str = "\
Examples:
  feedsync store init
  feedsync store init --endpoint laptop
  feedsync store init --data ~/lists --endpoint lists
";

/// Create an endpoint in the data directory
///
/// The name of the endpoint is part of the signature of each of its edits, which everybody who reads the feeds can
/// see. So the default is the name of the machine, not of the user. The name cannot be changed later.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Init {}

impl Init {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        let home = context.init().await?;
        let identity = home.endpoint.identity().await?;
        if context.json {
            return output::json(&json!({
                "data": home.place,
                "name": identity.name.as_str(),
                "by": identity.by.as_str(),
            }));
        }
        output::line(format!("{} is the endpoint {}", home.place, identity.name))
    }
}
