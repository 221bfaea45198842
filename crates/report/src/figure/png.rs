//! Figures as PNG, for media without SVG.
//!
//! Text is drawn in DejaVu Sans, which is built in, so every machine gives the same picture.

use crate::ReportError;
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
    let mut options = Options { font_family: FAMILY.into(), ..Options::default() };
    let fonts = options.fontdb_mut();
    fonts.load_font_data(dejavu::sans::regular().to_vec());
    fonts.set_sans_serif_family(FAMILY);
    let tree = Tree::from_str(svg, &options).map_err(|e| e.to_string())?;
    let size = tree.size().to_int_size().scale_by(SCALE).ok_or("the picture has no size")?;
    let mut pixels = Pixmap::new(size.width(), size.height()).ok_or("the picture has no size")?;
    resvg::render(&tree, Transform::from_scale(SCALE, SCALE), &mut pixels.as_mut());
    pixels.encode_png().map_err(|e| e.to_string().into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::Figures;
    use justfull_lab::model::example;

    /// Share of non-white pixels in the band of lines from `from` to `to` percent of the height.
    fn ink(png: &[u8], from: u32, to: u32) -> f64 {
        let picture = Pixmap::decode_png(png).expect("a PNG");
        let (width, height) = (picture.width(), picture.height());
        let (first, last) = (height * from / 100, height * to / 100);
        let row = |y: u32| (0..width).map(move |x| (x, y));
        let inked = (first..last).flat_map(row).filter(|(x, y)| {
            picture.pixel(*x, *y).is_some_and(|p| (p.red(), p.green(), p.blue()) != (255, 255, 255))
        });
        inked.count() as f64 / f64::from((last - first) * width)
    }

    #[test]
    fn every_figure_becomes_a_picture_with_something_on_it() {
        for figure in Figures::of(&example::comparison(2)).iter() {
            let png = png(&figure.svg).unwrap_or_else(|e| panic!("{}: {e}", figure.id));
            assert!(png.starts_with(b"\x89PNG"), "{}", figure.id);
            assert!(ink(&png, 0, 100) > 0.005, "{}", figure.id);
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
            ink(&png(&svg).expect("sound"), 0, 100)
        };
        assert!(text("utilisation") > 2.0 * text("ut") && text("ut") > 0.005);
        assert!(text("").abs() < 1e-12);
    }

    #[test]
    fn what_is_no_picture_is_an_error() {
        assert!(png("<svg").is_err());
    }
}
