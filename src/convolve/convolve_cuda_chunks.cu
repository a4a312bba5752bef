/* SPDX-License-Identifier: Apache-2.0 */
/* fused for filters so high that the sums of all output rows that a row belongs to leave registers
 * for few warps (convolve_rows.cuh). A block goes down a strip of the image, sixteen rows at a
 * time. First a thread filters sixteen neighbouring pixels of a row, by the filter's row, and puts
 * the results in shared memory, where those of the rows above still are; then it takes eight output
 * rows of two columns. Both times a pixel that a thread has in a register serves eight or
 * sixteen sums, and a weight sixteen, so that nearly all instructions are multiply-adds; and warps
 * are many, for sums are few. The order of additions is that of fused. */
#include "convolve/convolve_cuda.cuh"
#include "convolve/convolve_sizes.h"
#include "cuda/async.cuh"

constexpr int sums = 16; /* of a thread; rows of a step */
constexpr int quad = 4;  /* pixels of a copy */
constexpr int ahead = 2; /* steps whose pixels are in shared memory or on their way */
constexpr int width = 256, threads = width; /* of a strip */
constexpr int strip_quads = width / quad, sums_quads = sums / quad;
static_assert(threads * sums == width * sums, "a thread has as many sums by rows as by columns");

namespace {

__host__ __device__ constexpr int round_up(int n, int to) {
    return (n + to - 1) / to * to;
}

/* What a filter's side decides. */
template <int side>
struct shape {
    static constexpr int reach = side / 2;
    static constexpr int margin = round_up(reach, quad); /* columns of x on either side */
    static constexpr int quads = (width + 2 * margin) / quad, pitch = quads + quads / sums_quads;
    /* Steps whose filtered rows output rows are made of, and rows that the first has too many. */
    static constexpr int steps = (side - 1 + sums - 1) / sums + 1;
    static constexpr int spare = (steps - 1) * sums - (side - 1);
    static constexpr int pixels = sums * pitch * quad; /* of a step, in shared memory */
    static constexpr int filtered = sums * width;
    static constexpr size_t bytes = (size_t)(ahead * pixels + steps * filtered) * sizeof(float);
};

template <int side>
struct params {
    wi_convolve_images m;
    size_t strips, bands; /* across and down */
    int band;             /* rows of a band */
    int shift, down;      /* columns and rows of pixels that y lacks on the left and above */
    bool is_aligned;      /* x: rows begin at multiples of 16 bytes */
    bool is_plain;        /* y is f32, and pairs of its columns begin at multiples of 8 bytes */
    float row[side], column[side];
};

/* Where quad q of a row of pixels lies in shared memory: so that eight threads that read every
 * fourth quad do not meet a bank twice. */
__host__ __device__ constexpr int spread(int q) {
    return q + q / sums_quads;
}

/* And of a filtered row: so that neither eight threads that write every fourth quad nor a warp that
 * reads neighbouring columns do. */
__host__ __device__ constexpr int place(int q) {
    return q ^ (q >> 3 & 3);
}

/* Quad q of row r of a step, in shared memory. */
template <int side>
__device__ inline float *pixel_quad(float *step, int r, int q) {
    return step + (r * shape<side>::pitch + spread(q)) * quad;
}

/* Begins to copy a row's quads where some may lie beyond the image, or not begin at multiples of 16
 * bytes. */
template <int side>
__device__ void bring_any(const params<side> &p, const float *x, int first, int row, float *to) {
    using S = shape<side>;
#pragma unroll 1
    for (int k = (int)threadIdx.x; k < sums * S::quads; k += threads) {
        const int r = k / S::quads, q = k % S::quads, e = first - S::margin + q * quad;
        const int there = wi_convolve_pixel(p.m.border, row + r, p.m.height);
        const float *const line = x + (size_t)(there < 0 ? 0 : there) * p.m.ldx;
        float *const at = pixel_quad<side>(to, r, q);
        if (there < 0 || (p.is_aligned && e >= 0 && e + quad <= p.m.width)) {
            wi_async_copy<16>(at, there < 0 ? x : line + e, there >= 0);
            continue;
        }
        for (int v = 0; v < quad; v++) {
            const int from = wi_convolve_pixel(p.m.border, e + v, p.m.width);
            wi_async_copy<4>(at + v, line + (from < 0 ? 0 : from), from >= 0);
        }
    }
}

/* How a thread brings pixels of a strip, sixteen rows at a time. Inside the image it has a quad of
 * every fourth row, and perhaps one of those at the two sides. */
template <int side>
struct bringer {
    using S = shape<side>;
    static constexpr int apart = threads / strip_quads, beside_quads = S::quads - strip_quads;
    static_assert(beside_quads * sums <= threads && sums % apart == 0, "at most one at the sides");
    const params<side> &p;
    const float *x;             /* the image */
    int first, row;             /* where the strip begins; the first of the next rows */
    bool is_inside, has_beside; /* all columns are, and begin well; a quad at the sides */
    const float *next, *beside; /* if so, this thread's in those rows */
    int to, to_beside;          /* and where they go in a step */

