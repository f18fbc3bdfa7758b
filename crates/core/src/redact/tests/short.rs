//! Short texts and short values: a text is not searched that cannot hold what is searched for, and
//! that must not be told from the outside.

use super::*;

#[test]
fn every_text_of_a_few_bytes_gives_what_its_bytes_one_by_one_do() {
    const LETTERS: &[u8] = b"a1\\\"%6";
    for value in ["a1a1", "a\\\\\\", "a1\\\\", "\\\\\\\\", "%61a", "a\"1\\"] {
        let values = SecretValues::default();
        values.learn(value.as_bytes()).expect("long enough");
        let redactor = Redactor::new(Arc::new(values), RedactionPatterns::default());
        let mut texts = vec![String::new()];
        for _ in 0..4 {
            let longer = |text: &String| {
                LETTERS
                    .iter()
                    .map(|letter| format!("{text}{}", char::from(*letter)))
                    .collect::<Vec<_>>()
            };
            texts = texts.iter().flat_map(longer).collect();
            for text in &texts {
                // What comes in pieces is looked at however short it is.
                let (out, _) = in_pieces(&redactor, text.as_bytes(), &[1]);
                assert_eq!(
                    redactor.text(text).as_bytes(),
                    out,
                    "{text} where {value} is known"
                );
            }
        }
    }
}

proptest! {
    #[test]
    fn short_texts_give_what_their_bytes_one_by_one_do_however_short_the_values_are(
        values in prop::collection::vec(
            prop_oneof!["[aq7%\\\\\"\n /+u0é]{4,7}", "[0-9]{4,5}", Just("\\\\\\\\\\".to_owned()), Just("ab\\\\".to_owned())],
            1..4,
        ),
        parts in prop::collection::vec((0_usize..4, 0_usize..9, "[aq7%\\\\\" 0]{0,2}"), 0..3),
    ) {
        let known = SecretValues::default();
        let values: Vec<String> = values.into_iter().filter(|value| known.learn(value.as_bytes()).is_ok()).collect();
        let redactor = Redactor::new(Arc::new(known), RedactionPatterns::default());
        let written = |(value, form, after): &(usize, usize, String)| {
            let value = values.get(value % values.len().max(1)).cloned().unwrap_or_default();
            let escaped = |each: &dyn Fn(u8) -> String| value.bytes().map(each).collect::<String>();
            let form = match form {
                0 => value.trim().to_owned(),
                1 => STANDARD.encode(value.trim()),
                2 => URL_SAFE_NO_PAD.encode(format!("x{}", value.trim())),
                3 => URL_SAFE_NO_PAD.encode(format!("xy{}z", value.trim())),
                4 => json!(value).to_string(),
                5 => json!(json!(value.trim()).to_string()).to_string(),
                6 => escaped(&|byte| format!("%{byte:02x}")),
                7 => value.trim().chars().map(|c| format!("\\u{:04x}", u32::from(c))).collect(),
                _ => value.trim_end_matches('\\').to_owned(),
            };
            format!("{form}{after}")
        };
        let text: String = parts.iter().map(written).collect();
        // Nothing of what comes in pieces is left out for being short.
        let (out, count) = in_pieces(&redactor, text.as_bytes(), &[1]);
        let mut pass = redactor.pass(None);
        let mut whole = text.clone();
        pass.string(&mut whole);
        prop_assert_eq!(String::from_utf8_lossy(&out), whole, "{:?} of {:?}", text, values);
        prop_assert_eq!(count, pass.count);
    }
}
