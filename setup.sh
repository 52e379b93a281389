#!/bin/sh
# setup.sh - installs the Debian packages that are missing, after saying which.
#
#   ./setup.sh          installs (as root, or through sudo)
#   ./setup.sh --list   only says what is missing
#
# CUDA is not among them: where nvcc is found it is used, and nothing needs it.
set -eu

packages="
gcc make git patch python3 bubblewrap
ocl-icd-opencl-dev opencl-headers pocl-opencl-icd clinfo
oclgrind clang-14 libclang-rt-14-dev libomp-14-dev libclc-14 libclc-14-dev
clang-format-14 pyflakes3
libcmocka-dev python3-segyio python3-numpy python3-matplotlib
openmpi-bin libopenmpi-dev
libpng-dev libfftw3-dev pandoc chromium valgrind
"

missing=
for package in $packages; do
    state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
    [ "$state" = installed ] || missing="$missing $package"
done

if [ -z "$missing" ]; then
    echo "setup: nothing is missing"
    exit 0
fi
echo "setup: missing:$missing"
[ "${1:-}" = --list ] && exit 0

root=
if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || { echo "setup: run as root: apt-get install$missing" >&2; exit 1; }
    root=sudo
fi
export DEBIAN_FRONTEND=noninteractive
$root apt-get update -qq
# shellcheck disable=SC2086 # a list of words
$root apt-get install -y -qq --no-install-recommends $missing >/dev/null
echo "setup: done"
