//! `trace`: information on traces, conversion between their formats, fits, synthetic traces,
//! pictures.

use crate::args::ColumnsArgs;
use crate::failure::Failure;
use crate::picture::{Form, put};
use crate::terminal::{print, print_exact, say};
use clap::{Args, Subcommand};
use justfull_report::{figure, table};
use justfull_trace::fit::{self, Over};
use justfull_trace::info::{self, Info};
use justfull_trace::input::{SCENARIO_LIMIT, read_capped};
use justfull_trace::{
    self as trace, BitRate, Bytes, ConfigError, Duration, Factor, FileFormat, Loaded, Output,
    ReadOption, ReadOptions, Timeline,
};
use std::io;
use std::path::{Path, PathBuf};

/// Look at traces, convert them, fit and make them
#[derive(Subcommand)]
pub(crate) enum TraceCommand {
    /// Describe traces: length, rates, outages, coherence, repairs
    #[command(after_help = INFO_EXAMPLES)]
    Info(InfoArgs),
    /// Convert a trace to another format, whole or in part; no byte is lost without a note
    #[command(after_help = CONVERT_EXAMPLES)]
    Convert(ConvertArgs),
    /// Fit a Markov chain to a trace: a channel for scenarios
    #[command(after_help = FIT_EXAMPLES)]
    Fit(FitArgs),
    /// Make a random trace from a fit
    #[command(after_help = SYNTH_EXAMPLES)]
    Synth(SynthArgs),
    /// Draw rate over time and its distribution as SVG or PNG
    #[command(after_help = "Example:\n  justfull trace plot downlink.trace uplink.trace --bin 1s \
                            -o rates.svg")]
    Plot(PlotArgs),
}

const INFO_EXAMPLES: &str = "\
Examples:
  justfull trace info downlink.trace
  justfull trace info *.csv --bin 1s --json
  justfull trace info drive.csv --time-column 'Time(ms)' --rate-column 'DL (kbps)'";

const CONVERT_EXAMPLES: &str = "\
Examples:
  justfull trace convert phone-log.csv --to mahimahi -o downlink.trace
  justfull trace convert --cbr 12Mbit/s --duration 60s --to mahimahi -o 12mbit.trace
  justfull trace convert downlink.trace --from-time 10s --to-time 70s --scale 0.5 --to csv -o \
                                part.csv
  justfull trace convert drive.csv --time-column time --rate-column throughput --unit Mbit/s \
                                --to csv -o drive.trace.csv
  justfull trace convert rates.txt --time-column 1 --rate-column 2 --unit Mbit/s --gaps zero --to \
                                csv
  justfull trace convert log.csv --time-column time --amount-column rx_bytes --to csv
  justfull trace convert nrscope.csv --rnti 17921 --to mahimahi -o ue.trace
  justfull trace convert log.csv --column cqi --map oai --prbs 50 --to csv -o -";

const FIT_EXAMPLES: &str = "\
Examples:
  justfull trace fit phone-log.csv --over cqi -o walk.toml
  justfull trace fit downlink.trace --step 100ms --map nr_t2 -o walk.toml";

const SYNTH_EXAMPLES: &str = "\
Examples:
  justfull trace synth pedestrian-like --duration 600s --seed 3 --to mahimahi -o walk.trace
  justfull trace synth walk.toml --duration 1h --to csv";

/// How a trace is read.
#[derive(Args)]
pub(crate) struct ReadArgs {
    /// Format of the file [default: found from the content; cellreplay looks like mahimahi and must
    /// be named]
    #[arg(long, value_name = "FORMAT")]
    from: Option<FileFormat>,
    /// Size of the packets that the file counts [default: mahimahi 1500B, cellreplay 1400B, t20
    /// 1460B]
    #[arg(long, value_name = "SIZE")]
    packet: Option<Bytes>,
    #[command(flatten)]
    columns: ColumnsArgs,
    /// Map from CQI to MCS: tmc, oai, oai_2013, ns3_lteamc, nr_t1, nr_t2, nr_t3 [default: tmc]
    #[arg(long, value_name = "NAME")]
    map: Option<String>,
    /// Resource blocks for the capacity of a CQI [default: 25]
    #[arg(long, value_name = "N")]
    prbs: Option<u16>,
    /// Spatial layers for the capacity of a CQI [default: 1]
    #[arg(long, value_name = "N")]
    layers: Option<u8>,
}

impl ReadArgs {
    fn options(&self) -> Result<ReadOptions, Failure> {
        let mut options =
            ReadOptions { format: self.from, packet: self.packet, ..self.columns.options() };
        options
            .set_quality(self.map.as_deref(), self.prbs, self.layers)
            .map_err(|e| refused(&e))?;
        Ok(options)
    }

