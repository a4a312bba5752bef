/* SPDX-License-Identifier: Apache-2.0 */
/* sort over GPUs by ranges: elements go to the GPU of their range before they are sorted. */
#include <stdlib.h>
#include <string.h>

#include "comm/gpus.h"
#include "dist.h"
#include "limits.h"
#include "sort/sort_ranges.h"

/* One sort of whole arrays that the GPUs hold together. */
typedef struct ranges_case {
    weft_type type;
    weft_order order;
    size_t n, value_bytes;
    void *x, *y, *values, *values_out; /* values NULL: positions */
    bool done[WI_MOST_GPUS];
} ranges_case;

static void *spread(const void *from, size_t bytes) {
    void *p;
    const size_t least = 2 * wi_dealt_least(wi_gpus_dealt(dist_ctx));
    dist_ok(dist_ctx, weft_alloc(dist_ctx, &p, bytes > least ? bytes : least));
    if (from)
        dist_ok(dist_ctx, weft_copy(dist_ctx, p, from, bytes));
    return p;
}

static void *at(void *p, wi_share share, size_t width) {
    return p ? (char *)p + share.first * width : NULL;
}

/* The part of one rank, by ranges alone. */
static weft_status sort_part(weft_context *rank, void *user) {
    ranges_case *const c = user;
    const size_t size = test_size_of(c->type);
    const wi_share share = wi_gpus_share(rank, c->x, c->n, size);
    const wi_sort_args a = {.call = "weft_sort",
                            .type = c->type,
                            .descending = c->order == WEFT_DESCENDING,
                            .end_bit = 8 * (unsigned)size,
                            .n = share.n,
                            .x = at(c->x, share, size),
                            .y = at(c->y, share, size),
                            .value_bytes = c->value_bytes,
                            .values = at(c->values, share, c->value_bytes),
                            .values_out = at(c->values_out, share, c->value_bytes)};
    int before;
    weft_status status = wi_gpu_enter(rank, &before);
    if (status != WEFT_OK)
        return status;
    status = wi_sort_by_ranges(rank, &a, c->n, &c->done[rank->comm->rank]);
    wi_gpu_leave(rank, before);
    return status;
}

static void expect(const void *p, const void *wanted, size_t bytes, const char *what) {
    char *const got = malloc(bytes + 1);
    assert_non_null(got);
    dist_ok(dist_ctx, weft_copy(dist_ctx, got, p, bytes));
    if (memcmp(got, wanted, bytes) != 0)
        fail_msg("%s, sorted by ranges, differ from those of one place", what);
    free(got);
}

/* Some keys are in order already, or in the opposite one: then no element has to move to another
 * GPU, or nearly all have. */
static char *draw_keys(test_random *r, weft_type type, size_t n) {
    static const test_pattern patterns[] = {TEST_ANY, TEST_TIES, TEST_EQUAL, TEST_NANS};
    char *const x = dist_whole(r, patterns[dist_draw(r, 4)], type, n);
    const size_t in_order = dist_draw(r, 4);
    if (in_order < 2)
        dist_ok(dist_one,
                weft_sort(dist_one, in_order ? WEFT_DESCENDING : WEFT_ASCENDING, type, n, x, x));
    return x;
}

/* Sorts x, and frees it. Without room the call says that nothing is done, and weft_sort goes
 * another way. */
static void run_case(test_random *r, char *x, size_t n, weft_type type, size_t value_bytes,
                     bool has_room) {
    const size_t size = test_size_of(type);
    const bool in_place = dist_draw(r, 2), positions = value_bytes > 0 && dist_draw(r, 3) == 0;
    char *const y = malloc(n * size + 1);
    char *const values = malloc(n * value_bytes + 1), *const moved = malloc(n * value_bytes + 1);
    assert_true(y && values && moved);
    for (size_t i = 0; i < n; i++)
        memcpy(values + i * value_bytes, &(uint64_t){positions ? i : 3 * i + 1}, value_bytes);
    ranges_case c = {.type = type,
                     .order = (weft_order)dist_draw(r, 2),
                     .n = n,
                     .value_bytes = value_bytes,
                     .x = spread(x, n * size)};
    c.y = positions ? NULL : in_place ? c.x : spread(NULL, n * size);
    c.values = value_bytes > 0 && !positions ? spread(values, n * value_bytes) : NULL;
    if (value_bytes > 0)
        c.values_out = in_place && c.values ? c.values : spread(NULL, n * value_bytes);
    if (value_bytes == 0)
        dist_ok(dist_one, weft_sort(dist_one, c.order, type, n, x, y));
    else
        dist_ok(dist_one,
                weft_sort_pairs(dist_one, c.order, type, n, x, y, value_bytes, values, moved));
    dist_ok(dist_ctx, wi_gpus_run(dist_ctx, NULL, "weft_sort", sort_part, &c));
    for (int k = 0; k < wi_gpus_count(dist_ctx); k++)
        assert_int_equal(c.done[k], has_room);
    if (!has_room)
        dist_ok(dist_ctx, weft_sort(dist_ctx, c.order, type, n, c.x, c.y));
    if (c.y)
        expect(c.y, y, n * size, "keys");
    if (c.y != c.x)
        expect(c.x, x, n * size, "keys of the input");
    if (c.values_out)
        expect(c.values_out, moved, n * value_bytes, "values");
    if (c.values_out != c.values)
        weft_free(dist_ctx, c.values_out);
    if (c.y != c.x)
        weft_free(dist_ctx, c.y);
    weft_free(dist_ctx, c.values), weft_free(dist_ctx, c.x);
    free(x), free(y), free(values), free(moved);
}

