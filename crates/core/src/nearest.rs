//! "Did you mean": the known word that is closest to an unknown one.

/// The closest of `known`, if it is close enough to be a typo of it.
#[must_use]
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // Distances are quadratic, and no typo is that long.
    if word.len() > 64 {
        return None;
    }
    let lower = word.to_lowercase();
    // Short words have many neighbours, so they must be closer.
    let limit = match word.chars().count() {
        0..=2 => 1,
        3..=5 => 2,
        _ => 3,
    };
    let scored = known
        .into_iter()
        .filter(|candidate| candidate.len().abs_diff(word.len()) <= 16)
        .map(|candidate| {
            (
                strsim::osa_distance(&lower, &candidate.to_lowercase()),
                candidate,
            )
        });
    let (distance, candidate) = scored.min_by_key(|&(distance, _)| distance)?;
    let total = candidate.chars().count().min(word.chars().count());
    (distance <= limit && distance < total).then_some(candidate)
}

/// Help that suggests a close word, or lists what there is.
pub(crate) fn suggest<'a>(
    word: &str,
    known: impl IntoIterator<Item = &'a str> + Clone,
    what: &str,
) -> String {
    if let Some(close) = nearest(word, known.clone()) {
        return format!("did you mean `{close}`?");
    }
    match known.clone().into_iter().next() {
        Some(_) => format!("{what}: {}", backticked(known)),
        None => format!("{what}: none"),
    }
}

/// Help that suggests a close word, or says something else.
pub(crate) fn did_you_mean(close: Option<&str>, otherwise: &str) -> String {
    close.map_or_else(
        || otherwise.to_owned(),
        |close| format!("did you mean `{close}`?"),
    )
}

/// Words in backticks, for a message.
pub(crate) fn backticked<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    let all: Vec<String> = words.into_iter().map(|one| format!("`{one}`")).collect();
    all.join(", ")
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn only_close_words_are_suggested() {
        let known = ["required", "enum", "minLength", "read"];
        for (word, expected) in [
            ("requierd", Some("required")),
            ("enums", Some("enum")),
            ("minlength", Some("minLength")),
            ("raed", Some("read")),
            ("zebra", None),
            ("x", None),
        ] {
            assert_eq!(nearest(word, known), expected, "{word}");
        }
    }
}
