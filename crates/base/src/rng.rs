//! Random numbers in named streams: one seed per run, one stream per component.
//!
//! A stream depends only on the seed and its name, so adding a component does not change another's
//! draws. The generator is xoshiro256++ (Blackman and Vigna 2021), seeded by splitmix64 as its
//! authors advise. These thirty lines are our own because results must stay the same across
//! versions of every dependency.

/// splitmix64's finaliser: a bijection on 64 bits that mixes well.
#[must_use]
pub const fn mix(mut z: u64) -> u64 {
    z = z.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The key of the stream `name` under `seed` (FNV-1a over the name, then mixed with the seed).
#[must_use]
pub const fn stream_key(seed: u64, name: &str) -> u64 {
    let bytes = name.as_bytes();
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    let mut i = 0;
    while i < bytes.len() {
        hash = (hash ^ bytes[i] as u64).wrapping_mul(0x0000_0100_0000_01b3);
        i += 1;
    }
    mix(mix(seed) ^ hash)
}

/// A random number generator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rng {
    s: [u64; 4],
}

impl Rng {
    /// The stream called `name` of the run with `seed`.
    #[must_use]
    pub fn stream(seed: u64, name: &str) -> Self {
        Self::from_key(stream_key(seed, name))
    }

    /// A stream from a key derived elsewhere.
    #[must_use]
    pub fn from_key(key: u64) -> Self {
        let mut s = [0; 4];
        let mut z = key;
        for word in &mut s {
            *word = mix(z);
            z = z.wrapping_add(0x9e37_79b9_7f4a_7c15);
        }
        Self { s }
    }

    /// The next 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        let s = &mut self.s;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// A number below `n`, without bias beyond 2^-64; 0 for `n` = 0.
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(n)) >> 64) as u64
    }

    /// A number in [0, 1), a multiple of 2^-53.
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / 9_007_199_254_740_992.0)
    }

    /// True with probability `p`.
    pub fn chance(&mut self, p: f64) -> bool {
        self.unit() < p
    }

    /// A standard normal deviate (Box and Muller 1958). Only one of the pair is used, so that each
    /// call takes exactly two draws.
    pub fn normal(&mut self) -> f64 {
        let u = 1.0 - self.unit();
        let v = self.unit();
        libm::sqrt(-2.0 * libm::log(u)) * libm::cos(2.0 * core::f64::consts::PI * v)
    }

    /// An exponential deviate of mean 1.
    pub fn exponential(&mut self) -> f64 {
        -libm::log(1.0 - self.unit())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_and_name_give_the_same_draws_and_another_name_gives_others() {
        let draw = |seed, name| Rng::stream(seed, name).next_u64();
        assert_eq!(draw(1, "a"), draw(1, "a"));
        assert_ne!(draw(1, "a"), draw(1, "b"));
        assert_ne!(draw(1, "a"), draw(2, "a"));
    }

    #[test]
    fn the_first_draws_are_fixed_for_ever() {
        let mut rng = Rng::stream(42, "golden");
        let draws = [rng.next_u64(), rng.next_u64(), rng.below(1000)];
        assert_eq!(draws, [15_186_395_542_839_426_764, 11_091_933_531_407_265_844, 982]);
    }

    #[test]
    fn the_generator_is_xoshiro256_plus_plus() {
        let mut rng = Rng { s: [1, 2, 3, 4] };
        let draws = [rng.next_u64(), rng.next_u64(), rng.next_u64(), rng.next_u64()];
        assert_eq!(draws, [41_943_041, 58_720_359, 3_588_806_011_781_223, 3_591_011_842_654_386]);
    }

    #[test]
    fn moments_equal_the_laws() {
        let mut rng = Rng::stream(7, "moments");
        let n = 200_000;
        let (mut sum, mut squares, mut uniform, mut exponential) = (0.0, 0.0, 0.0, 0.0);
        for _ in 0..n {
            let z = rng.normal();
            sum += z;
            squares += z * z;
            uniform += rng.unit();
            exponential += rng.exponential();
        }
        let n = f64::from(n);
        assert!((sum / n).abs() < 0.01);
        assert!((squares / n - 1.0).abs() < 0.02);
        assert!((uniform / n - 0.5).abs() < 0.005);
        assert!((exponential / n - 1.0).abs() < 0.01);
    }
}
