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
 * in between a line is in shared memory, with gaps so that threads that are next to each other meet
 * different banks. Conjugates on the way in and out make a transform inverse, as swaps do: results
 * that are turned are halfway between the two, and neither scaled nor conjugated. */
#ifndef WI_FFT_BLOCK_CUH
#define WI_FFT_BLOCK_CUH

#include <string.h>

#include "cuda/limit.cuh"
#include "fft/fft_cuda.cuh"

enum {
    WI_FFT_MOST_STAGES = 8,
    WI_FFT_TOGETHER = 32 /* lines next to each other in a group */
};

/* Of the L2 cache for intermediate results, beside what is read and written meanwhile. */
WI_LIMIT(size_t, wi_fft_kept_bytes, (size_t)24 << 20)

template <class T>
struct wi_fft_pass {
    const wi_fft_number<T> *x;
    wi_fft_number<T> *y;
    size_t stride_in, stride_out;
    size_t near_in, near_out; /* from a line of a block to the next */
    wi_fft_grid grid;
    const wi_fft_number<T> *twiddles; /* WI_FFT_STAGES_OF */
    wi_fft_circle circle;             /* of the line that these are part of */
    int turning;                      /* a loop; -1: results are not turned */
    bool lines_in, lines_out; /* are threads next to each other given lines next to each other? */
    bool half_in, half_out;   /* x, y is f16 */
    unsigned ahead;           /* L2 shall have the lines of so many blocks on, 0: of none */
    T sign_in;                /* -1: conjugates are transformed */
    T scale_re, scale_im;     /* of results that are not turned */
};

/* Shared memory leaves out one number after each `gap`, 0: none. */
template <class T>
constexpr unsigned wi_fft_gap = 128 / (2 * (unsigned)sizeof(T));
template <unsigned gap>
__host__ __device__ constexpr unsigned wi_fft_spread(unsigned i) {
    if constexpr (gap == 0)
        return i;
    else
        return i + i / gap;
}
/* Is the place of j + k m the place of j and that of k m, for j < m? */
__host__ __device__ constexpr bool wi_fft_reads_apart(unsigned gap, unsigned m) {
    return gap == 0 || m % gap == 0 || gap % m == 0;
}
/* The same of i + j + k before, for j < before, k < R and i a multiple of R before. */
__host__ __device__ constexpr bool wi_fft_writes_apart(unsigned gap, unsigned before, unsigned R) {
    return gap == 0 || before % gap == 0 ||
           (gap % before == 0 && (before * R % gap == 0 || gap % (before * R) == 0));
}

/* The lines, and per line w^(l before k) for k < R of the last stage. */
template <class T>
constexpr size_t wi_fft_shared_bytes(unsigned lines, unsigned pitch, unsigned last_radix) {
    return (size_t)lines * (pitch + last_radix) * sizeof(wi_fft_number<T>);
}

/* Numbers that only pass through leave the cache first. */
template <class T>
struct wi_fft_wide {
    using Type = float2;
};
template <>
struct wi_fft_wide<double> {
    using Type = float4; /* the same bytes */
};
template <bool passes, class T>
__device__ __forceinline__ wi_fft_number<T> wi_fft_load(const wi_fft_number<T> *p) {
    using Wide = typename wi_fft_wide<T>::Type;
    if constexpr (!passes)
        return *p;
    wi_fft_number<T> v;
    const Wide bits = __ldcs((const Wide *)p);
    memcpy(&v, &bits, sizeof v);
    return v;
}
template <bool passes, class T>
__device__ __forceinline__ void wi_fft_store(wi_fft_number<T> *p, wi_fft_number<T> v) {
    using Wide = typename wi_fft_wide<T>::Type;
    if constexpr (passes) {
        Wide bits;
        memcpy(&bits, &v, sizeof v);
        __stcs((Wide *)p, bits);
    } else {
        *p = v;
    }
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
    WI_FFT_BUTTERFLY(12)
    WI_FFT_BUTTERFLY(13)
    WI_FFT_BUTTERFLY(14)
    WI_FFT_BUTTERFLY(15)
    WI_FFT_BUTTERFLY(16)
    WI_FFT_BUTTERFLY(17)
    WI_FFT_BUTTERFLY(18)
    WI_FFT_BUTTERFLY(19)
    WI_FFT_BUTTERFLY(20)
    WI_FFT_BUTTERFLY(21)
    WI_FFT_BUTTERFLY(22)
    WI_FFT_BUTTERFLY(23)
    WI_FFT_BUTTERFLY(24)
    WI_FFT_BUTTERFLY(25)
    WI_FFT_BUTTERFLY(26)
    WI_FFT_BUTTERFLY(27)
    WI_FFT_BUTTERFLY(28)
    WI_FFT_BUTTERFLY(29)
    WI_FFT_BUTTERFLY(30)
    WI_FFT_BUTTERFLY(31)
    WI_FFT_BUTTERFLY(32)
    WI_FFT_BUTTERFLY(33)
    WI_FFT_BUTTERFLY(35)
    WI_FFT_BUTTERFLY(49)
}
#undef WI_FFT_BUTTERFLY

