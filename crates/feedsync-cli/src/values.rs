//! Parsers of values that several commands take.

use std::net::SocketAddr;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use feedsync_core::Format;
use feedsync_fetch::{Url, address};

/// Parses an option's value as a socket address: an IP address with a port.
pub(crate) fn socket(text: &str) -> Result<SocketAddr, String> {
    text.parse()
        .map_err(|_| "no address with a port, such as 127.0.0.1:8080 or [::1]:8080".to_owned())
}

/// Parses the URL of a feed that everybody sees: absolute, with the scheme http or https, and without
/// credentials.
pub(crate) fn public_url(text: &str) -> Result<Url, String> {
    let url = address(text).map_err(|error| error.to_string())?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err("it is published, so it must not have a user name and a password".to_owned());
    }
    Ok(url)
}

/// Parser of the name of one of the five formats.
pub(crate) fn format() -> impl TypedValueParser<Value = Format> {
    PossibleValuesParser::new(Format::ALL.map(Format::name)).try_map(|name| name.parse::<Format>())
}

/// Parses a size in bytes: a number and perhaps a unit, of 1,000 (KB, MB, GB) or of 1,024 (KiB, MiB, GiB).
pub(crate) fn size(text: &str) -> Result<u64, String> {
    const UNITS: [(&str, u64); 8] = [
        ("", 1),
        ("B", 1),
        ("KB", 1_000),
        ("MB", 1_000_000),
        ("GB", 1_000_000_000),
        ("KiB", 1 << 10),
        ("MiB", 1 << 20),
        ("GiB", 1 << 30),
    ];
    let end = text.find(|character: char| !character.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = (&text[..end], text[end..].trim());
    let factor = UNITS.into_iter().find(|(name, _)| *name == unit).map(|(_, factor)| factor);
    let bytes =
        number.parse::<u64>().ok().zip(factor).map(|(number, factor)| number.checked_mul(factor));
    match bytes {
        Some(Some(bytes)) => Ok(bytes),
        Some(None) => Err("too large".to_owned()),
        None => Err("not a size, such as 512 MiB or 2 GB".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        for (text, bytes) in [("7", 7), ("512 MiB", 512 << 20), ("2GB", 2_000_000_000), ("0 B", 0)]
        {
            assert_eq!(size(text), Ok(bytes), "{text}");
        }
        for wrong in ["", "MiB", "-1", "1.5 GiB", "2 gib", "18446744073709551615 GiB"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
    }
}
