#!/bin/sh
# setup.sh - installs the packages that are missing, on Debian 12 and later and on Ubuntu
# 22.04 and later.
#
#   ./setup.sh [build]        what `make run` needs
#   ./setup.sh test           what `make test` needs, too
#   ./setup.sh publish        everything: also reports, figures and all measurements
#   ./setup.sh --list [LEVEL] only prints what is missing, and what is lost without it; exits
#                             with 1 if anything is missing
#
# It prints the packages before it installs them, as root or through sudo. If the system does
# not have a package, it says what is lost without it; only what every build needs must be
# there. CUDA is not among the packages: if nvcc is found, it is used, and nothing requires it.
set -eu

# Level, package, and what is lost without it; `required` if nothing can be built without it.
# A|B: the first that the system has. N in a name: the newest version that the system has.
packages_of_levels() {
    cat <<'TABLE'
build   gcc                           required
build   make                          required
build   libc6-dev                     required
build   python3                       required
build   python3-numpy                 required
build   git                           rungs (STEP=05.3) are not built, and many tests fail
build   libpng-dev                    required
build   libfftw3-dev                  required
build   ocl-icd-opencl-dev            the OpenCL back-ends are not built
build   pocl-opencl-icd               OpenCL does not run without a GPU
build   openmpi-bin                   the back-ends with MPI do not run
build   libopenmpi-dev                the back-ends with MPI are not built
build   python3-segyio                SEG-Y with IBM floats is not converted (make su, make segy)
build   python3-matplotlib            make picture and figures are not drawn
test    ccache                        every compilation is done anew
test    bubblewrap                    make grade refuses to run
test    clinfo                        the OpenCL devices are not listed
test    oclgrind                      OpenCL kernels are not checked for invalid accesses
test    clang-14|clang                only gcc's sanitizers are used
test    libclang-rt-14-dev|libclang-rt-dev|libclang-rt-N-dev  clang's sanitizers are not used
test    libomp-14-dev|libomp-dev      OpenMP is not compiled by clang
test    clang-format-14|clang-format  lint does not check the format of C
test    libcmocka-dev                 the unit tests in C are not built
test    python3-pytest                no test runs
test    python3-pytest-xdist          make test fails: it runs tests in parallel
test    python3-clang                 no bugs are drawn by lot (make mutants SEED=)
test    python3-hypothesis            random jobs of whole traces are not drawn
test    mypy                          lint does not check the types of Python
test    gcovr                         make coverage fails
test    pyflakes3                     lint does not check Python
test    mkdocs-material               the report is not written
publish libclc-14|libclc-18|libclc-19|libclc-N                  registers are not counted
publish libclc-14-dev|libclc-18-dev|libclc-19-dev|libclc-N-dev  registers are not counted
publish valgrind                      instructions are not counted without perf
publish llvm-14|llvm                  make instructions has no model of the pipeline
TABLE
}

list= level=
for word; do
    case $word in
    -h | --help) sed -n '2,13s/^# \{0,1\}//p' "$0"; exit 0 ;;
    --list) list=yes ;;
    build | test | publish)
        if [ -n "$level" ]; then
            echo "setup.sh: two levels ($level, $word): expected one" >&2
            exit 2
        fi
        level=$word ;;
    *)
        echo "setup.sh: unknown word ($word): expected build, test, publish or --list" >&2
        exit 2 ;;
    esac
done
level=${level:-build}

# The lines of the table up to the level.
wanted() {
    case $level in
    build) packages_of_levels | grep '^build' ;;
    test) packages_of_levels | grep -v '^publish' ;;
    publish) packages_of_levels ;;
    esac
}

if ! command -v dpkg-query >/dev/null || ! command -v apt-cache >/dev/null; then
    echo "setup.sh: not a Debian or Ubuntu system. Install the equivalents of these packages:"
    wanted | while read -r _ choice _; do printf '%s ' "${choice%%|*}"; done
    echo
    exit 1
fi

installed() {
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null || true)" = installed ]
}

# packaged PACKAGE: does the system have it? A virtual package alone does not count.
packaged() {
    apt-cache show "$1" 2>/dev/null | grep -q '^Filename:'
}

# newest NAME: its N replaced by the largest version that is available, or nothing.
newest() {
    apt-cache search --names-only "^$(echo "$1" | sed 's/N/[0-9]+/')\$" 2>/dev/null |
        cut -d ' ' -f 1 | sort -V | tail -n 1
}

# Reads lines of the table. Writes, for each package that is not installed, "KIND PACKAGE what
# is lost without it". KIND is required, optional or, if no alternative is available, lost.
missing() {
    while read -r _ choice loss; do
        found=
        for package in $(echo "$choice" | tr '|' ' '); do
            case $package in *N*) package=$(newest "$package") ;; esac
            [ -n "$package" ] || continue
            if installed "$package"; then
                found=installed
                break
            fi
            if [ -z "$found" ] && packaged "$package"; then found=$package; fi
        done
        case $found:$loss in
        installed:*) ;;
        *:required) echo "required ${found:-${choice%%|*}} nothing can be built" ;;
        :*) echo "lost ${choice%%|*} $loss" ;;
        *) echo "optional $found $loss" ;;
        esac
    done
}

# The packages of one kind, required or optional, on one line.
kind() {
    echo "$state" | sed -n "s/^$1 \([^ ]*\).*/\1/p" | sort -u | xargs
}

install() {
    # shellcheck disable=SC2086 # a list of words
    $root apt-get install -y -qq --no-install-recommends $1 >/dev/null
}

print_lost() {
    echo "$state" | sed -n 's/^lost \([^ ]*\) /setup.sh: not available: \1: /p'
}

# Before the first apt-get update, no package is known to be available: then all that are not
# installed are missing.
state=$(wanted | missing)
if ! packaged make; then state=$(echo "$state" | sed 's/^lost /optional /'); fi
packages=$(echo "$(kind required) $(kind optional)" | xargs)
if [ -n "$list" ]; then
    echo "$state" | sed -n 's/^[ro][a-z]* \([^ ]*\) /missing: \1: /p'
    print_lost
    if [ -n "$packages" ]; then echo "./setup.sh $level installs what is missing"; fi
    [ -z "$state" ]
    exit
fi
if [ -z "$packages" ]; then print_lost; fi

root=
if [ "$(id -u)" != 0 ]; then root=sudo; fi
if [ -n "$packages" ]; then
    if [ -n "$root" ] && ! command -v sudo >/dev/null; then
        echo "setup.sh: not root, and no sudo: run as root: $0 $level" >&2
        exit 1
    fi
    export DEBIAN_FRONTEND=noninteractive
    $root apt-get update -qq
    state=$(wanted | missing) # now that the lists of packages are known
    required=$(kind required)
    optional=$(kind optional)
    echo "setup.sh: installs $required $optional" | xargs
    print_lost
    if [ -n "$required" ] && ! install "$required"; then
        echo "setup.sh: could not install what every build needs: $required" >&2
        exit 1
    fi
    if [ -n "$optional" ] && ! install "$optional"; then
        for package in $optional; do
            install "$package" && continue
            echo "setup.sh: could not install $package: what needs it is left out"
        done
    fi
    echo "setup.sh: done"
elif [ -z "$state" ]; then
    echo "setup.sh: nothing is missing"
fi
