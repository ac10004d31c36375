//! Attachments in documents (section 9.1).

use std::fmt;
use std::fmt::Write as _;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig, STANDARD};
use feedsync_formats::json::{Kind, Member, Node, push_string};
use md5::{Digest as _, Md5};

use crate::json::{boolean, integer, text};
use crate::refusal::{Refusal, RefusalKind};

#[cfg(test)]
mod tests;

/// Maximum number of attachments of a document.
pub const MAX_ATTACHMENTS: usize = 1_000;

/// Maximum size of an attachment's name, and of its type, in bytes.
pub const MAX_ATTACHMENT_NAME_BYTES: usize = 4_096;

/// Default media type.
pub const ANY_TYPE: &str = "application/octet-stream";

/// `md5-` and a digest, as CouchDB identifies the content of an attachment.
///
/// It is a label and not a proof: replicas that compress attachments state the digest of the compressed
/// bytes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AttachmentDigest(Box<str>);

/// A stored attachment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attachment {
    /// Name of the attachment.
    pub name: String,
    /// Its media type.
    pub content_type: String,
    /// Generation of the revision that added it.
    pub generation: u64,
    /// Digest of its content.
    pub digest: AttachmentDigest,
    /// Its length in bytes.
    pub length: u64,
}

/// An attachment in a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SentAttachment {
    /// Name of the attachment.
    pub name: String,
    /// `content_type`.
    pub content_type: Option<String>,
    /// `revpos`.
    pub generation: Option<u64>,
    /// `digest`.
    pub digest: Option<AttachmentDigest>,
    /// Form in which it is sent.
    pub form: SentForm,
}

/// Forms in which an attachment is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SentForm {
    /// Base64 within the document; contains the decoded bytes.
    Data(Vec<u8>),
    /// Reference to a stored attachment.
    Stub,
    /// After the document, as a part of `multipart/related`.
    Follows {
        /// Announced length of the part.
        length: Option<u64>,
        /// Whether the part is compressed with gzip.
        is_packed: bool,
    },
}

/// Decoder that accepts missing padding.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Decodes Base64 and ignores white space in it.
fn decoded(data: &str) -> Option<Vec<u8>> {
    let is_blank = |byte: &u8| byte.is_ascii_whitespace();
    match data.bytes().any(|byte| is_blank(&byte)) {
        true => {
            let data: Vec<u8> = data.bytes().filter(|byte| !is_blank(byte)).collect();
            LENIENT.decode(data).ok()
        }
        false => LENIENT.decode(data).ok(),
    }
}

impl AttachmentDigest {
    /// The digest of bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self::of_md5(Md5::digest(bytes).into())
    }

    /// The digest for an MD5 value.
    pub fn of_md5(md5: [u8; 16]) -> Self {
        Self(format!("md5-{}", STANDARD.encode(md5)).into())
    }

    /// Its text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Tells whether these bytes may have this digest. Digests of other kinds than MD5 are not checked.
    pub fn is_of(&self, bytes: &[u8]) -> bool {
        !self.0.starts_with("md5-") || *self == Self::of(bytes)
    }

    /// Rejects a `Content-MD5` header that does not match (RFC 1864).
    pub fn check_md5(&self, said: &str) -> Result<(), Refusal> {
        let refuse = || RefusalKind::DigestMismatch.with_reason("Possible message corruption.");
        let is_it = self.0.strip_prefix("md5-") == Some(said.trim());
        if is_it { Ok(()) } else { Err(refuse()) }
    }
}

impl FromStr for AttachmentDigest {
    type Err = Refusal;

    fn from_str(text: &str) -> Result<Self, Refusal> {
        let is_digest =
            (1..=100).contains(&text.len()) && text.bytes().all(|it| it.is_ascii_graphic());
        let refuse = || RefusalKind::BadRequest.with_reason("Invalid attachment digest");
        is_digest.then(|| Self(text.into())).ok_or_else(refuse)
    }
}

impl fmt::Display for AttachmentDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Attachment {
    /// Serializes attachments for storage: `_attachments` with stubs.
    pub fn to_text(attachments: &[Self]) -> String {
        let mut text = String::new();
        push_attachments(&mut text, attachments, |_| AttachmentForm::Stub);
        text
    }

    /// Parses such a text.
    pub fn of_text(stored: &str) -> Result<Vec<Self>, Refusal> {
        let damaged =
            || RefusalKind::Internal.with_reason("the stored list of attachments is damaged");
        let attachment = |member: Member<'_>| {
            let of = |part: &str| Some(member.value.member(part)?.value);
            Some(Self {
                name: member.name.clone().into_owned(),
                content_type: of("content_type").and_then(text)?.into_owned(),
                generation: of("revpos").and_then(integer)?,
                digest: of("digest").and_then(text)?.parse().ok()?,
                length: of("length").and_then(integer)?,
            })
        };
        let members = Node::root(stored).members();
        members.map(attachment).collect::<Option<_>>().ok_or_else(damaged)
    }
}

