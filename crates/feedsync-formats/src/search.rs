//! Search for bytes. WebAssembly has a small search, because a web page downloads the code.

#[cfg(not(target_arch = "wasm32"))]
pub(crate) use memchr::memmem::find;
#[cfg(target_arch = "wasm32")]
pub(crate) use small::find;

/// Offsets of the occurrences of `needle` that do not overlap.
pub(crate) fn find_iter(haystack: &[u8], needle: &[u8]) -> impl Iterator<Item = usize> {
    let mut from = 0;
    std::iter::from_fn(move || {
        let found = from + find(haystack.get(from..)?, needle)?;
        from = found + needle.len().max(1);
        Some(found)
    })
}

#[cfg(any(target_arch = "wasm32", test))]
mod small {
    /// Offset of the first occurrence of `needle`. The time grows with the length of `needle`; all of ours are short.
    pub(crate) fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
        let Some(first) = needle.first() else { return Some(0) };
        let mut from = 0;
        loop {
            from += memchr::memchr(*first, haystack.get(from..)?)?;
            if haystack[from..].starts_with(needle) {
                return Some(from);
            }
            from += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn small_search_finds_what_memmem_finds(text in "[ab]{0,20}", part in "[ab]{0,4}") {
            let (text, part) = (text.as_bytes(), part.as_bytes());
            let expected = memchr::memmem::find(text, part);
            prop_assert_eq!(super::small::find(text, part), expected);
            if !part.is_empty() {
                let all: Vec<usize> = memchr::memmem::find_iter(text, part).collect();
                prop_assert_eq!(super::find_iter(text, part).collect::<Vec<_>>(), all);
            }
        }
    }
}
