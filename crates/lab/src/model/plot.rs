//! Curves and points over axes of any quantity: the data for a figure.

/// Frames of curves under one heading.
#[derive(Clone, Debug, PartialEq)]
pub struct Plot {
    /// Unique on a page, suitable for a file name.
    pub id: String,
    /// Heading.
    pub title: String,
    /// The caption: the content and how to read it.
    pub caption: String,
    /// The frames.
    pub frames: Vec<Frame>,
}

impl Plot {
    /// A plot of `frames`.
    #[must_use]
    pub fn new(id: &str, title: &str, caption: &str, frames: &[Frame]) -> Self {
        Self {
            id: id.into(),
            title: title.into(),
            caption: caption.into(),
            frames: frames.to_vec(),
        }
    }
}

/// The scale of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Linear, from 0 to above the greatest value.
    FromZero,
    /// Linear, from the least to the greatest value.
    Linear,
    /// Logarithmic; values at or below 0 are not shown.
    Logarithmic,
}

/// The style of a curve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stroke {
    /// A coloured line: a measurement over time.
    Line,
    /// A coloured mark at each point: single measurements.
    Marks,
    /// A grey line: a published curve.
    Published,
}

/// One quantity.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// Its name in the legend; curves of one name look alike.
    pub name: String,
    /// Its style.
    pub stroke: Stroke,
    /// Its points, in order.
    pub points: Vec<(f64, f64)>,
}

/// A frame with its axes.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    /// Title above the frame.
    pub title: String,
    /// Label and scale of the x axis.
    pub x: (String, Scale),
    /// Label and scale of the y axis.
    pub y: (String, Scale),
    /// The curves.
    pub curves: Vec<Curve>,
}

impl Curve {
    /// A curve called `name`.
    #[must_use]
    pub fn new(name: &str, stroke: Stroke, points: Vec<(f64, f64)>) -> Self {
        Self { name: name.into(), stroke, points }
    }
}

impl Frame {
    /// An empty frame.
    #[must_use]
    pub fn new(title: &str, x: (&str, Scale), y: (&str, Scale)) -> Self {
        Self { title: title.into(), x: (x.0.into(), x.1), y: (y.0.into(), y.1), curves: Vec::new() }
    }

    /// The frame with `curve` added.
    #[must_use]
    pub fn with(mut self, curve: Curve) -> Self {
        self.curves.push(curve);
        self
    }
}