    __device__ bringer(const params<side> &params_, const float *image, int begin, int top)
        : p(params_), x(image), first(begin), row(top) {
        const unsigned t = threadIdx.x, q = t % strip_quads, r = t / strip_quads;
        const unsigned of = t % beside_quads + strip_quads, line = t / beside_quads;
        const ptrdiff_t ldx = (ptrdiff_t)p.m.ldx, begins = row * ldx + first - S::margin;
        is_inside = p.is_aligned && first >= S::margin && first + width + S::margin <= p.m.width;
        has_beside = line < sums;
        next = x + (begins + (ptrdiff_t)r * ldx + q * quad);
        beside = x + (begins + (ptrdiff_t)line * ldx + of * quad);
        to = ((int)r * S::pitch + spread((int)q)) * quad;
        to_beside = ((int)line * S::pitch + spread((int)of)) * quad;
    }

    __device__ inline void bring(float *step) {
        if (is_inside && row >= 0 && row + sums <= p.m.height) {
            const float *line = next;
#pragma unroll
            for (int k = 0; k < sums; k += apart) {
                wi_async_copy<16>(step + to + k * S::pitch * quad, line);
                line += apart * p.m.ldx;
            }
            if (has_beside)
                wi_async_copy<16>(step + to_beside, beside);
        } else {
            bring_any(p, x, first, row, step);
        }
        row += sums;
        next += sums * p.m.ldx;
        beside += sums * p.m.ldx;
    }
};

struct alignas(16) four {
    float at[quad];
};

/* Filters this thread's sixteen pixels of a row, those of its warp's half or quarter. */
template <int side>
__device__ inline void filter_row(const params<side> &p, const float *pixels, float *filtered) {
    using S = shape<side>;
    constexpr int skipped = S::margin - S::reach;
    constexpr int count = round_up(skipped + sums + side - 1, quad);
    const int row = (int)(threadIdx.x / (width / sums));
    const int first = (int)(threadIdx.x % (width / sums)) * sums_quads;
    float x[count], sum[sums] = {};
    const float *const from = pixels + (row * S::pitch + spread(first)) * quad;
#pragma unroll
    for (int q = 0; q < count / quad; q++) {
        const four some =
            *(const four *)(from + spread(q) * quad); /* for first is a multiple of 4 */
#pragma unroll
        for (int v = 0; v < quad; v++)
            x[q * quad + v] = some.at[v];
    }
#pragma unroll
    for (int i = 0; i < side; i++)
#pragma unroll
        for (int k = 0; k < sums; k++)
            sum[k] = wi_fma(p.row[i], x[skipped + i + k], sum[k]);
#pragma unroll
    for (int q = 0; q < sums_quads; q++) {
        const four some = {
            {sum[q * quad], sum[q * quad + 1], sum[q * quad + 2], sum[q * quad + 3]}};
        *(four *)(filtered + row * width + (place(first) * quad ^ q * quad)) = some;
    }
}

/* What a thread has of the columns: two that are neighbours, eight output rows. */
constexpr int pair = 2, high = sums / pair, halves = sums / high;

struct alignas(8) two {
    float at[pair];
};

/* Filters this thread's columns; the oldest of the steps in the ring is at `oldest`. */
template <int side>
__device__ inline void filter_columns(const params<side> &p, const float *ring, int oldest,
                                      two (&sum)[high]) {
    using S = shape<side>;
    constexpr int count = high + side - 1, before = S::spare % high;
    constexpr int units = (before + count + high - 1) / high, all = S::steps * halves;
    const int column = (int)(threadIdx.x % (width / pair)) * pair;
    const float *const from = ring + place(column / quad) * quad + column % quad;
    int unit = oldest * halves + (int)(threadIdx.x / (width / pair)) + S::spare / high;
    two x[count];
#pragma unroll
    for (int u = 0; u < units; u++, unit++) {
        const float *const rows = from + (unit < all ? unit : unit - all) * high * width;
#pragma unroll
        for (int k = 0; k < high; k++)
            if (u * high + k >= before && u * high + k < before + count)
                x[u * high + k - before] = *(const two *)(rows + k * width);
    }
#pragma unroll
    for (int k = 0; k < high; k++)
        sum[k] = {};
#pragma unroll
    for (int j = 0; j < side; j++)
#pragma unroll
        for (int k = 0; k < high; k++)
#pragma unroll
            for (int v = 0; v < pair; v++)
                sum[k].at[v] = wi_fma(p.column[j], x[j + k].at[v], sum[k].at[v]);
}
/* Writes up to `rows` rows of the thread's columns, of which the first is `column` of y and the
 * first output element `at`. */
template <int side>
__device__ inline void put_columns(const params<side> &p, size_t at, int column, int rows,
                                   const two (&sum)[high]) {
    if (p.is_plain && rows >= high && column + pair <= p.m.out_width) {
        float *to = (float *)p.m.y + at;
#pragma unroll
        for (int k = 0; k < high; k++, to += p.m.ldy)
            *(two *)to = sum[k];
        return;
    }
#pragma unroll
    for (int k = 0; k < high; k++)
#pragma unroll
        for (int v = 0; v < pair; v++)
            if (k < rows && column + v >= 0 && column + v < p.m.out_width)
                wi_convolve_store(p.m, at + (size_t)k * p.m.ldy + v, sum[k].at[v]);
}

} // namespace

