//! One colour and one shape for each method, the same in every figure; the same in every report for
//! a shipped method.

use justfull_lab::model::Comparison;
use justfull_lab::model::summary::{is_clairvoyant, method_names};
use plotters::style::RGBColor;

/// Okabe and Ito's colours for colour-blind readers. Black is reserved for the clairvoyant policy;
/// yellow comes last because it is weak on white.
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
    Cross,
    Star,
}

impl Shape {
    const fn name(self) -> &'static str {
        match self {
            Self::Circle => "circle",
            Self::Square => "square",
            Self::Triangle => "triangle",
            Self::Diamond => "diamond",
            Self::TriangleDown => "triangle_down",
            Self::Plus => "plus",
            Self::Pentagon => "pentagon",
            Self::Cross => "cross",
            Self::Star => "star",
        }
    }
}

/// Eight shapes for eight colours, so that 64 methods differ in colour or shape; the star is
/// reserved for the clairvoyant policy.
const SHAPES: [Shape; 8] = [
    Shape::Circle,
    Shape::Square,
    Shape::Triangle,
    Shape::Diamond,
    Shape::TriangleDown,
    Shape::Plus,
    Shape::Pentagon,
    Shape::Cross,
];

/// Width of the lines of methods in papers, in units of the picture.
const STROKE: f64 = 4.0;
/// Lengths of dashes and gaps in turn, a pattern for each mark: for the shapes in their order, for
/// their outlines, and for the star. The first is a solid line.
pub(super) const PATTERNS: [&[f64]; 2 * SHAPES.len() + 1] = [
    &[],
    &[20.0, 11.0],
    &[6.0, 9.0],
    &[20.0, 8.0, 6.0, 8.0],
    &[34.0, 7.0],
    &[12.0, 24.0],
    &[20.0, 7.0, 6.0, 7.0, 6.0, 7.0],
    &[36.0, 8.0, 12.0, 8.0],
    &[6.0, 22.0],
    &[11.0, 6.0],
    &[4.0, 4.0],
    &[20.0, 7.0, 6.0, 7.0, 6.0, 7.0, 6.0, 7.0],
    &[30.0, 20.0],
    &[12.0, 7.0, 12.0, 20.0],
    &[36.0, 8.0, 6.0, 8.0],
    &[6.0, 7.0, 6.0, 20.0],
    &[24.0, 6.0, 4.0, 6.0, 24.0, 18.0],
];

/// Dashes and gaps of all patterns, as in [`PaperLook::dashes`]; the index is [`PaperLook::dash`].
pub fn dash_patterns() -> impl Iterator<Item = Vec<f64>> {
    (0..PATTERNS.len()).map(dashes)
}

/// Dashes and gaps of pattern `n` in turn, in widths of the line.
fn dashes(n: usize) -> Vec<f64> {
    PATTERNS[n % PATTERNS.len()].iter().map(|length| length / STROKE).collect()
}

/// The look of a method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Look {
    pub(super) colour: RGBColor,
    pub(super) shape: Shape,
    /// Index of the dash pattern of its lines; 0 for solid lines.
    pub(super) dash: usize,
    /// In a paper its mark is an outline.
    pub(super) hollow: bool,
}

impl Look {
    pub(super) const fn new(colour: RGBColor, shape: Shape) -> Self {
        Self { colour, shape, dash: 0, hollow: false }
    }

    /// The look of the `n`-th further series with this look: the same colour, other dashes and
    /// another mark.
    pub(super) fn series(self, n: usize) -> Self {
        let own = SHAPES.iter().position(|shape| *shape == self.shape).unwrap_or(0);
        let shape = if n == 0 { self.shape } else { SHAPES[(own + n) % SHAPES.len()] };
        Self { shape, dash: self.dash + n, ..self }
    }
}

