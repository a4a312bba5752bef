/* SPDX-License-Identifier: Apache-2.0 */
/* convolve on a GPU, for every call: a block has a tile of the output in registers, and brings one
 * piece of the filter after the other to shared memory, with the pixels that the piece lies on. A
 * thread has 8 rows of 4 pixels: an access to shared memory brings 4 pixels of a row of x, which
 * meet 4 weights for each of the output rows that they belong to. */
#include "convolve/convolve_cuda.cuh"
#include "convolve/convolve_terms.h"
#include "core/gpu.h"

constexpr int lanes = 32, warps = 8, threads = lanes * warps;
constexpr int quad = 4; /* neighbouring pixels of a thread, and weights of a step */
constexpr int tile_width = lanes * quad;
constexpr int most_rows = 32, most_weights = 512; /* of a piece of the filter */
constexpr size_t most_blocks = 0x7fffffff;
constexpr size_t put_bytes = 3072; /* of weights that a kernel takes as parameters */

/* Rows of a thread, and columns of a piece: shared memory has room for half as many f64. */
template <class Sum>
constexpr int high = 32 / (int)sizeof(Sum);
template <class Sum>
constexpr int tile_height = warps *high<Sum>;
template <class Sum>
constexpr int most_columns = 512 / (int)sizeof(Sum);

