/* SPDX-License-Identifier: Apache-2.0 */
/* sort's climb: random keys in ascending order. */
#include "core/data_climb.h"
#include "cpu/team.h"
#include "sort/sort.h"

#include <stdatomic.h>
#include <stdio.h>

static size_t array_bytes(const wi_case *c) {
    return c->n * weft_type_size(c->type);
}

/* The finalizer of MurmurHash3: as good as random for keys that count up. */
static uint64_t mix(uint64_t z) {
    z = (z ^ (z >> 33)) * 0xFF51AFD7ED558CCDu;
    z = (z ^ (z >> 33)) * 0xC4CEB9FE1A85EC53u;
    return z ^ (z >> 33);
}

/* Integers take all values; floats lie in [-1, 1). */
static void fill_part(void *user, int rank, int size) {
    const wi_case *const c = user;
    const wi_data *const data = c->expected;
    void *const x = data->host_x;
    const uint64_t start = mix(c->seed);
    const size_t end = wi_team_share(c->n, rank + 1, size);
    for (size_t i = wi_team_share(c->n, rank, size); i < end; i++) {
        const uint64_t bits = mix(start + i);
        const double value = (double)(int64_t)bits * 0x1p-63;
        switch (c->type) {
        case WEFT_F16:
            ((weft_f16 *)x)[i] = weft_f16_from_float((float)value);
            break;
        case WEFT_BF16:
            ((weft_bf16 *)x)[i] = weft_bf16_from_float((float)value);
            break;
        case WEFT_F32:
            ((float *)x)[i] = (float)value;
            break;
        case WEFT_F64:
            ((double *)x)[i] = value;
            break;
        case WEFT_I8:
        case WEFT_U8:
            ((uint8_t *)x)[i] = (uint8_t)bits;
            break;
        case WEFT_I16:
        case WEFT_U16:
            ((uint16_t *)x)[i] = (uint16_t)bits;
            break;
        case WEFT_I32:
        case WEFT_U32:
            ((uint32_t *)x)[i] = (uint32_t)bits;
            break;
        case WEFT_I64:
        case WEFT_U64:
            ((uint64_t *)x)[i] = bits;
        }
    }
}

static weft_status make(wi_case *c) {
    weft_status status = wi_data_make(c, WI_DATA_PLACE, false, array_bytes(c));
    if (status != WEFT_OK)
        return status;
    const wi_data *data = c->expected;
    wi_team_run(c->ctx, c->ctx->threads, fill_part, c);
    if (!data->shared)
        status = weft_copy(c->ctx, c->x, data->host_x, array_bytes(c));
    if (status != WEFT_OK)
        wi_data_drop(c);
    return status;
}

static weft_status call(wi_case *c) {
    return weft_sort(c->ctx, WEFT_ASCENDING, c->type, c->n, c->x, c->z);
}

static weft_status serial(wi_case *c) {
    const wi_data *data = c->expected;
    const wi_sort_args args = {.call = "weft_sort",
                               .type = c->type,
                               .end_bit = 8 * (unsigned)weft_type_size(c->type),
                               .n = c->n,
                               .x = data->host_x,
                               .y = data->host_z};
    return wi_sort_serial_quick(c->ctx, &args);
}

static double double_at(weft_type type, const void *p, size_t i) {
    switch (type) {
    case WEFT_F16:
        return weft_f16_to_float(((const weft_f16 *)p)[i]);
    case WEFT_BF16:
        return weft_bf16_to_float(((const weft_bf16 *)p)[i]);
    case WEFT_F32:
        return ((const float *)p)[i];
    default:
        return ((const double *)p)[i];
    }
}

static bool is_above(weft_type type, const void *p, size_t i, size_t k) {
    if (wi_type_is_float(type))
        return !(double_at(type, p, i) <= double_at(type, p, k));
    const size_t size = weft_type_size(type);
    const unsigned unused = 64 - 8 * (unsigned)size;
    const uint64_t a = wi_element_bits(p, size, i) << unused, b = wi_element_bits(p, size, k)
                                                                  << unused;
    return wi_type_is_signed(type) ? (int64_t)a > (int64_t)b : a > b;
}

/* What threads share, and what they find: the first element that is below the one before it, and
 * what two hashes of the elements that came exceed those of the elements that went by. */
typedef struct comparison {
    const wi_case *c;
    const void *in, *out;
    atomic_size_t first;
    _Atomic uint64_t sum, other;
} comparison;

static void compare_part(void *user, int rank, int team) {
    comparison *const all = user;
    const weft_type type = all->c->type;
    const size_t n = all->c->n, size = weft_type_size(type);
    const size_t end = wi_team_share(n, rank + 1, team);
    size_t first = n, known = n;
    uint64_t sum = 0, other = 0;
    for (size_t i = wi_team_share(n, rank, team); i < end; i++) {
        const uint64_t was = wi_element_bits(all->in, size, i);
        const uint64_t is = wi_element_bits(all->out, size, i);
        sum += mix(was + 1) - mix(is + 1);
        other += mix(~was) - mix(~is);
        if (i > 0 && is_above(type, all->out, i - 1, i))
            first = i < first ? i : first;
    }
    atomic_fetch_add(&all->sum, sum);
    atomic_fetch_add(&all->other, other);
    while (first < known && !atomic_compare_exchange_weak(&all->first, &known, first)) {
    }
}

/* Sorted is what is in order and holds the same elements: the sums of two hashes of them agree. */
static bool is_right(const wi_case *c, const void *in, const void *out, size_t *wrong) {
    comparison all = {.c = c, .in = in, .out = out, .first = c->n};
    wi_team_run(c->ctx, c->ctx->threads, compare_part, &all);
    *wrong = all.first;
    return all.first == c->n && all.sum == 0 && all.other == 0;
}

static bool check(wi_case *c, char *why, size_t bytes) {
    const wi_data *data = c->expected;
    size_t wrong;
    if (wi_data_poison(c, array_bytes(c)) != WEFT_OK || call(c) != WEFT_OK ||
        wi_data_fetch(c, array_bytes(c)) != WEFT_OK) {
        snprintf(why, bytes, "%s", weft_message(c->ctx));
        return false;
    }
    if (is_right(c, data->host_x, data->host_z, &wrong))
        return true;
    if (wrong < c->n)
        snprintf(why, bytes, "element %zu of %zu belongs before the one in front of it", wrong,
                 c->n);
    else
        snprintf(why, bytes, "the %zu elements in order are not those that came in", c->n);
    return false;
}

/* Each element read once and written once. */
static double bytes_moved(const wi_case *c) {
    return 2.0 * (double)array_bytes(c);
}

const wi_climb wi_sort_climb = {
    .ladder = &wi_sort_ladder,
    .example = "ascending keys",
    .type = WEFT_U32,
    .roof = WI_ROOF_COPY,
    .make = make,
    .call = call,
    .serial = serial,
    .check = check,
    .bytes = bytes_moved,
    .drop = wi_data_drop,
};
