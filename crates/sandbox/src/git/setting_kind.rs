//! What a setting makes Git do.

use super::config::Setting;

/// What a setting makes Git do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SettingKind {
    /// It neither runs a program nor leads to other settings.
    Harmless,
    /// It names a configuration file.
    Include,
    /// It names the folder of hooks.
    Hooks,
    /// It names a folder that new repositories are copied from, hooks included.
    Template,
    /// It names a file with attributes, which choose among the configured filters.
    Attributes,
    /// It names the working tree.
    WorkingTree,
    /// It may name a program, as far as is known.
    Program,
}

impl SettingKind {
    pub(super) fn of(setting: &Setting) -> Self {
        let subsection = setting.subsection().is_some();
        match (setting.section(), subsection, setting.key()) {
            (b"include", _, b"path") | (b"includeif", true, b"path") => Self::Include,
            (b"core", false, b"hookspath") => Self::Hooks,
            (b"init", false, b"templatedir") => Self::Template,
            (b"core", false, b"attributesfile") => Self::Attributes,
            (b"core", false, b"worktree") => Self::WorkingTree,
            _ if is_harmless(setting) => Self::Harmless,
            _ => Self::Program,
        }
    }
}

/// Which subsection a harmless name has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Subsection {
    Without,
    With,
    Either,
}
use Subsection::{Either, With, Without};

/// Which values of a harmless name are harmless.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Values {
    Any,
    /// Words such as `true` and `no`, and numbers.
    Boolean,
    /// Names of remotes, branches and formats: nothing that is an address.
    Name,
    /// Addresses that Git reaches by itself.
    Address,
    /// Anything but a command.
    NoCommand,
}

/// Every name that neither runs a program nor leads Git to other settings. What `git init`, `clone`,
/// `remote`, `branch`, `submodule`, `worktree`, `maintenance` and `sparse-checkout` write is here,
/// and what people set that changes only how things look or are stored. A name that is missing
/// counts as harmful. Keys are separated by spaces.
const HARMLESS: &[(&str, Subsection, &str, Values)] = &[
    (
        "core",
        Without,
        "abbrev autocrlf bare bigfilethreshold checkstat commentchar commentstring \
         commitgraph compression eol filemode fsync fsyncmethod fsyncobjectfiles \
         ignorecase logallrefupdates loosecompression multipackindex packedgitlimit \
         packedgitwindowsize precomposeunicode preloadindex quotepath \
         repositoryformatversion safecrlf sparsecheckout sparsecheckoutcone splitindex \
         symlinks trustctime untrackedcache whitespace",
        Values::Any,
    ),
    // The built-in monitor or none; anything else is a program.
    ("core", Without, "fsmonitor", Values::Boolean),
    (
        "extensions",
        Without,
        "compatobjectformat noop objectformat partialclone preciousobjects refstorage \
         relativeworktrees",
        Values::Name,
    ),
    ("user", Without, "name email", Values::Any),
    ("author", Without, "name email", Values::Any),
    ("committer", Without, "name email", Values::Any),
    ("branch", With, "remote pushremote", Values::Name),
    (
        "branch",
        With,
        "description gh-merge-base github-pr-owner-number merge rebase \
         vscode-merge-base",
        Values::Any,
    ),
    (
        "branch",
        Without,
        "autosetupmerge autosetuprebase sort",
        Values::Any,
    ),
    ("remote", With, "url pushurl", Values::Address),
    (
        "remote",
        With,
        "fetch followremotehead gh-resolved mirror partialclonefilter promisor prune \
         prunetags push skipdefaultupdate skipfetchall tagopt",
        Values::Any,
    ),
    ("submodule", With, "url", Values::Address),
    ("submodule", With, "update", Values::NoCommand),
    (
        "submodule",
        With,
        "active branch fetchrecursesubmodules ignore path shallow",
        Values::Any,
    ),
    (
        "submodule",
        Without,
        "active fetchjobs recurse",
        Values::Any,
    ),
    ("advice", Without, ALL, Values::Any),
    ("color", Either, ALL, Values::Any),
    ("column", Without, ALL, Values::Any),
    ("maintenance", With, "enabled schedule auto", Values::Any),
    ("maintenance", Without, "auto strategy", Values::Any),
    (
        "gc",
        Without,
        "aggressivedepth aggressivewindow auto autodetach autopacklimit packrefs \
         pruneexpire reflogexpire reflogexpireunreachable worktreepruneexpire \
         writecommitgraph",
        Values::Any,
    ),
    (
        "pack",
        Without,
        "compression depth threads window windowmemory writebitmaps \
         writebitmaphashcache usesparse",
        Values::Any,
    ),
    (
        "index",
        Without,
        "skiphash sparse threads version recordendofindexentries recordoffsettable",
        Values::Any,
    ),
    ("feature", Without, "experimental manyfiles", Values::Any),
    (
        "checkout",
        Without,
        "defaultremote guess workers",
        Values::Any,
    ),
    ("commit", Without, "cleanup status verbose", Values::Any),
    (
        "diff",
        Without,
        "algorithm colormoved context ignoresubmodules indentheuristic mnemonicprefix \
         noprefix renamelimit renames submodule wserrorhighlight",
        Values::Any,
    ),
    (
        "fetch",
        Without,
        "all output parallel prune prunetags recursesubmodules writecommitgraph",
        Values::Any,
    ),
    (
        "init",
        Without,
        "defaultbranch defaultobjectformat defaultrefformat",
        Values::Any,
    ),
    (
        "log",
        Without,
        "abbrevcommit date decorate follow",
        Values::Any,
    ),
    (
        "merge",
        Without,
        "autostash conflictstyle ff log renamelimit renames stat",
        Values::Any,
    ),
    ("pull", Without, "ff rebase", Values::Any),
    (
        "push",
        Without,
        "autosetupremote default followtags",
        Values::Any,
    ),
    (
        "rebase",
        Without,
        "autosquash autostash missingcommitscheck stat updaterefs",
        Values::Any,
    ),
    ("rerere", Without, "autoupdate enabled", Values::Any),
    (
        "stash",
        Without,
        "showincludeuntracked showpatch showstat",
        Values::Any,
    ),
    (
        "status",
        Without,
        "aheadbehind branch renames short showstash showuntrackedfiles submodulesummary",
        Values::Any,
    ),
    ("tag", Without, "sort", Values::Any),
    ("lfs", Without, "repositoryformatversion", Values::Any),
    ("lfs", With, "access locksverify", Values::Name),
];

