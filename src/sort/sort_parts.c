/* SPDX-License-Identifier: Apache-2.0 */
/* Allocates the arrays that a sort on a cpu uses, and says how elements become keys. */
#include "sort/sort_parts.h"

#include <string.h>

enum {
    LINE_BYTES = 64
};

static uint64_t lowest_of(weft_type type) {
    switch (type) {
    case WEFT_F16:
        return (1u << 10) - 1;
    case WEFT_BF16:
        return (1u << 7) - 1;
    case WEFT_F32:
        return (1u << 23) - 1;
    case WEFT_F64:
        return ((uint64_t)1 << 52) - 1;
    default:
        return 0;
    }
}

wi_sort_key wi_sort_key_of(weft_type type, bool descending) {
    const unsigned bits = 8 * (unsigned)weft_type_size(type);
    const uint64_t ones = UINT64_MAX >> (64 - bits);
    const bool floats = wi_type_is_float(type);
    return (wi_sort_key){.sign = floats || wi_type_is_signed(type) ? ones ^ (ones >> 1) : 0,
                         .floats = floats ? ones : 0,
                         .lowest = lowest_of(type),
                         .flip = descending ? ones : 0};
}

static size_t whole_lines(size_t bytes) {
    return (bytes + LINE_BYTES - 1) / LINE_BYTES * LINE_BYTES;
}

/* Chooses the two arrays for one array of the caller, with input `in` and output `out`. Returns how
 * many bytes of temporary memory, from `at` on, they use. */
static size_t place(const void *in, void *out, size_t bytes, bool apart, char *at, void **home,
                    void **spare, bool *own_spare) {
    const size_t lines = whole_lines(bytes);
    const bool away = !out || (apart && in == out);
    *home = away ? (void *)at : out;
    *own_spare = !(out && away);
    *spare = !*own_spare ? out : away ? at + lines : at;
    return out ? lines : 2 * lines;
}

weft_status wi_sort_take_parts(weft_context *ctx, const wi_sort_args *args, bool apart,
                               size_t extra_bytes, wi_sort_parts *parts) {
    const size_t key_bytes = weft_type_size(args->type);
    const size_t all_keys = args->n * key_bytes, all_values = args->n * args->value_bytes;
    const size_t arrays = (args->y ? 1 : 2) * whole_lines(all_keys) + whole_lines(all_values);
    const size_t needed = arrays + extra_bytes;
    *parts = (wi_sort_parts){.key = wi_sort_key_of(args->type, args->descending),
                             .range = {.key_bytes = (unsigned)key_bytes,
                                       .value_bytes = (unsigned)args->value_bytes,
                                       .first_bit = args->first_bit,
                                       .end_bit = args->end_bit,
                                       .n = args->n}};
    if (args->bytes) {
        *args->bytes += needed;
        return WEFT_OK;
    }
    char *const memory = wi_host_alloc_huge(needed);
    if (!memory)
        return wi_fail(ctx, WEFT_ENOMEM,
                       "%s: no host memory for the %zu bytes that sorting %zu elements takes; free "
                       "some",
                       args->call, needed, args->n);
    parts->memory = memory;
    parts->extra = memory + arrays;
    wi_sort_range *const r = &parts->range;
    const size_t taken = place(args->x, args->y, all_keys, apart, memory, &r->keys, &r->spare_keys,
                               &parts->own_spare_keys);
    if (args->value_bytes > 0)
        place(args->values, args->values_out, all_values, apart, memory + taken, &r->values,
              &r->spare_values, &parts->own_spare_values);
    return WEFT_OK;
}

static void *shifted(void *p, size_t n, unsigned bytes) {
    return p ? (char *)p + n * bytes : NULL;
}

wi_sort_range wi_sort_part(const wi_sort_parts *parts, size_t first, size_t end) {
    wi_sort_range r = parts->range;
    r.n = end - first;
    r.keys = shifted(r.keys, first, r.key_bytes);
    r.spare_keys = shifted(r.spare_keys, first, r.key_bytes);
    r.values = shifted(r.values, first, r.value_bytes);
    r.spare_values = shifted(r.spare_values, first, r.value_bytes);
    return r;
}

static void count_up(size_t first, size_t n, unsigned bytes, void *values) {
    for (size_t i = 0; i < n; i++) {
        if (bytes == 4)
            ((uint32_t *)values)[i] = (uint32_t)(first + i);
        else
            ((uint64_t *)values)[i] = first + i;
    }
}

wi_sort_range wi_sort_load(const wi_sort_args *args, const wi_sort_parts *parts, size_t first,
                           size_t end) {
    const wi_sort_simd *simd = WI_OF_ISA(wi_cpu_isa(), wi_sort_simd);
    const wi_sort_range r = wi_sort_part(parts, first, end);
    simd->to_keys(&parts->key, r.key_bytes, r.n, (const char *)args->x + first * r.key_bytes,
                  r.keys);
    if (r.values && !args->values)
        count_up(first, r.n, r.value_bytes, r.values);
    else if (r.values && args->values != parts->range.values)
        memcpy(r.values, (const char *)args->values + first * r.value_bytes, r.n * r.value_bytes);
    return r;
}

/* Are keys the elements themselves? */
static bool is_element(const wi_sort_key *key) {
    return !(key->sign | key->floats | key->lowest | key->flip);
}

void wi_sort_store(const wi_sort_args *args, const wi_sort_parts *parts, const wi_sort_range *part,
                   size_t first) {
    const wi_sort_simd *simd = WI_OF_ISA(wi_cpu_isa(), wi_sort_simd);
    char *const y = args->y ? (char *)args->y + first * part->key_bytes : NULL;
    if (y && !(part->keys == y && is_element(&parts->key)))
        simd->of_keys(&parts->key, part->key_bytes, part->n, part->keys, y);
    if (part->values && parts->range.values != args->values_out)
        memcpy((char *)args->values_out + first * part->value_bytes, part->values,
               part->n * part->value_bytes);
}
