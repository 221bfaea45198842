//! Settings of page loads.

use crate::traffic::Span;
use justfull_base::error::ensure;
use justfull_base::param::{Form, Param};
use justfull_base::{Bytes, ConfigError, Duration, Rng, choice, table};
use justfull_tcp::{ReceiverConfig, SenderConfig};
use serde::{Deserialize, Serialize};

/// Maximum number of connections of a page.
pub(crate) const MOST_CONNECTIONS: u32 = 32;

/// Size of an object.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ObjectSize {
    /// Constant.
    Constant(Bytes),
    /// Lognormal, redrawn until it is within its bounds.
    Lognormal(Lognormal),
}

table! {
    /// A truncated lognormal law.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct Lognormal {
        /// Mean before truncation.
        mean: Bytes;
        /// Standard deviation before truncation.
        sd: Bytes;
        /// Least size.
        min: Bytes;
        /// Greatest size.
        max: Bytes;
    }
}

/// The model's lognormal distribution of sizes, at most 2 MB.
fn lognormal(mean: u64, sd: u64, min: u64) -> ObjectSize {
    let [mean, sd, min, max] = [mean, sd, min, 2_000_000].map(Bytes);
    ObjectSize::Lognormal(Lognormal { mean, sd, min, max })
}

impl Param for ObjectSize {
    const UNIT: &'static str = "bytes, or { mean, sd, min, max }";

    fn form() -> Form {
        Form::OneOf(vec![Bytes::form(), Lognormal::form()])
    }

    fn allowed() -> String {
        "1B to 1GiB".into()
    }

    fn written(&self) -> String {
        match self {
            Self::Constant(size) => size.written(),
            Self::Lognormal(law) => law.written(),
        }
    }
}

impl Param for ObjectCount {
    const UNIT: &'static str = "number, or { pareto, least, most }";

    fn form() -> Form {
        Form::OneOf(vec![u32::form(), ParetoCount::form()])
    }

    fn allowed() -> String {
        "at most 10000".into()
    }

    fn written(&self) -> String {
        match self {
            Self::Constant(count) => count.written(),
            Self::Pareto(law) => law.written(),
        }
    }
}

impl ObjectSize {
    pub(super) fn draw(&self, rng: &mut Rng) -> u64 {
        match self {
            Self::Constant(size) => size.0,
            Self::Lognormal(law) => {
                let ratio = law.sd.0 as f64 / law.mean.0 as f64;
                let variance = libm::log(1.0 + ratio * ratio);
                let location = libm::log(law.mean.0 as f64) - variance / 2.0;
                loop {
                    let size = libm::exp(location + libm::sqrt(variance) * rng.normal());
                    if (law.min.0 as f64..=law.max.0 as f64).contains(&size) {
                        return (size as u64).max(1);
                    }
                }
            }
        }
    }

    fn validate(&self, name: &str) -> Result<(), ConfigError> {
        let gib = 1 << 30;
        match self {
            Self::Constant(size) => ensure(
                (1..=gib).contains(&size.0),
                name,
                size,
                "1B to 1GiB",
                "an object has content",
            ),
            Self::Lognormal(Lognormal { mean, sd, min, max }) => {
                let sound = min.0 >= 1 && min.0 <= mean.0 && mean.0 <= max.0 && max.0 <= gib;
                let bound = "1B <= min <= mean <= max <= 1GiB";
                ensure(
                    sound,
                    &format!("{name}.mean"),
                    mean,
                    bound,
                    "most draws are within the bounds",
                )?;
                let most = 100 * mean.0;
                ensure(
                    sd.0 <= most,
                    &format!("{name}.sd"),
                    sd,
                    "at most 100 means",
                    "most draws are within the bounds",
                )
            }
        }
    }
}

/// Size of a request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum RequestSize {
    /// This size on the IP layer.
    Constant(Bytes),
    /// Lognormal, with the headers of its connection on top.
    LogNormal(RequestLaw),
}

table! {
    /// A lognormal law by what the logarithm of a size in bytes has.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct RequestLaw {
        /// Mean of the logarithm.
        ln_mean: f64 where (within(0.0, 7.0));
        /// Standard deviation of the logarithm.
        ln_sd: f64 where (within(0.0, 2.0));
    }
}

impl Param for RequestSize {
    const UNIT: &'static str = "bytes, or { ln_mean, ln_sd }";

    fn form() -> Form {
        Form::OneOf(vec![Bytes::form(), RequestLaw::form()])
    }

    fn allowed() -> String {
        "40B to the MTU; ln_mean 0 to 7, ln_sd 0 to 2".into()
    }

    fn written(&self) -> String {
        match self {
            Self::Constant(size) => size.written(),
            Self::LogNormal(law) => law.written(),
        }
    }
}

impl RequestSize {
    /// Bytes on the IP layer, at most `mtu`.
    pub(in crate::traffic) fn draw(&self, rng: &mut Rng, header: u32, mtu: u32) -> u32 {
        match self {
            Self::Constant(size) => size.0 as u32,
            Self::LogNormal(RequestLaw { ln_mean, ln_sd }) => {
                let size = libm::exp(ln_mean + ln_sd * rng.normal());
                (header + (size as u32).max(1)).min(mtu)
            }
        }
    }

