//! Tries the abilities of this host that the proxy needs, and shows the limits that hold.

mod cause;
mod ends;
mod injector;
mod limits;
mod path;
mod rules;
mod segment;
mod trace;

pub(crate) use rules::track;

use crate::config::{ProxyConfig, WaitConfig};
use crate::held::Held;
use crate::host;
use crate::n3;
use crate::pools::{PoolId, Pools, UeAddress};
use crate::radio;
use crate::radio_leg;
use crate::relay;
use crate::system;
use crate::table::{self, Diversion, Table};
use justfull_net::router::{self, setting};
use justfull_net::{Capability, LocalDelivery};
use socket2::{Domain, Socket, Type};
use std::fs;
use std::io;

/// Mark of the table for the trial.
const TRIAL: u32 = 0x6a66_7472;

/// Tries everything that the proxy needs or can use. Nothing stays: the trial's table selects
/// nothing, and is removed with its routes.
#[must_use]
pub fn check(config: &ProxyConfig) -> Vec<Capability> {
    let named = |name, required, found| Capability { name, required, found };
    let say = |found: io::Result<String>| found.map_err(|e| e.to_string());
    if let Err(error) = n3::join(&config.n3) {
        return vec![named("n3 stage", true, Err(error.to_string()))];
    }
    let names = config.select.interfaces.iter().map(String::as_str);
    let mut all = vec![
        named("transparent sockets", true, listeners(config)),
        named("nftables table", true, owned_table(config)),
        named("policy routes", true, routes(config)),
        named("forwarding", true, router::forwards(true)),
        named("splice and pipes", true, say(relay::attempt(config.limits.pipe.0))),
        named("server windows", true, say(windows())),
        named("radio leg", false, radio_leg::attempt(config.radio_leg)),
        named("reports", true, reports(config)),
        named("servers' own answers", !config.pools.is_empty(), waits(config)),
        named("interfaces", true, interfaces(config)),
        named("descriptors", true, descriptors(config)),
        named("reverse path filter", false, router::lets_detours_back(names)),
        named("path MTU", false, Ok(path_mtu())),
        named("host rules", true, rules::missed(&config.select.interfaces)),
        named("routing domains", true, domains(config)),
    ];
    all.extend(path::connections(config));
    all
}

fn reports(config: &ProxyConfig) -> Result<String, String> {
    n3::at_home(|| radio::attempt(&config.radio)).map_err(|e| e.to_string())
}

/// Tests whether first segments can wait for the servers' answers.
fn waits(config: &ProxyConfig) -> Result<String, String> {
    let pools = !config.pools.is_empty();
    let families = match config.select.wait_for_server {
        WaitConfig::None if pools => "no family",
        WaitConfig::None => return Ok("the proxy answers clients at once".into()),
        WaitConfig::Ipv6 => "IPv6",
        WaitConfig::All => "IPv4 and IPv6",
    };
    match Held::start(TRIAL, 0, Pools::default()) {
        Ok(_held) => Ok(format!(
            "clients over {families} are answered after their servers, up to {} at a time",
            host::limits(config).waits
        )),
        Err(why) if pools => Err(format!("the proxy serves no `pools`: {why}")),
        Err(why) => Err(format!("the proxy answers clients at once: {why}")),
    }
}

/// The setting that helps if routers send no ICMP errors.
fn path_mtu() -> String {
    let probing = setting("ipv4/tcp_mtu_probing").unwrap_or_default();
    let silent = match probing.as_str() {
        "0" => "; where routers send none, `sysctl net.ipv4.tcp_mtu_probing=1` finds it slowly",
        _ => "; tcp_mtu_probing finds it where routers send none",
    };
    format!("ICMP errors reach the leg that they are about{silent}")
}

