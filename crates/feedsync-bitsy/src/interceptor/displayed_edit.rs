//! Display of an edit in a feed that does not include it yet (BITSY 3.1.1).
//!
//! An entry is shown as its application sent it. In the resilient profile an entry that was created here has
//! an edit link. So readers of the feed can edit it before its server knows it. Media that were created here
//! are shown as a media link entry (RFC 5023 9.6), whose content and `edit-media` link lead to them. That
//! entry has no edit link, because it does not exist before the server has created it.

use feedsync_core::{Format, Payload};
use feedsync_formats::{
    Completion, Fill, MediaParts, MemberFeed, ReadOptions, ServerParts, Submission, complete,
    empty_payload, read_submission, with_server_parts, without_server_parts,
};
use percent_encoding::percent_decode_str;

use super::pending::is_pending;
use super::reply::ComposedEdit;
use crate::location::Location;
use crate::overlay::LocalEdit;
use crate::profile::Profile;

/// Author of media that have no named author, because an entry must have one (RFC 4287 4.1.2).
const UNKNOWN_AUTHOR: &str = "unknown";

/// Media type of bytes without a declared one (RFC 9110 8.3).
const DEFAULT_MEDIA_TYPE: &str = "application/octet-stream";

impl ComposedEdit {
    /// Whether the content may be an entry. Media types other than XML are excluded.
    pub(crate) fn may_be_entry(&self) -> bool {
        self.essence().is_none_or(|essence| {
            matches!(&*essence, "application/atom+xml" | "application/xml" | "text/xml")
        })
    }

    /// The edit in the form in which a feed shows it; none if it is not shown. `bytes` are its content if it
    /// may be an entry.
    pub(crate) fn shown(
        &self,
        bytes: Option<&[u8]>,
        updated: &str,
        profile: Profile,
    ) -> Option<LocalEdit> {
        let local =
            |entry, id| LocalEdit { member: self.member.clone(), made: self.made, entry, id };
        if self.content.is_none() {
            return Some(local(None, None));
        }
        let is_helped = self.made && profile == Profile::Resilient;
        if let Some((entry, id)) = bytes.and_then(|bytes| entry(bytes, &self.member)) {
            let entry = match is_helped && is_pending(&self.member) {
                true => editable(&entry, &self.member),
                false => entry,
            };
            return Some(local(Some(entry), id));
        }
        let is_atom = self.essence().as_deref() == Some("application/atom+xml");
        // The server will refuse a document that claims to be an entry and is not one.
        if !is_helped || is_atom {
            return None;
        }
        Some(local(Some(self.media_link_entry(updated)), Some(self.member.to_string())))
    }

    /// Media link entry for media that were created here.
    fn media_link_entry(&self, updated: &str) -> Payload {
        let at = self.member.as_str();
        let media_type = self.media_type.as_deref().unwrap_or(DEFAULT_MEDIA_TYPE);
        let title = self.slug.as_deref().map(|slug| percent_decode_str(slug).decode_utf8_lossy());
        let title = title.filter(|title| !title.trim().is_empty());
        let completion = Completion {
            id: Fill::Always(at),
            updated: Fill::Always(updated),
            title: title.as_deref().unwrap_or(media_type),
            published: None,
            author: UNKNOWN_AUTHOR,
            slug: None,
            summary: Some(""),
        };
        let entry = complete(&empty_payload(Format::Atom), &completion);
        let media = Some(MediaParts { edit_media: at, src: at, media_type });
        with_server_parts(&entry, &ServerParts { edited: None, edit: None, alternate: None, media })
    }

    fn essence(&self) -> Option<String> {
        let told = self.media_type.as_deref()?;
        Some(told.split(';').next().unwrap_or(told).trim().to_ascii_lowercase())
    }
}

/// Entry that an application sent, and its id; none if it sent something else.
fn entry(bytes: &[u8], member: &Location) -> Option<(Payload, Option<String>)> {
    let options = ReadOptions { base: Some(member.as_str()), ..ReadOptions::tolerant() };
    let Submission::Entry { payload, .. } = read_submission(bytes, &options).ok()? else {
        return None;
    };
    let read = MemberFeed::read(bytes, &options).ok()?;
    let id = read.members().first().and_then(|member| member.id.clone());
    Some((payload, id))
}

