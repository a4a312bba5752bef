/* SPDX-License-Identifier: Apache-2.0 */
/* The teaching rungs of fft on a GPU: the definition; radix 2 with one kernel for each stage; radix
 * 2 in shared memory. */
#include "fft/fft_cuda.cuh"

constexpr unsigned step_threads = 256;
constexpr unsigned most_shared = 1024; /* numbers of a line in shared memory */

namespace {

struct step_params {
    wi_fft_lines l;
    wi_fft_grid grid;
    const void *roots; /* w^k for k < n, w = exp(-2 pi i / n) */
    void *room;        /* lines without gaps */
    size_t count;      /* of threads that have work */
    unsigned bits;     /* n = 2^bits */
};

} // namespace

static __device__ size_t step_index() {
    return (size_t)blockIdx.x * step_threads + threadIdx.x;
}

/* Where a line begins in x. */
static __device__ size_t line_begin(const wi_fft_grid &g, size_t line) {
    size_t at = 0;
    for (int k = 0; k < g.used; k++) {
        at += line % g.count[k] * g.in[k];
        line /= g.count[k];
    }
    return at;
}

/* One thread for one result: y(k) = sum of x(j) w^(j k). */
template <class T>
static __global__ void defined(const __grid_constant__ step_params p) {
    using number = wi_fft_number<T>;
    const size_t i = step_index(), n = p.l.n, k = i % n;
    if (i >= p.count)
        return;
    const number *const x = (const number *)p.l.x + line_begin(p.grid, i / n);
    const number *const w = (const number *)p.roots;
    double re = 0, im = 0;
    for (size_t j = 0, turn = 0; j < n; j++) {
        const number v = wi_fft_swapped(x[j * p.l.stride_in], p.l.swaps_in);
        re += (double)v.re * w[turn].re - (double)v.im * w[turn].im;
        im += (double)v.re * w[turn].im + (double)v.im * w[turn].re;
        turn = turn + k < n ? turn + k : turn + k - n;
    }
    ((number *)p.room)[i] = {(T)re, (T)im};
}

static __device__ unsigned reversed(unsigned k, unsigned bits) {
    unsigned out = 0;
    for (unsigned b = 0; b < bits; b++)
        out |= (k >> b & 1) << (bits - 1 - b);
    return out;
}

/* Numbers go where the bits of their index in reverse order say. */
template <class T>
static __global__ void reverse(const __grid_constant__ step_params p) {
    using number = wi_fft_number<T>;
    const size_t i = step_index(), n = p.l.n, k = i % n;
    if (i >= p.count)
        return;
    const number *const x = (const number *)p.l.x + line_begin(p.grid, i / n);
    ((number *)p.room)[i - k + reversed((unsigned)k, p.bits)] =
        wi_fft_swapped(x[k * p.l.stride_in], p.l.swaps_in);
}

template <class T>
static __device__ void join(wi_fft_number<T> *a, wi_fft_number<T> *b, wi_fft_number<T> w) {
    const wi_fft_number<T> u = *a, v = wi_fft_product(*b, w);
    *a = {u.re + v.re, u.im + v.im};
    *b = {u.re - v.re, u.im - v.im};
}

/* One stage: a thread joins two numbers `half` apart. */
template <class T>
static __global__ void one_stage(const __grid_constant__ step_params p, size_t half) {
    using number = wi_fft_number<T>;
    const size_t i = step_index(), k = i % half;
    if (i >= p.count)
        return;
    number *const a = (number *)p.room + (i - k) * 2 + k;
    join(a, a + half, ((const number *)p.roots)[k * (p.l.n / (2 * half))]);
}

/* All stages of a line by one block; in the end the results are turned if the line is part of a
 * longer one. */
