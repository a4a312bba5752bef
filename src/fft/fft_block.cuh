/* SPDX-License-Identifier: Apache-2.0 */
/* Lines in one block: Stockham's algorithm. Each stage takes R numbers of a line, m = n / R apart,
 * to registers, turns them by twiddles, transforms them, and puts them where the next stage finds
 * its own:
 *
 *     stage with radix R after stages of radices with product `before`: for j < m and k < R
 *         in:  x(j + k m) w(R before)^(k (j mod before))
 *         out: x((j - j mod before) R + j mod before + k before)
 *
 * so that no numbers are sorted. The first stage reads global memory, the last one writes it, and
 * in between a line is in shared memory, which has a gap after each 128 bytes: then threads that
 * are next to each other meet different banks. */
#ifndef WI_FFT_BLOCK_CUH
#define WI_FFT_BLOCK_CUH

#include "cuda/limit.cuh"
#include "fft/fft_cuda.cuh"

enum {
    WI_FFT_MOST_STAGES = 8,
    WI_FFT_TOGETHER = 32 /* lines next to each other in a group */
};

/* Of the L2 cache for intermediate results, beside what is read and written meanwhile. */
WI_LIMIT(size_t, wi_fft_kept_bytes, (size_t)20 << 20)

template <class T>
struct wi_fft_pass {
    const wi_fft_number<T> *x;
    wi_fft_number<T> *y;
    size_t stride_in, stride_out;
    size_t near_in, near_out; /* from a line of a block to the next */
    wi_fft_grid grid;
    const wi_fft_number<T> *twiddles; /* WI_FFT_STAGES_OF */
    wi_fft_powers<T> powers;
    int turning; /* a loop; -1: results are not turned */
    bool swaps_in, swaps_out;
    bool lines_in, lines_out; /* are threads next to each other given lines next to each other? */
    T scale;
};

/* Where number i of a line is, and the distance of lines, which is odd. */
template <class T>
__host__ __device__ constexpr unsigned wi_fft_padded(unsigned i) {
    return i + i / (128 / (2 * (unsigned)sizeof(T)));
}
template <class T>
__host__ __device__ constexpr unsigned wi_fft_pitch(unsigned n) {
    return wi_fft_padded<T>(n) | 1;
}

/* The lines, and per line w^(l before k) for k < R of the last stage. */
template <class T>
constexpr size_t wi_fft_shared_bytes(unsigned lines, unsigned n, unsigned last_radix) {
    return ((size_t)lines * wi_fft_pitch<T>(n) + (size_t)lines * last_radix) *
           sizeof(wi_fft_number<T>);
}

#define WI_FFT_BUTTERFLY(N)                                                                        \
    if constexpr (R == N)                                                                          \
        wi_fft_butterfly_##N(re, im);
template <int R, class T>
__device__ __forceinline__ void wi_fft_butterfly(T *re, T *im) {
    WI_FFT_BUTTERFLY(2)
    WI_FFT_BUTTERFLY(3)
    WI_FFT_BUTTERFLY(4)
    WI_FFT_BUTTERFLY(5)
    WI_FFT_BUTTERFLY(6)
    WI_FFT_BUTTERFLY(7)
    WI_FFT_BUTTERFLY(8)
    WI_FFT_BUTTERFLY(9)
    WI_FFT_BUTTERFLY(10)
    WI_FFT_BUTTERFLY(11)
    WI_FFT_BUTTERFLY(13)
    WI_FFT_BUTTERFLY(16)
    WI_FFT_BUTTERFLY(27)
}
#undef WI_FFT_BUTTERFLY

template <class T>
struct wi_fft_block {
    using number = wi_fft_number<T>;
    const wi_fft_pass<T> &p;
    const wi_fft_place &at;
    number *numbers; /* shared */
    number *turns;   /* shared; per line w^(l before k) of the last stage */
    unsigned n, pitch, line_bits, threads;

    /* Of which loop `turning` counts. */
    __device__ __forceinline__ size_t turn_of(unsigned line) const {
        return p.turning == 0 ? at.first + line : at.turn;
    }
    __device__ void fill_turns(unsigned radix) const {
        const size_t before = n / radix;
        if (p.turning < 0)
            return;
        for (unsigned i = threadIdx.x; i < at.lines * radix; i += threads)
            turns[i] = p.powers.at(turn_of(i / radix) * before * (i % radix));
    }

    template <class Divisor>
    __device__ __forceinline__ void find(unsigned b, bool by_lines, const Divisor &m,
                                         unsigned &line, unsigned &j) const {
        line = by_lines ? b & ((1u << line_bits) - 1) : m.of(b);
        j = by_lines ? b >> line_bits : b - line * m.by;
    }

    template <int R>
    __device__ __forceinline__ void load(unsigned line, unsigned j, unsigned m, T *re,
                                         T *im) const {
        const number *const from = p.x + at.in + line * p.near_in + j * p.stride_in;
        const size_t step = m * p.stride_in;
#pragma unroll
        for (int k = 0; k < R; k++) {
            const number v = wi_fft_swapped(from[k * step], p.swaps_in);
            re[k] = v.re;
            im[k] = v.im;
        }
    }

