//! What people name to be taken out: fields by their name, and patterns.

use super::MARK;
use super::extent::MOST_LINE;
use super::field::{fields, head};
use regex::bytes::{Regex, RegexBuilder};
use std::borrow::Cow;

/// Memory that one pattern may need.
const MOST_PATTERN: usize = 1 << 20;

/// What somebody wants taken out. An entry between slashes is a pattern, any other the name of a field, where `*` stands for anything.
#[derive(Debug, Default)]
pub struct Words {
    /// Names of fields, as a whole.
    names: Vec<Regex>,
    /// The same in text, with what stands before their values.
    heads: Vec<Regex>,
    /// Patterns over text.
    patterns: Vec<Regex>,
}

impl Words {
    /// Reads the entries; the first that means nothing is an error that says why.
    pub fn new<'a>(entries: impl IntoIterator<Item = &'a str>) -> Result<Self, String> {
        let mut words = Self::default();
        for entry in entries {
            words.add(entry)?;
        }
        Ok(words)
    }

    fn add(&mut self, entry: &str) -> Result<(), String> {
        if let Some(pattern) = entry
            .strip_prefix('/')
            .and_then(|rest| rest.strip_suffix('/'))
        {
            let pattern = compiled(pattern, entry)?;
            let matches_nothing = |text: &&str| {
                pattern
                    .find(text.as_bytes())
                    .is_some_and(|found| found.is_empty())
            };
            if ["", "a", "a b", " .-"].iter().any(matches_nothing) {
                return Err(format!(
                    "`{entry}` matches where nothing is; it would take out everything"
                ));
            }
            self.patterns.push(pattern);
            return Ok(());
        }
        let is_name = |c: char| c.is_alphanumeric() || "_-.*".contains(c);
        if entry.chars().all(|c| c == '*') || !entry.chars().all(is_name) {
            return Err(format!(
                "`{entry}` is neither the name of a field nor a pattern between slashes"
            ));
        }
        let name = regex::escape(entry).replace(r"\*", "[A-Za-z0-9_.-]*");
        self.names.push(compiled(&format!("(?i)^{name}$"), entry)?);
        self.heads.push(compiled(&head(&name), entry)?);
        Ok(())
    }

    /// Whether nothing is named.
    pub(super) fn is_empty(&self) -> bool {
        self.heads.is_empty() && self.patterns.is_empty()
    }

    /// Whether a field of this name is to be taken out.
    pub(super) fn names(&self, field: &str) -> bool {
        self.names
            .iter()
            .any(|name| name.is_match(field.as_bytes()))
    }

    /// Whether a text holds something to be taken out.
    pub(super) fn is_in(&self, text: &[u8]) -> bool {
        let holds = |head: &Regex| fields(head, text).any(|field| !field.value.is_empty());
        self.patterns.iter().any(|pattern| pattern.is_match(text)) || self.heads.iter().any(holds)
    }

    /// Takes out what matches; says how often.
    pub(super) fn take_out(&self, text: &mut Vec<u8>) -> u64 {
        let mut until = text.len();
        self.take_out_until(text, &mut until)
    }

    /// The same up to a place, which moves with what is taken out. What comes after it says where a value ends, and is left as it is.
    pub(super) fn take_out_until(&self, text: &mut Vec<u8>, until: &mut usize) -> u64 {
        let mut count = self
            .heads
            .iter()
            .map(|head| take_out_values(head, text, until))
            .sum();
        for pattern in &self.patterns {
            let replaced =
                pattern.replace_all(&text[..*until], |_: &regex::bytes::Captures<'_>| {
                    count += 1;
                    MARK.as_bytes()
                });
            if let Cow::Owned(mut replaced) = replaced {
                let length = replaced.len();
                replaced.extend_from_slice(&text[*until..]);
                (*text, *until) = (replaced, length);
            }
        }
        count
    }

    /// What must be looked at together: from where a match begins, or the line of a field, to where it ends, and that may be still to come.
    pub(super) fn matches<'a>(
        &'a self,
        text: &'a [u8],
        until: usize,
    ) -> impl Iterator<Item = Match> + 'a {
        let patterns = self.patterns.iter().flat_map(move |pattern| {
            let found = pattern
                .find_iter(text)
                .take_while(move |found| found.start() < until);
            found.map(|found| Match {
                from: found.start(),
                start: found.start(),
                end: found.end(),
            })
        });
        let heads = self.heads.iter().flat_map(move |head| {
            let found = fields(head, text).take_while(move |field| field.start < until);
            found.map(|field| {
                let end = if field.is_open {
                    usize::MAX
                } else {
                    field.value.end
                };
                Match {
                    from: line_of(text, field.start),
                    start: field.start,
                    end,
                }
            })
        });
        patterns.chain(heads)
    }
}

