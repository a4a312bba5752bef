/* SPDX-License-Identifier: Apache-2.0 */
/* Is WI_BINS_LINEAR right at every edge of even bins? For a GPU the host says so, once: a context
 * remembers the bins it was asked about last, and later calls have no edges to look at. */
#include "histogram/histogram.h"

enum {
    REMEMBERED = 8,
    MOST_BINS = 1 << 14 /* of more the GPU looks at the edges: it takes the host a millisecond */
};

typedef struct answers {
    wi_kept kept;
    unsigned count; /* given so far */
    struct {
        wi_bins bins;
        bool straight;
    } latest[REMEMBERED];
} answers;

static void drop(weft_context *ctx, wi_kept *kept) {
    (void)ctx;
    wi_host_free(kept);
}

/* NULL if there is no memory for them. */
static answers *answers_of(weft_context *ctx) {
    for (wi_kept *k = ctx->kept; k; k = k->next)
        if (k->drop == drop)
            return (answers *)k;
    answers *const made = wi_host_alloc(sizeof *made);
    if (!made)
        return NULL;
    *made = (answers){.kept = {.next = ctx->kept, .drop = drop}};
    ctx->kept = &made->kept;
    return made;
}

/* Even bins of these are the same. */
static bool are_same(const wi_bins *a, const wi_bins *b) {
    return a->count == b->count && a->lo == b->lo && a->hi == b->hi &&
           a->form.bits == b->form.bits && a->form.flip == b->form.flip &&
           a->form.is_float == b->form.is_float && a->form.mantissa_bits == b->form.mantissa_bits;
}

static bool look(const wi_bins *bins) {
    for (uint32_t k = 0; k <= bins->count; k++) {
        uint64_t key;
        const bool has_key = wi_threshold(&bins->form, wi_edge(bins, NULL, k), &key);
        if (!wi_linear_is_right(bins, k, has_key, key))
            return false;
    }
    return true;
}

weft_status wi_histogram_look(weft_context *ctx, const wi_bins *bins, bool *straight) {
    *straight = false;
    if (bins->rule != WI_BINS_LINEAR || bins->edges || bins->count > MOST_BINS)
        return WEFT_OK;
    answers *const a = answers_of(ctx);
    if (!a)
        return wi_fail(ctx, WEFT_ENOMEM, "weft_histogram: no memory for %zu bytes; free some",
                       sizeof *a);
    for (unsigned k = 0; k < REMEMBERED && k < a->count; k++)
        if (are_same(&a->latest[k].bins, bins)) {
            *straight = a->latest[k].straight;
            return WEFT_OK;
        }
    const unsigned at = a->count++ % REMEMBERED;
    a->latest[at].bins = *bins;
    *straight = a->latest[at].straight = look(bins);
    return WEFT_OK;
}
