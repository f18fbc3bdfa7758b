//! Git's configuration syntax, read exactly as Git reads it.
//!
//! Git reads byte by byte and hands out each setting as soon as it has read it, so what stands
//! before a mistake counts even where Git then gives up. The names are what `git config --list`
//! prints: `section.subsection.key`, section and key in lower case, the subsection as written (or in
//! lower case if the header has the older form `[section.subsection]`).

/// The largest text that is read as configuration. People write a few hundred bytes.
pub const MOST_CONFIG_BYTES: usize = 1 << 20;

/// One setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// `section.subsection.key`.
    pub name: Vec<u8>,
    /// What comes after `=`. A name without `=` means `true`.
    pub value: Option<Vec<u8>>,
    /// The line it starts in, from 1.
    pub line: usize,
}

/// A configuration text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// The settings in order; a name can have several values.
    pub settings: Vec<Setting>,
    /// The line that Git cannot read. Settings after it are missing here, and Git refuses the file.
    pub broken: Option<usize>,
}

impl Setting {
    /// The first part of the name, in lower case: `remote`.
    #[must_use]
    pub fn section(&self) -> &[u8] {
        let end = self.name.iter().position(|byte| *byte == b'.');
        &self.name[..end.unwrap_or(self.name.len())]
    }

    /// What is between the section and the key: `origin`. `None` for `core.bare`.
    #[must_use]
    pub fn subsection(&self) -> Option<&[u8]> {
        let first = self.name.iter().position(|byte| *byte == b'.')?;
        let last = self.name.iter().rposition(|byte| *byte == b'.')?;
        (first < last).then(|| &self.name[first + 1..last])
    }

    /// The last part of the name, in lower case: `url`.
    #[must_use]
    pub fn key(&self) -> &[u8] {
        let start = self.name.iter().rposition(|byte| *byte == b'.');
        &self.name[start.map_or(0, |dot| dot + 1)..]
    }

    /// The name for people.
    #[must_use]
    pub fn shown(&self) -> String {
        String::from_utf8_lossy(&self.name).into_owned()
    }

    /// The value; nothing where there is none.
    #[must_use]
    pub fn text(&self) -> &[u8] {
        self.value.as_deref().unwrap_or_default()
    }
}

impl Config {
    /// Reads a text. A text that is too large counts as broken in its first line.
    #[must_use]
    pub fn read(text: &[u8]) -> Self {
        if text.len() > MOST_CONFIG_BYTES {
            return Self {
                settings: Vec::new(),
                broken: Some(1),
            };
        }
        let mut reader = Reader {
            text,
            at: 0,
            line: 1,
            at_end: false,
        };
        let mut settings = Vec::new();
        let broken = reader.read_all(&mut settings).err().map(|Broken| {
            // A mistake that ends a line is a mistake in the line that it ends.
            let ended = text[..reader.at].ends_with(b"\n") || reader.at_end;
            (reader.line - usize::from(ended)).max(1)
        });
        Self { settings, broken }
    }

    /// The last value of a name, which is the one that counts where only one can.
    #[must_use]
    pub fn last(&self, name: &str) -> Option<&Setting> {
        let mut settings = self.settings.iter();
        settings.rfind(|setting| setting.name == name.as_bytes())
    }
}

/// The text is not one of Git's.
struct Broken;

struct Reader<'a> {
    text: &'a [u8],
    at: usize,
    line: usize,
    /// Whether the end of the text was read, which counts as the end of a line.
    at_end: bool,
}

/// Git's own idea of a space, whatever the language of the person.
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

fn is_key_character(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-'
}

