//! Checks of values that Atom documents share: text constructs, persons, dates, links and categories (RFC 4287 3,
//! 4.2).

use feedsync_core::Timestamp;
use iri_string::types::{IriReferenceStr, IriStr};

use super::findings::{Findings, quoted};
use crate::remarks::Fault;
use crate::xml::{Attribute, Element, Namespace, is_white};

/// Checks elements of one document and collects findings.
pub(super) struct Checker<'f> {
    findings: &'f mut Findings,
}

impl<'f> Checker<'f> {
    pub(super) fn new(findings: &'f mut Findings) -> Self {
        Self { findings }
    }

    pub(super) fn fault(&mut self, element: Element<'_, '_>, clause: &'static str, message: &str) {
        self.fault_at(element.span().start, clause, message);
    }

    pub(super) fn fault_at(&mut self, offset: usize, clause: &'static str, message: &str) {
        self.findings.fault(Fault::new(offset, clause, message));
    }

    pub(super) fn warn(&mut self, element: Element<'_, '_>, clause: &'static str, message: &str) {
        self.findings.warn(Fault::new(element.span().start, clause, message));
    }

    /// Checks that an optional attribute is an absolute IRI.
    pub(super) fn iri(&mut self, element: Element<'_, '_>, name: &str, clause: &'static str) {
        if let Some(attribute) = element.attribute(Namespace::NONE, name) {
            let value = attribute.value(element.document());
            if IriStr::new(&value).is_err() {
                let message = format!("{name}={} is not an absolute IRI", quoted(&value));
                self.fault_at(attribute.start(), clause, &message);
            }
        }
    }

    /// Checks a text construct (3.1).
    pub(super) fn text_construct(&mut self, element: Element<'_, '_>) {
        let kind = element.attribute(Namespace::NONE, "type");
        let value = kind.map(|kind| kind.value(element.document()));
        match (value.as_deref(), kind) {
            (None | Some("text" | "html"), _) => self.no_elements(element, "RFC 4287 3.1.1"),
            (Some("xhtml"), _) => self.one_div(element, "RFC 4287 3.1.1.3"),
            (Some(other), Some(kind)) => {
                let other = quoted(other);
                let message = format!("type={other}: must be \"text\", \"html\" or \"xhtml\"");
                self.fault_at(kind.start(), "RFC 4287 3.1.1", &message);
            }
            (Some(_), None) => {}
        }
    }

    pub(super) fn no_elements(&mut self, element: Element<'_, '_>, clause: &'static str) {
        if let Some(child) = element.children().next() {
            let message = format!(
                "{} stands in {}, whose type is text: markup must be escaped or of type xhtml",
                child.name(),
                element.name()
            );
            self.fault(child, clause, &message);
        }
    }

    /// Checks that the only child is a `div` of XHTML.
    pub(super) fn one_div(&mut self, element: Element<'_, '_>, clause: &'static str) {
        let mut children = element.children();
        let name = element.name();
        match (children.next(), children.next()) {
            (Some(div), None) if div.is(Namespace::XHTML, "div") => {}
            (Some(div), None) if div.local() == "div" => {
                let message = format!("the div of {name} is not in the namespace of XHTML");
                self.fault(div, clause, &message);
            }
            (Some(other), None) | (Some(_), Some(other)) => {
                let message =
                    format!("{name} of type xhtml holds one div of XHTML, and nothing else");
                self.fault(other, clause, &message);
            }
            (None, _) => {
                let message = format!("{name} of type xhtml lacks its div");
                self.fault(element, clause, &message);
            }
        }
    }

    /// Checks a person construct (3.2).
    pub(super) fn person(&mut self, person: Element<'_, '_>) {
        const PARTS: [(&str, &str); 3] =
            [("name", "RFC 4287 3.2.1"), ("uri", "RFC 4287 3.2.2"), ("email", "RFC 4287 3.2.3")];
        for (local, clause) in PARTS {
            let mut found = person.children().filter(|child| child.is(Namespace::ATOM, local));
            let first = found.next();
            if let Some(second) = found.next() {
                let message = format!("a second {} in {}", second.name(), person.name());
                self.fault(second, clause, &message);
            }
            let Some(first) = first else {
                if local == "name" {
                    let message = format!("{} lacks its atom:name", person.name());
                    self.fault(person, clause, &message);
                }
                continue;
            };
            let text = first.text();
            let is_wrong = match local {
                "uri" => IriReferenceStr::new(text.trim()).is_err(),
                "email" => !text
                    .trim()
                    .split_once('@')
                    .is_some_and(|(user, host)| !user.is_empty() && !host.is_empty()),
                _ => false,
            };
            if is_wrong {
                let what = if local == "uri" { "an IRI reference" } else { "an e-mail address" };
                let message = format!("{} is not {what}", quoted(&text));
                self.fault(first, clause, &message);
            } else if local == "name" && is_white(&text) {
                self.warn(first, clause, "the name of a person is empty");
            }
        }
    }

    /// Checks a date construct (3.3).
    pub(super) fn date(&mut self, date: Element<'_, '_>, clause: &'static str) {
        let text = date.text();
        if !is_date(&text) {
            let message = format!(
                "{} is not a date such as 2005-05-21T11:43:33Z (RFC 3339, with upper-case T and Z)",
                quoted(&text)
            );
            self.fault(date, clause, &message);
        }
    }

