//! `rnis`: radio reports, served as ETSI's Radio Network Information Service.

use crate::args::RnisArgs;
use crate::failure::Failure;
use crate::period::check_period;
use crate::scenarios::{self, load};
use crate::terminal::{print_exact, say};
use justfull_base::feedback::RanReport;
use justfull_base::{Duration, Instant};
use justfull_net::clock::{Clock, SlotClock, unix_time};
use justfull_net::{Prefix, Side};
use justfull_rnis::{
    Callbacks, CellIdentity, Line, Listening, Report, Service, Tls, TlsError, Tokens, open_lines,
    read_lines, serve,
};
use justfull_run::WorldConfig;
use justfull_run::proxy::At;
use justfull_run::reported::{cell_names, one_cell_each};
use justfull_sim::{Progress, World};
use std::fmt::Display;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;

pub(crate) fn rnis(args: &RnisArgs) -> Result<(), Failure> {
    if args.openapi {
        return print_exact(&justfull_rnis::document());
    }
    let cell = CellIdentity {
        mcc: args.mcc.clone(),
        mnc: args.mnc.clone(),
        cell_id: args.cell_id.clone(),
        qci: args.qci,
    };
    cell.validate().map_err(|e| Failure::usage(&e))?;
    // All faults are found before the service starts.
    let world = args.file.as_deref().map(|file| choose(file, args)).transpose()?;
    if let Some(world) = &world {
        check_period(args.report_period, world.duration)?;
    }
    let named = |what: &str, file: &Path, e: &dyn Display| {
        Failure::Usage(format!("{what} {}: {e}", file.display()))
    };
    let stdin = Path::new("-");
    let lines = args.lines.as_deref().filter(|path| *path != stdin);
    let lines = lines.map(|path| open_lines(path).map_err(|e| named("--lines", path, &e)));
    let lines = lines.transpose()?;
    let tokens = match &args.tokens {
        Some(file) => Tokens::read(file).map_err(|e| named("--tokens", file, &e))?,
        None => Tokens::default(),
    };
    let tls = match (&args.tls_cert, &args.tls_key) {
        (Some(cert), Some(key)) => Some(Tls::read(cert, key).map_err(|e| match e {
            TlsError::Certificates(why) => Failure::Usage(format!("--tls-cert: {why}")),
            TlsError::Key(why) => Failure::Usage(format!("--tls-key: {why}")),
        })?),
        _ => None,
    };
    let scheme = if tls.is_some() { "https" } else { "http" };
    let ca = args.ca.as_deref();
    let service = Service::new(cell, ca, callbacks(&args.allow_callbacks)?)
        .map_err(|e| named("--ca", ca.unwrap_or_else(|| Path::new("")), &e))?;
    let server = listen("--listen", &args.listen, tls, tokens, &service)?;
    say(&format!("serving {scheme}://{}/rni/v2; /openapi.json describes it", server.address()));
    match (world, lines) {
        (Some(world), _) => simulate(&world, args.report_period, &service),
        (None, Some(file)) => feed(file, true, &service),
        (None, None) => feed(std::io::stdin().lock(), false, &service),
    }
}

/// The allowed destinations of notifications: other hosts, and the networks `allowed`.
pub(crate) fn callbacks(allowed: &[String]) -> Result<Callbacks, Failure> {
    let prefix = |text: &String| {
        text.parse::<Prefix>().map_err(|()| {
            let allowed = "an address, or a network such as 127.0.0.0/8 or fd45::/64";
            Failure::Usage(format!("--allow-callbacks: found {text}, allowed is {allowed}"))
        })
    };
    Ok(Callbacks::allowing(allowed.iter().map(prefix).collect::<Result<_, _>>()?))
}

/// Listens at a port of 127.0.0.1, or at an address with a port.
pub(crate) fn listen(
    option: &str,
    address: &str,
    tls: Option<Tls>,
    tokens: Tokens,
    service: &Arc<Service>,
) -> Result<Listening, Failure> {
    let usage = |why: &dyn Display| {
        let allowed = "a port of 127.0.0.1, or an address with a port such as [::1]:8080";
        Failure::Usage(format!("{option} {address}: {why}; allowed is {allowed}"))
    };
    let parsed = match address.parse::<u16>() {
        Ok(port) => SocketAddr::from((Ipv4Addr::LOCALHOST, port)),
        Err(_) => address.parse().map_err(|e| usage(&e))?,
    };
    serve(parsed, tls, tokens, Arc::clone(service)).map_err(|e| usage(&e))
}

