//! JSON Web Tokens (RFC 7519), signed (RFC 7515) with a known key.
//!
//! The file with the keys has CouchDB's form: a line `KIND:ID = KEY`, with the id `_default` for tokens without one. Keys
//! of the kind `hmac` are in Base64; those of the kinds `rsa`, `ec` and `eddsa` are public keys in PEM, with `\n` for each
//! end of a line.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use feedsync_store::{Moment, UserName};
use ring::hmac;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256,
    RSA_PKCS1_2048_8192_SHA384, RSA_PKCS1_2048_8192_SHA512, UnparsedPublicKey,
    VerificationAlgorithm,
};
use rustls::pki_types::SubjectPublicKeyInfoDer;
use rustls::pki_types::pem::PemObject as _;
use serde_json::Value;
use spki::SubjectPublicKeyInfoRef;

use super::{Assertion, unreserved};

/// Maximum size of a token in bytes.
const MAX_TOKEN_BYTES: usize = 16 << 10;

/// Least size of a secret key in bytes: that of the shortest digest (RFC 7518 3.2).
const MIN_SECRET_BYTES: usize = 32;

/// Id of the key for tokens that name none.
const DEFAULT_ID: &str = "_default";

/// Claim with the roles in databases.
const ROLES: &str = "_couchdb.roles";

/// Keys by kind and id.
#[derive(Clone, Default)]
pub(super) struct JwtKeys(BTreeMap<(Kind, String), Vec<u8>>);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Hmac,
    Rsa,
    Ec,
    EdDsa,
}

/// An algorithm of signatures.
enum Algorithm {
    Secret(hmac::Algorithm),
    Public(&'static dyn VerificationAlgorithm),
}

impl Kind {
    fn read(name: &str) -> Option<Self> {
        Some(match name {
            "hmac" => Self::Hmac,
            "rsa" => Self::Rsa,
            "ec" => Self::Ec,
            "eddsa" => Self::EdDsa,
            _ => return None,
        })
    }
}

/// The algorithm of a name (RFC 7518 3.1), and the kind of its keys. A key is never used with an algorithm of another
/// kind.
fn algorithm(name: &str) -> Option<(Kind, Algorithm)> {
    Some(match name {
        "HS256" => (Kind::Hmac, Algorithm::Secret(hmac::HMAC_SHA256)),
        "HS384" => (Kind::Hmac, Algorithm::Secret(hmac::HMAC_SHA384)),
        "HS512" => (Kind::Hmac, Algorithm::Secret(hmac::HMAC_SHA512)),
        "RS256" => (Kind::Rsa, Algorithm::Public(&RSA_PKCS1_2048_8192_SHA256)),
        "RS384" => (Kind::Rsa, Algorithm::Public(&RSA_PKCS1_2048_8192_SHA384)),
        "RS512" => (Kind::Rsa, Algorithm::Public(&RSA_PKCS1_2048_8192_SHA512)),
        "ES256" => (Kind::Ec, Algorithm::Public(&ECDSA_P256_SHA256_FIXED)),
        "ES384" => (Kind::Ec, Algorithm::Public(&ECDSA_P384_SHA384_FIXED)),
        "EdDSA" => (Kind::EdDsa, Algorithm::Public(&ED25519)),
        _ => return None,
    })
}

impl JwtKeys {
    /// Reads keys; the error has the number of the line and the reason.
    pub(super) fn parse(text: &str) -> Result<Self, (usize, String)> {
        let mut keys = BTreeMap::new();
        for (at, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with(['#', ';', '[']) {
                continue;
            }
            let (name, key) = key(line).map_err(|reason| (at + 1, reason))?;
            if keys.insert(name, key).is_some() {
                return Err((at + 1, "this key occurs twice".to_owned()));
            }
        }
        Ok(Self(keys))
    }