    pub(in crate::traffic) fn validate(&self, mtu: u32) -> Result<(), ConfigError> {
        match self {
            Self::Constant(size) => {
                let fits = (40..=u64::from(mtu)).contains(&size.0);
                ensure(fits, "request", size, "40B to the MTU", "one packet")
            }
            Self::LogNormal(RequestLaw { ln_mean, ln_sd }) => {
                let fits = (0.0..=7.0).contains(ln_mean);
                ensure(fits, "request.ln_mean", ln_mean, "0 to 7", "one packet")?;
                let fits = (0.0..=2.0).contains(ln_sd);
                ensure(fits, "request.ln_sd", ln_sd, "0 to 2", "one packet")
            }
        }
    }
}

choice! {
    serde;
    /// How objects share connections.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Http {
        /// HTTP/1.1 without pipelining: parallel connections that live on, one request at a time on
        /// each.
        #[default]
        Parallel = "parallel",
        /// HTTP/1.0: a connection with a handshake for each object, as many at a time as there are
        /// `connections`.
        Http10 = "1.0",
        /// HTTP/1.1 with pipelining: one connection that lives on, all embedded objects requested
        /// at once.
        Http11 = "1.1",
        /// HTTP/2: one connection that lives on, all embedded objects requested at once, the
        /// answers interleaved in frames.
        Http2 = "2",
        /// HTTP/3: the same over UDP; a lost packet holds up only the answers that have bytes in
        /// it.
        Http3 = "3",
    }
}

impl Http {
    /// True if one connection takes the requests for all embedded objects at once.
    pub(super) const fn is_pipelined(self) -> bool {
        matches!(self, Self::Http11 | Self::Http2 | Self::Http3)
    }

    /// True if the server interleaves its answers.
    pub(super) const fn is_multiplexed(self) -> bool {
        matches!(self, Self::Http2 | Self::Http3)
    }
}

/// Number of embedded objects of a page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ObjectCount {
    /// Constant.
    Constant(u32),
    /// Pareto with shape `pareto` from `least` on; values beyond `most` count as `most`. The result
    /// is rounded, then `least` is subtracted.
    Pareto(ParetoCount),
}

table! {
    /// A truncated Pareto law.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct ParetoCount {
        /// Shape.
        pareto: f64 where (within(0.1, 100.0));
        /// Where the law begins.
        least: u32 where (within(1, 10_000));
        /// Where it ends.
        most: u32 where (within(1, 10_000).and("not below least", |c| c.least <= c.most));
    }
}

impl ObjectCount {
    pub(super) fn draw(&self, rng: &mut Rng) -> u32 {
        match self {
            Self::Constant(n) => *n,
            Self::Pareto(ParetoCount { pareto, least, most }) => {
                let drawn = f64::from(*least) / libm::pow(1.0 - rng.unit(), 1.0 / pareto);
                (drawn.min(f64::from(*most)) + 0.5) as u32 - least
            }
        }
    }

    fn validate(&self) -> Result<(), ConfigError> {
        match self {
            Self::Constant(n) => {
                ensure(*n <= 10_000, "objects", n, "at most 10000", "objects of one page")
            }
            Self::Pareto(ParetoCount { pareto, least, most }) => {
                let sound = (0.1..=100.0).contains(pareto);
                ensure(sound, "objects.pareto", pareto, "0.1 to 100", "shape of a Pareto law")?;
                let sound = *least >= 1 && least <= most && *most <= 10_000;
                ensure(sound, "objects.most", most, "least to 10000", "objects of one page")
            }
        }
    }
}

table! {
    /// Settings of page loads.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub struct PageConfig with Default {
        /// Size of the main object.
        main: ObjectSize = lognormal(10_710, 25_032, 100);
        /// Size of an embedded object.
        embedded: ObjectSize = lognormal(7_758, 126_168, 50);
        /// Number of embedded objects.
        objects: ObjectCount = ObjectCount::Pareto(ParetoCount { pareto: 1.1, least: 2, most: 55 });
        /// From the main object's arrival to the first request for an embedded object.
        parsing: Span = Span::Exponential { exponential: Duration::from_millis(130) };
        /// From a page's last object to the next page.
        reading: Span = Span::Exponential { exponential: Duration::from_secs(30) };
        /// How objects share connections.
        http: Http = Http::Parallel;
        /// Size of a request on the IP layer, or the law of its payload.
        request: RequestSize = RequestSize::Constant(Bytes(350));
        /// Parallel connections.
        connections: u32 = 6, within(1, MOST_CONNECTIONS)
            .and("1 with http = 1.1, 2 or 3", |c| !c.http.is_pipelined() || c.connections == 1),
            "browsers open about six to a server";
        /// The server's end of each connection.
        sender: SenderConfig = SenderConfig::default();
        /// The UE's end of each connection.
        receiver: ReceiverConfig = ReceiverConfig::default();
    }
}

impl PageConfig {
    /// Checks every bound; `mtu` is the cell's.
    ///
    /// # Errors
    /// The first field outside its bounds.
    pub fn fits(&self, mtu: u32) -> Result<(), ConfigError> {
        self.main.validate("main")?;
        self.embedded.validate("embedded")?;
        self.objects.validate()?;
        self.request.validate(mtu)?;
        super::super::check_mss(&self.sender, mtu)?;
        self.validate()
    }
}
