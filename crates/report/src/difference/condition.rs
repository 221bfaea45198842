//! `delay.p99 > 5%`: a condition that reports an unwanted change.

use super::{Difference, Other};
use crate::ReportError;
use crate::read::column_of;
use std::fmt::{self, Display, Formatter};

/// A bound on the change of a column.
#[derive(Clone, Debug)]
pub struct Condition {
    /// Name of the column.
    pub column: &'static str,
    text: String,
    above: bool,
    bound: f64,
    percent: bool,
}

impl Condition {
    /// Reads `COLUMN > NUMBER`, in the column's unit, or `COLUMN < NUMBER%`, in percent of the
    /// first folder's mean.
    ///
    /// # Errors
    /// The text names the fault and the allowed forms.
    pub fn parse(text: &str) -> Result<Self, ReportError> {
        let allowed = "allowed: COLUMN > NUMBER or COLUMN < NUMBER, with % for parts of the first \
                       folder's mean, such as `delay.p99 > 5%`";
        let wrong = |why: &str| ReportError::from(format!("`{text}`: {why}; {allowed}"));
        let (name, above, number) = text
            .split_once('>')
            .map(|(name, number)| (name, true, number))
            .or_else(|| text.split_once('<').map(|(name, number)| (name, false, number)))
            .ok_or_else(|| wrong("neither > nor <"))?;
        let column = column_of(name.trim()).map_err(|why| wrong(&why.to_string()))?.name;
        let number = number.trim();
        let (digits, percent) =
            number.strip_suffix('%').map_or((number, false), |digits| (digits.trim_end(), true));
        let bound = digits.parse::<f64>().ok().filter(|bound| bound.is_finite());
        let bound = bound.ok_or_else(|| wrong(&format!("`{digits}` is no number")))?;
        Ok(Self { column, text: text.trim().into(), above, bound, percent })
    }

    /// True if the change of `other` is beyond the bound and its interval, if any, excludes 0.
    #[must_use]
    pub fn holds(&self, other: &Other) -> bool {
        let change = if self.percent { other.percent } else { Some(other.change.mean) };
        let Some(change) = change else { return false };
        let beyond = if self.above { change > self.bound } else { change < self.bound };
        let sure = other.change.ci95.is_none()
            || if other.change.mean > 0.0 {
                other.change.is_above(0.0)
            } else {
                other.change.is_below(0.0)
            };
        beyond && sure
    }

    /// The rows of `found` in which the condition holds, in words.
    #[must_use]
    pub fn broken_by(&self, found: &[Difference], names: &[String]) -> Vec<String> {
        let of_column = found.iter().filter(|d| d.column == self.column);
        let each = of_column.flat_map(|d| d.others.iter().zip(&names[1..]).map(move |o| (d, o)));
        each.filter_map(|(d, (other, name))| {
            let other = other.as_ref().filter(|other| self.holds(other))?;
            let by =
                other.percent.map_or_else(String::new, |percent| format!(" ({percent:+.1} %)"));
            Some(format!(
                "{self}: {name}: {} {}: {:.4} {} after {:.4}{by}",
                d.method, d.flow, other.own.mean, d.unit, d.base.mean
            ))
        })
        .collect()
    }
}

impl Display for Condition {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
