//! CPU time, memory and load, read from `/proc`.

use anyhow::Context;
use std::fs;

/// The clock ticks of `/proc` per second, the same on every Linux.
const TICKS_PER_SECOND: f64 = 100.0;

/// CPU time so far, in microseconds: of a process, and of its children, ended ones included.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cpu {
    pub(crate) harness: f64,
    pub(crate) workers: f64,
}

impl Cpu {
    pub(crate) fn now() -> anyhow::Result<Self> {
        Self::of(std::process::id())
    }

    /// Of another process, and of its children.
    pub(crate) fn of(process: u32) -> anyhow::Result<Self> {
        let time = |ticks: f64| ticks / TICKS_PER_SECOND * 1e6;
        let own = Stat::of(&process.to_string())?;
        let living: f64 = children(process)?.iter().map(|child| child.ticks).sum();
        Ok(Self {
            harness: time(own.ticks),
            workers: time(own.ticks_of_ended + living),
        })
    }
}

/// The load average over the last minute, by which to judge the figures.
pub(crate) fn load_average() -> f64 {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ')
        .next()
        .and_then(|first| first.parse().ok())
        .unwrap_or_default()
}

/// The peak memory of this process since [`reset_peak`], in megabytes.
pub(crate) fn peak_megabytes() -> anyhow::Result<f64> {
    status_megabytes("self", "VmHWM:")
}

/// The resident memory of this process, in megabytes.
pub(crate) fn resident_megabytes() -> anyhow::Result<f64> {
    status_megabytes("self", "VmRSS:")
}

/// Resets the peak.
pub(crate) fn reset_peak() -> anyhow::Result<()> {
    fs::write("/proc/self/clear_refs", "5").context("cannot reset the peak memory")
}

fn status_megabytes(process: &str, key: &str) -> anyhow::Result<f64> {
    let status = fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix(key))
        .context("no such line in the status of a process")?;
    let kilobytes: f64 = line.trim().trim_end_matches("kB").trim().parse()?;
    Ok(kilobytes / 1024.0)
}

/// The resident memory of a process and of its children, in megabytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Memory {
    pub(crate) process: f64,
    pub(crate) children: f64,
    /// How many children there are.
    pub(crate) count: usize,
}

impl Memory {
    pub(crate) fn of(process: u32) -> anyhow::Result<Self> {
        let children = children(process)?;
        let resident = |name: &str| status_megabytes(name, "VmRSS:");
        Ok(Self {
            process: resident(&process.to_string())?,
            // One may exit meanwhile.
            children: children
                .iter()
                .filter_map(|child| resident(&child.process).ok())
                .sum(),
            count: children.len(),
        })
    }
}

/// The fields of `/proc/PID/stat` that are used here.
struct Stat {
    process: String,
    parent: u32,
    ticks: f64,
    /// Of the children that it has waited for.
    ticks_of_ended: f64,
}

impl Stat {
    fn of(process: &str) -> anyhow::Result<Self> {
        let text = fs::read_to_string(format!("/proc/{process}/stat"))?;
        // The program's name may contain anything; the fields after it are numbers.
        let fields: Vec<&str> = text
            .rsplit_once(')')
            .map_or("", |(_, rest)| rest)
            .split_whitespace()
            .collect();
        let field = |index: usize| fields.get(index).copied().unwrap_or("0");
        Ok(Self {
            process: process.to_owned(),
            parent: field(1).parse()?,
            ticks: field(11).parse::<f64>()? + field(12).parse::<f64>()?,
            ticks_of_ended: field(13).parse::<f64>()? + field(14).parse::<f64>()?,
        })
    }
}

fn children(of: u32) -> anyhow::Result<Vec<Stat>> {
    let names =
        fs::read_dir("/proc")?.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let processes = names.filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()));
    // A process may exit after it was listed.
    Ok(processes
        .filter_map(|process| Stat::of(&process).ok())
        .filter(|stat| stat.parent == of)
        .collect())
}