    template <int R>
    __device__ __forceinline__ void fetch(unsigned line, unsigned j, unsigned m, unsigned before,
                                          unsigned rest, const number *twiddles, T *re,
                                          T *im) const {
        const number *const from = numbers + line * pitch;
#pragma unroll
        for (int k = 0; k < R; k++) {
            number v = from[wi_fft_padded<T>(j + (unsigned)k * m)];
            if (k > 0 && before > 1)
                v = wi_fft_product(v, twiddles[(unsigned)(k - 1) * before + rest]);
            re[k] = v.re;
            im[k] = v.im;
        }
    }

    /* Result k of a set, turned: of a line that is part of a longer one. `start` is w^(l j). */
    template <int R>
    __device__ __forceinline__ number turned(number v, number start, unsigned line, int k) const {
        return wi_fft_product(v, wi_fft_product(start, turns[line * R + (unsigned)k]));
    }

    template <int R>
    __device__ __forceinline__ void keep(unsigned line, unsigned first, unsigned before,
                                         const T *re, const T *im) const {
        number *const to = numbers + line * pitch;
#pragma unroll
        for (int k = 0; k < R; k++)
            to[wi_fft_padded<T>(first + (unsigned)k * before)] = {re[k], im[k]};
    }

    template <int R>
    __device__ __forceinline__ void store(unsigned line, unsigned j, unsigned before, const T *re,
                                          const T *im) const {
        number *const to = p.y + at.out + line * p.near_out + j * p.stride_out;
        const size_t step = before * p.stride_out;
        number start = {1, 0};
        if (p.turning >= 0)
            start = p.powers.at(turn_of(line) * j);
#pragma unroll
        for (int k = 0; k < R; k++) {
            number v = {re[k] * p.scale, im[k] * p.scale};
            if (p.turning >= 0)
                v = turned<R>(v, start, line, k);
            to[k * step] = wi_fft_swapped(v, p.swaps_out);
        }
    }

    /* A stage; each thread has at most `most` sets of R numbers. */
    template <int R, int most, class Before, class Count>
    __device__ __forceinline__ void stage(const Before &before, const Count &m, bool is_first,
                                          bool is_last, const number *twiddles) const {
        T re[most][R] = {}, im[most][R] = {}; /* or values of a stage before would be kept */
        const unsigned count = m.by << line_bits;
        const bool by_lines = is_first ? p.lines_in : is_last && p.lines_out;
#pragma unroll
        for (int i = 0; i < most; i++) {
            unsigned line, j;
            const unsigned b = threadIdx.x + (unsigned)i * threads;
            find(b, by_lines, m, line, j);
            if (b < count && line < at.lines) {
                if (is_first)
                    load<R>(line, j, m.by, re[i], im[i]);
                else
                    fetch<R>(line, j, m.by, before.by, j - before.of(j) * before.by, twiddles,
                             re[i], im[i]);
                wi_fft_butterfly<R>(re[i], im[i]);
            }
        }
        if (!is_first)
            __syncthreads();
#pragma unroll
        for (int i = 0; i < most; i++) {
            unsigned line, j;
            const unsigned b = threadIdx.x + (unsigned)i * threads;
            find(b, by_lines, m, line, j);
            if (b < count && line < at.lines) {
                const unsigned rest = j - before.of(j) * before.by;
                if (is_last)
                    store<R>(line, j, before.by, re[i], im[i]);
                else
                    keep<R>(line, (j - rest) * R + rest, before.by, re[i], im[i]);
            }
        }
        if (!is_last)
            __syncthreads();
    }
};

/* The pass of lines with these radices, so many lines in a block; without `blocks` only its tables
 * are made. */
template <class T>
weft_status wi_fft_pass_of(weft_context *ctx, const wi_fft_lines *l, const unsigned *radix,
                           unsigned stages, unsigned lines, wi_fft_pass<T> *p, unsigned *blocks) {
    wi_fft_table_key key = {};
    const void *twiddles = NULL, *powers = NULL;
    key.kind = WI_FFT_STAGES_OF;
    key.type = l->type;
    key.n = l->n;
    for (unsigned k = 0; k < stages; k++)
        key.radix[k] = (unsigned char)radix[k];
    weft_status status = wi_fft_table(ctx, &key, &twiddles);
    *p = {};
    if (status == WEFT_OK && l->period)
        status = wi_fft_powers_of(ctx, key.type, l->period, &powers, &p->powers.bits);
    if (status != WEFT_OK || !blocks)
        return status;
    p->x = (const wi_fft_number<T> *)l->x;
    p->y = (wi_fft_number<T> *)l->y;
    p->stride_in = l->stride_in;
    p->stride_out = l->stride_out;
    p->twiddles = (const wi_fft_number<T> *)twiddles;
    p->powers.table = (const wi_fft_number<T> *)powers;
    p->turning = l->period ? l->turning : -1;
    p->swaps_in = l->swaps_in;
    p->swaps_out = l->swaps_out;
    p->lines_in = l->loops.used > 0 && l->loops.in[0] < l->stride_in;
    p->lines_out = l->loops.used > 0 && l->loops.out[0] < l->stride_out;
    p->scale = (T)l->scale;
    p->near_in = l->loops.used > 0 ? l->loops.in[0] : 0;
    p->near_out = l->loops.used > 0 ? l->loops.out[0] : 0;
    return wi_fft_grid_of(ctx, &l->loops, lines, &p->grid, blocks);
}

#endif
