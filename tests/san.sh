#!/usr/bin/env bash
# san.sh - every back-end of every step under the tools that see what a right answer can
# hide (make san), on the smallest query of each program (program.mk: tiny) and, where
# races are looked for, on one whose rows have several vectors (wide).
#
#   san.sh [--chosen] [address|threads|simulator|fuzzer ...]
#
# All four, or those named; --chosen: of each program only the last step, and those that
# share its work between devices or machines. STEP= and PROGRAM= choose too.
#
#   AddressSanitizer, UndefinedBehaviorSanitizer, LeakSanitizer   all CPU code, host sides
#   ThreadSanitizer with Archer, which knows OpenMP               omp, cuda-cpu, hybrid
#   Oclgrind: memory, races, uninitialised values, API calls      ocl
#   libFuzzer, for FUZZ_SECONDS (default 60, 0: not at all)       the SU reader
#
# Each tool first has to find a fault that is planted for it: a tool that is silent about
# that is silent about all. A tool that is not installed is a failure, and the rest runs.
# Left out: CUDA on a GPU (compute-sanitizer).
set -eu
export LC_ALL=C
cd "$(dirname "$0")/.."

BUILD=${BUILD:-build}
STEP=${STEP:-}
PROGRAM=${PROGRAM:-}
FUZZ_SECONDS=${FUZZ_SECONDS:-60}
san=$BUILD/san
mkdir -p "$san"
san=$(cd "$san" && pwd)
export POCL_CACHE_DIR=$san/pocl-cache
mkdir -p "$POCL_CACHE_DIR"
unset MAKEFLAGS MAKELEVEL OPT EXTRA

chosen= wanted=
for word; do
    case $word in
        --chosen) chosen=yes ;;
        address | threads | simulator | fuzzer) wanted="$wanted $word" ;;
        *) sed -n '6,9s/^# \{0,3\}//p' "$0" >&2; exit 2 ;;
    esac
done
wanted=${wanted:-address threads simulator fuzzer}

passed=0 failed=0
pass() { passed=$((passed + 1)); }
# bad NAME LOG: one line, then what the tool said first.
bad() {
    failed=$((failed + 1))
    echo "FAIL $1 ($2)"
    grep -vE '^[[:space:]]*$|^[A-Za-z_]+=[-+.0-9e]+$' "$2" | head -12 | sed 's/^/    /'
}

# missing WHAT PACKAGE: a tool that is not here checks nothing.
missing() {
    failed=$((failed + 1))
    echo "FAIL $1 is not here (Debian: $2)"
}

# run NAME COMMAND...: passes if the command ends with 0 and no sanitizer has spoken.
run() {
    local name=$1 log=$logs/${1//[^A-Za-z0-9_.-]/_}.log
    shift
    if timeout 300 "$@" >"$log" 2>&1 && ! grep -qE 'Sanitizer|runtime error:' "$log"
    then pass
    else bad "$name" "$log"
    fi
}

# planted NAME PATTERN COMMAND...: passes if the tool reports PATTERN.
planted() {
    local name="$1: planted fault" pattern=$2 log=$logs/planted_$1.log
    shift 2
    timeout 300 "$@" >"$log" 2>&1 || :
    if grep -qE "$pattern" "$log"
    then pass
    else bad "$name is not found" "$log"
    fi
}

has_query() {
    grep -q "^$2[[:space:]]*=" "common/$1/program.mk"
}

# query PROGRAM [KEY]: the words of its tiny query, or of the one named KEY if it has it.
query() {
    local key=tiny
    ! has_query "$1" "${2:-tiny}" || key=${2:-tiny}
    sed -n "s/^${key}[[:space:]]*=[[:space:]]*//p" "common/$1/program.mk" |
        sed "s|{data}|$BUILD/data/$1|g"
}

# halves BACKEND: the word with which one that shares its work has both sides work.
halves() {
    case $1 in hybrid*) echo share=50 ;; esac
}

# several FOLDER: does the program there run on more than one device or machine?
several() { [ -f "$1/hybrid.c" ] || [ -f "$1/mpi.c" ]; }

