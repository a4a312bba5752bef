/* SPDX-License-Identifier: Apache-2.0 */
/* exact_scan by wide integers, for any data and any alignment: the digits of all tiles' sums, each
 * digit scanned over the tiles by itself, and then every tile from there. Inside a tile each warp
 * scans a part by folds, or by digits if folds cannot do it. Does all tiles, or those that `bulk`
 * has left. */
#include "exact/exact_scan_plan.cuh"

constexpr int wide_warps = wi_tile_warps, wide_threads = 32 * wide_warps;
constexpr int column_threads = 256;

/* The columns of a tile: the digits of its sum, and counts of what is special. */
enum {
    COLUMN_NAN,
    COLUMN_PLUS,
    COLUMN_MINUS,
    COLUMN_OTHER,
    COLUMNS_MORE
};
template <class T>
constexpr int columns_of = wi_line_of<T>::count + COLUMNS_MORE;

template <class T>
struct exact_wide {
    const T *x;
    T *y;
    size_t n;
    uint64_t tiles;
    bool exclusive;
    int64_t *column; /* of tile t column c at [c * tiles + t]: the tile's, then of all before it */
    int64_t *all;    /* the columns of all tiles and what comes before them */
    const T *init;   /* or NULL */
    const int64_t *carry_in;
    int64_t *carry_out;
    const wi_exact_plan *plan; /* of bulk, which has done all tiles before its cut; or NULL */
};

/* The first tile to do. */
template <class T>
__device__ inline uint64_t first_tile(const exact_wide<T> &w) {
    return w.plan ? w.plan->cut : 0;
}

/* The word that a column stands for. */
template <class T>
__device__ inline int word_of(int column) {
    constexpr int count = wi_line_of<T>::count;
    constexpr int special[COLUMNS_MORE] = {WI_EXACT_NAN, WI_EXACT_PLUS, WI_EXACT_MINUS,
                                           WI_EXACT_OTHER};
    return column < count ? wi_line_of<T>::first + column : special[column - count];
}

/* Adds m 2^exponent to columns in shared memory. */
template <class T>
__device__ inline void add_to_columns(int64_t *column, bool negative, uint64_t m, int exponent) {
    const int at = exponent - wi_line_of<T>::unit, first = at / 32;
    int64_t word[3] = {};
    wi_exact_add_integer(word, negative, m, WI_EXACT_UNIT + at % 32);
    for (int k = 0; k < 3; k++)
        if (word[k] != 0)
            atomicAdd((unsigned long long *)&column[first + k], (unsigned long long)word[k]);
}

/* The same for any x. It is long, and needed in several places. */
template <class T>
__device__ __attribute__((noinline)) void add_to_columns(int64_t *column, double x) {
    constexpr int count = wi_line_of<T>::count, unit = wi_line_of<T>::unit;
    const uint64_t bits = wi_bit_cast<uint64_t>(x);
    uint64_t m;
    if ((bits >> 52 & 2047) == 2047) {
        const int which = x != x ? COLUMN_NAN : x > 0 ? COLUMN_PLUS : COLUMN_MINUS;
        atomicAdd((unsigned long long *)&column[count + which], 1ull);
        return;
    }
    int exponent = wi_exact_split(bits, &m);
    for (; m != 0 && exponent < unit; exponent++)
        m /= 2;
    if (m != 0)
        add_to_columns<T>(column, bits >> 63, m, exponent);
}

