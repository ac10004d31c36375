//! Formats of pictures that are passed on to browsers: raster formats, which cannot contain scripts.

use feedsync_fetch::{FetchError, Fetched, Fetcher, Request, Url};

/// Number of bytes that decide about the format of a longer picture.
const SIGNATURE_BYTES: usize = 64;

/// A picture as its server sent it.
pub(super) struct Raster {
    /// Media type of the format that the bytes have.
    pub(super) media_type: &'static str,
    pub(super) bytes: Vec<u8>,
}

/// Reason why there is no picture at an address.
#[derive(Debug, thiserror::Error)]
pub(super) enum RasterError {
    /// The address cannot be fetched.
    #[error(transparent)]
    Fetch(#[from] FetchError),
    /// The document has another format.
    #[error("the document is not a picture in a supported format")]
    Format,
}

/// Returns the media type of a picture in a raster format, which the first bytes decide. The declared type has no
/// influence. Formats that may contain scripts, such as SVG and HTML, have none.
pub fn raster_type(bytes: &[u8]) -> Option<&'static str> {
    Some(match bytes {
        [0x89, b'P', b'N', b'G', ..] => "image/png",
        [b'G', b'I', b'F', b'8', ..] => "image/gif",
        [0xff, 0xd8, 0xff, ..] => "image/jpeg",
        [0, 0, 1, 0, ..] => "image/x-icon",
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => "image/webp",
        [b'B', b'M', _, _, _, _, 0, 0, 0, 0, ..] => "image/bmp",
        _ if is_avif(bytes) => "image/avif",
        _ => return None,
    })
}

/// Whether a document begins with the file type box of AVIF (version 1.2.0 of the format, 6.2): the major brand or a
/// compatible one is `avif` or `avis`.
fn is_avif(bytes: &[u8]) -> bool {
    let Some((length, [b'f', b't', b'y', b'p', brands @ ..])) = bytes.split_first_chunk::<4>()
    else {
        return false;
    };
    let end = usize::try_from(u32::from_be_bytes(*length)).unwrap_or(usize::MAX);
    let end = end.min(SIGNATURE_BYTES).saturating_sub(8).min(brands.len());
    // The minor version is between the major brand and the compatible ones.
    let (brands, _) = brands[..end].as_chunks::<4>();
    brands.iter().any(|brand| matches!(brand, b"avif" | b"avis"))
}

/// Fetches a picture of at most so many bytes. A document in another format is refused after its first bytes.
pub(super) async fn fetch_raster(
    fetcher: &Fetcher,
    url: Url,
    max_bytes: usize,
) -> Result<Raster, RasterError> {
    let request = Request::read(url).accept("image/*").within(max_bytes as u64);
    let mut response = match fetcher.fetch(request).await? {
        Fetched::Answer(response) => response,
        Fetched::NotModified => return Err(RasterError::Format),
    };
    let mut bytes = Vec::new();
    let mut media_type = None;
    while let Some(chunk) = response.chunk().await? {
        bytes.extend_from_slice(&chunk);
        if media_type.is_none() && bytes.len() >= SIGNATURE_BYTES {
            media_type = Some(raster_type(&bytes).ok_or(RasterError::Format)?);
        }
    }
    let media_type = media_type.or_else(|| raster_type(&bytes)).ok_or(RasterError::Format)?;
    Ok(Raster { media_type, bytes })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_bytes_decide_about_the_format() {
        for (bytes, media_type) in [
            (&b"\x89PNG\r\n\x1a\n"[..], "image/png"),
            (b"GIF89a", "image/gif"),
            (b"\xff\xd8\xff\xe0", "image/jpeg"),
            (b"\0\0\x01\0\x01\0", "image/x-icon"),
            (b"RIFF\x10\0\0\0WEBPVP8 ", "image/webp"),
            (b"BM\x46\0\0\0\0\0\0\0\x36", "image/bmp"),
            (b"\0\0\0\x1cftypavif\0\0\0\0mif1miafMA1B", "image/avif"),
            (b"\0\0\0\x1cftypmif1\0\0\0\0mif1avifmiaf", "image/avif"),
        ] {
            assert_eq!(raster_type(bytes), Some(media_type), "{bytes:?}");
        }
    }

    #[test]
    fn documents_and_other_media_have_no_raster_format() {
        for bytes in [
            &b""[..],
            b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>",
            b"<?xml version='1.0'?><svg/>",
            b"<!DOCTYPE html><html>",
            b"<html>",
            b"BM<script>alert(1)</script>",
            b"RIFF\x10\0\0\0WAVEfmt ",
            b"\0\0\0\x1cftypisom\0\0\0\x01mp42mp41iso2",
            // The brand is not in the box.
            b"\0\0\0\x10ftypisom\0\0\0\0avifavif",
            b"\0\0\0\x1cftypav",
            b"%PDF-1.7",
            b"\x1f\x8b\x08\0",
            b"\0\0\x02\0",
        ] {
            assert_eq!(raster_type(bytes), None, "{bytes:?}");
        }
    }
}
