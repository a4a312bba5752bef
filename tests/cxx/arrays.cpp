/* SPDX-License-Identifier: Apache-2.0 */
/* weft.hpp: map, expr, random, gather; reductions, scans, groups; select and sort. */
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>

#include "check.hpp"
#if __cplusplus >= 202002L
#    include <span>
#endif

using std::vector;

/* ---- element by element ---- */

static void test_map(weft::context &ctx) {
    const vector<std::int16_t> x = {1, 2, 3};
    vector<std::int16_t> z(3);
    std::int16_t array[3] = {10, 20, 30};
    OK(weft::add(ctx, x, array, z));
    CHECK((z == vector<std::int16_t>{11, 22, 33}));
    OK(weft::axpy(ctx, 2, x, z));
    CHECK((z == vector<std::int16_t>{13, 26, 39}));
    OK(weft::fill(ctx, 7, z));
    CHECK(z[2] == 7);
    OK(weft::iota(ctx, 5, 2, array));
    CHECK(array[0] == 5 && array[2] == 9);
    REFUSED(ctx, WEFT_EARG, "weft::add: y has 2", weft::add(ctx, x, vector<std::int16_t>(2), z));
#if __cplusplus >= 202002L
    OK(weft::fill(ctx, 1, std::span(z).subspan(1)));
    CHECK(z[0] == 7 && z[1] == 1);
#endif
    OK(weft::fill(ctx, 3, weft::span(z.data(), 1)));
    CHECK(z[0] == 3 && z[1] != 3);

    float a[8], b[4];
    const weft::matrix<float> wide{a, 2, 2, 4}, dense{b, 2, 2, 2};
    OK(weft::fill_matrix(ctx, 1.0F, weft::matrix<float>{a, 2, 4, 4}));
    OK(weft::iota_matrix(ctx, 1.0F, 1.0F, wide));
    CHECK(a[1] == 2 && a[2] == 1 && a[4] == 3);
    OK(weft::iota_matrix(ctx, 0.0F, 10.0F, dense));
    OK(weft::axpy_matrix(ctx, 2.0F, wide, dense));
    CHECK(b[0] == 2 && b[3] == 38);
    OK(weft::add_matrix(ctx, weft::matrix<const float>{b, 2, 2, 2}, wide, wide));
    CHECK(a[5] == 42 && a[6] == 1);
    REFUSED(ctx, WEFT_EARG, "z has 1 rows; pass one of 2",
            weft::add_matrix(ctx, wide, wide, weft::matrix<float>{b, 1, 2, 2}));
}

static void test_expr(weft::context &ctx) {
    const vector<float> x = {1, -4, 9}, y = {2, 2, 2};
    vector<float> z(3);
    const weft_expr_step program[] = {weft::step(WEFT_X_INPUT, 0), weft::constant(2.0F),
                                      weft::step(WEFT_X_MUL), weft::step(WEFT_X_INPUT, 1),
                                      weft::step(WEFT_X_ADD)};
    const std::array<weft_expr_input, 2> inputs = {weft::input(x), weft::input(y)};
    OK(weft::expr(ctx, program, inputs, z));
    CHECK((z == vector<float>{4, -6, 20}));
    const float sum = OK(weft::expr_reduce<float, float>(ctx, WEFT_SUM, program, 3, inputs));
    REFUSED(ctx, WEFT_EARG, "the result is of f32; make it of u64",
            weft::expr_reduce<float, float>(ctx, WEFT_ARGMIN, program, 3, inputs));
    CHECK(sum == 18);
    const auto least =
        OK(weft::expr_reduce<float, std::uint64_t>(ctx, WEFT_ARGMIN, program, 3, inputs));
    CHECK(least == 1);
    CHECK(weft::constant(-1).value.i == -1 && weft::constant(1U).value.u == 1);
    OK(weft::unary(ctx, WEFT_X_ABS, x, z));
    CHECK(z[1] == 4);
    OK(weft::binary(ctx, WEFT_X_MAX, x, y, z));
    CHECK(z[0] == 2 && z[2] == 9);
    vector<std::uint8_t> mask(3);
    OK(weft::binary(ctx, WEFT_X_LT, x, y, mask));
    CHECK(mask[0] == 1 && mask[2] == 0);
    bool flags[3];
    OK(weft::binary_scalar(ctx, WEFT_X_GE, x, 9, flags));
    CHECK(!flags[0] && flags[2]);
    OK(weft::binary_scalar(ctx, WEFT_X_DIV, x, 2, z));
    CHECK(z[2] == 4.5F);
    REFUSED(ctx, WEFT_EARG, "bytes in an element", weft::binary(ctx, WEFT_X_LT, x, y, z));
    OK(weft::where(ctx, flags, x, y, z));
    CHECK(z[0] == 2 && z[2] == 9);
    vector<std::int8_t> narrow(3);
    OK(weft::convert(ctx, WEFT_X_SATURATE, vector<double>{-300, 2.9, 500}, narrow));
    CHECK(narrow[0] == -128 && narrow[1] == 2 && narrow[2] == 127);
    OK(weft::adjacent_difference(ctx, x, z));
    CHECK(z[0] == 1 && z[1] == -5 && z[2] == 13);
    OK(weft::flag_heads(ctx, vector<int>{4, 4, 5}, mask));
    CHECK(mask[0] == 1 && mask[1] == 0 && mask[2] == 1);
}

