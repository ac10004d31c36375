//! Passwords: hashed with Argon2id, and never stored, shown or logged.

use std::fmt;
use std::sync::OnceLock;

use argon2::Argon2;
use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{Error, PasswordHasher, PasswordVerifier};
use feedsync_store::Environment;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

use super::PeopleError;
use super::token::PREFIX;

/// Permits for hashing. A hash takes 19 MiB and some hundredths of a second of CPU time, so at most two are
/// computed at once.
static HASH_PERMITS: Semaphore = Semaphore::const_new(2);

/// A valid password for a user.
pub struct Password(String);

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
            Ok(Self(text))
        }
    }

    /// Returns its hash in PHC notation, with a salt of its own.
    pub(super) async fn hash(self, environment: &dyn Environment) -> Result<String, PeopleError> {
        let mut salt = [0; 16];
        salt[..8].copy_from_slice(&environment.random().to_be_bytes());
        salt[8..].copy_from_slice(&environment.random().to_be_bytes());
        with_permit(move || hash(&self.0, &salt)).await
    }
}

impl fmt::Debug for Password {
    /// Hides the password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password")
    }
}

/// Whether a text is the password of a hash. Without a hash the result is `false`, after the same time.
pub(super) async fn fits(text: String, known: Option<String>) -> Result<bool, PeopleError> {
    with_permit(move || {
        let exists = known.is_some();
        let stored = known.map_or_else(dummy_hash, Ok)?;
        let stored = PasswordHash::new(&stored).map_err(|error| fault(error.into()))?;
        match Argon2::default().verify_password(text.as_bytes(), &stored) {
            Ok(()) => Ok(exists),
            Err(Error::PasswordInvalid) => Ok(false),
            Err(error) => Err(fault(error)),
        }
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
            assert_eq!(fits(text.to_owned(), hash.cloned()).await.unwrap(), expected, "{text}");
        }
        assert!(fits("correct horse".to_owned(), Some("$5$".to_owned())).await.is_err());
    }
}
