//! Encodings of a browser, which decodes all that web pages use and encodes none.

use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

/// Longest label of an encoding, in bytes.
const MAX_LABEL: usize = 32;

#[wasm_bindgen]
extern "C" {
    type TextDecoder;

    #[wasm_bindgen(constructor, catch)]
    fn new(label: &str, options: &Options) -> Result<TextDecoder, JsValue>;

    #[wasm_bindgen(method, catch)]
    fn decode(this: &TextDecoder, bytes: &[u8]) -> Result<String, JsValue>;
}

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_name = Object)]
    type Options;

    #[wasm_bindgen(constructor, js_class = "Object")]
    fn new() -> Options;

    #[wasm_bindgen(method, setter)]
    fn set_fatal(this: &Options, is_fatal: bool);

    #[wasm_bindgen(method, setter, js_name = ignoreBOM)]
    fn set_ignore_bom(this: &Options, ignores: bool);
}

/// A decoder that refuses wrong bytes.
fn decoder(label: &str) -> Result<TextDecoder, JsValue> {
    let options = Options::new();
    options.set_fatal(true);
    options.set_ignore_bom(true);
    TextDecoder::new(label, &options)
}

/// An encoding, by its label.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Legacy {
    label: [u8; MAX_LABEL],
    length: usize,
}

impl Legacy {
    /// The encoding with this label, in lower case. UTF-16 is none of them.
    pub(crate) fn of_label(label: &str) -> Option<Self> {
        let mut bytes = [0; MAX_LABEL];
        bytes.get_mut(..label.len())?.copy_from_slice(label.as_bytes());
        let is_unicode = label.starts_with("utf-16");
        let is_known = !is_unicode && decoder(label).is_ok();
        is_known.then_some(Self { label: bytes, length: label.len() })
    }

    fn label(&self) -> &str {
        std::str::from_utf8(&self.label[..self.length]).unwrap_or_default()
    }

    /// Name of the encoding, for messages.
    pub(crate) fn name(self) -> &'static str {
        "the declared encoding"
    }

    /// Decodes a text. A browser does not say which byte is wrong.
    pub(crate) fn decode(self, bytes: &[u8]) -> Result<String, usize> {
        let decoder = decoder(self.label()).map_err(|_| 0_usize)?;
        decoder.decode(bytes).map_err(|_| 0)
    }

    /// Encodes a text of ASCII characters, which all these encodings have in common.
    pub(crate) fn encode(self, text: &str, out: &mut Vec<u8>) -> Option<()> {
        text.is_ascii().then(|| out.extend_from_slice(text.as_bytes()))
    }

    /// Whether the encoding has a character.
    pub(crate) fn has(self, character: char) -> bool {
        character.is_ascii()
    }
}
