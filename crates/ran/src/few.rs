//! Lists that usually have one element: QoS flows and bearers of a UE.

use alloc::vec::Vec;
use core::ops::{Deref, DerefMut};
use core::slice;

/// Stores a single element inline. With thousands of UEs the cache miss on a `Vec` dominates the
/// cost per packet.
#[allow(clippy::large_enum_variant, reason = "the large variant is the common one")]
pub(crate) enum Few<T> {
    One(T),
    Many(Vec<T>),
}

impl<T> From<Vec<T>> for Few<T> {
    fn from(mut items: Vec<T>) -> Self {
        match items.pop() {
            Some(only) if items.is_empty() => Self::One(only),
            last => {
                items.extend(last);
                Self::Many(items)
            }
        }
    }
}

impl<T> Few<T> {
    /// The element at `index`, without a slice in between.
    ///
    /// # Panics
    /// If there is none.
    #[inline]
    pub(crate) fn at(&mut self, index: usize) -> &mut T {
        match self {
            Self::One(only) => {
                assert_eq!(index, 0, "there is one");
                only
            }
            Self::Many(items) => &mut items[index],
        }
    }
}

impl<T> Deref for Few<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        match self {
            Self::One(only) => slice::from_ref(only),
            Self::Many(items) => items,
        }
    }
}

impl<T> DerefMut for Few<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        match self {
            Self::One(only) => slice::from_mut(only),
            Self::Many(items) => items,
        }
    }
}

/// Collects `items` into a vector of their exact length; collecting results reserves room for four.
///
/// # Errors
/// The first error among `items`.
pub(crate) fn collect_exactly<T, E>(
    items: impl ExactSizeIterator<Item = Result<T, E>>,
) -> Result<Vec<T>, E> {
    let mut all = Vec::with_capacity(items.len());
    for item in items {
        all.push(item?);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn it_holds_none_one_or_many_in_their_order() {
        for n in 0..4 {
            let items: Vec<u32> = (0..n).collect();
            let mut few = Few::from(items.clone());
            assert_eq!(*few, *items);
            assert_eq!(matches!(few, Few::One(_)), n == 1);
            few.iter_mut().for_each(|item| *item += 1);
            assert_eq!(*few, *(1..=n).collect::<Vec<_>>());
        }
        assert_eq!(*Few::from(vec![7]), [7]);
    }
}
