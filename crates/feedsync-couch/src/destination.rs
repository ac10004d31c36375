//! The `Destination` header of `COPY`.

use percent_encoding::percent_decode_str;

use crate::name::DocumentId;
use crate::refusal::{Refusal, RefusalKind};
use crate::revision::Revision;

/// Document to which another one is copied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Destination {
    /// Its id.
    pub id: DocumentId,
    /// Its revision, if it exists.
    pub revision: Option<Revision>,
}

impl Destination {
    /// Reads `id` or `id?rev=REVISION`; the id is percent-encoded.
    pub fn read(header: Option<&str>) -> Result<Self, Refusal> {
        let refuse = |reason: &str| RefusalKind::BadRequest.with_reason(reason);
        let text =
            header.ok_or_else(|| refuse("Destination header is mandatory for COPY."))?.trim();
        let lower = text.to_ascii_lowercase();
        if lower.starts_with("http://") || lower.starts_with("https://") {
            return Err(refuse("Destination URL must be relative."));
        }
        let (id, query) = text.split_once('?').unwrap_or((text, ""));
        let id = percent_decode_str(id).decode_utf8();
        let id = id.map_err(|_| refuse("The id in Destination is not UTF-8"))?.parse()?;
        let revision = match query {
            "" => None,
            query => {
                let revision = query.strip_prefix("rev=");
                let revision = revision
                    .ok_or_else(|| refuse("The only parameter of a Destination is `rev`"))?;
                let revision = percent_decode_str(revision).decode_utf8();
                Some(revision.map_err(|_| crate::revision::RevisionError)?.parse()?)
            }
        };
        Ok(Self { id, revision })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn destination_is_an_id_with_an_optional_revision() {
        for (text, id, revision) in [
            ("x", "x", None),
            ("a%2Fb%20c", "a/b c", None),
            ("_design/x", "_design/x", None),
            ("x?rev=1-a", "x", Some("1-a")),
            (" x?rev=1-%61 ", "x", Some("1-a")),
        ] {
            let read = Destination::read(Some(text)).unwrap();
            assert_eq!(read.id.as_str(), id, "{text}");
            assert_eq!(read.revision.map(|it| it.to_string()).as_deref(), revision, "{text}");
        }
        for text in [
            None,
            Some("http://h/x"),
            Some("HTTPS://h/x"),
            Some("x?r=1-a"),
            Some("x?rev=x"),
            Some("%ff"),
        ] {
            let refused = Destination::read(text).unwrap_err();
            assert_eq!(refused.kind, RefusalKind::BadRequest, "{text:?}");
        }
        for text in ["", "_x", "_local/x"] {
            let refused = Destination::read(Some(text)).unwrap_err();
            assert_eq!(refused.kind, RefusalKind::IllegalDocumentId, "{text}");
        }
    }
}
