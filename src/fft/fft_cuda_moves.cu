/* SPDX-License-Identifier: Apache-2.0 */
/* Moves and folds on a GPU: a thread takes a number, or a pair; and what launches need. */
#include "fft/fft_cuda.cuh"

constexpr unsigned move_threads = 256, move_each = 4; /* numbers of a thread */
constexpr size_t most_blocks = 0x7fffffff;

weft_status wi_fft_grid_of(weft_context *ctx, const wi_fft_loops *loops, unsigned lines,
                           wi_fft_grid *grid, unsigned *blocks) {
    size_t count = 1;
    *grid = {};
    grid->lines = lines;
    grid->used = loops->used > 0 ? loops->used : 1;
    grid->count[0] = 1;
    for (int k = 0; k < loops->used; k++) {
        if (loops->count[k] > most_blocks)
            return wi_fail(ctx, WEFT_EUNSUPPORTED,
                           "weft_fft: %zu lines in a row are more than %zu; transform fewer at a "
                           "time",
                           loops->count[k], most_blocks);
        grid->count[k] = (unsigned)loops->count[k];
        grid->in[k] = loops->in[k];
        grid->out[k] = loops->out[k];
        count *= k > 0 ? loops->count[k] : 1;
    }
    grid->across = (grid->count[0] + lines - 1) / lines;
    count *= grid->across;
    if (count > most_blocks)
        return wi_fail(ctx, WEFT_EUNSUPPORTED,
                       "weft_fft: %zu blocks are more than a launch takes; transform a smaller "
                       "batch at a time",
                       count);
    *blocks = (unsigned)count;
    return WEFT_OK;
}

weft_status wi_fft_powers_of(weft_context *ctx, weft_type type, size_t period, const void **table,
                             unsigned *bits) {
    wi_fft_table_key key = {};
    key.kind = WI_FFT_POWERS;
    key.type = type;
    key.n = period;
    key.part = wi_fft_powers_part(period);
    *bits = 0;
    while ((size_t)1 << *bits < key.part)
        ++*bits;
    return wi_fft_table(ctx, &key, table);
}

/* A row per block of the grid; the numbers of a row are cut into pieces of a block's threads, or of
 * move_each times as many. */
namespace {

struct move_params {
    wi_fft_move m;
    wi_fft_grid grid;
    unsigned pieces;
};
struct fold_params {
    wi_fft_fold f;
    wi_fft_grid grid;
    unsigned pieces;
};

} // namespace

/* Where a row begins, and where this thread begins in a piece of so many numbers. */
static __device__ size_t locate_line(const wi_fft_grid &g, unsigned pieces, unsigned piece,
                                     size_t *in, size_t *out) {
    const unsigned row = blockIdx.x / pieces;
    unsigned rest = row;
    *in = *out = 0;
    for (int k = 0; k < g.used; k++) {
        const unsigned others = rest / g.count[k], number = rest - others * g.count[k];
        rest = others;
        *in += number * g.in[k];
        *out += number * g.out[k];
    }
    return (size_t)(blockIdx.x - row * pieces) * piece + threadIdx.x;
}

template <class T>
static __device__ wi_fft_number<T> moved(const wi_fft_move &m, size_t in, size_t k) {
    const bool is_mirror = k >= m.n_in;
    const size_t at = in + (is_mirror ? m.n_out - k : k) * m.stride_in;
    wi_fft_number<T> v = {0, 0};
    if (is_mirror && !m.mirrors)
        return v;
    if (m.real_in)
        v.re = wi_fft_real_at<T>(m.x, m.half_in, at);
    else
        v = wi_fft_number_at<T>(m.x, m.half_in, at);
    if (is_mirror)
        v.im = -v.im;
    v = wi_fft_swapped(v, m.swaps_in);
    if (m.table)
        v = wi_fft_product(v, ((const wi_fft_number<T> *)m.table)[k]);
    return wi_fft_swapped(v, m.swaps_out);
}