template <class T>
static __global__ void shared_line(const __grid_constant__ step_params p, wi_fft_powers<T> powers) {
    using number = wi_fft_number<T>;
    WEFT_SHARED(number, numbers, [most_shared]);
    const wi_fft_place at = wi_fft_place_of(p.grid, blockIdx.x, p.l.turning);
    const unsigned n = (unsigned)p.l.n;
    for (unsigned k = threadIdx.x; k < n; k += step_threads)
        numbers[reversed(k, p.bits)] =
            wi_fft_swapped(((const number *)p.l.x)[at.in + k * p.l.stride_in], p.l.swaps_in);
    for (unsigned half = 1; half < n; half *= 2) {
        __syncthreads();
        for (unsigned i = threadIdx.x; i < n / 2; i += step_threads) {
            number *const a = numbers + (i - i % half) * 2 + i % half;
            join(a, a + half, ((const number *)p.roots)[i % half * (n / (2 * half))]);
        }
    }
    __syncthreads();
    for (unsigned k = threadIdx.x; k < n; k += step_threads) {
        number v = numbers[k];
        if (p.l.period)
            v = wi_fft_product(v, powers.at((p.l.turning == 0 ? at.first : at.turn) * (size_t)k));
        const T scale = (T)p.l.scale;
        ((number *)p.l.y)[at.out + k * p.l.stride_out] =
            wi_fft_swapped(number{v.re * scale, v.im * scale}, p.l.swaps_out);
    }
}

/* ---- launches ---- */

static weft_status step_roots(weft_context *ctx, const wi_fft_lines *l, const void **roots) {
    wi_fft_table_key key = {};
    key.kind = WI_FFT_POWERS;
    key.type = l->type;
    key.n = key.part = l->n;
    return wi_fft_table(ctx, &key, roots);
}

/* Lines without gaps. */
static size_t gathered_bytes(const wi_fft_lines *l) {
    return wi_fft_loops_lines(&l->loops) * l->n * wi_fft_number_bytes(l->type);
}

static weft_status gathered_prepare(weft_context *ctx, const wi_fft_lines *l, size_t *room_bytes) {
    const void *table = NULL;
    *room_bytes = gathered_bytes(l);
    return step_roots(ctx, l, &table);
}

static weft_status step_prepare(weft_context *ctx, const wi_fft_lines *l, size_t *room_bytes) {
    const void *table = NULL;
    unsigned bits = 0;
    *room_bytes = 0;
    const weft_status status = step_roots(ctx, l, &table);
    return status == WEFT_OK && l->period ? wi_fft_powers_of(ctx, l->type, l->period, &table, &bits)
                                          : status;
}

static weft_status step_params_of(weft_context *ctx, const wi_fft_lines *l, step_params *p,
                                  unsigned *blocks) {
    *p = {};
    p->l = *l;
    while ((size_t)1 << p->bits < l->n)
        p->bits++;
    const weft_status status = wi_fft_grid_of(ctx, &l->loops, 1, &p->grid, blocks);
    return status == WEFT_OK ? step_roots(ctx, l, &p->roots) : status;
}

static weft_status blocks_for(weft_context *ctx, size_t count, unsigned *blocks) {
    const size_t wanted = (count + step_threads - 1) / step_threads;
    if (wanted > 0x7fffffff)
        return wi_fail(ctx, WEFT_EUNSUPPORTED,
                       "weft_fft: %zu numbers are too many for this variant; transform a smaller "
                       "batch at a time",
                       count);
    *blocks = (unsigned)wanted;
    return WEFT_OK;
}

template <class T>
static weft_status queue_definition(weft_context *ctx, step_params *p) {
    unsigned blocks = 0;
    const weft_status status = blocks_for(ctx, p->count, &blocks);
    return status == WEFT_OK ? WEFT_LAUNCH(defined<T>, ctx, blocks, step_threads, 0, *p) : status;
}

template <class T>
static weft_status queue_stages(weft_context *ctx, step_params *p) {
    unsigned blocks = 0;
    weft_status status = blocks_for(ctx, p->count, &blocks);
    if (status == WEFT_OK)
        status = WEFT_LAUNCH(reverse<T>, ctx, blocks, step_threads, 0, *p);
    p->count /= 2;
    if (status == WEFT_OK)
        status = blocks_for(ctx, p->count, &blocks);
    for (size_t half = 1; half < p->l.n && status == WEFT_OK; half *= 2)
        status = WEFT_LAUNCH(one_stage<T>, ctx, blocks, step_threads, 0, *p, half);
    return status;
}

