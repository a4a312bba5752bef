/* SPDX-License-Identifier: Apache-2.0 */
/* `serial`, Hoare's selection on the keys of all elements, and what the other rungs on a cpu share
 * with it. */
#include "quantile/quantile.h"
#include "sort/sort_scalar.h"

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
    uint64_t first = 0, second = 0; /* room for an element of any type */
    if (args->elements) {
        wi_sort_of_key(&form, size, key, (char *)args->out + j * size);
        return;
    }
    wi_sort_of_key(&form, size, key, &first);
    wi_sort_of_key(&form, size, next, &second);
    ((double *)args->out)[j] =
        wi_quantile_between(wi_element_value(args->type, &first),
                            wi_element_value(args->type, &second), args->jobs[j].fraction);
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
        keys[i] = wi_sort_key_at(&form, size, args->x, i);
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
