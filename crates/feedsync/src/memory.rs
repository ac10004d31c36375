//! Estimated memory of items as values.

use feedsync_core::{Format, Payload};
use feedsync_store::StoredItem;

/// Returns the maximum number of bytes of memory of an item: the stored bytes, and the values of these contents. A value
/// takes much more memory than its text.
pub(crate) fn memory<'a>(
    stored: &StoredItem,
    contents: impl IntoIterator<Item = &'a Payload>,
) -> usize {
    contents.into_iter().map(content).fold(stored.weight(), usize::saturating_add)
}

/// Bytes of memory of a content as a [`serde_json::Value`], which takes more than a type of the application.
fn content(payload: &Payload) -> usize {
    let text = payload.text().len();
    if payload.format() != Format::Json {
        // Texts of it, and perhaps one member for each.
        return text.saturating_mul(2);
    }
    let parts = payload.text().bytes().map(|byte| match byte {
        // The first node of a map has room for eleven members.
        b'{' => 704,
        // A list begins with room for four elements.
        b'[' => 160,
        // One more member or element. Lists have up to twice the room that they need, and maps too.
        b',' => 160,
        _ => 1,
    });
    parts.fold(0, usize::saturating_add)
}

#[cfg(test)]
mod tests {
    use feedsync_formats::read_payload;
    use serde_json::Value;

    use super::*;

    #[test]
    fn no_value_takes_more_memory_than_is_counted() {
        let list = |element: &str, count: usize| vec![element; count].join(",");
        let members = |count: usize| {
            let members = (0..count).map(|number| format!("\"{number}\":0"));
            members.collect::<Vec<_>>().join(",")
        };
        let mut texts = vec![format!("{{\"a\":\"{}\"}}", "x".repeat(10_000))];
        for count in [1, 3, 5, 12, 100, 1_025, 4_097] {
            texts.push(format!("{{\"a\":[{}]}}", list("0", count)));
            texts.push(format!("{{\"a\":[{}]}}", list("[]", count)));
            texts.push(format!("{{\"a\":[{}]}}", list("[0]", count)));
            texts.push(format!("{{\"a\":[{}]}}", list("{\"\":0}", count)));
            texts.push(format!("{{\"a\":[{}]}}", list("\"\"", count)));
            texts.push(format!("{{{}}}", members(count)));
        }
        for text in texts {
            let counted = content(&read_payload(Format::Json, &text).unwrap());
            let mut value = Value::Null;
            let measured = allocation_counter::measure(|| {
                value = serde_json::from_str(&text).unwrap();
            });
            let taken = usize::try_from(measured.bytes_current).unwrap();
            assert!(taken <= counted, "{taken} > {counted}: {:.60}", text);
            drop(value);
        }
    }
}