static void test_random(weft::context &ctx) {
    vector<std::uint32_t> bits(1000), low(500);
    OK(weft::random_bits(ctx, 7, 0, bits));
    OK(weft::random_bits(ctx, 7, 500, low));
    CHECK(bits[500] == low[0] && bits[999] == low[499]);
    vector<int> dice(1000);
    OK(weft::random_integers(ctx, 1, 6, 7, 0, dice));
    CHECK(OK(weft::min(ctx, dice)) == 1 && OK(weft::max(ctx, dice)) == 6);
    vector<double> u(1000), normal(1000);
    OK(weft::random_uniform(ctx, 7, 0, u));
    CHECK(OK(weft::min(ctx, u)) >= 0 && OK(weft::max(ctx, u)) < 1);
    OK(weft::random_normal(ctx, 7, 0, normal));
    CHECK(std::fabs(OK(weft::mean(ctx, normal))) < 0.2);
    vector<std::int64_t> order(100);
    OK(weft::random_permutation(ctx, 7, order));
    OK(weft::sort(ctx, WEFT_ASCENDING, order, order));
    CHECK(order[0] == 0 && order[99] == 99);
}

static void test_gather(weft::context &ctx) {
    const std::uint32_t index[] = {2, 0, 2};
    const vector<double> x = {10, 11, 12};
    vector<double> y(3);
    OK(weft::gather(ctx, index, x, y));
    CHECK((y == vector<double>{12, 10, 12}));
    REFUSED(ctx, WEFT_EARG, "index", weft::gather(ctx, vector<int>{3}, x, y));
    std::uint64_t bad = 0;
    OK(weft::gather(ctx, vector<int>{0, 3}, x, y, &bad));
    CHECK(bad == 1);
    const vector<std::int8_t> narrow = {1, 2, 3};
    vector<std::int8_t> narrow_out(3);
    const weft_gathered both[] = {weft::gathered(x, y), weft::gathered(narrow, narrow_out)};
    OK(weft::gather_arrays(ctx, index, 3, both));
    CHECK(y[1] == 10 && narrow_out[0] == 3);
    OK(weft::scatter(ctx, x, index, WEFT_REPEATS_LAST, y));
    CHECK(y[2] == 12 && y[0] == 11);
}

void test_elements(weft::context &ctx) {
    test_map(ctx);
    test_expr(ctx);
    test_random(ctx);
    test_gather(ctx);
}

/* ---- many to few ---- */

