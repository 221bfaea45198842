//! Writing quantities as decimal numbers with a unit.

use core::fmt;

/// Writes `value / unit` without trailing zeros, then the name of the unit.
pub(crate) fn write_decimal(
    f: &mut fmt::Formatter<'_>,
    value: u64,
    unit: u64,
    name: &str,
) -> fmt::Result {
    let (whole, mut rest) = (value / unit, value % unit);
    if rest == 0 {
        return write!(f, "{whole}{name}");
    }
    write!(f, "{whole}.")?;
    let mut digit = unit / 10;
    while rest > 0 {
        write!(f, "{}", rest / digit)?;
        rest %= digit;
        digit /= 10;
    }
    f.write_str(name)
}