/// Where something was found.
pub(super) struct Match {
    /// Where to cut the text before it.
    from: usize,
    start: usize,
    end: usize,
}

/// How much of the text may be looked at by itself: less than `ready` where a match goes on beyond it, or may. A cut before one match may lie
/// within another, and then goes before that.
pub(super) fn whole_until(mut matches: Vec<Match>, ready: usize) -> usize {
    // With the last one first, each is looked at once: those after it lie beyond the cut.
    matches.sort_unstable_by_key(|found| std::cmp::Reverse(found.start));
    matches.iter().fold(ready, |cut, found| {
        if found.start < cut && found.end > cut {
            found.from
        } else {
            cut
        }
    })
}

/// Where the line begins that a field stands in: how far it is indented tells which lines after it are its value.
fn line_of(text: &[u8], field: usize) -> usize {
    let before = &text[field.saturating_sub(MOST_LINE)..field];
    memchr::memrchr(b'\n', before).map_or(if before.len() < MOST_LINE { 0 } else { field }, |end| {
        field - before.len() + end + 1
    })
}

/// Takes out what fields hold that begin before a place. What went already is not counted twice.
fn take_out_values(head: &Regex, text: &mut Vec<u8>, until: &mut usize) -> u64 {
    let (mut out, mut done, mut count) = (Vec::new(), 0, 0);
    let begun = fields(head, text).take_while(|field| field.start < *until);
    for field in begun.filter(|field| !field.value.is_empty() && !field.is(text, MARK)) {
        out.extend_from_slice(&text[done..field.value.start]);
        out.extend(field.quoted(text, MARK));
        (done, count) = (field.value.end, count + 1);
    }
    if count > 0 {
        let after = text.len() - done.max(*until);
        out.extend_from_slice(&text[done..]);
        *until = out.len() - after;
        *text = out;
    }
    count
}

fn compiled(pattern: &str, entry: &str) -> Result<Regex, String> {
    RegexBuilder::new(pattern)
        .size_limit(MOST_PATTERN)
        .build()
        .map_err(|error| {
            let reason = error.to_string();
            let reason = reason
                .lines()
                .last()
                .unwrap_or_default()
                .trim_start_matches("error: ");
            format!("`{entry}` is not a pattern: {reason}")
        })
}

#[cfg(test)]
mod tests {
    use super::super::Redactor;
    use super::*;
    use std::sync::Arc;

