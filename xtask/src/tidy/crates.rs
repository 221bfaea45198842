//! Facts about each crate for the rules, from `cargo metadata`.

use std::path::Path;

use cargo_metadata::{DependencyKind, Metadata};

/// A member of the workspace.
#[derive(Clone, Debug)]
pub(super) struct Crate {
    /// Its short name: `justfull-ran` is `ran`, the binary `justfull` is `cli`.
    pub(super) short: String,
    /// Relative to the top of the checkout.
    pub(super) manifest: String,
    /// Source files of its library and its binaries, relative to the top of the checkout.
    pub(super) roots: Vec<String>,
    pub(super) dependencies: Vec<Dependency>,
}

/// A dependency that a crate declares itself.
#[derive(Clone, Debug)]
pub(super) struct Dependency {
    /// Name as in the registry, or of the workspace member.
    pub(super) name: String,
    /// Only for tests, examples and benches.
    pub(super) dev: bool,
    /// True if it has no path, so it comes from a registry.
    pub(super) external: bool,
    pub(super) optional: bool,
    pub(super) default_features: bool,
}

/// Short name of a workspace member.
pub(super) fn short_name(package: &str) -> &str {
    if package == "justfull" { "cli" } else { package.strip_prefix("justfull-").unwrap_or(package) }
}

/// The members of a workspace, in cargo's order.
pub(super) fn from_metadata(metadata: &Metadata, root: &Path) -> Vec<Crate> {
    let relative =
        |path: &Path| path.strip_prefix(root).unwrap_or(path).to_string_lossy().replace('\\', "/");
    let packages = metadata.workspace_packages().into_iter();
    packages
        .map(|package| Crate {
            short: short_name(&package.name).to_owned(),
            manifest: relative(package.manifest_path.as_std_path()),
            roots: package
                .targets
                .iter()
                .filter(|target| target.is_lib() || target.is_cdylib() || target.is_bin())
                .map(|target| relative(target.src_path.as_std_path()))
                .collect(),
            dependencies: package
                .dependencies
                .iter()
                .map(|dependency| Dependency {
                    name: dependency.name.clone(),
                    dev: dependency.kind == DependencyKind::Development,
                    external: dependency.path.is_none(),
                    optional: dependency.optional,
                    default_features: dependency.uses_default_features,
                })
                .collect(),
        })
        .collect()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A crate from a short description: `"justfull-base libm? serde?! dev:proptest"`, where `?`
    /// marks an optional dependency, `!` one with its default features, and `dev:` one for
    /// tests. Names that start with `justfull` are members.
    pub(in crate::tidy) fn crate_of(short: &str, dependencies: &str) -> Crate {
        let dependencies = dependencies.split_whitespace().map(|word| {
            let name = word.strip_prefix("dev:").unwrap_or(word).trim_end_matches(['?', '!']);
            Dependency {
                name: name.to_owned(),
                dev: word.starts_with("dev:"),
                external: !name.starts_with("justfull"),
                optional: word.contains('?'),
                default_features: word.contains('!'),
            }
        });
        Crate {
            short: short.to_owned(),
            manifest: format!("crates/{short}/Cargo.toml"),
            roots: vec![format!("crates/{short}/src/lib.rs")],
            dependencies: dependencies.collect(),
        }
    }

    #[test]
    fn the_binary_is_called_cli_and_the_prefix_falls_away() {
        assert_eq!(short_name("justfull"), "cli");
        assert_eq!(short_name("justfull-ran"), "ran");
        assert_eq!(short_name("xtask"), "xtask");
    }
}
