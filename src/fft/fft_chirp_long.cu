/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions with a chirp (fft_chirp.cu) of lines that no block holds, in three kernels. With
 * M = m1 m2 numbers j = j1 m2 + j2 and spectra at k = k1 + m1 k2, F is
 *
 *     for each j2: m1 numbers, a factor w(M)^(j2 k1); for each k1: m2 numbers,
 *
 * and F' the same from the second to the first. So the first kernel multiplies x by the chirp and
 * leaves rows k1 in scratch memory; the second one does the convolutions of rows, each with its own
 * part of the spectrum, in place; the third one goes back to columns and has the chirp's product
 * again. Half of a column is zeros on the way in, and not wanted on the way out. */
#include "cuda/prefetch.cuh"
#include "fft/fft_chirp.cuh"

namespace {

/* Columns of R1 R2 numbers, a thread for each, or if R2 is not 1 R2 threads, with sets of R1
 * numbers and then of R2. */
template <class T, int R1_, int R2_>
struct columns_of {
    using Type = T;
    static constexpr unsigned R1 = R1_, R2 = R2_, m1 = R1 * R2;
    static constexpr unsigned columns = R2 > 1 ? 32 : 256, threads = columns * R2;
    static constexpr unsigned blocks = 4096 / (unsigned)sizeof(T) / threads;
    static constexpr size_t bytes = R2 > 1 ? m1 *columns * sizeof(wi_fft_number<T>) : 0;
};

template <class T>
struct long_params {
    const void *x;
    void *y;
    wi_fft_number<T> *room; /* of a line m1 m2 numbers */
    const wi_fft_number<T> *chirp, *spectrum, *twiddles;
    size_t stride_in, stride_out;
    wi_fft_grid grid;
    wi_fft_circle circle;       /* of M */
    unsigned n, m1, m2, across; /* blocks of a line */
    unsigned ahead;
    bool half_in, half_out;
    T sign_in, scale_re, scale_im;
};

template <class Shape>
struct column_worker {
    using T = typename Shape::Type;
    using number = wi_fft_number<T>;
    static constexpr bool is_narrow = sizeof(T) == 4; /* arrays may be f16 */
    static constexpr unsigned R1 = Shape::R1, R2 = Shape::R2;
    const long_params<T> &p;
    wi_fft_place at;
    number *room, *numbers; /* its column, in scratch and in shared memory */
    unsigned a, j2;

    __device__ __forceinline__ column_worker(const long_params<T> &params, unsigned char *shared)
        : p(params) {
        const unsigned line = blockIdx.x / p.across, tile = blockIdx.x - line * p.across;
        const unsigned column = threadIdx.x % Shape::columns;
        at = wi_fft_place_of(p.grid, line, -1);
        a = threadIdx.x / Shape::columns;
        j2 = tile * Shape::columns + column;
        room = p.room + (size_t)line * Shape::m1 * p.m2 + j2;
        numbers = (number *)shared + column;
    }

    /* Powers 0 to R - 1 of w(M)^power. */
    template <int R>
    __device__ __forceinline__ void powers_of(unsigned power, number *w) const {
        w[0] = {1, 0};
        w[1] = p.circle.template at<T>(power);
#pragma unroll
        for (int k = 2; k < R; k++)
            w[k] = wi_fft_product(w[k / 2], w[k - k / 2]);
    }

    /* The numbers of a column in rows first + k apart, multiplied by w(M)^(j2 row). */
    template <int R>
    __device__ __forceinline__ void turn(unsigned first, const number *w, T *re, T *im) const {
        const number start = p.circle.template at<T>((size_t)j2 * first);
#pragma unroll
        for (int k = 0; k < R; k++) {
            const number by = k > 0 ? wi_fft_product(start, w[k]) : start;
            const number v = wi_fft_product(number{re[k], im[k]}, by);
            re[k] = v.re;
            im[k] = v.im;
        }
    }

    /* A row's number in the line. */
    __device__ __forceinline__ unsigned index_of(unsigned row) const {
        return row * p.m2 + j2;
    }

    __device__ __forceinline__ void load(T *re, T *im) const {
        number v[R1 / 2], factor[R1 / 2];
#pragma unroll
        for (unsigned k = 0; k < R1 / 2; k++) {
            const unsigned i = index_of(k * R2 + a), is = i < p.n ? i : 0;
            v[k] = wi_fft_number_at<T>(p.x, is_narrow && p.half_in, at.in + is * p.stride_in);
            factor[k] = p.chirp[is];
        }
#pragma unroll
        for (unsigned k = 0; k < R1 / 2; k++) {
            const bool is = index_of(k * R2 + a) < p.n;
            v[k].im *= p.sign_in;
            v[k] = wi_fft_product(v[k], factor[k]);
            re[k] = is ? v[k].re : 0;
            im[k] = is ? v[k].im : 0;
        }
    }

