//! The trend of the one-way delay, and the detector of overuse. Times are in ms.

use super::groups::Change;
use alloc::collections::VecDeque;

/// Groups of a line.
const WINDOW: usize = 20;
/// Weight of the old value in the smoothed delay.
const SMOOTHING: f64 = 0.9;
/// Gain of the trend, and most groups that it is multiplied by.
const GAIN: f64 = 4.0;
const MOST_GROUPS: u32 = 60;
/// Threshold at first, and its bounds.
const THRESHOLD: f64 = 12.5;
const THRESHOLD_BOUNDS: (f64, f64) = (6.0, 600.0);
/// Its gains per ms, and the longest time that counts.
const UP: f64 = 0.0087;
const DOWN: f64 = 0.039;
const LONGEST: f64 = 100.0;
/// A trend so far above the threshold leaves it as it is.
const SPIKE: f64 = 15.0;
/// Time above the threshold after which it is overuse.
const OVERUSE_TIME: f64 = 10.0;

/// The use of the path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Usage {
    /// The delay stays.
    #[default]
    Normal,
    /// The delay rises.
    Over,
    /// The delay falls.
    Under,
}

/// A point of the line.
#[derive(Clone, Copy, Debug)]
struct Point {
    at: f64,
    delay: f64,
}

/// State.
#[derive(Clone, Debug)]
pub(super) struct Trendline {
    points: VecDeque<Point>,
    groups: u32,
    first_arrival: f64,
    sum: f64,
    smoothed: f64,
    slope: f64,
    threshold: f64,
    adapted_at: Option<f64>,
    /// Time above the threshold; none while below it.
    over: Option<f64>,
    overs: u32,
    usage: Usage,
}

impl Trendline {
    pub(super) fn new() -> Self {
        Self {
            points: VecDeque::with_capacity(WINDOW + 1),
            groups: 0,
            first_arrival: 0.0,
            sum: 0.0,
            smoothed: 0.0,
            slope: 0.0,
            threshold: THRESHOLD,
            adapted_at: None,
            over: None,
            overs: 0,
            usage: Usage::Normal,
        }
    }

    pub(super) const fn usage(&self) -> Usage {
        self.usage
    }

    #[cfg(test)]
    pub(super) const fn slope(&self) -> f64 {
        self.slope
    }

    #[cfg(test)]
    pub(super) const fn threshold(&self) -> f64 {
        self.threshold
    }

    /// Takes a change that was complete at `arrival`.
    pub(super) fn take(&mut self, change: &Change, arrival: f64) {
        if self.groups == 0 {
            self.first_arrival = arrival;
        }
        self.groups = self.groups.saturating_add(1);
        self.sum += change.arrived - change.sent;
        self.smoothed = SMOOTHING * self.smoothed + (1.0 - SMOOTHING) * self.sum;
        self.points.push_back(Point { at: arrival - self.first_arrival, delay: self.smoothed });
        if self.points.len() > WINDOW {
            self.points.pop_front();
        }
        let slope = match self.points.len() {
            WINDOW => fit(&self.points).unwrap_or(self.slope),
            _ => self.slope,
        };
        self.detect(slope, change.sent, arrival);
    }

    /// Compares the trend with the threshold. `passed`: time since the last group, at the sender.
    pub(super) fn detect(&mut self, slope: f64, passed: f64, now: f64) {
        if self.groups < 2 {
            self.usage = Usage::Normal;
            return;
        }
        let trend = f64::from(self.groups.min(MOST_GROUPS)) * slope * GAIN;
        if trend > self.threshold {
            let over = self.over.map_or(passed / 2.0, |over| over + passed);
            self.over = Some(over);
            self.overs += 1;
            if over > OVERUSE_TIME && self.overs > 1 && slope >= self.slope {
                (self.over, self.overs, self.usage) = (Some(0.0), 0, Usage::Over);
            }
        } else {
            let under = trend < -self.threshold;
            self.usage = if under { Usage::Under } else { Usage::Normal };
            (self.over, self.overs) = (None, 0);
        }
        self.slope = slope;
        self.adapt(trend.abs(), now);
    }

    /// Moves the threshold towards the size of the trend.
    pub(super) fn adapt(&mut self, size: f64, now: f64) {
        let passed = (now - self.adapted_at.unwrap_or(now)).min(LONGEST);
        self.adapted_at = Some(now);
        if size > self.threshold + SPIKE {
            return;
        }
        let gain = if size < self.threshold { DOWN } else { UP };
        self.threshold += gain * (size - self.threshold) * passed;
        self.threshold = self.threshold.clamp(THRESHOLD_BOUNDS.0, THRESHOLD_BOUNDS.1);
    }
}

/// Slope by least squares; none if all points are at one time.
fn fit(points: &VecDeque<Point>) -> Option<f64> {
    let n = points.len() as f64;
    let mean_at = points.iter().map(|p| p.at).sum::<f64>() / n;
    let mean_delay = points.iter().map(|p| p.delay).sum::<f64>() / n;
    let above: f64 = points.iter().map(|p| (p.at - mean_at) * (p.delay - mean_delay)).sum();
    let below: f64 = points.iter().map(|p| (p.at - mean_at) * (p.at - mean_at)).sum();
    (below > 0.0).then_some(above / below)
}