/* Adds the sum of a part to columns in shared memory. Called by a warp. */
template <class T>
__device__ inline void add_part(const wi_exact_part<T> &x, const wi_part_range &range,
                                int64_t *column) {
    const int top_2 = wi_window_top(2, WI_NO_EXPONENT, range.above);
    const int top_4 = wi_window_top(WI_FOLD_MOST, WI_NO_EXPONENT, range.above);
    bool other = false;
    if (range.finite && wi_window_fits(2, top_2, range.least)) {
        double sum[2];
        wi_exact_total<2>(x, top_2, sum);
        if (wi_lane() < 2)
            add_to_columns<T>(column, wi_lane() == 0 ? sum[0] : sum[1]);
    } else if (range.finite && wi_window_fits(WI_FOLD_MOST, top_4, range.least)) {
        double sum[WI_FOLD_MOST];
        wi_exact_total<WI_FOLD_MOST>(x, top_4, sum);
        if (wi_lane() == 0)
            for (int k = 0; k < WI_FOLD_MOST; k++)
                add_to_columns<T>(column, sum[k]);
    } else {
#pragma unroll 1
        for (int r = 0; r < wi_part_rows; r++)
            for (int e = 0; e < wi_vector<T>::count; e++)
                add_to_columns<T>(column, x.at(r, e));
    }
#pragma unroll
    for (int r = 0; r < wi_part_rows; r++)
#pragma unroll
        for (int e = 0; e < wi_vector<T>::count; e++)
            other |= range.above != WI_NO_EXPONENT ||
                     wi_bit_cast<uint64_t>(x.at(r, e)) != (uint64_t)1 << 63;
    if (__any_sync(wi_all_lanes, other) && wi_lane() == 0)
        atomicAdd((unsigned long long *)&column[wi_line_of<T>::count + COLUMN_OTHER], 1ull);
}

/* Makes digits of columns; the last one has the sign. */
template <class T>
__device__ inline void carry_columns(int64_t *column) {
    int64_t carry = 0;
    for (int k = 0; k < wi_line_of<T>::count - 1; k++) {
        const int64_t sum = column[k] + carry;
        column[k] = sum & UINT32_MAX;
        carry = sum >> 32;
    }
    column[wi_line_of<T>::count - 1] += carry;
}

/* The columns of every tile. */
template <class T>
__global__ void __launch_bounds__(wide_threads) exact_tile_sums(exact_wide<T> w) {
    WEFT_SHARED(int64_t, sum, [columns_of<T>]);
    const bool aligned = wi_is_aligned(w.x);
    for (uint64_t tile = first_tile(w) + blockIdx.x; tile < w.tiles; tile += gridDim.x) {
        wi_exact_part<T> x;
        for (int k = (int)threadIdx.x; k < columns_of<T>; k += wide_threads)
            sum[k] = 0;
        __syncthreads();
        wi_exact_read_part(&x, w.x, w.n, tile, (int)threadIdx.x / 32, aligned);
        add_part(x, wi_exact_measure(x), sum);
        __syncthreads();
        if (threadIdx.x == 0)
            carry_columns<T>(sum);
        __syncthreads();
        for (int k = (int)threadIdx.x; k < columns_of<T>; k += wide_threads)
            w.column[(size_t)k * w.tiles + tile] = sum[k];
        __syncthreads();
    }
}

/* What comes before the call, in every column: in shared memory. Called by all threads. */
template <class T>
__device__ inline void start_columns(const exact_wide<T> &w, const wi_exact_start &start,
                                     int64_t *column) {
    constexpr int count = wi_line_of<T>::count;
    const wi_exact_plan *const plan = w.plan;
    const bool from_plan = plan && plan->cut > 0;
    for (int k = (int)threadIdx.x; k < columns_of<T>; k += column_threads) {
        const int word = word_of<T>(k);
        if (from_plan)
            column[k] = k < count
                            ? (int64_t)wi_exact_line_of(*plan).from(wi_line_of<T>::unit + 32 * k)
                        : k == count + COLUMN_OTHER ? plan->any_carry
                                                    : 0;
        else
            column[k] = w.carry_in ? w.carry_in[word] : start.word[word];
        if (k == count - 1) /* the sign goes on in later words */
            column[k] = (int64_t)(int32_t)(uint32_t)(uint64_t)column[k];
    }
    __syncthreads();
    if (threadIdx.x == 0 && !from_plan && !w.carry_in && w.init) {
        const double init = (double)wi_load(*w.init);
        add_to_columns<T>(column, init);
        column[count + COLUMN_OTHER] += wi_bit_cast<uint64_t>(init) != (uint64_t)1 << 63;
    }
    __syncthreads();
}

