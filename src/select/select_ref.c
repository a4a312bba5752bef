/* SPDX-License-Identifier: Apache-2.0 */
/* select as the simplest loop over all elements. */
#include <string.h>

#include "select/select.h"

static bool in_range(const wi_select_range *range, size_t bytes, uint64_t bits) {
    const uint64_t ones = UINT64_MAX >> (64 - 8 * bytes);
    const bool negative = bits >> (8 * bytes - 1);
    const uint64_t key = bits ^ (negative ? range->fold : 0);
    return (((key - range->low) & ones) <= range->span) != range->negate;
}

static void put_position(const wi_select_args *args, uint64_t k, uint64_t position) {
    if (args->position_bytes == 4)
        ((uint32_t *)args->positions)[k] = (uint32_t)position;
    else
        ((uint64_t *)args->positions)[k] = position;
}

static void put_wanted(const wi_select_args *args, uint64_t k, size_t i, const char *x) {
    const size_t width = args->unit * args->units;
    if (args->kept)
        memmove((char *)args->kept + k * width, x + i * width, width);
    if (args->positions)
        put_position(args, k, i);
}

/* Moves the wanted elements and, if `rest` is given, the others; returns how many are wanted. */
static uint64_t keep(const wi_select_args *args, char *rest) {
    const size_t width = args->unit * args->units;
    uint64_t kept = 0, before = 0;
    for (size_t i = 0; i < args->n; i++) {
        const uint64_t bits = wi_element_bits(args->tested, args->tested_bytes, i);
        const bool wanted = args->unique ? i == 0 || bits != before
                                         : in_range(&args->range, args->tested_bytes, bits);
        before = bits;
        if (wanted && args->job == WI_SELECT_KEEP)
            put_wanted(args, kept, i, args->x);
        else if (!wanted && rest)
            memcpy(rest + (i - kept) * width, (const char *)args->x + i * width, width);
        kept += wanted;
    }
    return kept;
}

static void expand(const wi_select_args *args) {
    const size_t width = args->unit * args->units;
    const void *const fill = args->fill ? args->fill : args->fill_bytes;
    size_t k = 0;
    for (size_t i = 0; i < args->n; i++) {
        const uint64_t bits = wi_element_bits(args->tested, args->tested_bytes, i);
        const bool wanted = in_range(&args->range, args->tested_bytes, bits);
        char *const to = (char *)args->kept + i * width;
        if (wanted && k < args->packed)
            memcpy(to, (const char *)args->x + k * width, width);
        else if (args->has_fill)
            memcpy(to, fill, width);
        k += wanted;
    }
}

void wi_select_take_distances(const wi_select_args *args, uint64_t count) {
    for (uint64_t k = 0; k < count; k++) {
        const uint64_t here = wi_element_bits(args->positions, args->position_bytes, k);
        const uint64_t next =
            k + 1 < count ? wi_element_bits(args->positions, args->position_bytes, k + 1) : args->n;
        put_position(args, k, next - here);
    }
}

weft_status wi_select_serial(weft_context *ctx, const void *arguments) {
    const wi_select_args *args = arguments;
    (void)ctx;
    if (args->job == WI_SELECT_EXPAND) {
        expand(args);
        return WEFT_OK;
    }
    char *rest = args->rest;
    if (args->rest_follows) {
        wi_select_args count = *args;
        count.job = WI_SELECT_JUST_COUNT;
        rest = (char *)args->kept + keep(&count, NULL) * args->unit * args->units;
    }
    const uint64_t kept = keep(args, rest);
    if (args->lengths)
        wi_select_take_distances(args, kept);
    memcpy(args->count, &kept, sizeof kept);
    return WEFT_OK;
}
