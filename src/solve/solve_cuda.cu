/* SPDX-License-Identifier: Apache-2.0 */
/* What a system needs of its numbers, on a GPU, but for residuals. Largest and smallest elements do
 * not depend on the order in which they are found. */
#include <math.h>

#include "solve/solve_cuda.cuh"
#include "solve/solve_exact.h"

constexpr int threads = 256;
constexpr int side = 32, high = 8; /* of a tile, and of a block of threads */
#ifdef WEFT_EMU
constexpr size_t chunk = 16; /* so that its small matrices have several */
#else
constexpr size_t chunk = 512;        /* columns that a thread goes along */
#endif

/* ---- the range of rows, and entries that are not finite ---- */

static __device__ unsigned long long bits_of(double x) {
    return wi_bit_cast<unsigned long long>(x);
}

static __global__ void begin_range(size_t n, unsigned long long *most, unsigned long long *least) {
    const size_t i = (size_t)blockIdx.x * threads + threadIdx.x;
    if (i < n) {
        most[i] = 0;
        least[i] = bits_of((double)INFINITY);
    }
}

/* Numbers that are not negative have the order of their bits; NaN comes last. */
static __device__ void note(unsigned long long *most, unsigned long long *least, double size) {
    atomicMax(most, bits_of(size));
    if (size > 0)
        atomicMin(least, bits_of(size));
}

/* A thread for a part of a row: the threads of a warp read together if the matrix is stored by
 * columns. */
template <class T>
static __global__ void range_down(wi_typed_grid<T> a, unsigned long long *most,
                                  unsigned long long *least) {
    const size_t i = (size_t)blockIdx.x * threads + threadIdx.x, first = blockIdx.y * chunk;
    if (i >= a.g.rows)
        return;
    const size_t begin = wi_half_begin(a.g.half, i), end = wi_half_end(a.g.half, i, a.g.columns);
    double largest = 0, smallest = (double)INFINITY;
    for (size_t j = first > begin ? first : begin; j < end && j < first + chunk; j++) {
        const double size = fabs(a.at(i, j));
        largest = wi_larger(largest, size);
        smallest = size > 0 && size < smallest ? size : smallest;
    }
    note(most + i, least + i, largest);
    atomicMin(least + i, bits_of(smallest));
}

/* A warp for a row, where rows are stored without gaps. */
template <class T>
static __global__ void range_along(wi_typed_grid<T> a, unsigned long long *most,
                                   unsigned long long *least) {
    const size_t i = ((size_t)blockIdx.x * threads + threadIdx.x) / 32;
    if (i >= a.g.rows)
        return;
    const size_t end = wi_half_end(a.g.half, i, a.g.columns);
    double largest = 0, smallest = (double)INFINITY;
    for (size_t j = wi_half_begin(a.g.half, i) + (size_t)wi_lane(); j < end; j += 32) {
        const double size = fabs(a.at(i, j));
        largest = wi_larger(largest, size);
        smallest = size > 0 && size < smallest ? size : smallest;
    }
    largest = wi_warp_reduce(largest, [](double x, double y) { return wi_larger(x, y); });
    smallest = wi_warp_reduce(smallest, [](double x, double y) { return x < y ? x : y; });
    if (wi_lane() == 0) {
        most[i] = bits_of(largest);
        least[i] = bits_of(smallest);
    }
}

static weft_status rows_range(weft_context *ctx, const wi_grid *g, double *most, double *least) {
    unsigned long long *const top = (unsigned long long *)most;
    unsigned long long *const bottom = (unsigned long long *)least;
    const weft_status status = WEFT_LAUNCH(begin_range, ctx, (unsigned)wi_pieces(g->rows, threads),
                                           threads, 0, g->rows, top, bottom);
    if (status != WEFT_OK)
        return status;
    const dim3 down((unsigned)wi_pieces(g->rows, threads), (unsigned)wi_pieces(g->columns, chunk));
    const unsigned along = (unsigned)wi_pieces(g->rows, threads / 32);
    return wi_with_grid(g, [=](auto a) {
        using T = typename decltype(a)::type;
        return g->down == 1 ? WEFT_LAUNCH(range_down<T>, ctx, down, threads, 0, a, top, bottom)
                            : WEFT_LAUNCH(range_along<T>, ctx, along, threads, 0, a, top, bottom);
    });
}

static __global__ void begin_search(unsigned long long *at) {
    *at = ~0ull;
}

template <class T>
static __global__ void search(wi_typed_grid<T> a, unsigned long long *at) {
    const size_t stride = (size_t)gridDim.x * threads, count = a.g.rows * a.g.columns;
    for (size_t e = (size_t)blockIdx.x * threads + threadIdx.x; e < count; e += stride) {
        const size_t i = e % a.g.rows, j = e / a.g.rows;
        if (a.has(i, j) && !isfinite(a.raw(i, j)))
            atomicMin(at, (unsigned long long)e);
    }
}

static unsigned blocks_for(const weft_context *ctx, size_t count) {
    const size_t wanted = wi_pieces(count, threads), most = (size_t)ctx->gpu->multiprocessors * 16;
    return (unsigned)(wanted < most ? wanted : most);
}

