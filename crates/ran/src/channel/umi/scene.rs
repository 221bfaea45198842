//! The positions of the antennas and the buildings, the UE's walk, and the obstacles between UE and
//! gNB.

use super::{Building, UmiConfig};
use alloc::boxed::Box;
use alloc::vec::Vec;
use justfull_base::{Duration, Instant};

/// x, y in m.
pub(super) type Ground = [f64; 2];
/// x, y and height in m.
pub(super) type Point = [f64; 3];

/// The distance between two points on the ground.
pub(super) fn distance(a: Ground, b: Ground) -> f64 {
    let (x, y) = (a[0] - b[0], a[1] - b[1]);
    libm::sqrt(x * x + y * y)
}

impl Building {
    /// Its extent along each axis.
    const fn extent(&self) -> [[f64; 2]; 3] {
        [self.x, self.y, [0.0, self.height]]
    }

    /// True if `point` is inside, on a wall or on the roof.
    pub(super) fn holds(&self, point: Point) -> bool {
        self.extent().iter().zip(point).all(|([low, high], at)| (*low..=*high).contains(&at))
    }

    /// True if `point` is inside, and on no wall and no roof.
    pub(super) fn surrounds(&self, point: Point) -> bool {
        self.extent().iter().zip(point).all(|([low, high], at)| *low < at && at < *high)
    }

    /// True if a part of the line from `from` to `to` is inside; touching is not enough.
    fn blocks(&self, from: Point, to: Point) -> bool {
        let (mut enters, mut leaves) = (0.0_f64, 1.0_f64);
        for (axis, [low, high]) in self.extent().into_iter().enumerate() {
            let way = to[axis] - from[axis];
            if way == 0.0 {
                if from[axis] <= low || from[axis] >= high {
                    return false;
                }
                continue;
            }
            let (a, b) = ((low - from[axis]) / way, (high - from[axis]) / way);
            enters = enters.max(a.min(b));
            leaves = leaves.min(a.max(b));
        }
        enters < leaves
    }
}

/// The path between gNB and UE.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct View {
    /// Distance on the ground in m.
    pub(super) ground: f64,
    /// True if no building blocks the path, not counting the UE's own building.
    pub(super) in_sight: bool,
    /// The building that the UE is in.
    pub(super) inside: Option<usize>,
}

/// The positions of the antennas, the buildings and the walk.
#[derive(Debug)]
pub(super) struct Scene {
    gnb: Point,
    /// Height of the UE.
    height: f64,
    buildings: Box<[Building]>,
    /// Corners of the walk, and the distance walked up to each; the first is the start.
    corners: Box<[(Ground, f64)]>,
    /// Speed in m/s.
    speed: f64,
}

impl Scene {
    /// The scene of a valid `config`.
    pub(super) fn new(config: &UmiConfig) -> Self {
        let [x, y, height] = config.ue;
        let mut corners: Vec<(Ground, f64)> = Vec::from([([x, y], 0.0)]);
        for &corner in &config.walk {
            let (before, walked) = corners[corners.len() - 1];
            corners.push((corner, walked + distance(before, corner)));
        }
        Self {
            gnb: config.gnb,
            height,
            buildings: config.buildings.as_slice().into(),
            corners: corners.into(),
            speed: config.speed,
        }
    }

    /// The position of the UE at `at`.
    pub(super) fn position(&self, at: Instant) -> Ground {
        let walked = at.as_secs_f64() * self.speed;
        let next = self.corners.partition_point(|(_, at)| *at <= walked);
        let (from, since) = self.corners[next - 1];
        let Some(&(to, until)) = self.corners.get(next) else { return from };
        let part = (walked - since) / (until - since);
        [from[0] + (to[0] - from[0]) * part, from[1] + (to[1] - from[1]) * part]
    }

    /// The time from which on the UE stands still.
    pub(super) fn arrival(&self) -> Instant {
        let walked = self.corners[self.corners.len() - 1].1;
        Instant::ZERO + Duration::from_secs_f64(walked / self.speed)
    }

    /// The path between the gNB and a UE at `position`.
    pub(super) fn view(&self, position: Ground) -> View {
        let gnb = self.gnb;
        let ue = [position[0], position[1], self.height];
        let ground = distance([gnb[0], gnb[1]], position);
        let mut view = View { ground, in_sight: true, inside: None };
        for (index, building) in self.buildings.iter().enumerate() {
            if building.holds(ue) {
                view.inside = view.inside.or(Some(index));
            } else if building.blocks(gnb, ue) {
                view.in_sight = false;
            }
        }
        view
    }
}
