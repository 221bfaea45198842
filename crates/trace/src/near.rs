//! Finds known names similar to an unknown one.

/// Maximum number of suggested names in a message.
const MOST: usize = 3;
/// Lists up to this length are shown whole; similar names help more than a longer list.
const LISTED: usize = 12;
/// Minimum similarity of a suggested name.
const LIKE: f64 = 0.8;

/// At most three of `known` that are similar to `name`, ignoring case, most similar first.
#[must_use]
pub fn near<'a>(name: &str, known: &[&'a str]) -> Vec<&'a str> {
    let plain = |text: &str| text.to_lowercase().replace(['-', ' '], "_");
    let wanted = plain(name);
    let like = |known: &str| {
        let known = plain(known);
        // Users often type only a part of a name.
        let part = wanted.len() >= 3 && (known.contains(&wanted) || wanted.contains(&known));
        let likeness = strsim::jaro_winkler(&wanted, &known);
        if part && known.len() >= 3 { likeness.max(LIKE) } else { likeness }
    };
    let mut found: Vec<(f64, &str)> = known.iter().map(|known| (like(known), *known)).collect();
    found.retain(|(likeness, _)| *likeness >= LIKE);
    found.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    found.dedup_by(|a, b| a.1 == b.1);
    found.into_iter().take(MOST).map(|(_, known)| known).collect()
}

/// The allowed names in place of `name`: the list of `known`, or `otherwise` if the list is long,
/// plus similar names.
#[must_use]
pub fn allowed(name: &str, known: &[&str], otherwise: &str) -> String {
    let mut text = match known.len() {
        0 => "none".to_string(),
        1..=LISTED => format!("one of {}", known.join(", ")),
        _ => otherwise.to_string(),
    };
    text.push_str(&did_you_mean(&near(name, known)));
    text
}

/// `; did you mean a, b or c?`; empty without names.
#[must_use]
pub fn did_you_mean(names: &[&str]) -> String {
    match names.split_last() {
        None => String::new(),
        Some((last, [])) => format!("; did you mean {last}?"),
        Some((last, others)) => format!("; did you mean {} or {last}?", others.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_most_three_names_that_come_near_are_suggested_and_no_others() {
        let known = [
            "codel",
            "fq_codel",
            "CoDel@DRQL",
            "CoDel@DynRLC",
            "CoDel@5G-BDP",
            "5G-BDP",
            "new_reno",
        ];
        assert_eq!(near("codell", &known)[0], "codel");
        assert!(near("codel", &known).len() <= 3);
        assert_eq!(near("5gbdp", &known), ["5G-BDP"]);
        assert_eq!(near("newreno", &known), ["new_reno"]);
        assert!(near("no-such-thing", &known).is_empty());
        assert!(near("", &known).is_empty());
    }

    #[test]
    fn short_lists_are_printed_whole_and_long_ones_by_near_names() {
        assert_eq!(allowed("mm", &["mtu", "mac"], "else"), "one of mtu, mac");
        assert_eq!(allowed("mtuu", &["mtu", "mac"], "else"), "one of mtu, mac; did you mean mtu?");
        let many: Vec<String> =
            (0..40).map(|i| format!("name-{i}-of-many")).chain(["codel".into()]).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert_eq!(allowed("codl", &many, "a name"), "a name; did you mean codel?");
        assert_eq!(did_you_mean(&["a", "b", "c"]), "; did you mean a, b or c?");
    }
}
