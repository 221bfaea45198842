//! The pools of UEs' addresses.

use justfull_base::{ConfigError, table};
use justfull_net::Prefix;
use justfull_net::router::is_interface_name;
use justfull_rnis::pool_name;
use justfull_trace::settings;
use serde::{Deserialize, Serialize};

/// Most pools: each needs two listeners.
const MOST: usize = 64;
const INTERFACE: &str =
    "the name of an interface that no other pool has, of 1 to 15 bytes without blanks";
const TWO_WAYS: &str = "the same address in two pools has a way of its own in each";

table! {
    /// A pool of UEs' addresses. The same address in two pools is two UEs.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub struct PoolConfig with Default {
        /// Its name in reports, sessions, status and metrics.
        name: String = String::new(),
            rule("1 to 32 letters, digits, `-`, `_` and `.`", |c| pool_name(&c.name).is_ok()),
            "reports and sessions name it";
        /// Interface at which its UEs' connections arrive.
        interface: String = String::new(), rule(INTERFACE, |c| is_interface_name(&c.interface)),
            TWO_WAYS;
        /// Interface towards its servers, at which their answers arrive.
        servers: String = String::new(), rule(INTERFACE, |c| is_interface_name(&c.servers)),
            TWO_WAYS;
        /// Addresses of its UEs, for reports and sessions that name no pool. Left out: all.
        ues: Vec<Prefix> = Vec::new();
    }
}

impl PoolConfig {
    /// True if it may have the whole of `prefix`.
    pub(crate) fn has(&self, prefix: &Prefix) -> bool {
        let within = |wide: &Prefix| {
            wide.bits() <= prefix.bits() && Prefix::of(prefix.address(), wide.bits()) == *wide
        };
        self.ues.is_empty() || self.ues.iter().any(within)
    }

    /// True if an address may be in both.
    fn overlaps(&self, other: &Self) -> bool {
        let one = |a: &Self, b: &Self| a.ues.is_empty() || b.ues.iter().any(|of| a.has(of));
        one(self, other) || one(other, self)
    }
}

/// Takes `pools` out of the file's table, and puts their interfaces in the place of
/// `select.interfaces`.
pub(super) fn take(tree: &mut toml::Table) -> Result<Vec<PoolConfig>, String> {
    let Some(found) = tree.remove("pools") else { return Ok(Vec::new()) };
    let of_tables = |all: &Vec<toml::Value>| all.iter().all(toml::Value::is_table);
    let Some(all) = found.as_array().filter(|all| of_tables(all) && all.len() <= MOST) else {
        return Err(format!(
            "field `pools`: found {found}, allowed is 1 to {MOST} tables `[[pools]]`"
        ));
    };
    let mut pools: Vec<PoolConfig> = Vec::new();
    for (number, one) in all.iter().filter_map(toml::Value::as_table).enumerate() {
        let at = format!("pools[{number}]");
        let read = settings::settings(one, &PoolConfig::params());
        let pool: PoolConfig =
            read.map_err(|e| e.replacen("field `", &format!("field `{at}."), 1))?;
        sound(&pool, &pools).map_err(|e| e.within(&at).to_string())?;
        pools.push(pool);
    }
    let select = tree.entry("select").or_insert_with(|| toml::Table::new().into());
    let Some(select) = select.as_table_mut() else { return Ok(pools) };
    if let Some(own) = select.get("interfaces").filter(|_| !pools.is_empty()) {
        return Err(format!(
            "field `select.interfaces`: found {own}, allowed is to leave it out beside `pools`, \
             which have their own"
        ));
    }
    if !pools.is_empty() {
        let names = pools.iter().map(|pool| pool.interface.clone().into()).collect();
        select.insert("interfaces".into(), toml::Value::Array(names));
    }
    Ok(pools)
}