    /// Reads `file`, `-` for standard input.
    fn load(&self, file: &Path) -> Result<Loaded, Failure> {
        read_with(&self.options()?, file)
    }
}

/// Reads `file`, `-` for standard input.
fn read_with(options: &ReadOptions, file: &Path) -> Result<Loaded, Failure> {
    let loaded = if file == Path::new("-") {
        trace::load_from(io::stdin().lock(), Path::new("<stdin>"), options)
    } else {
        trace::load(file, options)
    };
    loaded.map_err(|e| Failure::usage(&e))
}

/// Refuses `out` if it is the trace `file` itself: a trace is measured once.
fn apart(file: &Path, out: &Path) -> Result<(), Failure> {
    let same = match (file.canonicalize(), out.canonicalize()) {
        (Ok(file), Ok(out)) => file == out,
        _ => false,
    };
    if same && file != Path::new("-") {
        return Err(Failure::Usage(format!(
            "--out: found {}, allowed is another file than the trace that is read",
            out.display()
        )));
    }
    Ok(())
}

/// Reports the repairs in `file`, or the content that its format cannot hold.
fn print_notes(file: &Path, notes: &[String]) {
    for note in notes {
        say(&format!("note: {}: {note}", file.display()));
    }
}

/// The failure for a wrong option.
fn refused(error: &ConfigError) -> Failure {
    let field = match error.field.as_str() {
        "n_prb" => "prbs",
        other => other,
    };
    let dashes = if field.contains(' ') { "" } else { "--" };
    Failure::Usage(format!(
        "{dashes}{field}: found {}, allowed is {}",
        error.value,
        error.allowed()
    ))
}

#[derive(Args)]
pub(crate) struct InfoArgs {
    /// Trace files; - is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Length of the bins for rates [default: an interval, at least 100ms]
    #[arg(long, value_name = "TIME")]
    bin: Option<Duration>,
    /// Print JSON, a line for each trace
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    read: ReadArgs,
}

#[derive(Args)]
pub(crate) struct ConvertArgs {
    /// Trace file; - is standard input
    #[arg(value_name = "FILE", required_unless_present = "cbr", conflicts_with = "cbr")]
    file: Option<PathBuf>,
    /// A constant rate instead of a file, for the time of --duration
    #[arg(long, value_name = "RATE", requires = "duration")]
    cbr: Option<BitRate>,
    /// Format to write: mahimahi, cellreplay, t20, cqi, bytes, csv
    #[arg(long, value_name = "FORMAT")]
    to: FileFormat,
    /// File to write; - is standard output
    #[arg(long, short = 'o', value_name = "FILE", default_value = "-")]
    out: PathBuf,
    /// Leave out everything before this time [default: 0s]
    #[arg(long, value_name = "TIME")]
    from_time: Option<Duration>,
    /// Leave out everything from this time on [default: the end]
    #[arg(long, value_name = "TIME")]
    to_time: Option<Duration>,
    /// Multiply all amounts, e.g. 0.5 [default: 1]
    #[arg(long, value_name = "FACTOR")]
    scale: Option<Factor>,
    /// Number of repetitions [default: 1]
    #[arg(long = "loop", value_name = "N", conflicts_with = "duration")]
    times: Option<u32>,
    /// Loop or cut to this length [default: the length of the trace]
    #[arg(long, value_name = "TIME")]
    duration: Option<Duration>,
    /// Length of the intervals to write, for bytes and csv [default: as read; 1ms for --cbr]
    #[arg(long, value_name = "TIME")]
    interval: Option<Duration>,
    /// Size of the packets to write [default: mahimahi 1500B, cellreplay 1400B, t20 1460B]
    #[arg(long, value_name = "SIZE")]
    packet_bytes: Option<Bytes>,
    #[command(flatten)]
    read: ReadArgs,
}

#[derive(Args)]
pub(crate) struct FitArgs {
    /// Trace file; - is standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// States of the chain: cqi, or rate (quantised to transport blocks) [default: cqi if the trace
    /// has it]
    #[arg(long, value_name = "WHAT")]
    over: Option<Over>,
    /// Length of a step, at most 1s [default: an interval, at least 100ms]
    #[arg(long, value_name = "TIME")]
    step: Option<Duration>,
    /// File to write; - is standard output
    #[arg(long, short = 'o', value_name = "FILE", default_value = "-")]
    out: PathBuf,
    /// Print JSON: the statistics of trace and chain, and the chain, which --out also writes to a
    /// file
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    read: ReadArgs,
}