static void test_reductions(weft::context &ctx) {
    const vector<std::int8_t> x = {3, -4, 5};
    const vector<float> f = {3, -4};
    static_assert(std::is_same_v<decltype(weft::sum(ctx, x)), weft::result<std::int64_t>>);
    static_assert(std::is_same_v<decltype(weft::nrm2(ctx, x)), weft::result<double>>);
    CHECK(OK(weft::reduce_type(ctx, WEFT_SUM, WEFT_I8)) == WEFT_I64);
    CHECK(OK(weft::sum_fast(ctx, x)) == 4 && OK(weft::product(ctx, x)) == -60);
    CHECK(OK(weft::min(ctx, x)) == -4 && OK(weft::max(ctx, x)) == 5);
    CHECK(OK(weft::argmin(ctx, x)) == 1 && OK(weft::argmax(ctx, x)) == 2);
    CHECK(OK(weft::nrm1_fast(ctx, x)) == 12 && OK(weft::nrminf(ctx, x)) == 5);
    CHECK(OK(weft::nrm2_fast(ctx, f)) == 5 && OK(weft::dot_fast(ctx, f, f)) == 25);
    CHECK(OK(weft::sum(ctx, f)) == -1 && OK(weft::nrm1(ctx, f)) == 7);
    CHECK(OK(weft::nrm2(ctx, f)) == 5 && OK(weft::dot(ctx, f, f)) == 25);
    CHECK(OK(weft::exact_dot<double>(ctx, f, f)) == 25);
    CHECK(OK(weft::mean(ctx, f)) == -0.5 && OK(weft::variance(ctx, f, 1)) == 24.5);
    CHECK(OK(weft::median(ctx, x)) == 3);
    const weft_statistics s = OK(weft::summary(ctx, x));
    CHECK(s.count == 3 && s.max == 5 && s.min_at == 1);
    vector<std::int8_t> second(1);
    OK(weft::nth(ctx, x, vector<std::uint64_t>{1}, second));
    CHECK(second[0] == 3);
    vector<double> q(2);
    OK(weft::quantiles(ctx, WEFT_LINEAR, x, vector<double>{0, 0.25}, q));
    CHECK(q[0] == -4 && q[1] == -0.5);
    REFUSED(ctx, WEFT_EUNSUPPORTED, "weft_mean", weft::mean(ctx, x));
}

static void test_exact(weft::context &ctx) {
    auto a = OK(weft::exact::create(ctx)), b = OK(weft::exact::create(ctx));
    OK(a.add(ctx, vector<double>{1e300, 1}));
    OK(a.add_dot(ctx, vector<float>{2}, vector<float>{3}));
    OK(a.add_value(ctx, -1e300));
    OK(b.add_product(ctx, 5, 5));
    OK(a.merge(ctx, b));
    CHECK(OK(a.round(ctx)) == 32 && OK(a.count(ctx)) == 5);
    std::array<unsigned char, WEFT_EXACT_BYTES> bytes;
    OK(a.save(ctx, bytes));
    OK(b.load(ctx, bytes));
    CHECK(OK(b.round<float>(ctx)) == 32);
    REFUSED(ctx, WEFT_EARG, "bytes has 8", b.load(ctx, std::array<char, 8>{}));
}

