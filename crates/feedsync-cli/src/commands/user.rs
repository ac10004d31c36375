//! `feedsync user`

mod token;

use clap::{Args, Subcommand};
use feedsync_endpoint::{NewUser, Password};
use feedsync_store::{GrantFilter, User as Stored, UserName};
use serde_json::json;

use crate::confirm::confirm;
use crate::context::{Context, OpenEndpoint};
use crate::failure::Failure;
use crate::output::{self, table, text};
use crate::{secret, view};

const ADD_EXAMPLES: &str = "\
Examples:
  feedsync user add anna --administrator       # asks for a password
  feedsync user add anna --password-stdin < password.txt
  feedsync user add backup --no-password       # signs in with tokens only
";

const LIST_EXAMPLES: &str = "\
Examples:
  feedsync user list
";

const REMOVE_EXAMPLES: &str = "\
Examples:
  feedsync user remove anna
";

const DISABLE_EXAMPLES: &str = "\
Examples:
  feedsync user disable anna
";

const ENABLE_EXAMPLES: &str = "\
Examples:
  feedsync user enable anna
";

const PROMOTE_EXAMPLES: &str = "\
Examples:
  feedsync user promote anna
";

const DEMOTE_EXAMPLES: &str = "\
Examples:
  feedsync user demote anna
";

const RESTRICT_EXAMPLES: &str = "\
Examples:
  feedsync user restrict anna
";

const UNRESTRICT_EXAMPLES: &str = "\
Examples:
  feedsync user unrestrict anna
";

const PASSWORD_EXAMPLES: &str = "\
Examples:
  feedsync user password anna                  # asks for it
  feedsync user password anna --password-stdin < password.txt
";

const GROUP_EXAMPLES: &str = "\
Examples:
  feedsync user add anna --administrator
  feedsync user list
  feedsync user token create --user anna --label phone
";

/// Add, list and change the users of this hub, and their tokens
///
/// A hub without users is open to everybody on this machine. As soon as there is a user, everybody has to sign in.
/// `collection grant` gives users roles in collections.
#[derive(Debug, Subcommand)]
#[command(after_help = GROUP_EXAMPLES)]
pub(crate) enum User {
    Add(Add),
    List(List),
    Remove(Remove),
    Disable(Disable),
    Enable(Enable),
    Promote(Promote),
    Demote(Demote),
    Restrict(Restrict),
    Unrestrict(Unrestrict),
    Password(NewPassword),
    #[command(subcommand)]
    Token(token::Token),
}

/// Add a user
///
/// Users may create their own collections and databases. They need a role in those of others. The first user must be
/// an administrator.
#[derive(Debug, Args)]
#[command(after_help = ADD_EXAMPLES)]
pub(crate) struct Add {
    /// Name: a lower-case letter, then lower-case letters, digits, '.', '_' or '-'
    name: UserName,
    /// Make the user an administrator, who may use all collections, settings and users
    #[arg(long)]
    administrator: bool,
    /// Let the user use databases only: no collections, no newsreaders, no pages
    #[arg(long, conflicts_with = "administrator")]
    databases_only: bool,
    /// Read the password from the first line of standard input [default: ask on the terminal]
    #[arg(long)]
    password_stdin: bool,
    /// Create no password: the user signs in with tokens only
    #[arg(long, conflicts_with = "password_stdin")]
    no_password: bool,
}

/// List the users
#[derive(Debug, Args)]
#[command(after_help = LIST_EXAMPLES)]
pub(crate) struct List {}

/// Remove a user with all roles and tokens
#[derive(Debug, Args)]
#[command(after_help = REMOVE_EXAMPLES)]
pub(crate) struct Remove {
    /// Name of the user
    name: UserName,
    /// Do not ask for confirmation
    #[arg(long, short)]
    yes: bool,
}

/// Disable sign-in for a user, by password and by token
#[derive(Debug, Args)]
#[command(after_help = DISABLE_EXAMPLES)]
pub(crate) struct Disable {
    /// Name of the user
    name: UserName,
}

/// Enable sign-in for a disabled user
#[derive(Debug, Args)]
#[command(after_help = ENABLE_EXAMPLES)]
pub(crate) struct Enable {
    /// Name of the user
    name: UserName,
}

/// Make a user an administrator
#[derive(Debug, Args)]
#[command(after_help = PROMOTE_EXAMPLES)]
pub(crate) struct Promote {
    /// Name of the user
    name: UserName,
}

/// Make an administrator an ordinary user
#[derive(Debug, Args)]
#[command(after_help = DEMOTE_EXAMPLES)]
pub(crate) struct Demote {
    /// Name of the user
    name: UserName,
}

