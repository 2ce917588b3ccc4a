# shellcheck shell=sh
# Levels of x86-64 processors, best first, and their flags in /proc/cpuinfo; sourced by kernels.sh and start.sh.
# x86-64-v4: Intel from Skylake-SP on, AMD from Zen 4 on. x86-64-v3: Intel from Haswell on, AMD from Zen on.

# has_level NAME: succeeds if this processor supports the level.
has_level() {
    case $1 in
    x86-64-v4) wanted='avx512f avx512bw avx512cd avx512dq avx512vl avx2 bmi2 f16c fma' ;;
    x86-64-v3) wanted='avx2 bmi1 bmi2 f16c fma abm movbe' ;;
    *) return 1 ;;
    esac
    flags=" $(sed -n 's/^flags[^:]*://p;T;q' /proc/cpuinfo) "
    for flag in $wanted; do
        case $flags in *" $flag "*) ;; *) return 1 ;; esac
    done
}