template <class T>
static __global__ void move(const __grid_constant__ move_params p) {
    size_t in, out;
    const size_t first = locate_line(p.grid, p.pieces, move_threads * move_each, &in, &out);
    const T scale = (T)p.m.scale;
    wi_fft_number<T> v[move_each];
#pragma unroll
    for (unsigned q = 0; q < move_each; q++) {
        const size_t k = first + q * move_threads;
        v[q] = k < p.m.n_out ? moved<T>(p.m, in, k) : wi_fft_number<T>{0, 0};
    }
#pragma unroll
    for (unsigned q = 0; q < move_each; q++) {
        const size_t k = first + q * move_threads, to = out + k * p.m.stride_out;
        if (k >= p.m.n_out)
            return;
        if (p.m.real_out)
            wi_fft_set_real<T>(p.m.y, p.m.half_out, to, v[q].re * scale);
        else
            wi_fft_set_number<T>(p.m.y, p.m.half_out, to, {v[q].re * scale, v[q].im * scale});
    }
}

/* Elements k and n / 2 - k, as in fft_cpu_loops.inc. */
template <class T>
static __global__ void fold(const __grid_constant__ fold_params p) {
    using number = wi_fft_number<T>;
    const wi_fft_fold &f = p.f;
    const size_t half = f.n / 2;
    size_t in, out;
    const size_t k = locate_line(p.grid, p.pieces, move_threads, &in, &out), back = half - k;
    if (2 * k > half)
        return;
    const T scale = f.is_inverse ? (T)1 : (T)0.5;
    const number w = ((const number *)f.roots)[k];
    number a = wi_fft_number_at<T>(f.x, f.half_in, in + k * f.stride_in);
    number b = wi_fft_number_at<T>(f.x, f.half_in,
                                   in + (k > 0          ? back
                                         : f.is_inverse ? half
                                                        : 0) *
                                            f.stride_in);
    if (k == 0 && f.is_inverse)
        a.im = b.im = 0;
    const number sum = {(a.re + b.re) * scale, (a.im - b.im) * scale};
    const number less = {(a.re - b.re) * scale, (a.im + b.im) * scale};
    const number turn = f.is_inverse ? number{w.im, w.re} : number{w.im, -w.re};
    const number odd = wi_fft_product(less, turn);
    const bool is_real = k == 0 && !f.is_inverse;
    wi_fft_set_number<T>(f.y, f.half_out, out + k * f.stride_out,
                         {sum.re + odd.re, is_real ? (T)0 : sum.im + odd.im});
    if (is_real)
        wi_fft_set_number<T>(f.y, f.half_out, out + half * f.stride_out, {sum.re - odd.re, (T)0});
    else if (back != k && k > 0)
        wi_fft_set_number<T>(f.y, f.half_out, out + back * f.stride_out,
                             {sum.re - odd.re, odd.im - sum.im});
}

/* A grid of rows, each cut into pieces of so many numbers. */
static weft_status rows_of(weft_context *ctx, const wi_fft_loops *loops, size_t n, unsigned piece,
                           wi_fft_grid *grid, unsigned *pieces, unsigned *blocks) {
    const size_t cut = (n + piece - 1) / piece;
    const weft_status status = wi_fft_grid_of(ctx, loops, 1, grid, blocks);
    if (status != WEFT_OK)
        return status;
    if (cut > most_blocks / *blocks)
        return wi_fail(ctx, WEFT_EUNSUPPORTED,
                       "weft_fft: %u rows of %zu numbers are more than a launch takes; transform a "
                       "smaller batch at a time",
                       *blocks, n);
    *pieces = (unsigned)cut;
    *blocks *= *pieces;
    return WEFT_OK;
}

weft_status wi_fft_move_cuda(weft_context *ctx, const wi_fft_move *m) {
    move_params p = {};
    unsigned blocks = 0;
    p.m = *m;
    const weft_status status =
        rows_of(ctx, &m->loops, m->n_out, move_threads * move_each, &p.grid, &p.pieces, &blocks);
    if (status != WEFT_OK)
        return status;
    return m->type == WEFT_F64 ? WEFT_LAUNCH(move<double>, ctx, blocks, move_threads, 0, p)
                               : WEFT_LAUNCH(move<float>, ctx, blocks, move_threads, 0, p);
}

weft_status wi_fft_fold_cuda(weft_context *ctx, const wi_fft_fold *f) {
    fold_params p = {};
    unsigned blocks = 0;
    p.f = *f;
    const weft_status status =
        rows_of(ctx, &f->loops, f->n / 4 + 1, move_threads, &p.grid, &p.pieces, &blocks);
    if (status != WEFT_OK)
        return status;
    return f->type == WEFT_F64 ? WEFT_LAUNCH(fold<double>, ctx, blocks, move_threads, 0, p)
                               : WEFT_LAUNCH(fold<float>, ctx, blocks, move_threads, 0, p);
}