    #[test]
    fn fields_and_patterns_are_taken_out_of_text_and_nothing_else_is() {
        let entries = [
            "password",
            "*_token",
            "authorization",
            "*cookie",
            "/CUS-[0-9]{4}/",
        ];
        let words = Words::new(entries).expect("words");
        let redactor = Redactor::new(Arc::default(), Words::new(entries).expect("words"));
        let mut wrong = Vec::new();
        for (text, expected) in [
            ("a CUS-1234 b CUS-12", "a [redacted] b CUS-12"),
            (
                "password: hunter2, user: me",
                "password: [redacted], user: me",
            ),
            (
                r#"{"Password": "a\"b", "user": "me"}"#,
                r#"{"Password": "[redacted]", "user": "me"}"#,
            ),
            (
                r#""{\"password\": \"ab\"}""#,
                r#""{\"password\": \"[redacted]\"}""#,
            ),
            ("?api_token=abc&x=1", "?api_token=[redacted]&x=1"),
            ("API_TOKEN='a b'", "API_TOKEN='[redacted]'"),
            ("x_token: Bearer abc.def", "x_token: Bearer [redacted]"),
            ("the password is not here", "the password is not here"),
            // Lists and objects, also over lines.
            (
                r#"{"password": ["a", "b]"], "user": "me"}"#,
                r#"{"password": "[redacted]", "user": "me"}"#,
            ),
            (
                r#"password: {"x": "hunter2"}, user"#,
                "password: [redacted], user",
            ),
            (
                "password = [\n  'it',\n  'b]'\n]\nuser = 1",
                "password = [redacted]\nuser = 1",
            ),
            (
                r#"{"password": {"a": [1, {"b": "}"}]}, "c": 1}"#,
                r#"{"password": "[redacted]", "c": 1}"#,
            ),
            (
                r#"{"password": 1234, "c": 1}"#,
                r#"{"password": "[redacted]", "c": 1}"#,
            ),
            (
                "password: {it's hidden} and on",
                "password: [redacted] and on",
            ),
            (
                "password: {it's hidden}\nit's not\n}",
                "password: [redacted]\nit's not\n}",
            ),
            (
                "password: {the users' own}\nuser: 'me'}\n",
                "password: [redacted]\n",
            ),
            (
                "password: {the users' own}\nuser: me\n",
                "password: [redacted]\nuser: me\n",
            ),
            (
                "password: [b'}]', 'a\n]b']\nuser: me\n",
                "password: [redacted]\nuser: me\n",
            ),
            (
                "password: Some(\n  'a\n)b')\nuser: me\n",
                "password: [redacted]\nuser: me\n",
            ),
            // Quoted again and again.
            (
                r#"\\\"password\\\": \\\"hun\\\\\\\"ter2\\\", \\\"c\\\""#,
                r#"\\\"password\\\": \\\"[redacted]\\\", \\\"c\\\""#,
            ),
            (
                r#"\"password\": [\"a\", \"b\"], \"c\""#,
                r#"\"password\": \"[redacted]\", \"c\""#,
            ),
            (
                r#"{"password": "ends in \\", "c": "d"}"#,
                r#"{"password": "[redacted]", "c": "d"}"#,
            ),
            (
                r#"{\"password\": \"ends in \\\\\", \"c\": 1}"#,
                r#"{\"password\": \"[redacted]\", \"c\": 1}"#,
            ),
            (
                r"line\npassword=hunter2\nnext",
                r"line\npassword=[redacted]\nnext",
            ),
            // In addresses that are part of others.
            (
                "?next=%2Flogin%3Fpassword%3Dhunter2%26x%3D1&y=2",
                "?next=%2Flogin%3Fpassword%3D[redacted]%26x%3D1&y=2",
            ),
            (
                "?n=a%253Fpassword%253Dhun%2525ter2%2526x",
                "?n=a%253Fpassword%253D[redacted]%2526x",
            ),
            (
                "%7B%22password%22%3A%20%22hun%20ter2%22%2C%22c%22%3A1%7D",
                "%7B%22password%22%3A%20%22[redacted]%22%2C%22c%22%3A1%7D",
            ),
            (
                "%22password%22%3A%5B%22a%22%2C%22b%22%5D%7D&c=1",
                "%22password%22%3A%22[redacted]%22&c=1",
            ),
            ("password=a%26b&c=1", "password=[redacted]&c=1"),
            ("password\n%3Dhunter2\n", "password\n%3Dhunter2\n"),
            // With other ends of lines before it.
            (
                "user: me\npassword: hun\\n  ter2\\nx: 1",
                "user: me\npassword: [redacted]\\nx: 1",
            ),
            // Cut off.
            (r#"{"password": "hun"#, r#"{"password": "[redacted]""#),
            (
                "password: \"hun\nnext line",
                "password: \"[redacted]\"\nnext line",
            ),
            (r#"{"password": ["hun", "#, r#"{"password": "[redacted]""#),
            // On command lines and in what programs are started with.
            (
                "run --password=hunter2 --user me",
                "run --password=[redacted] --user me",
            ),
            (
                "run --password hunter2 --user me",
                "run --password [redacted] --user me",
            ),
            (
                "run --password 'hun ter2'; ls",
                "run --password '[redacted]'; ls",
            ),
            (
                r#"["run", "--password", "hunter2", "x"]"#,
                r#"["run", "--password", "[redacted]", "x"]"#,
            ),
            (
                "curl -d 'password=hunter2' host",
                "curl -d 'password=[redacted]' host",
            ),
            ("`password=hunter2` it is", "`password=[redacted]` it is"),
            // In sources, and as programs show their values.
            (
                r#"Login { password: Some("hunter2"), user: "me" }"#,
                r#"Login { password: [redacted], user: "me" }"#,
            ),
            (
                "password: Some(\n    \"hunter2\",\n),\nuser: 1",
                "password: [redacted],\nuser: 1",
            ),
            (
                r#"password: Secret { inner: "hunter2" }, user: "me""#,
                r#"password: [redacted], user: "me""#,
            ),
            (
                "password = \"\"\"hun\nter2\"\"\"\nuser = 1",
                "password = \"[redacted]\"\nuser = 1",
            ),
            (
                "password = '''hun'ter2''' + x",
                "password = '[redacted]' + x",
            ),
            (
                r#"\"password\": \"\"\"hunter2\"\"\", \"c\""#,
                r#"\"password\": \"[redacted]\", \"c\""#,
            ),
            (
                r#"config["password"] = "hunter2";"#,
                r#"config["password"] = "[redacted]";"#,
            ),
            (
                "user[password]=hunter2&x=1",
                "user[password]=[redacted]&x=1",
            ),
            (
                "user%5Bpassword%5D=hunter2&x=1",
                "user%5Bpassword%5D=[redacted]&x=1",
            ),
            (r#"password = b"hunter2", 1"#, "password = [redacted], 1"),
            (
                r###"password = r#"hun"ter2"#; x"###,
                "password = [redacted]; x",
            ),
            ("password = `hun ter2`; x", "password = `[redacted]`; x"),
            (
                r#"if password == "hunter2" {"#,
                r#"if password == "[redacted]" {"#,
            ),
            (
                r"{\u0022password\u0022: \u0022hun\u002ater2\u0022, \u0022c\u0022: 1}",
                r"{\u0022password\u0022: \u0022[redacted]\u0022, \u0022c\u0022: 1}",
            ),
            (
                "{&quot;password&quot;: &quot;hun ter2&quot;, 1}",
                "{&quot;password&quot;: &quot;[redacted]&quot;, 1}",
            ),
            (
                "<user>me</user><password>hun ter2</password>",
                "<user>me</user><password>[redacted]</password>",
            ),
            // Without quotes, whatever is in it.
            (
                "PASSWORD=hun&ter;2,{x}'y\nUSER=me",
                "PASSWORD=[redacted]\nUSER=me",
            ),
            (
                "password: it's5ecret, user: me",
                "password: [redacted], user: me",
            ),
            ("password=hun,ter2;user=me", "password=[redacted];user=me"),
            (r"password=hun\dter2 x", "password=[redacted] x"),
            ("?password=hun&x=1&y", "?password=[redacted]&x=1&y"),
            ("{password: hunter2}", "{password: [redacted]}"),
            (r#""password=hunter2\"""#, r#""password=[redacted]\"""#),
            // In lines of their own.
            (
                "password: |\n  hun\n\n  ter2\nuser: me",
                "password: [redacted]\nuser: me",
            ),
            (
                "a:\n  - password: >-\n      hunter2\n    user: me",
                "a:\n  - password: [redacted]\n    user: me",
            ),
            (
                "password:\n- hun\n- ter2\nuser: me",
                "password:\n- [redacted]\nuser: me",
            ),
            (
                "+password: |\n+  hunter2\n+user: me",
                "+password: [redacted]\n+user: me",
            ),
            (
                "Password:\nhunter2\nuser: me",
                "Password:\n[redacted]\nuser: me",
            ),
            (
                r#"{"file": "password: |\n  hunter2\nuser: me\n"}"#,
                r#"{"file": "password: [redacted]\nuser: me\n"}"#,
            ),
            (
                "\"password\":\n    \"hunter2\",\n\"c\": 1",
                "\"password\":\n    \"[redacted]\",\n\"c\": 1",
            ),
            // Ends in the line in which another begins.
            (
                "{\"password\": {\n  \"value\": \"hunter2\"}, \"api_token\": {\n  \"value\": \"ter\"}, \"c\": 1}\n",
                "{\"password\": \"[redacted]\", \"api_token\": \"[redacted]\", \"c\": 1}\n",
            ),
            (
                "password: Some(\n  \"hunter2\"), x_token: Some(\n  \"ter\"\n), c: 1\n",
                "password: [redacted], x_token: [redacted], c: 1\n",
            ),
            (
                "<password>\nhunter2</password> <password>\nter</password>\nx",
                "<password>[redacted]</password> <password>[redacted]</password>\nx",
            ),
            // The sign on the next line.
            (
                "\"password\"\n  : \"hunter2\",\n\"c\"",
                "\"password\"\n  : \"[redacted]\",\n\"c\"",
            ),
            (
                "let password\n    = \"hunter2\";\nx",
                "let password\n    = \"[redacted]\";\nx",
            ),
            (
                "x\npassword\n  =\\n\\u0073)",
                "x\npassword\n  =\\n[redacted]",
            ),
            ("a password\nand no sign: x", "a password\nand no sign: x"),
            ("Password:\n$hunter2\nx", "Password:\n[redacted]\nx"),
            ("Password:\n!hunter2\nx", "Password:\n[redacted]\nx"),
            ("Password:\n$ ls -l\nx", "Password:\n$ ls -l\nx"),
            // Quotes in quotes.
            (
                "password: 'it''s hunter2'\nuser: 'me'",
                "password: '[redacted]'\nuser: 'me'",
            ),
            (
                r#"password="it""s hunter2",b"#,
                r#"password="[redacted]",b"#,
            ),
            (
                r"run --password='it'\''s hunter2' x",
                "run --password='[redacted]' x",
            ),
            (
                r"run --password=it\'s\ hunter2 x",
                "run --password=[redacted] x",
            ),
            ("'password=''hunter2'' x'", "'password='[redacted]' x'"),
            (
                r#"{"password":"","user":"me"}"#,
                r#"{"password":"[redacted]","user":"me"}"#,
            ),
            (r#""password=\"hunter2\"""#, r#""password=\"[redacted]\"""#),
            // With a type.
            (
                r#"let password: &str = "hunter2";"#,
                "let password: [redacted];",
            ),
            (
                r#"static PASSWORD: &'static str = "hunter2";"#,
                "static PASSWORD: [redacted];",
            ),
            (r#"password: str = "hun ter2""#, "password: [redacted]"),
            (r#"password: str="hun ter2""#, "password: [redacted]"),
            (
                "password: Option<String> =\n    Some(\"hunter2\");\nx",
                "password: [redacted]\nx",
            ),
            (
                "const password: string | null = 'hunter2';",
                "const password: [redacted];",
            ),
            (
                r#"var password string = "hunter2""#,
                r#"var password string = "[redacted]""#,
            ),
            (
                r#"char password[32] = "hunter2";"#,
                r#"char password[32] = "[redacted]";"#,
            ),
            ("password: abc user = me", "password: [redacted] user = me"),
            // With what YAML and PHP put before it.
            (
                "password: !!str hunter2\nuser: me",
                "password: [redacted]\nuser: me",
            ),
            (
                "password: &a \"hun ter2\"\nuser: me",
                "password: [redacted]\nuser: me",
            ),
            (
                "password: !vault |\n  hun\n  ter2\nuser: me",
                "password: [redacted]\nuser: me",
            ),
            (
                "password: hun\n  ter2\n  more\nuser: me",
                "password: [redacted]\nuser: me",
            ),
            (
                "a: 1\npassword: correct horse battery # mine\nuser: me\n",
                "a: 1\npassword: [redacted] # mine\nuser: me\n",
            ),
            (
                "  - password: correct horse\n      battery staple\nuser: me\n",
                "  - password: [redacted]\nuser: me\n",
            ),
            (
                r#"{"file": "a: 1\npassword: correct horse\nuser: me"}"#,
                r#"{"file": "a: 1\npassword: [redacted]\nuser: me"}"#,
            ),
            (
                r#"{"password": 12, "user": "me"}"#,
                r#"{"password": "[redacted]", "user": "me"}"#,
            ),
            (
                "12:00 password: hunter2 was wrong",
                "12:00 password: [redacted] was wrong",
            ),
            (
                "password: hunter2 user: me",
                "password: [redacted] user: me",
            ),
            (
                "password: it is hunter2\n= x\n",
                "password: [redacted]\n= x\n",
            ),
            (
                "password: hunter2\n  user: me\n",
                "password: [redacted]\n  user: me\n",
            ),
            ("password[]=hunter2&x=1", "password[]=[redacted]&x=1"),
            (
                r#"["password"]=> string(7) "hun ter2" x"#,
                r#"["password"]=> "[redacted]" x"#,
            ),
            (
                "  [\"password\"]=>\n  string(7) \"hun ter2\"\n",
                "  [\"password\"]=>\n  \"[redacted]\"\n",
            ),
            // In headers of several words.
            (
                "> Cookie: a=1; b=hunter2; c\n> Host: x",
                "> Cookie: [redacted]; c\n> Host: x",
            ),
            (
                "< Set-Cookie: sid=hunter2; Path=/; HttpOnly",
                "< Set-Cookie: [redacted]; HttpOnly",
            ),
            (
                "curl -H \"Cookie: a=1;b=hunter2\" https://x",
                "curl -H \"Cookie: [redacted]\" https://x",
            ),
            (
                "curl -H 'Authorization: ApiKey hunter2' https://x",
                "curl -H 'Authorization: [redacted]' https://x",
            ),
            (
                "Authorization: Digest name=\"me\", answer=\"hunter2\"\r\nHost: x",
                "Authorization: [redacted]\r\nHost: x",
            ),
            (
                "Authorization: AWS4-HMAC-SHA256 Credential=a/b, Signature=hunter2\\r\\n",
                "Authorization: [redacted]\\r\\n",
            ),
            (
                "Authorization: Bearer hunter2 status=200",
                "Authorization: Bearer [redacted] status=200",
            ),
            (
                "{authorization: hunter2, cookie: a, user: me}",
                "{authorization: [redacted], cookie: [redacted], user: me}",
            ),
            // In tags of any kind.
            (
                r#"<password type="x">hunter2</password>"#,
                r#"<password type="x">[redacted]</password>"#,
            ),
            (
                "<ns:password>hunter2</ns:password>",
                "<ns:password>[redacted]</ns:password>",
            ),
            (
                "<password><![CDATA[hun<ter2]]></password>",
                "<password>[redacted]</password>",
            ),
            (
                "<password>hun<!-- x -->ter2</password>",
                "<password>[redacted]</password>",
            ),
            (
                "&lt;password&gt;hunter2&lt;/password&gt;",
                "&lt;password&gt;[redacted]&lt;/password&gt;",
            ),
            (
                r"\u003cpassword\u003ehunter2\u003c/password\u003e",
                r"\u003cpassword\u003e[redacted]\u003c/password\u003e",
            ),
            ("<password>hunter2", "<password>[redacted]"),
            (
                "tokens: Vec<X_Token>,\n at: usize,\n b: Option<char>",
                "tokens: Vec<X_Token>,\n at: usize,\n b: Option<char>",
            ),
            (
                "useState<Password>(null); <b>",
                "useState<Password>(null); <b>",
            ),
            (
                "#include <password>\nint main() {}\n",
                "#include <password>\nint main() {}\n",
            ),
            (
                "  --password <PASSWORD>  The password\n  --user <USER>",
                "  --password <PASSWORD>  The password\n  --user <USER>",
            ),
            // What programs do below a name.
            (
                "if not password:\n    return None\nx",
                "if not password:\n    return None\nx",
            ),
            (
                "class Password:\n    x = 1\n",
                "class Password:\n    x = 1\n",
            ),
            (
                "def f(self, password):\n    pass\n",
                "def f(self, password):\n    pass\n",
            ),
            (
                "password: &'a str,\n    user: &'a str,\n",
                "password: &'a str,\n    user: &'a str,\n",
            ),
            (
                "fn f(x_token: &Token) {\n    go();\n}",
                "fn f(x_token: [redacted] {\n    go();\n}",
            ),
            (
                "Enter password:\nhunter2\n$",
                "Enter password:\n[redacted]\n$",
            ),
            (
                r#"add_argument('--password', "-t")"#,
                r#"add_argument('--password', "-t")"#,
            ),
            // What only looks like it.
            ("password::hash(x)", "password::hash(x)"),
            (
                "use password::{hash, verify};",
                "use password::{hash, verify};",
            ),
            ("if password == other {", "if password == other {"),
            (
                "password:\n\n# The next heading\n",
                "password:\n\n# The next heading\n",
            ),
            ("password:\nuser: me", "password:\nuser: me"),
            ("  password:\n---\nuser: me", "  password:\n---\nuser: me"),
            ("[password]: https://x.test/", "[password]: https://x.test/"),
            (
                "  --password <WORD>  what opens it",
                "  --password <WORD>  what opens it",
            ),
            ("--password --user me", "--password --user me"),
            (
                "<password></password> and </password>x",
                "<password></password> and </password>x",
            ),
            ("a password, \"quoted\"", "a password, \"quoted\""),
            ("passwords: [\"a\"]", "passwords: [\"a\"]"),
            (
                "no_password%3Dx and a%3Dpassword",
                "no_password%3Dx and a%3Dpassword",
            ),
            (
                "[password] {password}: see below",
                "[password] {password}: see below",
            ),
        ] {
            let mut bytes = text.as_bytes().to_vec();
            words.take_out(&mut bytes);
            let mut given = vec![(0, bytes)];
            for size in [1, 3, 17] {
                let (mut stream, mut out) = (redactor.stream(), Vec::new());
                text.as_bytes()
                    .chunks(size)
                    .for_each(|piece| stream.push(piece, &mut out));
                stream.finish(&mut out);
                given.push((size, out));
            }
            let differs = |(size, out): (usize, Vec<u8>)| {
                (out != expected.as_bytes())
                    .then(|| (size, String::from_utf8_lossy(&out).into_owned()))
            };
            wrong.extend(
                given
                    .into_iter()
                    .find_map(differs)
                    .map(|(size, out)| format!("in pieces of {size}: {out:?} for {expected:?}")),
            );
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        let mut often = serde_json::json!({"password": ["a", "b\"\\"], "c": 1}).to_string();
        for _ in 0..6 {
            let mut bytes = often.clone().into_bytes();
            assert_eq!(words.take_out(&mut bytes), 1, "{often}");
            let clean = String::from_utf8_lossy(&bytes).into_owned();
            assert!(
                serde_json::from_str::<serde_json::Value>(&clean).is_ok()
                    && clean.contains('c')
                    && !clean.contains("a\\"),
                "{clean}"
            );
            often = serde_json::json!(often).to_string();
        }
        let mut gone = b"password: \"[redacted]\"".to_vec();
        assert_eq!(
            (words.take_out(&mut gone), gone.as_slice()),
            (0, &b"password: \"[redacted]\""[..]),
            "counted before"
        );
        assert!(
            words.names("PASSWORD") && words.names("github_token") && !words.names("passwords")
        );
    }

    /// Texts full of what looks like an opening quote, and is closed nowhere.
    fn unclosed() -> Vec<String> {
        let runs = |lengths: &[usize]| {
            lengths
                .iter()
                .map(|length| format!("{}\"", "\\".repeat(*length)))
                .collect::<String>()
        };
        let every: Vec<usize> = (0..130).collect();
        let odd: Vec<usize> = (0..64).map(|length| 2 * length).collect();
        ["password: [", "password: {"]
            .iter()
            .flat_map(|head| {
                [
                    runs(&[127]),
                    runs(&[63]),
                    runs(&every),
                    runs(&odd),
                    "\\".repeat(127),
                    "'\\\"".to_owned(),
                ]
                .map(|text| (head, text))
            })
            .flat_map(|(head, text)| {
                [(1, text.clone()), (64, text)].map(|(heads, text)| (head, heads, text))
            })
            .map(|(head, heads, text)| {
                format!("{head}{}", text.repeat((1 << 20) / heads / text.len())).repeat(heads)
            })
            .collect()
    }

    #[test]
    fn values_that_nobody_closes_are_gone_through_once() {
        let words = Words::new(["password"]).expect("words");
        for head in [
            "password: [",
            "password: {'",
            "password: \\\"",
            "password%3D%22",
            "password: \"{[",
            "password=a(",
            "password: Some(\n",
            "password: |\n ",
            "password:\n\n - ",
            "password=a\\",
            "<password>x</",
            "<password><!--<password>x</",
            "password: 'a''",
            "password: x\n ",
            "password: ( (\n",
            "\npassword: a ( b (",
            "password: x<",
            "--password \"\"\"",
        ] {
            // So many that the product of both lengths would take minutes.
            let mut text = head.repeat(200_000).into_bytes();
            assert!(
                words.take_out(&mut text) > 0 && text.len() < 200_000 * (head.len() + 20),
                "{head}"
            );
        }
        for text in unclosed() {
            let (mut bytes, start) = (text.clone().into_bytes(), std::time::Instant::now());
            assert!(
                words.take_out(&mut bytes) > 0 && bytes.len() < text.len(),
                "{}",
                &text[..200]
            );
            assert!(
                start.elapsed().as_secs() < 30,
                "{:?}: {}",
                start.elapsed(),
                &text[..200]
            );
        }
    }

    #[test]
    fn values_that_nobody_closes_are_gone_through_a_few_times_when_they_come_in_pieces() {
        let redactor = Redactor::new(Arc::default(), Words::new(["password"]).expect("words"));
        for text in unclosed() {
            // With line ends, so that there is something to be looked at.
            let text = text[..100_000].replace("\"", "\"\n");
            for size in [16, 4096] {
                let (mut stream, mut out, start) =
                    (redactor.stream(), Vec::new(), std::time::Instant::now());
                text.as_bytes()
                    .chunks(size)
                    .for_each(|piece| stream.push(piece, &mut out));
                assert!(stream.finish(&mut out) > 0);
                assert!(
                    start.elapsed().as_secs() < 30,
                    "{size} {:?}: {}",
                    start.elapsed(),
                    &text[..200]
                );
            }
        }
    }

    #[test]
    fn what_would_take_out_everything_or_means_nothing_is_refused() {
        for entry in ["*", "", "/a*/", "/(/", "two words", "//"] {
            assert!(Words::new([entry]).is_err(), "{entry}");
        }
    }
}
