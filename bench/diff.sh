#!/usr/bin/env bash
# diff.sh - what a step changes: the step before against it, as a unified diff.
#
#   STEP=05 [PROGRAM=semblance] [SPACES=0] bench/diff.sh       (make diff STEP=05)
#
# SPACES=0 leaves out lines that have only been indented anew, as by a loop that goes.
# Files come in the order of their names and without dates, so that the same tree always
# gives the same bytes. Left out: README.md and step.mk, which are about the diff, and
# half-way points, which are patches of their own.
set -eu
export LC_ALL=C
cd "$(dirname "$0")/.."

if [ -z "${STEP:-}" ]; then
    echo "diff: which step? (make diff STEP=05 [PROGRAM=semblance])" >&2
    exit 1
fi

# The step that STEP names, in full or by its number, and the one before it.
before='' step=''
for path in steps/*/step.mk; do
    name=$(basename "$(dirname "$path")")
    case $name in
    "$STEP" | "$STEP"_*) step=$name; break ;;
    esac
    before=$name
done
if [ -z "$step" ]; then
    echo "diff: STEP=$STEP: no such step" >&2
    exit 1
fi
if [ -z "$before" ]; then
    echo "$step is the first step: there is nothing before it to compare with"
    exit 0
fi

if [ -n "${PROGRAM:-}" ] && [ ! -d "steps/$step/$PROGRAM" ]; then
    echo "diff: PROGRAM=$PROGRAM: $step has no such program" >&2
    exit 1
fi

colour=never
[ -t 1 ] && colour=always
spaces=()
[ "${SPACES:-}" != 0 ] || spaces=(-w)

for folder in "steps/$step"/*/; do
    program=$(basename "$folder")
    [ "$program" != halfway ] || continue
    [ -z "${PROGRAM:-}" ] || [ "$PROGRAM" = "$program" ] || continue
    old=steps/$before/$program new=steps/$step/$program
    files=$( (ls "$old" 2>/dev/null; ls "$new") | sort -u)
    for file in $files; do
        from=$old/$file to=$new/$file
        [ -f "$from" ] || from=/dev/null
        [ -f "$to" ] || to=/dev/null
        # 1 means that they differ, 2 that something went wrong.
        diff -u "${spaces[@]}" --color=$colour --label "$from" --label "$to" "$from" "$to" ||
            [ $? -eq 1 ]
    done
done
