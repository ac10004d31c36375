//! Raw requests.

use percent_encoding::percent_decode_str;

use crate::fault::Fault;
use crate::parameters::Parameters;

/// Maximum size of a request body, in bytes; subscription lists have a limit of their own.
pub const MAX_BODY_BYTES: usize = 2 << 20;

/// A raw request, in which nothing is decoded.
#[derive(Debug, Clone, Copy)]
pub struct RawRequest<'a> {
    /// HTTP method.
    pub method: &'a str,
    /// Path below the address that the newsreader was configured with.
    pub path: &'a str,
    /// Query string without the question mark, which may be empty.
    pub query: &'a str,
    /// Declared media type of the body.
    pub content_type: Option<&'a str>,
    /// Request body.
    pub body: &'a [u8],
}

impl<'a> RawRequest<'a> {
    /// Refuses every method that is not among these; `HEAD` counts as `GET`.
    pub(crate) fn only(&self, allowed: &'static [&'static str]) -> Result<(), Fault> {
        if allowed.contains(&self.verb()) { Ok(()) } else { Err(Fault::Method { allowed }) }
    }

    /// Effective method: `GET` for `HEAD`.
    pub(crate) fn verb(&self) -> &'a str {
        if self.method == "HEAD" { "GET" } else { self.method }
    }

    /// Path without leading slashes and without the first matching prefix. A trailing slash is kept, since it may
    /// belong to the address of a feed.
    pub(crate) fn path_below(&self, prefixes: &[&str]) -> &'a str {
        let path = self.path.trim_start_matches('/');
        let below = prefixes.iter().find_map(|prefix| {
            let rest = path.strip_prefix(prefix)?;
            (rest.is_empty() || rest.starts_with('/')).then_some(rest)
        });
        // Newsreaders append a slash to a configured address that already ends with one.
        below.unwrap_or(path).trim_start_matches('/')
    }

    /// Fault for a path without a resource.
    pub(crate) fn not_found(&self) -> Fault {
        let shown = self.path.floor_char_boundary(200);
        Fault::NotFound { path: self.path[..shown].to_owned() }
    }

    /// Parses the parameters of the query, followed by those of a form in the body.
    pub(crate) fn parameters(&self) -> Result<Parameters, Fault> {
        let mut parameters = Parameters::default();
        parameters.read("the query", self.query.strip_prefix('?').unwrap_or(self.query))?;
        if self.verb() != "GET" && !self.body.is_empty() {
            // Some newsreaders send forms with a missing or wrong media type.
            if !self.has_media_type(&["application/x-www-form-urlencoded", "text/plain"], true) {
                return Err(Fault::Media { wanted: "application/x-www-form-urlencoded" });
            }
            let text = std::str::from_utf8(self.bounded_body()?).map_err(|_| Fault::Body {
                line: 0,
                column: 0,
                reason: "not UTF-8".to_owned(),
            })?;
            parameters.read("the body", text.trim_end_matches(['\r', '\n']))?;
        }
        Ok(parameters)
    }

    /// Returns the body, unless it exceeds the limit.
    pub(crate) fn bounded_body(&self) -> Result<&'a [u8], Fault> {
        if self.body.len() > MAX_BODY_BYTES {
            return Err(Fault::TooLarge { most: MAX_BODY_BYTES });
        }
        Ok(self.body)
    }

    /// Whether the declared media type is one of these; returns `unsaid` if none is declared.
    pub(crate) fn has_media_type(&self, types: &[&str], unsaid: bool) -> bool {
        let Some(said) = self.content_type else { return unsaid };
        let said = said.split(';').next().unwrap_or_default().trim();
        said.is_empty() || types.iter().any(|known| known.eq_ignore_ascii_case(said))
    }
}

/// Percent-decodes a path segment.
pub(crate) fn decoded(part: &str) -> Result<String, Fault> {
    let text = percent_decode_str(part).decode_utf8();
    let text =
        text.map_err(|_| Fault::of("the path", "the percent-encoded bytes are not valid UTF-8"))?;
    Ok(text.into_owned())
}
