/* su_fuzz.c - a libFuzzer target that passes arbitrary bytes to su_parse() in each byte
 * order.
 *
 * An accepted gather must be as su.h describes it; otherwise the gather must be empty
 * and a reason must be given. Run: su_fuzz CORPUS -max_len=4096. Left out: su_read()
 * and su_write(), which only add the file system.
 */
#include "su.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void must(int condition)
{
    if (!condition) abort();
}

static void check_accepted(const su_gather *g, size_t size)
{
    must(g->ns >= 1 && g->ns <= 65535 && g->dt >= 1 && g->dt <= 65535);
    must(g->ntraces >= 1);
    must(g->ntraces * (SU_HEADER_BYTES + sizeof(float) * (size_t)g->ns) == size);
    for (size_t i = 0; i < g->ntraces; i++) {
        must(g->trace[i].header.ns == g->ns && g->trace[i].header.dt == g->dt);
        must(g->trace[i].data == g->samples + i * (size_t)g->ns);
        for (int j = 0; j < g->ns; j++) must(isfinite(g->trace[i].data[j]));
        must(isfinite(su_scale(g->trace[i].header.scalco)));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static const su_order orders[] = {SU_DETECT, SU_LITTLE, SU_BIG};
    int status[3];
    for (int o = 0; o < 3; o++) {
        su_gather g;
        char reason[SU_REASON_SIZE];
        memset(&g, 0xa5, sizeof g);
        memset(reason, 0, sizeof reason);
        status[o] = su_parse(bytes, size, orders[o], &g, reason);
        if (status[o] == 0) {
            check_accepted(&g, size);
            if (o > 0) must(g.big_endian == (orders[o] == SU_BIG));
        } else {
            must(g.trace == NULL && g.samples == NULL && g.ntraces == 0);
            must(reason[0] != 0 && memchr(reason, 0, sizeof reason) &&
                 !strchr(reason, '\n'));
        }
        su_free(&g);
    }
    /* A detected order is one of those that can be forced. */
    if (status[0] == 0) must(status[1] == 0 || status[2] == 0);
    return 0;
}