/// Colour and shape indexes of the shipped methods. Methods of one shipped scenario differ in
/// colour as far as possible; methods that `recommend` compares differ in colour or shape.
const SHIPPED: [(&str, usize, usize); 45] = [
    ("Vanilla", 0, 0),
    ("BBR", 1, 6),
    ("CoDel", 2, 2),
    ("CoDel-RFC8289", 6, 1),
    ("DynRLC", 3, 1),
    ("DRQL", 4, 4),
    ("5G-BDP", 5, 5),
    ("e5G-BDP", 6, 6),
    ("LastPoll", 7, 1),
    ("Justfull", 1, 3),
    ("Justfull-split", 3, 3),
    ("Justfull-2", 2, 6),
    ("Justfull-2-split", 1, 7),
    ("CoDel@DynRLC", 3, 0),
    ("CoDel@DRQL", 4, 1),
    ("CoDel@5G-BDP", 5, 0),
    ("USP@DynRLC", 6, 3),
    ("USP@DRQL", 7, 4),
    ("USP@5G-BDP", 2, 5),
    ("Limit10", 1, 2),
    ("Limit20", 3, 2),
    ("Limit30", 4, 3),
    ("CoDel@Limit10", 5, 1),
    ("CoDel@Limit20", 6, 0),
    ("CoDel@Limit30", 7, 2),
    ("FQ-CoDel", 3, 7),
    ("FQ-CoDel-RFC8290", 7, 6),
    ("FQ-CoDel@5G-BDP", 3, 5),
    ("PIE", 4, 2),
    ("AdaptiveRED", 6, 4),
    ("RED", 1, 1),
    ("ARED", 5, 2),
    ("PDPC", 6, 5),
    ("TTLRED1", 7, 3),
    ("TTLRED2", 2, 4),
    ("Discard", 3, 4),
    ("L4Span", 2, 3),
    ("Zhuge", 5, 7),
    ("DQL", 4, 5),
    ("FQ-CoDel@DQL", 7, 0),
    ("FP", 1, 0),
    ("EQP", 2, 1),
    ("Split", 1, 4),
    ("EqualShare", 4, 6),
    ("RAPID", 5, 3),
];

/// Marks in papers of methods whose shape another method of a shipped scenario also has:
/// index of the shape, and 8 more for an outline. Other methods have their own shape, filled.
const ON_PAPER: [(&str, usize); 14] = [
    ("BBR", 14),
    ("DynRLC", 9),
    ("CoDel@DynRLC", 1),
    ("CoDel@DRQL", 9),
    ("CoDel@5G-BDP", 8),
    ("Limit10", 10),
    ("Limit20", 6),
    ("CoDel@Limit20", 8),
    ("CoDel@Limit30", 7),
    ("FQ-CoDel@5G-BDP", 13),
    ("PIE", 14),
    ("ARED", 10),
    ("TTLRED2", 8),
    ("Discard", 12),
];

/// The look of a method in a figure for a paper, for other programs that draw.
#[derive(Clone, Debug, PartialEq)]
pub struct PaperLook {
    /// `#rrggbb`.
    pub colour: String,
    /// Its mark: circle, square, triangle, diamond, triangle_down, plus, pentagon, cross or star.
    pub mark: &'static str,
    /// The mark is an outline.
    pub hollow: bool,
    /// Number of its dash pattern; methods of one figure differ in it as long as there are marks.
    pub dash: usize,
    /// Dashes and gaps of its lines in turn, in widths of the line; empty for a solid line.
    pub dashes: Vec<f64>,
}

/// The looks of all methods of a comparison.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Palette {
    looks: Vec<(String, Look)>,
}

impl Palette {
    /// The palette of `comparison`.
    #[must_use]
    pub fn of(comparison: &Comparison) -> Self {
        Self::of_methods(comparison.groups.iter().flat_map(|group| method_names(&group.runs)))
    }

    /// Assigns looks. Shipped methods have their own. Each other method takes, in order of
    /// appearance, the first look with a free colour, else the first free look.
    #[must_use]
    pub fn of_methods(methods: impl IntoIterator<Item = String>) -> Self {
        let mut names: Vec<String> = Vec::new();
        for name in methods {
            if !is_clairvoyant(&name) && !names.contains(&name) {
                names.push(name);
            }
        }
        let (known, others): (Vec<String>, Vec<String>) =
            names.into_iter().partition(|name| shipped(name).is_some());
        let mut looks: Vec<(String, Look)> =
            known.into_iter().filter_map(|name| shipped(&name).map(|look| (name, look))).collect();
        for name in others {
            let used = |i: &usize| looks.iter().any(|(_, look)| *look == nth(*i));
            let coloured = |i: &usize| looks.iter().any(|(_, look)| look.colour == nth(*i).colour);
            let all = 0..COLOURS.len() * SHAPES.len();
            let free =
                all.clone().find(|i| !coloured(i)).or_else(|| all.clone().find(|i| !used(i)));
            let look = nth(free.unwrap_or(looks.len()));
            looks.push((name, look));
        }
        Self { looks }
    }

    /// The palette of `names`, in this order.
    pub(super) fn of_names(names: Vec<String>) -> Self {
        Self { looks: names.into_iter().enumerate().map(|(i, name)| (name, nth(i))).collect() }
    }

    /// The looks of `methods`, which stand together in a figure for a paper.
    #[must_use]
    pub fn on_paper(&self, methods: &[String]) -> Vec<PaperLook> {
        let curves: Vec<(&str, Look)> =
            methods.iter().map(|m| (m.as_str(), self.look(m))).collect();
        let one = |(look, method): (Look, &String)| PaperLook {
            colour: self.colour(method),
            mark: look.shape.name(),
            hollow: look.hollow,
            dash: look.dash,
            dashes: dashes(look.dash),
        };
        on_paper(&curves).into_iter().zip(methods).map(one).collect()
    }