/* A band of a strip of one image. */
template <int side>
static __global__ void __launch_bounds__(threads, 2)
    chunks(const __grid_constant__ params<side> p) {
    using S = shape<side>;
    WEFT_DYNAMIC_SHARED(shared);
    float *const pixels = (float *)shared, *const ring = pixels + ahead * S::pixels;
    const wi_convolve_tile_at at = wi_convolve_tile_of(blockIdx.x, p.strips, p.bands);
    const float *const x = (const float *)p.m.x + at.plane * p.m.apart_x;
    const int first = (int)at.across * width;
    const int column = first + (int)(threadIdx.x % (width / pair)) * pair - p.shift;
    int row = (int)at.down * p.band; /* of y: the first of those that are next */
    const int end = p.m.out_height - row < p.band ? p.m.out_height : row + p.band;
    const int top = row + p.down - S::reach - S::spare; /* the first row of x */
    const int steps = (end - row + sums - 1) / sums + S::steps - 1;
    row += (int)(threadIdx.x / (width / pair)) * high; /* this thread's */
    size_t to = at.plane * p.m.apart_y + (size_t)row * p.m.ldy + (size_t)(ptrdiff_t)column;
    bringer<side> source(p, x, first, top);
    for (int t = 0; t < ahead; t++) {
        source.bring(pixels + t * S::pixels);
        wi_async_commit();
    }
    int slot = 0; /* of the ring: where the next filtered rows go */
#pragma unroll 1
    for (int t = 0; t < steps; t++) {
        float *const now = pixels + t % ahead * S::pixels;
        wi_async_wait<ahead - 1>();
        __syncthreads();
        filter_row(p, now, ring + slot * S::filtered);
        __syncthreads();
        if (t + ahead < steps)
            source.bring(now);
        wi_async_commit();
        slot = slot + 1 == S::steps ? 0 : slot + 1;
        if (t < S::steps - 1)
            continue;
        two sum[high];
        filter_columns(p, ring, slot, sum);
        put_columns(p, to, column, end - row, sum);
        row += sums;
        to += sums * p.m.ldy;
    }
}

/* How high bands are: so high that rows above a band, which are filtered again, weigh little, and
 * that every multiprocessor has the same number of blocks. */
static int band_of(size_t rows, size_t columns, size_t resident) {
    constexpr size_t most = 1024, least = 2 * sums;
    const size_t turns = wi_convolve_pieces(rows * columns, most * resident);
    const size_t even = turns * resident / columns, bands = even < 1 ? 1 : even;
    const size_t band = wi_convolve_pieces(wi_convolve_pieces(rows, bands), sums) * sums;
    return (int)(band < least ? least : band);
}

template <int side>
static weft_status run(weft_context *ctx, const wi_convolve_args *args) {
    using S = shape<side>;
    params<side> p = {};
    size_t resident = 1;
    p.m = wi_convolve_images_of(args);
    p.shift = S::reach - (int)args->left;
    p.down = S::reach - (int)args->above;
    p.is_aligned =
        ((uintptr_t)args->x | args->ldx * sizeof(float) | args->apart_x * sizeof(float)) % 16 == 0;
    p.is_plain = args->out == WEFT_F32 && p.shift == 0 &&
                 ((uintptr_t)args->y | args->ldy * sizeof(float) | args->apart_y * sizeof(float)) %
                         sizeof(two) ==
                     0;
    for (int k = 0; k < side; k++) {
        p.row[k] = (float)args->row[k];
        p.column[k] = (float)args->column[k];
    }
    weft_status status = wi_grant_shared(ctx, "chunks<side>", chunks<side>, S::bytes);
    if (status == WEFT_OK)
        status = wi_resident_blocks(ctx, chunks<side>, threads, S::bytes, &resident);
    if (status != WEFT_OK)
        return status;
    p.strips = wi_convolve_pieces(args->width, width);
    p.band = band_of(args->out_height, p.strips * args->images, resident);
    p.bands = wi_convolve_pieces(args->out_height, (size_t)p.band);
    const size_t blocks = p.strips * p.bands * args->images;
    status = wi_convolve_check_grid(ctx, blocks);
    return status == WEFT_OK
               ? WEFT_LAUNCH(chunks<side>, ctx, (unsigned)blocks, threads, S::bytes, p)
               : status;
}

/* By the kernel of the filter's side, which is one of these. */
template <int... sides>
static weft_status choose(weft_context *ctx, const wi_convolve_args *args) {
    weft_status status = WEFT_EUNSUPPORTED;
    ((status = args->filter_width == (size_t)sides ? run<sides>(ctx, args) : status), ...);
    return status;
}

weft_status wi_convolve_chunks(weft_context *ctx, const wi_convolve_args *args) {
    return choose<WI_CONVOLVE_CHUNKS_F32>(ctx, args);
}
