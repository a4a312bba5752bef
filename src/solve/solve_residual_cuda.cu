/* SPDX-License-Identifier: Apache-2.0 */
/* Residuals in twice the precision of f64 on a GPU. A row's terms are summed in parts, one slot for
 * each, and the slots in order: the same bits each time. */
#include "solve/solve_cuda.cuh"
#include "solve/solve_exact.h"

constexpr int residual_threads = 128;
#ifdef WEFT_EMU
constexpr size_t residual_chunk = 16; /* so that its small matrices have several */
#else
constexpr size_t residual_chunk = 512; /* columns of a part, where a thread goes along a row */
#endif
constexpr int at_once = 4; /* right-hand sides */
constexpr int ahead = 8;   /* elements of a thread that are on their way while as many are used */

namespace {

/* A sum in twice the precision, and the sum of sizes. */
struct sums {
    double high, low, size;

    /* The errors of the product and of the sum (Knuth) go to `low`. */
    __device__ void subtract(double a, double x) {
        const double product = a * x, error = fma(-a, x, product);
        const double sum = high - product, part = sum - high;
        low += ((high - (sum - part)) - (product + part)) + error;
        size += fabs(product);
        high = sum;
    }
    __device__ void add(const sums &other) {
        const double sum = high + other.high, part = sum - high;
        low += (high - (sum - part)) + (other.high - part) + other.low;
        size += other.size;
        high = sum;
    }
};

/* A product with at most `at_once` right-hand sides. */
struct piece {
    size_t n, columns, count;
    const double *x;
    sums *slot; /* of each row and right-hand side, slot after slot */

    __device__ sums &at(size_t number, size_t i, size_t r) const {
        return slot[(number * count + r) * n + i];
    }
};

} // namespace

/* Subtracts the terms of columns first, first + step ... of row i. No matrix that fits a memory has
 * 2^32 columns. */
template <bool scales, int count, class T>
static __device__ void subtract_terms(const wi_typed_grid<T> &a, const piece &p, size_t i,
                                      unsigned first, unsigned end, unsigned step,
                                      sums (&s)[count]) {
    const size_t on = step * a.g.across;
    const T *from = (const T *)a.g.p + i * a.g.down + first * a.g.across;
    const auto subtract = [&](double element, unsigned column) {
        const double scaled = scales ? a.scaled(element, i, column) : element;
#pragma unroll
        for (int r = 0; r < count; r++)
            if (count <= 2 || (size_t)r < p.count)
                s[r].subtract(scaled, p.x[column + (size_t)r * p.columns]);
    };
    const unsigned all = end > first ? (end - first + step - 1) / step : 0;
    unsigned j = first;
    T next[ahead];
    const auto fetch = [&] {
#pragma unroll
        for (int k = 0; k < ahead; k++)
            next[k] = from[(size_t)k * on];
    };
    if (all >= ahead)
        fetch();
#pragma unroll 1
    for (unsigned left = all / ahead; left > 0; left--, j += ahead * step) {
        T element[ahead];
#pragma unroll
        for (int k = 0; k < ahead; k++)
            element[k] = next[k];
        if (left > 1) /* the last ones are fetched twice, so that no branch delays the others */
            from += ahead * on;
        fetch();
#pragma unroll
        for (int k = 0; k < ahead; k++)
            subtract((double)element[k], j + (unsigned)k * step);
    }
    from = (const T *)a.g.p + i * a.g.down + j * a.g.across;
#pragma unroll 1
    for (; j < end; j += step, from += on)
        subtract((double)*from, j);
}

/* A thread for a part of a row. */
template <bool scales, int count, class T>
static __global__ void __launch_bounds__(residual_threads)
    down(wi_typed_grid<T> a, piece p, size_t first_slot) {
    const size_t i = (size_t)blockIdx.x * residual_threads + threadIdx.x,
                 first = blockIdx.y * residual_chunk;
    if (i >= p.n)
        return;
    const size_t begin = wi_half_begin(a.g.half, i), end = wi_half_end(a.g.half, i, p.columns);
    const size_t last = first + residual_chunk;
    sums s[count] = {};
    subtract_terms<scales, count>(a, p, i, (unsigned)(first > begin ? first : begin),
                                  (unsigned)(end < last ? end : last), 1, s);
#pragma unroll
    for (int r = 0; r < count; r++)
        if ((size_t)r < p.count)
            p.at(first_slot + blockIdx.y, i, (size_t)r) = s[r];
}

