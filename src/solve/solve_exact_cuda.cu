/* SPDX-License-Identifier: Apache-2.0 */
/* Residuals that are correctly rounded, on a GPU: a thread for each row and right-hand side adds up
 * a cascade of three sums; where that does not tell the result, a second kernel adds up a wide
 * integer. */
#include "exact/exact_cascade.h"
#include "solve/solve_cuda.cuh"
#include "solve/solve_exact.h"

constexpr int exact_threads = 64;

namespace {

/* The matrix, and of a symmetric one the other half. */
template <class T>
struct exact_rows {
    wi_typed_grid<T> a, mirrored;
    bool symmetric;
    size_t n, count; /* rows, and columns of x */
    const double *x, *low, *c;
    double *r;
    wi_deep_cascade *sums; /* in place of r; or NULL */
};

} // namespace

/* Calls take(a, x) for all terms of row i and column j of x. */
template <class T, class Take>
static __device__ void all_terms(const exact_rows<T> &p, size_t i, size_t j, Take take) {
    for (int turn = 0; turn < (p.symmetric ? 2 : 1); turn++) {
        const wi_typed_grid<T> &a = turn == 0 ? p.a : p.mirrored;
        const size_t end = wi_half_end(a.g.half, i, a.g.columns);
        for (size_t k = wi_half_begin(a.g.half, i); k < end; k++) {
            const double element = -a.at(i, k);
#pragma unroll 1
            for (int part = 0; part < (p.low ? 2 : 1); part++)
                take(element, (part == 0 ? p.x : p.low)[k + j * a.g.columns]);
        }
    }
}

/* Where a cascade does not tell the result, r is NaN. */
template <class T>
static __global__ void __launch_bounds__(exact_threads) exact_residuals(exact_rows<T> p) {
    const size_t e = (size_t)blockIdx.x * exact_threads + threadIdx.x, i = e % p.n, j = e / p.n;
    if (e >= p.n * p.count)
        return;
    wi_deep_cascade sums = {{p.c ? p.c[e] : 0, 0, 0}, 0};
    uint64_t bits;
    all_terms(p, i, j, [&](double a, double x) { wi_deep_add_product(&sums, a, x); });
    if (p.sums) {
        p.sums[e] = sums;
        return;
    }
    p.r[e] = wi_deep_round(&sums, WEFT_F64, &bits) ? wi_bit_cast<double>(bits) : (double)NAN;
}

/* Adds up in digits where r is NaN. */
template <class T>
static __global__ void __launch_bounds__(exact_threads) exact_hard_residuals(exact_rows<T> p) {
    const size_t e = (size_t)blockIdx.x * exact_threads + threadIdx.x;
    if (e >= p.n * p.count || p.r[e] == p.r[e])
        return;
    int64_t word[WI_EXACT_WORDS] = {};
    wi_exact_add_f64(word, p.c ? p.c[e] : 0);
    all_terms(p, e % p.n, e / p.n, [&](double a, double x) { wi_exact_add_product(word, a, x); });
    wi_exact_carry(word);
    p.r[e] = wi_bit_cast<double>(wi_exact_round(word, WEFT_F64, false));
}

/* The words of elements that a list names. */
template <class T>
static __global__ void __launch_bounds__(exact_threads)
    exact_words(exact_rows<T> p, size_t count, const uint64_t *which, int64_t *words) {
    const size_t k = (size_t)blockIdx.x * exact_threads + threadIdx.x;
    if (k >= count)
        return;
    int64_t *const word = words + k * WI_EXACT_WORDS;
    for (int w = 0; w < WI_EXACT_WORDS; w++)
        word[w] = 0;
    all_terms(p, which[k] % p.n, which[k] / p.n,
              [&](double a, double x) { wi_exact_add_product(word, a, x); });
}

/* Calls f with the rows of a product. */
template <class F>
static weft_status with_rows(const wi_product *p, F f) {
    const wi_grid mirrored = p->symmetric ? wi_grid_mirrored(&p->g) : p->g;
    return wi_with_grid(&p->g, [&](auto a) {
        using T = typename decltype(a)::type;
        return f(exact_rows<T>{a, wi_typed_grid<T>{mirrored}, p->symmetric, p->g.rows, p->count,
                               p->x, p->low, p->c, p->r, p->sums});
    });
}

weft_status wi_system_exact_cuda(weft_context *ctx, const wi_product *p) {
    return with_rows(p, [&](auto rows) {
        using T = typename decltype(rows.a)::type;
        const unsigned blocks = (unsigned)wi_pieces(rows.n * rows.count, exact_threads);
        const weft_status status =
            WEFT_LAUNCH(exact_residuals<T>, ctx, blocks, exact_threads, 0, rows);
        return status == WEFT_OK && !rows.sums
                   ? WEFT_LAUNCH(exact_hard_residuals<T>, ctx, blocks, exact_threads, 0, rows)
                   : status;
    });
}

weft_status wi_system_wide_cuda(weft_context *ctx, const wi_wide_args *args) {
    return with_rows(args->p, [&](auto rows) {
        using T = typename decltype(rows.a)::type;
        return WEFT_LAUNCH(exact_words<T>, ctx, (unsigned)wi_pieces(args->count, exact_threads),
                           exact_threads, 0, rows, args->count, args->which, args->words);
    });
}
