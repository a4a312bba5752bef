/* SPDX-License-Identifier: Apache-2.0 */
/* convolve on a GPU, for every call: a block has a tile of the output in registers, and brings one
 * piece of the filter after the other to shared memory, with the pixels that the piece lies on. A
 * thread has 4 x 4 pixels: an access to shared memory brings 4 pixels, which meet 4 weights, and
 * weights meet 4 rows. */
#include "convolve/convolve_cuda.cuh"
#include "core/gpu.h"

constexpr int lanes = 32, warps = 8, threads = lanes * warps;
constexpr int quad = 4; /* neighbouring pixels of a thread, and weights of a step */
constexpr int high = 4; /* rows of a thread */
constexpr int tile_width = lanes * quad, tile_height = warps * high;
constexpr int piece_rows = 16, piece_columns = 32; /* of a filter */
constexpr int long_columns = 64;                   /* of a piece of one row */
constexpr size_t most_blocks = 0x7fffffff;
constexpr size_t put_bytes = 3072; /* of weights that a kernel takes as parameters */

namespace {

template <class Sum>
struct params {
    wi_convolve_images m;
    const Sum *filters;
    size_t count, blocks_across, blocks_down; /* of filters; of tiles */
    size_t planes;                            /* images times channels */
    int filter_width, filter_height, left, above;
    int piece_width, piece_height, pitch;
};

template <class Sum>
struct alignas(16) pack {
    Sum at[quad];
};

/* Weights as a parameter of a kernel. */
template <class Sum>
struct handful {
    Sum at[put_bytes / sizeof(Sum)];
};

} // namespace

template <class Sum>
static __global__ void put(const __grid_constant__ handful<Sum> from, Sum *to, int n) {
    for (int i = (int)threadIdx.x; i < n; i += threads)
        to[i] = from.at[i];
}

template <class Sum>
static weft_status put_all(weft_context *ctx, const double *from, size_t n, Sum *to) {
    constexpr size_t most = sizeof(handful<Sum>) / sizeof(Sum);
    weft_status status = WEFT_OK;
    for (size_t at = 0; at < n && status == WEFT_OK; at += most) {
        const size_t count = n - at < most ? n - at : most;
        handful<Sum> some = {};
        for (size_t i = 0; i < count; i++)
            some.at[i] = (Sum)from[at + i];
        status = WEFT_LAUNCH(put<Sum>, ctx, 1, threads, 0, some, to + at, (int)count);
    }
    return status;
}

weft_status wi_convolve_put_filters(weft_context *ctx, const wi_convolve_args *args,
                                    void **filters) {
    const size_t n = args->filters * args->filter_width * args->filter_height;
    const size_t width = args->doubles ? sizeof(double) : sizeof(float);
    const weft_status status = wi_gpu_scratch(ctx, &wi_convolve_ladder, n * width, filters);
    if (status != WEFT_OK)
        return status;
    return args->doubles ? put_all(ctx, args->filter, n, (double *)*filters)
                         : put_all(ctx, args->filter, n, (float *)*filters);
}

weft_status wi_convolve_check_grid(weft_context *ctx, size_t blocks) {
    if (blocks <= most_blocks)
        return WEFT_OK;
    return wi_fail(ctx, WEFT_EUNSUPPORTED,
                   "weft_convolve: the images need %zu blocks of threads, of which a launch has "
                   "2147483647 at most; pass fewer images at a time",
                   blocks);
}

/* Brings the pixels that a piece of the filter meets: `rows` rows of `columns` from (row, column)
 * of the plane on; and zeros behind a row, which whole packs reach. */
