//! Settings that the devices of a vault state in its database.

use std::ops::Bound;

use feedsync_couch::{LocalId, boolean};
use feedsync_endpoint::documents::leaves;
use feedsync_formats::json::Node;
use feedsync_store::DocumentRange;

use super::{NoteDatabase, StoredNotes};
use crate::failure::Failure;

/// Local document with the settings of each device.
const MILESTONE: &str = "obsydian_livesync_milestone";

/// Ids of encrypted chunks, as a range.
const ENCRYPTED_CHUNKS: [&str; 2] = ["h:+", "h:,"];

/// Beginning of the encrypted path of a note.
const ENCRYPTED_PATH: &str = "/\\:";

/// Settings of the devices of a vault.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::vault::mirror) struct DeviceSettings {
    /// Whether devices encrypt; `None` if no device has stated it.
    pub(in crate::vault::mirror) are_encrypted: Option<bool>,
    /// Whether notes whose paths differ in case are different notes.
    pub(in crate::vault::mirror) is_case_sensitive: bool,
}

impl DeviceSettings {
    /// Reads the document with the settings of each device.
    fn read(milestone: Node<'_>) -> Self {
        let mut settings = Self::default();
        let Some(devices) = milestone.member("tweak_values") else { return settings };
        for device in devices.value.members() {
            let flag = |name| device.value.member(name).and_then(|member| boolean(member.value));
            if let Some(encrypts) = flag("encrypt") {
                settings.are_encrypted = Some(encrypts || settings.are_encrypted == Some(true));
            }
            settings.is_case_sensitive |= flag("handleFilenameCaseSensitive") == Some(true);
        }
        settings
    }
}

impl NoteDatabase {
    /// Returns what devices state, and what the notes show. Fails if notes are encrypted.
    pub(in crate::vault::mirror) async fn settings(
        &self,
        notes: &StoredNotes,
    ) -> Result<DeviceSettings, Failure> {
        let milestone: Option<LocalId> = MILESTONE.parse().ok();
        let mut settings = DeviceSettings::default();
        if let Some(id) = milestone
            && let Some(found) = self.databases.local_document(self.name(), &id).await?
        {
            settings = DeviceSettings::read(Node::root(&found.body));
        }
        let is_encrypted = settings.are_encrypted == Some(true)
            || notes.iter().any(|(id, note)| is_encrypted(id, &note.head.path))
            || self.has_encrypted_chunks().await?;
        match is_encrypted {
            false => Ok(settings),
            true => Err(Failure::refused(format!(
                "the notes of the vault {} are encrypted, and only its devices can read them",
                self.name()
            ))
            .hint("only a vault that was created with --unencrypted can be mirrored")),
        }
    }

    async fn has_encrypted_chunks(&self) -> Result<bool, Failure> {
        let [from, to] = ENCRYPTED_CHUNKS.map(str::to_owned);
        let range = DocumentRange {
            from: Bound::Included(from),
            to: Bound::Excluded(to),
            is_descending: false,
            live_only: true,
            skip: 0,
            most: 1,
        };
        let page = self.databases.documents_by_id(self.name(), range, leaves::none(), 1).await?;
        Ok(page.documents.iter().any(Option::is_some))
    }
}

/// Whether a note has an obfuscated id or an encrypted path.
fn is_encrypted(id: &str, path: &str) -> bool {
    let digits = id.strip_prefix("f:").filter(|digits| digits.len() == 64);
    digits.is_some_and(|digits| digits.bytes().all(|it| it.is_ascii_hexdigit()))
        // The leading slash was removed with that of other paths.
        || path.starts_with(&ENCRYPTED_PATH[1..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_device_that_encrypts_is_enough() {
        let read = |text| DeviceSettings::read(Node::root(text));
        assert_eq!(read(r#"{"tweak_values":{}}"#).are_encrypted, None);
        assert_eq!(read(r#"{"locked":false}"#).are_encrypted, None);
        let plain = r#"{"tweak_values":{"a":{"encrypt":false},"b":{"x":1}}}"#;
        assert_eq!(read(plain).are_encrypted, Some(false));
        for devices in [
            r#"{"a":{"encrypt":true},"b":{"encrypt":false}}"#,
            r#"{"a":{"encrypt":false},"b":{"encrypt":true}}"#,
        ] {
            let text = format!(r#"{{"tweak_values":{devices}}}"#);
            assert_eq!(DeviceSettings::read(Node::root(&text)).are_encrypted, Some(true));
        }
        let case = r#"{"tweak_values":{"a":{"handleFilenameCaseSensitive":true}}}"#;
        assert!(read(case).is_case_sensitive && !read(plain).is_case_sensitive);
    }

    #[test]
    fn encrypted_notes_have_obfuscated_ids_or_encrypted_paths() {
        let id = format!("f:{}", "0a".repeat(32));
        assert!(is_encrypted(&id, "note.md"));
        assert!(is_encrypted("note.md", "\\:%=abc"));
        assert!(!is_encrypted("f:note.md", "f:note.md"));
        assert!(!is_encrypted("note.md", "note.md"));
    }
}