#[derive(Args)]
pub(crate) struct SynthArgs {
    /// pedestrian-like, train-like, or a file that `trace fit` wrote
    #[arg(value_name = "FIT")]
    fit: PathBuf,
    /// Length of the trace
    #[arg(long, value_name = "TIME")]
    duration: Duration,
    /// Seed: the same gives the same trace
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Format to write: mahimahi, cellreplay, t20, cqi, bytes, csv
    #[arg(long, value_name = "FORMAT")]
    to: FileFormat,
    /// Size of the packets to write [default: mahimahi 1500B, cellreplay 1400B, t20 1460B]
    #[arg(long, value_name = "SIZE")]
    packet_bytes: Option<Bytes>,
    /// File to write; - is standard output
    #[arg(long, short = 'o', value_name = "FILE", default_value = "-")]
    out: PathBuf,
}

#[derive(Args)]
pub(crate) struct PlotArgs {
    /// Trace files, at most eight; - is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Length of the bins for rates [default: an interval, at least 100ms]
    #[arg(long, value_name = "TIME")]
    bin: Option<Duration>,
    /// Leave out everything before this time [default: 0s]
    #[arg(long, value_name = "TIME")]
    from_time: Option<Duration>,
    /// Leave out everything from this time on [default: the end]
    #[arg(long, value_name = "TIME")]
    to_time: Option<Duration>,
    /// File to write, in the form that its name ends in: .svg, .png, .pdf; - is standard output, as
    /// SVG
    #[arg(long, short = 'o', value_name = "FILE", default_value = "-")]
    out: PathBuf,
    #[command(flatten)]
    read: ReadArgs,
}

pub(crate) fn trace(command: &TraceCommand) -> Result<(), Failure> {
    match command {
        TraceCommand::Info(args) => inform(args),
        TraceCommand::Convert(args) => convert(args),
        TraceCommand::Fit(args) => fit_chain(args),
        TraceCommand::Synth(args) => synthesise(args),
        TraceCommand::Plot(args) => plot(args),
    }
}

fn inform(args: &InfoArgs) -> Result<(), Failure> {
    let mut infos = Vec::new();
    for file in &args.files {
        let loaded = args.read.load(file)?;
        infos.push(
            Info::of(&file.display().to_string(), &loaded, args.bin).map_err(|e| refused(&e))?,
        );
    }
    if args.json {
        let lines = infos.iter().map(|info| format!("{}\n", info.json()));
        return print_exact(&lines.collect::<String>());
    }
    for (file, info) in args.files.iter().zip(&infos) {
        print_notes(file, &info.notes);
    }
    print(&format!("{}\n", table::terminal(&table::traces(&infos), table::Style::detect())))
}

/// The trace for `args`.
fn wanted(args: &ConvertArgs) -> Result<Timeline, ConvertFailure> {
    let mut timeline = match (&args.file, args.cbr) {
        (Some(file), None) => {
            let loaded = args.read.load(file).map_err(ConvertFailure::Reading)?;
            print_notes(file, &loaded.notes);
            loaded.timeline
        }
        (_, rate) => {
            let interval = args.interval.unwrap_or(Duration::from_millis(1));
            Timeline::constant(
                rate.unwrap_or_default(),
                args.duration.unwrap_or_default(),
                interval,
            )?
        }
    };
    timeline = part(timeline, args.from_time, args.to_time)?;
    if let Some(factor) = args.scale {
        timeline = timeline.scale(factor)?;
    }
    if let Some(times) = args.times {
        timeline = timeline.repeat(times)?;
    }
    if let (Some(duration), None) = (args.duration, args.cbr) {
        timeline = timeline.lasting(duration)?;
    }
    let interval = args.interval.unwrap_or(timeline.interval());
    let resampled = timeline.resample(interval)?;
    if let Some(mut change) = timeline.steps_to(interval) {
        if timeline.cqi().is_some() && interval > timeline.interval() {
            change.push_str("; of the CQIs of a step the first stays");
        }
        print_notes(&args.out, &[change]);
    }
    Ok(resampled)
}

/// The part from `from` on and before `to`.
fn part(
    timeline: Timeline,
    from: Option<Duration>,
    to: Option<Duration>,
) -> Result<Timeline, ConfigError> {
    if from.is_none() && to.is_none() {
        return Ok(timeline);
    }
    timeline.slice(from.unwrap_or_default(), to.unwrap_or(timeline.duration()))
}

/// The failure of a conversion.
enum ConvertFailure {
    Reading(Failure),
    Option(ConfigError),
}