/// Every key of a section.
const ALL: &str = "*";

/// Whether a setting neither runs a program nor leads Git to other settings.
pub(super) fn is_harmless(setting: &Setting) -> bool {
    let fits = |(section, subsection, keys, values): &&(&str, Subsection, &str, Values)| {
        section.as_bytes() == setting.section()
            && match subsection {
                Without => setting.subsection().is_none(),
                With => setting.subsection().is_some(),
                Either => true,
            }
            && (*keys == ALL || keys.split(' ').any(|key| key.as_bytes() == setting.key()))
            && accepts(*values, setting)
    };
    HARMLESS.iter().any(|entry| fits(&entry))
}

fn accepts(values: Values, setting: &Setting) -> bool {
    let value = setting.text();
    match values {
        Values::Any => true,
        Values::Boolean => is_boolean(value),
        Values::Name => is_name(value),
        Values::Address => is_plain_address(value),
        Values::NoCommand => !value.starts_with(b"!"),
    }
}

fn is_boolean(value: &[u8]) -> bool {
    let words: [&[u8]; 7] = [b"", b"true", b"yes", b"on", b"false", b"no", b"off"];
    words.iter().any(|word| word.eq_ignore_ascii_case(value)) || value == b"0" || value == b"1"
}

/// Whether a value is a name and cannot be an address, an option or a command.
fn is_name(value: &[u8]) -> bool {
    let is_plain =
        |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-' | b'/');
    value == b"."
        || !value.starts_with(b"-")
            && !value.starts_with(b"/")
            && !value.windows(2).any(|pair| pair == b"..")
            && value.iter().all(is_plain)
}

