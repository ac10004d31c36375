//! Passwords: hashed with Argon2id, and never stored, shown or logged.
//!
//! Passwords that CouchDB hashed are taken over as they are, and hashed anew when their user signs in.

use std::fmt;
use std::sync::OnceLock;

use argon2::Argon2;
use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{Error, PasswordHasher, PasswordVerifier};
use feedsync_couch::HashedPassword;
use feedsync_store::Environment;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

use super::token::PREFIX;
use super::{PeopleError, imported};

/// Permits for hashing. A hash takes 19 MiB and some hundredths of a second of CPU time, so at most two are
/// computed at once.
static HASH_PERMITS: Semaphore = Semaphore::const_new(2);

/// A valid password for a user.
pub struct Password(Secret);

enum Secret {
    Text(String),
    /// The stored form of a password that CouchDB hashed.
    Imported(String),
}

/// Result of comparing a text with a stored password.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Comparison {
    Different,
    Equal,
    /// It is equal, and its stored form is weaker than that of new passwords.
    Weak,
}

/// Reason why a text cannot be a password.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PasswordError {
    /// It would be easy to guess.
    #[error("a password must have at least 8 characters")]
    Short,
    /// It would cost time without any benefit.
    #[error("a password can have at most 1024 bytes")]
    Long,
    /// It would be mistaken for a token.
    #[error("a password must not begin with fsy_, because tokens do")]
    Token,
}

impl Password {
    /// Checks a text: 8 characters to 1,024 bytes, and not like a token.
    pub fn new(text: impl Into<String>) -> Result<Self, PasswordError> {
        let text = text.into();
        if text.chars().count() < 8 {
            Err(PasswordError::Short)
        } else if text.len() > 1024 {
            Err(PasswordError::Long)
        } else if text.starts_with(PREFIX) {
            Err(PasswordError::Token)
        } else {
            Ok(Self(Secret::Text(text)))
        }
    }

    /// Takes over a password that CouchDB hashed. Its text is not known, and so not checked.
    pub fn imported(hashed: &HashedPassword) -> Self {
        Self(Secret::Imported(imported::stored(hashed)))
    }

    /// Returns its hash in PHC notation, with a salt of its own.
    pub(super) async fn hash(self, environment: &dyn Environment) -> Result<String, PeopleError> {
        match self.0 {
            Secret::Text(text) => Self::hash_text(text, environment).await,
            Secret::Imported(stored) => Ok(stored),
        }
    }

    /// Returns the hash of a text, which need not be valid for a new password.
    pub(super) async fn hash_text(
        text: String,
        environment: &dyn Environment,
    ) -> Result<String, PeopleError> {
        let mut salt = [0; 16];
        salt[..8].copy_from_slice(&environment.random().to_be_bytes());
        salt[8..].copy_from_slice(&environment.random().to_be_bytes());
        with_permit(move || hash(&text, &salt)).await
    }
}

impl fmt::Debug for Password {
    /// Hides the password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password")
    }
}

/// Compares a text with a stored password. Without one they are different, after the same time.
pub(super) async fn compare(
    text: String,
    known: Option<String>,
) -> Result<Comparison, PeopleError> {
    with_permit(move || {
        let imported = known.as_deref().and_then(|known| imported::fits(&text, known));
        // One that was imported takes the time of others, too.
        let exists = known.is_some() && imported.is_none();
        let stored = known.filter(|_| exists).map_or_else(dummy_hash, Ok)?;
        let stored = PasswordHash::new(&stored).map_err(|error| fault(error.into()))?;
        let is_equal = match Argon2::default().verify_password(text.as_bytes(), &stored) {
            Ok(()) => exists,
            Err(Error::PasswordInvalid) => false,
            Err(error) => return Err(fault(error)),
        };
        Ok(match (imported, is_equal) {
            (Some(true), _) => Comparison::Weak,
            (_, true) => Comparison::Equal,
            (_, false) => Comparison::Different,
        })
    })
    .await
}

/// Returns the hash of a password that no user has.
fn dummy_hash() -> Result<String, PeopleError> {
    static HASH: OnceLock<String> = OnceLock::new();
    if let Some(known) = HASH.get() {
        return Ok(known.clone());
    }
    let made = hash("nobody", b"nobody's own salt")?;
    Ok(HASH.get_or_init(|| made).clone())
}

fn hash(text: &str, salt: &[u8]) -> Result<String, PeopleError> {
    let hash: PasswordHash =
        Argon2::default().hash_password_with_salt(text.as_bytes(), salt).map_err(fault)?;
    Ok(hash.to_string())
}

fn fault(error: Error) -> PeopleError {
    PeopleError::Hash(error.to_string())
}

async fn with_permit<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, PeopleError> + Send + 'static,
) -> Result<T, PeopleError> {
    let stopped = || PeopleError::Hash("the program is shutting down".to_owned());
    let turn = HASH_PERMITS.acquire().await.map_err(|_| stopped())?;
    // The permit moves into the task, since the work continues even if the caller stops waiting.
    let work = move || {
        let _turn = turn;
        work()
    };
    spawn_blocking(work).await.map_err(|_| stopped())?
}

#[cfg(test)]
mod tests {
    use feedsync_store::SystemEnvironment;

    use super::*;

    #[test]
    fn a_password_is_neither_short_nor_long_nor_a_token() {
        assert_eq!(Password::new("1234567").unwrap_err(), PasswordError::Short);
        assert_eq!(Password::new("a".repeat(1025)).unwrap_err(), PasswordError::Long);
        assert_eq!(Password::new("fsy_12345678").unwrap_err(), PasswordError::Token);
        assert!(Password::new("äöüäöüäö").is_ok());
        assert_eq!(format!("{:?}", Password::new("correct horse").unwrap()), "Password");
    }

    #[tokio::test]
    async fn a_hash_is_argon2id_and_fits_its_password_alone() {
        let password = || Password::new("correct horse").unwrap();
        let first = password().hash(&SystemEnvironment).await.unwrap();
        let second = password().hash(&SystemEnvironment).await.unwrap();
        assert!(first.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{first}");
        assert_ne!(first, second, "each has a salt of its own");
        for (text, hash, expected) in [
            ("correct horse", Some(&first), true),
            ("correct horse", Some(&second), true),
            ("correct horsE", Some(&first), false),
            ("", Some(&first), false),
            ("nobody", None, false),
        ] {
            let found = compare(text.to_owned(), hash.cloned()).await.unwrap();
            assert_eq!(found == Comparison::Equal, expected, "{text}");
        }
        assert!(compare("correct horse".to_owned(), Some("$5$".to_owned())).await.is_err());
    }
}
