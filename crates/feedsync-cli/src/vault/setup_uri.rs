//! Setup URI of the plugin Self-hosted LiveSync: its settings for one vault, encrypted with a passphrase.
//!
//! The form is that of the plugin's library: `obsidian://setuplivesync?settings=` and the percent-encoded text `%$` with
//! Base64 of three random parts and the encrypted JSON. The key is derived with PBKDF2 and then with HKDF, and encrypts with
//! AES-256-GCM.

use std::num::NonZeroU32;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use ring::error::Unspecified;
use ring::{hkdf, pbkdf2};
use serde_json::{Value, json};

/// Beginning of a Setup URI.
const BASE: &str = "obsidian://setuplivesync?settings=";

/// Beginning of the encrypted text, which states the form.
const FORM: &str = "%$";

const ITERATIONS: NonZeroU32 = NonZeroU32::new(310_000).unwrap();

const SALT_BYTES: usize = 32;
const NONCE_BYTES: usize = 12;

/// Number of random bytes that an encryption takes.
pub(crate) const RANDOM_BYTES: usize = SALT_BYTES + NONCE_BYTES + SALT_BYTES;

/// Settings of a device for a vault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DeviceSettings {
    /// Address of the hub's databases, without the name of the database.
    pub(crate) url: String,
    /// Name of the database.
    pub(crate) database: String,
    /// Name of the user.
    pub(crate) user: String,
    /// Password of the user, or a token.
    pub(crate) password: String,
    /// Passphrase with which devices encrypt notes; without it they do not encrypt.
    pub(crate) passphrase: Option<String>,
}

impl DeviceSettings {
    /// The Setup URI, encrypted with a passphrase. Each call needs other random bytes.
    pub(crate) fn setup_uri(
        &self,
        passphrase: &str,
        random: &[u8; RANDOM_BYTES],
    ) -> Result<String, Unspecified> {
        let (derivation_salt, rest) = random.split_at(SALT_BYTES);
        let (nonce, key_salt) = rest.split_at(NONCE_BYTES);
        let key = LessSafeKey::new(key(passphrase, derivation_salt, key_salt)?);
        let mut text = self.settings().to_string().into_bytes();
        let nonce = Nonce::try_assume_unique_for_key(nonce)?;
        key.seal_in_place_append_tag(nonce, Aad::empty(), &mut text)?;
        let encrypted = STANDARD.encode([&random[..], &text].concat());
        Ok(format!("{BASE}{}", percent_encoded(&format!("{FORM}{encrypted}"))))
    }

    /// The settings by the names of the plugin. They are those that it recommends for servers of one's own; the rest
    /// has the plugin's defaults.
    fn settings(&self) -> Value {
        let mut settings = json!({
            "isConfigured": true,
            "couchDB_URI": self.url,
            "couchDB_USER": self.user,
            "couchDB_PASSWORD": self.password,
            "couchDB_DBNAME": self.database,
            "liveSync": true,
            "syncMaxSizeInMB": 50,
            "chunkSplitterVersion": "v3-rabin-karp",
            "doNotUseFixedRevisionForChunks": false,
            "usePluginSyncV2": true,
            "handleFilenameCaseSensitive": false,
            "customChunkSize": 50,
            "sendChunksBulkMaxSize": 1,
            "concurrencyOfReadChunksOnline": 30,
            "minimumIntervalOfReadChunksOnline": 25,
            "encrypt": self.passphrase.is_some(),
        });
        if let Some(passphrase) = &self.passphrase {
            settings["passphrase"] = json!(passphrase);
            settings["usePathObfuscation"] = json!(true);
            settings["E2EEAlgorithm"] = json!("v2");
        }
        settings
    }
}

/// Derives the key: PBKDF2 makes a first key of the passphrase, and HKDF the second one of the first.
fn key(passphrase: &str, first_salt: &[u8], second_salt: &[u8]) -> Result<UnboundKey, Unspecified> {
    let mut first = [0; 32];
    let passphrase = passphrase.as_bytes();
    pbkdf2::derive(pbkdf2::PBKDF2_HMAC_SHA256, ITERATIONS, first_salt, passphrase, &mut first);
    let extracted = hkdf::Salt::new(hkdf::HKDF_SHA256, second_salt).extract(&first);
    Ok(UnboundKey::from(extracted.expand(&[], &AES_256_GCM)?))
}

/// Encodes the characters of Base64 and of the form that have a meaning in addresses.
fn percent_encoded(text: &str) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut encoded, character| {
        match character {
            '%' => encoded.push_str("%25"),
            '$' => encoded.push_str("%24"),
            '+' => encoded.push_str("%2B"),
            '/' => encoded.push_str("%2F"),
            '=' => encoded.push_str("%3D"),
            other => encoded.push(other),
        }
        encoded
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device() -> DeviceSettings {
        DeviceSettings {
            url: "https://hub.example.org/couch".to_owned(),
            database: "notes".to_owned(),
            user: "notes".to_owned(),
            password: "fs_secret".to_owned(),
            passphrase: Some("Grüße \"quoted\"".to_owned()),
        }
    }

    /// Decrypts as the plugin does.
    fn read(uri: &str, passphrase: &str) -> Option<Value> {
        let encoded = uri.strip_prefix(BASE)?.replace("%25", "%").replace("%24", "$");
        let encoded = encoded.replace("%2B", "+").replace("%2F", "/").replace("%3D", "=");
        let mut bytes = STANDARD.decode(encoded.strip_prefix(FORM)?).ok()?;
        let mut text = bytes.split_off(RANDOM_BYTES);
        let (first_salt, rest) = bytes.split_at(SALT_BYTES);
        let (nonce, second_salt) = rest.split_at(NONCE_BYTES);
        let key = LessSafeKey::new(key(passphrase, first_salt, second_salt).ok()?);
        let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
        let text = key.open_in_place(nonce, Aad::empty(), &mut text).ok()?;
        serde_json::from_slice(text).ok()
    }

    #[test]
    fn a_setup_uri_opens_with_its_passphrase_only() {
        let random = std::array::from_fn(|place| u8::try_from(place * 3).unwrap());
        let uri = device().setup_uri("typed on the phone", &random).unwrap();
        let settings = read(&uri, "typed on the phone").unwrap();
        assert_eq!(settings, device().settings());
        assert_eq!(settings["passphrase"], "Grüße \"quoted\"");
        assert_eq!(settings["couchDB_URI"], "https://hub.example.org/couch");
        assert_eq!(read(&uri, "typed on the phone "), None);
        let rest = uri.strip_prefix(BASE).unwrap();
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '%';
        assert!(rest.chars().all(is_plain), "{rest}");
        assert!(!uri.contains("fs_secret"));
    }

    #[test]
    fn a_vault_without_a_passphrase_is_not_encrypted() {
        let settings = DeviceSettings { passphrase: None, ..device() }.settings();
        assert_eq!(settings["encrypt"], false);
        assert!(settings.get("passphrase").is_none());
        assert!(settings.get("usePathObfuscation").is_none());
    }
}
