/* SPDX-License-Identifier: Apache-2.0 */
/* The serial rung of histogram, and what all CPU rungs use. */
#include <string.h>

#include "histogram/histogram.h"

weft_status wi_bin_table_make(weft_context *ctx, const wi_bins *bins, wi_bin_table *table) {
    *table = (wi_bin_table){.thresholds = NULL, .live = 0, .linear = true};
    if (bins->rule == WI_BINS_SHIFT)
        return WEFT_OK;
    uint64_t *const thresholds = wi_host_alloc(((size_t)bins->count + 1) * sizeof *thresholds);
    if (!thresholds)
        return wi_fail(ctx, WEFT_ENOMEM, "weft_histogram: no memory for the edges of %u bins",
                       bins->count);
    for (uint32_t k = 0; k <= bins->count; k++) {
        uint64_t key;
        const bool has_key = wi_threshold(&bins->form, wi_edge(bins, bins->edges, k), &key);
        if (has_key)
            thresholds[table->live++] = key;
        if (bins->rule == WI_BINS_LINEAR)
            table->linear = table->linear && wi_linear_is_right(bins, k, has_key, key);
    }
    table->thresholds = thresholds;
    return WEFT_OK;
}

static void add(const wi_histogram_args *args, void *counts, size_t at, uint64_t times) {
    if (args->wide)
        ((uint64_t *)counts)[at] += times;
    else
        ((uint32_t *)counts)[at] += (uint32_t)times;
}

void wi_count(const wi_histogram_args *args, uint32_t channel, uint32_t slot, uint64_t times) {
    const uint32_t count = args->bins.count;
    if (slot >= 1 && slot <= count)
        add(args, args->counts, (size_t)channel * count + slot - 1, times);
    else if (args->outside) /* slots 0, count + 1 and count + 2 become 0, 1 and 2 */
        add(args, args->outside, channel * WI_OUTSIDE + (slot ? slot - count : 0), times);
}

void wi_counts_clear(const wi_histogram_args *args) {
    const size_t size = args->wide ? sizeof(uint64_t) : sizeof(uint32_t);
    if (args->accumulate)
        return;
    memset(args->counts, 0, args->bins.count * (size_t)args->channels * size);
    if (args->outside)
        memset(args->outside, 0, WI_OUTSIDE * args->channels * size);
}

/* The loop that everybody writes: one channel of bytes, a bin for each value. */
static bool count_plainly(const wi_histogram_args *args) {
    const unsigned char *const x = args->x;
    uint64_t *const counts = args->counts;
    if (args->type != WEFT_U8 || args->channels > 1 || !args->wide || args->bins.count != 256 ||
        args->bins.rule != WI_BINS_SHIFT || args->bins.first != 0 || args->bins.shift != 0)
        return false;
    for (size_t i = 0; i < args->n; i++)
        counts[x[i]]++;
    return true;
}

weft_status wi_histogram_serial(weft_context *ctx, const void *args) {
    const wi_histogram_args *const call = args;
    const size_t size = weft_type_size(call->type);
    wi_bin_table table;
    const weft_status status = wi_bin_table_make(ctx, &call->bins, &table);
    if (status != WEFT_OK)
        return status;
    wi_counts_clear(call);
    if (!count_plainly(call)) {
        uint32_t channel = call->channel;
        for (size_t i = 0; i < call->n; i++) {
            wi_count(call, channel,
                     wi_slot_of_bits(&call->bins, &table, wi_element_bits(call->x, size, i)), 1);
            channel = channel + 1 < call->channels ? channel + 1 : 0;
        }
    }
    wi_host_free((void *)(uintptr_t)table.thresholds);
    return WEFT_OK;
}
