#!/bin/sh
# setup.sh - installs the packages that are missing, on Debian 12 and later and on Ubuntu
# 22.04 and later.
#
#   ./setup.sh [build]        what `make run` needs
#   ./setup.sh test           what `make test` needs, too
#   ./setup.sh publish        everything: also reports, figures and all measurements
#   ./setup.sh --list [LEVEL] only prints what is missing; exits with 1 if anything is
#
# It prints the packages before it installs them, as root or through sudo. CUDA is not among
# them: if nvcc is found, it is used, and nothing requires it.
set -eu

# A|B: the first of them that the distribution has.
build="gcc make libc6-dev python3 python3-numpy ocl-icd-opencl-dev pocl-opencl-icd
libpng-dev libfftw3-dev openmpi-bin libopenmpi-dev"
test="git patch bubblewrap clinfo oclgrind clang-14|clang libclang-rt-14-dev|libclang-rt-dev
libomp-14-dev|libomp-dev clang-format-14|clang-format libcmocka-dev python3-pytest
python3-pytest-xdist mypy pyflakes3 python3-matplotlib python3-segyio pandoc"
publish="libclc-14|libclc-dev libclc-14-dev|libclc-dev valgrind ccache"
# Used if the distribution has them.
optional="oclgrind python3-segyio bubblewrap libclc-14 libclc-14-dev"
# Ruff is a package of Debian from 13 on. On older systems that have npm, its build for
# Node is installed in this folder.
ruff_folder=${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/optimization-history-ruff
ruff_package=@astral-sh/ruff-wasm-nodejs

list=
if [ "${1:-}" = --list ]; then
    list=yes
    shift
fi
case ${1:-build} in
build) wanted=$build ;;
test) wanted="$build $test" ;;
publish) wanted="$build $test $publish" ;;
-h | --help) sed -n '2,11s/^# \{0,1\}//p' "$0"; exit 0 ;;
*) echo "setup.sh: unknown level ($1): expected build, test or publish" >&2; exit 2 ;;
esac

if ! command -v dpkg-query >/dev/null || ! command -v apt-cache >/dev/null; then
    echo "setup.sh: not a Debian or Ubuntu system. Install the equivalents of these packages:"
    echo "$wanted" | tr '|\n' '/ '
    exit 1
fi

installed() {
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null || true)" = installed ]
}

# available PACKAGE: does the distribution have it?
available() {
    apt-cache show "$1" 2>/dev/null | grep -q '^Filename:'
}

# missing: of each package that is not installed, the first alternative that is available.
missing() {
    for choice in $wanted; do
        found=
        for package in $(echo "$choice" | tr '|' ' '); do
            if installed "$package"; then
                found=installed
                break
            fi
            if [ -z "$found" ] && available "$package"; then found=$package; fi
        done
        name=${choice%%|*}
        case " $(echo $optional) " in *" $name "*) default= ;; *) default=$name ;; esac
        [ "$found" = installed ] || echo "${found:-$default}"
    done | sort -u | xargs
}

install_ruff() {
    [ "${1:-build}" != build ] && ! command -v ruff >/dev/null || return 0
    if available ruff; then
        echo "setup.sh: ruff is a package of this system: apt-get install ruff"
    elif command -v npm >/dev/null && [ ! -d "$ruff_folder/node_modules" ]; then
        mkdir -p "$ruff_folder"
        npm install --silent --no-fund --no-audit --prefix "$ruff_folder" $ruff_package \
            >/dev/null 2>&1 || echo "setup.sh: ruff could not be installed: lint skips it"
    fi
}

packages=$(missing)
if [ -n "$list" ]; then
    [ -z "$packages" ] && exit 0
    echo "missing: $packages"
    echo "./setup.sh ${1:-build} installs them"
    exit 1
fi

root=
if [ -n "$packages" ]; then
    if [ "$(id -u)" != 0 ]; then
        root=sudo
        if ! command -v sudo >/dev/null; then
            echo "setup.sh: not root, and no sudo: run as root: apt-get install $packages" >&2
            exit 1
        fi
    fi
    export DEBIAN_FRONTEND=noninteractive
    $root apt-get update -qq
    packages=$(missing) # now that the lists of packages are known
    echo "setup.sh: installs $packages"
    # shellcheck disable=SC2086 # a list of words
    $root apt-get install -y -qq --no-install-recommends $packages >/dev/null
    echo "setup.sh: done"
else
    echo "setup.sh: nothing is missing"
fi
install_ruff "${1:-build}"
