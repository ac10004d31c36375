//! `feedsync remote login`

use clap::Args;
use feedsync_client::LoginFile;
use feedsync_fetch::{
    FetchError, Fetched, Fetcher, Login as StoredLogin, LoginOrigin, Logins, Policy, Private,
    Request, Url, address, shown_text,
};
use feedsync_formats::{ReadOptions, read};
use serde_json::json;

use crate::context::Context;
use crate::failure::Failure;
use crate::invocation::command;
use crate::output::progress::Progress;
use crate::{output, secret};

const EXAMPLES: &str = "\
Examples:
  feedsync remote login https://hub.example           # asks for a token
  feedsync remote login https://hub.example --stdin < anna.token
  feedsync remote login https://hub.example --user anna
";

const ACCEPT: &str = "application/json, application/atom+xml, */*;q=0.5";

/// Maximum size of the response that shows whether the hub accepts a login, in bytes.
const MAX_BYTES: u64 = 64 << 20;

/// Log in to a hub with a token, or with a name and a password
///
/// The command tries the login at the hub, and stores it in a file of the data directory that only you can read. It
/// is sent only to this scheme, host and port, and never after a redirect to another one. It is sent over plain HTTP
/// only to this machine.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Login {
    /// Address of the hub, or of a collection there
    url: String,
    /// Log in as this user with a password instead of a token
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// Read the token or password from the first line of standard input [default: ask on the terminal]
    #[arg(long)]
    stdin: bool,
}

impl Login {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        let url = address(&self.url)?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(Failure::usage("the address holds a name or a password").hint(format!(
                "leave them out; the command asks for the password: {}",
                context.command("remote login URL --user NAME")
            )));
        }
        let origin = LoginOrigin::of(&url)?;
        let what = if self.user.is_some() { "Password" } else { "Token" };
        let given = secret::ask(&format!("{what} for {origin}: "), self.stdin, "--stdin")?;
        let login = match self.user {
            Some(user) => StoredLogin::password(user, given),
            None => StoredLogin::token(given),
        };
        let login = login.map_err(Failure::refused)?;
        let again = match login.user() {
            Some(user) => format!(
                "try again: {}; to change the password, run at the hub: user password {user}",
                command(&format!("remote login {origin} --user {user}"))
            ),
            None => format!(
                "for a password: {}; to create a token, run at the hub: user token create",
                command(&format!("remote login {origin} --user NAME"))
            ),
        };
        check(&url, &origin, &login, &again).await?;
        let said = format!("logged in to {origin}");
        let value = json!({ "origin": origin.as_str(), "user": login.user() });
        LoginFile::within(&context.data).change(|logins| logins.keep(origin, login))?;
        output::result(context.json, &value, said)
    }
}

/// Sends a request to the hub to learn whether it accepts the login. Permissions are not checked.
///
/// `again` is advice for a login that the hub refuses.
async fn check(
    url: &Url,
    origin: &LoginOrigin,
    login: &StoredLogin,
    again: &str,
) -> Result<(), Failure> {
    let _progress = Progress::spinner(&format!("asking {origin}"));
    let mut logins = Logins::default();
    logins.keep(origin.clone(), login.clone());
    let fetcher = Fetcher::new(Policy::new(Private::Allowed))?.with_logins(logins)?;
    let mut asked = url.clone();
    let is_hub = asked.path() == "/";
    if is_hub {
        asked.set_path("/collections");
    }
    let refused = || {
        Failure::refused(format!("{origin} does not accept the login; no login was stored"))
            .hint(again)
    };
    let request = Request::read(asked.clone()).accept(ACCEPT).within(MAX_BYTES);
    match fetcher.fetch(request).await {
        Ok(Fetched::Answer(mut answer)) => {
            answer.complete_document().await?;
            if answer.url().origin() != url.origin() {
                let elsewhere = answer.url().origin().ascii_serialization();
                return Err(Failure::refused(format!("{origin} redirects to {elsewhere}")).hint(
                    format!("if you trust it: {}", command(&format!("remote login {elsewhere}"))),
                ));
            }
            let is_right = is_list(answer.bytes()) || (!is_hub && is_feed(answer.bytes()));
            if is_right { Ok(()) } else { Err(no_hub(&asked)) }
        }
        Ok(Fetched::NotModified) => Err(no_hub(&asked)),
        Err(FetchError::Status { status, .. }) if status.as_u16() == 401 => Err(refused()),
        // A hub sends a problem document; a page of an intermediary does not.
        Err(FetchError::Status { status, problem: Some(_), .. })
            if matches!(status.as_u16(), 403 | 404) =>
        {
            Ok(())
        }
        Err(error) => Err(error.into()),
    }
}

/// Whether a document is a hub's list of its collections.
fn is_list(bytes: &[u8]) -> bool {
    let list = serde_json::from_slice::<Vec<serde_json::Map<String, serde_json::Value>>>(bytes);
    list.is_ok_and(|list| {
        list.iter().all(|one| one.contains_key("name") && one.contains_key("changes"))
    })
}

/// Whether a document is a feed, such as a feed server sends at its own addresses.
fn is_feed(bytes: &[u8]) -> bool {
    read(bytes, None, &ReadOptions::tolerant()).is_ok()
}

fn no_hub(asked: &Url) -> Failure {
    let asked = shown_text(asked.as_str());
    Failure::network(format!("{asked} does not respond like a hub; no login was stored"))
        .hint("is there a sign-in page in between?")
}
