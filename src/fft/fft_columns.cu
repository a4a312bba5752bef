/* SPDX-License-Identifier: Apache-2.0 */
/* Lines that lie next to each other, as those of the second dimension, in the shared memory of a
 * cluster: `wide` lines of n = n1 n2 numbers are read and written once, in pieces of `wide`
 * numbers. Of each line a block transforms n2 / C of the lines of n1 numbers, sends the results to
 * the blocks that want them, and transforms n1 / C of the lines of n2. In shared memory number j of
 * all a block's lines lie next to each other, as do threads that have them: so no bank is met
 * twice. */
#include "cuda/bulk.cuh"
#include "cuda/cluster.cuh"
#include "fft/fft_columns.h"
#include "fft/fft_cut.cuh"

/* A cluster of `blocks` blocks of `threads` threads, of which a multiprocessor shall have
 * `resident` at a time. */
template <class T, unsigned blocks_, unsigned threads_, unsigned resident_, unsigned wide_,
          class First, class Second>
struct cluster_shape {
    using Type = T;
    using number = wi_fft_number<T>;
    using Cut1 = First;
    using Cut2 = Second;
    static constexpr unsigned blocks = blocks_, threads = threads_, resident = resident_,
                              wide = wide_;
    static constexpr unsigned n1 = First::n, n2 = Second::n, n = n1 * n2;
    static constexpr unsigned share1 = n2 / blocks, share2 = n1 / blocks;
    static constexpr unsigned lines1 = share1 * wide, lines2 = share2 * wide;
    /* What comes from one block has rows of `wide` numbers, which meet other banks than the next.
     */
    static constexpr unsigned pitch2 = lines2 + wide;
    static constexpr unsigned room = n1 * lines1 > n2 *pitch2 ? n1 *lines1 : n2 *pitch2;
    static constexpr unsigned twiddles = Second::count_twiddles(), turns = share1 * First::last;
    static constexpr size_t bytes = (room + twiddles + turns) * sizeof(number);
    static_assert(share1 * blocks == n2 && share2 * blocks == n1, "blocks have equal shares");
};

/* What a block works with. */
template <class Shape>
struct column_work {
    using T = typename Shape::Type;
    using number = wi_fft_number<T>;
    const wi_fft_pass<T> &p;
    const wi_fft_place &at;
    number *numbers, *twiddles, *turns; /* shared; twiddles of the second factor */
    wi_barrier *arrived;
    unsigned rank;

    /* w^(j2 before k) of the last stage of the first factor, at k share1 + j2. */
    __device__ __forceinline__ void fill(const number *table) const {
        constexpr unsigned before = Shape::n1 / Shape::Cut1::last;
        for (unsigned i = threadIdx.x; i < Shape::turns; i += Shape::threads) {
            const unsigned k = i / Shape::share1, j2 = rank * Shape::share1 + i % Shape::share1;
            const number w = p.circle.template at<T>((size_t)j2 * before * k);
            turns[i] = w;
        }
        for (unsigned i = threadIdx.x, all = Shape::twiddles; i < all; i += Shape::threads)
            twiddles[i] = table[i];
    }

    /* Numbers j + k m of a line of n1, of the array. */
    template <int R>
    __device__ __forceinline__ void load(unsigned line, unsigned j, T *re, T *im) const {
        constexpr unsigned m = Shape::n1 / R;
        const unsigned column = line % Shape::wide, j2 = rank * Shape::share1 + line / Shape::wide;
        const size_t step = (size_t)m * Shape::n2 * p.stride_in;
        const number *const from =
            p.x + at.in + column * p.near_in + (j2 + (size_t)Shape::n2 * j) * p.stride_in;
        number v[R];
#pragma unroll
        for (int k = 0; k < R; k++)
            v[k] = column < at.lines ? from[k * step] : number{0, 0};
#pragma unroll
        for (int k = 0; k < R; k++) {
            re[k] = v[k].re;
            im[k] = v[k].im * p.sign_in;
        }
    }

    /* The same in shared memory, times twiddles. */
    template <int R, unsigned m, unsigned before, unsigned pitch>
    __device__ __forceinline__ void fetch(unsigned line, unsigned j, const number *twiddles, T *re,
                                          T *im) const {
        const number *const from = numbers + j * pitch + line;
        const number *const factors = twiddles + j % before;
#pragma unroll
        for (int k = 0; k < R; k++) {
            number v = from[(unsigned)k * m * pitch];
            if (k > 0 && before > 1)
                v = wi_fft_product(v, factors[(unsigned)(k - 1) * before]);
            re[k] = v.re;
            im[k] = v.im;
        }
    }

