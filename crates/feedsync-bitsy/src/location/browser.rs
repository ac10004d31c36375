//! Parser of URLs: that of the browser, which follows the same standard.

use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

use super::UrlFault;

#[wasm_bindgen]
extern "C" {
    type URL;

    #[wasm_bindgen(constructor, catch)]
    fn new(reference: &str) -> Result<URL, JsValue>;

    #[wasm_bindgen(constructor, catch)]
    fn with_base(reference: &str, base: &str) -> Result<URL, JsValue>;

    #[wasm_bindgen(method, getter)]
    fn href(this: &URL) -> String;
}

/// Resolves a reference against an absolute URL, and normalises the case of scheme and host, the default port, dot
/// segments and characters outside ASCII.
pub(super) fn resolve(base: Option<&str>, reference: &str) -> Result<String, UrlFault> {
    let parsed = match base {
        Some(base) => URL::with_base(reference, base),
        None => URL::new(reference),
    };
    parsed.map(|url| url.href()).map_err(|_| match (base, scheme(reference)) {
        (None, None) => UrlFault::Relative,
        _ => UrlFault::Other("the browser cannot read it".to_owned()),
    })
}

/// The scheme of a reference that has one.
fn scheme(reference: &str) -> Option<&str> {
    let (scheme, _) = reference.trim_start().split_once(':')?;
    let is_first = scheme.starts_with(|first: char| first.is_ascii_alphabetic());
    let is_next = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
    (is_first && scheme.bytes().all(is_next)).then_some(scheme)
}
