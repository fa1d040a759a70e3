//! Whether the processor runs what it announces.
//!
//! A virtual machine may announce instructions that it does not let its guests use, and the first use
//! of one ends the process. So each set of instructions is tried once before it is relied on: an
//! instruction of it runs under a handler that continues behind it if the processor refuses.

use std::arch::asm;
use std::arch::is_x86_feature_detected as announced;

use crate::simd::Level;

/// The best level whose instructions the processor announces and runs.
pub(crate) fn usable_level() -> Level {
    let avx2 = announced!("avx2") && announced!("fma") && announced!("f16c");
    if !avx2 || !runs(avx2_instructions) {
        return Level::Baseline;
    }
    let avx512 = announced!("avx512f")
        && announced!("avx512bw")
        && announced!("avx512dq")
        && announced!("avx512vl");
    if !avx512 || !runs(avx512_instructions) {
        return Level::Avx2;
    }
    Level::Avx512
}

/// Runs instructions and returns whether they all ran.
///
/// They must begin with [`recovery!`]'s convention, which is how the handler finds its way back.
#[cfg(target_os = "linux")]
fn runs(instructions: fn() -> bool) -> bool {
    use std::mem::MaybeUninit;
    use std::ptr::null_mut;

    use nix::libc;

    extern "C" fn recover(_: libc::c_int, _: *mut libc::siginfo_t, context: *mut libc::c_void) {
        // SAFETY: the system calls the handler with the state of the thread that was interrupted,
        // which continues with what is written there.
        let registers = unsafe { &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
        if registers[libc::REG_R10 as usize] == MARK {
            registers[libc::REG_RIP as usize] = registers[libc::REG_R11 as usize];
        } else {
            // Not ours: another thread's, which must end as it would have.
            // SAFETY: restoring the default action is always sound.
            unsafe { libc::signal(libc::SIGILL, libc::SIG_DFL) };
        }
    }

    let handler: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) = recover;
    // SAFETY: zeroes are a valid `sigaction`, the handler does nothing that a handler must not, and
    // what was there before is put back.
    unsafe {
        let mut action: libc::sigaction = MaybeUninit::zeroed().assume_init();
        action.sa_sigaction = handler as usize;
        action.sa_flags = libc::SA_SIGINFO;
        let mut before = MaybeUninit::uninit();
        if libc::sigaction(libc::SIGILL, &raw const action, before.as_mut_ptr()) != 0 {
            return true; // Nothing can be tried here: what is announced has to do.
        }
        let ran = instructions();
        libc::sigaction(libc::SIGILL, before.as_ptr(), null_mut());
        ran
    }
}

/// Elsewhere what is announced has to do.
#[cfg(not(target_os = "linux"))]
fn runs(_: fn() -> bool) -> bool {
    true
}

/// In a register while instructions are tried: whose refusal the handler deals with.
const MARK: i64 = 0x7465_6e73_6f72_666c;

/// A function that returns whether it came to the end of some instructions.
///
/// While they run, one register holds [`MARK`] and another where to go on when one is refused.
macro_rules! tries {
    ($(#[$meta:meta])* $name:ident: $($instruction:literal),+) => {
        $(#[$meta])*
        fn $name() -> bool {
            let ran: u64;
            // SAFETY: the instructions write only registers that are named as lost.
            unsafe {
                asm!(
                    "mov r10, {mark}",
                    "lea r11, [rip + 2f]",
                    "xor eax, eax",
                    $($instruction,)+
                    "mov eax, 1",
                    "2:",
                    mark = const MARK,
                    out("rax") ran,
                    out("r10") _,
                    out("r11") _,
                    out("xmm0") _,
                    out("xmm1") _,
                    options(nomem, nostack),
                );
            }
            ran == 1
        }
    };
}

tries!(
    /// One instruction of each of AVX, AVX2, F16C and FMA.
    avx2_instructions:
    "vxorps ymm0, ymm0, ymm0",
    "vpaddd ymm1, ymm0, ymm0",
    "vcvtph2ps ymm1, xmm0",
    "vfmadd231ps ymm1, ymm0, ymm0",
    "vzeroupper"
);

tries!(
    /// One instruction of each of AVX-512F, BW, DQ and VL.
    avx512_instructions:
    "vpxord zmm0, zmm0, zmm0",
    "vpaddb zmm1, zmm0, zmm0",
    "vandps zmm1, zmm0, zmm0",
    "vpord ymm1, ymm0, ymm0",
    "vzeroupper"
);

#[cfg(test)]
mod tests {
    use super::*;

    tries!(refused: "ud2");
    tries!(plain: "nop");

    #[test]
    #[cfg(target_os = "linux")]
    fn a_refused_instruction_is_noticed_and_survived() {
        for _ in 0..3 {
            assert!(!runs(refused));
            assert!(runs(plain));
        }
    }

    #[test]
    fn no_level_is_chosen_that_was_not_announced() {
        assert!(usable_level() == Level::Baseline || announced!("avx2"));
        assert!(usable_level() < Level::Avx512 || announced!("avx512f"));
    }
}