    /// Checks that the text of an element is a reference, or an absolute IRI if `is_id` is set.
    pub(super) fn iri_text(&mut self, element: Element<'_, '_>, is_id: bool, clause: &'static str) {
        let text = element.text();
        let (is_right, what) = if is_id {
            (IriStr::new(&text).is_ok(), "an absolute IRI")
        } else {
            (IriReferenceStr::new(text.trim()).is_ok(), "an IRI reference")
        };
        if !is_right {
            let message = format!("{} is not {what}", quoted(&text));
            self.fault(element, clause, &message);
        }
    }

    /// Checks an `atom:category` (4.2.2).
    pub(super) fn category(&mut self, category: Element<'_, '_>) {
        if category.value("term").is_none() {
            let message = format!("{} lacks the attribute \"term\"", category.name());
            self.fault(category, "RFC 4287 4.2.2.1", &message);
        }
        self.iri(category, "scheme", "RFC 4287 4.2.2.2");
    }

    /// Checks an `atom:link` (4.2.7).
    pub(super) fn link(&mut self, link: Element<'_, '_>) {
        self.reference(link, "href", "RFC 4287 4.2.7.1");
        if let Some(relation) = link.attribute(Namespace::NONE, "rel") {
            let value = relation.value(link.document());
            let is_name = !value.is_empty()
                && value.bytes().all(|byte| {
                    byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=@".contains(&byte)
                });
            if !is_name && IriStr::new(&value).is_err() {
                let message = format!("rel={} is neither a name nor an IRI", quoted(&value));
                self.fault_at(relation.start(), "RFC 4287 4.2.7.2", &message);
            }
        }
        self.media_type(link, link.attribute(Namespace::NONE, "type"), "RFC 4287 4.2.7.3");
    }

    pub(super) fn media_type(
        &mut self,
        element: Element<'_, '_>,
        attribute: Option<&Attribute>,
        clause: &'static str,
    ) {
        if let Some(attribute) = attribute {
            let value = attribute.value(element.document());
            if !is_media_type(&value) {
                let message = format!("type={} is not a media type", quoted(&value));
                self.fault_at(attribute.start(), clause, &message);
            }
        }
    }
}

/// Whether a text is a media type, with or without parameters.
pub(super) fn is_media_type(text: &str) -> bool {
    let is_token = |text: &str| {
        !text.is_empty()
            && text
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
    };
    let mut parts = text.split(';');
    let kind = parts.next().unwrap_or_default().trim();
    let is_kind = kind
        .split_once('/')
        .is_some_and(|(top, sub)| is_token(top) && is_token(sub) && !kind.contains('*'));
    // A quoted value may contain anything, also a semicolon, so the text after it is not checked.
    is_kind
        && parts.take_while(|part| !part.contains('"')).all(|part| {
            let part = part.trim();
            part.is_empty()
                || part
                    .split_once('=')
                    .is_some_and(|(name, value)| is_token(name) && is_token(value))
        })
}

/// Whether a text is an RFC 3339 date with upper-case `T` and `Z`. Fractions and offsets are allowed.
pub(super) fn is_date(text: &str) -> bool {
    let Some((seconds, rest)) = text.split_at_checked(19) else { return false };
    if Timestamp::parse(&format!("{seconds}Z")).is_err() {
        return false;
    }
    let rest = match rest.strip_prefix('.') {
        None => rest,
        Some(fraction) => {
            let rest = fraction.trim_start_matches(|digit: char| digit.is_ascii_digit());
            if rest.len() == fraction.len() {
                return false;
            }
            rest
        }
    };
    match rest.as_bytes() {
        b"Z" => true,
        [b'+' | b'-', hour @ .., b':', ten, one] if hour.len() == 2 => {
            let number = |digits: &[u8]| std::str::from_utf8(digits).ok()?.parse::<u8>().ok();
            let is_digits = hour.iter().chain([ten, one]).all(u8::is_ascii_digit);
            is_digits
                && number(hour).is_some_and(|hour| hour < 24)
                && number(&[*ten, *one]).is_some_and(|minute| minute < 60)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_rfc_3339_with_upper_case_letters() {
        for text in [
            "2003-12-13T18:30:02Z",
            "2003-12-13T18:30:02.25Z",
            "2003-12-13T18:30:02+01:00",
            "2003-12-13T18:30:02.25-11:30",
        ] {
            assert!(is_date(text), "{text}");
        }
        for text in [
            "",
            "2003-12-13",
            "2003-12-13T18:30:02",
            "2003-12-13t18:30:02z",
            "2003-13-13T18:30:02Z",
            "2003-12-13T18:30:02.Z",
            "2003-12-13T18:30:02+24:00",
            "2003-12-13T18:30:02+01:60",
            "2003-12-13T18:30:02+1:00",
            "2003-12-13T18:30:02+001:00",
            "2003-12-13T18:30:02+0a:00",
            "2003-12-13T18:30:02+0100",
            " 2003-12-13T18:30:02Z",
            "2003-12-13T18:30:02Zé",
            "Sat, 13 Dec 2003 18:30:02 GMT",
        ] {
            assert!(!is_date(text), "{text}");
        }
    }

    #[test]
    fn media_types_have_a_type_and_a_subtype() {
        for text in [
            "text/plain",
            " a/b; ",
            "application/atom+xml;type=entry",
            "a/b;c=d; e=f",
            "a/b; c=\"d;e\"; f",
        ] {
            assert!(is_media_type(text), "{text}");
        }
        for text in [
            "",
            "text",
            "text/",
            "/plain",
            "a/b/c",
            "a b/c",
            "*/*",
            "a/*",
            "a/b;c",
            "a/b;=d",
            "a/b;c=",
            "a/b;c d=e",
        ] {
            assert!(!is_media_type(text), "{text}");
        }
    }
}