    /* To sets of R2 numbers: result b of set a becomes number a of set b. */
    __device__ __forceinline__ void hand_over(const T *re, const T *im) const {
#pragma unroll
        for (unsigned b = 0; b < R1; b++) {
            number v = {re[b], im[b]};
            if (b > 0)
                v = wi_fft_product(v, p.twiddles[(b - 1) * R2 + a]);
            numbers[(b * R2 + a) * Shape::columns] = v;
        }
        __syncthreads();
    }
    __device__ __forceinline__ void fetch(unsigned b, T *re, T *im) const {
#pragma unroll
        for (unsigned q = 0; q < R2; q++) {
            const number v = numbers[(b * R2 + q) * Shape::columns];
            re[q] = v.re;
            im[q] = v.im;
        }
    }

    template <int R>
    __device__ __forceinline__ void keep(unsigned first, unsigned apart, const T *re,
                                         const T *im) const {
#pragma unroll
        for (int k = 0; k < R; k++)
            room[(size_t)(first + (unsigned)k * apart) * p.m2] = {re[k], im[k]};
    }

    __device__ __forceinline__ void run_in() const {
        T re[R1], im[R1];
        number w[R2 > 1 ? R2 : R1];
        load(re, im);
        wi_fft_half_butterfly<R1>(re, im);
        if constexpr (R2 == 1) {
            powers_of<R1>(j2, w);
            turn<R1>(0, w, re, im);
            keep<R1>(0, 1, re, im);
        } else {
            hand_over(re, im);
            powers_of<R2>(j2 * R1, w);
#pragma unroll
            for (unsigned b = a; b < R1; b += R2) {
                fetch(b, re, im);
                wi_fft_butterfly<R2>(re, im);
                turn<R2>(b, w, re, im);
                keep<R2>(b, R1, re, im);
            }
        }
    }

    /* The first R / 2 of results in rows first + k apart. */
    template <int R>
    __device__ __forceinline__ void load_chirp(unsigned first, unsigned apart, number *v) const {
#pragma unroll
        for (int k = 0; k < R / 2; k++) {
            const unsigned i = index_of(first + (unsigned)k * apart);
            v[k] = p.chirp[i < p.n ? i : 0];
        }
    }
    template <int R>
    __device__ __forceinline__ void store(unsigned first, unsigned apart, const number *factor,
                                          const T *re, const T *im) const {
#pragma unroll
        for (int k = 0; k < R / 2; k++) {
            const unsigned i = index_of(first + (unsigned)k * apart);
            const number v = wi_fft_product(number{re[k], -im[k]}, factor[k]);
            if (i < p.n)
                wi_fft_set_number<T>(p.y, is_narrow && p.half_out, at.out + i * p.stride_out,
                                     {v.re * p.scale_re, v.im * p.scale_im});
        }
    }

    __device__ __forceinline__ void run_out() const {
        T re[R1], im[R1];
        number w[R1], factor[R2 > 1 ? R2 / 2 : R1 / 2];
#pragma unroll
        for (unsigned k = 0; k < R1; k++) {
            const number v = room[(size_t)(k * R2 + a) * p.m2];
            re[k] = v.re;
            im[k] = v.im;
        }
        powers_of<R1>(j2 * R2, w);
        turn<R1>(a, w, re, im);
        wi_fft_butterfly<R1>(re, im);
        if constexpr (R2 == 1) {
            load_chirp<R1>(0, 1, factor);
            store<R1>(0, 1, factor, re, im);
        } else {
            hand_over(re, im);
#pragma unroll
            for (unsigned b = a; b < R1; b += R2) {
                load_chirp<R2>(b, R1, factor);
                fetch(b, re, im);
                wi_fft_butterfly<R2>(re, im);
                store<R2>(b, R1, factor, re, im);
            }
        }
    }
};

template <class Shape>
struct row_ends {
    using T = typename Shape::Type;
    using number = wi_fft_number<T>;
    static constexpr bool adds = false;
    const long_params<T> &p;
    number *rows;
    unsigned first; /* the number of the first one in a line */

