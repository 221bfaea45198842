//! The forms of a picture, and its destination.

use crate::failure::Failure;
use justfull_report::figure::page::Page;
use justfull_report::figure::{self, Figure};
use justfull_report::{ReportError, export};
use std::io::{self, Write};
use std::path::Path;

/// The form of a picture file.
#[derive(Clone, Copy)]
pub(crate) enum Form {
    Svg,
    Png,
    Pdf,
}

impl Form {
    /// The form for the extension of `out`; SVG without an extension.
    ///
    /// # Errors
    /// The form is unknown, or this build does not have it.
    pub(crate) fn of(out: &Path) -> Result<Self, Failure> {
        let ending = out.extension().map(|ending| ending.to_string_lossy().to_lowercase());
        let form = match ending.as_deref() {
            None | Some("svg") => return Ok(Self::Svg),
            Some("png") => Self::Png,
            Some("pdf") => Self::Pdf,
            Some(_) => {
                let found = out.display();
                return Err(Failure::Usage(format!(
                    "--out: found {found}, allowed is a name that ends in .svg, .png or .pdf, or -"
                )));
            }
        };
        if cfg!(feature = "png") { Ok(form) } else { Err(Failure::lacks("PNG and PDF", "png")) }
    }

    /// Writes `figure` to `out`, `-` for standard output.
    pub(crate) fn write(self, figure: Figure, out: &Path) -> Result<(), Failure> {
        let failed = |why: ReportError| Failure::Failed(why.to_string());
        let bytes = match self {
            Self::Svg => figure.standalone().into_bytes(),
            Self::Png => figure::png(&figure.svg).map_err(failed)?,
            Self::Pdf => figure::pdf(&figure.svg).map_err(failed)?,
        };
        put(out, &mut |file| file.write_all(&bytes))
    }

    /// Writes `figure`, drawn for `page`, to `out`.
    pub(crate) fn write_on(self, page: &Page, figure: &Figure, out: &Path) -> Result<(), Failure> {
        let bytes = match self {
            Self::Svg => figure.svg.clone().into_bytes(),
            Self::Png => figure::png_on(page, &figure.svg).map_err(|e| Failure::usage(&e))?,
            Self::Pdf => figure::pdf_on(page, &figure.svg).map_err(|e| Failure::usage(&e))?,
        };
        put(out, &mut |file| file.write_all(&bytes))
    }
}

/// Fills `out`, `-` for standard output. A closed pipe is an error here, so that the reader of half
/// a trace notices it.
pub(crate) fn put(
    out: &Path,
    fill: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Failure> {
    if out != Path::new("-") {
        return export::write_whole(out, fill).map_err(|e| Failure::usage(&e));
    }
    let mut stdout = io::BufWriter::new(io::stdout().lock());
    let done = fill(&mut stdout).and_then(|()| stdout.flush());
    // The rest of the buffer after an error must not be written again.
    let _ = stdout.into_parts();
    done.map_err(|e| Failure::Usage(format!("standard output: {e}")))
}
