//! Syntax of values of settings, with their parsers and formatters.

use std::fmt::Display;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use ipnet::IpNet;

use super::RawValue;

/// Conversion between values of a type and their written form.
pub(crate) trait Kind<T> {
    /// Description of the syntax, which follows "must be".
    const FORM: &'static str;

    /// Parses a written value, or returns the reason why it is not valid.
    fn read(given: &RawValue) -> Result<T, String>;

    /// Formats a value for the file.
    fn show(value: &T) -> String;
}

/// Values that the type itself parses and formats.
pub(crate) struct Text;
/// A size.
pub(crate) struct Bytes;
/// A number of at least 1.
pub(crate) struct Count;
/// A number, or 0.
pub(crate) struct CountOrZero;
/// A duration.
pub(crate) struct Span;
/// A path.
pub(crate) struct File;
/// An IP address, or a network.
pub(crate) struct Network;
/// An IP address with a port.
pub(crate) struct Socket;
/// A value, or an empty text for none.
pub(crate) struct Optional<K>(K);
/// A list of values.
pub(crate) struct ListOf<K>(K);

/// Maximum of any count. No limit is meant to be larger, and semaphores could not hold many more
/// permits.
const MAX_COUNT: usize = 1_000_000_000;

fn text(given: &RawValue) -> Result<&str, String> {
    match given {
        RawValue::Text(text) => Ok(text.trim()),
        RawValue::List(_) => Err("found a list".to_owned()),
    }
}

/// Quotes a text for TOML, which has the same escapes as JSON.
fn quoted(text: impl Display) -> String {
    serde_json::Value::String(text.to_string()).to_string()
}

impl<T: FromStr<Err: Display> + Display> Kind<T> for Text {
    const FORM: &'static str = "a string";

    fn read(given: &RawValue) -> Result<T, String> {
        text(given)?.parse().map_err(|error: T::Err| error.to_string())
    }

    fn show(value: &T) -> String {
        quoted(value)
    }
}

impl Kind<usize> for CountOrZero {
    const FORM: &'static str = "a number";

    fn read(given: &RawValue) -> Result<usize, String> {
        let text = text(given)?.replace('_', "");
        let number: usize = text.parse().map_err(|_| format!("{text:?} is not a number"))?;
        if number > MAX_COUNT {
            return Err(format!("{number} is more than the maximum of {MAX_COUNT}"));
        }
        Ok(number)
    }

    fn show(value: &usize) -> String {
        grouped(*value)
    }
}

/// Formats a number; the digits of large ones are in groups of three.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    if number < 10_000 {
        return digits;
    }
    let groups: Vec<_> = digits.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy).collect();
    groups.join("_")
}

impl Kind<usize> for Count {
    const FORM: &'static str = "a number from 1";

    fn read(given: &RawValue) -> Result<usize, String> {
        match CountOrZero::read(given)? {
            0 => Err("0 is too small".to_owned()),
            number => Ok(number),
        }
    }

    fn show(value: &usize) -> String {
        grouped(*value)
    }
}

/// Splits a text into its leading number and the unit after it.
fn measured(text: &str) -> Option<(u64, &str)> {
    let end = text.find(|character: char| !character.is_ascii_digit()).unwrap_or(text.len());
    Some((text[..end].parse().ok()?, text[end..].trim()))
}

impl Kind<usize> for Bytes {
    const FORM: &'static str = "a size, such as \"512 KiB\" or \"8 MiB\"";

    fn read(given: &RawValue) -> Result<usize, String> {
        const UNITS: [(&str, u64); 5] =
            [("", 1), ("B", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)];
        let text = text(given)?;
        let size = measured(text).and_then(|(number, unit)| {
            let (_, factor) = UNITS.into_iter().find(|(name, _)| *name == unit)?;
            usize::try_from(number.checked_mul(factor)?).ok()
        });
        match size {
            Some(0) => Err("0 is too small".to_owned()),
            Some(size) if size <= 1 << 40 => Ok(size),
            Some(_) => Err(format!("{text} is too large")),
            None => Err(format!("{text:?} is not a size")),
        }
    }

    fn show(value: &usize) -> String {
        let units = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
        match units
            .into_iter()
            .find(|(_, factor)| *value >= *factor && value.is_multiple_of(*factor))
        {
            Some((unit, factor)) => quoted(format_args!("{} {unit}", value / factor)),
            None => quoted(format_args!("{value} B")),
        }
    }
}