/// Replaces the edit links that an entry was copied with by one to the member.
fn editable(entry: &Payload, member: &Location) -> Payload {
    let bare = without_server_parts(entry).unwrap_or_else(|| entry.clone());
    let edit = Some(member.as_str());
    with_server_parts(&bare, &ServerParts { edited: None, edit, alternate: None, media: None })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interceptor::Content;

    const PENDING: &str = "http://example.org/.well-known/bitsy/pending/0a";
    const ENTRY: &[u8] = b"<a:entry xmlns:a='http://www.w3.org/2005/Atom'><a:id>urn:a</a:id>\
        <a:title>T</a:title><a:link rel='edit' href='http://other/1'/></a:entry>";

    fn edited(
        member: &str,
        made: bool,
        media_type: Option<&str>,
        slug: Option<&str>,
    ) -> ComposedEdit {
        ComposedEdit {
            member: member.parse().unwrap(),
            made,
            content: Some(Content::of(b"x")),
            media_type: media_type.map(str::to_owned),
            slug: slug.map(str::to_owned),
        }
    }

    fn shown(edited: &ComposedEdit, bytes: &[u8], profile: Profile) -> Option<String> {
        let bytes = edited.may_be_entry().then_some(bytes);
        let local = edited.shown(bytes, "2026-11-26T00:00:00Z", profile)?;
        Some(local.entry?.text().to_owned())
    }

    #[test]
    fn entry_created_here_has_one_edit_link_to_its_address() {
        let entry = edited(PENDING, true, Some("application/atom+xml;type=entry"), None);
        let text = shown(&entry, ENTRY, Profile::Resilient).unwrap();
        assert!(!text.contains("other"), "{text}");
        let link = format!("<a:link rel=\"edit\" href=\"{PENDING}\"/></a:entry>");
        assert!(text.ends_with(&link), "{text}");
        let untyped = edited(PENDING, true, None, None);
        assert_eq!(shown(&untyped, ENTRY, Profile::Resilient), Some(text));
        let letter = shown(&entry, ENTRY, Profile::Strict).unwrap();
        assert!(letter.contains("http://other/1") && !letter.contains(PENDING), "{letter}");
        // Edit links of a known member are not changed.
        for (member, made) in [("http://example.org/1", true), ("http://example.org/1", false)] {
            let text = shown(&edited(member, made, None, None), ENTRY, Profile::Resilient).unwrap();
            assert!(text.contains("http://other/1") && !text.contains("example"), "{text}");
        }
    }

    #[test]
    fn media_created_here_are_shown_as_a_media_link_entry() {
        let media = edited(PENDING, true, Some("image/png"), Some("The%20c%C3%A4t"));
        assert!(!media.may_be_entry());
        let text = shown(&media, b"", Profile::Resilient).unwrap();
        for part in [
            &format!("<id>{PENDING}</id>"),
            "<title>The c\u{e4}t</title>",
            "<updated>2026-11-26T00:00:00Z</updated>",
            "<author><name>unknown</name></author>",
            "<summary></summary>",
            &format!("<link rel=\"edit-media\" href=\"{PENDING}\" type=\"image/png\"/>"),
            &format!("<content type=\"image/png\" src=\"{PENDING}\"/>"),
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(!text.contains("rel=\"edit\""), "{text}");
        assert_eq!(shown(&media, b"", Profile::Strict), None, "the document knows none");
        let unnamed = edited(PENDING, true, Some("text/xml"), Some(" "));
        let text = shown(&unnamed, b"<x/>", Profile::Resilient).unwrap();
        assert!(text.contains("<title>text/xml</title>"), "{text}");
        let untyped = shown(&edited(PENDING, true, None, None), b"\xff", Profile::Resilient);
        assert!(untyped.unwrap().contains("type=\"application/octet-stream\""));
        // Invalid entries and replaced media are not shown either.
        let atom = edited(PENDING, true, Some("application/atom+xml"), None);
        assert_eq!(shown(&atom, b"<x/>", Profile::Resilient), None);
        let replaced = edited("http://example.org/1", false, Some("image/png"), None);
        assert_eq!(shown(&replaced, b"", Profile::Resilient), None);
    }
}
