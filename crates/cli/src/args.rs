//! Arguments that several commands share, and arguments of commands that a build may lack.

mod campaign;
mod columns;
mod f1u;
mod live;
mod n3;
mod output;
mod proxy;
mod rnis;
mod scenario;
mod service;

pub(crate) use campaign::CampaignCommand;
#[cfg(feature = "campaign")]
pub(crate) use campaign::{AddArgs, CampaignArgs, JudgeArgs, MakeArgs, Study, TableArgs};
pub(crate) use columns::ColumnsArgs;
#[cfg(feature = "f1u")]
pub(crate) use f1u::F1uAskArgs;
pub(crate) use f1u::F1uCommand;
pub(crate) use live::{LiveArgs, ParityArgs};
pub(crate) use n3::N3Command;
pub(crate) use output::{JobsArgs, OutputArgs, Progress, ThreadsArgs};
pub(crate) use proxy::ProxyCommand;
#[cfg(feature = "proxy")]
pub(crate) use proxy::ProxyTopArgs;
pub(crate) use rnis::RnisArgs;
pub(crate) use scenario::{GridArgs, PluginArgs, ScenarioArgs};
use service::{CheckConfigArgs, ConfigArgs};
