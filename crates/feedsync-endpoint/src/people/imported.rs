//! Passwords that CouchDB hashed with PBKDF2, in the form `$couchdb-pbkdf2$DIGEST$ITERATIONS$SALT$KEY`.

use std::num::NonZeroU32;

use feedsync_couch::{HashedPassword, PasswordDigest, hexadecimal_bytes};
use ring::pbkdf2::{
    self, PBKDF2_HMAC_SHA1, PBKDF2_HMAC_SHA256, PBKDF2_HMAC_SHA384, PBKDF2_HMAC_SHA512,
};

const PREFIX: &str = "$couchdb-pbkdf2$";

/// Returns the stored form.
pub(super) fn stored(hashed: &HashedPassword) -> String {
    let HashedPassword { digest, iterations, salt, derived_key } = hashed;
    format!("{PREFIX}{}${iterations}${salt}${derived_key}", digest.name())
}

/// Whether a text is the password of a stored form; `None` if that was not made by [`stored`].
pub(super) fn fits(text: &str, stored: &str) -> Option<bool> {
    let parts: Vec<&str> = stored.strip_prefix(PREFIX)?.split('$').collect();
    let [digest, iterations, salt, key] = parts[..] else { return None };
    let algorithm = match PasswordDigest::named(digest)? {
        PasswordDigest::Sha1 => PBKDF2_HMAC_SHA1,
        PasswordDigest::Sha256 => PBKDF2_HMAC_SHA256,
        PasswordDigest::Sha384 => PBKDF2_HMAC_SHA384,
        PasswordDigest::Sha512 => PBKDF2_HMAC_SHA512,
    };
    let iterations = NonZeroU32::new(iterations.parse().ok()?)?;
    let key = hexadecimal_bytes(key)?;
    let verified = pbkdf2::verify(algorithm, iterations, salt.as_bytes(), text.as_bytes(), &key);
    Some(verified.is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first row is the example of CouchDB's documentation.
    #[test]
    fn passwords_of_couchdb_fit_their_texts_alone() {
        for (digest, iterations, text, key) in [
            (PasswordDigest::Sha1, 10, "apple", "e579375db0e0c6a6fc79cd9e36a36859f71575c3"),
            (
                PasswordDigest::Sha256,
                600,
                "plumbus 4",
                "9d022b8cfe5e0bb22631428c77bced494fdc3c506471434012342ecd13b1d3ba",
            ),
            (
                PasswordDigest::Sha384,
                600,
                "plumbus 4",
                "2c1f399b60f048ade30f865dd8c80888f4287f8e5420a3c9f94aa46f7d0d5248af6c967cf8f36b9c3a31e911a6473993",
            ),
            (
                PasswordDigest::Sha512,
                600,
                "plumbus 4",
                "28cdd58072cf2287db9efcf826b862f61efda3602d2c6a0c4e4c19249c6192297b30978d9a991b10097db5583489ffb6\
                 bf4ec59da60d7c5ae19de6ecda1689f4",
            ),
        ] {
            let salt = "1112283cf988a34f124200a050d308a1".to_owned();
            let derived_key = key.to_owned();
            let hashed = HashedPassword { digest, iterations, salt, derived_key };
            let stored = stored(&hashed);
            assert_eq!(fits(text, &stored), Some(true), "{digest:?}");
            assert_eq!(fits(&format!("{text} "), &stored), Some(false));
            let other = stored.replace(&format!("${iterations}$"), "$11$");
            assert_eq!(fits(text, &other), Some(false));
        }
        for other in [
            "$argon2id$v=19$m=1$a$b",
            "$couchdb-pbkdf2$md5$1$a$00",
            "$couchdb-pbkdf2$sha$0$a$00",
            "",
        ] {
            assert_eq!(fits("apple", other), None, "{other}");
        }
    }
}
