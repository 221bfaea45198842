//! Limiters that no file can describe, such as those of plugins, in the place of a method's.

use super::file::ScenarioFile;
use super::method::{Derived, MethodPlace, OwnLimiter};
use super::{Job, Scenario};
use justfull_run::WorldConfig;
use std::collections::BTreeMap;
use toml::Value;

impl Scenario {
    /// Gives the [`Derived`] method called `name` the limiter `own`. False if there is no such
    /// method.
    pub fn install(&mut self, name: &str, own: &OwnLimiter) -> bool {
        let derived = self.overrides.derived.iter_mut().find(|derived| derived.name == name);
        derived.map(|derived| derived.limiter = Some(own.clone())).is_some()
    }

    /// The methods in `names` with a limiter of their own.
    fn own<'a>(
        &'a self,
        names: &'a [String],
    ) -> impl Iterator<Item = (&'a Derived, &'a OwnLimiter)> {
        let all = self.overrides.derived.iter();
        all.filter(|derived| names.iter().any(|name| name.eq_ignore_ascii_case(&derived.name)))
            .filter_map(|derived| Some((derived, derived.limiter.as_ref()?)))
    }

    /// Puts the limiter of the method of `job`, if it has one of its own, where the method's
    /// settings go.
    pub(super) fn put_own(&self, job: &Job, file: &ScenarioFile, world: &mut WorldConfig) {
        let names = std::slice::from_ref(&job.method);
        let Some((_, own)) = self.own(names).next() else { return };
        let place = file.uplink.method_at;
        if place != MethodPlace::Ue {
            world.stack.rlc.limiter = own.config.clone();
        }
        if let Some(above) = world.uplink.stack.as_mut().filter(|_| place != MethodPlace::Cell) {
            above.chain.rlc.limiter = own.config.clone();
        }
    }

    /// Shows the limiter of `method`, if it has one of its own, among its settings.
    pub(super) fn show_own(
        &self,
        method: &String,
        place: MethodPlace,
        found: &mut BTreeMap<String, Value>,
    ) {
        let Some((_, own)) = self.own(std::slice::from_ref(method)).next() else { return };
        let (cell, ue) = ("rlc.limiter", "uplink.stack.rlc.limiter");
        let paths: &[&str] = match place {
            MethodPlace::Cell => &[cell],
            MethodPlace::Ue => &[ue],
            MethodPlace::Both => &[cell, ue],
        };
        for path in paths {
            found.insert((*path).into(), own.source.clone().into());
        }
    }

    /// A note for each method with a limiter of its own.
    pub(super) fn own_in_words(&self) -> impl Iterator<Item = String> {
        self.own(self.methods()).map(|(derived, own)| {
            let Derived { name, base, .. } = derived;
            format!("{name} is {base} with the limiter of {}", own.source)
        })
    }

    /// The same as lines of comments in TOML, for the methods in `names`.
    pub(super) fn own_in_comments(&self, names: &[String]) -> String {
        let line = |(derived, own): (&Derived, &OwnLimiter)| {
            // A name may hold what would end a comment.
            format!("# {:?}: rlc.limiter of {:?}\n", derived.name, own.source)
        };
        self.own(names).map(line).collect()
    }
}