    /// The colour of `method` as `#rrggbb`.
    #[must_use]
    pub fn colour(&self, method: &str) -> String {
        let RGBColor(red, green, blue) = self.look(method).colour;
        format!("#{red:02x}{green:02x}{blue:02x}")
    }

    pub(super) fn look(&self, method: &str) -> Look {
        if is_clairvoyant(method) {
            let star = Look::new(RGBColor(0, 0, 0), Shape::Star);
            return Look { dash: 2 * SHAPES.len(), ..star };
        }
        let own = self.looks.iter().find(|(name, _)| name == method);
        own.map_or_else(|| shipped(method).unwrap_or(nth(self.looks.len())), |(_, look)| *look)
    }
}

/// The looks in a paper of curves whose methods and looks in reports are `curves`: each differs
/// from the others in its mark as long as there are marks, so that it is told apart without
/// colours. A shipped method has the same mark in every paper.
pub(super) fn on_paper(curves: &[(&str, Look)]) -> Vec<Look> {
    let mark_of = |look: &Look| SHAPES.iter().position(|shape| *shape == look.shape);
    // The first curve of a shipped method has the method's mark, wherever it stands.
    let own = |i: usize| {
        let (method, look) = curves[i];
        let is_first = curves[..i].iter().all(|(other, _)| *other != method);
        let fixed = ON_PAPER.iter().find(|(name, _)| *name == method).map(|(_, mark)| *mark);
        let mark = fixed.or_else(|| mark_of(&look))?;
        (is_first && shipped(method).is_some()).then_some(mark)
    };
    let mut marks: Vec<Option<usize>> = (0..curves.len()).map(own).collect();
    let all = 2 * SHAPES.len();
    for (i, (_, look)) in curves.iter().enumerate() {
        let (None, Some(shape)) = (marks[i], mark_of(look)) else { continue };
        let free = |mark: &usize| !marks.contains(&Some(*mark));
        let outline = shape + SHAPES.len();
        marks[i] = [shape, outline].into_iter().chain(0..all).find(free).or(Some(shape));
    }
    let look = |(mark, (_, look)): (Option<usize>, &(&str, Look))| match mark {
        Some(mark) => {
            let (shape, hollow) = (SHAPES[mark % SHAPES.len()], mark >= SHAPES.len());
            Look { shape, hollow, dash: mark, ..*look }
        }
        None => *look,
    };
    marks.into_iter().zip(curves).map(look).collect()
}

/// The look of the shipped method called `name`.
fn shipped(name: &str) -> Option<Look> {
    let (_, colour, shape) = SHIPPED.iter().find(|(own, ..)| *own == name)?;
    Some(Look::new(COLOURS[*colour], SHAPES[*shape]))
}

/// The `i`-th look.
pub(super) fn nth(i: usize) -> Look {
    Look::new(COLOURS[i % COLOURS.len()], SHAPES[(i + i / COLOURS.len()) % SHAPES.len()])
}

#[cfg(test)]
mod tests {
    use super::*;
    use justfull_scenario::library;
    use justfull_scenario::{MethodLibrary, Overrides, Scenario};
    use std::path::Path;

    #[test]
    fn methods_that_are_often_compared_differ_in_their_marks_too() {
        let recommended =
            ["Vanilla", "CoDel", "FQ-CoDel", "DRQL", "5G-BDP", "e5G-BDP", "LastPoll", "Justfull"];
        let codels = [
            "Vanilla",
            "CoDel",
            "CoDel-RFC8289",
            "FQ-CoDel",
            "FQ-CoDel-RFC8290",
            "5G-BDP",
            "Justfull",
        ];
        for methods in [&recommended[..], &codels[..]] {
            for (i, a) in methods.iter().enumerate() {
                let (a, others) = (shipped(a).expect("it ships"), &methods[..i]);
                for b in others.iter().filter_map(|b| shipped(b)) {
                    assert!(a.shape != b.shape && a.colour != b.colour, "{}", methods[i]);
                }
            }
        }
    }

    #[test]
    fn in_a_paper_the_methods_of_every_shipped_scenario_differ_without_colours() {
        for (name, text) in library::SCENARIOS {
            let file = format!("{name}.toml");
            let scenario = Scenario::parse(text, Path::new(&file), None, Overrides::default())
                .expect("it ships");
            let methods = scenario.methods();
            let palette = Palette::of_methods(methods.iter().cloned());
            let curves: Vec<(&str, Look)> =
                methods.iter().map(|m| (m.as_str(), palette.look(m))).collect();
            let marks = on_paper(&curves);
            for (i, a) in marks.iter().enumerate() {
                assert_eq!(a.colour, curves[i].1.colour, "{name}: {}", methods[i]);
                let is_alone =
                    marks[..i].iter().all(|b| (a.shape, a.hollow) != (b.shape, b.hollow));
                assert!(is_alone, "{name}: {}", methods[i]);
                // Alone in a figure it has the same mark.
                let alone = on_paper(&curves[i..=i])[0];
                assert!(shipped(&methods[i]).is_none() || alone == *a, "{name}: {}", methods[i]);
            }
        }
    }