/* A warp for a row, which is one part. */
template <bool scales, int count, class T>
static __global__ void __launch_bounds__(residual_threads)
    along(wi_typed_grid<T> a, piece p, size_t first_slot) {
    const size_t i = ((size_t)blockIdx.x * residual_threads + threadIdx.x) / 32;
    if (i >= p.n)
        return;
    sums s[count] = {};
    subtract_terms<scales, count>(a, p, i,
                                  (unsigned)wi_half_begin(a.g.half, i) + (unsigned)wi_lane(),
                                  (unsigned)wi_half_end(a.g.half, i, p.columns), 32, s);
#pragma unroll
    for (int r = 0; r < count; r++) {
        const sums all = wi_warp_reduce(s[r], [](sums x, const sums &y) {
            x.add(y);
            return x;
        });
        if (wi_lane() == 0 && (size_t)r < p.count)
            p.at(first_slot, i, (size_t)r) = all;
    }
}

static __global__ void __launch_bounds__(residual_threads)
    finish(piece p, size_t slots, const double *c, double *residual, double *size) {
    const size_t e = (size_t)blockIdx.x * residual_threads + threadIdx.x;
    if (e >= p.n * p.count)
        return;
    const size_t i = e % p.n, r = e / p.n;
    sums s = {c ? c[e] : 0, 0, 0};
    for (size_t k = 0; k < slots; k++)
        s.add(p.at(k, i, r));
    residual[e] = s.high + s.low;
    size[e] = s.size;
}

static size_t slots_of(const wi_grid *g) {
    return g->down == 1 ? wi_pieces(g->columns, residual_chunk) : 1;
}

template <bool scales, int count>
static weft_status launch_part(weft_context *ctx, const wi_grid *g, piece p, size_t first_slot) {
    return wi_with_grid(g, [=](auto a) {
        using T = typename decltype(a)::type;
        const dim3 tiles((unsigned)wi_pieces(p.n, residual_threads), (unsigned)slots_of(g));
        return g->down == 1 ? WEFT_LAUNCH((down<scales, count, T>), ctx, tiles, residual_threads, 0,
                                          a, p, first_slot)
                            : WEFT_LAUNCH((along<scales, count, T>), ctx,
                                          (unsigned)wi_pieces(p.n, residual_threads / 32),
                                          residual_threads, 0, a, p, first_slot);
    });
}

static weft_status launch_part(weft_context *ctx, const wi_grid *g, piece p, size_t first_slot) {
    const bool scales = g->row_power || g->column_power;
    if (p.count == 1)
        return scales ? launch_part<true, 1>(ctx, g, p, first_slot)
                      : launch_part<false, 1>(ctx, g, p, first_slot);
    if (p.count == 2)
        return scales ? launch_part<true, 2>(ctx, g, p, first_slot)
                      : launch_part<false, 2>(ctx, g, p, first_slot);
    return scales ? launch_part<true, at_once>(ctx, g, p, first_slot)
                  : launch_part<false, at_once>(ctx, g, p, first_slot);
}

static size_t all_slots(const wi_product *p) {
    const wi_grid mirrored = wi_grid_mirrored(&p->g);
    return slots_of(&p->g) + (p->symmetric ? slots_of(&mirrored) : 0);
}

static size_t together(const wi_product *p) {
    return p->count < (size_t)at_once ? p->count : (size_t)at_once;
}

size_t wi_system_room_bytes_cuda(const wi_product *p) {
    return all_slots(p) * together(p) * p->g.rows * sizeof(sums);
}

weft_status wi_system_multiply_cuda(weft_context *ctx, const wi_product *p) {
    const size_t n = p->g.rows, most = together(p);
    const wi_grid mirrored = wi_grid_mirrored(&p->g);
    weft_status status = WEFT_OK;
    for (size_t j = 0; j < p->count && status == WEFT_OK; j += most) {
        const size_t left = p->count - j;
        const piece part = {n, p->g.columns, left < most ? left : most, p->x + j * p->g.columns,
                            (sums *)p->room};
        status = launch_part(ctx, &p->g, part, 0);
        if (status == WEFT_OK && p->symmetric)
            status = launch_part(ctx, &mirrored, part, slots_of(&p->g));
        if (status == WEFT_OK)
            status = WEFT_LAUNCH(finish, ctx, (unsigned)wi_pieces(n * part.count, residual_threads),
                                 residual_threads, 0, part, all_slots(p),
                                 p->c ? p->c + j * n : NULL, p->r + j * n, p->size + j * n);
    }
    return status == WEFT_OK && p->exact ? wi_system_exact_cuda(ctx, p) : status;
}
