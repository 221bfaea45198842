//! The place of a value in the results of a run.

use toml::Value;

/// The value of `measure`: a path, or two paths joined by ` - ` or ` / `; NaN if the place does not
/// exist.
pub(in crate::validation) fn value(result: &Value, measure: &str) -> f64 {
    let words: Vec<&str> = measure.split(' ').collect();
    match words[..] {
        [path] => at(result, path),
        [path, "-", less] => at(result, path) - at(result, less),
        [path, "/", by] => at(result, path) / at(result, by),
        _ => f64::NAN,
    }
}

/// The number at `path`, whose parts are separated by points.
fn at(result: &Value, path: &str) -> f64 {
    match path.split('.').try_fold(result, step) {
        Some(Value::Integer(whole)) => *whole as f64,
        Some(Value::Float(number)) => *number,
        _ => f64::NAN,
    }
}

/// The entry of a table at `key`; of a list, the element with this index or this name.
fn step<'a>(place: &'a Value, key: &str) -> Option<&'a Value> {
    let Value::Array(list) = place else { return place.get(key) };
    let is_called = |element: &&Value| {
        ["name", "layer"]
            .iter()
            .any(|field| element.get(field).and_then(Value::as_str) == Some(key))
    };
    match key.parse::<usize>() {
        Ok(index) => list.get(index),
        Err(_) => list.iter().find(is_called),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_found_by_names_and_indices_and_nothing_is_no_number() {
        let text = "used = 3\nof = [4, 1.5]\n[[flows]]\nname = \"a\"\ndelay = { mean_ms = 2.0 }";
        let tree: Value = toml::from_str(text).expect("sound");
        for (measure, wanted) in
            [("flows.a.delay.mean_ms", 2.0), ("used / of.0", 0.75), ("used - of.1", 1.5)]
        {
            assert!((value(&tree, measure) - wanted).abs() < 1e-12, "{measure}");
        }
        for measure in ["flows.b.delay.mean_ms", "used.of", "flows", "used + used", ""] {
            assert!(value(&tree, measure).is_nan(), "{measure}");
        }
    }
}
