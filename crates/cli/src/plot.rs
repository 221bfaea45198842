//! `plot`: a figure that the user chooses.

use crate::complete;
use crate::failure::Failure;
use crate::folders;
use crate::help::with_exit_status;
use crate::picture::Form;
use clap::{Args, ValueEnum};
use justfull_report::chosen::{Kind, chosen};
use justfull_report::figure::page::{Page, Style, Wishes};
use justfull_report::read::{column_of, over_time_of};
use std::path::PathBuf;

/// Draw a figure from folders of results: SVG, PNG or PDF
#[derive(Args)]
#[command(after_help = with_exit_status!(
    "Examples:\n  justfull run my.toml --runs 5 --out r\n  \
     justfull plot r --y delay.p99 --flow call -o limit.pdf\n  \
     justfull plot r --kind points --x goodput --y delay.p95 -o trade.svg\n  \
     justfull plot before after --kind ccdf --y delay --flow call -o tail.png\n  \
     justfull plot r --kind bars --y delay.p99 --flow call --style ieee -o bars.pdf\n  \
     justfull plot r --kind layers --y low_latency_sojourn --style acm -o layers.pdf\n  \
     justfull plot r --kind series --y delay --flow call --style ieee -o time.pdf\n  \
     justfull plot r --kind heat --y delay.p99 --flow call --method DRQL --style acm -o map.pdf\n  \
     justfull plot r --kind cdf --y delay --width 88mm --font \"9pt Arial\" -o call.pdf\n\n\
     Columns are those of runs.jsonl, by name or short name (delay.p99 is delay_ms_p99). A series \
     is of a column of flow_series.csv or series.csv."
))]
pub(crate) struct PlotArgs {
    /// Folders of results
    #[arg(required = true)]
    pub(crate) folders: Vec<PathBuf>,
    /// Vertical axis, for bars the horizontal one: a column of runs.jsonl. For distributions a
    /// quantity of cdf.csv, such as delay; for layers low_latency_sojourn or other_sojourn; for
    /// series delay (the median of each bin), delay.p90, goodput, rlc_packets and so on
    #[arg(long, value_name = "COLUMN")]
    pub(crate) y: String,
    /// Horizontal axis: for points a column; for lines the swept setting [default: of a grid its
    /// first setting]
    #[arg(long, value_name = "COLUMN")]
    pub(crate) x: Option<String>,
    /// Means over a sweep, means over another column, distributions (ccdf: the logarithmic tail),
    /// a bar for each method, bars of the mean times in UPF, SDAP and RLC, a heat map of a grid of
    /// two settings, or values over the time of a run
    #[arg(long, value_enum, default_value = "line")]
    pub(crate) kind: PlotKind,
    /// Method to draw; may be given several times [default: all]
    #[arg(long = "method", value_name = "NAME", add = complete::methods())]
    pub(crate) methods: Vec<String>,
    /// Flow to draw; may be given several times [default: all]
    #[arg(long = "flow", value_name = "NAME")]
    pub(crate) flows: Vec<String>,
    /// Seed of the runs of a series [default: the means over all runs of each method]
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// File to write, in the form that its name ends in: .svg, .png, .pdf; - is standard output, as
    /// SVG
    #[arg(long, short = 'o', value_name = "FILE", default_value = "-")]
    pub(crate) out: PathBuf,
    #[command(flatten)]
    pub(crate) page: PageArgs,
}

/// The place of the figure in a paper.
#[derive(Args)]
#[command(next_help_heading = "For a paper")]
pub(crate) struct PageArgs {
    /// Width and type of one column: ieee 3.5in and 8pt (IEEE Author Center), acm 3.33in and 8pt
    /// (acmart, sigconf), plain 8in and 12.6pt
    #[arg(long, value_enum, default_value = "plain")]
    pub(crate) style: PlotStyle,
    /// Width in in, mm, cm, pt or px [default: the style's]. A PNG has 600 pixels an inch, or this
    /// number of px
    #[arg(long, value_name = "LENGTH", allow_hyphen_values = true)]
    pub(crate) width: Option<String>,
    /// Height of the whole figure [default: in proportion to the width]
    #[arg(long, value_name = "LENGTH", allow_hyphen_values = true)]
    pub(crate) height: Option<String>,
    /// Size of all type, its family, or both: 9pt, "Times New Roman", "9pt Times New Roman". The
    /// family is embedded in PDF, drawn in PNG and named in SVG [default: DejaVu Sans]
    #[arg(long, value_name = "FONT", allow_hyphen_values = true)]
    pub(crate) font: Option<String>,
    /// Text above the figure [default: none]
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) title: Option<String>,
    /// Label of the horizontal axis [default: its quantity in words, with the unit]
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) xlabel: Option<String>,
    /// Label of the vertical axis [default: its quantity in words, with the unit]
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) ylabel: Option<String>,
}

