//! QR codes in a terminal.

use qrcode::render::unicode::Dense1x2;
use qrcode::{EcLevel, QrCode};

/// Light modules around a code, on each side.
const QUIET_ZONE: usize = 4;

/// A text as a QR code for a terminal: two rows of modules are one line. Dark modules are drawn as spaces and light ones
/// as blocks, so the code is right on a dark background; [`on_any_background`] sets the colours. `None` if the text is
/// too long, or the code is wider than the terminal.
pub(crate) fn code(text: &str, columns: usize) -> Option<String> {
    let code = QrCode::with_error_correction_level(text, EcLevel::L).ok()?;
    if code.width() + 2 * QUIET_ZONE > columns {
        return None;
    }
    let mut drawn = code.render::<Dense1x2>();
    Some(drawn.dark_color(Dense1x2::Light).light_color(Dense1x2::Dark).build())
}

/// The same code in white on black, whatever the colours of the terminal are.
pub(crate) fn on_any_background(code: &str) -> String {
    let lines = code.lines().map(|line| format!("\x1b[97;40m{line}\x1b[0m\n"));
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads a code from the terminal: each line has two rows, and a space is a dark module.
    fn read(code: &str) -> String {
        let light = |half: char, is_upper: bool| match half {
            '█' => true,
            '▀' => is_upper,
            '▄' => !is_upper,
            _ => false,
        };
        let rows: Vec<Vec<bool>> = code
            .lines()
            .flat_map(|line| {
                [true, false]
                    .map(|is_upper| line.chars().map(|half| light(half, is_upper)).collect())
            })
            .collect();
        let (width, height) = (rows[0].len(), rows.len());
        // A reader wants several pixels for each module.
        let pixel = |x: usize, y: usize| if rows[y / 4][x / 4] { 255 } else { 0 };
        let mut image = rqrr::PreparedImage::prepare_from_greyscale(width * 4, height * 4, pixel);
        let grids = image.detect_grids();
        grids[0].decode().unwrap().1
    }

    #[test]
    fn a_printed_code_can_be_read_again() {
        for text in ["obsidian://setuplivesync?settings=x".to_owned(), "%25".repeat(300)] {
            let code = code(&text, 200).unwrap();
            assert_eq!(read(&code), text);
            let coloured = on_any_background(&code);
            let white_on_black = |line: &str| format!("\x1b[97;40m{line}\x1b[0m");
            assert!(coloured.lines().map(str::to_owned).eq(code.lines().map(white_on_black)));
        }
    }

    #[test]
    fn a_code_that_does_not_fit_is_not_drawn() {
        assert!(code("x", 29).is_some());
        assert!(code("x", 28).is_none());
        assert!(code(&"x".repeat(3_000), 1_000).is_none());
    }
}
