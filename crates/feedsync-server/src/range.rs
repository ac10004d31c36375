//! Parts of a representation (RFC 9110 14, AH19): one range of bytes; of several, all is sent.

use std::ops::Range;

use http::{HeaderMap, HeaderValue, header};

/// What a request wants of a representation.
#[derive(Debug, PartialEq, Eq)]
pub enum Asked {
    /// All of it.
    Whole,
    /// These bytes, at least one.
    Part(Range<usize>),
    /// Bytes that are not there.
    Nothing,
}

/// What `Range` asks of so many bytes; `If-Range` must name their tag, strongly, else it does not count.
pub fn asked(headers: &HeaderMap, tag: Option<&HeaderValue>, length: usize) -> Asked {
    let Some(range) = headers.get(header::RANGE) else { return Asked::Whole };
    if headers.get(header::IF_RANGE).is_some_and(|held| Some(held) != tag || is_weak(held)) {
        return Asked::Whole;
    }
    parsed(range, length).unwrap_or(Asked::Whole)
}

fn is_weak(tag: &HeaderValue) -> bool {
    tag.as_bytes().starts_with(b"W/")
}

/// `None` for what is no single range of bytes.
fn parsed(value: &HeaderValue, length: usize) -> Option<Asked> {
    let (unit, set) = value.to_str().ok()?.split_once('=')?;
    let (first, last) = set.trim().split_once('-')?;
    if !unit.trim().eq_ignore_ascii_case("bytes") {
        return None;
    }
    let number = |text: &str| -> Option<usize> {
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        // More digits than fit are beyond any length.
        digits.then(|| text.parse().unwrap_or(usize::MAX))
    };
    let range = match (first, last) {
        ("", last) => length.saturating_sub(number(last)?)..length,
        (first, "") => number(first)?..length,
        (first, last) => {
            let (first, last) = (number(first)?, number(last)?);
            if last < first {
                return None;
            }
            first..last.saturating_add(1).min(length)
        }
    };
    Some(if range.start < range.end { Asked::Part(range) } else { Asked::Nothing })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_range_is_a_part_and_anything_else_is_all() {
        let tag = HeaderValue::from_static("\"abc\"");
        let ask = |range: &str, if_range: Option<&str>| {
            let mut headers = HeaderMap::new();
            headers.insert(header::RANGE, range.parse().unwrap());
            if let Some(held) = if_range {
                headers.insert(header::IF_RANGE, held.parse().unwrap());
            }
            asked(&headers, Some(&tag), 10)
        };
        for (range, part) in [
            ("bytes=0-0", Asked::Part(0..1)),
            ("Bytes=2-", Asked::Part(2..10)),
            ("bytes=2-99999999999999999999999", Asked::Part(2..10)),
            ("bytes=-3", Asked::Part(7..10)),
            ("bytes=-30", Asked::Part(0..10)),
            ("bytes=10-", Asked::Nothing),
            ("bytes=-0", Asked::Nothing),
            ("bytes=99999999999999999999999-", Asked::Nothing),
            ("bytes=3-2", Asked::Whole),
            ("bytes=0-1,3-4", Asked::Whole),
            ("bytes=a-b", Asked::Whole),
            ("bytes=-", Asked::Whole),
            ("lines=1-2", Asked::Whole),
            ("bytes", Asked::Whole),
        ] {
            assert_eq!(ask(range, None), part, "{range}");
        }
        assert_eq!(ask("bytes=0-0", Some("\"abc\"")), Asked::Part(0..1));
        for other in ["\"abd\"", "W/\"abc\"", "Sat, 21 Nov 2026 12:00:00 GMT"] {
            assert_eq!(ask("bytes=0-0", Some(other)), Asked::Whole, "{other}");
        }
        assert_eq!(asked(&HeaderMap::new(), Some(&tag), 10), Asked::Whole);
    }
}