/* Sorts integers whose first digits are spread evenly, over half of the digits in some cases: the
 * digits are the ranges. In some cases keys have no other bits than four. */
static void run_even(test_random *r, size_t n, weft_type type, size_t value_bytes) {
    const size_t size = test_size_of(type);
    const uint64_t kept = test_below(r, 3) ? UINT64_MAX : (uint64_t)0xf << (8 * size - 4);
    const unsigned half = (unsigned)test_below(r, 2);
    char *const x = malloc(n * size);
    assert_non_null(x);
    for (size_t i = 0; i < n; i++)
        memcpy(x + i * size, &(uint64_t){(test_bits(r) & kept) >> half}, size);
    run_case(r, x, n, type, value_bytes, true);
}

static const size_t widths[] = {0, 4, 8}; /* of values, in bytes */

/* A sort of each size, with values of the widths in turn from number `first` on. */
static void run_sizes(test_random *r, const size_t *sizes, size_t count, size_t first) {
    static const weft_type types[] = {WEFT_U32, WEFT_I32, WEFT_F32, WEFT_U64, WEFT_I64, WEFT_F64};
    for (size_t k = 0; k < count; k++) {
        const weft_type type = types[dist_draw(r, sizeof types / sizeof *types)];
        run_case(r, draw_keys(r, type, sizes[k]), sizes[k], type, widths[(first + k) % 3], true);
    }
}

#ifdef WEFT_EMU
/* With one bit for a digit a range has two tiles. */
static void run_digits(test_random *r) {
    static const weft_type types[] = {WEFT_U32, WEFT_I32, WEFT_U64, WEFT_I64};
    static const size_t sizes[] = {300, 4000, 28000};
    const unsigned bits = wi_first_digit_bits;
    const uint64_t chunk = wi_piece_chunk;
    const size_t first = test_below(r, 3);
    wi_piece_chunk = 3000;
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        wi_first_digit_bits = sizes[k] > 10000 ? 1 : 2 + (unsigned)test_below(r, 2);
        run_even(r, sizes[k], types[test_below(r, sizes[k] > 10000 ? 2 : 4)],
                 widths[(first + k) % 3]);
    }
    wi_first_digit_bits = bits;
    wi_piece_chunk = chunk;
}

/* Small arrays, with the limits lowered below which elements are not sorted by ranges. */
static void run_all(test_random *r) {
    enum {
        EQUAL = 30000
    };
    static const size_t sizes[] = {1, 31, 700, 8193, 20000};
    const unsigned looks = wi_deal_looks;
    const uint64_t from = wi_sort_ranges_from, digits_from = wi_first_digit_from;
    const double spare = wi_sort_ranges_spare, most = wi_first_digit_most;
    wi_first_digit_from = 0;
    wi_sort_ranges_from = 0;
    wi_first_digit_most = 0; /* ranges have bounds */
    run_sizes(r, sizes, sizeof sizes / sizeof *sizes, dist_draw(r, 3));
    /* of equal keys each range gets no more than foreseen, too */
    wi_deal_looks = 1 + (unsigned)dist_draw(r, 3);
    run_case(r, calloc(EQUAL, 8), EQUAL, WEFT_U64, 0, true);
    wi_first_digit_most = most;
    run_digits(r);
    wi_sort_ranges_spare = -1e9;
    run_case(r, draw_keys(r, WEFT_U32, 9000), 9000, WEFT_U32, 0, false);
    wi_deal_looks = looks;
    wi_sort_ranges_spare = spare;
    wi_sort_ranges_from = from;
    wi_first_digit_from = digits_from;
}
#else
static void run_all(test_random *r) {
    static const size_t large = ((size_t)1 << 27) + 12345, sizes[] = {large, large};
    const size_t first = dist_draw(r, 3);
    run_sizes(r, sizes, sizeof sizes / sizeof *sizes, first);
    run_even(r, 2 * large, WEFT_U32, widths[(first + 2) % 3]);
}
#endif

void dist_test_sort_ranges(void **state) {
    (void)state;
    const char *why;
    test_random r = test_random_at(72);
    if (wi_gpus_count(dist_ctx) == 1 || !wi_dealt_reaches(wi_gpus_dealt(dist_ctx), &why))
        skip();
    run_all(&r);
}