static weft_status first_bad(weft_context *ctx, const wi_grid *g, uint64_t *at) {
    unsigned long long *const where = (unsigned long long *)at;
    const weft_status status = WEFT_LAUNCH(begin_search, ctx, 1, 1, 0, where);
    if (status != WEFT_OK)
        return status;
    return wi_with_grid(g, [=](auto a) {
        using T = typename decltype(a)::type;
        return WEFT_LAUNCH(search<T>, ctx, blocks_for(ctx, g->rows * g->columns), threads, 0, a,
                           where);
    });
}

/* ---- copies ---- */

/* Tiles go through shared memory, so that threads read and write one after another. */
template <class T, class To>
static __global__ void copy_tiles(wi_typed_grid<T> a, To *to, size_t ld) {
    WEFT_SHARED(double, tile, [side][side + 1]);
    const size_t tiles = wi_pieces(a.g.rows, side);
    const size_t row = blockIdx.x % tiles * side, column = blockIdx.x / tiles * side;
    const int u = (int)threadIdx.x % side, v = (int)threadIdx.x / side;
    const bool down = a.g.down == 1;
    for (int k = v; k < side; k += high) {
        const size_t i = row + (size_t)(down ? u : k), j = column + (size_t)(down ? k : u);
        if (i < a.g.rows && j < a.g.columns && a.has(i, j))
            tile[down ? k : u][down ? u : k] = a.at(i, j);
    }
    __syncthreads();
    for (int k = v; k < side; k += high) {
        const size_t i = row + (size_t)u, j = column + (size_t)k;
        if (i < a.g.rows && j < a.g.columns && a.has(i, j))
            to[i + j * ld] = (To)tile[k][u];
    }
}

static weft_status copy(weft_context *ctx, const wi_grid *g, weft_type type, void *to, size_t ld) {
    const unsigned blocks = (unsigned)(wi_pieces(g->rows, side) * wi_pieces(g->columns, side));
    return wi_with_grid(g, [=](auto a) {
        using T = typename decltype(a)::type;
        return wi_with_float(type, [=](auto tag) {
            using To = typename decltype(tag)::type;
            return WEFT_LAUNCH((copy_tiles<T, To>), ctx, blocks, side * high, 0, a, (To *)to, ld);
        });
    });
}

/* ---- the worst of columns ---- */

#ifdef WEFT_EMU
constexpr int column_threads = 64;
#else
constexpr int column_threads = 1024; /* there are few columns */
#endif

/* A block for a column; F gives the figure of a row, and combines two. */
template <class F>
static __global__ void __launch_bounds__(column_threads) worst_of_column(F f, size_t n) {
    using Figure = typename F::figure;
    WEFT_SHARED(Figure, part, [column_threads / 32]);
    const size_t j = blockIdx.x;
    Figure worst = f.none();
#pragma unroll 8
    for (size_t i = threadIdx.x; i < n; i += column_threads)
        worst = f.worse(worst, f.at(i, j));
    worst = wi_warp_reduce(worst, [=](Figure x, Figure y) { return f.worse(x, y); });
    if (wi_lane() == 0)
        part[threadIdx.x / 32] = worst;
    __syncthreads();
    if (threadIdx.x > 0)
        return;
    for (int k = 1; k < column_threads / 32; k++)
        worst = f.worse(worst, part[k]);
    f.to[j] = worst;
}

namespace {

/* Of doubles. */
struct largest_figure {
    using figure = double;
    double *to;

    __device__ double none() const {
        return 0;
    }
    __device__ double worse(double x, double y) const {
        return wi_larger(x, y);
    }
};

template <class T>
struct sizes : largest_figure {
    const T *x;
    size_t n;

    __device__ double at(size_t i, size_t j) const {
        return fabs((double)x[i + j * n]);
    }
};

struct errors : largest_figure {
    wi_misfit_args m;
    double tiny;

    __device__ double at(size_t i, size_t j) const {
        const size_t e = i + j * m.n;
        return wi_row_error(fabs(m.r[e]), m.size[e], fabs(m.c[e]), m.row_most[i] * m.most[j], tiny);
    }
};

template <class T>
struct exponents {
    using figure = int32_t;
    int32_t *to;
    wi_typed_grid<T> a;

    __device__ int32_t none() const {
        return WI_EXPONENT_OF_0;
    }
    __device__ int32_t worse(int32_t x, int32_t y) const {
        return x > y ? x : y;
    }
    __device__ int32_t at(size_t i, size_t j) const {
        const int32_t e = wi_exponent(a.raw(i, j));
        return e == WI_EXPONENT_OF_0 || e == WI_EXPONENT_OF_BAD ? e : e + a.power(i, j);
    }
};

} // namespace

static weft_status peaks(weft_context *ctx, const wi_grid *g, int32_t *power) {
    return wi_with_grid(g, [=](auto a) {
        using T = typename decltype(a)::type;
        return WEFT_LAUNCH(worst_of_column<exponents<T>>, ctx, (unsigned)g->columns, column_threads,
                           0, exponents<T>{power, a}, g->rows);
    });
}

