//! Figures as PDF, for papers: lines and text stay vectors, and the font is embedded.

use crate::ReportError;
use svg2pdf::usvg::{Options, Tree};
use svg2pdf::{ConversionOptions, PageOptions};

/// Units of the SVG for each inch: a picture is 8 inches wide, its text 12 points high.
const UNITS_PER_INCH: f32 = 160.0;

const FAMILY: &str = "DejaVu Sans";

/// The picture `svg` as a PDF file of one page, which the picture fills.
///
/// # Errors
/// The fault of the SVG.
pub fn pdf(svg: &str) -> Result<Vec<u8>, ReportError> {
    let mut options = Options { font_family: FAMILY.into(), ..Options::default() };
    let fonts = options.fontdb_mut();
    fonts.load_font_data(dejavu::sans::regular().to_vec());
    fonts.set_sans_serif_family(FAMILY);
    let tree = Tree::from_str(svg, &options).map_err(|e| e.to_string())?;
    let page = PageOptions { dpi: UNITS_PER_INCH };
    svg2pdf::to_pdf(&tree, ConversionOptions::default(), page).map_err(|e| e.to_string().into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::Figures;
    use justfull_lab::model::example;

    #[test]
    fn every_figure_becomes_a_page_of_eight_inches_with_its_font() {
        for figure in Figures::of(&example::comparison(2)).iter() {
            let pdf = pdf(&figure.svg).unwrap_or_else(|e| panic!("{}: {e}", figure.id));
            let text = String::from_utf8_lossy(&pdf);
            assert!(text.starts_with("%PDF-") && text.trim_end().ends_with("%%EOF"));
            assert!(text.contains("/MediaBox [0 0 576 ") && text.contains("DejaVu"));
        }
    }
}