static void test_groups(weft::context &ctx) {
    const vector<std::uint32_t> offsets = {0, 2, 2, 5};
    const vector<float> x = {1, 2, 3, 4, 5};
    vector<float> y(5), sums(3);
    OK(weft::scan(ctx, WEFT_INCLUSIVE, WEFT_SUM, x, y));
    CHECK(y[4] == 15);
    const float ten = 10;
    OK(weft::scan(ctx, WEFT_EXCLUSIVE, WEFT_SUM, x, y, &ten));
    CHECK(y[0] == 10 && y[4] == 20);
    vector<double> wide(5);
    double total = 0;
    OK(weft::scan_wide(ctx, WEFT_EXCLUSIVE, WEFT_SUM, x, wide, nullptr, &total));
    CHECK(wide[0] == 0 && wide[4] == 10 && total == 15);
    OK(weft::exact_scan(ctx, WEFT_INCLUSIVE, x, y, &ten));
    CHECK(y[0] == 11 && y[4] == 25);
    OK(weft::reduce_segments(ctx, WEFT_SUM, x, offsets, sums));
    CHECK(sums[0] == 3 && sums[1] == 0 && sums[2] == 12);
    OK(weft::scan_segments(ctx, WEFT_INCLUSIVE, WEFT_SUM, x, y, offsets));
    CHECK(y[1] == 3 && y[2] == 3 && y[4] == 12);
    const vector<int> keys = {7, 7, 8, 8, 7};
    vector<int> keys_out(5);
    vector<float> largest(5);
    const weft_column columns[] = {weft::column(WEFT_SUM, x, y),
                                   weft::column(WEFT_MAX, x, largest)};
    CHECK(OK(weft::reduce_by_key(ctx, keys, keys_out, columns)) == 3);
    CHECK(keys_out[1] == 8 && y[1] == 7 && largest[2] == 5);
    OK(weft::reduce_segments_columns(ctx, 5, vector<int>{0, 1, 5}, columns));
    CHECK(y[1] == 14 && largest[0] == 1 && largest[1] == 5);
    const vector<float> near_1 = {1, 0x1p-24F, 0x1p-60F, 0, 0};
    OK(weft::exact_reduce_segments(ctx, WEFT_SUM, near_1, vector<int>{0, 2, 5, 5}, sums));
    CHECK(sums[0] == 1 && sums[1] == 0x1p-60F && sums[2] == 0);
    const weft_exact_column exact[] = {weft::exact_column(WEFT_SUM, near_1, sums)};
    CHECK(OK(weft::exact_reduce_by_key(ctx, vector<int>{3, 3, 3}, keys_out, exact)) == 1);
    CHECK(keys_out[0] == 3 && sums[0] == 1 + 0x1p-23F);
    CHECK(OK(weft::reduce_by_key(ctx, keys, weft::none, columns)) == 3);
    vector<int> few(4);
    REFUSED(ctx, WEFT_EARG, "weft::reduce_by_key: keys_out has 4 elements; pass at least 5",
            weft::reduce_by_key(ctx, keys, few, columns));
    REFUSED(ctx, WEFT_EARG, "keys_out has 4", weft::exact_reduce_by_key(ctx, keys, few, exact));
    OK(weft::scan_by_key(ctx, WEFT_INCLUSIVE, WEFT_SUM, keys, x, y));
    CHECK(y[3] == 7 && y[4] == 5);
    REFUSED(ctx, WEFT_EARG, "offsets has 0",
            weft::reduce_segments(ctx, WEFT_SUM, x, vector<std::int64_t>(), sums));
    vector<int> narrow(3); /* sums of int are of i64 */
    REFUSED(ctx, WEFT_EARG, "y is of i32; make it of i64",
            weft::reduce_segments(ctx, WEFT_SUM, keys, offsets, narrow));
    const weft_column too_narrow[] = {weft::column(WEFT_SUM, keys, narrow)};
    REFUSED(ctx, WEFT_EARG, "y is NULL", weft::reduce_by_key(ctx, keys, weft::none, too_narrow));
    OK(weft::reduce_segments(ctx, WEFT_MAX, keys, offsets, narrow));
    CHECK(narrow[0] == 7 && narrow[2] == 8);

    vector<std::uint64_t> counts(256), outside(3);
    const vector<std::uint8_t> bytes = {1, 1, 255};
    OK(weft::histogram(ctx, 1, bytes, nullptr, WEFT_OVERWRITE, counts));
    CHECK(counts[1] == 2 && counts[255] == 1);
    const weft_bins bins = {2, 1, 3, nullptr};
    OK(weft::histogram(ctx, 1, x, &bins, WEFT_OVERWRITE, counts, outside));
    CHECK(counts[0] == 1 && counts[1] == 1 && outside[1] == 3);
    counts.resize(255);
    REFUSED(ctx, WEFT_EARG, "counts has 255",
            weft::histogram(ctx, 1, bytes, nullptr, WEFT_OVERWRITE, counts));
}

void test_reduce(weft::context &ctx) {
    test_reductions(ctx);
    test_exact(ctx);
    test_groups(ctx);
}

/* ---- select and sort ---- */