template <class Sum>
static __device__ void take_pixels(const params<Sum> &p, size_t plane, int row, int column,
                                   int rows, int columns, Sum *tile) {
    const wi_convolve_images &m = p.m;
    const size_t image = plane / m.channels * m.apart_x, channel = plane % m.channels;
    for (int r = (int)threadIdx.x / lanes; r < rows; r += warps) {
        const int from = wi_convolve_pixel(m.border, row + r, m.height);
        const size_t first = image + (size_t)(from < 0 ? 0 : from) * m.ldx + channel;
        for (int c = (int)threadIdx.x % lanes; c < p.pitch; c += lanes) {
            const int at =
                from < 0 || c >= columns ? -1 : wi_convolve_pixel(m.border, column + c, m.width);
            tile[r * p.pitch + c] =
                at < 0 ? (Sum)0
                       : wi_convolve_load<Sum>(m.type, m.x, first + (size_t)at * m.channels);
        }
    }
}

/* The products of up to four neighbouring weights with 4 x 4 pixels. `now` and `next` are the
 * pixels that they meet. */
template <class Sum>
static __device__ inline void add_products(Sum (&sum)[quad], const Sum (&weight)[quad],
                                           const pack<Sum> &now, const pack<Sum> &next, int count) {
#pragma unroll
    for (int i = 0; i < quad; i++) {
        if (i >= count)
            break;
#pragma unroll
        for (int v = 0; v < quad; v++)
            sum[v] = wi_fma(
                weight[i], i + v < quad ? now.at[(i + v) % quad] : next.at[(i + v) % quad], sum[v]);
    }
}

/* All products of a piece, whose weights are rows of `width`, with the pixels of a thread. */
template <class Sum>
static __device__ void add_piece(const Sum *weights, int width, int height, const Sum *pixels,
                                 int pitch, Sum (&sum)[high][quad]) {
    for (int j = 0; j < height; j++) {
        pack<Sum> now[high];
#pragma unroll
        for (int r = 0; r < high; r++)
            now[r] = *(const pack<Sum> *)(pixels + (r * warps + j) * pitch);
        for (int i = 0; i < width; i += quad) {
            const int count = width - i < quad ? width - i : quad;
            Sum weight[quad];
#pragma unroll
            for (int k = 0; k < quad; k++)
                weight[k] = k < count ? weights[j * width + i + k] : (Sum)0;
#pragma unroll
            for (int r = 0; r < high; r++) {
                const pack<Sum> next =
                    *(const pack<Sum> *)(pixels + (r * warps + j) * pitch + i + quad);
                if (count == quad)
                    add_products(sum[r], weight, now[r], next, quad);
                else
                    add_products(sum[r], weight, now[r], next, count);
                now[r] = next;
            }
        }
    }
}

template <class Sum>
static __device__ void put_pixels(const params<Sum> &p, size_t plane, int row, int column,
                                  const Sum (&sum)[high][quad]) {
    const wi_convolve_images &m = p.m;
    const size_t image = plane / m.channels * m.apart_y, channel = plane % m.channels;
#pragma unroll
    for (int r = 0; r < high; r++)
#pragma unroll
        for (int v = 0; v < quad; v++)
            if (row + r * warps < m.out_height && column + v < m.out_width)
                wi_convolve_store(m,
                                  image + (size_t)(row + r * warps) * m.ldy +
                                      (size_t)(column + v) * m.channels + channel,
                                  sum[r][v]);
}

