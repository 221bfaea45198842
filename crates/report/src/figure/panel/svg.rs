//! Makes the SVG text of a picture small and gives it a name for screen readers.

use super::Pixel;
use std::fmt::Write;

/// Makes the picture scale with its container, adds its name for screen readers and drops needless
/// attributes.
pub(in crate::figure) fn finish(svg: &str, title: &str) -> String {
    finish_with(svg, title, "font-family=\"sans-serif\"")
}

/// Like [`finish`], with `attributes` on the root element.
pub(in crate::figure) fn finish_with(svg: &str, title: &str, attributes: &str) -> String {
    let body = svg.split_once('>').map_or("", |(_, body)| body);
    let view = svg
        .split_once("viewBox=\"")
        .and_then(|(_, rest)| rest.split_once('"'))
        .map_or("", |(view, _)| view);
    let title = super::super::escape(title);
    let body = body.replace(" opacity=\"1\"", "").replace(" font-family=\"sans-serif\"", "");
    let body = relative(&body.replace(">\n", ">"));
    format!(
        "<svg class=\"jf\" viewBox=\"{view}\" xmlns=\"http://www.w3.org/2000/svg\" \
         {attributes} role=\"img\"><title>{title}</title><rect width=\"100%\" \
         height=\"100%\" fill=\"#FFFFFF\"/>{body}\n"
    )
}

/// Converts lines and polygons to paths with relative steps. They take half of the bytes of lists
/// of points.
fn relative(svg: &str) -> String {
    let mut parts = svg.split(" points=\"");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (list, rest) = part.split_once('"').unwrap_or((part, ""));
        let tag = out.rfind('<').unwrap_or(0);
        let close = if out[tag..].starts_with("<polygon") { "z" } else { "" };
        out = format!(
            "{}<path{}",
            &out[..tag],
            out[tag..].trim_start_matches("<polyline").trim_start_matches("<polygon")
        );
        let _ = write!(out, " d=\"{}{close}\"{rest}", steps(list));
    }
    out
}

/// Converts `1,2 4,6 4,5` to `M1,2l3,4 0,-1`. No blank separates a sign from the number before it.
fn steps(list: &str) -> String {
    let number = |text: &str| text.parse::<i32>().expect("plotters writes whole coordinates");
    let points = list.split_whitespace().filter_map(|point| point.split_once(','));
    let mut before: Option<Pixel> = None;
    points.fold(String::new(), |mut out, (x, y)| {
        let (x, y) = (number(x), number(y));
        let _ = match before {
            None => write!(out, "M{x},{y}l"),
            Some((x0, y0)) => {
                let comma = if y < y0 { "" } else { "," };
                let blank = if out.ends_with('l') || x < x0 { "" } else { " " };
                write!(out, "{blank}{}{comma}{}", x - x0, y - y0)
            }
        };
        before = Some((x, y));
        out
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_become_paths_with_relative_steps() {
        let svg = "<g><polyline fill=\"none\" points=\"1,2 4,6 4,5 3,5 \"/><polygon \
                   fill=\"#000000\" points=\"0,0 9,0 9,9 \"/></g>";
        let expected = "<g><path fill=\"none\" d=\"M1,2l3,4 0-1-1,0\"/><path fill=\"#000000\" \
                        d=\"M0,0l9,0 0,9z\"/></g>";
        assert_eq!(relative(svg), expected);
    }
}
