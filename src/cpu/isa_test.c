/* SPDX-License-Identifier: Apache-2.0 */
/* Every instruction set that this processor has gives the same bits; and the 16-bit floats convert
 * as types.c converts them. */
#include <stdlib.h>
#include <string.h>

#include "cpu/half.h"
#include "cpu/isa.h"
#include "exact/exact_simd.h"
#include "histogram/histogram_simd.h"
#include "map/map_simd.h"
#include "reduce/reduce_simd.h"
#include "scan/scan_simd.h"
#include "select/select_simd.h"
#include "sort/sort_simd.h"
#include "testing.h"

enum {
    LARGEST = WI_REDUCE_BLOCK,
    OFFSET = 1 /* elements off alignment */
};

static const size_t sizes[] = {1, 2, 15, 16, 17, 31, 33, 63, 64, 65, 255, 1000, 4097, LARGEST};
static const test_pattern patterns[] = {TEST_SMALL, TEST_ANY, TEST_NEAR_ONE, TEST_SPECIAL};

/* Inputs for a type, and two outputs to compare. */
typedef struct arrays {
    _Alignas(64) unsigned char x[(LARGEST + 64) * 8];
    _Alignas(64) unsigned char y[(LARGEST + 64) * 8];
    _Alignas(64) unsigned char base[(LARGEST + 64) * 8];
    _Alignas(64) unsigned char other[(LARGEST + 64) * 8];
} arrays;

typedef void (*body)(arrays *a, wi_isa isa, weft_type type, size_t n);

static void each_case(body run) {
    arrays *a = malloc(sizeof *a);
    assert_non_null(a);
    for (wi_isa isa = WI_ISA_BASE; isa <= wi_cpu_isa(); isa++) {
        for (int type = 0; type < WEFT_TYPE_COUNT; type++) {
            for (size_t p = 0; p < sizeof patterns / sizeof *patterns; p++) {
                test_random random = test_random_at((uint64_t)type * 16 + p);
                test_fill(&random, patterns[p], (weft_type)type, LARGEST + OFFSET, a->x);
                test_fill(&random, patterns[p], (weft_type)type, LARGEST + OFFSET, a->y);
                for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
                    run(a, isa, (weft_type)type, sizes[k]);
            }
        }
    }
    free(a);
}

static void compare_map(arrays *a, wi_isa isa, weft_type type, size_t n) {
    const wi_map_simd *base = WI_OF_ISA(WI_ISA_BASE, wi_map_simd);
    const wi_map_simd *other = WI_OF_ISA(isa, wi_map_simd);
    const size_t size = weft_type_size(type);
    wi_map_run run = {.n = n, .x = a->x + OFFSET * size, .y = a->y + OFFSET * size, .first = 4000};
    memcpy(run.a.bytes, a->x, size);
    memcpy(run.b.bytes, a->y, size);
    for (int op = 0; op < WI_MAP_OPS; op++) {
        memset(a->base, 0xA5, sizeof a->base);
        memset(a->other, 0xA5, sizeof a->other);
        run.z = a->base + OFFSET * size;
        base->loops[op][type](&run);
        run.z = a->other + OFFSET * size;
        other->loops[op][type](&run);
        assert_memory_equal(a->base, a->other, (n + 64) * size);
        memset(a->other, 0xA5, sizeof a->other);
        other->stream(other->loops[op][type], &run, size);
        assert_memory_equal(a->base, a->other, (n + 64) * size);
    }
}

static void compare_reduce(arrays *a, wi_isa isa, weft_type type, size_t n) {
    const wi_reduce_simd *base = WI_OF_ISA(WI_ISA_BASE, wi_reduce_simd);
    const wi_reduce_simd *other = WI_OF_ISA(isa, wi_reduce_simd);
    const size_t size = weft_type_size(type);
    const wi_reduce_run run = {.n = n, .x = a->x + OFFSET * size, .y = a->y + OFFSET * size};
    for (int op = 0; op <= WI_RED_DOT; op++) {
        wi_partial from_base = {0}, from_other = {0};
        base->blocks[op][type](&run, &from_base);
        other->blocks[op][type](&run, &from_other);
        assert_memory_equal(&from_base, &from_other, sizeof from_base);
    }
}

/* The sum of a block that folds have taken, which lanes of another number divide otherwise. */
static void add_folds(const wi_exact_run *run, const wi_exact_block *block, int64_t *word) {
    for (int f = 0; f < run->folds; f++) {
        const int unit = run->top + WI_EXACT_FIRST - f * WI_EXACT_FOLD_BITS - 52;
        const uint64_t bits = (uint64_t)block->sum[f];
        wi_exact_add_integer(word, block->sum[f] < 0, block->sum[f] < 0 ? 0 - bits : bits, unit);
    }
    wi_exact_carry(word);
}

