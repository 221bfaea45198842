//! Decimal numbers as text, exactly.

/// Most digits that count; more are dropped. Leaves room for every unit in 128 bits.
const DIGITS: u32 = 24;

/// Texts that stand for a missing value.
const MISSING: [&str; 9] = ["", "-", "--", "nan", "na", "n/a", "null", "none", "nil"];

/// True for a field that says that there is no value.
pub(super) fn is_missing(field: &str) -> bool {
    MISSING.iter().any(|word| field.eq_ignore_ascii_case(word))
}

/// A decimal number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Decimal {
    pub(super) negative: bool,
    digits: u128,
    /// Power of ten that the digits count.
    exponent: i32,
}

impl Decimal {
    /// The number in `text`: digits with a sign, a decimal point (or a comma, with `comma`) and an
    /// exponent as far as wanted.
    pub(super) fn parse(text: &str, comma: bool) -> Option<Self> {
        let (negative, text) = match text.as_bytes().first()? {
            b'-' => (true, &text[1..]),
            b'+' => (false, &text[1..]),
            _ => (false, text),
        };
        let (number, exponent) = match text.split_once(['e', 'E']) {
            Some((number, exponent)) => (number, power(exponent)?),
            None => (text, 0),
        };
        let (whole, fraction) =
            number.split_once(if comma { ',' } else { '.' }).unwrap_or((number, ""));
        if whole.is_empty() && fraction.is_empty() {
            return None;
        }
        let mut found = Self { negative, digits: 0, exponent };
        found.add(whole, 0)?;
        found.add(fraction, -1)?;
        Some(found)
    }

    /// Appends digits, each of which lowers the power of ten by `step`.
    fn add(&mut self, text: &str, step: i32) -> Option<()> {
        for byte in text.bytes() {
            let digit = byte.wrapping_sub(b'0');
            if digit > 9 {
                return None;
            }
            if self.digits < 10_u128.pow(DIGITS - 1) {
                self.digits = self.digits * 10 + u128::from(digit);
                self.exponent += step;
            } else {
                self.exponent += step + 1;
            }
        }
        Some(())
    }

    /// Its size times `factor` times 10^`power`, to the nearest whole number; none beyond 128 bits.
    pub(super) fn scaled(self, factor: u64, power: i32) -> Option<u128> {
        let value = self.digits.checked_mul(factor.into())?;
        let power = self.exponent.saturating_add(power);
        let ten = 10_u128.checked_pow(power.unsigned_abs());
        match ten {
            _ if value == 0 => Some(0),
            Some(ten) if power >= 0 => value.checked_mul(ten),
            Some(ten) => Some(value.checked_add(ten / 2)? / ten),
            None if power >= 0 => None,
            None => Some(0),
        }
    }

    /// The whole number that it is: 7 for `7.0` and `70e-1`.
    pub(super) fn whole(self) -> Option<u64> {
        let value = self.scaled(1, 0)?;
        let same = self.exponent >= 0 || {
            let ten = 10_u128.checked_pow(self.exponent.unsigned_abs());
            self.digits == 0 || ten.is_some_and(|ten| self.digits.is_multiple_of(ten))
        };
        if same && (!self.negative || value == 0) { u64::try_from(value).ok() } else { None }
    }
}

/// An exponent of at most a thousand either way, beyond which no number is of use.
fn power(text: &str) -> Option<i32> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let size = digits.parse().unwrap_or(i32::MAX).min(1000);
    Some(if text.starts_with('-') { -size } else { size })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_scaled_exactly_and_rounded_to_the_nearest() {
        for (text, factor, power, want) in [
            ("1.580195", 1, 6, Some(1_580_195)),
            ("12", 1_000_000, 0, Some(12_000_000)),
            ("1.2e+07", 1, 0, Some(12_000_000)),
            (".5", 1, 0, Some(1)),
            ("5.", 1, 1, Some(50)),
            ("0.4", 1, 0, Some(0)),
            ("1700000000.000500", 1, 9, Some(1_700_000_000_000_500_000)),
            ("1e-400", 1, 0, Some(0)),
            ("1e400", 1, 0, None),
            ("0e400", 1, 0, Some(0)),
            ("1e99999999999", 1, 0, None),
            ("0.00000000000000000000000000000000000000001", 1, 0, Some(0)),
            ("100000000000000000000000000000", 1, -29, Some(1)),
        ] {
            let found = Decimal::parse(text, false).expect(text);
            assert_eq!(found.scaled(factor, power), want, "{text}");
        }
        assert_eq!(Decimal::parse("12,5", true).and_then(|x| x.scaled(1, 1)), Some(125));
        assert!(Decimal::parse("-3", false).expect("a number").negative);
        for text in ["", "-", "+", ".", "e5", "1e", "1e+", "1,5", "1.2.3", "0x10", "inf", "1 2"] {
            assert_eq!(Decimal::parse(text, false), None, "{text}");
        }
        assert_eq!(Decimal::parse("12.5", true), None);
    }

    #[test]
    fn a_whole_number_may_be_written_with_a_point() {
        let whole = |text| Decimal::parse(text, false).and_then(Decimal::whole);
        for (text, want) in [
            ("7.0", Some(7)),
            ("70e-1", Some(7)),
            ("1e3", Some(1000)),
            ("-0", Some(0)),
            ("7.5", None),
            ("-7", None),
            ("18446744073709551615", Some(u64::MAX)),
            ("18446744073709551616", None),
        ] {
            assert_eq!(whole(text), want, "{text}");
        }
    }

    #[test]
    fn a_value_that_is_not_there_has_many_names() {
        for text in ["", "-", "nan", "NaN", "NA", "N/A", "null", "None"] {
            assert!(is_missing(text), "{text}");
        }
        assert!(!is_missing("0") && !is_missing("inf"));
    }
}