    template <int R, unsigned before, unsigned pitch>
    __device__ __forceinline__ void keep(unsigned line, unsigned j, const T *re,
                                         const T *im) const {
        number *const to = numbers + (j / before * before * R + j % before) * pitch + line;
#pragma unroll
        for (int k = 0; k < R; k++)
            to[(unsigned)k * before * pitch] = {re[k], im[k]};
    }

    /* Result k1 = j + k before of line j2 becomes number j2 of line k1. */
    template <int R, unsigned before>
    __device__ __forceinline__ void send(unsigned line, unsigned j, number start, const T *re,
                                         const T *im) const {
        const unsigned column = line % Shape::wide, j2 = line / Shape::wide;
        number *const to = numbers + (rank * Shape::share1 + j2) * Shape::pitch2 + column;
#pragma unroll
        for (int k = 0; k < R; k++) {
            const unsigned k1 = j + (unsigned)k * before;
            const number v =
                wi_fft_product(number{re[k], im[k]},
                               wi_fft_product(start, turns[(unsigned)k * Shape::share1 + j2]));
            wi_fft_send(to + k1 % Shape::share2 * Shape::wide, v, arrived, k1 / Shape::share2);
        }
    }

    template <int R, unsigned before>
    __device__ __forceinline__ void store(unsigned line, unsigned j, const T *re,
                                          const T *im) const {
        const unsigned column = line % Shape::wide, k1 = rank * Shape::share2 + line / Shape::wide;
        const size_t step = (size_t)before * Shape::n1 * p.stride_out;
        number *const to =
            p.y + at.out + column * p.near_out + (k1 + (size_t)Shape::n1 * j) * p.stride_out;
        if (column >= at.lines)
            return;
#pragma unroll
        for (int k = 0; k < R; k++)
            to[k * step] = {re[k] * p.scale_re, im[k] * p.scale_im};
    }
};

/* The stages of the first factor. Lines are next to each other among threads. */
template <class Shape, unsigned before, int R, int... rest>
static __device__ __forceinline__ void
run_first(const column_work<Shape> &h, const wi_fft_number<typename Shape::Type> *twiddles,
          const wi_fft_number<typename Shape::Type> *second, wi_fft_cut<R, rest...>) {
    using T = typename Shape::Type;
    constexpr unsigned m = Shape::n1 / R, lines = Shape::lines1;
    constexpr int sets = (int)(lines * m / Shape::threads);
    constexpr bool is_last = sizeof...(rest) == 0;
    static_assert(sets * Shape::threads == lines * m, "threads have equally many sets");
    T re[sets][R], im[sets][R];
    wi_fft_number<T> start[sets];
    if (is_last) /* while no numbers wait in registers */
#pragma unroll
        for (int i = 0; i < sets; i++) {
            const unsigned b = threadIdx.x + (unsigned)i * Shape::threads;
            const unsigned j2 = h.rank * Shape::share1 + b % lines / Shape::wide;
            start[i] = h.p.circle.template at<T>((size_t)j2 * (b / lines));
        }
#pragma unroll
    for (int i = 0; i < sets; i++) {
        const unsigned b = threadIdx.x + (unsigned)i * Shape::threads, j = b / lines;
        if (before == 1)
            h.template load<R>(b % lines, j, re[i], im[i]);
        else
            h.template fetch<R, m, before, lines>(b % lines, j, twiddles, re[i], im[i]);
    }
    if (before == 1 && sizeof(T) == 4)
        h.fill(second);
    if (is_last)
        wi_cluster_arrive_read();
    else if (before > 1)
        __syncthreads();
#pragma unroll
    for (int i = 0; i < sets; i++)
        wi_fft_butterfly<R>(re[i], im[i]);
    if (is_last)
        wi_cluster_wait();
#pragma unroll
    for (int i = 0; i < sets; i++) {
        const unsigned b = threadIdx.x + (unsigned)i * Shape::threads, j = b / lines;
        if constexpr (is_last)
            h.template send<R, before>(b % lines, j, start[i], re[i], im[i]);
        else
            h.template keep<R, before, lines>(b % lines, j, re[i], im[i]);
    }
    if constexpr (!is_last) {
        __syncthreads();
        run_first<Shape, before * R>(h, twiddles + (before > 1 ? (R - 1) * before : 0), second,
                                     wi_fft_cut<rest...>());
    }
}

