/* SPDX-License-Identifier: Apache-2.0 */
/* map on a GPU: 16-byte accesses, several in flight for each thread. iota rounds f64 to bf16: one
 * instruction where __CUDA_ARCH__ >= 900, and many elsewhere. */
#include "cuda/launch.cuh"
#include "cuda/memory.cuh"
#include "map/map_cuda.cuh"

constexpr int threads = 256;
constexpr int unroll = 4;
constexpr size_t narrow_cols = 512;
constexpr size_t max_blocks = 0x7fffffff;

/* How many elements a block processes: every thread has `unroll` vectors of each array. */
template <class T>
constexpr size_t chunk = (size_t)threads *unroll *wi_vector<T>::count;

/* A run of `count` elements, with all arrays 16-byte aligned. */
template <wi_map_op op, class T>
__device__ void aligned_run(const wi_map_params<T> &p, const T *x, const T *y, T *z, size_t count,
                            uint64_t first) {
    using Vector = wi_vector<T>;
    const size_t vectors = count / Vector::count;
    Vector a[unroll], b[unroll];
    if constexpr (wi_map_reads(op)) {
#pragma unroll
        for (int k = 0; k < unroll; k++) {
            const size_t v = threadIdx.x + (size_t)k * threads;
            if (v < vectors) {
                a[k] = ((const Vector *)x)[v];
                b[k] = ((const Vector *)y)[v];
            }
        }
    }
#pragma unroll
    for (int k = 0; k < unroll; k++) {
        const size_t v = threadIdx.x + (size_t)k * threads;
        if (v < vectors) {
            Vector out;
#pragma unroll
            for (int e = 0; e < Vector::count; e++)
                out.at[e] = wi_map_element<op>(p, a[k].at[e], b[k].at[e],
                                               first + v * Vector::count + (uint64_t)e);
            ((Vector *)z)[v] = out;
        }
    }
    const size_t i = vectors * Vector::count + threadIdx.x;
    if (i < count)
        z[i] = wi_map_element<op>(p, wi_map_reads(op) ? x[i] : T(), wi_map_reads(op) ? y[i] : T(),
                                  first + i);
}

/* A run of any alignment, one element at a time. */
template <wi_map_op op, class T>
__device__ void any_run(const wi_map_params<T> &p, const T *x, const T *y, T *z, size_t count,
                        uint64_t first) {
#pragma unroll 8
    for (size_t i = threadIdx.x; i < count; i += threads)
        z[i] = wi_map_element<op>(p, wi_map_reads(op) ? x[i] : T(), wi_map_reads(op) ? y[i] : T(),
                                  first + i);
}

/* A unit is one chunk of one row; blocks take units in turn. Chunks begin where z is at a 16-byte
 * boundary, so in a row that is not aligned only the first chunk goes element by element. */
template <wi_map_op op, class T>
__global__ void vector(wi_map_params<T> p, size_t chunks_per_row, size_t units) {
    for (size_t unit = blockIdx.x; unit < units; unit += gridDim.x) {
        const size_t row = unit / chunks_per_row;
        T *z = p.z + row * p.ldz;
        const size_t shift = wi_past_boundary(z);
        const size_t begin = unit % chunks_per_row * chunk<T>;
        const size_t from = begin > shift ? begin - shift : 0;
        if (from >= p.cols)
            continue;
        const size_t end = begin + chunk<T> - shift;
        const size_t count = (end < p.cols ? end : p.cols) - from;
        const T *x = wi_map_reads(op) ? p.x + row * p.ldx + from : nullptr;
        const T *y = wi_map_reads(op) ? p.y + row * p.ldy + from : nullptr;
        const uint64_t first = p.first + row * p.cols + from;
        if (wi_is_aligned(x) && wi_is_aligned(y) && wi_is_aligned(z + from))
            aligned_run<op>(p, x, y, z + from, count, first);
        else
            any_run<op>(p, x, y, z + from, count, first);
    }
}

/* Matrices with rows too short for a block: threads go through the elements regardless of rows. */
template <wi_map_op op, class T>
__global__ void narrow(wi_map_params<T> p) {
    const size_t count = p.rows * p.cols;
    const size_t stride = (size_t)gridDim.x * threads;
    for (size_t i = (size_t)blockIdx.x * threads + threadIdx.x; i < count; i += stride)
        wi_map_at<op>(p, i / p.cols, i % p.cols);
}

static unsigned grid_of(size_t blocks) {
    return (unsigned)(blocks < max_blocks ? blocks : max_blocks);
}

weft_status wi_map_vector(weft_context *ctx, const void *arguments) {
    const wi_map_args *args = (const wi_map_args *)arguments;
    return wi_with_unsigned_type(args->type, [=](auto tag) {
        using T = typename decltype(tag)::type;
        wi_map_params<T> p = wi_map_typed<T>(args);
        const bool reads = wi_map_reads(args->op);
        if (p.ldz == p.cols && (!reads || (p.ldx == p.cols && p.ldy == p.cols))) {
            p.cols *= p.rows;
            p.rows = 1;
        }
        /* A row that is not aligned may need one chunk more. */
        const size_t chunks = (p.cols + wi_vector<T>::count - 1 + chunk<T> - 1) / chunk<T>;
        const size_t units = chunks * p.rows;
        return wi_with_map_op(args->op, [=](auto o) {
            constexpr wi_map_op op = decltype(o)::op;
            if (p.rows > 1 && p.cols < narrow_cols)
                return WEFT_LAUNCH((narrow<op, T>), ctx,
                                   grid_of((p.rows * p.cols + threads - 1) / threads), threads, 0,
                                   p);
            return WEFT_LAUNCH((vector<op, T>), ctx, grid_of(units), threads, 0, p, chunks, units);
        });
    });
}