/// The world of a scenario's first job, or of the requested method.
fn choose(file: &Path, args: &RnisArgs) -> Result<WorldConfig, Failure> {
    let mut overrides = scenarios::overrides(&args.scenario)?;
    overrides.methods = args.method.as_ref().map(|method| vec![method.clone()]);
    overrides.runs = Some(1);
    let scenario = load(file, overrides)?;
    let job = scenario.jobs().into_iter().next();
    let job = job.ok_or_else(|| Failure::Usage(format!("{}: no method", file.display())))?;
    let config = scenario.world(&job).map_err(|e| Failure::usage(&e))?;
    cell_names(&config)
        .and_then(|_names| one_cell_each(&config))
        .map_err(|e| Failure::Usage(format!("{}: {e}", file.display())))?;
    match &config.proxy.control {
        None => Ok(config),
        Some(control) => Err(Failure::Usage(format!(
            "{}: field `proxy.control` (method {}): found {}, allowed is a method without a proxy: \
             the cell would report to that one",
            file.display(),
            job.method,
            control.name()
        ))),
    }
}

/// Makes a simulation keep pace with the clock.
struct RealTime {
    clock: SlotClock,
}

impl Progress for RealTime {
    fn advanced(&mut self, now: Instant) -> bool {
        self.clock.sleep_until(now);
        true
    }
}

/// The report about a UE of a scenario or of a live run that began `start` after 1970, of a cell
/// among `names`. Its addresses are the addresses of a live run.
pub(crate) fn reported(
    At { ue, cell }: At,
    names: &[Arc<str>],
    ran: &RanReport,
    start: Duration,
) -> Report {
    let addresses = Side::Ue(ue as usize).addresses();
    let ue = addresses.map(|address| Prefix::of(address, 128)).to_vec();
    let cell = names.get(cell as usize).cloned();
    Report { ue, pool: None, cell, ran: RanReport { at: ran.at + start, ..*ran } }
}

/// The time since 1970.
pub(crate) fn epoch() -> Duration {
    Duration::from_nanos(u64::try_from(unix_time().as_nanos()).unwrap_or(u64::MAX))
}

fn simulate(config: &WorldConfig, period: Duration, service: &Service) -> Result<(), Failure> {
    let names = cell_names(config).map_err(|e| Failure::usage(&e))?;
    service.name_cells(&names);
    let world = World::new(config).map_err(|e| Failure::usage(&e))?;
    let clock = SlotClock::start().map_err(|e| Failure::usage(&e))?;
    let start = epoch();
    let mut send = |of: At, ran: &RanReport| {
        service.report(&reported(of, &names, ran, start));
    };
    world.run_reported(period, &mut send, &mut RealTime { clock });
    Ok(())
}

fn feed(source: impl std::io::Read, follow: bool, service: &Service) -> Result<(), Failure> {
    let (mut number, mut garbled, mut refused) = (0_u64, 0_u64, 0_u64);
    let read = read_lines(source, follow, |line| {
        let Line::Report(report) = line else { return true };
        number += 1;
        match report {
            Ok(report) if report.pool.is_none() => {
                if service.report(&report) {
                    return true;
                }
                if refused == 0 {
                    say(&format!(
                        "report {number} is left out, as there are too many UEs or cells; others \
                         are only counted"
                    ));
                }
                refused += 1;
            }
            other => {
                let why = other.map_or_else(
                    |why| why.to_string(),
                    |_| "`pool` is given, allowed is to leave it out: an RNIS has no pools".into(),
                );
                if garbled == 0 {
                    say(&format!("report {number} is none: {why}; others are only counted"));
                }
                garbled += 1;
            }
        }
        true
    });
    read.map_err(|e| Failure::Failed(format!("read reports: {e}")))?;
    if refused > 0 {
        say(&format!("{refused} of {number} reports were left out"));
    }
    match garbled {
        0 => Ok(()),
        _ => Err(Failure::Failed(format!("{garbled} of {number} reports were none"))),
    }
}