    static constexpr __device__ bool lines_in() {
        return false;
    }
    static constexpr __device__ bool lines_out() {
        return false;
    }
    __device__ __forceinline__ const number *spectrum_of(unsigned line) const {
        return p.spectrum + (first + line) * (Shape::n / Shape::last);
    }
    __device__ __forceinline__ unsigned apart() const {
        return p.m1 * (Shape::n / Shape::last);
    }
    template <int R>
    __device__ __forceinline__ void load(unsigned line, unsigned j, T *re, T *im) const {
        number v[R];
#pragma unroll
        for (int k = 0; k < R; k++)
            v[k] = rows[line * Shape::n + j + (unsigned)k * (Shape::n / R)];
#pragma unroll
        for (int k = 0; k < R; k++) {
            re[k] = v[k].re;
            im[k] = v[k].im;
        }
        wi_fft_butterfly<R>(re, im);
    }
    template <int R>
    __device__ __forceinline__ void store(unsigned line, unsigned j, const T *re,
                                          const T *im) const {
#pragma unroll
        for (int k = 0; k < R; k++)
            rows[line * Shape::n + j + (unsigned)k * (Shape::n / R)] = {re[k], im[k]};
    }
};

} // namespace

template <class Shape>
static __global__ void __launch_bounds__(Shape::threads, Shape::blocks)
    columns_in(const __grid_constant__ long_params<typename Shape::Type> p) {
    WEFT_DYNAMIC_SHARED(shared);
    column_worker<Shape>(p, shared).run_in();
}

template <class Shape>
static __global__ void __launch_bounds__(Shape::threads, Shape::blocks)
    columns_out(const __grid_constant__ long_params<typename Shape::Type> p) {
    WEFT_DYNAMIC_SHARED(shared);
    column_worker<Shape>(p, shared).run_out();
}

/* Brings the rows of a block of `ahead` on to the second-level cache. */
template <class Shape>
static __device__ __forceinline__ void look_ahead(const long_params<typename Shape::Type> &p,
                                                  unsigned ahead) {
    constexpr unsigned numbers = Shape::lines * Shape::n;
    const size_t block = (size_t)blockIdx.x + ahead;
    if (ahead > 0 && block < gridDim.x)
        wi_bulk_prefetch(p.room + block * numbers,
                         numbers * (unsigned)sizeof(wi_fft_number<typename Shape::Type>));
}

/* A block has a power of 2 of rows, and a line has a multiple of them. */
template <class Shape>
static __global__ void __launch_bounds__(Shape::threads, Shape::blocks)
    chirped_rows(const __grid_constant__ long_params<typename Shape::Type> p) {
    using number = typename Shape::number;
    WEFT_DYNAMIC_SHARED(shared);
    if (threadIdx.x == Shape::threads - 1)
        look_ahead<Shape>(p, p.ahead);
    const size_t row = (size_t)blockIdx.x * Shape::lines;
    const row_ends<Shape> ends = {p, p.room + row * Shape::n, (unsigned)row % p.m1};
    const wi_fft_chirper<Shape, row_ends<Shape>> worker = {ends, (number *)shared, p.twiddles};
    worker.template run<0>();
}

/* ---- launches ---- */