namespace {

template <class Sum>
struct params {
    wi_convolve_images m;
    const Sum *filters;
    size_t count, blocks_across, blocks_down; /* of filters; of tiles */
    size_t planes;                            /* images times channels */
    size_t summed, apart_summed;              /* see wi_convolve_args */
    int filter_width, filter_height, left, above;
    int piece_width, piece_height;
    int pitch, weights_room; /* of pixels, and for weights, in shared memory */
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
    const size_t sets = args->summed ? args->summed : 1;
    const size_t n = sets * args->filters * args->filter_width * args->filter_height;
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

/* A piece of the filter of one set of images, and the output tile that it is added to. */
struct filter_piece {
    size_t set;
    int row, column, width, height; /* of the filter */
    int top, left, rows, columns;   /* of the output; what exists of the tile */
};

__host__ __device__ constexpr int round_up(int n, int to) {
    return (n + to - 1) / to * to;
}

/* Brings the pixels that a piece meets, and zeros behind a row, which whole packs reach. */
template <class Sum>
static __device__ void take_pixels(const params<Sum> &p, size_t plane, const filter_piece &f,
                                   Sum *tile) {
    const wi_convolve_images &m = p.m;
    const size_t image = f.set * p.apart_summed + plane / m.channels * m.apart_x;
    const size_t channel = plane % m.channels;
    const int rows = round_up(f.rows, high<Sum>) + f.height - 1;
    const int columns = round_up(f.columns, quad) + f.width - 1;
    const int padded = round_up(columns, quad) + quad;
    const int top = f.top - p.above + f.row, left = f.left - p.left + f.column;
    for (int r = (int)threadIdx.x / lanes; r < rows; r += warps) {
        const int from = wi_convolve_pixel(m.border, top + r, m.height);
        const size_t first = image + (size_t)(from < 0 ? 0 : from) * m.ldx + channel;
        for (int c = (int)threadIdx.x % lanes; c < padded; c += lanes) {
            const int at =
                from < 0 || c >= columns ? -1 : wi_convolve_pixel(m.border, left + c, m.width);
            tile[r * p.pitch + c] =
                at < 0 ? (Sum)0
                       : wi_convolve_load<Sum>(m.type, m.x, first + (size_t)at * m.channels);
        }
    }
}

/* Brings its weights, in rows of whole packs. */
template <class Sum>
static __device__ void take_weights(const params<Sum> &p, const Sum *filter, const filter_piece &f,
                                    Sum *weights) {
    const int padded = round_up(f.width, quad);
    for (int k = (int)threadIdx.x; k < padded * f.height; k += threads) {
        const int j = k / padded, i = k % padded;
        weights[k] =
            i < f.width ? filter[(size_t)(f.row + j) * p.filter_width + f.column + i] : (Sum)0;
    }
}

/* The products of up to four weights with 4 pixels. `now` and `next` are the pixels they meet. */
template <class Sum>
static __device__ inline void add_quad(Sum (&sum)[quad], const pack<Sum> &weight,
                                       const pack<Sum> &now, const pack<Sum> &next, int count) {
#pragma unroll
    for (int i = 0; i < quad; i++) {
        if (i >= count)
            break;
#pragma unroll
        for (int v = 0; v < quad; v++)
            sum[v] =
                wi_fma(weight.at[i],
                       i + v < quad ? now.at[(i + v) % quad] : next.at[(i + v) % quad], sum[v]);
    }
}

/* Adds the products of a row of pixels with one row of weights for each of `rows` output rows; that
 * of the next output row is the one before. */
template <int rows, class Sum>
static __device__ void add_line(const Sum *line, const Sum *weights, int width,
                                Sum (&sum)[rows][quad]) {
    const int padded = round_up(width, quad);
    pack<Sum> now = *(const pack<Sum> *)line;
    int i = 0;
    for (; i + quad <= width; i += quad) {
        const pack<Sum> next = *(const pack<Sum> *)(line + i + quad);
#pragma unroll
        for (int o = 0; o < rows; o++)
            add_quad(sum[o], *(const pack<Sum> *)(weights - o * padded + i), now, next, quad);
        now = next;
    }
    if (i < width) {
        const pack<Sum> next = *(const pack<Sum> *)(line + i + quad);
#pragma unroll
        for (int o = 0; o < rows; o++)
            add_quad(sum[o], *(const pack<Sum> *)(weights - o * padded + i), now, next, width - i);
    }
}

/* All products of a piece with the pixels of a thread. Of each output row they are added in the
 * order of the filter's rows. */
template <class Sum>
static __device__ void add_piece(const filter_piece &f, const Sum *weights, const Sum *pixels,
                                 int pitch, Sum (&sum)[high<Sum>][quad]) {
    const int padded = round_up(f.width, quad);
    for (int t = 0; t < f.height + high<Sum> - 1; t++) {
        const Sum *const line = pixels + t * pitch, *const row = weights + t * padded;
        if (t >= high<Sum> - 1 && t < f.height) {
            add_line<high<Sum>>(line, row, f.width, sum);
            continue;
        }
#pragma unroll
        for (int o = 0; o < high<Sum>; o++)
            if (t - o >= 0 && t - o < f.height) {
                Sum(&one)[1][quad] = *(Sum(*)[1][quad]) & sum[o];
                add_line<1>(line, row - o * padded, f.width, one);
            }
    }
}

template <class Sum>
static __device__ void put_pixels(const params<Sum> &p, size_t plane, int row, int column,
                                  const Sum (&sum)[high<Sum>][quad]) {
    const wi_convolve_images &m = p.m;
    const size_t image = plane / m.channels * m.apart_y, channel = plane % m.channels;
#pragma unroll
    for (int r = 0; r < high<Sum>; r++)
#pragma unroll
        for (int v = 0; v < quad; v++)
            if (row + r < m.out_height && column + v < m.out_width)
                wi_convolve_store(m,
                                  image + (size_t)(row + r) * m.ldy +
                                      (size_t)(column + v) * m.channels + channel,
                                  sum[r][v]);
}

/* Adds all products of one set of images. */
template <class Sum>
static __device__ void add_set(const params<Sum> &p, size_t plane, filter_piece f, char *shared,
                               Sum (&sum)[high<Sum>][quad]) {
    Sum *const weights = (Sum *)shared;
    Sum *const pixels = weights + p.weights_room;
    const Sum *const filter = p.filters + (f.set * p.count + plane % p.count) *
                                              (size_t)p.filter_width * (size_t)p.filter_height;
    const int x = (int)threadIdx.x % lanes * quad, y = (int)threadIdx.x / lanes * high<Sum>;
    for (f.row = 0; f.row < p.filter_height; f.row += p.piece_height)
        for (f.column = 0; f.column < p.filter_width; f.column += p.piece_width) {
            const int width = p.filter_width - f.column, height = p.filter_height - f.row;
            f.width = width < p.piece_width ? width : p.piece_width;
            f.height = height < p.piece_height ? height : p.piece_height;
            __syncthreads();
            take_pixels(p, plane, f, pixels);
            take_weights(p, filter, f, weights);
            __syncthreads();
            if (y < f.rows && x < f.columns)
                add_piece(f, weights, pixels + y * p.pitch + x, p.pitch, sum);
        }
}

/* One tile of one channel of one image. */
template <class Sum>
static __global__ void __launch_bounds__(threads, 2) blocks(const __grid_constant__ params<Sum> p) {
    WEFT_DYNAMIC_SHARED(shared);
    const wi_convolve_tile_at at = wi_convolve_tile_of(blockIdx.x, p.blocks_across, p.blocks_down);
    const int x = (int)threadIdx.x % lanes * quad, y = (int)threadIdx.x / lanes * high<Sum>;
    filter_piece f = {};
    f.top = (int)at.down * tile_height<Sum>;
    f.left = (int)at.across * tile_width;
    f.rows = p.m.out_height - f.top < tile_height<Sum> ? p.m.out_height - f.top : tile_height<Sum>;
    f.columns = p.m.out_width - f.left < tile_width ? p.m.out_width - f.left : tile_width;
    Sum sum[high<Sum>][quad] = {};
#pragma unroll 1
    for (f.set = 0; f.set < p.summed; f.set++)
        add_set(p, at.plane, f, (char *)shared, sum);
    put_pixels(p, at.plane, f.top + y, f.left + x, sum);
}

/* Sums go along whole rows of the filter, so that only pieces of one row may be shorter. */
template <class Sum>
static void cut_filter(params<Sum> *p) {
    const int rows = most_weights / round_up(p->filter_width, quad);
    p->piece_width = p->filter_width < most_columns<Sum> ? p->filter_width : most_columns<Sum>;
    p->piece_height = p->filter_width > most_columns<Sum> || rows < 1 ? 1 : rows;
    if (p->piece_height > most_rows)
        p->piece_height = most_rows;
    if (p->piece_height > p->filter_height)
        p->piece_height = p->filter_height;
    p->weights_room = round_up(p->piece_width, quad) * p->piece_height;
    p->pitch = round_up(tile_width + p->piece_width - 1, quad) + quad;
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
    p.summed = args->summed ? args->summed : 1;
    p.apart_summed = args->apart_summed;
    p.filter_width = (int)args->filter_width;
    p.filter_height = (int)args->filter_height;
    p.left = (int)args->left;
    p.above = (int)args->above;
    cut_filter(&p);
    p.blocks_across = wi_convolve_pieces(args->out_width, tile_width);
    p.blocks_down = wi_convolve_pieces(args->out_height, tile_height<Sum>);
    const size_t count = p.blocks_across * p.blocks_down * p.planes;
    const size_t elements =
        (size_t)p.weights_room + (size_t)(tile_height<Sum> + p.piece_height - 1) * (size_t)p.pitch;
    status = wi_convolve_check_grid(ctx, count);
    if (status != WEFT_OK)
        return status;
    return WEFT_LAUNCH(blocks<Sum>, ctx, (unsigned)count, threads, elements * sizeof(Sum), p);
}

weft_status wi_convolve_blocks(weft_context *ctx, const void *arguments) {
    const wi_convolve_args *const args = (const wi_convolve_args *)arguments;
    return args->doubles ? run_blocks<double>(ctx, args) : run_blocks<float>(ctx, args);
}

/* Rows, then columns, each as a filter of one row or column. With several terms the filtered rows
 * of one lie behind those of the one before, and the columns add them up. */
static weft_status run_passes(weft_context *ctx, const wi_convolve_args *args, size_t terms,
                              const double *rows, const double *columns) {
    const size_t one = wi_convolve_between(args);
    const size_t bytes = one * (args->doubles ? sizeof(double) : sizeof(float));
    void *between = NULL;
    weft_status status = wi_gpu_alloc(ctx, &between, terms * bytes);
    if (status != WEFT_OK)
        return status;
    for (size_t t = 0; t < terms && status == WEFT_OK; t++) {
        wi_convolve_args of_rows = wi_convolve_of_rows(args, (char *)between + t * bytes);
        of_rows.filter = rows + t * args->filters * args->filter_width;
        status = wi_convolve_blocks(ctx, &of_rows);
    }
    wi_convolve_args of_columns = wi_convolve_of_columns(args, between);
    of_columns.filter = columns;
    of_columns.summed = terms;
    of_columns.apart_summed = one;
    if (status == WEFT_OK)
        status = wi_convolve_blocks(ctx, &of_columns);
    const weft_status freed = wi_gpu_free(ctx, between);
    return status == WEFT_OK ? freed : status;
}

weft_status wi_convolve_two_pass(weft_context *ctx, const void *arguments) {
    const wi_convolve_args *const args = (const wi_convolve_args *)arguments;
    return run_passes(ctx, args, 1, args->row, args->column);
}

weft_status wi_convolve_low_rank_cuda(weft_context *ctx, const wi_convolve_args *args) {
    return run_passes(ctx, args, args->terms, args->term_rows, args->term_columns);
}