# asked STEP PROGRAM: is it among those of STEP=, names or numbers? Without, all are; of
# a chosen part, the last step that has the program, and those for several devices.
asked() {
    local word last
    if [ -n "$chosen" ] && ! several "steps/$1/$2"; then
        last=$(for word in steps/*/"$2"/; do several "$word" || echo "$word"; done | tail -n 1)
        [ "$last" = "steps/$1/$2/" ] || return 1
    fi
    [ -n "$STEP" ] || return 0
    for word in $STEP; do
        case $1 in "$word"*) return 0 ;; esac
    done
    return 1
}

# parts: "STEP PROGRAM" of all that is to be looked at.
parts() {
    local step program
    for step in $(cd steps && ls -d [0-9]*_*); do
        for program in $(cd "steps/$step" && ls -d */); do
            program=${program%/}
            [ -f "common/$program/program.mk" ] && asked "$step" "$program" || continue
            [ -z "$PROGRAM" ] || [ "$PROGRAM" = "$program" ] || continue
            echo "$step $program"
        done
    done
}

# steps PROGRAM: of all these, as make's STEP= takes them.
steps() { parts | sed -n "s/ $1\$//p" | xargs; }

# binaries FOLDER BACKEND...: "STEP PROGRAM BACKEND PATH" of what was built there.
binaries() {
    local folder=$1 step program backend path
    shift
    while read -r step program; do
        for backend in "$@"; do
            path=$folder/$step/$program-$backend
            ! [ -x "$path" ] || echo "$step $program $backend $path"
        done
    done < <(parts)
}

# built FOLDER WORDS...: what make is asked for is made, quietly. NVCC= leaves cuda out.
built() {
    local folder=$1 log=$logs/make.log
    shift
    if make -s BUILD="$folder" NVCC= "$@" >"$log" 2>&1
    then return 0
    fi
    bad "$(basename "$folder"): does not build" "$log"
    return 1
}

# parts_built FOLDER WORDS...: all binaries of what is looked at, and of nothing else.
parts_built() {
    local program
    for program in $(parts | cut -d' ' -f2 | sort -u); do
        built "$@" PROGRAM="$program" STEP="$(steps "$program")" binaries || return 1
    done
}

# ---- addresses, undefined behaviour, leaks ------------------------------------------

address() {
    local flags="-fsanitize=address,undefined,float-cast-overflow -fno-omit-frame-pointer"
    flags="$flags -fno-sanitize-recover=all"
    echo 'int main(void) { return 0; }' >"$san/empty.c"
    # shellcheck disable=SC2086 # flags are words
    if ! gcc $flags "$san/empty.c" -o "$san/empty" 2>/dev/null; then
        missing AddressSanitizer gcc
        return
    fi
    # lsan.supp: what OpenCL itself keeps. use_tls=0: LeakSanitizer stumbles over the
    # thread-local memory of the libraries that PoCL makes of kernels and unloads.
    export ASAN_OPTIONS=detect_leaks=1:detect_stack_use_after_return=1
    export LSAN_OPTIONS=suppressions=$PWD/tests/lsan.supp:print_suppressions=0:use_tls=0
    export UBSAN_OPTIONS=print_stacktrace=1

    cat >"$san/planted.c" <<'C'
#include <stdlib.h>
#include <string.h>
int main(int argc, char **argv)
{
    float *p = calloc(8, sizeof *p);
    int n = argc > 1 ? atoi(argv[1]) : 0;
    if (n == 1) p[8 * argc / 2] = 1;
    int large = 2147483647;
    if (n == 2) large += argc;
    if (n == 3) p = calloc(8, sizeof *p);
    if (n != 3) free(p);
    p = NULL;
    return large == 0;
}
C
    # shellcheck disable=SC2086
    gcc -g $flags "$san/planted.c" -o "$san/planted"
    planted ASan 'heap-buffer-overflow' "$san/planted" 1
    planted UBSan 'signed integer overflow' "$san/planted" 2
    planted LSan 'detected memory leaks' "$san/planted" 3

    local tests=
    for test in su run; do
        [ ! -f "tests/${test}_test.c" ] || tests="$tests $san/asan/tests/${test}_test"
    done
    # What UBSan adds to a function, gcc cannot compile for a device: no OpenACC.
    parts_built "$san/asan" CC=gcc OPT=-O0 EXTRA="$flags" has_openacc= || return 0
    # shellcheck disable=SC2086
    built "$san/asan" CC=gcc OPT=-O0 EXTRA="$flags" has_openacc= $tests || return 0
    while read -r step program backend path; do
        # shellcheck disable=SC2046
        run "asan $step $program $backend" "$path" $(query "$program") \
            $(halves "$backend") out="$san/out.npy"
    done < <(binaries "$san/asan" seq omp ocl cuda-cpu hybrid hybrid-cuda-cpu)
    # MPI keeps what it has allocated: of ranks, leaks are not looked for.
    while read -r step program backend path; do
        # shellcheck disable=SC2046
        run "asan $step $program $backend" env OMPI_ALLOW_RUN_AS_ROOT=1 \
            OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMP_NUM_THREADS=1 \
            ASAN_OPTIONS="$ASAN_OPTIONS:detect_leaks=0" \
            mpirun --oversubscribe --bind-to none -n 3 "$path" $(query "$program") \
            out="$san/out.npy"
    done < <(binaries "$san/asan" mpi)
    for test in $tests; do
        run "asan $(basename "$test")" "$test"
    done
    unset ASAN_OPTIONS LSAN_OPTIONS UBSAN_OPTIONS
}