impl From<ConfigError> for ConvertFailure {
    fn from(error: ConfigError) -> Self {
        Self::Option(error)
    }
}

fn convert(args: &ConvertArgs) -> Result<(), Failure> {
    args.file.iter().try_for_each(|file| apart(file, &args.out))?;
    let timeline = wanted(args).map_err(|failure| match failure {
        ConvertFailure::Reading(failure) => failure,
        ConvertFailure::Option(error) => refused(&error),
    })?;
    write(&timeline, args.to, args.packet_bytes, &args.out)
}

fn fit_chain(args: &FitArgs) -> Result<(), Failure> {
    apart(&args.file, &args.out)?;
    let options = args.read.options()?;
    let quality = options.quality.clone();
    let loaded = read_with(&options.used_elsewhere(&ReadOption::QUALITY), &args.file)?;
    let over =
        args.over.unwrap_or(if loaded.timeline.cqi().is_some() { Over::Cqi } else { Over::Rate });
    let sized = args.read.prbs.is_some();
    let fitted =
        fit::fit(&loaded.timeline, over, args.step, &quality, sized).map_err(|e| refused(&e))?;
    let mut notes = loaded.notes;
    if over == Over::Cqi && !sized {
        let map = quality.map.name();
        let system = if map.starts_with("nr") { "NR" } else { "LTE" };
        notes.push(format!(
            "a CQI says no rate: the chain's rates assume {} {system} resource blocks and the map \
             {map}; --prbs, --map and --layers name others",
            quality.n_prb
        ));
    }
    let name = args.file.display().to_string();
    let text = fitted.toml(&name);
    let write = || put(&args.out, &mut |file| file.write_all(text.as_bytes()));
    if args.json {
        if args.out != Path::new("-") {
            write()?;
        }
        return print_exact(&format!("{}\n", fitted.json(&name, &notes)));
    }
    print_notes(&args.file, &notes);
    for line in fitted.table() {
        say(&line);
    }
    write()
}

fn synthesise(args: &SynthArgs) -> Result<(), Failure> {
    apart(&args.fit, &args.out)?;
    let name = args.fit.display();
    let shipped = args.fit.to_str().and_then(fit::shipped_fit).filter(|_| !args.fit.exists());
    let config = match shipped {
        Some(config) => config,
        None => {
            let refused = |found: &dyn std::fmt::Display| {
                let known = fit::SHIPPED_FITS.join(", ");
                Failure::Usage(format!(
                    "{name}: found {found}, allowed is a file that `trace fit` wrote, or one of \
                     {known}"
                ))
            };
            let bytes = read_capped(&args.fit, SCENARIO_LIMIT).map_err(|e| refused(&e.found))?;
            let text = String::from_utf8(bytes).map_err(|_| refused(&"not UTF-8 text"))?;
            fit::parse_fit(&text).map_err(|e| Failure::Usage(format!("{name}: {e}")))?
        }
    };
    let timeline = fit::synthesise(&config, args.seed, args.duration).map_err(|e| refused(&e))?;
    write(&timeline, args.to, args.packet_bytes, &args.out)
}

fn plot(args: &PlotArgs) -> Result<(), Failure> {
    args.files.iter().try_for_each(|file| apart(file, &args.out))?;
    let form = Form::of(&args.out)?;
    let mut traces = Vec::new();
    for file in &args.files {
        let loaded = args.read.load(file)?;
        print_notes(file, &loaded.notes);
        let timeline = part(loaded.timeline, args.from_time, args.to_time);
        traces.push((file.display().to_string(), timeline.map_err(|e| refused(&e))?));
    }
    let longest = traces.iter().map(|(_, timeline)| info::default_bin(timeline)).max();
    let bin = args.bin.or(longest).unwrap_or_default();
    let figure = figure::trace::rates(&traces, bin).map_err(|e| refused(&e))?;
    form.write(figure, &args.out)
}

/// Writes `timeline` as `format` to `out`, `-` for standard output, and reports the written and the
/// omitted content.
fn write(
    timeline: &Timeline,
    format: FileFormat,
    packet: Option<Bytes>,
    out: &Path,
) -> Result<(), Failure> {
    let output = Output::new(timeline, format, packet).map_err(|e| refused(&e))?;
    put(out, &mut |file| output.write(file))?;
    print_notes(out, &output.notes);
    let (seconds, bytes) = (timeline.duration().as_secs_f64(), timeline.total());
    say(&format!("{}: {format}, {seconds} s, {bytes} B", out.display()));
    Ok(())
}
