/* SPDX-License-Identifier: Apache-2.0 */
/* `serial`, Hoare's selection on the keys of all elements, and what the other rungs on a cpu share
 * with it. */
#include <string.h>

#include "quantile/quantile.h"
#include "sort/sort.h"

static void swap(uint64_t *a, uint64_t *b) {
    const uint64_t t = *a;
    *a = *b;
    *b = t;
}

/* The middle one of three keys, at places that no arrangement of the input can foresee. */
static uint64_t pivot_of(const uint64_t *keys, size_t first, size_t end, uint64_t *state) {
    uint64_t of[3];
    for (int k = 0; k < 3; k++) {
        *state = *state * 6364136223846793005u + 1442695040888963407u;
        of[k] = keys[first + (size_t)(*state >> 33) % (end - first)];
    }
    const uint64_t less = of[0] < of[1] ? of[0] : of[1], more = of[0] < of[1] ? of[1] : of[0];
    return of[2] < less ? less : of[2] > more ? more : of[2];
}

/* Divides keys [first, end) into less than, equal to and more than the pivot. */
static void divide(uint64_t *keys, size_t first, size_t end, uint64_t pivot, size_t *equal,
                   size_t *more) {
    size_t less = first, at = first;
    while (at < end) {
        if (keys[at] < pivot)
            swap(&keys[at++], &keys[less++]);
        else if (keys[at] > pivot)
            swap(&keys[at], &keys[--end]);
        else
            at++;
    }
    *equal = less;
    *more = end;
}

uint64_t wi_quantile_select(uint64_t *keys, size_t n, size_t k) {
    size_t first = 0, end = n;
    uint64_t state = n;
    while (end - first > 1) {
        size_t equal, more;
        divide(keys, first, end, pivot_of(keys, first, end, &state), &equal, &more);
        if (k < equal)
            end = equal;
        else if (k >= more)
            first = more;
        else
            break;
    }
    return keys[k];
}

void wi_quantile_put(const wi_quantile_args *args, size_t j, uint64_t key, uint64_t next) {
    const wi_sort_key form = wi_sort_key_of(args->type, false);
    const size_t size = weft_type_size(args->type);
    const uint64_t keys[] = {key, next};
    double value[2];
    for (int k = 0; k < 2; k++) {
        /* the inverse of wi_sort_key: numbers modulo 2^b */
        const uint64_t ones = UINT64_MAX >> (64 - 8 * size);
        const uint64_t t = (keys[k] + form.lowest) & ones;
        const bool top = t >> (8 * size - 1);
        const uint64_t bits = t ^ (form.sign | (top ? 0 : form.floats));
        const uint8_t bits_8 = (uint8_t)bits;
        const uint16_t bits_16 = (uint16_t)bits;
        const uint32_t bits_32 = (uint32_t)bits;
        const void *const element = size == 1   ? (const void *)&bits_8
                                    : size == 2 ? (const void *)&bits_16
                                    : size == 4 ? (const void *)&bits_32
                                                : (const void *)&bits;
        if (args->elements) {
            memcpy((char *)args->out + j * size, element, size);
            return;
        }
        value[k] = wi_element_value(args->type, element);
    }
    ((double *)args->out)[j] =
        wi_quantile_between(value[0], value[1], args->jobs[j].fraction);
}

static uint64_t key_of(const wi_sort_key *form, size_t size, uint64_t bits) {
    const uint64_t ones = UINT64_MAX >> (64 - 8 * size);
    const bool negative = bits >> (8 * size - 1);
    return ((bits ^ (form->sign | (negative ? form->floats : 0))) - form->lowest) & ones;
}

weft_status wi_quantile_serial(weft_context *ctx, const void *arguments) {
    const wi_quantile_args *const args = arguments;
    const wi_sort_key form = wi_sort_key_of(args->type, false);
    const size_t n = args->n, size = weft_type_size(args->type);
    uint64_t *const keys = n <= SIZE_MAX / sizeof *keys ? wi_host_alloc(n * sizeof *keys) : NULL;
    if (!keys)
        return wi_fail(ctx, WEFT_ENOMEM,
                       "%s: no memory for the keys of %zu elements; free some, or use variant "
                       "sampled, which needs less",
                       args->call, n);
    for (size_t i = 0; i < n; i++)
        keys[i] = key_of(&form, size, wi_element_bits(args->x, size, i));
    for (size_t j = 0; j < args->count; j++) {
        const size_t rank = args->jobs[j].rank;
        const uint64_t key = wi_quantile_select(keys, n, rank);
        uint64_t next = UINT64_MAX;
        for (size_t i = rank + 1; i < n && args->jobs[j].fraction > 0; i++)
            next = keys[i] < next ? keys[i] : next;
        wi_quantile_put(args, j, key, next);
    }
    wi_host_free(keys);
    return WEFT_OK;
}