/* The radices of lines of any length. */
#define WI_FFT_EACH_RADIX(CASE)                                                                    \
    CASE(2)                                                                                        \
    CASE(3)                                                                                        \
    CASE(4)                                                                                        \
    CASE(5)                                                                                        \
    CASE(6)                                                                                        \
    CASE(7)                                                                                        \
    CASE(8)                                                                                        \
    CASE(9)                                                                                        \
    CASE(10)                                                                                       \
    CASE(11)                                                                                       \
    CASE(13)                                                                                       \
    CASE(16)

/* How many lines a block has: a power of 2 that a kernel is told. */
struct wi_fft_some_lines {
    unsigned by, bits;
    __device__ __forceinline__ unsigned of(unsigned x) const {
        return x >> bits;
    }
};

/* What is done meanwhile where there is nothing to do. */
struct wi_fft_nothing {
    __device__ __forceinline__ void operator()() const {}
};

/* Lines of a block in shared memory, with that gap; `Lines` is wi_fft_some_lines or wi_fft_fixed.
 * Numbers read or written in global memory that only pass through need not stay in a cache. With
 * `halves_in` and `halves_out` x and y may be f16: as f32 is what is between, one kernel is for
 * both, which differ in how a number is loaded and stored. With `loads_ahead` a thread loads all
 * its sets of a first stage before it waits for any. */
template <class T, class Lines, unsigned gap = wi_fft_gap<T>, bool passes_in = false,
          bool passes_out = false, bool halves_in = false, bool halves_out = false,
          bool loads_ahead = true>
struct wi_fft_block {
    using number = wi_fft_number<T>;
    const wi_fft_pass<T> &p;
    const wi_fft_place &at;
    number *numbers; /* shared */
    number *turns;   /* shared; w^(l before k) of the last stage: for each k those of all lines */
    unsigned n, pitch, threads;
    Lines lines;

    /* Of which loop `turning` counts. */
    __device__ __forceinline__ size_t turn_of(unsigned line) const {
        return p.turning == 0 ? at.first + line : at.turn;
    }
    __device__ void fill_turns(unsigned radix) const {
        const size_t before = n / radix;
        if (p.turning < 0)
            return;
        for (unsigned i = threadIdx.x; i < radix * lines.by; i += threads) {
            const unsigned k = lines.of(i), line = i - k * lines.by;
            const number w = p.circle.template at<T>(turn_of(line) * before * k);
            turns[i] = w;
        }
    }

    template <class Divisor>
    __device__ __forceinline__ void find(unsigned b, bool by_lines, const Divisor &m,
                                         unsigned &line, unsigned &j) const {
        line = by_lines ? b - lines.of(b) * lines.by : m.of(b);
        j = by_lines ? lines.of(b) : b - line * m.by;
    }