static void compare_folds(const wi_exact_run *run, wi_isa isa) {
    wi_exact_block base, other;
    int64_t of_base[WI_EXACT_WORDS] = {0}, of_other[WI_EXACT_WORDS] = {0};
    WI_OF_ISA(WI_ISA_BASE, wi_exact_simd)->fold(run, &base);
    WI_OF_ISA(isa, wi_exact_simd)->fold(run, &other);
    assert_true(base.largest == other.largest && base.left == other.left &&
                base.lost == other.lost);
    if (base.left || base.lost || base.largest >= (double)(1 << run->top))
        return;
    add_folds(run, &base, of_base);
    add_folds(run, &other, of_other);
    assert_memory_equal(of_base, of_other, sizeof of_base);
}

static void compare_exact(arrays *a, wi_isa isa, weft_type type, size_t n) {
    const size_t size = weft_type_size(type), whole = n / WI_EXACT_STEP * WI_EXACT_STEP;
    wi_exact_run run = {.x = a->x + OFFSET * size, .n = whole, .folds = WI_EXACT_FOLDS, .top = 6};
    if ((type != WEFT_F32 && type != WEFT_F64) || whole > WI_EXACT_BLOCK)
        return;
    run.shape = type == WEFT_F64 ? WI_EXACT_DOUBLES : WI_EXACT_FLOATS;
    compare_folds(&run, isa);
    run.magnitudes = true;
    compare_folds(&run, isa);
    run.magnitudes = false;
    run.shape = type == WEFT_F64 ? WI_EXACT_PRODUCTS : WI_EXACT_FLOAT_PRODUCTS;
    run.y = a->y + OFFSET * size;
    run.n = whole / 2 / WI_EXACT_STEP * WI_EXACT_STEP;
    compare_folds(&run, isa);
}

/* What a block of floats passes on. */
static void compare_scan_totals(const wi_scan_run *run, wi_isa isa, weft_type type) {
    const wi_scan_simd *base = WI_OF_ISA(WI_ISA_BASE, wi_scan_simd);
    const wi_scan_simd *other = WI_OF_ISA(isa, wi_scan_simd);
    double of_base = base->carry_over[type](run), of_other = other->carry_over[type](run);
    assert_true(test_same(WEFT_F64, (test_value){.f = of_base}, (test_value){.f = of_other}));
    const bool had = base->product[type](run, &of_base);
    assert_int_equal(other->product[type](run, &of_other), had);
    if (had)
        assert_memory_equal(&of_base, &of_other, sizeof of_base);
}

static void compare_scan_op(arrays *a, wi_isa isa, weft_type type, wi_scan_run run) {
    const wi_scan_simd *base = WI_OF_ISA(WI_ISA_BASE, wi_scan_simd);
    const wi_scan_simd *other = WI_OF_ISA(isa, wi_scan_simd);
    const size_t size = weft_type_size(type);
    const bool ordering = run.op == WEFT_MIN;
    memset(a->base, 0xA5, sizeof a->base);
    run.y = a->base + OFFSET * size;
    (ordering ? base->ordering : base->arithmetic)[type](&run);
    for (int stream = 0; stream < 2; stream++) {
        memset(a->other, 0xA5, sizeof a->other);
        run.y = a->other + OFFSET * size;
        run.stream = stream;
        (ordering ? other->ordering : other->arithmetic)[type](&run);
        assert_memory_equal(a->base, a->other, (run.n + 64) * size);
    }
    if (run.op == WEFT_OR || run.op == WEFT_XOR) {
        uint64_t from_base = base->bitwise[type](&run), from_other = other->bitwise[type](&run);
        assert_int_equal(from_base, from_other);
    }
}

static void compare_scan(arrays *a, wi_isa isa, weft_type type, size_t n) {
    static const weft_op ops[] = {WEFT_SUM, WEFT_PRODUCT, WEFT_MIN, WEFT_OR, WEFT_XOR};
    const size_t count = test_is_float(type) ? 3 : 5;
    for (size_t k = 0; k < count; k++) {
        wi_scan_run run = {.op = ops[k],
                           .n = n,
                           .x = a->x + OFFSET * weft_type_size(type),
                           .flip = ops[k] == WEFT_MIN ? UINT64_MAX : 0,
                           .exclusive = n % 2 == 0};
        compare_scan_op(a, isa, type, run);
        if (!test_is_float(type) || ops[k] == WEFT_MIN)
            continue;
        compare_scan_totals(&run, isa, type);
        test_random r = test_random_at(n);
        memset(a->base, 0, sizeof a->base);
        test_fill(&r, TEST_NEAR_ONE, type, n, a->base + OFFSET * weft_type_size(type));
        run.x = a->base + OFFSET * weft_type_size(type);
        compare_scan_totals(&run, isa, type);
    }
}