template <class Shape, unsigned before, int R, int... rest>
static __device__ __forceinline__ void
run_second(const column_work<Shape> &h, const wi_fft_number<typename Shape::Type> *twiddles,
           wi_fft_cut<R, rest...>) {
    using T = typename Shape::Type;
    constexpr unsigned m = Shape::n2 / R, lines = Shape::lines2;
    constexpr int sets = (int)(lines * m / Shape::threads);
    constexpr bool is_last = sizeof...(rest) == 0;
    static_assert(sets * Shape::threads == lines * m, "threads have equally many sets");
    T re[sets][R], im[sets][R];
#pragma unroll
    for (int i = 0; i < sets; i++) {
        const unsigned b = threadIdx.x + (unsigned)i * Shape::threads;
        h.template fetch<R, m, before, Shape::pitch2>(b % lines, b / lines, twiddles, re[i], im[i]);
        wi_fft_butterfly<R>(re[i], im[i]);
        if constexpr (is_last)
            h.template store<R, before>(b % lines, b / lines, re[i], im[i]);
    }
    if constexpr (!is_last) {
        __syncthreads();
#pragma unroll
        for (int i = 0; i < sets; i++) {
            const unsigned b = threadIdx.x + (unsigned)i * Shape::threads;
            h.template keep<R, before, Shape::pitch2>(b % lines, b / lines, re[i], im[i]);
        }
        __syncthreads();
        run_second<Shape, before * R>(h, twiddles + (before > 1 ? (R - 1) * before : 0),
                                      wi_fft_cut<rest...>());
    }
}

/* `second`: twiddles of the second factor. */
template <class Shape>
static __global__ void __launch_bounds__(Shape::threads, Shape::resident)
    columns(const __grid_constant__ wi_fft_pass<typename Shape::Type> p,
            const wi_fft_number<typename Shape::Type> *second) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
    using T = typename Shape::Type;
    using number = wi_fft_number<T>;
    WEFT_DYNAMIC_SHARED(shared);
    WEFT_SHARED(wi_barrier, arrived, );
    const unsigned rank = wi_cluster_rank();
    const wi_fft_place at = wi_fft_place_of(p.grid, blockIdx.x / Shape::blocks, -1);
    number *const numbers = (number *)shared, *const twiddles = numbers + Shape::room;
    const column_work<Shape> h = {p,        at,  numbers, twiddles, twiddles + Shape::twiddles,
                                  &arrived, rank};
    wi_fft_expect<T>(&arrived, Shape::n2 * Shape::lines2);
    if (sizeof(T) == 8) /* a call, for which all registers would be saved */
        h.fill(second);
    run_first<Shape, 1>(h, p.twiddles, second, typename Shape::Cut1());
    wi_receive(&arrived, 0);
    run_second<Shape, 1>(h, twiddles, typename Shape::Cut2());
#endif
}

/* ---- launches ---- */

template <class Shape>
static weft_status run_shape(weft_context *ctx, const wi_fft_lines *l, bool queues) {
    using T = typename Shape::Type;
    wi_fft_lines first = *l, second = *l;
    wi_fft_pass<T> p, b;
    unsigned groups = 0;
    first.n = Shape::n1;
    first.period = Shape::n;
    first.turning = 0;
    second.n = Shape::n2;
    weft_status status = wi_fft_pass_of(ctx, &second, Shape::Cut2::radix, Shape::Cut2::stages,
                                        Shape::wide, &b, queues ? &groups : NULL);
    if (status == WEFT_OK)
        status = wi_fft_pass_of(ctx, &first, Shape::Cut1::radix, Shape::Cut1::stages, Shape::wide,
                                &p, queues ? &groups : NULL);
    if (status != WEFT_OK || !queues)
        return status;
    return WEFT_LAUNCH_CLUSTER(columns<Shape>, ctx, groups * Shape::blocks, Shape::threads,
                               Shape::blocks, Shape::bytes, p, b.twiddles);
}

#define CLUSTER(...)                                                                               \
    case cluster_shape<__VA_ARGS__>::n:                                                            \
        return run_shape<cluster_shape<__VA_ARGS__>>(ctx, l, queues)
#define CUT(...) wi_fft_cut<__VA_ARGS__>

weft_status wi_fft_run_columns(weft_context *ctx, const wi_fft_lines *l, bool queues) {
    if (l->type == WEFT_F64)
        switch (l->n) {
            CLUSTER(double, 8, 128, 4, 4, CUT(16, 16), CUT(16));
            CLUSTER(double, 16, 128, 4, 4, CUT(16, 16), CUT(8, 4));
        default:;
        }
    else
        switch (l->n) {
            CLUSTER(float, 8, 128, 5, 16, CUT(16, 8), CUT(16));
            CLUSTER(float, 8, 128, 5, 8, CUT(16, 16), CUT(16));
            CLUSTER(float, 16, 128, 5, 8, CUT(16, 16), CUT(32));
        default:;
        }
    return wi_fail(ctx, WEFT_EUNSUPPORTED, "weft_fft: no kernel for columns of %zu", l->n);
}

/* Lines next to each other, on both sides. */
bool wi_fft_takes_columns(const wi_fft_lines *l) {
    return l->loops.used > 0 && !l->period && !l->half_in && !l->half_out &&
           wi_fft_is_column(l->type, l->n, l->loops.count[0]) && l->loops.in[0] < l->stride_in &&
           l->loops.out[0] < l->stride_out;
}
