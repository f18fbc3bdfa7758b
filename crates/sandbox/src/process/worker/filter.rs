//! The system calls a worker may make. Any other call kills it.

use super::{ANSWERS, ProcessError, REQUESTS};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, apply_filter_all_threads,
};
use std::collections::BTreeMap;
use std::io;

/// Calls that are harmless in a process with one channel: waiting, time, randomness, exiting.
const PLAIN: &[libc::c_long] = &[
    #[cfg(target_arch = "x86_64")]
    libc::SYS_poll,
    libc::SYS_ppoll,
    libc::SYS_brk,
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_futex,
    libc::SYS_getpid,
    libc::SYS_getrandom,
    libc::SYS_gettid,
    libc::SYS_madvise,
    libc::SYS_mremap,
    libc::SYS_munmap,
    libc::SYS_restart_syscall,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sched_yield,
    libc::SYS_sigaltstack,
];

/// Applies the filter to every thread of this process, permanently.
pub(super) fn apply() -> Result<(), ProcessError> {
    let failed = |cause: &dyn std::fmt::Display| ProcessError::SetUp {
        step: "system call filter",
        cause: io::Error::other(cause.to_string()),
    };
    let program = program().map_err(|cause| failed(&cause))?;
    // Also sets `no_new_privs`.
    apply_filter_all_threads(&program).map_err(|cause| failed(&cause))
}

fn program() -> Result<BpfProgram, seccompiler::BackendError> {
    let arch: TargetArch = std::env::consts::ARCH.try_into()?;
    SeccompFilter::new(
        rules()?,
        SeccompAction::KillProcess,
        SeccompAction::Allow,
        arch,
    )?
    .try_into()
}

fn rules() -> Result<BTreeMap<i64, Vec<SeccompRule>>, seccompiler::BackendError> {
    let (requests, answers, standard_error) = (
        u64::from(REQUESTS.unsigned_abs()),
        u64::from(ANSWERS.unsigned_abs()),
        2,
    );
    // SAFETY: takes nothing, always succeeds.
    let own_id = u64::from(unsafe { libc::getpid() }.unsigned_abs());
    let executable = u64::from(libc::PROT_EXEC.unsigned_abs());
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
        PLAIN.iter().map(|&call| (call, Vec::new())).collect();
    for (call, argument, compare, values) in [
        (libc::SYS_read, 0, SeccompCmpOp::Eq, &[requests][..]),
        // A failed allocation prints to standard error, which is closed, before it aborts.
        (
            libc::SYS_write,
            0,
            SeccompCmpOp::Eq,
            &[answers, standard_error],
        ),
        (libc::SYS_mmap, 2, SeccompCmpOp::MaskedEq(executable), &[0]),
        (
            libc::SYS_mprotect,
            2,
            SeccompCmpOp::MaskedEq(executable),
            &[0],
        ),
        // The clocks of the system and of this process; negative numbers are those of other
        // processes.
        (
            libc::SYS_clock_gettime,
            0,
            SeccompCmpOp::Le,
            &[u64::from(libc::CLOCK_TAI.unsigned_abs())],
        ),
        // `abort` raises its signal like this.
        (libc::SYS_tgkill, 0, SeccompCmpOp::Eq, &[own_id]),
    ] {
        let allowed = values.iter().map(|&value| {
            let condition =
                SeccompCondition::new(argument, SeccompCmpArgLen::Dword, compare.clone(), value)?;
            SeccompRule::new(vec![condition])
        });
        rules.insert(call, allowed.collect::<Result<_, _>>()?);
    }
    Ok(rules)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_reaches_out_is_allowed() {
        let rules = rules().expect("rules");
        for call in [
            libc::SYS_openat,
            libc::SYS_openat2,
            libc::SYS_socket,
            libc::SYS_connect,
            libc::SYS_clone,
            libc::SYS_clone3,
            libc::SYS_execve,
            libc::SYS_execveat,
            libc::SYS_kill,
            libc::SYS_ptrace,
            libc::SYS_process_vm_readv,
            libc::SYS_process_vm_writev,
            libc::SYS_io_uring_setup,
            libc::SYS_sendto,
            libc::SYS_sendmsg,
            libc::SYS_recvfrom,
            libc::SYS_recvmsg,
            libc::SYS_prctl,
            libc::SYS_setrlimit,
            libc::SYS_rt_sigaction,
        ] {
            assert!(!rules.contains_key(&call), "{call}");
        }
        assert!(rules.contains_key(&libc::SYS_read));
        program().expect("compiles");
    }
}