static void test_select(weft::context &ctx) {
    const vector<int> x = {5, -1, 7, 7};
    vector<int> y(4), z(4, 9);
    const weft_predicate positive = weft::predicate(WEFT_GT, 0);
    CHECK(OK(weft::select(ctx, positive, x, y)) == 3 && y[1] == 7);
    CHECK(OK(weft::select_count(ctx, weft::predicate(WEFT_BETWEEN, 5, 6), x)) == 1);
    REFUSED(ctx, WEFT_EARG, "p is of type f32; make it of i32",
            weft::select_count(ctx, weft::predicate(WEFT_GT, 0.0F), x));
    CHECK(weft::predicate(WEFT_GT, 2.0).a.f64 == 2 &&
          weft::predicate(WEFT_GT, weft::to_f16(1)).type == WEFT_F16 &&
          weft::predicate(WEFT_GT, weft::to_bf16(1)).type == WEFT_BF16 &&
          weft::predicate(WEFT_EQ, true).a.u8 == 1);
    vector<std::int64_t> where(4);
    CHECK(OK(weft::select_indices(ctx, positive, x, where)) == 3 && where[2] == 3);
    const vector<double> d = {1, 2, 3, 4};
    vector<double> e(4), rest(4);
    CHECK(OK(weft::select_where(ctx, positive, x, d, e)) == 3 && e[1] == 3);
    CHECK(OK(weft::partition(ctx, positive, x, y)) == 3 && y[3] == -1);
    CHECK(OK(weft::partition(ctx, positive, x, y, z)) == 3 && z[0] == -1);
    CHECK(OK(weft::partition_where(ctx, positive, x, d, e, rest)) == 3 && rest[0] == 2);
    const double fill = -5;
    OK(weft::expand(ctx, positive, x, vector<double>{1, 2, 3}, &fill, e));
    CHECK(e[0] == 1 && e[1] == -5 && e[3] == 3);
    CHECK(OK(weft::unique(ctx, x, y)) == 3 && y[2] == 7);
    vector<std::uint32_t> lengths(4);
    CHECK(OK(weft::run_length(ctx, x, y, lengths)) == 3 && lengths[2] == 2);
}

struct record {
    std::int32_t day;
    float value;
};

/* By day alone: {1, 5}, {2, 1}, {2, 0}. */
static void test_sorted_records(weft::context &ctx, vector<record> records) {
    const weft_field fields[] = {{offsetof(record, day), WEFT_I32, WEFT_ASCENDING}};
    vector<record> kept(3), all(6);
    vector<std::uint64_t> lengths(3), bounds(3);
    CHECK(OK(weft::unique_records(ctx, records, kept, fields)) == 2 && kept[1].value == 1);
    CHECK(OK(weft::run_length_records(ctx, records, kept, fields, lengths)) == 2);
    CHECK(lengths[0] == 1 && lengths[1] == 2);
    OK(weft::search_records(ctx, WEFT_LOWER, records, records, fields, bounds));
    CHECK(bounds[0] == 0 && bounds[1] == 1 && bounds[2] == 1);
    OK(weft::merge_records(ctx, records, records, all, fields));
    CHECK(all[1].day == 1 && all[2].day == 2);

    vector<float> values(3);
    const weft_table_column column[] = {weft::table_column(offsetof(record, value), values)};
    OK(weft::take_columns(ctx, records, column));
    CHECK((values == vector<float>{5, 1, 0}));
    values[2] = 9;
    OK(weft::put_columns(ctx, records, column));
    CHECK(records[2].value == 9 && records[2].day == 2);

    CHECK(OK(weft::sum_fast(ctx, weft::column(ctx, records, &record::value))) == 15);
    OK(weft::sort(ctx, WEFT_DESCENDING, weft::column(ctx, records, &record::value), values));
    CHECK((values == vector<float>{9, 5, 1}));
    const weft::strided<std::int32_t> days(ctx, &records[0].day, 3, sizeof(record));
    CHECK(OK(weft::max(ctx, days)) == 2);
    REFUSED(ctx, WEFT_EARG, "3 bytes apart",
            weft::max(ctx, weft::strided<std::int32_t>(ctx, &records[0].day, 3, 3)));
}

