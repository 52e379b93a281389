# embed.awk - converts kernel.cl and the headers that it includes to a C array of lines.
#
#   awk -v path="DIR DIR ..." -f embed.awk steps/NN/PROGRAM/kernel.cl > source.c
#
# A #line directive marks each change of file, so that messages of the OpenCL compiler
# name the original file and line. Each header is included only once.

# The awks disagree on backslashes in a replacement, but not on a backslash before "&".
function quote(text) {
    gsub(/[\\"]/, "\\\\&", text)
    return "    \"" text "\\n\","
}

function find(name, dirs, n, i, file, line) {
    n = split(path, dirs, " ")
    for (i = 1; i <= n; i++) {
        file = dirs[i] "/" name
        if ((getline line < file) >= 0) {
            close(file)
            return file
        }
    }
    print "embed.awk: " name ": not found in " path > "/dev/stderr"
    exit 1
}

function embed(file, line, number, name) {
    if (file in seen) return
    seen[file] = 1
    print quote("#line 1 \"" file "\"")
    while ((getline line < file) > 0) {
        number++
        sub(/\r$/, "", line) # a file with the line ends of Windows
        if (line ~ /^#include "/) {
            name = line
            gsub(/^#include "|".*$/, "", name)
            embed(find(name))
            print quote("#line " (number + 1) " \"" file "\"")
        } else {
            print quote(line)
        }
    }
    close(file)
}

BEGIN {
    print "#include <stddef.h>"
    print "extern const char *const ocl_source[];"
    print "extern const size_t ocl_source_lines;"
    print "const char *const ocl_source[] = {"
    embed(ARGV[1])
    print "};"
    print "const size_t ocl_source_lines = sizeof ocl_source / sizeof *ocl_source;"
}
