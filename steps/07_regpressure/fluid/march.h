/* march.h - both colours in one pass: a work-group marches through planes, upwards.
 *
 * A work-item has a column of slots, each of which holds a red cell and a black one
 * beside it. In each plane it relaxes its red cell, and then the black cell one plane
 * below, whose red neighbours are all new by then: those above and below it are in
 * registers, those beside it in local memory, from the other work-items. The outer ring
 * of the group computes red cells that belong to other groups, for its own black cells
 * to see, and so do its first and last planes: they write nothing.
 *
 * Other groups need the old black cells, so the new ones go to another array. Red cells
 * are read by none but their owner and stay in place.
 *
 * Whoever includes this has included body.h and says what DEVICE_FN and BARRIER() are.
 */
/* Planes in local memory: one is written while another is read, and a barrier apart
 * from both is one that some may still be reading. */
#define TILE_PLANES 3

/* One sweep of a column: slot of row j, planes first .. last. mine: it lies inside the
 * group's ring. tile holds TILE_PLANES planes of items work-items, of which this is
 * item, width a row. Returns how far the cell moved that moved most, in bits. */
DEVICE_FN int march(GLOBAL float *red, GLOBAL const float *black, GLOBAL float *next,
                    GLOBAL const float *x0, grid g, int slot, int j, int first,
                    int last, int mine, LOCAL float *tile, int item, int width,
                    int items, int wall, float a, float over_c)
{
    int row = row_of(g), plane = plane_of(g), most = 0;
    GLOBAL const float *black_x0 = x0 + half_of(g);

    /* The column's black cells a plane below, here and a plane above, as they were; its
     * red ones two planes below and one, as they are. */
    int inside = slot >= 0 && slot < row && j >= 1 && j <= g.ny;
    int here = slot + row * j + plane * (first - 1);
    float below = 0, middle = 0, above = 0, red_two = 0, red_one = 0;
    if (inside) middle = black[here];
    if (inside && first > 1) below = black[here - plane];

    for (int k = first - 1; k <= last + 1; k++, here += plane) {
        int level = k <= g.nz;
        if (inside && level) above = black[here + plane];

        int odd = (j + k + 1) % 2, i = 2 * slot + odd; /* of both cells */
        float red_now = 0;
        if (inside && level && k >= 1 && i >= 1 && i <= g.nx) {
            float west = odd ? middle : black[here - 1];
            float east = odd ? black[here + 1] : middle;
            red_now = relaxed(x0[here], west, east, black[here - row],
                              black[here + row], below, above, a, over_c);
            if (mine && k >= first && k <= last) {
                most = larger(most, distance_bits(red_now, red[here]));
                store_in(red, next, g, here, i, j, k, wall, red_now);
            }
        }
        LOCAL float *beside = tile + (k + TILE_PLANES - 1) % TILE_PLANES * items + item;
        tile[k % TILE_PLANES * items + item] = red_now;
        BARRIER();

        if (mine && k > first && i >= 1 && i <= g.nx) {
            int there = here - plane, left = there - 1 + odd;
            float west = i > 1 ? beside[odd - 1] : red[left];
            float east = i < g.nx ? beside[odd] : red[left + 1];
            float south = j > 1 ? beside[-width] : red[there - row];
            float north = j < g.ny ? beside[width] : red[there + row];
            float low = k - 1 > 1 ? red_two : red[there - plane];
            float high = k - 1 < g.nz ? red_now : red[there + plane];
            float now = relaxed(black_x0[there], west, east, south, north, low, high, a,
                                over_c);
            most = larger(most, distance_bits(now, below));
            store_in(next, red, g, there, i, j, k - 1, wall, now);
        }
        below = middle;
        middle = above;
        red_two = red_one;
        red_one = red_now;
    }
    return most;
}