static void test_sorts(weft::context &ctx) {
    const vector<float> x = {3, 1, 2};
    vector<float> y(3), v = {30, 10, 20}, w(3);
    OK(weft::sort(ctx, WEFT_DESCENDING, x, y));
    CHECK((y == vector<float>{3, 2, 1}));
    (void)OK(weft::sort_bytes(ctx, WEFT_DESCENDING, x, y));
    OK(weft::sort_pairs(ctx, WEFT_ASCENDING, x, y, v, w));
    CHECK(y[0] == 1 && w[0] == 10 && w[2] == 30);
    (void)OK(weft::sort_pairs_bytes(ctx, WEFT_ASCENDING, x, y, v, w));
    vector<std::uint64_t> order(3);
    OK(weft::sort_indices(ctx, WEFT_ASCENDING, x, order));
    CHECK(order[0] == 1 && order[2] == 0);
    (void)OK(weft::sort_indices_bytes(ctx, WEFT_ASCENDING, x, order));
    const vector<std::uint8_t> keys = {0x12, 0x01, 0x22};
    vector<std::uint8_t> out(3);
    OK(weft::sort_bits(ctx, WEFT_ASCENDING, 0, 4, keys, out, weft::none, weft::none));
    CHECK(out[0] == 0x01 && out[1] == 0x12 && out[2] == 0x22);
    OK(weft::sort_bits(ctx, WEFT_ASCENDING, 0, 8, keys, out, v, w));
    CHECK(w[0] == 10);
    (void)OK(weft::sort_bits_bytes(ctx, WEFT_ASCENDING, 0, 4, keys, out, v, w));
    const vector<std::uint64_t> offsets = {0, 2, 3};
    OK(weft::sort_segments(ctx, WEFT_ASCENDING, x, y, weft::none, weft::none, offsets));
    CHECK((y == vector<float>{1, 3, 2}));
    (void)OK(weft::sort_segments_bytes(ctx, WEFT_ASCENDING, x, y, v, w, offsets));
    vector<record> records = {{2, 1}, {1, 5}, {2, 0}};
    const weft_field fields[] = {{offsetof(record, day), WEFT_I32, WEFT_ASCENDING},
                                 {offsetof(record, value), WEFT_F32, WEFT_DESCENDING}};
    (void)OK(weft::sort_records_bytes(ctx, records, records, fields));
    OK(weft::sort_records(ctx, records, records, fields));
    CHECK(records[0].day == 1 && records[1].value == 1 && records[2].value == 0);
    vector<std::int32_t> indices(3);
    (void)OK(weft::sort_records_indices_bytes(ctx, records, fields, indices));
    OK(weft::sort_records_indices(ctx, records, fields, indices));
    CHECK(indices[0] == 0 && indices[2] == 2);
    test_sorted_records(ctx, records);
}

void test_order(weft::context &ctx) {
    test_select(ctx);
    test_sorts(ctx);
    const vector<int> a = {1, 3}, b = {2, 3, 9};
    vector<int> c(5);
    vector<char16_t> va = {10, 30}, vb = {20, 31, 90}, vc(5);
    OK(weft::merge(ctx, WEFT_ASCENDING, a, b, c, weft::none, weft::none, weft::none));
    CHECK(c[1] == 2 && c[4] == 9);
    OK(weft::merge(ctx, WEFT_ASCENDING, a, b, c, va, vb, vc));
    CHECK(vc[2] == 30 && vc[3] == 31);
    (void)OK(weft::merge_bytes(ctx, WEFT_ASCENDING, a, b, c, va, vb, vc));
    CHECK(OK(weft::is_sorted(ctx, WEFT_ASCENDING, c)) == WEFT_NOWHERE);
    CHECK(OK(weft::is_sorted(ctx, WEFT_DESCENDING, c)) == 1);
    vector<std::uint64_t> at(2);
    OK(weft::search(ctx, WEFT_UPPER, WEFT_ASCENDING, c, vector<int>{3, 0}, at));
    CHECK(at[0] == 4 && at[1] == 0);
    vector<int> top(2);
    OK(weft::top_k(ctx, WEFT_DESCENDING, c, 2, top, at));
    CHECK(top[0] == 9 && at[1] == 2);
    OK(weft::top_k(ctx, WEFT_DESCENDING, c, 1, weft::none, at));
    (void)OK(weft::top_k_bytes(ctx, WEFT_DESCENDING, c, 2, top, weft::none));
    REFUSED(ctx, WEFT_EARG, "positions has 2",
            weft::top_k(ctx, WEFT_ASCENDING, c, 3, weft::none, at));
}
