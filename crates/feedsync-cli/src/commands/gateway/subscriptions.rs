//! `feedsync gateway subscribe`, `unsubscribe`, `pause`, `resume` and `follow`

use clap::Args;
use feedsync_fetch::with_scheme;
use http::Method;
use serde_json::json;

use super::control::Which;
use super::status::shown;
use crate::context::Context;
use crate::failure::Failure;

const SUBSCRIBE_EXAMPLES: &str = "\
Examples:
  feedsync gateway subscribe https://example.org/feed.atom
  feedsync gateway subscribe https://example.org/notes --follow edit --follow enclosure --interval 5
  feedsync gateway subscribe https://example.org/private --header \"Authorization: Bearer $TOKEN\"
";

/// Subscribe to a feed, so that applications can read and edit it online and offline
#[derive(Debug, Args)]
#[command(after_help = SUBSCRIBE_EXAMPLES)]
pub(crate) struct Subscribe {
    /// Address of the feed
    url: String,
    /// Also store the resources behind links of this relation, such as edit or enclosure (can be repeated)
    #[arg(long, value_name = "REL")]
    follow: Vec<String>,
    /// Minimum interval between two requests for the feed, in minutes [default: 30 minutes]
    #[arg(long, value_name = "MINUTES")]
    interval: Option<u16>,
    /// Header that is sent to the server, such as 'Accept-Language: da' (can be repeated). Applications must send the
    /// same Authorization and Cookie to read what is stored. Others on this machine can see a command line
    #[arg(long, value_name = "NAME: VALUE", value_parser = header)]
    header: Vec<(String, String)>,
    /// Address of a proxy description: the gateway answers for the addresses that it lists, in place of that proxy
    #[arg(long, value_name = "URL")]
    proxy: Option<String>,
    #[command(flatten)]
    which: Which,
}

fn header(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once(':').ok_or("a header is written as 'Name: value'")?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

const UNSUBSCRIBE_EXAMPLES: &str = "\
Examples:
  feedsync gateway unsubscribe https://example.org/feed.atom
  feedsync gateway unsubscribe 2       # its number, as `gateway status` shows it
";

/// End a subscription for all applications; queued edits are still sent
#[derive(Debug, Args)]
#[command(after_help = UNSUBSCRIBE_EXAMPLES)]
pub(crate) struct Unsubscribe {
    #[command(flatten)]
    one: One,
}

const PAUSE_EXAMPLES: &str = "\
Examples:
  feedsync gateway pause https://example.org/feed.atom
  feedsync gateway pause 2
";

/// Pause a subscription: the stored feed stays, and queued edits are still sent
#[derive(Debug, Args)]
#[command(after_help = PAUSE_EXAMPLES)]
pub(crate) struct Pause {
    #[command(flatten)]
    one: One,
}

const RESUME_EXAMPLES: &str = "\
Examples:
  feedsync gateway resume https://example.org/feed.atom
  feedsync gateway resume 2
";

/// Resume a subscription that is paused or failed, and fetch its feed now
#[derive(Debug, Args)]
#[command(after_help = RESUME_EXAMPLES)]
pub(crate) struct Resume {
    #[command(flatten)]
    one: One,
}

const FOLLOW_EXAMPLES: &str = "\
Examples:
  feedsync gateway follow https://example.org/feed.atom enclosure
  feedsync gateway follow 2 enclosure --stop
";

/// Also store the resources behind links of a relation
#[derive(Debug, Args)]
#[command(after_help = FOLLOW_EXAMPLES)]
pub(crate) struct Follow {
    #[command(flatten)]
    one: One,
    /// Relation of the links, such as edit, enclosure or related
    relation: String,
    /// Stop following the relation
    #[arg(long)]
    stop: bool,
}

/// A subscription.
#[derive(Debug, Args)]
struct One {
    /// Address of the feed, or number of the subscription
    subscription: String,
    #[command(flatten)]
    which: Which,
}

impl Subscribe {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        if let Some(meant) = with_scheme(&self.url) {
            let message = format!("{}: an address begins with https:// or http://", self.url);
            return Err(Failure::usage(message).hint(format!("such as {meant}")));
        }
        let gateway = self.which.gateway(context)?;
        let pair = |(name, value): &(String, String)| json!({ "name": name, "value": value });
        let wanted = json!({
            "feed": self.url,
            "follows": self.follow,
            "interval": self.interval.unwrap_or(0),
            "proxy": self.proxy,
            "headers": self.header.iter().map(pair).collect::<Vec<_>>(),
        });
        let made = gateway.ask(Method::POST, "/subscriptions", Some(&wanted)).await?;
        let (id, feed) = (shown(&made["id"]), shown(&made["feed"]));
        gateway.done(&made, &format!("{id}: {feed} every {} minutes", made["interval"]))
    }
}

impl Unsubscribe {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        let gateway = self.one.which.gateway(context)?;
        let at = gateway.subscription(&self.one.subscription).await?;
        let view = gateway.get(&at).await?;
        gateway.ask(Method::DELETE, &at, None).await?;
        let feed = shown(&view["feed"]);
        let text = match view["edits"].as_u64() {
            None | Some(0) => format!("unsubscribed from {feed}"),
            Some(edits) => {
                format!("unsubscribed from {feed}; edits that will still be sent: {edits}")
            }
        };
        gateway.done(&json!({ "unsubscribed": feed, "edits": view["edits"] }), &text)
    }
}

impl Pause {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        self.one.send_action(context, "pause").await
    }
}

impl Resume {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        self.one.send_action(context, "resume").await
    }
}

impl One {
    async fn send_action(&self, context: &Context, how: &str) -> Result<(), Failure> {
        let gateway = self.which.gateway(context)?;
        let at = gateway.subscription(&self.subscription).await?;
        let view = gateway.post(&format!("{at}/{how}")).await?;
        gateway.done(&view, &format!("{} is {}", shown(&view["feed"]), shown(&view["state"])))
    }
}

impl Follow {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        let gateway = self.one.which.gateway(context)?;
        let at = gateway.subscription(&self.one.subscription).await?;
        let relation = encoded(&self.relation);
        let method = if self.stop { Method::DELETE } else { Method::PUT };
        let view = gateway.ask(method, &format!("{at}/follows/{relation}"), None).await?;
        let follows: Vec<String> =
            view["follows"].as_array().into_iter().flatten().map(shown).collect();
        let follows = if follows.is_empty() { "nothing".to_owned() } else { follows.join(", ") };
        gateway.done(&view, &format!("{} follows {follows}", shown(&view["feed"])))
    }
}

/// Percent-encodes a text as one path segment.
fn encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    text.bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_relation_is_one_segment_of_an_address() {
        assert_eq!(encoded("enclosure"), "enclosure");
        assert_eq!(encoded("http://a/ä?b"), "http%3A%2F%2Fa%2F%C3%A4%3Fb");
    }

    #[test]
    fn a_header_is_a_name_and_a_value() {
        let header = header("Authorization: Bearer a:b").unwrap();
        assert_eq!(header, ("Authorization".to_owned(), "Bearer a:b".to_owned()));
        assert!(super::header("nothing").is_err());
    }
}