/* Where keys and values are sorted: distributed to buckets, then each bucket with spare arrays. */
typedef struct sort_memory {
    _Alignas(64) unsigned char keys[(LARGEST + 64) * 8], spare_keys[(LARGEST + 64) * 8];
    _Alignas(64) unsigned char values[(LARGEST + 64) * 8], spare_values[(LARGEST + 64) * 8];
    _Alignas(64) unsigned char parcels[WI_SORT_BUCKETS][WI_SORT_PARCEL_BYTES];
    _Alignas(64) unsigned char value_parcels[WI_SORT_BUCKETS][WI_SORT_PARCEL_BYTES];
} sort_memory;

static void sort_buckets(const wi_sort_simd *simd, const wi_sort_deal *deal, const size_t *starts,
                         sort_memory *d) {
    const unsigned kb = deal->key_bytes, vb = deal->value_bytes;
    for (size_t k = 0; k < WI_SORT_BUCKETS; k++) {
        const size_t at = starts[k];
        const wi_sort_range range = {.key_bytes = kb,
                                     .value_bytes = vb,
                                     .end_bit = 8 * kb,
                                     .n = deal->at[k] - at,
                                     .keys = (char *)deal->keys_out + at * kb,
                                     .values = (char *)deal->values_out + at * vb,
                                     .spare_keys = d->spare_keys,
                                     .spare_values = d->spare_values};
        simd->sort(&range);
    }
}

static void sort_all(const wi_sort_simd *simd, wi_sort_deal deal, sort_memory *d) {
    size_t at[WI_SORT_BUCKETS] = {0}, starts[WI_SORT_BUCKETS], sum = 0;
    memset(d, 0xA5, sizeof *d);
    deal.keys_out = d->keys + OFFSET * deal.key_bytes;
    deal.values_out = d->values + OFFSET * deal.value_bytes;
    deal.at = at;
    deal.parcels = d->parcels;
    deal.value_parcels = d->value_parcels;
    simd->count(&deal, at);
    for (size_t k = 0; k < WI_SORT_BUCKETS; k++) {
        starts[k] = sum;
        sum += at[k];
        at[k] = starts[k];
    }
    assert_int_equal(sum, deal.n);
    simd->deal(&deal);
    sort_buckets(simd, &deal, starts, d);
    simd->of_keys(&deal.key, deal.key_bytes, deal.n, deal.keys_out, deal.keys_out);
}

static void compare_sort(arrays *a, wi_isa isa, weft_type type, size_t n) {
    const wi_sort_simd *base = WI_OF_ISA(WI_ISA_BASE, wi_sort_simd);
    const wi_sort_simd *other = WI_OF_ISA(isa, wi_sort_simd);
    const unsigned size = (unsigned)weft_type_size(type);
    sort_memory *const from_base = malloc(sizeof *from_base);
    sort_memory *const from_other = malloc(sizeof *from_base);
    assert_true(from_base && from_other);
    for (unsigned form = 0; form < 12; form++) {
        const wi_sort_deal deal = {
            .key_bytes = size,
            .value_bytes = form % 3 * 4,
            .key = wi_sort_key_of(type, form / 3 % 2),
            .split = {.end_bit = 8 * size, .shift = 8 * size - 8, .last = WI_SORT_BUCKETS - 1},
            .n = n,
            .x = a->x + OFFSET * size,
            .values = form / 6 ? a->y : NULL,
            .stream = form / 6};
        sort_all(base, deal, from_base);
        sort_all(other, deal, from_other);
        assert_memory_equal(from_base->keys, from_other->keys, sizeof from_base->keys);
        assert_memory_equal(from_base->values, from_other->values, sizeof from_base->values);
    }
    free(from_base);
    free(from_other);
}

/* Selection of what comes first: the smallest keys of blocks, and the elements up to the middle
 * key. */