    template <int R>
    __device__ __forceinline__ void load(unsigned line, unsigned j, unsigned m, T *re,
                                         T *im) const {
        const size_t first = at.in + line * p.near_in + j * p.stride_in;
        const number *const from = p.x + first;
        const size_t step = m * p.stride_in;
        number v[R];
        if (halves_in && p.half_in) {
#pragma unroll
            for (int k = 0; k < R; k++)
                v[k] = wi_fft_number_at<T>(p.x, true, first + k * step);
        } else if (p.stride_in == 1) { /* then the compiler knows the distances */
#pragma unroll
            for (int k = 0; k < R; k++)
                v[k] = wi_fft_load<passes_in>(from + (unsigned)k * m);
        } else {
#pragma unroll
            for (int k = 0; k < R; k++)
                v[k] = wi_fft_load<passes_in>(from + k * step);
        }
#pragma unroll
        for (int k = 0; k < R; k++) {
            re[k] = v[k].re;
            im[k] = v[k].im;
        }
    }

    template <int R, class Before, class Count>
    __device__ __forceinline__ void fetch(unsigned line, unsigned j, const Count &m,
                                          const Before &before, const number *twiddles, T *re,
                                          T *im) const {
        constexpr bool is_apart = Count::fixed > 0 && wi_fft_reads_apart(gap, Count::fixed);
        const unsigned rest = j - before.of(j) * before.by;
        const number *const from = numbers + line * pitch + (is_apart ? wi_fft_spread<gap>(j) : 0);
        const number *const factors = twiddles + rest;
#pragma unroll
        for (int k = 0; k < R; k++) {
            const unsigned step = (unsigned)k * m.by;
            number v = from[wi_fft_spread<gap>(is_apart ? step : j + step)];
            if (k > 0 && before.by > 1)
                v = wi_fft_product(v, factors[(unsigned)(k - 1) * before.by]);
            re[k] = v.re;
            im[k] = v.im;
        }
    }

    /* Result k of a set, turned: of a line that is part of a longer one. `start` is w^(l j). */
    template <int R>
    __device__ __forceinline__ number turned(number v, number start, unsigned line, int k) const {
        return wi_fft_product(v, wi_fft_product(start, turns[(unsigned)k * lines.by + line]));
    }

    template <int R, class Before>
    __device__ __forceinline__ void keep(unsigned line, unsigned j, const Before &before,
                                         const T *re, const T *im) const {
        constexpr bool is_apart = Before::fixed > 0 && wi_fft_writes_apart(gap, Before::fixed, R);
        const unsigned rest = j - before.of(j) * before.by, first = (j - rest) * R + rest;
        number *const to = numbers + line * pitch + (is_apart ? wi_fft_spread<gap>(first) : 0);
#pragma unroll
        for (int k = 0; k < R; k++) {
            const unsigned step = (unsigned)k * before.by;
            to[wi_fft_spread<gap>(is_apart ? step : first + step)] = {re[k], im[k]};
        }
    }

    template <int R>
    __device__ __forceinline__ void store(unsigned line, unsigned j, unsigned before, const T *re,
                                          const T *im) const {
        const size_t first = at.out + line * p.near_out + j * p.stride_out;
        number *const to = p.y + first;
        const size_t step = before * p.stride_out;
        if (halves_out && p.half_out) { /* the last pass: nothing is turned */
#pragma unroll
            for (int k = 0; k < R; k++)
                wi_fft_set_number<T>(p.y, true, first + k * step,
                                     {re[k] * p.scale_re, im[k] * p.scale_im});
        } else if (p.turning >= 0) {
            const number start = p.circle.template at<T>(turn_of(line) * j);
#pragma unroll
            for (int k = 0; k < R; k++)
                wi_fft_store<passes_out>(to + k * step, turned<R>({re[k], im[k]}, start, line, k));
        } else if (p.stride_out == 1) {
#pragma unroll
            for (int k = 0; k < R; k++)
                wi_fft_store<passes_out>(to + (unsigned)k * before,
                                         {re[k] * p.scale_re, im[k] * p.scale_im});
        } else {
#pragma unroll
            for (int k = 0; k < R; k++)
                wi_fft_store<passes_out>(to + k * step, {re[k] * p.scale_re, im[k] * p.scale_im});
        }
    }