impl Reader<'_> {
    /// The next byte. A carriage return before the end of a line is part of that end, and the end of
    /// the text ends a line.
    fn next(&mut self) -> u8 {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let (byte, length) = match rest {
            [] => {
                self.at_end = true;
                (b'\n', 0)
            }
            [b'\r', b'\n', ..] => (b'\n', 2),
            [byte, ..] => (*byte, 1),
        };
        self.at += length;
        if byte == b'\n' {
            self.line += 1;
        }
        byte
    }

    fn read_all(&mut self, settings: &mut Vec<Setting>) -> Result<(), Broken> {
        const MARK: &[u8] = b"\xef\xbb\xbf";
        if self.text.starts_with(MARK) {
            self.at = MARK.len();
        } else if self.text.first() == MARK.first() {
            return Err(Broken);
        }
        let mut header: Vec<u8> = Vec::new();
        let mut in_comment = false;
        loop {
            match self.next() {
                b'\n' if self.at_end => return Ok(()),
                b'\n' => in_comment = false,
                _ if in_comment => {}
                byte if is_space(byte) => {}
                b'#' | b';' => in_comment = true,
                b'[' => {
                    header = self.header()?;
                    header.push(b'.');
                }
                byte if byte.is_ascii_alphabetic() => {
                    let line = self.line;
                    let (name, value) = self.setting(&header, byte)?;
                    settings.push(Setting {
                        name: until_null(name),
                        value: value.map(until_null),
                        line,
                    });
                }
                _ => return Err(Broken),
            }
        }
    }

    /// The rest of a header: `core]`, `remote "origin"]` or `remote.origin]`.
    fn header(&mut self) -> Result<Vec<u8>, Broken> {
        let mut name = Vec::new();
        loop {
            let byte = self.next();
            match byte {
                _ if self.at_end => return Err(Broken),
                b']' if name.is_empty() => return Err(Broken),
                b']' => return Ok(name),
                byte if is_space(byte) => return self.subsection(name, byte),
                byte if is_key_character(byte) || byte == b'.' => {
                    name.push(byte.to_ascii_lowercase());
                }
                _ => return Err(Broken),
            }
        }
    }

    /// The rest of a header after the space before a subsection.
    fn subsection(&mut self, mut name: Vec<u8>, mut byte: u8) -> Result<Vec<u8>, Broken> {
        while is_space(byte) {
            if byte == b'\n' {
                return Err(Broken);
            }
            byte = self.next();
        }
        if byte != b'"' {
            return Err(Broken);
        }
        name.push(b'.');
        loop {
            match self.next() {
                b'\n' => return Err(Broken),
                b'"' => break,
                b'\\' => match self.next() {
                    b'\n' => return Err(Broken),
                    byte => name.push(byte),
                },
                byte => name.push(byte),
            }
        }
        if self.next() == b']' {
            Ok(name)
        } else {
            Err(Broken)
        }
    }

    /// The rest of a setting whose first character was read.
    fn setting(&mut self, header: &[u8], first: u8) -> Result<(Vec<u8>, Option<Vec<u8>>), Broken> {
        let mut name = header.to_vec();
        name.push(first.to_ascii_lowercase());
        let mut byte = self.next();
        while !self.at_end && is_key_character(byte) {
            name.push(byte.to_ascii_lowercase());
            byte = self.next();
        }
        while matches!(byte, b' ' | b'\t') {
            byte = self.next();
        }
        match byte {
            b'\n' => Ok((name, None)),
            b'=' => Ok((name, Some(self.value()?))),
            _ => Err(Broken),
        }
    }

    fn value(&mut self) -> Result<Vec<u8>, Broken> {
        let mut value = Vec::new();
        // Where the spaces start that count only if something follows them.
        let mut trimmed: Option<usize> = None;
        let (mut in_quotes, mut in_comment) = (false, false);
        loop {
            let byte = self.next();
            if byte == b'\n' {
                if in_quotes {
                    return Err(Broken);
                }
                value.truncate(trimmed.unwrap_or(value.len()));
                return Ok(value);
            }
            if in_comment {
                continue;
            }
            if is_space(byte) && !in_quotes {
                if !value.is_empty() {
                    trimmed.get_or_insert(value.len());
                    value.push(byte);
                }
                continue;
            }
            if !in_quotes && matches!(byte, b'#' | b';') {
                in_comment = true;
                continue;
            }
            trimmed = None;
            match byte {
                b'\\' => match self.next() {
                    b'\n' => {}
                    b't' => value.push(b'\t'),
                    b'b' => value.push(8),
                    b'n' => value.push(b'\n'),
                    byte @ (b'\\' | b'"') => value.push(byte),
                    _ => return Err(Broken),
                },
                b'"' => in_quotes = !in_quotes,
                _ => value.push(byte),
            }
        }
    }
}