impl SentAttachment {
    /// Stub of an attachment that stays.
    pub fn stub_of(attachment: &Attachment) -> Self {
        Self {
            name: attachment.name.clone(),
            content_type: Some(attachment.content_type.clone()),
            generation: Some(attachment.generation),
            digest: Some(attachment.digest.clone()),
            form: SentForm::Stub,
        }
    }

    /// Reads `_attachments`.
    pub(crate) fn read_all(node: Node<'_>) -> Result<Vec<Self>, Refusal> {
        let refuse = |reason: &str| RefusalKind::BadRequest.with_reason(reason);
        if node.kind() != Kind::Object {
            return Err(refuse("Attachments property must be an object"));
        }
        let mut all: Vec<Self> = Vec::new();
        for member in node.members() {
            Self::check_count(all.len() + 1)?;
            Self::check_name(&member.name)?;
            let name = member.name.into_owned();
            if member.value.kind() != Kind::Object {
                return Err(refuse(&format!("Attachment {name} must be an object")));
            }
            // Of several attachments with one name the last counts, as in JavaScript.
            all.retain(|other| other.name != name);
            all.push(Self::read(name, member.value)?);
        }
        Ok(all)
    }

    /// Rejects a name that is not valid for an attachment.
    pub fn check_name(name: &str) -> Result<(), Refusal> {
        let is_name =
            (1..=MAX_ATTACHMENT_NAME_BYTES).contains(&name.len()) && !name.starts_with('_');
        let refuse = || {
            RefusalKind::BadRequest
                .with_reason(format_args!("Attachment name '{name}' is not valid"))
        };
        is_name.then_some(()).ok_or_else(refuse)
    }

    /// Rejects more attachments than a document may have.
    pub fn check_count(count: usize) -> Result<(), Refusal> {
        let refuse = || RefusalKind::BadRequest.with_reason("There are too many attachments");
        (count <= MAX_ATTACHMENTS).then_some(()).ok_or_else(refuse)
    }

    /// Rejects a type that is too long.
    pub fn check_type(name: &str, content_type: &str) -> Result<(), Refusal> {
        let refuse = || {
            let reason = format_args!("The content_type of attachment {name} is too long");
            RefusalKind::BadRequest.with_reason(reason)
        };
        (content_type.len() <= MAX_ATTACHMENT_NAME_BYTES).then_some(()).ok_or_else(refuse)
    }

    fn read(name: String, node: Node<'_>) -> Result<Self, Refusal> {
        let of = |part: &str| node.member(part).map(|member| member.value);
        let content_type = of("content_type").and_then(text).map(|it| it.into_owned());
        content_type.as_ref().map_or(Ok(()), |it| Self::check_type(&name, it))?;
        let digest = of("digest").and_then(text).map(|it| it.parse()).transpose()?;
        let is = |part: &str| of(part).and_then(boolean) == Some(true);
        let form = if is("stub") {
            SentForm::Stub
        } else if is("follows") {
            let encoding = of("encoding").and_then(text);
            let is_packed = match encoding.as_deref() {
                None | Some("identity") => false,
                Some("gzip") => true,
                Some(other) => {
                    let reason = format!("Attachment {name}: unknown encoding {other:?}");
                    return Err(RefusalKind::BadRequest.with_reason(reason));
                }
            };
            let length = if is_packed { of("encoded_length") } else { of("length") };
            SentForm::Follows { length: length.and_then(integer), is_packed }
        } else {
            let refuse = || {
                let reason = format_args!("Invalid attachment data for {name}").to_string();
                RefusalKind::BadRequest.with_reason(reason)
            };
            let data = of("data").and_then(text).ok_or_else(refuse)?;
            SentForm::Data(decoded(&data).ok_or_else(refuse)?)
        };
        Ok(Self { name, content_type, generation: of("revpos").and_then(integer), digest, form })
    }
}

/// Forms in which an attachment is returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttachmentForm<'a> {
    /// Reference without content.
    Stub,
    /// Base64 within the document.
    Data(&'a [u8]),
    /// After the document.
    Follows,
}

/// Appends `_attachments`, each in its form.
pub(crate) fn push_attachments<'a>(
    out: &mut String,
    attachments: &'a [Attachment],
    form: impl Fn(&'a Attachment) -> AttachmentForm<'a>,
) {
    out.push('{');
    for (at, attachment) in attachments.iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        push_string(out, &attachment.name);
        out.push_str(":{\"content_type\":");
        push_string(out, &attachment.content_type);
        // Writing to a string cannot fail.
        let _ = write!(out, ",\"revpos\":{},\"digest\":", attachment.generation);
        push_string(out, attachment.digest.as_str());
        let _ = match form(attachment) {
            AttachmentForm::Stub => {
                write!(out, ",\"length\":{},\"stub\":true}}", attachment.length)
            }
            AttachmentForm::Follows => {
                write!(out, ",\"length\":{},\"follows\":true}}", attachment.length)
            }
            AttachmentForm::Data(data) => {
                out.push_str(",\"data\":\"");
                STANDARD.encode_string(data, out);
                out.write_str("\"}")
            }
        };
    }
    out.push('}');
}