/// Let a user use databases only: no collections, no newsreaders, no pages
///
/// Users who register themselves through the database _users are restricted so. Administrators have no restrictions.
#[derive(Debug, Args)]
#[command(after_help = RESTRICT_EXAMPLES)]
pub(crate) struct Restrict {
    /// Name of the user
    name: UserName,
}

/// Let a restricted user use collections, newsreaders and pages, too
#[derive(Debug, Args)]
#[command(after_help = UNRESTRICT_EXAMPLES)]
pub(crate) struct Unrestrict {
    /// Name of the user
    name: UserName,
}

/// Change the password of a user; browsers are signed out, tokens stay valid
#[derive(Debug, Args)]
#[command(after_help = PASSWORD_EXAMPLES)]
pub(crate) struct NewPassword {
    /// Name of the user
    name: UserName,
    /// Read the password from the first line of standard input [default: ask on the terminal]
    #[arg(long)]
    password_stdin: bool,
}

impl User {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        let home = context.open().await?;
        let endpoint = &home.endpoint;
        let (said, name) = match self {
            Self::Token(command) => return command.run(context, &home).await,
            Self::List(_) => return list(context, &home).await,
            Self::Add(Add { name, administrator, databases_only, password_stdin, no_password }) => {
                let password = match no_password {
                    true => None,
                    false => Some(password(&name, password_stdin)?),
                };
                let new = NewUser { name, password, administrator, databases_only };
                let user = endpoint.add_user(new).await?;
                if context.json {
                    return output::json(&view::people::user(&user));
                }
                return output::line(format!("added {}", user.name));
            }
            Self::Remove(Remove { name, yes }) => {
                home.user(&name).await?;
                let roles = home.store.grants(GrantFilter::User(&name)).await?.len() as u64;
                let tokens = home.store.tokens(&name).await?.len() as u64;
                if roles + tokens > 0 {
                    let roles = text::count(roles, "role");
                    let tokens = text::count(tokens, "token");
                    let disable = context.command(&format!("user disable {name}"));
                    let loss = format!("{name} loses {roles} and {tokens} ({disable} keeps them)");
                    confirm(&loss, yes)?;
                }
                endpoint.remove_user(&name).await?;
                let value = json!({ "removed": name.as_str() });
                return output::result(context.json, &value, format!("removed {name}"));
            }
            Self::Disable(Disable { name }) => {
                endpoint.set_disabled(&name, true).await?;
                (format!("disabled {name}"), name)
            }
            Self::Enable(Enable { name }) => {
                endpoint.set_disabled(&name, false).await?;
                (format!("enabled {name}"), name)
            }
            Self::Promote(Promote { name }) => {
                endpoint.set_administrator(&name, true).await?;
                (format!("{name} is an administrator"), name)
            }
            Self::Demote(Demote { name }) => {
                endpoint.set_administrator(&name, false).await?;
                (format!("{name} is no longer an administrator"), name)
            }
            Self::Restrict(Restrict { name }) => {
                endpoint.set_databases_only(&name, true).await?;
                (format!("{name} may use databases only"), name)
            }
            Self::Unrestrict(Unrestrict { name }) => {
                endpoint.set_databases_only(&name, false).await?;
                (format!("{name} is not restricted to databases"), name)
            }
            Self::Password(NewPassword { name, password_stdin }) => {
                // The user is looked up first, so that nobody types a password for a misspelt name.
                home.user(&name).await?;
                let password = password(&name, password_stdin)?;
                endpoint.set_password(&name, Some(password)).await?;
                (format!("{name} has a new password"), name)
            }
        };
        if context.json {
            return output::json(&view::people::user(&home.user(&name).await?));
        }
        output::line(said)
    }
}

fn password(name: &UserName, from_input: bool) -> Result<Password, Failure> {
    let question = format!("Password for {name}: ");
    let text = secret::ask_new(&question, from_input, "--password-stdin")?;
    Password::new(text).map_err(Failure::refused)
}

async fn list(context: &Context, home: &OpenEndpoint) -> Result<(), Failure> {
    let users = home.store.users().await?;
    if context.json {
        return output::json(&users.iter().map(view::people::user).collect());
    }
    if users.is_empty() {
        let add = context.command("user add NAME --administrator");
        return output::line(format!(
            "no users: everybody on this machine may do everything; to add one: {add}"
        ));
    }
    let row = |user: &Stored| {
        let kind = match (user.disabled, user.administrator) {
            (true, _) => "disabled",
            (false, true) => "administrator",
            (false, false) if user.databases_only => "databases only",
            (false, false) => "",
        };
        let password = if user.password.is_some() { "yes" } else { "no" };
        [user.name.to_string(), password.to_owned(), kind.to_owned()]
    };
    let rows: Vec<_> = users.iter().map(row).collect();
    output::print(&table::table(["NAME", "PASSWORD", ""], &rows))
}
