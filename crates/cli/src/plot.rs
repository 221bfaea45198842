//! `plot`: a figure that the user chooses.

use crate::Failure;
use crate::args::{PlotArgs, PlotKind};
use crate::folders;
use crate::picture::Form;
use justfull_report::chosen::{Kind, chosen};
use justfull_report::read::column_of;

/// Draws a figure from folders of results.
pub(crate) fn plot(args: &PlotArgs) -> Result<(), Failure> {
    let form = Form::of(&args.out)?;
    let column = |option: &str, name: &str| {
        column_of(name).map_err(|why| Failure::Usage(format!("{option}: {why}")))
    };
    let kind = match (args.kind, &args.x) {
        (PlotKind::Line, _) => Kind::Line { y: column("--y", &args.y)? },
        (PlotKind::Points, Some(x)) => {
            Kind::Points { x: column("--x", x)?, y: column("--y", &args.y)? }
        }
        (PlotKind::Points, None) => {
            return Err(Failure::Usage("--kind points: needs --x COLUMN".into()));
        }
        (PlotKind::Cdf | PlotKind::Ccdf, Some(_)) => {
            return Err(Failure::Usage("--x: a distribution has its own axis".into()));
        }
        (PlotKind::Cdf, None) => Kind::Cdf,
        (PlotKind::Ccdf, None) => Kind::Ccdf,
    };
    let columns = match kind {
        Kind::Line { y } => vec![y],
        Kind::Points { x, y } => vec![x, y],
        Kind::Cdf | Kind::Ccdf => Vec::new(),
    };
    let mut folders = folders::read(&args.folders, &columns, &args.methods, &args.flows)?;
    if let (PlotKind::Line, Some(x)) = (args.kind, &args.x) {
        for folder in &mut folders {
            folder.choose(x).map_err(|why| Failure::Usage(format!("--x: {why}")))?;
        }
    }
    let figure = chosen(&folders, kind, &args.y).map_err(Failure::Usage)?;
    form.write(figure, &args.out)
}
