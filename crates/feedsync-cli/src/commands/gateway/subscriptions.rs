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

/// Have the gateway keep a feed, for applications to read and edit with and without a network
#[derive(Debug, Args)]
#[command(after_help = SUBSCRIBE_EXAMPLES)]
pub(crate) struct Subscribe {
    /// The address of the feed
    url: String,
    /// Keep also what links of this relation lead to, such as edit or enclosure. Repeatable
    #[arg(long, value_name = "REL")]
    follow: Vec<String>,
    /// Fetch it at most so often, in minutes [default: 30]
    #[arg(long, value_name = "MINUTES")]
    interval: Option<u16>,
    /// Send this header, such as 'Accept-Language: da'. Who asks for what is stored must bring the same
    /// Authorization and Cookie. Repeatable. Others on this machine can see what stands on a command line
    #[arg(long, value_name = "NAME: VALUE", value_parser = header)]
    header: Vec<(String, String)>,
    /// The address of a document that names what a proxy of the feed's applications answers below: the gateway
    /// answers in its place
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

/// End a subscription for all applications; edits that are on their way still leave
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

/// Fetch a feed no more until it is resumed; what is stored stays, edits still leave
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

/// Fetch a feed now, whether it was paused, has failed or waits
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

/// Keep also what links of a relation lead to
#[derive(Debug, Args)]
#[command(after_help = FOLLOW_EXAMPLES)]
pub(crate) struct Follow {
    #[command(flatten)]
    one: One,
    /// The relation, such as edit, enclosure or related
    relation: String,
    /// Follow it no longer, as far as it was asked for here
    #[arg(long)]
    stop: bool,
}

/// A subscription.
#[derive(Debug, Args)]
struct One {
    /// The address of the feed, or the number of the subscription
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
            None | Some(0) => format!("{feed} is not kept any more"),
            Some(edits) => format!("{feed} is not kept any more; {edits} edits still leave"),
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
