/* rows.c - implements rows.h. */
#include "rows.h"
#include "run.h"

#include <stdlib.h>
#include <string.h>

row_reader rows_open(const char *key, const char *path, const char *form)
{
    row_reader in = {.key = key, .path = path};
    const char *problem = input_open(path, &in.file);
    if (problem) fail("%s=%s: %s%s", key, path, problem, form);
    name_input(key, path);
    return in;
}

bool rows_next(row_reader *in)
{
    enum { ITEMS = sizeof in->item / sizeof *in->item };
    char reason[REASON_SIZE];
    int status;
    while ((status = input_line(in->file, in->line, sizeof in->line, reason))) {
        snprintf(in->where, sizeof in->where, "%s=%.4000s, line %d", in->key, in->path,
                 ++in->number);
        if (status < 0) fail("%s: %s", in->where, reason);
        in->line[strcspn(in->line, "#")] = '\0';
        in->items = 0;
        for (char *w = strtok(in->line, " \t\r"); w; w = strtok(NULL, " \t\r")) {
            if (in->items < ITEMS) in->item[in->items] = w;
            in->items++;
        }
        if (in->items == 0) continue;
        in->rows++;
        return true;
    }
    fclose(in->file);
    if (in->rows == 0) fail("%s=%s: no rows: expected at least one", in->key, in->path);
    return false;
}

void *rows_grow(const row_reader *in, void *block, int count, size_t size)
{
    void *larger = realloc(block, ((size_t)count + 1) * size);
    if (!larger) fail("%s: not enough memory", in->where);
    return larger;
}
