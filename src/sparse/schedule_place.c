/* SPDX-License-Identifier: Apache-2.0 */
/* The memory for updates and for parts of right-hand sides: where those of a schedule's fronts lie.
 */
#include "sparse/schedule.h"

static int64_t update_of(const wi_front_record *r) {
    return (int64_t)r->ld_update * (r->height - r->columns);
}

/* Where it can begin, at `from` or after it. */
static int64_t place_of(const wi_front_record *r, int64_t from) {
    const int32_t below = r->height - r->columns;
    const int64_t at = wi_front_aligned(from, below);
    return below < WI_FRONT_LONG ? at : at + r->columns % WI_FRONT_LINE;
}

/* The first level after k that has another depth. */
static int64_t next_depth(const wi_schedule *out, int64_t k) {
    int64_t next = k + 1;
    while (next < out->levels && out->level[next].depth == out->level[k].depth)
        next++;
    return next;
}

/* What is being placed. */
typedef struct placing {
    const wi_symbolic *symbolic;
    const wi_schedule_wish *wish;
    wi_schedule *out;
} placing;

/* Does the first GPU use its update not in the next depth, but when it comes to the top? */
static bool is_kept(const placing *p, const wi_front_record *r) {
    return p->wish->gpu == 0 && wi_is_below_top(p->symbolic, p->wish, r->number);
}

/* The memory holds those of two depths that follow each other. */
static void place_updates(const placing *p) {
    wi_schedule *const out = p->out;
    int64_t before = 0, before_part = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (int64_t k = 0, s = 0, next; k < out->levels; k = next) {
            const bool at_end = out->level[k].depth % 2;
            next = next_depth(out, k);
            const int64_t end = next < out->levels ? out->level[next].first : out->fronts;
            int64_t all = 0, all_parts = 0;
            for (s = out->level[k].first; s < end; s++) {
                if (is_kept(p, &out->front[s]))
                    continue;
                all = place_of(&out->front[s], all);
                out->front[s].update = all;
                out->front[s].part = all_parts;
                all += update_of(&out->front[s]);
                all_parts += out->front[s].height - out->front[s].columns;
            }
            all = wi_front_aligned(all, WI_FRONT_LONG);
            for (s = out->level[k].first; s < end && at_end && pass > 0; s++) {
                out->front[s].update += out->updates - all;
                out->front[s].part += out->parts - all_parts;
            }
            if (pass == 0 && before + all > out->updates)
                out->updates = before + all;
            if (pass == 0 && before_part + all_parts > out->parts)
                out->parts = before_part + all_parts;
            before = all;
            before_part = all_parts;
        }
    }
}

/* After all others: those of guests, and own ones that are kept, stay where they are. */
static void place_kept(const placing *p) {
    wi_schedule *const out = p->out;
    for (int64_t k = 0; k < out->fronts + out->guests; k++) {
        wi_front_record *const r = &out->front[k];
        if (k < out->fronts && !is_kept(p, r))
            continue;
        r->update = place_of(r, out->updates);
        r->part = out->parts;
        out->updates = r->update + update_of(r);
        out->parts += r->height - r->columns;
    }
}

/* Hosted fronts have all their columns in the memory for updates, each in its time the same. */
static void place_hosted(wi_schedule *out) {
    const int64_t begin = wi_front_aligned(out->updates, WI_FRONT_LONG);
    int64_t most = begin;
    for (int64_t k = out->fronts + out->guests; k < wi_schedule_records(out); k++) {
        wi_front_record *const r = &out->front[k];
        r->panel = begin;
        r->update = place_of(r, begin + (int64_t)r->ld * r->columns);
        const int64_t end = r->update + update_of(r);
        most = end > most ? end : most;
    }
    out->updates = out->hosted > 0 ? most : out->updates;
}

void wi_schedule_place(const wi_symbolic *symbolic, const wi_schedule_wish *wish,
                       wi_schedule *schedule) {
    const placing p = {symbolic, wish, schedule};
    place_updates(&p);
    place_kept(&p);
    place_hosted(schedule);
}
