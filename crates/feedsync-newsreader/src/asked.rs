//! A request as it came.

use percent_encoding::percent_decode_str;

use crate::fault::Fault;
use crate::parameters::Parameters;

/// The most bytes of a body; a list of subscriptions has bounds of its own.
pub const MOST_BODY: usize = 2 << 20;

/// A request as it came: nothing of it is decoded.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    /// `GET`, `POST` and so on.
    pub method: &'a str,
    /// The path, from where the address ends that the newsreader was given.
    pub path: &'a str,
    /// What follows the question mark, if anything.
    pub query: &'a str,
    /// What the body is said to be.
    pub content_type: Option<&'a str>,
    /// The body.
    pub body: &'a [u8],
}

impl<'a> Asked<'a> {
    /// Refuses every method that is not among these; `HEAD` is a `GET`.
    pub(crate) fn only(&self, allowed: &'static [&'static str]) -> Result<(), Fault> {
        if allowed.contains(&self.verb()) { Ok(()) } else { Err(Fault::Method { allowed }) }
    }

    /// The method; of `HEAD` the one that it asks about.
    pub(crate) fn verb(&self) -> &'a str {
        if self.method == "HEAD" { "GET" } else { self.method }
    }

    /// The path without slashes at its beginning, and without the first of these prefixes that it has. A slash at its
    /// end may belong to the address of a feed.
    pub(crate) fn path_below(&self, prefixes: &[&str]) -> &'a str {
        let path = self.path.trim_start_matches('/');
        let below = prefixes.iter().find_map(|prefix| {
            let rest = path.strip_prefix(prefix)?;
            (rest.is_empty() || rest.starts_with('/')).then_some(rest)
        });
        // Newsreaders put a slash behind an address that ends with one.
        below.unwrap_or(path).trim_start_matches('/')
    }

    /// That nothing is at this path.
    pub(crate) fn not_found(&self) -> Fault {
        let shown = self.path.floor_char_boundary(200);
        Fault::NotFound { path: self.path[..shown].to_owned() }
    }

    /// The parameters of the query, and those of a form in the body behind them.
    pub(crate) fn parameters(&self) -> Result<Parameters, Fault> {
        let mut parameters = Parameters::default();
        parameters.read("the query", self.query.strip_prefix('?').unwrap_or(self.query))?;
        if self.verb() != "GET" && !self.body.is_empty() {
            // Newsreaders that write a form themselves do not always say so.
            if !self.is_said_to_be(&["application/x-www-form-urlencoded", "text/plain"], true) {
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

    /// The body, unless it is too large to be read into values.
    pub(crate) fn bounded_body(&self) -> Result<&'a [u8], Fault> {
        if self.body.len() > MOST_BODY {
            return Err(Fault::TooLarge { most: MOST_BODY });
        }
        Ok(self.body)
    }

    /// Whether the body is said to be one of these; `unsaid` if nothing is said.
    pub(crate) fn is_said_to_be(&self, types: &[&str], unsaid: bool) -> bool {
        let Some(said) = self.content_type else { return unsaid };
        let said = said.split(';').next().unwrap_or_default().trim();
        said.is_empty() || types.iter().any(|known| known.eq_ignore_ascii_case(said))
    }
}

/// A part of a path, decoded.
pub(crate) fn decoded(part: &str) -> Result<String, Fault> {
    let text = percent_decode_str(part).decode_utf8();
    let text = text.map_err(|_| Fault::of("the path", "percent-encoded bytes are not UTF-8"))?;
    Ok(text.into_owned())
}
