//! `TOOL_SURFACE_CONFUSABLE_NAMES`.

use super::Check;
use super::hidden_text::is_invisible;
use crate::diagnostic::{Rule, Severity};
use crate::surface::{Entry, Findings, Subject};
use std::collections::{HashMap, HashSet};

pub(crate) const RULE: Rule<Check> = Rule {
    code: "TOOL_SURFACE_CONFUSABLE_NAMES",
    severity: Severity::Warning,
    why: "Models, and people who review calls, mistake names that look alike. Case, separators \
          and letters that look the same (`l`, `i` and `1`, `o` and `0`, letters of other \
          scripts) never tell two names apart. A difference of one letter is reported from eight \
          letters on, not counting separators: shorter pairs, such as `get_pod` and `get_pods` or \
          `add_row` and `add_rows`, are common in every set of tools, and are read letter by \
          letter. `get` and `set` are told apart at any length. Names that differ only in a \
          number are a series, and fine.",
    bad: &[(
        "surface.json",
        r#"{
  "tools": [
    {
      "name": "read_note",
      "description": "Reads one note.",
      "parameters": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
      "executor": "harn",
      "annotations": {"kind": "read", "side_effect_level": "read_only"}
    },
    {
      "name": "Read_Note",
      "description": "Reads one note of the other kind.",
      "parameters": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
      "executor": "harn",
      "annotations": {"kind": "read", "side_effect_level": "read_only"}
    }
  ]
}
"#,
    )],
    good: &[(
        "surface.json",
        r#"{
  "tools": [
    {
      "name": "read_note",
      "description": "Reads one note.",
      "parameters": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
      "executor": "harn",
      "annotations": {"kind": "read", "side_effect_level": "read_only"}
    },
    {
      "name": "read_letter",
      "description": "Reads one letter.",
      "parameters": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
      "executor": "harn",
      "annotations": {"kind": "read", "side_effect_level": "read_only"}
    }
  ]
}
"#,
    )],
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let mut shapes: HashMap<String, &Entry<'_>> = HashMap::new();
    let mut shortened: HashMap<String, (String, &Entry<'_>)> = HashMap::new();
    let mut series = HashSet::new();
    for entry in subject.active_tools() {
        let shape = shape(&entry.name);
        if let Some(other) = shapes.get(&shape).filter(|other| other.name != entry.name) {
            report(
                entry,
                other,
                "differ only in case, separators or similar letters",
                findings,
            );
            continue;
        }
        let letters = self::shape(&entry.name.replace(|c: char| c.is_ascii_digit(), ""));
        shapes.insert(shape, entry);
        // Names that only differ in a number are a series, which is compared with others once.
        if !series.insert(letters.clone()) {
            continue;
        }
        let is_near = |other: &str| {
            strsim::osa_distance(other, &letters) == 1 && !are_opposites(other, &letters)
        };
        let near = neighbours(&letters)
            .find_map(|part| shortened.get(&part).filter(|(other, _)| is_near(other)));
        if let Some((_, other)) = near {
            report(entry, other, "are one letter apart", findings);
        }
        for part in neighbours(&letters) {
            shortened
                .entry(part)
                .or_insert_with(|| (letters.clone(), entry));
        }
    }
}

fn report(entry: &Entry<'_>, other: &Entry<'_>, how: &str, findings: &mut Findings) {
    let message = format!("the names \"{}\" and \"{}\" {how}", other.name, entry.name);
    let places = entry.place.clone().into_iter().chain(other.place.clone());
    findings.add(
        RULE.finding(message)
            .at_any(places)
            .tool(&*entry.name)
            .field("name")
            .help("rename one so that they cannot be confused"),
    );
}

/// A name as a hurried reader sees it.
fn shape(name: &str) -> String {
    let plain = name
        .chars()
        .filter(|c| !matches!(c, '_' | '-' | '.' | ':') && !is_invisible(*c));
    plain.flat_map(char::to_lowercase).map(look_alike).collect()
}

/// The plain letter that a letter of another script looks like.
fn look_alike(c: char) -> char {
    const ALIKE: &[(&str, char)] = &[
        ("аɑα", 'a'),
        ("ьƅ", 'b'),
        ("сϲ", 'c'),
        ("ԁ", 'd'),
        ("еєε", 'e'),
        ("ɡ", 'g'),
        ("һ", 'h'),
        ("iіıɩ1", 'l'),
        ("ј", 'j'),
        ("κк", 'k'),
        ("ⅼӏ", 'l'),
        ("м", 'm'),
        ("ո", 'n'),
        ("оοօ0", 'o'),
        ("рρ", 'p'),
        ("ԛ", 'q'),
        ("г", 'r'),
        ("ѕ", 's'),
        ("τт", 't'),
        ("υս", 'u'),
        ("νѵ", 'v'),
        ("ѡ", 'w'),
        ("хχ", 'x'),
        ("уγ", 'y'),
        ("ᴢ", 'z'),
    ];
    // Full-width letters are at a fixed distance from the plain ones.
    let c = match u32::from(c) {
        wide @ 0xff01..=0xff5e => char::from_u32(wide - 0xfee0)
            .unwrap_or(c)
            .to_ascii_lowercase(),
        _ => c,
    };
    ALIKE
        .iter()
        .find(|(letters, _)| letters.contains(c))
        .map_or(c, |(_, plain)| *plain)
}

/// Whether two shapes only differ in one of them getting what the other sets.
fn are_opposites(one: &str, other: &str) -> bool {
    let verb = |shape: &str| {
        shape
            .get(..3)
            .filter(|verb| matches!(*verb, "get" | "set"))
            .map(|verb| (verb == "get", shape[3..].to_owned()))
    };
    matches!((verb(one), verb(other)), (Some((a, left)), Some((b, right))) if a != b && left == right)
}

/// The shape, and the shape without each of its letters: two words are one letter apart only if
/// they share one.
fn neighbours(shape: &str) -> impl Iterator<Item = String> {
    let without = shape
        .char_indices()
        .map(|(at, c)| format!("{}{}", &shape[..at], &shape[at + c.len_utf8()..]));
    // Short names have too many neighbours, and very long ones are not read letter by letter.
    let counts = (8..=64).contains(&shape.len());
    std::iter::once(shape.to_owned())
        .chain(without)
        .filter(move |_| counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_that_look_alike_have_one_shape() {
        for (one, other) in [
            ("read_note", "Read-Note"),
            ("read_note", "rеad_note"),
            ("read_note", "ｒead_note"),
            ("read_note", "read\u{200b}_note"),
        ] {
            assert_eq!(shape(one), shape(other), "{one} {other}");
        }
        for (one, other) in [
            ("read_file", "read_fi1e"),
            ("read_file", "read_fiIe"),
            ("box", "b0x"),
            ("v1", "vl"),
            ("Read_Issue", "read_issue"),
        ] {
            assert_eq!(shape(one), shape(other), "{one} {other}");
        }
        assert_ne!(shape("read_note"), shape("send_note"));
    }
}