/* One tile of one channel of one image. */
template <class Sum>
static __global__ void __launch_bounds__(threads) blocks(const __grid_constant__ params<Sum> p) {
    WEFT_DYNAMIC_SHARED(shared);
    Sum *const pixels = (Sum *)shared;
    const int rows = tile_height + p.piece_height - 1;
    Sum *const weights = pixels + rows * p.pitch;
    const wi_convolve_tile_at at = wi_convolve_tile_of(blockIdx.x, p.blocks_across, p.blocks_down);
    const Sum *const filter =
        p.filters + at.plane % p.count * (size_t)p.filter_width * (size_t)p.filter_height;
    const int row = (int)at.down * tile_height, column = (int)at.across * tile_width;
    const int x = (int)threadIdx.x % lanes * quad, y = (int)threadIdx.x / lanes;
    Sum sum[high][quad] = {};
    for (int j = 0; j < p.filter_height; j += p.piece_height)
        for (int i = 0; i < p.filter_width; i += p.piece_width) {
            const int width =
                p.filter_width - i < p.piece_width ? p.filter_width - i : p.piece_width;
            const int height =
                p.filter_height - j < p.piece_height ? p.filter_height - j : p.piece_height;
            __syncthreads();
            take_pixels(p, at.plane, row - p.above + j, column - p.left + i,
                        tile_height + height - 1, tile_width + width - 1, pixels);
            for (int k = (int)threadIdx.x; k < width * height; k += threads)
                weights[k] = filter[(size_t)(j + k / width) * p.filter_width + i + k % width];
            __syncthreads();
            add_piece(weights, width, height, pixels + y * p.pitch + x, p.pitch, sum);
        }
    put_pixels(p, at.plane, row + y, column + x, sum);
}

template <class Sum>
static weft_status run_blocks(weft_context *ctx, const wi_convolve_args *args) {
    params<Sum> p = {};
    void *filters = NULL;
    weft_status status = wi_convolve_put_filters(ctx, args, &filters);
    if (status != WEFT_OK)
        return status;
    p.m = wi_convolve_images_of(args);
    p.filters = (const Sum *)filters;
    p.count = args->filters;
    p.planes = args->images * args->channels;
    p.filter_width = (int)args->filter_width;
    p.filter_height = (int)args->filter_height;
    p.left = (int)args->left;
    p.above = (int)args->above;
    /* Sums go along whole rows of the filter: only pieces of one row may be shorter. */
    const bool is_wide = p.filter_width > piece_columns;
    p.piece_width = !is_wide                        ? p.filter_width
                    : p.filter_width > long_columns ? long_columns
                                                    : p.filter_width;
    p.piece_height = is_wide ? 1 : p.filter_height < piece_rows ? p.filter_height : piece_rows;
    p.pitch = (int)wi_convolve_pieces((size_t)(tile_width + p.piece_width - 1), quad) * quad + quad;
    p.blocks_across = wi_convolve_pieces(args->out_width, tile_width);
    p.blocks_down = wi_convolve_pieces(args->out_height, tile_height);
    const size_t count = p.blocks_across * p.blocks_down * p.planes;
    const size_t elements = (size_t)(tile_height + p.piece_height - 1) * (size_t)p.pitch +
                            (size_t)(p.piece_width * p.piece_height);
    status = wi_convolve_check_grid(ctx, count);
    if (status != WEFT_OK)
        return status;
    return WEFT_LAUNCH(blocks<Sum>, ctx, (unsigned)count, threads, elements * sizeof(Sum), p);
}

weft_status wi_convolve_blocks(weft_context *ctx, const void *arguments) {
    const wi_convolve_args *const args = (const wi_convolve_args *)arguments;
    return args->doubles ? run_blocks<double>(ctx, args) : run_blocks<float>(ctx, args);
}

/* Rows, then columns, each as a filter of one row or column. */
weft_status wi_convolve_two_pass(weft_context *ctx, const void *arguments) {
    const wi_convolve_args *const args = (const wi_convolve_args *)arguments;
    void *between = NULL;
    weft_status status =
        wi_gpu_alloc(ctx, &between,
                     wi_convolve_between(args) * (args->doubles ? sizeof(double) : sizeof(float)));
    if (status != WEFT_OK)
        return status;
    const wi_convolve_args of_rows = wi_convolve_of_rows(args, between);
    const wi_convolve_args of_columns = wi_convolve_of_columns(args, between);
    status = wi_convolve_blocks(ctx, &of_rows);
    if (status == WEFT_OK)
        status = wi_convolve_blocks(ctx, &of_columns);
    const weft_status freed = wi_gpu_free(ctx, between);
    return status == WEFT_OK ? freed : status;
}
