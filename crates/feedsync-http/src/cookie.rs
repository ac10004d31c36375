//! Cookies of browser sessions.
//!
//! Over https a cookie has the prefix `__Host-`, so that no neighbouring host can set it (RFC 6265bis 4.1.3).

use http::{HeaderMap, HeaderValue, header};

/// A cookie that scripts cannot read and other sites cannot send, by its name over http and over https.
#[derive(Debug)]
pub struct Cookie {
    plain: &'static str,
    secure: &'static str,
}

impl Cookie {
    /// Creates a cookie with these names.
    pub const fn new(plain: &'static str, secure: &'static str) -> Self {
        Self { plain, secure }
    }

    /// `Set-Cookie` value for so many seconds. The value is ASCII without separators.
    pub fn set(&self, value: &str, seconds: u64, secure: bool) -> HeaderValue {
        let (name, more) = (self.name(secure), if secure { "; Secure" } else { "" });
        let text =
            format!("{name}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{more}");
        let mut value = HeaderValue::from_str(&text)
            .unwrap_or_else(|_| unreachable!("tokens and numbers are ASCII"));
        value.set_sensitive(true);
        value
    }

    /// Value of the cookie in a request. Over https a cookie without the prefix is ignored: an attacker on an
    /// unencrypted connection, or the owner of a neighbouring host, could have set it.
    pub fn read(&self, headers: &HeaderMap, secure: bool) -> Option<String> {
        let given = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
        let mut pairs =
            given.flat_map(|text| text.split(';')).filter_map(|pair| pair.trim().split_once('='));
        let (_, value) = pairs.find(|(known, _)| *known == self.name(secure))?;
        Some(value.to_owned())
    }

    fn name(&self, secure: bool) -> &'static str {
        if secure { self.secure } else { self.plain }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_comes_back_under_the_name_of_its_scheme_only() {
        let cookie = Cookie::new("seat", "__Host-seat");
        for secure in [false, true] {
            let set = cookie.set("7", 60, secure);
            assert!(set.is_sensitive());
            let set = set.to_str().unwrap();
            assert!(set.ends_with("; Secure") == secure && set.contains("; HttpOnly"), "{set}");
            let sent = format!("a=b; {}", set.split(';').next().unwrap());
            let headers = HeaderMap::from_iter([(header::COOKIE, sent.parse().unwrap())]);
            assert_eq!(cookie.read(&headers, secure).as_deref(), Some("7"));
            assert_eq!(cookie.read(&headers, !secure), None);
        }
    }
}
