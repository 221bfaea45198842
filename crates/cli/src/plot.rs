//! `plot`: a figure that the user chooses.

use crate::complete;
use crate::failure::Failure;
use crate::folders;
use crate::help::with_exit_status;
use crate::picture::Form;
use clap::{Args, ValueEnum};
use justfull_report::chosen::{Kind, chosen};
use justfull_report::read::column_of;
use std::path::PathBuf;

/// Draw a figure from folders of results: SVG, PNG or PDF
#[derive(Args)]
#[command(after_help = with_exit_status!(
    "Examples:\n  justfull run my.toml --runs 5 --out r\n  \
     justfull plot r --y delay.p99 --flow call -o limit.pdf\n  \
     justfull plot r --kind points --x goodput --y delay.p95 -o trade.svg\n  \
     justfull plot before after --kind ccdf --y delay --flow call -o tail.png\n\n\
     Columns are those of runs.jsonl, by name or short name (delay.p99 is delay_ms_p99)."
))]
pub(crate) struct PlotArgs {
    /// Folders of results
    #[arg(required = true)]
    pub(crate) folders: Vec<PathBuf>,
    /// Vertical axis: a column of runs.jsonl; for distributions a quantity of cdf.csv, such as
    /// delay
    #[arg(long, value_name = "COLUMN")]
    pub(crate) y: String,
    /// Horizontal axis: for points a column; for lines the swept setting [default: of a grid its
    /// first setting]
    #[arg(long, value_name = "COLUMN")]
    pub(crate) x: Option<String>,
    /// Means over a sweep, means over another column, or distributions (ccdf: the logarithmic tail)
    #[arg(long, value_enum, default_value = "line")]
    pub(crate) kind: PlotKind,
    /// Method to draw; may be given several times [default: all]
    #[arg(long = "method", value_name = "NAME", add = complete::methods())]
    pub(crate) methods: Vec<String>,
    /// Flow to draw; may be given several times [default: all]
    #[arg(long = "flow", value_name = "NAME")]
    pub(crate) flows: Vec<String>,
    /// File to write, in the form that its name ends in: .svg, .png, .pdf; - is standard output, as
    /// SVG
    #[arg(long, short = 'o', value_name = "FILE", default_value = "-")]
    pub(crate) out: PathBuf,
}

/// The figure that `plot` draws.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PlotKind {
    Line,
    Points,
    Cdf,
    Ccdf,
}

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
    let figure = chosen(&folders, kind, &args.y).map_err(|e| Failure::usage(&e))?;
    form.write(figure, &args.out)
}
