//! Texts with the fields `password`, `*_token`, `authorization`, `*cookie` and the pattern
//! `/CUS-[0-9]{4}/`, and what is left of them.

pub(super) const CASES: &[(&str, &str)] = &[
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
];
