//! Tables with columns of fixed width and a bold line of headings.

use crate::output::BOLD;

/// Formats headings and rows as text; the last column is not padded.
pub(crate) fn table<const N: usize>(headings: [&str; N], rows: &[[String; N]]) -> String {
    let widths: [usize; N] = std::array::from_fn(|column| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.chain([headings[column].len()]).max().unwrap_or(0)
    });
    let line = |cells: [&str; N]| {
        let padded = cells.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}"));
        padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    let mut text = format!("{BOLD}{}{BOLD:#}\n", line(headings));
    for row in rows {
        text.push_str(&line(std::array::from_fn(|column| &*row[column])));
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [["längst".to_owned(), "1".to_owned()], ["b".to_owned(), "22".to_owned()]];
        let plain = anstream::adapter::strip_str(&table(["A", "COUNT"], &rows)).to_string();
        assert_eq!(plain, "A       COUNT\nlängst  1\nb       22\n");
    }
}