/// Checks a pool against those before it.
fn sound(pool: &PoolConfig, before: &[PoolConfig]) -> Result<(), ConfigError> {
    pool.validate()?;
    if before.iter().any(|other| other.name == pool.name) {
        let allowed = "a name that no other pool has";
        return Err(ConfigError::new("name", &pool.name, allowed, "reports and sessions name it"));
    }
    let inside = |name: &str| before.iter().any(|other| other.interface == name);
    let outside = |name: &str| before.iter().any(|other| other.servers == name);
    if inside(&pool.interface) || outside(&pool.interface) {
        return Err(ConfigError::new("interface", &pool.interface, INTERFACE, TWO_WAYS));
    }
    let shared = before.iter().any(|other| other.servers == pool.servers && other.overlaps(pool));
    if shared || inside(&pool.servers) || pool.servers == pool.interface {
        let allowed = "the name of an interface that no pool has towards its UEs, and no pool \
                       with the same addresses towards its servers";
        return Err(ConfigError::new("servers", &pool.servers, allowed, TWO_WAYS));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::config::ProxyConfig;

    const BLUE: &str = "[[pools]]\nname = \"blue\"\ninterface = \"b1\"\nservers = \"b2\"\n";

    fn second(fields: &str) -> String {
        format!("{BLUE}[[pools]]\n{fields}")
    }

    #[test]
    fn pools_bring_their_interfaces() {
        let red = second("name = \"red\"\ninterface = \"r1\"\nservers = \"r2\"\n");
        let config = ProxyConfig::parse(&red).expect("valid");
        assert_eq!(config.select.interfaces, ["b1", "r1"]);
        assert_eq!(config.pools[1].name, "red");
        let old = ProxyConfig::parse("[select]\ninterfaces = [\"b1\", \"r1\"]").expect("valid");
        assert_eq!(old.needs_restart(&config), ["pools"]);
        let apart =
            "name = \"red\"\ninterface = \"r1\"\nservers = \"b2\"\nues = [\"10.1.0.0/16\"]\n";
        let two = second(apart).replacen("\"b2\"\n", "\"b2\"\nues = [\"10.2.0.0/16\"]\n", 1);
        assert!(ProxyConfig::parse(&two).is_ok(), "pools that do not overlap share a way");
    }

    #[test]
    fn wrong_pools_are_named_with_the_value_and_what_is_allowed() {
        let red = "name = \"red\"\ninterface = \"r1\"\nservers = \"r2\"\n";
        for (text, parts) in [
            (second("name = \"red\"\n"), &["pools[1].interface", "found \"\",", "no other"][..]),
            (second(&red.replace("r1", "b1")), &["pools[1].interface", "found b1", "no other"]),
            (second(&red.replace("r2", "b2")), &["pools[1].servers", "found b2", "same addresses"]),
            (second(&red.replace("r2", "r1")), &["pools[1].servers", "found r1"]),
            (
                second(&red.replace("\"red\"", "\"blue\"")),
                &["pools[1].name", "found blue", "no other"],
            ),
            (second(&red.replace("\"red\"", "\"a b\"")), &["pools[1].name", "a b", "1 to 32"]),
            (
                second(&red.replace("servers", "server")),
                &["pools[1].server`", "did you mean servers?"],
            ),
            (second(&red.replace("\"r1\"", "7")), &["pools[1].interface", "7", "text in quotes"]),
            (second(&format!("{red}ues = [\"x\"]")), &["pools[1].ues", "\"x\"", "a prefix"]),
            ("pools = 5".into(), &["field `pools`: found 5", "1 to 64 tables `[[pools]]`"]),
            (
                format!("{BLUE}[select]\ninterfaces = [\"e\"]"),
                &["select.interfaces", "leave it out"],
            ),
            (
                format!("{BLUE}[select]\nunknown = \"reset\""),
                &["select.unknown", "reset", "`pass`"],
            ),
            (format!("{BLUE}[n3]\nsocket = \"/s\""), &["n3.socket", "/s", "leave it out"]),
        ] {
            let error = ProxyConfig::parse(&text).expect_err(&text);
            assert!(parts.iter().all(|part| error.contains(part)), "{text}: {error}");
        }
    }
}