/// Whether Git reaches an address without a helper program: `https://…`, `git@host:path`, a path.
/// `ext::sh -c …` runs a command, `name::…` and `name://…` run `git-remote-name`, and ssh would read
/// a host that starts with `-` as an option.
pub(super) fn is_plain_address(address: &[u8]) -> bool {
    const SCHEMES: [&[u8]; 6] = [b"https", b"http", b"ssh", b"git", b"git+ssh", b"file"];
    if address.starts_with(b"-") || address.contains(&b'\n') || address.contains(&b'\r') {
        return false;
    }
    let Some(colon) = address.iter().position(|byte| *byte == b':') else {
        return true;
    };
    let (scheme, rest) = (&address[..colon], &address[colon + 1..]);
    if rest.starts_with(b":") {
        return false;
    }
    let Some(rest) = rest.strip_prefix(b"//") else {
        // `user@host:path`, or a path that holds a colon.
        return !scheme.windows(2).any(|pair| pair == b"@-") && !rest.starts_with(b"-");
    };
    let is_known = SCHEMES
        .iter()
        .any(|known| known.eq_ignore_ascii_case(scheme));
    let authority = rest.split(|byte| *byte == b'/').next().unwrap_or(rest);
    let mut hosts = authority.split(|byte| *byte == b'@');
    is_known && !hosts.any(|part| part.starts_with(b"-"))
}

#[cfg(test)]
mod tests {
    use super::super::config::Config;
    use super::*;

    fn kind(text: &str) -> SettingKind {
        let config = Config::read(text.as_bytes());
        assert_eq!(config.broken, None, "{text}");
        SettingKind::of(&config.settings[0])
    }

    #[test]
    fn a_setting_is_harmless_only_if_its_name_and_value_are_known_to_be() {
        for text in [
            "[core]bare=true",
            "[core]fsmonitor",
            "[core]fsmonitor=false",
            "[Remote \"O\"]URL=https://example.org/x.git",
            "[remote.o]url=git@example.org:x/y",
            "[remote \"o\"]url=../x:y",
            "[remote \"o\"]url=ssh://git@example.org:22/x",
            "[branch \"a.b\"]remote=origin",
            "[branch \"a\"]remote=.",
            "[submodule \"x\"]update=rebase",
            "[maintenance \"gc\"]schedule=daily",
            "[color \"diff\"]meta=blue",
            "[user]email=a@b",
        ] {
            assert_eq!(kind(text), SettingKind::Harmless, "{text}");
        }
        for text in [
            "[core]fsmonitor=./x",
            "[core]pager=less",
            "[core]sshcommand=x",
            "[core]worktree2=x",
            "[core \"x\"]bare=true",
            "[remote \"o\"]url=ext::sh -c x",
            "[remote \"o\"]url=foo::x",
            "[remote \"o\"]url=foo://x",
            "[remote \"o\"]url=-x",
            "[remote \"o\"]url=ssh://-oProxyCommand=x/y",
            "[remote \"o\"]url=ssh://a@-b/y",
            "[remote \"o\"]url=a@-b:y",
            "[remote \"o\"]uploadpack=x",
            "[remote \"o\"]vcs=x",
            "[branch \"a\"]remote=ext::x",
            "[branch \"a\"]remote=/x/y",
            "[branch \"a\"]mergeoptions=-s x",
            "[submodule \"x\"]update=!x",
            "[alias]x=!y",
            "[alias]x=log",
            "[filter \"x\"]clean=y",
            "[extensions]worktreeConfig=true",
            "[gc]recentObjectsHook=x",
            "[url \"ext::x\"]insteadOf=https://",
            "[unknown]x=y",
            "[maintenance]repo=x",
        ] {
            assert_eq!(kind(text), SettingKind::Program, "{text}");
        }
        for (text, expected) in [
            ("[include]path=x", SettingKind::Include),
            ("[includeIf \"gitdir:/x\"]path=x", SettingKind::Include),
            ("[includeIf.onbranch]path=x", SettingKind::Include),
            ("[core]hooksPath=x", SettingKind::Hooks),
            ("[init]templateDir=x", SettingKind::Template),
            ("[core]attributesFile=x", SettingKind::Attributes),
            ("[core]worktree=x", SettingKind::WorkingTree),
        ] {
            assert_eq!(kind(text), expected, "{text}");
        }
    }
}