/// Git keeps names and values as C strings.
fn until_null(mut text: Vec<u8>) -> Vec<u8> {
    if let Some(end) = text.iter().position(|byte| *byte == 0) {
        text.truncate(end);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> (Vec<String>, Option<usize>) {
        let config = Config::read(text.as_bytes());
        let line = |setting: &Setting| {
            let value = setting.value.as_ref();
            let value = value.map(|value| format!("={}", String::from_utf8_lossy(value)));
            format!(
                "{}:{}{}",
                setting.line,
                setting.shown(),
                value.unwrap_or_default()
            )
        };
        (config.settings.iter().map(line).collect(), config.broken)
    }

    fn check(text: &str, expected: &[&str]) {
        let expected = expected.iter().map(|line| (*line).to_owned()).collect();
        assert_eq!(shown(text), (expected, None), "{text:?}");
    }

    #[test]
    fn settings_have_names_values_and_lines() {
        check("", &[]);
        check("[core]\n\tbare = false\n", &["2:core.bare=false"]);
        check(
            "\u{feff}[Core]\r\nBare\r\nx=\r\n",
            &["2:core.bare", "3:core.x="],
        );
        check("[a \"B c\"] D = e # f\ng", &["1:a.B c.d=e", "2:a.B c.g"]);
        check("[A.B] c = d", &["1:a.b.c=d"]);
        check("[a \"q\\\"\\x\\\\\"]k=v", &["1:a.q\"x\\.k=v"]);
        check(
            "[a]k = \" x ; y \"  z ; c\nl = m",
            &["1:a.k= x ; y   z", "2:a.l=m"],
        );
        check(
            "[a]\nk = one \\\n  two\nl = \\t\\n\\\\\\\"",
            &["2:a.k=one   two", "4:a.l=\t\n\\\""],
        );
        check(
            "[core]\nhooksPath = .hus\\\nky",
            &["2:core.hookspath=.husky"],
        );
    }

    #[test]
    fn a_mistake_ends_the_text_and_its_line_is_known() {
        for (text, count, line) in [
            ("[core]\nx = 1\n[core\ny = 2\n", 1, 3),
            ("[a]k = \"x\nl = m\n", 0, 1),
            ("[a]k = \\x\n", 0, 1),
            ("[a]\n1k = v", 0, 2),
            ("[a]\nk v", 0, 2),
            ("[core]\nhooks\\\nPath = x", 0, 2),
            ("[a\n\"b\"]", 0, 1),
            ("[a \"b\"", 0, 1),
            ("\u{feff}\u{feff}[a]", 0, 1),
        ] {
            let (settings, broken) = shown(text);
            assert_eq!((settings.len(), broken), (count, Some(line)), "{text:?}");
        }
        let long = vec![b'\n'; MOST_CONFIG_BYTES + 1];
        assert_eq!(Config::read(&long).broken, Some(1));
    }

    #[test]
    fn a_name_has_a_section_a_subsection_and_a_key() {
        let config = Config::read(b"[a \"b.c\"]d=1\n[a]d=2\n[a.b]d=3\n");
        let parts = |setting: &Setting| {
            let text = |part: &[u8]| String::from_utf8_lossy(part).into_owned();
            let subsection = setting.subsection().map(text);
            (text(setting.section()), subsection, text(setting.key()))
        };
        let expected = [Some("b.c"), None, Some("b")].map(|subsection| {
            (
                "a".to_owned(),
                subsection.map(str::to_owned),
                "d".to_owned(),
            )
        });
        assert_eq!(
            config.settings.iter().map(parts).collect::<Vec<_>>(),
            expected
        );
        assert_eq!(config.last("a.d").map(Setting::text), Some(&b"2"[..]));
    }
}
