//! `feedsync user token`

use clap::{Args, Subcommand};
use feedsync_endpoint::{NewToken, Period, label};
use feedsync_store::{CollectionName, Role, Scope, Token as Stored, TokenKind, UserName};
use serde_json::json;

use crate::context::{Context, OpenEndpoint};
use crate::failure::Failure;
use crate::invocation::see_all;
use crate::output::{self, table, text};
use crate::view::{self, people};

const CREATE_EXAMPLES: &str = "\
Examples:
  feedsync user token create --user anna
  feedsync user token create --user anna --label phone --role reader --collection notes --expires 90d
  feedsync user token create --user anna > anna.token
  feedsync user token create --user anna --fever --label phone
";

const LIST_EXAMPLES: &str = "\
Examples:
  feedsync user token list
  feedsync user token list --user anna --json
";

const REVOKE_EXAMPLES: &str = "\
Examples:
  feedsync user token revoke 4f2a81c0
";

const GROUP_EXAMPLES: &str = "\
Examples:
  feedsync user token create --user anna
  feedsync user token list
  feedsync user token revoke 4f2a81c0
";

/// Create, list and revoke tokens, with which programs sign in at this hub
#[derive(Debug, Subcommand)]
#[command(after_help = GROUP_EXAMPLES)]
pub(crate) enum Token {
    Create(Create),
    List(List),
    Revoke(Revoke),
}

/// Create a token, and print it; it cannot be shown again
///
/// Programs send it as Bearer token, or as the password of its user; `remote login` stores it for feedsync. A token
/// never allows more than its user may do. The hub stores only the digest of the token.
#[derive(Debug, Args)]
#[command(after_help = CREATE_EXAMPLES)]
pub(crate) struct Create {
    /// User of the token [default: the only user]
    #[arg(long, value_name = "U")]
    user: Option<UserName>,
    /// Label that says what the token is for
    #[arg(long, value_name = "L", default_value = "")]
    label: String,
    /// Role that limits the token: reader, editor or owner [default: everything that the user may do]
    #[arg(long, value_name = "ROLE")]
    role: Option<Role>,
    /// Collection that the token is limited to [default: all]
    #[arg(long, value_name = "C")]
    collection: Option<CollectionName>,
    /// Time until the token expires, such as 12h or 90d [default: never]
    #[arg(long, value_name = "PERIOD")]
    expires: Option<Period>,
    /// Create a password for Fever newsreaders, in place of a token
    #[arg(long, conflicts_with_all = ["role", "collection"])]
    fever: bool,
}

/// List the tokens, by the beginning of their digests
#[derive(Debug, Args)]
#[command(after_help = LIST_EXAMPLES)]
pub(crate) struct List {
    /// List only the tokens of this user
    #[arg(long, value_name = "U")]
    user: Option<UserName>,
}

/// Revoke a token, at once and for good
#[derive(Debug, Args)]
#[command(after_help = REVOKE_EXAMPLES)]
pub(crate) struct Revoke {
    /// Id of the token in `user token list`, or the beginning of it
    id: String,
}

impl Token {
    pub(crate) async fn run(self, context: &Context, home: &OpenEndpoint) -> Result<(), Failure> {
        match self {
            Self::Create(create) => create.run(context, home).await,
            Self::List(list) => list.run(context, home).await,
            Self::Revoke(revoke) => revoke.run(context, home).await,
        }
    }
}

impl Create {
    async fn run(self, context: &Context, home: &OpenEndpoint) -> Result<(), Failure> {
        let user = match self.user {
            Some(user) => user,
            None => only_user(context, home).await?,
        };
        let label = label(&self.label).map_err(|error| Failure::usage(error.to_string()))?;
        let now = home.endpoint.environment().now();
        let expires = self.expires.map(|period| period.after(now));
        let scope = Scope { role: self.role, collection: self.collection };
        let new = NewToken { user, kind: TokenKind::Access, label, scope, expires };
        let (secret, token) = if self.fever {
            home.endpoint.issue_fever_password(new).await?
        } else {
            let (secret, token) = home.endpoint.issue_token(new).await?;
            (secret.as_str().to_owned(), token)
        };
        if context.json {
            let mut value = people::token(&token, now);
            value["token"] = secret.into();
            return output::json(&value);
        }
        output::line(secret)
    }
}

impl List {
    async fn run(self, context: &Context, home: &OpenEndpoint) -> Result<(), Failure> {
        let tokens = match &self.user {
            Some(user) => home.store.tokens(user).await?,
            None => all(home).await?,
        };
        let now = home.endpoint.environment().now();
        if context.json {
            return output::json(&tokens.iter().map(|token| people::token(token, now)).collect());
        }
        if tokens.is_empty() {
            let create = context.command("user token create --user NAME");
            return output::line(format!("no tokens yet; to create one: {create}"));
        }
        let row = |token: &Stored| {
            let expires = match token.expires {
                None => "never".to_owned(),
                Some(_) if token.is_expired(now) => "expired".to_owned(),
                Some(moment) => view::shown(moment),
            };
            let scope = match (&token.scope.role, &token.scope.collection) {
                (None, None) => "all".to_owned(),
                (Some(role), None) => role.to_string(),
                (None, Some(collection)) => format!("all in {collection}"),
                (Some(role), Some(collection)) => format!("{role} in {collection}"),
            };
            let kind = people::token_kind(token).to_owned();
            let label = text::short(&token.label, 40);
            [people::token_id(token), token.user.to_string(), kind, scope, expires, label]
        };
        let rows: Vec<_> = tokens.iter().map(row).collect();
        let headings = ["ID", "USER", "KIND", "ALLOWS", "EXPIRES", "LABEL"];
        output::print(&table::table(headings, &rows))
    }
}

impl Revoke {
    async fn run(self, context: &Context, home: &OpenEndpoint) -> Result<(), Failure> {
        if self.id.len() < 4 {
            return Err(Failure::usage("type at least 4 characters of the id"));
        }
        let mut tokens = all(home).await?;
        tokens.retain(|token| token.digest.to_string().starts_with(&self.id));
        match &*tokens {
            [token] => {
                home.endpoint.revoke_token(&token.user, token.digest).await?;
                let id = people::token_id(token);
                let value = json!({ "revoked": id, "user": token.user.as_str() });
                output::result(context.json, &value, format!("revoked {id} of {}", token.user))
            }
            [] => Err(Failure::not_found(format!("there is no token {}", text::line(&self.id)))
                .hint(see_all("user token list"))),
            _ => Err(Failure::usage(format!("more than one token begins with {}", self.id))
                .hint("type more of the id")),
        }
    }
}

async fn all(home: &OpenEndpoint) -> Result<Vec<Stored>, Failure> {
    let mut tokens = Vec::new();
    for user in home.store.users().await? {
        tokens.extend(home.store.tokens(&user.name).await?);
    }
    Ok(tokens)
}

async fn only_user(context: &Context, home: &OpenEndpoint) -> Result<UserName, Failure> {
    let mut users = home.store.users().await?;
    match users.len() {
        1 => Ok(users.swap_remove(0).name),
        0 => {
            let add = context.command("user add NAME --administrator");
            Err(Failure::not_found("there is no user yet").hint(format!("add one: {add}")))
        }
        _ => Err(Failure::usage("there are several users: name one with --user")),
    }
}
