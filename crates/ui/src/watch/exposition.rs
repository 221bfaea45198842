//! Prometheus's text format 0.0.4, as far as justfull writes it.

use super::MOST_LETTERS;
use std::collections::BTreeMap;

/// Most samples of an answer.
const MOST_SAMPLES: usize = 100_000;

/// A sample: its name, its labels and its value.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Sample<'a> {
    pub(super) name: &'a str,
    labels: BTreeMap<&'a str, String>,
    pub(super) value: f64,
}

impl Sample<'_> {
    /// The value of a label; empty without one.
    pub(super) fn label(&self, name: &str) -> &str {
        self.labels.get(name).map_or("", String::as_str)
    }
}

/// The samples of `text`.
///
/// # Errors
/// A line is no sample; or there are too many.
pub(super) fn samples(text: &str) -> Result<Vec<Sample<'_>>, String> {
    let mut found = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        if found.len() == MOST_SAMPLES {
            return Err(format!("more than {MOST_SAMPLES} samples"));
        }
        found.push(sample(line).ok_or_else(|| format!("line {number} is no metric"))?);
    }
    Ok(found)
}

fn sample(line: &str) -> Option<Sample<'_>> {
    let end = line.find(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != ':')?;
    let (name, rest) = line.split_at(end);
    let (labels, rest) = match rest.strip_prefix('{') {
        Some(inside) => labels(inside)?,
        None => (BTreeMap::new(), rest),
    };
    // A time may follow the value.
    let value = rest.split_whitespace().next()?.parse().ok()?;
    (!name.is_empty()).then_some(Sample { name, labels, value })
}

/// The labels up to the brace that ends them, and the text after it.
fn labels(mut text: &str) -> Option<(BTreeMap<&str, String>, &str)> {
    let mut found = BTreeMap::new();
    loop {
        if let Some(rest) = text.strip_prefix('}') {
            return Some((found, rest));
        }
        let (name, rest) = text.split_once("=\"")?;
        let mut value = String::new();
        let mut letters = rest.char_indices();
        let end = loop {
            let letter = match letters.next()? {
                (at, '"') => break at,
                (_, '\\') => match letters.next()?.1 {
                    'n' => '\n',
                    other => other,
                },
                (_, letter) => letter,
            };
            if value.len() < MOST_LETTERS {
                value.push(letter);
            }
        };
        found.insert(name.trim(), value);
        text = &rest[end + 1..];
        text = text.strip_prefix(',').unwrap_or(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_labels_with_escapes_and_values_are_read() {
        let text = "# HELP a b\n# TYPE a gauge\na 1\nb_c{x=\"1\",y=\"a\\\"b\\\\c\\nd}\",} -2.5e3 17\n\
                    d{} NaN\n\ne{le=\"+Inf\"} +Inf\n";
        let found = samples(text).expect("it is sound");
        assert_eq!(found.len(), 4);
        assert_eq!((found[0].name, found[0].value), ("a", 1.0));
        assert_eq!((found[1].label("x"), found[1].label("y")), ("1", "a\"b\\c\nd}"));
        assert_eq!((found[1].value, found[1].label("z")), (-2500.0, ""));
        assert!(found[2].value.is_nan() && found[3].value.is_infinite());
    }

    #[test]
    fn a_long_label_is_cut_to_its_first_letters() {
        let text = format!("a{{x=\"{}\",y=\"1\"}} 2\n", "n".repeat(1_000_000));
        let found = samples(&text).expect("it is sound");
        assert_eq!((found[0].label("x").len(), found[0].label("y")), (MOST_LETTERS, "1"));
    }

    #[test]
    fn a_line_without_a_metric_is_refused_by_number() {
        for text in [
            "a",
            "a b",
            "{x=\"1\"} 1",
            "a{x=\"1\" 1",
            "a{x=1} 1",
            "a{x=\"\\",
            "<html>",
            "é 1",
            "a{",
        ] {
            assert_eq!(samples(text), Err("line 1 is no metric".into()), "{text}");
        }
        let many = "a 1\n".repeat(MOST_SAMPLES + 1);
        assert_eq!(samples(&many), Err(format!("more than {MOST_SAMPLES} samples")));
    }
}