static void compare_picks(arrays *a, wi_isa isa, weft_type type, size_t n) {
    static const size_t blocks[] = {1, 4, 8, 16, 32, 64, 77, 256};
    const wi_sort_simd *const simd[] = {WI_OF_ISA(WI_ISA_BASE, wi_sort_simd),
                                        WI_OF_ISA(isa, wi_sort_simd)};
    unsigned char *const out[] = {a->base, a->other};
    const unsigned size = (unsigned)weft_type_size(type), value_bytes = n % 3 * 4;
    const size_t half = n / 2, bytes = (n + 64) * 8;
    wi_sort_pick pick = {.key_bytes = size,
                         .value_bytes = value_bytes,
                         .key = wi_sort_key_of(type, n % 2),
                         .x = a->x + OFFSET * size};
    for (int which = 0; which < 2; which++) {
        const size_t block = blocks[(n + size) % (sizeof blocks / sizeof *blocks)];
        memset(out[which], 0xA5, bytes);
        simd[which]->least(&pick.key, size, block, n, pick.x, out[which]);
    }
    assert_memory_equal(a->base, a->other, bytes);
    pick.low = (UINT64_MAX >> (64 - 8 * size)) / 2;
    pick.last = pick.low + pick.low / 4;
    pick.n = half; /* keys and values share an array */
    for (int which = 0; which < 2; which++) {
        memset(out[which], 0xA5, bytes);
        simd[which]->tally(&pick);
        pick.quota = pick.inside / 2;
        pick.keys_out = out[which];
        pick.values_out = out[which] + half * size;
        simd[which]->pick(&pick);
    }
    assert_memory_equal(a->base, a->other, bytes);
}

static void test_sort_has_the_same_bits(void **state) {
    (void)state;
    each_case(compare_sort);
    each_case(compare_picks);
}

static void test_map_has_the_same_bits(void **state) {
    (void)state;
    each_case(compare_map);
}

static void test_reduce_has_the_same_bits(void **state) {
    (void)state;
    each_case(compare_reduce);
}

static void test_exact_has_the_same_sums(void **state) {
    (void)state;
    each_case(compare_exact);
}

static void test_scan_has_the_same_bits(void **state) {
    (void)state;
    each_case(compare_scan);
}

/* Keeping in one pass against marking and packing, with lines written meanwhile. */
static void keep_both_ways(arrays *a, wi_isa isa, int log, size_t n, const wi_select_range *range) {
    enum {
        LINES = 64
    };
    const wi_select_simd *base = WI_OF_ISA(WI_ISA_BASE, wi_select_simd);
    const wi_select_simd *other = WI_OF_ISA(isa, wi_select_simd);
    const size_t size = (size_t)1 << log, line_count = n / 64 % LINES;
    const unsigned char *const x = a->x + OFFSET * size;
    uint64_t marks[LARGEST / 64 + 1], again[LARGEST / 64 + 1];
    _Alignas(64) char lines[LINES * 64] = {0};
    memset(a->base, 0xA5, sizeof a->base);
    memset(a->other, 0xA5, sizeof a->other);
    const size_t count = base->mark_range[log](x, n, range, marks);
    base->pack[log](x, n, marks, 0, a->base);
    assert_int_equal(other->mark_range[log](x, n, range, again), count);
    assert_memory_equal(marks, again, (n + 63) / 64 * sizeof *marks);
    other->pack[log](x, n, marks, 0, a->other);
    assert_memory_equal(a->base, a->other, count * size);
    memset(a->other, 0xA5, sizeof a->other);
    const wi_select_tile tile = {.x = x,
                                 .n = n / 64 * 64,
                                 .to = a->other,
                                 .next = (const char *)x,
                                 .quarter = n / 64 * 64 * size / 4,
                                 .lines = (const char *)a->y,
                                 .line_to = lines,
                                 .line_count = n < 64 ? 0 : line_count};
    const size_t kept = other->keep[log](&tile, range);
    assert_int_equal(kept, base->mark_range[log](x, tile.n, range, marks));
    assert_memory_equal(a->base, a->other, kept * size);
    assert_memory_equal(lines, a->y, tile.line_count * 64);
}

static void compare_select(arrays *a, wi_isa isa, weft_type type, size_t n) {
    const size_t size = weft_type_size(type);
    const uint64_t ones = UINT64_MAX >> (64 - 8 * size);
    test_random random = test_random_at(n);
    for (unsigned form = 0; form < 8; form++) {
        const wi_select_range range = {.low = form == 7 ? 0 : test_below(&random, SIZE_MAX) & ones,
                                       .span =
                                           form == 7 ? ones : test_below(&random, SIZE_MAX) & ones,
                                       .fold = form % 2 ? ones >> 1 : 0,
                                       .negate = form / 2 % 2};
        keep_both_ways(a, isa, __builtin_ctzll(size), n, &range);
    }
}