/// Sizes of a publisher.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PlotStyle {
    Plain,
    Ieee,
    Acm,
}

impl PageArgs {
    fn page(&self) -> Result<Option<Page>, Failure> {
        let style = match self.style {
            PlotStyle::Plain => Style::Plain,
            PlotStyle::Ieee => Style::Ieee,
            PlotStyle::Acm => Style::Acm,
        };
        let wishes = Wishes {
            style,
            width: self.width.clone(),
            height: self.height.clone(),
            font: self.font.clone(),
            title: self.title.clone(),
            x_label: self.xlabel.clone(),
            y_label: self.ylabel.clone(),
        };
        Page::of(&wishes).map_err(|e| Failure::usage(&e))
    }
}

/// The figure that `plot` draws.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PlotKind {
    Line,
    Points,
    Cdf,
    Ccdf,
    Bars,
    Layers,
    Heat,
    Series,
}

/// Draws a figure from folders of results.
pub(crate) fn plot(args: &PlotArgs) -> Result<(), Failure> {
    let form = Form::of(&args.out)?;
    let page = args.page.page()?.unwrap_or_else(Page::plain);
    let kind = kind_of(args)?;
    refuse_idle(args, kind)?;
    let columns = match kind {
        Kind::Line { y } | Kind::Bars { y } | Kind::Heat { y } => vec![y],
        Kind::Points { x, y } => vec![x, y],
        Kind::Cdf | Kind::Ccdf | Kind::Layers | Kind::Series { .. } => Vec::new(),
    };
    let mut folders = folders::read(&args.folders, &columns, &args.methods, &args.flows)?;
    if let (PlotKind::Line | PlotKind::Heat, Some(x)) = (args.kind, &args.x) {
        for folder in &mut folders {
            folder.choose(x).map_err(|why| Failure::Usage(format!("--x: {why}")))?;
        }
    }
    let drawn = chosen(&folders, kind, &args.y, Some(&page));
    let figure = drawn.map_err(|e| Failure::usage(&e))?;
    form.write_on(&page, &figure, &args.out)
}

/// The kind of the figure, with its columns.
fn kind_of(args: &PlotArgs) -> Result<Kind, Failure> {
    let column = |option: &str, name: &str| {
        column_of(name).map_err(|why| Failure::Usage(format!("{option}: {why}")))
    };
    let refused = |why: &str| Err(Failure::Usage(why.into()));
    let y = || column("--y", &args.y);
    Ok(match (args.kind, &args.x) {
        (PlotKind::Line, _) => Kind::Line { y: y()? },
        (PlotKind::Heat, _) => Kind::Heat { y: y()? },
        (PlotKind::Points, Some(x)) => Kind::Points { x: column("--x", x)?, y: y()? },
        (PlotKind::Points, None) => return refused("--kind points: needs --x COLUMN"),
        (PlotKind::Cdf | PlotKind::Ccdf, Some(_)) => {
            return refused("--x: a distribution has its own axis");
        }
        (PlotKind::Bars | PlotKind::Layers, Some(_)) => {
            return refused("--x: bars have their own axis, which --y gives");
        }
        (PlotKind::Series, Some(_)) => return refused("--x: the axis of a series is the time"),
        (PlotKind::Series, None) => {
            let y = over_time_of(&args.y).map_err(|why| Failure::Usage(format!("--y: {why}")))?;
            Kind::Series { y, seed: args.seed }
        }
        (PlotKind::Cdf, None) => Kind::Cdf,
        (PlotKind::Ccdf, None) => Kind::Ccdf,
        (PlotKind::Bars, None) => Kind::Bars { y: y()? },
        (PlotKind::Layers, None) => Kind::Layers,
    })
}

/// Refuses options that would do nothing.
fn refuse_idle(args: &PlotArgs, kind: Kind) -> Result<(), Failure> {
    if args.kind == PlotKind::Layers && !args.flows.is_empty() {
        return Err(Failure::Usage("--flow: layers have all flows together".into()));
    }
    match kind {
        Kind::Series { y, .. } if !y.of_flow && !args.flows.is_empty() => {
            return Err(Failure::Usage(format!("--flow: {} has all flows together", y.name)));
        }
        Kind::Series { .. } => {}
        _ if args.seed.is_some() => {
            return Err(Failure::Usage("--seed: allowed for --kind series".into()));
        }
        _ => {}
    }
    Ok(())
}