    #[test]
    fn the_lines_of_the_methods_of_every_shipped_scenario_differ_without_colours() {
        for (name, text) in library::SCENARIOS {
            let file = format!("{name}.toml");
            let scenario = Scenario::parse(text, Path::new(&file), None, Overrides::default())
                .expect("it ships");
            let methods = scenario.methods().to_vec();
            let looks = Palette::of_methods(methods.iter().cloned()).on_paper(&methods);
            for (i, look) in looks.iter().enumerate() {
                let alone = looks[..i].iter().all(|other| other.dashes != look.dashes);
                assert!(alone, "{name}: {}", methods[i]);
            }
        }
    }

    #[test]
    fn other_programs_get_the_looks_of_a_figure_for_a_paper() {
        let names = ["Vanilla", "FQ-CoDel@5G-BDP", "Clairvoyant"].map(str::to_owned);
        let looks = Palette::of_methods(names.iter().cloned()).on_paper(&names);
        let found: Vec<_> = looks.iter().map(|look| (look.mark, look.hollow, look.dash)).collect();
        assert_eq!(found, [("circle", false, 0), ("plus", true, 13), ("star", false, 16)]);
        assert!(looks[0].colour == "#0072b2" && looks[0].dashes.is_empty());
        // 12 and 7 units, 12 and 20, of a line of 4 units.
        assert_eq!(looks[1].dashes, [3.0, 1.75, 3.0, 5.0]);
    }

    #[test]
    fn series_of_one_method_have_its_colour_and_differ_in_mark_and_dashes() {
        let own = shipped("Justfull").expect("it ships");
        let all: Vec<Look> = (0..SHAPES.len()).map(|n| own.series(n)).collect();
        assert_eq!(all[0], own);
        for (i, a) in all.iter().enumerate() {
            assert_eq!(a.colour, own.colour);
            assert!(all[..i].iter().all(|b| b.shape != a.shape && b.dash != a.dash));
        }
    }

    #[test]
    fn sixty_four_methods_and_the_clairvoyant_policy_all_look_different() {
        let mut methods: Vec<String> = (0..64).map(|i| format!("m{i}")).collect();
        let palette = Palette::of_methods(methods.clone());
        methods.push("Clairvoyant".into());
        let looks: Vec<Look> = methods.iter().map(|m| palette.look(m)).collect();
        for (i, a) in looks.iter().enumerate() {
            assert!(looks[..i].iter().all(|b| a != b), "{}", methods[i]);
        }
        for (i, (name, ..)) in SHIPPED.iter().enumerate() {
            assert!(
                SHIPPED[..i].iter().all(|(other, ..)| shipped(other) != shipped(name)),
                "{name}"
            );
        }
    }

    #[test]
    fn a_shipped_method_looks_the_same_whatever_it_is_compared_with() {
        let palette =
            |names: &[&str]| Palette::of_methods(names.iter().map(|name| (*name).to_owned()));
        let (alone, among) = (palette(&["DRQL"]), palette(&["mine", "CoDel", "DRQL"]));
        assert_eq!(alone.look("DRQL"), among.look("DRQL"));
        assert!(
            ["CoDel", "DRQL"].iter().all(|m| among.look(m).colour != among.look("mine").colour)
        );
    }

    #[test]
    fn every_shipped_method_has_a_look_and_methods_of_a_scenario_differ_in_colour() {
        for method in MethodLibrary::shipped().names() {
            assert!(shipped(method).is_some() || is_clairvoyant(method), "{method} has no look");
        }
        for (name, text) in library::SCENARIOS {
            let file = format!("{name}.toml");
            let scenario = Scenario::parse(text, Path::new(&file), None, Overrides::default())
                .expect("it ships");
            let methods: Vec<String> =
                scenario.methods().iter().filter(|m| !is_clairvoyant(m)).cloned().collect();
            let palette = Palette::of_methods(methods.iter().cloned());
            let mut colours = Vec::new();
            for method in &methods {
                let look = palette.look(method);
                assert!(shipped(method).is_none_or(|own| own == look), "{name}: {method}");
                colours.push((look.colour.0, look.colour.1, look.colour.2));
            }
            colours.sort_unstable();
            colours.dedup();
            assert_eq!(colours.len(), methods.len().min(COLOURS.len()), "{name}");
        }
    }
}
