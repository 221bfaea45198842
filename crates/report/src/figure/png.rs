//! Figures as PNG, for media without SVG.
//!
//! Text is drawn in DejaVu Sans, which is built in, so every machine gives the same picture.

use super::page::Page;
use super::pdf::installed;
use crate::ReportError;
use flate2::Crc;
use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree};

/// Pixels for each unit of the SVG: sharp on paper and on dense screens.
const SCALE: f32 = 2.0;

const FAMILY: &str = "DejaVu Sans";

/// The picture `svg` as a PNG file.
///
/// # Errors
/// The fault of the SVG.
pub fn png(svg: &str) -> Result<Vec<u8>, ReportError> {
    drawn(svg, SCALE, None).and_then(|pixels| pixels.encode_png().map_err(|e| e.to_string().into()))
}

/// The picture `svg` of `page` as a PNG file that states its resolution.
///
/// # Errors
/// The machine lacks the font; the fault of the SVG.
pub fn png_on(page: &Page, svg: &str) -> Result<Vec<u8>, ReportError> {
    let font = page.family().map(installed).transpose()?;
    let scale = page.resolution() / CSS_INCH;
    let pixels = drawn(svg, scale as f32, font)?;
    let mut png = pixels.encode_png().map_err(|e| e.to_string())?;
    // The header, the first chunk, has a fixed length.
    png.splice(HEADER..HEADER, resolution(page.resolution()));
    Ok(png)
}

/// Pixels of an inch of a picture that gives its size in inches.
const CSS_INCH: f64 = 96.0;
/// Length of a PNG's signature and first chunk.
const HEADER: usize = 33;

/// The chunk that says how many pixels an inch has.
fn resolution(per_inch: f64) -> Vec<u8> {
    let per_metre = ((per_inch / 0.0254).round() as u32).to_be_bytes();
    let mut body = b"pHYs".to_vec();
    body.extend([per_metre, per_metre].concat());
    body.push(1);
    let mut sum = Crc::new();
    sum.update(&body);
    let mut chunk = 9_u32.to_be_bytes().to_vec();
    chunk.extend(&body);
    chunk.extend(sum.sum().to_be_bytes());
    chunk
}

fn drawn(svg: &str, scale: f32, font: Option<Vec<u8>>) -> Result<Pixmap, ReportError> {
    let mut options = Options { font_family: FAMILY.into(), ..Options::default() };
    let fonts = options.fontdb_mut();
    fonts.load_font_data(dejavu::sans::regular().to_vec());
    font.into_iter().for_each(|font| fonts.load_font_data(font));
    fonts.set_sans_serif_family(FAMILY);
    let tree = Tree::from_str(svg, &options).map_err(|e| e.to_string())?;
    let (width, height) = (tree.size().width() * scale, tree.size().height() * scale);
    let mut pixels = Pixmap::new(width.round() as u32, height.round() as u32)
        .ok_or("the picture has no size")?;
    resvg::render(&tree, Transform::from_scale(scale, scale), &mut pixels.as_mut());
    Ok(pixels)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::Figures;
    use justfull_lab::model::example;

    /// Share of the pixels of `picture` that are not white.
    fn ink(picture: &Pixmap) -> f64 {
        let inked = picture.data().chunks_exact(4).filter(|rgba| rgba[..3] != [255; 3]);
        inked.count() as f64 / f64::from(picture.width() * picture.height())
    }

    #[test]
    fn every_figure_becomes_a_picture_with_something_on_it() {
        for figure in Figures::of(&example::comparison(2)).iter() {
            let small = drawn(&figure.svg, 0.5, None);
            let small = small.unwrap_or_else(|e| panic!("{}: {e}", figure.id));
            assert!(ink(&small) > 0.005, "{}", figure.id);
        }
    }

    #[test]
    fn text_is_drawn_without_any_font_of_the_machine() {
        let text = |words: &str| {
            let svg = format!(
                "<svg viewBox=\"0 0 200 40\" xmlns=\"http://www.w3.org/2000/svg\"><rect \
                 width=\"100%\" height=\"100%\" fill=\"#FFFFFF\"/><text x=\"5\" y=\"30\" \
                 font-family=\"sans-serif\" font-size=\"24\">{words}</text></svg>"
            );
            ink(&Pixmap::decode_png(&png(&svg).expect("sound")).expect("a PNG"))
        };
        assert!(text("utilisation") > 2.0 * text("ut") && text("ut") > 0.005);
        assert!(text("").abs() < 1e-12);
    }

    #[test]
    fn bytes_of_no_picture_are_an_error() {
        assert!(png("<svg").is_err());
    }
}
