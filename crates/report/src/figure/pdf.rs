//! Figures as PDF, for papers: lines and text stay vectors, and the font is embedded.

use super::page::Page;
use crate::ReportError;
use justfull_scenario::near::{did_you_mean, near};
use svg2pdf::usvg::fontdb::{Database, Family, Query};
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
    drawn(svg, UNITS_PER_INCH, None)
}

/// The picture `svg` of `page` as a PDF file of one page, which the picture fills.
///
/// # Errors
/// The machine lacks the font; the fault of the SVG.
pub fn pdf_on(page: &Page, svg: &str) -> Result<Vec<u8>, ReportError> {
    drawn(svg, Options::default().dpi, page.family().map(installed).transpose()?)
}

/// The installed font of this family.
pub(super) fn installed(family: &str) -> Result<Vec<u8>, ReportError> {
    let mut fonts = Database::new();
    fonts.load_font_data(dejavu::sans::regular().to_vec());
    fonts.load_system_fonts();
    let query = Query { families: &[Family::Name(family)], ..Query::default() };
    let data = fonts.query(&query).and_then(|id| fonts.with_face_data(id, |data, _| data.to_vec()));
    data.ok_or_else(|| {
        let mut names: Vec<&str> =
            fonts.faces().flat_map(|face| &face.families).map(|(name, _)| name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        let near = did_you_mean(&near(family, &names));
        format!(
            "--font: found {family}, allowed in PNG and PDF is {FAMILY} or a family that is \
             installed on this machine{near}"
        )
        .into()
    })
}

fn drawn(svg: &str, per_inch: f32, font: Option<Vec<u8>>) -> Result<Vec<u8>, ReportError> {
    let mut options = Options { font_family: FAMILY.into(), ..Options::default() };
    let fonts = options.fontdb_mut();
    fonts.load_font_data(dejavu::sans::regular().to_vec());
    font.into_iter().for_each(|font| fonts.load_font_data(font));
    fonts.set_sans_serif_family(FAMILY);
    let tree = Tree::from_str(svg, &options).map_err(|e| e.to_string())?;
    let page = PageOptions { dpi: per_inch };
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
