//! One colour and one shape for each method, the same in every figure of a comparison.

use crate::report::Comparison;
use crate::report::summary::{is_clairvoyant, method_names};
use plotters::style::RGBColor;

/// Okabe and Ito's colours for colour-blind readers. Black is kept for the clairvoyant policy; the yellow, which is
/// weak on white, comes last.
const COLOURS: [RGBColor; 8] = [
    RGBColor(0x00, 0x72, 0xb2),
    RGBColor(0xe6, 0x9f, 0x00),
    RGBColor(0x00, 0x9e, 0x73),
    RGBColor(0xcc, 0x79, 0xa7),
    RGBColor(0x56, 0xb4, 0xe9),
    RGBColor(0xd5, 0x5e, 0x00),
    RGBColor(0x80, 0x80, 0x80),
    RGBColor(0xd8, 0xcb, 0x1f),
];

/// Shape of a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Circle,
    Square,
    Triangle,
    Diamond,
    TriangleDown,
    Plus,
    Pentagon,
    Star,
}

/// Seven shapes to eight colours, so that 56 methods differ in at least one; the star is the clairvoyant policy's.
const SHAPES: [Shape; 7] = [
    Shape::Circle,
    Shape::Square,
    Shape::Triangle,
    Shape::Diamond,
    Shape::TriangleDown,
    Shape::Plus,
    Shape::Pentagon,
];

/// How a method looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Look {
    pub(super) colour: RGBColor,
    pub(super) shape: Shape,
}

/// The looks of all methods of a comparison, by order of appearance.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Palette {
    methods: Vec<String>,
}

impl Palette {
    /// The palette of `comparison`.
    #[must_use]
    pub fn of(comparison: &Comparison) -> Self {
        let mut methods: Vec<String> = Vec::new();
        for name in comparison.groups.iter().flat_map(|group| method_names(&group.runs)) {
            if !is_clairvoyant(&name) && !methods.contains(&name) {
                methods.push(name);
            }
        }
        Self { methods }
    }

    /// The palette of things called `names`, in this order.
    pub(super) const fn of_names(names: Vec<String>) -> Self {
        Self { methods: names }
    }

    pub(super) fn look(&self, method: &str) -> Look {
        if is_clairvoyant(method) {
            return Look { colour: RGBColor(0, 0, 0), shape: Shape::Star };
        }
        let i = self.methods.iter().position(|name| name == method).unwrap_or(self.methods.len());
        nth(i)
    }
}

/// The `i`-th look.
pub(super) fn nth(i: usize) -> Look {
    Look { colour: COLOURS[i % COLOURS.len()], shape: SHAPES[i % SHAPES.len()] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fifty_six_methods_and_the_clairvoyant_policy_all_look_different() {
        let mut methods: Vec<String> = (0..56).map(|i| format!("m{i}")).collect();
        let palette = Palette { methods: methods.clone() };
        methods.push("Clairvoyant".into());
        let looks: Vec<Look> = methods.iter().map(|m| palette.look(m)).collect();
        for (i, a) in looks.iter().enumerate() {
            assert!(looks[..i].iter().all(|b| a != b), "{}", methods[i]);
        }
    }
}