/* A block for each column: replaces it by the sums of all tiles before each. */
template <class T>
__global__ void __launch_bounds__(column_threads)
    exact_scan_columns(exact_wide<T> w, wi_exact_start start) {
    WEFT_SHARED(int64_t, of_warp, [column_threads / 32]);
    WEFT_SHARED(int64_t, shared_start, [columns_of<T>]);
    int64_t *const column = w.column + (size_t)blockIdx.x * w.tiles;
    const int warp = (int)threadIdx.x / 32;
    const auto add = [](int64_t a, int64_t b) { return a + b; };
    if (first_tile(w) >= w.tiles)
        return;
    start_columns(w, start, shared_start);
    int64_t before = shared_start[blockIdx.x];
    for (uint64_t first = first_tile(w); first < w.tiles; first += column_threads) {
        const uint64_t tile = first + threadIdx.x;
        const int64_t own = tile < w.tiles ? column[tile] : 0;
        const int64_t with = wi_warp_scan(own, add);
        if (wi_lane() == 31)
            of_warp[warp] = with;
        __syncthreads();
        int64_t of_block = 0, of_warps = 0;
        for (int k = 0; k < column_threads / 32; k++) {
            of_warps += k < warp ? of_warp[k] : 0;
            of_block += of_warp[k];
        }
        if (tile < w.tiles)
            column[tile] = before + of_warps + with - own;
        before += of_block;
        __syncthreads();
    }
    if (threadIdx.x == 0)
        w.all[blockIdx.x] = before;
}

/* Stores the words of all that came, for the next call. By one thread. */
template <class T>
__device__ inline void hand_on(const exact_wide<T> &w, const wi_exact_start &start, int64_t *sum) {
    constexpr int count = wi_line_of<T>::count, first = wi_line_of<T>::first;
    const int64_t count_before =
        w.carry_in ? w.carry_in[WI_EXACT_COUNT] : start.word[WI_EXACT_COUNT] + (w.init ? 1 : 0);
    for (int k = 0; k < columns_of<T>; k++)
        sum[k] = w.all[k];
    carry_columns<T>(sum);
    const bool negative = sum[count - 1] < 0;
    for (int k = 0; k < WI_EXACT_DIGITS; k++)
        w.carry_out[k] = k < first                ? 0
                         : k >= first + count     ? (negative ? wi_exact_ones(k) : 0)
                         : k == first + count - 1 ? sum[count - 1] & UINT32_MAX
                                                  : sum[k - first];
    for (int k = count; k < columns_of<T>; k++)
        w.carry_out[word_of<T>(k)] = sum[k];
    w.carry_out[WI_EXACT_COUNT] = count_before + (int64_t)w.n;
}

/* Every tile from its columns on. */
template <class T>
__global__ void __launch_bounds__(wide_threads)
    exact_scan_tiles(exact_wide<T> w, wi_exact_start start) {
    constexpr int count = wi_line_of<T>::count;
    WEFT_SHARED(int64_t, sum, [wide_warps][columns_of<T>]);
    WEFT_SHARED(uint32_t, digit, [wide_warps][count]);
    const int part = (int)threadIdx.x / 32;
    const bool aligned = wi_is_aligned(w.x);
    const bool any =
        w.carry_in ? w.carry_in[WI_EXACT_COUNT] != 0 : start.word[WI_EXACT_COUNT] != 0 || w.init;
    for (uint64_t tile = first_tile(w) + blockIdx.x; tile < w.tiles; tile += gridDim.x) {
        wi_exact_part<T> x;
        for (int k = wi_lane(); k < columns_of<T>; k += 32)
            sum[part][k] = 0;
        __syncwarp();
        wi_exact_read_part(&x, w.x, w.n, tile, part, aligned);
        const wi_part_range range = wi_exact_measure(x);
        add_part(x, range, sum[part]);
        __syncthreads();
        for (int k = (int)threadIdx.x; k < columns_of<T>; k += wide_threads) {
            int64_t before = w.column[(size_t)k * w.tiles + tile];
            for (int p = 0; p < wide_warps; p++) {
                const int64_t own = sum[p][k];
                sum[p][k] = before;
                before += own;
            }
        }
        __syncthreads();
        if (wi_lane() == 0)
            carry_columns<T>(sum[part]);
        __syncwarp();
        for (int k = wi_lane(); k < count; k += 32)
            digit[part][k] = (uint32_t)(uint64_t)sum[part][k];
        __syncwarp();
        const int64_t *const more = sum[part] + count;
        const wi_exact_before before = {more[COLUMN_NAN] != 0, more[COLUMN_PLUS] != 0,
                                        more[COLUMN_MINUS] != 0, any || tile > 0 || part > 0,
                                        more[COLUMN_OTHER] != 0};
        const wi_exact_line line = {digit[part], count, wi_line_of<T>::unit};
        wi_exact_scan<T>({w.x, w.y, w.n, w.exclusive}, &x, range, tile, part, line, before,
                         [&] { return wi_exact_folds_of<2>(line, range.above); });
        __syncthreads();
    }
    if (w.carry_out && first_tile(w) < w.tiles && blockIdx.x == 0 && threadIdx.x == 0)
        hand_on(w, start, sum[0]);
}

