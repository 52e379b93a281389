/* part.h - one part of a search, the same for host threads and devices. */

/* Returns whether a part of a single sample may have a better point than the incumbent,
 * whose semblance is `threshold`. If prune is 0, all parts are searched. */
FN int is_needed(int w, cell_bound entry, int ic, int prune, float threshold,
                 CONSTANT const trace *traces, GLOBAL const float *samples,
                 CONSTANT const query *q)
{
    if (!prune) return 1;
    if (entry.bound <= 0 || entry.bound < threshold) return 0;
    float upper = bound(w, entry.cell / q->np[B], entry.cell % q->np[B], ic, 1, traces,
                        samples, q);
    return upper > 0 && upper >= threshold;
}

/* Searches part n of one block of a chunk. The best point of sample k goes to part[n
 * samples + k]. */
FN void search_part(int w, int block, int n, CONSTANT const trace *traces,
                    GLOBAL const float *samples, CONSTANT const query *q,
                    const chunk *ch, GLOBAL point *part)
{
    int ic = n % ch->np[C], ab = n / ch->np[C];
    search_block(w, block, ab / ch->np[B], ab % ch->np[B], ic, traces, samples, q, ch,
                 part + (size_t)n * ch->samples);
}
