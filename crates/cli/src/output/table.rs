//! Tables with aligned columns.

use super::{paint, plain, style};

/// Rows under headings. The last column is not padded.
pub(crate) struct Table {
    headings: Vec<&'static str>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// An empty table.
    pub(crate) fn new<const N: usize>(headings: [&'static str; N]) -> Self {
        Self {
            headings: headings.to_vec(),
            rows: Vec::new(),
        }
    }

    /// Adds a row, one cell for each heading. Of a cell only the first line is shown.
    pub(crate) fn row<const N: usize>(&mut self, cells: [String; N]) {
        let first_line = |cell: String| plain(cell.lines().next().unwrap_or_default()).into_owned();
        self.rows.push(cells.into_iter().map(first_line).collect());
    }

    /// Whether the table has no rows.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The table as lines.
    pub(crate) fn render(&self) -> String {
        let width = |column: usize| {
            let cells = self
                .rows
                .iter()
                .filter_map(|row| row.get(column))
                .map(|cell| cell.chars().count());
            cells
                .chain(self.headings.get(column).map(|heading| heading.len()))
                .max()
                .unwrap_or_default()
        };
        let widths: Vec<usize> = (0..self.headings.len()).map(width).collect();
        let headings: Vec<String> = self
            .headings
            .iter()
            .map(|&heading| heading.to_owned())
            .collect();
        let mut lines = vec![paint(style::STRONG, &line(&headings, &widths))];
        lines.extend(self.rows.iter().map(|row| line(row, &widths)));
        lines.join("\n")
    }
}

fn line(cells: &[String], widths: &[usize]) -> String {
    let padded: Vec<String> = cells
        .iter()
        .zip(widths)
        .map(|(cell, &width)| format!("{cell:width$}"))
        .collect();
    padded.join("  ").trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let mut table = Table::new(["NAME", "EFFECTS", "FILE"]);
        table.row(["read_file".into(), "read".into(), "a.md".into()]);
        table.row(["é".into(), "none".into(), "two\nlines".into()]);
        let text = anstream::adapter::strip_str(&table.render()).to_string();
        insta::assert_snapshot!(text, @r"
        NAME       EFFECTS  FILE
        read_file  read     a.md
        é          none     two
        ");
    }
}