static weft_status columns_most(weft_context *ctx, weft_type type, size_t n, size_t count,
                                const void *x, double *most) {
    return wi_with_float(type, [=](auto tag) {
        using T = typename decltype(tag)::type;
        return WEFT_LAUNCH(worst_of_column<sizes<T>>, ctx, (unsigned)count, column_threads, 0,
                           sizes<T>{{most}, (const T *)x, n}, n);
    });
}

static weft_status misfit(weft_context *ctx, const wi_misfit_args *m) {
    return WEFT_LAUNCH(worst_of_column<errors>, ctx, (unsigned)m->count, column_threads, 0,
                       errors{{m->error}, *m, 1000 * (double)m->n * 0x1p-53}, m->n);
}

/* ---- element by element ---- */

template <class F>
static __global__ void each(F f, size_t n, size_t count) {
    const size_t stride = (size_t)gridDim.x * threads;
    for (size_t e = (size_t)blockIdx.x * threads + threadIdx.x; e < n * count; e += stride)
        f.step(e % n, e / n, e);
}

template <class F>
static weft_status for_each(weft_context *ctx, F f, size_t n, size_t count) {
    return WEFT_LAUNCH(each<F>, ctx, blocks_for(ctx, n * count), threads, 0, f, n, count);
}

namespace {

template <class T>
struct narrowing {
    const double *r;
    const int32_t *power;
    T *d;

    __device__ void step(size_t, size_t j, size_t e) const {
        d[e] = (T)wi_times_power(r[e], -power[j]);
    }
};

template <class T>
struct adding {
    const T *d;
    const int32_t *power;
    bool first;
    double *z, *low;

    __device__ void step(size_t, size_t j, size_t e) const {
        if (!first && power[j] == WI_EXPONENT_OF_0)
            return;
        const double more = wi_times_power((double)d[e], power[j]);
        if (low)
            wi_add_to_pair(more, first, &z[e], &low[e]);
        else
            z[e] = first ? more : z[e] + more;
    }
};

template <class T>
struct settling {
    const int32_t *column_power, *shift;
    double *z;

    __device__ void step(size_t i, size_t j, size_t e) const {
        const int power = (column_power ? column_power[i] : 0) + shift[j];
        z[e] = wi_times_power((double)(T)wi_times_power(z[e], power), -power);
    }
};

template <class T>
struct storing {
    wi_answer x;

    __device__ void step(size_t i, size_t j, size_t e) const {
        const int power = (x.column_power ? x.column_power[i] : 0) + x.shift[j];
        ((T *)x.x)[i * x.down + j * x.across] = (T)wi_times_power(x.z[e], power);
    }
};

struct weighing {
    size_t n, count;
    const double *r, *size, *most;
    double slack;
    double *w;

    __device__ void step(size_t i, size_t, size_t) const {
        for (size_t j = 0; j < count; j++)
            if (most[j] > 0)
                w[i] = wi_larger(w[i], (fabs(r[i + j * n]) + slack * size[i + j * n]) / most[j]);
    }
};

} // namespace

static weft_status narrow(weft_context *ctx, weft_type type, size_t n, size_t count,
                          const double *r, const int32_t *power, void *d) {
    return wi_with_float(type, [=](auto tag) {
        using T = typename decltype(tag)::type;
        return for_each(ctx, narrowing<T>{r, power, (T *)d}, n, count);
    });
}

static weft_status add(weft_context *ctx, weft_type type, size_t n, size_t count, const void *d,
                       const int32_t *power, bool first, double *z, double *low) {
    return wi_with_float(type, [=](auto tag) {
        using T = typename decltype(tag)::type;
        return for_each(ctx, adding<T>{(const T *)d, power, first, z, low}, n, count);
    });
}

static weft_status settle(weft_context *ctx, weft_type type, size_t n, size_t count,
                          const int32_t *column_power, const int32_t *shift, double *z) {
    return wi_with_float(type, [=](auto tag) {
        using T = typename decltype(tag)::type;
        return for_each(ctx, settling<T>{column_power, shift, z}, n, count);
    });
}

static weft_status store(weft_context *ctx, const wi_answer *x) {
    return wi_with_float(x->type, [=](auto tag) {
        using T = typename decltype(tag)::type;
        return for_each(ctx, storing<T>{*x}, x->n, x->count);
    });
}

static weft_status weigh(weft_context *ctx, size_t n, size_t count, const double *r,
                         const double *size, const double *most, double slack, double *w) {
    return for_each(ctx, weighing{n, count, r, size, most, slack, w}, n, 1);
}

const wi_system_place wi_system_on_cuda = {rows_range,
                                           first_bad,
                                           copy,
                                           wi_system_multiply_cuda,
                                           wi_system_room_bytes_cuda,
                                           wi_system_wide_cuda,
                                           peaks,
                                           columns_most,
                                           misfit,
                                           narrow,
                                           add,
                                           settle,
                                           store,
                                           weigh,
                                           wi_system_survey_cuda};
