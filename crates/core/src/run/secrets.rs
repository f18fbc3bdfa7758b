//! Where the secrets of tools come from.

use crate::artifact::LayerFile;
use crate::artifact::root::SecretSource;
use crate::plan::Surroundings;
use crate::redact::SecretValues;
use std::collections::HashMap;
use std::io::Read as _;
use std::path::PathBuf;
use std::sync::Arc;

/// The most bytes of a secret. Redacting a longer one from results would cost too much.
const MOST_BYTES: u64 = 64 << 10;

/// Whether tools get real secrets.
#[derive(Clone, Debug)]
pub(crate) enum Secrets {
    /// They do. The host supplied these; the layers say where to read the others.
    Real(Arc<HashMap<String, String>>),
    /// Examples get placeholders: they run anywhere, and put no secret at risk.
    StandIns,
}

impl Secrets {
    /// Learns the values that can be read without running a command, so that they are redacted even
    /// if no tool received them.
    pub(crate) fn learn(
        &self,
        values: &SecretValues,
        layers: &[LayerFile],
        surroundings: &Surroundings,
    ) {
        let Self::Real(given) = self else { return };
        let declared = layers.iter().flat_map(|layer| &layer.root.secrets);
        let read = declared.filter_map(|(_, from)| read(&from.value, surroundings)?.ok());
        for value in given.values().cloned().chain(read) {
            // A value that is too short is refused when a tool asks for it.
            let _ = values.learn(value.as_bytes());
        }
    }
}

/// Reads the secret from a variable or a file; `None` for a command.
pub(super) fn read(
    from: &SecretSource,
    surroundings: &Surroundings,
) -> Option<Result<String, String>> {
    match from {
        SecretSource::Variable(name) => Some(
            surroundings
                .variable(name)
                .ok_or_else(|| format!("the variable `{name}` is not set")),
        ),
        SecretSource::File(path) => Some(file(path, surroundings)),
        SecretSource::Command(_) => None,
    }
}

fn file(path: &str, surroundings: &Surroundings) -> Result<String, String> {
    let place = match (path.strip_prefix("~/"), &surroundings.home) {
        (Some(rest), Some(home)) => home.join(rest),
        (Some(_), None) => return Err(format!("`{path}` needs a home folder, and none is known")),
        (None, _) => PathBuf::from(path),
    };
    let mut text = String::new();
    let read = std::fs::File::open(place)
        .and_then(|file| file.take(MOST_BYTES + 1).read_to_string(&mut text));
    match read {
        Err(problem) => Err(format!("`{path}` cannot be read: {}", problem.kind())),
        Ok(bytes) if bytes as u64 > MOST_BYTES => {
            Err(format!("`{path}` has more than {MOST_BYTES} bytes"))
        }
        Ok(_) => Ok(line(&text)),
    }
}

/// The text without trailing line ends, which editors and programs add.
pub(super) fn line(text: &str) -> String {
    text.trim_end_matches(['\n', '\r']).to_owned()
}
