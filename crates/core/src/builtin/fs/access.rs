//! The calls that are one operation of the jail.

use super::super::base64::{STANDARD, bytes};
use super::super::{Args, BuiltinHost};
use ::base64::Engine;
use serde_json::{Value, json};
use tool_harness_sandbox::file::{Entry, FileError, FileKind, Jail};

/// The limit of `fs.read`, whatever `max_bytes` is: an answer is one frame of the worker's channel.
const MAX_READ: usize = 32 << 20;
/// Entries per call.
const MAX_ENTRIES: usize = 10_000;

/// Runs one operation of the jail. Its error becomes one for the script, and a refusal is recorded.
pub(super) fn on_files<T>(
    host: &dyn BuiltinHost,
    operation: impl FnOnce(&Jail) -> Result<T, FileError>,
) -> Result<T, String> {
    operation(host.files()?).map_err(refused(host))
}

/// Turns errors of the jail into those of scripts, and records refusals.
pub(super) fn refused(host: &dyn BuiltinHost) -> impl Fn(FileError) -> String + '_ {
    move |error| {
        if error.is_denial() {
            host.file_denied(&error);
        }
        error.to_string()
    }
}

/// UTF-8, or an error that says where it is invalid.
pub(super) fn utf8(path: &str, bytes: Vec<u8>) -> Result<String, String> {
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        format!("`{path}` is not UTF-8 text: byte {at} is invalid; read it with `encoding=\"lossy\"` or `\"base64\"`")
    })
}

fn unknown_encoding(encoding: &str, accepted: &str) -> String {
    format!("`encoding` must be {accepted}, got `{encoding}`")
}

pub(super) fn read(host: &dyn BuiltinHost, args: &Args) -> Result<Value, String> {
    let (path, encoding) = (args.text(0), args.text(2));
    if !["utf-8", "lossy", "base64"].contains(&encoding) {
        return Err(unknown_encoding(encoding, "`utf-8`, `lossy` or `base64`"));
    }
    let max = args.count(1, "max_bytes", MAX_READ)? as u64;
    let bytes = on_files(host, |files| files.read(path, max))?;
    Ok(json!(match encoding {
        "lossy" => String::from_utf8_lossy(&bytes).into_owned(),
        "base64" => STANDARD.encode(bytes),
        _ => utf8(path, bytes)?,
    }))
}

pub(super) fn write(host: &dyn BuiltinHost, args: &Args) -> Result<Value, String> {
    let (path, content) = (args.text(0), args.text(1));
    let decoded;
    let content = match args.text(2) {
        "utf-8" => content.as_bytes(),
        "base64" => {
            decoded = bytes(&STANDARD, content)?;
            &decoded
        }
        other => return Err(unknown_encoding(other, "`utf-8` or `base64`")),
    };
    let created = on_files(host, |files| files.write(path, content))?;
    Ok(json!({"path": path, "bytes": content.len(), "created": created}))
}

pub(super) fn append(host: &dyn BuiltinHost, args: &Args) -> Result<Value, String> {
    let (path, content) = (args.text(0), args.text(1));
    on_files(host, |files| files.append(path, content.as_bytes()))?;
    Ok(json!({"path": path, "bytes": content.len()}))
}

pub(super) fn exists(host: &dyn BuiltinHost, args: &Args) -> Result<Value, String> {
    let stat = on_files(host, |files| files.stat(args.text(0)))?;
    Ok(json!(stat.is_some()))
}

fn kind(kind: FileKind) -> &'static str {
    match kind {
        FileKind::File => "file",
        FileKind::Directory => "directory",
        FileKind::Link => "link",
        FileKind::Other => "other",
    }
}

pub(super) fn stat(host: &dyn BuiltinHost, args: &Args) -> Result<Value, String> {
    let Some(stat) = on_files(host, |files| files.stat(args.text(0)))? else {
        return Ok(Value::Null);
    };
    let name = args.text(0).trim_end_matches('/').rsplit('/').next();
    Ok(json!({
        "name": name,
        "kind": kind(stat.kind),
        "size": stat.size,
        "mode": format!("{:o}", stat.mode & 0o7777),
        "modified": stat.modified_ms,
        "is_file": stat.kind == FileKind::File,
        "is_dir": stat.kind == FileKind::Directory,
    }))
}

pub(super) fn list(host: &dyn BuiltinHost, args: &Args) -> Result<Value, String> {
    let entries = on_files(host, |files| files.list(args.text(0), MAX_ENTRIES))?;
    let entry = |entry: Entry| {
        json!({
            "name": entry.name,
            "kind": kind(entry.stat.kind),
            "size": entry.stat.size,
            "modified": entry.stat.modified_ms,
            "is_file": entry.stat.kind == FileKind::File,
            "is_dir": entry.stat.kind == FileKind::Directory,
        })
    };
    Ok(entries.into_iter().map(entry).collect())
}

pub(super) fn mkdir(host: &dyn BuiltinHost, args: &Args) -> Result<Value, String> {
    on_files(host, |files| files.mkdir(args.text(0)))?;
    Ok(Value::Null)
}

pub(super) fn remove(host: &dyn BuiltinHost, args: &Args) -> Result<Value, String> {
    on_files(host, |files| files.remove(args.text(0), args.bool(1)))?;
    Ok(Value::Null)
}

pub(super) fn copy(host: &dyn BuiltinHost, args: &Args) -> Result<Value, String> {
    on_files(host, |files| files.copy(args.text(0), args.text(1)))?;
    Ok(Value::Null)
}

pub(super) fn rename(host: &dyn BuiltinHost, args: &Args) -> Result<Value, String> {
    on_files(host, |files| files.rename(args.text(0), args.text(1)))?;
    Ok(Value::Null)
}