impl Kind<Duration> for Span {
    const FORM: &'static str =
        "a time, such as \"500 ms\", \"20 s\", \"2 min\", \"1 h\" or \"30 days\"";

    fn read(given: &RawValue) -> Result<Duration, String> {
        const UNITS: [(&str, u64); 8] = [
            ("", 1_000),
            ("s", 1_000),
            ("ms", 1),
            ("min", 60_000),
            ("h", 3_600_000),
            ("d", 86_400_000),
            ("day", 86_400_000),
            ("days", 86_400_000),
        ];
        const YEAR: Duration = Duration::from_secs(366 * 24 * 60 * 60);
        let text = text(given)?;
        let span = measured(text).and_then(|(number, unit)| {
            let (_, factor) = UNITS.into_iter().find(|(name, _)| *name == unit)?;
            Some(Duration::from_millis(number.checked_mul(factor)?))
        });
        match span {
            Some(span) if span <= YEAR => Ok(span),
            Some(_) => Err(format!("{text} is too long")),
            None => Err(format!("{text:?} is not a time")),
        }
    }

    fn show(value: &Duration) -> String {
        let milliseconds = value.as_millis();
        let units =
            [("days", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1_000), ("ms", 1)];
        match units
            .into_iter()
            .find(|(_, factor)| milliseconds >= *factor && milliseconds.is_multiple_of(*factor))
        {
            Some(("days", factor)) if milliseconds == factor => quoted("1 day"),
            Some((unit, factor)) => quoted(format_args!("{} {unit}", milliseconds / factor)),
            None => quoted("0 s"),
        }
    }
}

impl Kind<PathBuf> for File {
    const FORM: &'static str = "a path";

    fn read(given: &RawValue) -> Result<PathBuf, String> {
        Ok(PathBuf::from(text(given)?))
    }

    fn show(value: &PathBuf) -> String {
        quoted(value.display())
    }
}

impl Kind<IpNet> for Network {
    const FORM: &'static str = "an address or a block of addresses";

    fn read(given: &RawValue) -> Result<IpNet, String> {
        let text = text(given)?;
        let address = || text.parse::<IpAddr>().map(IpNet::from);
        text.parse().or_else(|_| address()).map_err(|_| {
            format!(
                "{text:?} is neither an address, such as 192.168.1.5 or fd00::1, nor a block of addresses, such as \
                 10.0.0.0/8"
            )
        })
    }

    fn show(value: &IpNet) -> String {
        quoted(value)
    }
}

impl Kind<SocketAddr> for Socket {
    const FORM: &'static str = "an address with a port";

    fn read(given: &RawValue) -> Result<SocketAddr, String> {
        let text = text(given)?;
        text.parse().map_err(|_| {
            format!("{text:?} is not an address with a port, such as 127.0.0.1:8080 or [::1]:8080")
        })
    }

    fn show(value: &SocketAddr) -> String {
        quoted(value)
    }
}

impl<T, K: Kind<T>> Kind<Option<T>> for Optional<K> {
    const FORM: &'static str = K::FORM;

    fn read(given: &RawValue) -> Result<Option<T>, String> {
        if text(given)?.is_empty() { Ok(None) } else { K::read(given).map(Some) }
    }

    fn show(value: &Option<T>) -> String {
        value.as_ref().map_or_else(|| quoted(""), K::show)
    }
}

impl<T, K: Kind<T>> Kind<Vec<T>> for ListOf<K> {
    const FORM: &'static str = "a list";

    /// A list of the file, or texts between commas.
    fn read(given: &RawValue) -> Result<Vec<T>, String> {
        let texts: Vec<&str> = match given {
            RawValue::List(list) => list.iter().map(String::as_str).collect(),
            RawValue::Text(text) => {
                text.split(',').map(str::trim).filter(|text| !text.is_empty()).collect()
            }
        };
        texts.into_iter().map(|text| K::read(&RawValue::Text(text.to_owned()))).collect()
    }

    fn show(value: &Vec<T>) -> String {
        let shown: Vec<_> = value.iter().map(K::show).collect();
        format!("[{}]", shown.join(", "))
    }
}
