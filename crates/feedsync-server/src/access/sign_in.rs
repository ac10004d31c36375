//! Sign-in by a password, a token or an assertion, within the limits on guessing.

use std::net::IpAddr;
use std::sync::Arc;

use feedsync_endpoint::{Asserted, Person, TokenSecret};
use feedsync_store::{TokenKind, UserName};

use super::Access;
use super::assertions::Assertion;
use crate::http::problem::Problem;

impl Access {
    /// Returns the user whom a password signs in to something other than databases, within the limits on
    /// guessing.
    pub(crate) async fn by_password(
        &self,
        user: &UserName,
        password: &str,
        address: Option<IpAddr>,
    ) -> Result<Option<Arc<Person>>, Problem> {
        not_only_databases(self.by_password_for_databases(user, password, address).await?)
    }

    /// The same for databases.
    pub(crate) async fn by_password_for_databases(
        &self,
        user: &UserName,
        password: &str,
        address: Option<IpAddr>,
    ) -> Result<Option<Arc<Person>>, Problem> {
        let given = self.digest(&[user.as_str(), password]);
        if let Some(person) = self.people.get(&given) {
            return Ok(Some(person));
        }
        let known = self.endpoint.user(user).await?;
        let is_known = known.is_some();
        let stored = known.and_then(|user| user.password);
        let proof = self.digest(&[&given.to_string(), stored.as_deref().unwrap_or_default()]);
        let person = if self.verified.get(&proof).is_some() {
            self.endpoint.person(user).await?
        } else {
            // Unknown user names are not recorded, because some of them are passwords.
            let name = if is_known { user.as_str() } else { "unknown user" };
            if let Err(problem) = self.attempts.begin(address, Some(user)) {
                self.failed(address, &format!("{name}: too many attempts")).await;
                return Err(problem);
            }
            let person = self.endpoint.check_password(user, password).await?;
            match &person {
                Some(_) => self.attempts.succeeded(address, Some(user)),
                None => self.failed(address, &format!("{name}: wrong password")).await,
            }
            person
        };
        if person.is_some() {
            self.verified.insert(proof, ());
        }
        Ok(person.map(|person| self.cache_person(given, person)))
    }

    /// Returns the user whom an access token signs in to something other than databases, within the limits on
    /// guessing; none if the request names another user.
    pub(crate) async fn by_access_token(
        &self,
        secret: &TokenSecret,
        user: Option<&UserName>,
        address: Option<IpAddr>,
    ) -> Result<Option<Arc<Person>>, Problem> {
        not_only_databases(self.by_access_token_for_databases(secret, user, address).await?)
    }

    /// The same for databases.
    pub(crate) async fn by_access_token_for_databases(
        &self,
        secret: &TokenSecret,
        user: Option<&UserName>,
        address: Option<IpAddr>,
    ) -> Result<Option<Arc<Person>>, Problem> {
        let Some(person) = self.by_token(secret, TokenKind::Access, address).await? else {
            return Ok(None);
        };
        if user.is_some_and(|user| user != person.user()) {
            let why = format!("{}: the token was given with another user name", person.user());
            self.failed(address, &why).await;
            return Ok(None);
        }
        Ok(Some(person))
    }

    /// Returns the user of whom another system asserts that they signed in, within the limits on guessing.
    pub(super) async fn by_assertion(
        &self,
        asserted: Result<Assertion, &'static str>,
        address: Option<IpAddr>,
    ) -> Result<Option<Arc<Person>>, Problem> {
        let Assertion { user, roles, expires } = match asserted {
            Ok(assertion) => assertion,
            Err(why) => {
                if let Err(problem) = self.attempts.begin(address, None) {
                    self.failed(address, "too many attempts").await;
                    return Err(problem);
                }
                self.failed(address, why).await;
                return Ok(None);
            }
        };
        let asserted = Asserted { roles, expires };
        let person = self.endpoint.asserted_person(&user, asserted).await?;
        if person.is_none() {
            self.failed(address, "the user of an assertion is unknown or disabled").await;
        }
        Ok(person.map(Arc::new))
    }

    pub(super) async fn by_token(
        &self,
        secret: &TokenSecret,
        kind: TokenKind,
        address: Option<IpAddr>,
    ) -> Result<Option<Arc<Person>>, Problem> {
        let known = secret.digest();
        // A token has one kind and does not sign in as the other.
        let given = self.digest(&[&known.to_string(), &format!("{kind:?}")]);
        if let Some(person) = self.people.get(&given) {
            return Ok(Some(person));
        }
        // Browsers go on sending the cookie of an ended session, so that does not count as a guess.
        let tried = kind == TokenKind::Access && self.verified.get(&given).is_none();
        if tried && let Err(problem) = self.attempts.begin(address, None) {
            self.failed(address, "too many attempts").await;
            return Err(problem);
        }
        let person = self.endpoint.sign_in_with_secret(secret, kind).await?;
        if person.is_none() {
            self.verified.remove(&given);
            // Browsers go on sending the cookie of an ended session.
            if kind == TokenKind::Access {
                self.failed(address, "unknown, expired or revoked token").await;
            }
            return Ok(None);
        }
        if tried {
            self.attempts.succeeded(address, None);
        }
        self.verified.insert(given, ());
        Ok(person.map(|person| self.cache_person(given, person)))
    }
}

/// Refuses a user of databases alone.
fn not_only_databases(person: Option<Arc<Person>>) -> Result<Option<Arc<Person>>, Problem> {
    match person.as_ref().is_some_and(|person| person.uses_databases_only()) {
        true => Err(Problem::forbidden()),
        false => Ok(person),
    }
}