/// Answers to a UE use the routes of this host, not the routes of a VRF.
fn domains(config: &ProxyConfig) -> Result<String, String> {
    let names = config.select.interfaces.iter().map(String::as_str);
    let servers = config.pools.iter().map(|pool| pool.servers.as_str());
    let kind = |name: &str| {
        let text = fs::read_to_string(format!("/sys/class/net/{name}/master/uevent"));
        text.unwrap_or_default().contains("DEVTYPE=vrf")
    };
    let inside: Vec<&str> = names.chain(servers).filter(|name| kind(name)).collect();
    match inside.is_empty() {
        true => Ok("no interface of a VRF".into()),
        false => Err(format!(
            "{} belong to a VRF, whose routes the proxy does not use: `ip link set {} nomaster`",
            inside.join(", "),
            inside[0]
        )),
    }
}

fn listeners(config: &ProxyConfig) -> Result<String, String> {
    let made = host::listeners(&Pools::of(config)).map_err(|e| host::transparent(&e))?;
    Ok(if made.len() > 1 { "IPv4 and IPv6" } else { "IPv4; `lo` has no IPv6" }.into())
}

fn owned_table(config: &ProxyConfig) -> Result<String, String> {
    let nothing = crate::SelectConfig::default();
    let trial = || Table::install(&nothing, &Diversion::NONE, 1, TRIAL, 0);
    let made = table::after_earlier(&table::name(TRIAL), trial).and_then(|mut table| {
        // This tries all expressions; no connection has an interface of this name.
        let select = crate::SelectConfig {
            interfaces: vec!["jf-trial".into()],
            ports: "1-2".parse().into_iter().collect(),
            ues: "10.0.0.0/8".parse().into_iter().collect(),
            except: "fd00::/8".parse().into_iter().collect(),
            unknown: config.select.unknown,
            ..nothing.clone()
        };
        let diversion = Diversion {
            families: [true; 2],
            pass: select
                .ues
                .iter()
                .map(|&prefix| UeAddress { pool: PoolId::NONE, prefix })
                .collect(),
            pass_ports: vec![1],
            tracked: true,
            logged: [Some(0); 2],
        };
        table.select(&select, &diversion)
    });
    made.map(|()| "owned by the process; tproxy, socket, dup and ct work".into())
        .map_err(|e| table::explain(&e))
}

fn routes(config: &ProxyConfig) -> Result<String, String> {
    // A table of its own, so that a running proxy's table stays as it is.
    let policy = justfull_net::PolicyRoute { mark: TRIAL, table: TRIAL, ..config.route.policy() };
    let installed = LocalDelivery::install(policy).map_err(|e| e.reason)?;
    drop(installed);
    let route = config.route;
    Ok(format!("mark {}, table {}, priority {}", route.mark, route.table, route.priority))
}

/// The options of a socket; no rule of the host matters.
fn windows() -> io::Result<String> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    system::clamp_window(&socket, 20_000)?;
    system::pace(&socket, Some(1_000_000))?;
    let known = if system::tells_windows(&socket)? {
        ""
    } else {
        "; the kernel does not tell them (6.2 does)"
    };
    Ok(format!("TCP_WINDOW_CLAMP{known}"))
}

fn interfaces(config: &ProxyConfig) -> Result<String, String> {
    let names = &config.select.interfaces;
    if config.pools.is_empty() {
        router::interfaces_exist(names.iter().map(|name| ("select.interfaces", name.as_str())))?;
        return Ok(names.join(", "));
    }
    host::pools_exist(config)?;
    let pools = config.pools.iter();
    let shown = pools.map(|one| format!("{}: {} to {}", one.name, one.interface, one.servers));
    Ok(shown.collect::<Vec<String>>().join(", "))
}

fn descriptors(config: &ProxyConfig) -> Result<String, String> {
    let limits = host::limits(config);
    let text = format!("{} connections and {} pipes", limits.flows, limits.pipes);
    if limits.flows < config.limits.flows as usize {
        let asked = config.limits.flows;
        return Err(format!(
            "{text}, `limits.flows` is {asked}; raise LimitNOFILE (ulimit -n), \
             or `limits.workers`"
        ));
    }
    Ok(text)
}