    /// Returns what a token asserts.
    pub(super) fn verify(&self, token: &str, now: Moment) -> Result<Assertion, &'static str> {
        if token.len() > MAX_TOKEN_BYTES {
            return Err("the token is too long");
        }
        let (signed, signature) = token.rsplit_once('.').ok_or("the token has no signature")?;
        let (header, claims) = signed.split_once('.').ok_or("the token has no claims")?;
        let header = json(header)?;
        let text = |name: &str| header.get(name).and_then(Value::as_str);
        if header.get("crit").is_some() {
            return Err("the token has critical extensions");
        }
        let (kind, algorithm) = text("alg").and_then(algorithm).ok_or("unknown algorithm")?;
        let id = text("kid").unwrap_or(DEFAULT_ID);
        let key = self.0.get(&(kind, id.to_owned())).ok_or("the key of the token is unknown")?;
        let signature = URL_SAFE_NO_PAD.decode(signature).map_err(|_| "invalid signature")?;
        let verified = match algorithm {
            Algorithm::Secret(algorithm) => {
                hmac::verify(&hmac::Key::new(algorithm, key), signed.as_bytes(), &signature)
            }
            Algorithm::Public(algorithm) => {
                UnparsedPublicKey::new(algorithm, key).verify(signed.as_bytes(), &signature)
            }
        };
        verified.map_err(|_| "the signature does not fit")?;
        assertion(&json(claims)?, now)
    }
}

/// A key of a line `KIND:ID = KEY`.
fn key(line: &str) -> Result<((Kind, String), Vec<u8>), String> {
    let (name, value) = line.split_once('=').ok_or("a line has the form KIND:ID = KEY")?;
    let (kind, id) = name.trim().split_once(':').ok_or("a key has the form KIND:ID")?;
    let kind = Kind::read(kind)
        .ok_or_else(|| format!("unknown kind {kind:?}: use hmac, rsa, ec or eddsa"))?;
    let value = value.trim();
    let key = match kind {
        Kind::Hmac => STANDARD.decode(value).map_err(|error| format!("not Base64: {error}"))?,
        Kind::Rsa | Kind::Ec | Kind::EdDsa => public_key(value)?,
    };
    if kind == Kind::Hmac && key.len() < MIN_SECRET_BYTES {
        return Err(format!("a secret key must have at least {MIN_SECRET_BYTES} bytes"));
    }
    Ok(((kind, id.to_owned()), key))
}

/// The key itself in a public key in PEM.
fn public_key(value: &str) -> Result<Vec<u8>, String> {
    let pem = value.replace("\\n", "\n");
    let der = SubjectPublicKeyInfoDer::from_pem_slice(pem.as_bytes())
        .map_err(|error| format!("not a public key in PEM: {error}"))?;
    let info = SubjectPublicKeyInfoRef::try_from(der.as_ref())
        .map_err(|error| format!("not a public key: {error}"))?;
    let bits = info.subject_public_key.as_bytes().ok_or("not a public key")?;
    Ok(bits.to_vec())
}

fn json(part: &str) -> Result<Value, &'static str> {
    let bytes = URL_SAFE_NO_PAD.decode(part).map_err(|_| "the token is not Base64")?;
    serde_json::from_slice(&bytes).map_err(|_| "the token is not JSON")
}

/// The assertion of claims at a time (RFC 7519 4.1). They must have an end.
fn assertion(claims: &Value, now: Moment) -> Result<Assertion, &'static str> {
    let time = |name: &str| match claims.get(name) {
        None => Ok(None),
        Some(value) => value.as_f64().map(Some).ok_or("a time of the token is not a number"),
    };
    let seconds = now.micros() as f64 / 1e6;
    let expires = time("exp")?.ok_or("the token has no time of expiry")?;
    if expires <= seconds {
        return Err("the token has expired");
    }
    if time("nbf")?.is_some_and(|begin| begin > seconds) {
        return Err("the token is not valid yet");
    }
    let user = claims.get("sub").and_then(Value::as_str).ok_or("the token names no user")?;
    let user = UserName::new(user).map_err(|_| "the user of the token cannot exist here")?;
    let roles = match claims.get(ROLES) {
        None => Vec::new(),
        Some(roles) => {
            let roles = roles.as_array().ok_or("the roles of the token are not a list")?;
            unreserved(roles.iter().filter_map(Value::as_str).map(str::to_owned))
        }
    };
    Ok(Assertion { user, roles, expires: Some(Moment::from_micros((expires * 1e6) as u64)) })
}

