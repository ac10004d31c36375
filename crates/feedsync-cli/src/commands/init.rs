//! `feedsync init`

use clap::Args;
use serde_json::json;

use crate::context::Context;
use crate::failure::Failure;
use crate::output;

const EXAMPLES: &str = "\
Examples:
  feedsync init
  feedsync init --endpoint laptop
  feedsync init --data ~/lists --endpoint lists
";

/// Make a new endpoint in the data directory
///
/// An endpoint is one life of one data directory. Its name is the first part of what signs each of its
/// edits, which everybody who reads the feeds can see. So the default is a name of the machine, never
/// of the person. It cannot be changed later.
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
