//! The shapes of tokens, as their vendors publish them.

use super::token::{Class, Tail, TokenShape};

const WORD: Class = |byte| byte.is_ascii_alphanumeric();
const WIDE: Class = |byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
const DOTTED: Class = |byte| WIDE(byte) || byte == b'.';
const DASHED: Class = |byte| byte.is_ascii_alphanumeric() || byte == b'-';
const UNDERSCORED: Class = |byte| byte.is_ascii_alphanumeric() || byte == b'_';
const ADDRESS: Class = |byte| WIDE(byte) || byte == b'/';
const BASE64: Class = |byte| WIDE(byte) || matches!(byte, b'+' | b'/' | b'=');
const HEX: Class = |byte| byte.is_ascii_hexdigit();
pub(super) const CAPITALS: Class = |byte| byte.is_ascii_digit() || byte.is_ascii_uppercase();

/// Every shape. Together they have at most 64 heads: more are found many times slower.
pub(super) const SHAPES: &[TokenShape] = &[
    TokenShape {
        heads: &["AKIA", "ASIA"],
        tail: Tail::Exactly(CAPITALS, 16),
        what: "an access key of AWS",
    },
    TokenShape {
        heads: &["ghp_", "gho_", "ghu_", "ghs_", "ghr_"],
        tail: Tail::Run(WORD, 36),
        what: "a token of GitHub",
    },
    TokenShape {
        heads: &["github_pat_"],
        tail: Tail::Run(UNDERSCORED, 60),
        what: "a token of GitHub",
    },
    TokenShape {
        heads: &[
            "glpat-", "gldt-", "glrt-", "glptt-", "glcbt-", "glft-", "glimt-", "glagent-",
            "gloas-", "glsoat-", "glffct-",
        ],
        tail: Tail::Run(WIDE, 20),
        what: "a token of GitLab",
    },
    TokenShape {
        heads: &[
            "xoxa-", "xoxb-", "xoxc-", "xoxe-", "xoxe.", "xoxp-", "xoxr-", "xoxs-",
        ],
        tail: Tail::Run(DASHED, 20),
        what: "a token of Slack",
    },
    // Names with dashes may begin like this, too.
    TokenShape {
        heads: &["xapp-"],
        tail: Tail::Random(DASHED, 30),
        what: "a token of Slack",
    },
    // Whoever has the address can post.
    TokenShape {
        heads: &["hooks.slack.com/"],
        tail: Tail::Run(ADDRESS, 48),
        what: "a webhook of Slack",
    },
    TokenShape {
        heads: &["discord.com/api/webhooks/"],
        tail: Tail::Run(ADDRESS, 60),
        what: "a webhook of Discord",
    },
    TokenShape {
        heads: &["sk-ant-"],
        tail: Tail::Run(WIDE, 30),
        what: "a key of Anthropic",
    },
    // Class names in style sheets may begin like this, too.
    TokenShape {
        heads: &["sk-"],
        tail: Tail::Random(WIDE, 40),
        what: "a key of OpenAI",
    },
    TokenShape {
        heads: &["gsk_"],
        tail: Tail::Run(WORD, 48),
        what: "a key of Groq",
    },
    TokenShape {
        heads: &["AIza"],
        tail: Tail::Exactly(WIDE, 35),
        what: "a key of Google",
    },
    TokenShape {
        heads: &["ya29."],
        tail: Tail::Run(DOTTED, 30),
        what: "a token of Google",
    },
    TokenShape {
        heads: &["GOCSPX-"],
        tail: Tail::Run(WIDE, 28),
        what: "a client secret of Google",
    },
    TokenShape {
        heads: &["rk_live_", "sk_live_", "rk_test_", "sk_test_"],
        tail: Tail::Run(WORD, 20),
        what: "a key of Stripe",
    },
    TokenShape {
        heads: &["whsec_"],
        tail: Tail::Run(BASE64, 24),
        what: "a webhook secret",
    },
    TokenShape {
        heads: &["npm_"],
        tail: Tail::Exactly(WORD, 36),
        what: "a token of npm",
    },
    TokenShape {
        heads: &["pypi-AgE"],
        tail: Tail::Run(WIDE, 50),
        what: "a token of PyPI",
    },
    TokenShape {
        heads: &["dckr_pat_"],
        tail: Tail::Run(WIDE, 27),
        what: "a token of Docker",
    },
    TokenShape {
        heads: &["hf_"],
        tail: Tail::Run(WORD, 30),
        what: "a token of Hugging Face",
    },
    TokenShape {
        heads: &["SG."],
        tail: Tail::Run(DOTTED, 60),
        what: "a key of SendGrid",
    },
    TokenShape {
        heads: &["dop_v1_", "doo_v1_", "dor_v1_"],
        tail: Tail::Run(HEX, 64),
        what: "a token of DigitalOcean",
    },
    TokenShape {
        heads: &["dapi"],
        tail: Tail::Exactly(HEX, 32),
        what: "a token of Databricks",
    },
    TokenShape {
        heads: &["hvs.", "hvb."],
        tail: Tail::Run(WIDE, 24),
        what: "a token of Vault",
    },
    TokenShape {
        heads: &["lin_api_", "lin_oauth_"],
        tail: Tail::Run(WORD, 40),
        what: "a key of Linear",
    },
    TokenShape {
        heads: &["dp.pt.", "dp.st.", "dp.sa."],
        tail: Tail::Random(DOTTED, 40),
        what: "a token of Doppler",
    },
    TokenShape {
        heads: &["AccountKey=", "SharedAccessKey="],
        tail: Tail::Run(BASE64, 40),
        what: "a key of Azure",
    },
    TokenShape {
        heads: &["shpat_"],
        tail: Tail::Run(HEX, 32),
        what: "a token of Shopify",
    },
    TokenShape {
        heads: &["tskey-"],
        tail: Tail::Random(DASHED, 30),
        what: "a key of Tailscale",
    },
    TokenShape {
        heads: &["PMAK-"],
        tail: Tail::Run(DASHED, 50),
        what: "a key of Postman",
    },
    TokenShape {
        heads: &["AGE-SECRET-KEY-1"],
        tail: Tail::Run(CAPITALS, 58),
        what: "a key of age",
    },
    TokenShape {
        heads: &["-----BEGIN "],
        tail: Tail::Key,
        what: "a private key",
    },
];