static void test_select_has_the_same_bits(void **state) {
    (void)state;
    each_case(compare_select);
}

/* All pairs of bytes, and what their numbers mean. */
static void test_pairs_of_bytes(void **state) {
    enum {
        PAIRS = 1 << 16
    };
    unsigned char *const x = malloc(2 * PAIRS + OFFSET);
    uint16_t *const numbers = malloc(PAIRS * sizeof *numbers);
    (void)state;
    assert_true(x && numbers);
    for (size_t k = 0; k < PAIRS; k++) {
        x[2 * k + OFFSET] = (unsigned char)k;
        x[2 * k + 1 + OFFSET] = (unsigned char)(k >> 8);
    }
    for (wi_isa isa = WI_ISA_BASE; isa <= wi_cpu_isa(); isa++) {
        WI_OF_ISA(isa, wi_histogram_simd)->pairs(PAIRS, x + OFFSET, numbers);
        for (size_t k = 0; k < PAIRS; k++) {
            const unsigned char a = (unsigned char)k, b = (unsigned char)(k >> 8);
            const unsigned char from = (unsigned char)numbers[k];
            const unsigned char to = (unsigned char)(from + (numbers[k] >> 8));
            assert_true(numbers[k] < WI_BYTE_PAIRS);
            assert_true((a == from && b == to) || (a == to && b == from));
        }
    }
    free(x);
    free(numbers);
}

static void test_halves_widen_as_public(void **state) {
    (void)state;
    for (uint32_t bits = 0; bits < 65536; bits++) {
        const weft_f16 f16 = {(uint16_t)bits};
        const weft_bf16 bf16 = {(uint16_t)bits};
        const float f = weft_f16_to_float(f16), b = weft_bf16_to_float(bf16);
        const float wide_f = wi_f16_widen(f16.bits), wide_b = wi_bf16_widen(bf16.bits);
        assert_true((f != f && wide_f != wide_f) || wi_float_bits(f) == wi_float_bits(wide_f));
        assert_true((b != b && wide_b != wide_b) || wi_float_bits(b) == wi_float_bits(wide_b));
    }
}

/* Every upper half of an f32 with lower halves on, beside and between ties. */
static void test_halves_narrow_as_public(void **state) {
    (void)state;
    static const uint32_t lows[] = {0, 1, 0x0fff, 0x1000, 0x1001, 0x7fff, 0x8000, 0x8001, 0xffff};
    for (uint32_t high = 0; high < 65536; high++) {
        for (size_t k = 0; k < sizeof lows / sizeof *lows; k++) {
            const float value = wi_float_of_bits(high << 16 | lows[k]);
            if (value != value)
                continue;
            assert_int_equal(weft_f16_from_float(value).bits, wi_f16_narrow(value));
            assert_int_equal(weft_bf16_from_float(value).bits, wi_bf16_narrow(value));
            assert_int_equal(wi_f16_narrow(value), wi_f16_narrow_double((double)value));
        }
    }
}

/* A double a little off a tie of f16 is a tie of f16 once rounded to f32. */
static void test_doubles_round_once(void **state) {
    (void)state;
    assert_int_equal(wi_f16_narrow_double(0x1.002p0), 0x3c00);
    assert_int_equal(wi_f16_narrow_double(0x1.0020000001p0), 0x3c01);
    assert_int_equal(wi_f16_narrow_double(0x1.005fffffffp0), 0x3c01);
    assert_int_equal(wi_f16_narrow_double(1e300), 0x7c00);
    assert_int_equal(wi_f16_narrow_double(-1e-300), 0x8000);
    assert_int_equal(wi_bf16_narrow_double(0x1.0100000001p0), 0x3f81);
    assert_int_equal(wi_bf16_narrow_double(0x1.01p0), 0x3f80);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_map_has_the_same_bits),
        cmocka_unit_test(test_reduce_has_the_same_bits),
        cmocka_unit_test(test_exact_has_the_same_sums),
        cmocka_unit_test(test_scan_has_the_same_bits),
        cmocka_unit_test(test_sort_has_the_same_bits),
        cmocka_unit_test(test_select_has_the_same_bits),
        cmocka_unit_test(test_pairs_of_bytes),
        cmocka_unit_test(test_halves_widen_as_public),
        cmocka_unit_test(test_halves_narrow_as_public),
        cmocka_unit_test(test_doubles_round_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