/* The sums of all tiles, a column of them after the other, and of all. */
template <class T>
static weft_status take_sums(weft_context *ctx, const wi_exact_scan_args *args, void **sums) {
    static const char key = 0;
    const size_t tiles = (size_t)wi_tiles_of(args->n, wi_tile_elements<T>);
    return wi_gpu_scratch(ctx, &key, (tiles + 1) * columns_of<T> * sizeof(int64_t), sums);
}

template <class T>
static weft_status run_wide(weft_context *ctx, const wi_exact_scan_args *args,
                            const wi_exact_plan *plan) {
    const uint64_t tiles = wi_tiles_of(args->n, wi_tile_elements<T>);
    void *scratch;
    weft_status status = take_sums<T>(ctx, args, &scratch);
    if (status != WEFT_OK)
        return status;
    const wi_exact_start start = wi_exact_start_of(args);
    const exact_wide<T> w = {(const T *)args->x,
                             (T *)args->y,
                             args->n,
                             tiles,
                             args->kind == WEFT_EXCLUSIVE,
                             (int64_t *)scratch,
                             (int64_t *)scratch + (size_t)tiles * columns_of<T>,
                             (const T *)args->init,
                             args->carry_in,
                             args->carry_out,
                             plan};
    /* Of what another rung leaves to do there is seldom any, and blocks cost time to start. */
    const uint64_t most = (plan ? 2 : 16) * (uint64_t)ctx->gpu->multiprocessors;
    const unsigned blocks = (unsigned)(tiles < most ? tiles : most);
    status = WEFT_LAUNCH(exact_tile_sums<T>, ctx, blocks, wide_threads, 0, w);
    if (status == WEFT_OK)
        status =
            WEFT_LAUNCH(exact_scan_columns<T>, ctx, columns_of<T>, column_threads, 0, w, start);
    if (status == WEFT_OK)
        status = WEFT_LAUNCH(exact_scan_tiles<T>, ctx, blocks, wide_threads, 0, w, start);
    return status;
}

weft_status wi_exact_scan_room(weft_context *ctx, const wi_exact_scan_args *args) {
    return wi_with_float_type(args->type, [=](auto tag) {
        void *scratch;
        return take_sums<typename decltype(tag)::type>(ctx, args, &scratch);
    });
}

weft_status wi_exact_scan_rest(weft_context *ctx, const wi_exact_scan_args *args,
                               const wi_exact_plan *plan) {
    return wi_with_float_type(args->type, [=](auto tag) {
        return run_wide<typename decltype(tag)::type>(ctx, args, plan);
    });
}

weft_status wi_exact_scan_wide(weft_context *ctx, const void *arguments) {
    return wi_exact_scan_rest(ctx, (const wi_exact_scan_args *)arguments, NULL);
}