# ---- races ---------------------------------------------------------------------------

threads() {
    local archer flags="-fsanitize=thread"
    # What vectors of more than 16 bytes load and store it does not see: there are none.
    [ "$(uname -m)" != x86_64 ] || flags="$flags -march=native -mno-avx"
    if ! command -v clang-14 >/dev/null; then
        missing clang-14 clang-14
        return
    fi
    archer=$(ls /usr/lib/llvm-14/lib/libarcher.so 2>/dev/null || :)
    if [ -z "$archer" ]; then
        missing "Archer for OpenMP" libomp-14-dev
        return
    fi
    export OMP_TOOL_LIBRARIES=$archer OMP_NUM_THREADS=4
    export TSAN_OPTIONS=ignore_noninstrumented_modules=1:exitcode=66
    # The sanitizer wants memory where random addresses may not leave it.
    local fixed=
    ! setarch -R true 2>/dev/null || fixed="setarch -R"

    cat >"$san/race.c" <<'C'
#ifdef __AVX__
typedef int vector __attribute__((vector_size(64)));
#else
typedef int vector __attribute__((vector_size(16)));
#endif
int main(int argc, char **argv)
{
    int sum = 0, safe = 0;
    vector sums = {0};
    (void)argv;
#pragma omp parallel for
    for (int i = 0; i < 1000; i++) {
        if (argc == 2) sum += i;
        if (argc == 3) sums += i;
#pragma omp atomic
        safe += i;
    }
#pragma omp parallel num_threads(4)
    {
        if (safe == 0) sum = 1;
#pragma omp barrier
#pragma omp single
        safe = 0;
    }
    return sum + sums[0] == 1;
}
C
    clang-14 -g -fopenmp $flags "$san/race.c" -o "$san/race"
    planted TSan 'data race' $fixed "$san/race" planted
    planted TSan-vectors 'data race' $fixed "$san/race" planted twice
    run "tsan, no fault" $fixed "$san/race"

    # OpenCL is run only where the host computes beside it: its own threads are the
    # library's.
    local hybrid
    hybrid=$(parts | while read -r step program; do
        [ ! -f "steps/$step/$program/hybrid.c" ] || echo "$san/tsan/$step/$program-hybrid"
    done)
    parts_built "$san/tsan" CC=clang-14 OPT=-O1 EXTRA="$flags" has_opencl= has_mpi= || return 0
    # shellcheck disable=SC2086
    [ -z "$hybrid" ] || built "$san/tsan" CC=clang-14 OPT=-O1 EXTRA="$flags" has_mpi= \
        $hybrid || return 0
    while read -r step program backend path; do
        # shellcheck disable=SC2046
        run "tsan $step $program $backend" $fixed "$path" $(query "$program" wide) \
            $(halves "$backend")
    done < <(binaries "$san/tsan" omp cuda-cpu hybrid hybrid-cuda-cpu)
    unset OMP_TOOL_LIBRARIES OMP_NUM_THREADS TSAN_OPTIONS
}

# ---- OpenCL ---------------------------------------------------------------------------

