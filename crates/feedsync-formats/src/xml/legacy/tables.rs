//! Encodings from the tables of `encoding_rs`.

use encoding_rs::{DecoderResult, EncoderResult, Encoding};

/// An encoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Legacy(&'static Encoding);

impl Legacy {
    /// The encoding with this label, in lower case. UTF-16 is none of them.
    pub(crate) fn of_label(label: &str) -> Option<Self> {
        let encoding = Encoding::for_label(label.as_bytes())?;
        (encoding == encoding.output_encoding()).then_some(Self(encoding))
    }

    /// Name of the encoding.
    pub(crate) fn name(self) -> &'static str {
        self.0.name()
    }

    /// Decodes a text. The error is the number of bytes before the first that is wrong.
    pub(crate) fn decode(self, bytes: &[u8]) -> Result<String, usize> {
        let mut decoder = self.0.new_decoder_without_bom_handling();
        let room = decoder.max_utf8_buffer_length_without_replacement(bytes.len());
        let mut text = String::with_capacity(room.unwrap_or(bytes.len()));
        let mut read = 0;
        loop {
            let (result, more) =
                decoder.decode_to_string_without_replacement(&bytes[read..], &mut text, true);
            read += more;
            match result {
                DecoderResult::InputEmpty => return Ok(text),
                DecoderResult::OutputFull => text.reserve(bytes.len().max(64)),
                DecoderResult::Malformed(length, after) => {
                    let wrong = usize::from(length) + usize::from(after);
                    return Err(read.saturating_sub(wrong));
                }
            }
        }
    }

    /// Encodes a text. Returns `None` if the encoding lacks one of its characters.
    pub(crate) fn encode(self, text: &str, out: &mut Vec<u8>) -> Option<()> {
        let mut encoder = self.0.new_encoder();
        let mut rest = text;
        loop {
            out.reserve(encoder.max_buffer_length_from_utf8_without_replacement(rest.len())?);
            let (result, read) =
                encoder.encode_from_utf8_to_vec_without_replacement(rest, out, true);
            rest = &rest[read..];
            match result {
                EncoderResult::InputEmpty => return Some(()),
                EncoderResult::OutputFull => {}
                EncoderResult::Unmappable(_) => return None,
            }
        }
    }

    /// Whether the encoding has a character.
    pub(crate) fn has(self, character: char) -> bool {
        let mut text = [0; 4];
        let mut bytes = [0; 32];
        let (result, _, _) = self.0.new_encoder().encode_from_utf8_without_replacement(
            character.encode_utf8(&mut text),
            &mut bytes,
            true,
        );
        result == EncoderResult::InputEmpty
    }
}