    /* A set of R numbers, of the array in the first stage. */
    template <int R>
    __device__ __forceinline__ void transform(T (&re)[R], T (&im)[R], bool is_first) const {
#pragma unroll
        for (int k = 0; k < R; k++)
            im[k] *= is_first ? p.sign_in : 1;
        wi_fft_butterfly<R>(re, im);
    }

    /* A stage; each thread has at most `most` sets of R numbers, or with `is_even` exactly so many.
     * In the first one `meanwhile` is done while loads are on their way. Lines that a block lacks
     * are zeros inside. */
    template <int R, int most, bool is_even, class Before, class Count, class Work = wi_fft_nothing>
    __device__ __forceinline__ void stage(const Before &before, const Count &m, bool is_first,
                                          bool is_last, const number *twiddles,
                                          const Work &meanwhile = Work()) const {
        T re[most][R], im[most][R];
        const unsigned count = m.by * lines.by;
        const bool by_lines = is_first ? p.lines_in : is_last && p.lines_out;
#pragma unroll
        for (int i = 0; i < most; i++) {
            unsigned line, j;
            const unsigned b = threadIdx.x + (unsigned)i * threads;
            find(b, by_lines, m, line, j);
            if ((is_even || b < count) && ((is_even && !is_first) || line < at.lines)) {
                if (is_first)
                    load<R>(line, j, m.by, re[i], im[i]);
                else
                    fetch<R>(line, j, m, before, twiddles, re[i], im[i]);
            } else {
#pragma unroll
                for (int k = 0; k < R; k++)
                    re[i][k] = im[i][k] = 0;
            }
            if (!loads_ahead || !is_first)
                transform<R>(re[i], im[i], is_first);
        }
        if (is_first)
            meanwhile();
#pragma unroll
        for (int i = 0; i < most; i++)
            if (loads_ahead && is_first)
                transform<R>(re[i], im[i], true);
        if (!is_first)
            __syncthreads();
#pragma unroll
        for (int i = 0; i < most; i++) {
            unsigned line, j;
            const unsigned b = threadIdx.x + (unsigned)i * threads;
            find(b, by_lines, m, line, j);
            if (is_last && (is_even || b < count) && line < at.lines)
                store<R>(line, j, before.by, re[i], im[i]);
            if (!is_last && (is_even || b < count))
                keep<R>(line, j, before, re[i], im[i]);
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
    const void *twiddles = NULL;
    key.kind = WI_FFT_STAGES_OF;
    key.type = l->type;
    key.n = l->n;
    for (unsigned k = 0; k < stages; k++)
        key.radix[k] = (unsigned char)radix[k];
    const weft_status status = wi_fft_table(ctx, &key, &twiddles);
    *p = {};
    if (status != WEFT_OK || !blocks)
        return status;
    p->x = (const wi_fft_number<T> *)l->x;
    p->y = (wi_fft_number<T> *)l->y;
    p->stride_in = l->stride_in;
    p->stride_out = l->stride_out;
    p->twiddles = (const wi_fft_number<T> *)twiddles;
    if (l->period)
        p->circle = {l->period, 4 / (double)l->period, 0.5 / (double)l->period};
    p->turning = l->period ? l->turning : -1;
    p->sign_in = l->swaps_in ? -1 : 1;
    p->scale_re = (T)l->scale;
    p->scale_im = l->swaps_out ? -(T)l->scale : (T)l->scale;
    p->half_in = l->half_in;
    p->half_out = l->half_out;
    p->lines_in = l->loops.used > 0 && l->loops.in[0] < l->stride_in;
    p->lines_out = l->loops.used > 0 && l->loops.out[0] < l->stride_out;
    p->near_in = l->loops.used > 0 ? l->loops.in[0] : 0;
    p->near_out = l->loops.used > 0 ? l->loops.out[0] : 0;
    return wi_fft_grid_of(ctx, &l->loops, lines, &p->grid, blocks);
}

#endif