namespace {

struct long_cut {
    size_t m, m1, m2;
};

/* The least M that there are kernels for, with the longest rows; or zeros. */
long_cut long_cut_of(weft_type type, size_t n) {
    static const unsigned columns[] = {8, 32, 128}, rows_f32[] = {1536, 2048, 3072, 4096},
                          rows_f64[] = {1024, 2048};
    const unsigned *const rows = type == WEFT_F64 ? rows_f64 : rows_f32;
    const size_t count = type == WEFT_F64 ? 2 : 4;
    long_cut best = {};
    for (const unsigned m1 : columns)
        for (size_t k = 0; k < count; k++) {
            const size_t m = (size_t)m1 * rows[k];
            if (m >= 2 * n - 1 && (best.m == 0 || m < best.m))
                best = {m, m1, rows[k]};
        }
    return best;
}

template <class T>
struct long_launch {
    weft_context *ctx;
    const wi_fft_lines *l;
    bool queues;
    unsigned lines;
    long_params<T> p;
};

template <class T>
weft_status twiddles_of(long_launch<T> *q, size_t n, const unsigned *radix, unsigned count) {
    wi_fft_table_key key = {};
    const void *table = NULL;
    key.kind = WI_FFT_STAGES_OF;
    key.type = q->l->type;
    key.n = n;
    for (unsigned k = 0; k < count; k++)
        key.radix[k] = (unsigned char)radix[k];
    const weft_status status = wi_fft_table(q->ctx, &key, &table);
    q->p.twiddles = (const wi_fft_number<T> *)table;
    return status;
}

template <class Shape>
weft_status run_columns(long_launch<typename Shape::Type> *q, bool is_in) {
    static const unsigned radix[] = {Shape::R2, Shape::R1};
    q->p.across = q->p.m2 / Shape::columns;
    const weft_status status = Shape::R2 > 1 ? twiddles_of(q, Shape::m1, radix, 2) : WEFT_OK;
    if (status != WEFT_OK || !q->queues)
        return status;
    const unsigned blocks = q->lines * q->p.across;
    return is_in
               ? WEFT_LAUNCH(columns_in<Shape>, q->ctx, blocks, Shape::threads, Shape::bytes, q->p)
               : WEFT_LAUNCH(columns_out<Shape>, q->ctx, blocks, Shape::threads, Shape::bytes,
                             q->p);
}
template <class T>
weft_status run_columns(long_launch<T> *q, bool is_in) {
    switch (q->p.m1) {
    case 8:
        return run_columns<columns_of<T, 8, 1>>(q, is_in);
    case 32:
        return run_columns<columns_of<T, 8, 4>>(q, is_in);
    default:
        return run_columns<columns_of<T, 16, 8>>(q, is_in);
    }
}

template <class Shape>
weft_status run_rows(long_launch<typename Shape::Type> *q) {
    using number = typename Shape::number;
    unsigned all[Shape::stages + 1] = {q->p.m1}, backwards[Shape::stages];
    const void *chirp = NULL, *spectrum = NULL;
    for (unsigned k = 0; k < Shape::stages; k++) {
        all[k + 1] = Shape::radix[k];
        backwards[k] = Shape::radix[Shape::stages - 1 - k];
    }
    weft_status status = wi_fft_chirp_tables(q->ctx, q->l, (size_t)q->p.m1 * Shape::n, all,
                                             Shape::stages + 1, &chirp, &spectrum);
    if (status == WEFT_OK)
        status = twiddles_of(q, Shape::n, backwards, Shape::stages);
    if (status != WEFT_OK || !q->queues)
        return status;
    q->p.spectrum = (const number *)spectrum;
    return WEFT_LAUNCH(chirped_rows<Shape>, q->ctx, q->lines * (q->p.m1 / Shape::lines),
                       Shape::threads, Shape::bytes, q->p);
}
weft_status run_rows(long_launch<float> *q) {
    switch (q->p.m2) {
    case 1536:
        return run_rows<wi_fft_chirp_shape<float, 3072, 192, 5, 16, 8, 12>>(q);
    case 2048:
        return run_rows<wi_fft_chirp_shape<float, 4096, 256, 4, 16, 16, 8>>(q);
    case 3072:
        return run_rows<wi_fft_chirp_shape<float, 3072, 192, 5, 16, 16, 12>>(q);
    default:
        return run_rows<wi_fft_chirp_shape<float, 4096, 256, 4, 16, 16, 16>>(q);
    }
}
weft_status run_rows(long_launch<double> *q) {
    return q->p.m2 == 1024 ? run_rows<wi_fft_chirp_shape<double, 2048, 128, 4, 16, 8, 8>>(q)
                           : run_rows<wi_fft_chirp_shape<double, 2048, 128, 4, 16, 16, 8>>(q);
}

template <class T>
weft_status run_long(weft_context *ctx, const wi_fft_lines *l, void *room, bool queues) {
    const long_cut cut = long_cut_of(l->type, l->n);
    long_launch<T> q = {ctx, l, queues, 0, {}};
    long_params<T> *const p = &q.p;
    const void *chirp = NULL;
    wi_fft_table_key key = {};
    key.kind = WI_FFT_CHIRP;
    key.type = l->type;
    key.n = l->n;
    p->m1 = (unsigned)cut.m1;
    p->m2 = (unsigned)cut.m2;
    p->n = (unsigned)l->n;
    p->circle = {cut.m, 4 / (double)cut.m, 0.5 / (double)cut.m};
    p->ahead = ctx->gpu->capability >= 90 ? (unsigned)ctx->gpu->multiprocessors : 0;
    p->x = l->x;
    p->y = l->y;
    p->room = (wi_fft_number<T> *)room;
    p->stride_in = l->stride_in;
    p->stride_out = l->stride_out;
    p->half_in = l->half_in;
    p->half_out = l->half_out;
    p->sign_in = l->swaps_in ? -1 : 1;
    p->scale_re = (T)l->scale;
    p->scale_im = l->swaps_out ? -(T)l->scale : (T)l->scale;
    weft_status status = wi_fft_table(ctx, &key, &chirp);
    if (status == WEFT_OK)
        status = wi_fft_grid_of(ctx, &l->loops, 1, &p->grid, &q.lines);
    p->chirp = (const wi_fft_number<T> *)chirp;
    if (status == WEFT_OK)
        status = run_columns(&q, true);
    if (status == WEFT_OK)
        status = run_rows(&q);
    return status == WEFT_OK ? run_columns(&q, false) : status;
}

} // namespace

size_t wi_fft_long_chirps(weft_type type, size_t n) {
    return long_cut_of(type, n).m;
}

weft_status wi_fft_long_chirp(weft_context *ctx, const wi_fft_lines *l, void *room, bool queues) {
    return l->type == WEFT_F64 ? run_long<double>(ctx, l, room, queues)
                               : run_long<float>(ctx, l, room, queues);
}
