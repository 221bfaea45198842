//! Reads and writes quantities in scenario files as strings with a unit.

use crate::time::Duration;
use crate::units::{BitRate, Bytes, Dscp, Qfi, Ratio, UnitError};
use core::fmt;
use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

struct Quantity<T>(core::marker::PhantomData<T>);

trait Unit: core::str::FromStr<Err = UnitError> {
    const ALLOWED: &'static str;
}

impl<T: Unit> Visitor<'_> for Quantity<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(T::ALLOWED)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        text.parse().map_err(|_| E::invalid_value(Unexpected::Str(text), &self))
    }
}

macro_rules! quantity {
    ($type:ty) => {
        impl Unit for $type {
            const ALLOWED: &'static str = Self::ALLOWED;
        }
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
                d.deserialize_str(Quantity(core::marker::PhantomData))
            }
        }
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
                s.collect_str(self)
            }
        }
    };
}

quantity!(Duration);
quantity!(Bytes);
quantity!(BitRate);

impl<'de> Deserialize<'de> for Ratio {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        f64::deserialize(d).map(Self)
    }
}

impl Serialize for Ratio {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_f64(self.0)
    }
}

impl<'de> Deserialize<'de> for Qfi {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let n = i64::deserialize(d)?;
        u8::try_from(n).ok().and_then(Self::new).ok_or_else(|| {
            D::Error::invalid_value(Unexpected::Signed(n), &"a QFI from 0 to 63 (TS 23.501)")
        })
    }
}

impl Serialize for Qfi {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_u8(self.get())
    }
}

impl<'de> Deserialize<'de> for Dscp {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let n = i64::deserialize(d)?;
        u8::try_from(n).ok().and_then(Self::new).ok_or_else(|| {
            D::Error::invalid_value(Unexpected::Signed(n), &"a DSCP from 0 to 63 (RFC 2474)")
        })
    }
}

impl Serialize for Dscp {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_u8(self.get())
    }
}