/* From the lines without gaps to y. */
static weft_status put_back(weft_context *ctx, const step_params *p) {
    wi_fft_move m = {};
    m.type = p->l.type;
    m.x = p->room;
    m.y = p->l.y;
    m.n_in = m.n_out = p->l.n;
    m.swaps_out = p->l.swaps_out;
    m.scale = p->l.scale;
    m.stride_in = 1;
    m.stride_out = p->l.stride_out;
    m.loops = p->l.loops;
    for (int k = 0; k < m.loops.used; k++)
        m.loops.in[k] = k == 0 ? m.n_in : m.loops.in[k - 1] * m.loops.count[k - 1];
    return wi_fft_move_cuda(ctx, &m);
}

static weft_status through_room(weft_context *ctx, const wi_fft_lines *l, void *room,
                                weft_status (*queue)(weft_context *ctx, step_params *p)) {
    step_params p;
    unsigned blocks = 0;
    weft_status status = step_params_of(ctx, l, &p, &blocks);
    p.room = room;
    p.count = wi_fft_loops_lines(&l->loops) * l->n;
    if (status == WEFT_OK)
        status = queue(ctx, &p);
    return status == WEFT_OK ? put_back(ctx, &p) : status;
}

static weft_status define_lines(weft_context *ctx, const wi_fft_lines *l, void *room) {
    return through_room(ctx, l, room,
                        l->type == WEFT_F64 ? queue_definition<double> : queue_definition<float>);
}

static weft_status stage_lines(weft_context *ctx, const wi_fft_lines *l, void *room) {
    return through_room(ctx, l, room,
                        l->type == WEFT_F64 ? queue_stages<double> : queue_stages<float>);
}

template <class T>
static weft_status queue_shared(weft_context *ctx, const wi_fft_lines *l) {
    step_params p;
    wi_fft_powers<T> powers = {};
    const void *table = NULL;
    unsigned blocks = 0;
    weft_status status = step_params_of(ctx, l, &p, &blocks);
    if (status == WEFT_OK && l->period)
        status = wi_fft_powers_of(ctx, l->type, l->period, &table, &powers.bits);
    powers.table = (const wi_fft_number<T> *)table;
    return status == WEFT_OK ? WEFT_LAUNCH(shared_line<T>, ctx, blocks, step_threads, 0, p, powers)
                             : status;
}

static weft_status share_lines(weft_context *ctx, const wi_fft_lines *l, void *room) {
    (void)room;
    return l->type == WEFT_F64 ? queue_shared<double>(ctx, l) : queue_shared<float>(ctx, l);
}

/* ---- the rungs ---- */

static bool takes_all(const weft_context *ctx, const wi_fft_lines *l) {
    (void)ctx;
    (void)l;
    return true;
}

static bool cuts_shared(weft_type type, size_t n) {
    (void)type;
    return n <= most_shared;
}

static bool takes_shared(const weft_context *ctx, const wi_fft_lines *l) {
    (void)ctx;
    return l->n <= most_shared;
}

/* What these rungs have in common. */
static wi_fft_engine step_engine() {
    wi_fft_engine engine = {};
    engine.takes = takes_all;
    engine.together = 1;
    engine.most_prime = 2;
    engine.prepare = gathered_prepare;
    engine.move = wi_fft_move_cuda;
    engine.fold = wi_fft_fold_cuda;
    return engine;
}

weft_status wi_fft_definition_gpu(weft_context *ctx, const void *args) {
    wi_fft_engine engine = step_engine();
    engine.any_length = true;
    engine.lines = define_lines;
    return wi_fft_drive(ctx, &engine, (const wi_fft_args *)args);
}

weft_status wi_fft_stages(weft_context *ctx, const void *args) {
    wi_fft_engine engine = step_engine();
    engine.lines = stage_lines;
    return wi_fft_drive(ctx, &engine, (const wi_fft_args *)args);
}

weft_status wi_fft_shared(weft_context *ctx, const void *args) {
    wi_fft_engine engine = step_engine();
    engine.takes = takes_shared;
    engine.cuts = cuts_shared;
    engine.prepare = step_prepare;
    engine.lines = share_lines;
    return wi_fft_drive(ctx, &engine, (const wi_fft_args *)args);
}