# oclgrind_log LOG COMMAND...: its exit status says nothing, so the log has to. Functions
# that are inlined leave a word behind that it does not know: nothing is inlined here.
oclgrind_log() {
    local log=$1
    shift
    rm -f "$log.oclgrind"
    timeout 300 oclgrind --data-races --uninitialized --check-api --max-errors 20 \
        --build-options '-cl-opt-disable -D always_inline=unused' \
        --log "$log.oclgrind" sh -c 'LD_PRELOAD=$0:$LD_PRELOAD exec "$@"' \
        "$san/oclgrind_fill.so" "$@" >"$log" 2>&1
    local status=$?
    cat "$log.oclgrind" >>"$log" 2>/dev/null || echo "Oclgrind left no log" >>"$log"
    return $status
}

simulator() {
    if ! command -v oclgrind >/dev/null; then
        missing Oclgrind oclgrind
        return
    fi
    parts_built "$BUILD" || return 0 # as they are
    gcc -O1 -shared -fPIC tests/oclgrind_fill.c -o "$san/oclgrind_fill.so"
    local key log last=
    while read -r step program backend path; do
        for key in tiny wide; do
            has_query "$program" "$key" || continue
            log=$logs/${step}_${program}_$key.log
            # shellcheck disable=SC2046
            if oclgrind_log "$log" "$path" $(query "$program" "$key") &&
                ! [ -s "$log.oclgrind" ]
            then pass
            else bad "oclgrind $step $program $backend, $key" "$log"
            fi
        done
        [ "$program" != semblance ] || last=$step
    done < <(binaries "$BUILD" ocl)

    # The guard at the end of the range, wrong by one, in a copy of the last step.
    [ -n "$last" ] || return 0
    local copy=$san/copy
    rm -rf "$copy"
    mkdir -p "$copy/steps"
    cp -r Makefile config.mk common "$copy"
    cp -r "steps/$last" "$copy/steps"
    sed -i 's/\<\(ia\|n\) < q->np\[0\]/\1 <= q->np[0]/' "$copy/steps/$last/semblance/kernel.cl"
    log=$logs/planted.log
    if (cd "$copy" && STEP='' PROGRAM='' built "$copy/build" \
            "$copy/build/$last/semblance-ocl")
    then
        # shellcheck disable=SC2046
        oclgrind_log "$log" "$copy/build/$last/semblance-ocl" $(query semblance) || :
        if grep -qE 'Invalid (read|write)' "$log"
        then pass
        else bad "oclgrind: planted fault is not found" "$log"
        fi
    else
        failed=$((failed + 1)) # built has said why
    fi
}

# ---- the SU reader ----------------------------------------------------------------------

fuzzer() {
    [ "$FUZZ_SECONDS" -gt 0 ] && [ -f tests/fuzz/su_fuzz.c ] || return 0
    local flags="-fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all"
    if ! command -v clang-14 >/dev/null; then
        missing clang-14 clang-14
        return
    fi
    # shellcheck disable=SC2086
    if ! clang-14 -std=c11 -g -O1 $flags -Icommon/run -Icommon/su tests/fuzz/su_fuzz.c \
            common/su/su.c common/run/run.c -lm -o "$san/su_fuzz" 2>"$logs/fuzz.log"
    then
        bad "su_fuzz: does not build" "$logs/fuzz.log"
        return
    fi
    # What is found goes to the first folder; the tracked corpus is only read.
    mkdir -p "$san/corpus"
    if (cd "$san" && timeout $((FUZZ_SECONDS + 60)) ./su_fuzz -max_len=4096 \
            -max_total_time="$FUZZ_SECONDS" -artifact_prefix="$san/" -print_final_stats=1 \
            corpus "$OLDPWD/tests/fuzz/corpus/su" >"$logs/fuzz.log" 2>&1)
    then
        pass
        sed -n 's/^stat::number_of_executed_units: */files tried by the fuzzer: /p' \
            "$logs/fuzz.log"
    else bad "su_fuzz" "$logs/fuzz.log"
    fi
}

for tool in $wanted; do
    logs=$san/log/$tool
    rm -rf "$logs"
    mkdir -p "$logs"
    built "$BUILD" data && "$tool"
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
