//! Passwords as CouchDB stores them: hashed with PBKDF2.

use feedsync_formats::json::Node;

use crate::hexadecimal::hexadecimal_bytes;
use crate::json::text;
use crate::refusal::{Refusal, RefusalKind};

/// Members that state a password in a hashed form.
pub(super) const MEMBERS: [&str; 6] =
    ["derived_key", "password_sha", "salt", "iterations", "password_scheme", "pbkdf2_prf"];

/// Maximum number of iterations. Each sign-in carries them out once.
pub const MAX_PASSWORD_ITERATIONS: u32 = 1_000_000;

/// Maximum number of characters of a salt.
const MAX_SALT_CHARS: usize = 128;

/// The hash function of PBKDF2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PasswordDigest {
    /// SHA-1, which also belongs to documents that name no hash function.
    Sha1,
    /// SHA-256.
    Sha256,
    /// SHA-384.
    Sha384,
    /// SHA-512.
    Sha512,
}

impl PasswordDigest {
    /// All hash functions.
    pub const ALL: [Self; 4] = [Self::Sha1, Self::Sha256, Self::Sha384, Self::Sha512];

    /// Its name in documents (`pbkdf2_prf`).
    pub fn name(self) -> &'static str {
        match self {
            Self::Sha1 => "sha",
            Self::Sha256 => "sha256",
            Self::Sha384 => "sha384",
            Self::Sha512 => "sha512",
        }
    }

    /// The hash function of a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|digest| digest.name() == name)
    }

    /// Size of its result in bytes.
    pub fn length(self) -> usize {
        match self {
            Self::Sha1 => 20,
            Self::Sha256 => 32,
            Self::Sha384 => 48,
            Self::Sha512 => 64,
        }
    }
}

/// A password that CouchDB hashed.
#[derive(Clone, PartialEq, Eq)]
pub struct HashedPassword {
    /// The hash function.
    pub digest: PasswordDigest,
    /// Number of iterations, 1 to [`MAX_PASSWORD_ITERATIONS`].
    pub iterations: u32,
    /// The salt, ASCII letters and digits. CouchDB takes this text as bytes, and not what its hexadecimal digits stand for.
    pub salt: String,
    /// The result in hexadecimal digits, as many as the hash function gives.
    pub derived_key: String,
}

impl std::fmt::Debug for HashedPassword {
    /// Hides the result and the salt.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { digest, iterations, .. } = self;
        f.debug_struct("HashedPassword")
            .field("digest", digest)
            .field("iterations", iterations)
            .finish_non_exhaustive()
    }
}

impl HashedPassword {
    /// Reads it from the document of a user; `None` if the document has no hashed password.
    pub(super) fn read(body: Node<'_>) -> Result<Option<Self>, Refusal> {
        let member = |name: &str| body.member(name).map(|it| it.value);
        let Some(first) = MEMBERS.into_iter().find(|name| member(name).is_some()) else {
            return Ok(None);
        };
        let refuse = |name: &str, must: &str| {
            let reason = format!("{name} of a hashed password must be {must}; or set `password`");
            RefusalKind::Forbidden.with_reason(reason)
        };
        let of = |name: &str| member(name).and_then(text).map(|text| text.into_owned());
        if of("password_scheme").as_deref() != Some("pbkdf2") {
            let reason = format!("{first} needs the password_scheme pbkdf2; or set `password`");
            return Err(RefusalKind::Forbidden.with_reason(reason));
        }
        let digest = match member("pbkdf2_prf") {
            None => Some(PasswordDigest::Sha1),
            Some(_) => of("pbkdf2_prf").and_then(|name| PasswordDigest::named(&name)),
        };
        let digest = digest.ok_or_else(|| refuse("pbkdf2_prf", "sha, sha256, sha384 or sha512"))?;
        let iterations = member("iterations").and_then(|it| it.raw().parse().ok());
        let iterations = iterations.filter(|count| (1..=MAX_PASSWORD_ITERATIONS).contains(count));
        let iterations =
            iterations.ok_or_else(|| refuse("iterations", "a number from 1 to 1000000"))?;
        let is_salt = |salt: &String| {
            (1..=MAX_SALT_CHARS).contains(&salt.len())
                && salt.bytes().all(|byte| byte.is_ascii_alphanumeric())
        };
        let salt = of("salt").filter(is_salt);
        let salt = salt.ok_or_else(|| refuse("salt", "1 to 128 letters and digits"))?;
        let is_key = |key: &String| {
            hexadecimal_bytes(key).is_some_and(|bytes| bytes.len() == digest.length())
        };
        let derived_key = of("derived_key").filter(is_key);
        let derived_key = derived_key.ok_or_else(|| {
            refuse("derived_key", "in hexadecimal digits, as long as its hash function makes it")
        })?;
        Ok(Some(Self { digest, iterations, salt, derived_key }))
    }
}