#[cfg(test)]
mod tests {
    use rcgen::{
        KeyPair, PKCS_ECDSA_P256_SHA256, PKCS_ECDSA_P384_SHA384, PKCS_ED25519, SigningKey as _,
    };
    use ring::rand::SystemRandom;
    use ring::signature::{
        ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair,
    };
    use serde_json::json;

    use super::*;

    const SECRET: &[u8] = b"an example secret of enough bytes";

    fn now() -> Moment {
        Moment::from_micros(1_000_000_000)
    }

    fn part(value: &Value) -> String {
        URL_SAFE_NO_PAD.encode(value.to_string())
    }

    fn token(header: &Value, claims: &Value, sign: impl Fn(&[u8]) -> Vec<u8>) -> String {
        let signed = format!("{}.{}", part(header), part(claims));
        let signature = URL_SAFE_NO_PAD.encode(sign(signed.as_bytes()));
        format!("{signed}.{signature}")
    }

    fn keys() -> JwtKeys {
        let secret = STANDARD.encode(SECRET);
        JwtKeys::parse(&format!("# Keys\n[jwt_keys]\nhmac:_default = {secret}\nhmac:b={secret}\n"))
            .unwrap()
    }

    fn signed(message: &[u8]) -> Vec<u8> {
        hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, SECRET), message).as_ref().to_vec()
    }

    fn claims() -> Value {
        json!({"sub": "anna", "exp": 1_001, "_couchdb.roles": ["staff", "_admin"]})
    }

    #[test]
    fn a_signed_token_names_a_user_until_it_expires() {
        let expected = Assertion {
            user: UserName::new("anna").unwrap(),
            roles: vec!["staff".to_owned()],
            expires: Some(Moment::from_micros(1_001_000_000)),
        };
        for header in [json!({"alg": "HS256"}), json!({"alg": "HS256", "kid": "b", "typ": "JWT"})] {
            assert_eq!(
                keys().verify(&token(&header, &claims(), signed), now()),
                Ok(expected.clone())
            );
        }
        let later = token(&json!({"alg": "HS256"}), &claims(), signed);
        assert!(keys().verify(&later, Moment::from_micros(1_001_000_000)).is_err());
    }

    #[test]
    fn tokens_without_a_known_key_or_with_other_claims_are_refused() {
        let good = json!({"alg": "HS256"});
        for (header, reason) in [
            (json!({"alg": "none"}), "algorithm"),
            (json!({"alg": "HS512"}), "signature"),
            (json!({"alg": "RS256"}), "key"),
            (json!({"alg": "HS256", "kid": "other"}), "key"),
            (json!({"alg": "HS256", "crit": ["exp"]}), "critical"),
            (json!({}), "algorithm"),
        ] {
            let said = keys().verify(&token(&header, &claims(), signed), now()).unwrap_err();
            assert!(said.contains(reason), "{header}: {said}");
        }
        for (name, value, reason) in [
            ("sub", Value::Null, "user"),
            ("sub", json!("Not A Name"), "user"),
            ("exp", Value::Null, "number"),
            ("exp", json!(1_000), "expired"),
            ("exp", json!("2000"), "number"),
            ("nbf", json!(1_000.5), "not valid yet"),
            ("_couchdb.roles", json!("staff"), "list"),
        ] {
            let mut claims = claims();
            claims[name] = value;
            let said = keys().verify(&token(&good, &claims, signed), now()).unwrap_err();
            assert!(said.contains(reason), "{claims}: {said}");
        }
        let mut endless = claims();
        endless.as_object_mut().unwrap().remove("exp");
        assert!(
            keys().verify(&token(&good, &endless, signed), now()).unwrap_err().contains("expiry")
        );
        let valid = token(&good, &claims(), signed);
        let mut forged: Vec<&str> = valid.split('.').collect();
        let other = part(&json!({"sub": "root", "exp": 1_001}));
        forged[1] = &other;
        for invalid in
            [&forged.join("."), "", "a", "a.b", "a.b.c", &format!("{valid}.x"), &valid[1..]]
        {
            assert!(keys().verify(invalid, now()).is_err(), "{invalid}");
        }
        assert!(JwtKeys::default().verify(&valid, now()).is_err());
    }

    #[test]
    fn public_keys_verify_signatures_of_their_private_key_alone() {
        let random = SystemRandom::new();
        for (algorithm, signing, name) in [
            (&PKCS_ECDSA_P256_SHA256, &ECDSA_P256_SHA256_FIXED_SIGNING, "ES256"),
            (&PKCS_ECDSA_P384_SHA384, &ECDSA_P384_SHA384_FIXED_SIGNING, "ES384"),
        ] {
            let pair = KeyPair::generate_for(algorithm).unwrap();
            let key = EcdsaKeyPair::from_pkcs8(signing, &pair.serialize_der(), &random).unwrap();
            let pem = pair.public_key_pem().trim().replace("\r\n", "\\n").replace('\n', "\\n");
            let keys = JwtKeys::parse(&format!("ec:k = {pem}")).unwrap();
            let header = json!({"alg": name, "kid": "k"});
            let sign = |message: &[u8]| key.sign(&random, message).unwrap().as_ref().to_vec();
            assert!(keys.verify(&token(&header, &claims(), sign), now()).is_ok(), "{name}");
            let other = KeyPair::generate_for(algorithm).unwrap();
            let other = EcdsaKeyPair::from_pkcs8(signing, &other.serialize_der(), &random).unwrap();
            let sign = |message: &[u8]| other.sign(&random, message).unwrap().as_ref().to_vec();
            assert!(keys.verify(&token(&header, &claims(), sign), now()).is_err(), "{name}");
            // The text of a public key is no secret.
            let header = json!({"alg": "HS256", "kid": "k"});
            let confused = |message: &[u8]| {
                hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, pem.as_bytes()), message)
                    .as_ref()
                    .to_vec()
            };
            assert!(keys.verify(&token(&header, &claims(), confused), now()).is_err());
        }
        let pair = KeyPair::generate_for(&PKCS_ED25519).unwrap();
        let pem = pair.public_key_pem().trim().replace("\r\n", "\\n").replace('\n', "\\n");
        let keys = JwtKeys::parse(&format!("eddsa:_default = {pem}")).unwrap();
        let sign = |message: &[u8]| pair.sign(message).unwrap();
        let token = token(&json!({"alg": "EdDSA"}), &claims(), sign);
        assert!(keys.verify(&token, now()).is_ok());
    }

    /// A key and signatures that OpenSSL made of the claims `{"sub":"anna","exp":1001}`.
    #[test]
    fn signatures_of_another_program_by_rsa_are_verified() {
        let der = "MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAq1o3RcR+UsJd1cw8UZjuxB9NTzJtucrHytREwH2sqd\
         fo6uZLs7uOM70EgohWMO6yGWTStUutgGgSXGtAKHeIMTQ3R81yaFhQQ6TmJ4r042R441rpo2JOdW7lYeOA3upx\
         TyCvtR8TnBc+9i6mOOx3nIzvuXzTbax1JqauQj1urrK/1X+aBph30DSzXec+XF0Geha416hfHrQjVMjBdXSTr5\
         sVfEHuhKeGMvDWZHwpotSI7woU/kqb/qfILJ0Sy7rM3jxkOSrxrpnemdxG6hKx1lcxF/HxhSs6W0vG0TCj7ZqK\
         lioBQMnLf7HuZW0rZOF+gpI+C1clntnfenxJW+VfJQIDAQAB";
        let keys = JwtKeys::parse(&format!(
            "rsa:_default = -----BEGIN PUBLIC KEY-----\\n{der}\\n-----END PUBLIC KEY-----"
        ));
        let keys = keys.unwrap();
        let claims = URL_SAFE_NO_PAD.encode(r#"{"sub":"anna","exp":1001}"#);
        let signatures = [
            (
                "RS256",
                "kQ1Oc19MvrYyGdB4pqzNxXb4yqQeIB9OCQvxC2EWi1LkfZvf7Dr9UVMp8lIdA_Bd_1fdCvL00pXpGoyQr7XsuJ\
         YaUwvsxeOCIR_y0KzUNkko5sWdSBrjxTA0H0olE8q875EwU2T8AM2lCJHuLWb-LPUjItLxRqHtiGYVmRb8cm7G\
         3IOJ-OCVrmLZ1r0IHlc1xqwEnMGGPrZQadt90saLcwCACcebtLlXbRXF1v1ZvQiZM_X1ubV6OBIJaMo8qStabk\
         yRLOrZaK3zYoNxmLSwHGy83D0BMi7lSWD5mRrFXahpON8tLQrkSIOqp8g6WEYkZ_CJp1_IN97GdCgN2TvMFQ",
            ),
            (
                "RS384",
                "RXO2VFKmX0hYCMf309Bx_VAiDs9qp6vSmYeX8bgHAvgQ_FwoEJtaQ7fbBg0a4WD6bl6GPzSMqDCthy42MCw0Q5\
         xbrioCJxy_mMYc16VZMKwOKpmzvgCfhr3UHtTeB9sC1XL6loVQwrmfyLeUoXLoZp_1UbQSu7j3AwBZuciE-YyG\
         wIY8bF-0GleLfNMcJvOR4V_hvNoR_gH_zOeSTXRp1KJJSk7G7ppnEOMZEcdboFR2wRZkWdIEOVOBQngzUV624X\
         Qro2gMKnfj8GmhOB0lQgPA958oPeSprvF3AbpfR9HM4pZeD4FyY5VKLt1OzltezI_IewjVRF3rpY_bIj4egA",
            ),
            (
                "RS512",
                "ARhhcP_s3ZvsgoqmWGwvv9TBXWtnoEsE42zWuu2Y8QM9QCK3TSYI4NL-ofneRoPLd90T-9UPMRNWs5gZ9rYmjJ\
         VVIEt4dIbiJqap11dbaPIHnTzOYRIKqYopL9HLD2Ni0Rp1rUmTDpxZ9n-Vfj4QmeYLaKxzLVzX5sj0hNoPAlfo\
         rCbFDq4dyFrqGl77AghsGq2fw9QFxMn715i_SOtgsoRqflgA6nE-w6YV1EM1AaYHTzFBft8B46HtTCwRr8LJUZ\
         zFcexdVm8NJkvhmemzgNgAq2N1UovipFD4OKKmdlAvcDV7M1eRdO7a2-yMdWux37w9GXMaU09qw_q4NPXDZA",
            ),
        ];
        for (name, signature) in signatures {
            let header = URL_SAFE_NO_PAD.encode(format!(r#"{{"alg":"{name}"}}"#));
            let token = format!("{header}.{claims}.{signature}");
            assert_eq!(keys.verify(&token, now()).unwrap().user.as_str(), "anna", "{name}");
            let other = URL_SAFE_NO_PAD.encode(r#"{"sub":"root","exp":1001}"#);
            let forged = format!("{header}.{other}.{signature}");
            assert!(keys.verify(&forged, now()).is_err(), "{name}");
        }
    }

    #[test]
    fn a_file_with_an_invalid_key_is_refused_by_its_line() {
        for (text, line, part) in [
            ("x", 1, "KIND:ID"),
            ("\nhmac = x", 2, "KIND:ID"),
            ("dsa:a = x", 1, "dsa"),
            ("hmac:a = ?", 1, "Base64"),
            ("hmac:a = YWJj", 1, "32 bytes"),
            ("rsa:a = YWJj", 1, "PEM"),
        ] {
            let (at, reason) = JwtKeys::parse(text).err().unwrap();
            assert_eq!(at, line, "{text}");
            assert!(reason.contains(part), "{text}: {reason}");
        }
        let secret = STANDARD.encode(SECRET);
        assert!(JwtKeys::parse(&format!("hmac:a={secret}\nhmac:a={secret}")).is_err());
    }
}
