/* SPDX-License-Identifier: Apache-2.0 */
/* Many sorts in one call, for any mixture of lengths; the host reads nothing back.
 *
 * The array is divided into windows. A block sorts all short segments that begin in a window: if
 * all are tiny, each thread sorts one segment at a time (sort_segments_tiny.cuh), else teams of
 * threads do (sort_segments_teams.cuh). At most one segment longer than a window begins in a
 * window; it is cut into chunks, which are sorted and then merged two by two. At most one later
 * chunk of one long segment and the first chunk of the next begin in the same window, so two blocks
 * for each window are enough for all chunks.
 *
 * Offsets in device memory are checked by the kernel that finds where segments begin. If they are
 * invalid, nothing is sorted and all elements are copied. */
#include "sort/sort_segments_long.cuh"
#include "sort/sort_segments_tiny.cuh"

/* ---- where segments begin ---- */

constexpr unsigned finders = 128, most_checkers = 2048;

static unsigned finding_blocks(size_t n) {
    return (unsigned)((n + finders - 1) / finders);
}

/* Does this thread see that offsets are invalid? */
static __device__ bool check_offsets(const uint64_t *offsets, size_t count, size_t n) {
    const size_t stride = (size_t)gridDim.x * blockDim.x;
    const size_t first = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    bool wrong = first == 0 && (offsets[0] != 0 || offsets[count] != n);
#pragma unroll 8
    for (size_t s = first; s < count; s += stride)
        wrong |= offsets[s] > offsets[s + 1];
    return wrong;
}

/* The first segment that begins at `place` or behind it. Looks first where it would be if all
 * segments had one length, and from there in steps that grow. */
static __device__ size_t find_start(const uint64_t *offsets, size_t count, size_t n, size_t place) {
    const size_t guess = (size_t)((double)count * ((double)place / (double)n));
    size_t low = 0, high = count, step = 1;
    if (guess < count && offsets[guess] < place) {
        low = guess + 1;
        for (; low + step < count && offsets[low + step] < place; step *= 4)
            low += step + 1;
        high = low + step < count ? low + step : count;
    } else {
        high = guess < count ? guess : count;
        for (; step <= high && offsets[high - step] >= place; step *= 4)
            high -= step;
        low = step <= high ? high - step + 1 : 0;
    }
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (offsets[middle] < place)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Also finds out whether offsets are valid, if they are to be checked; then what is found else does
 * not count. A segment longer than a window reaches over the end of one, and so is the last that
 * begins before it. */
template <class U, class V>
__global__ void find_starts(segments<U, V> g, size_t n, bool checks, findings f) {
    const size_t w = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    const bool wrong = checks && check_offsets(g.offsets, g.count, n);
    unsigned rounds = 0;
    if (w <= g.windows) {
        const size_t s = find_start(g.offsets, g.count, n, w * window<U, V>);
        const uint64_t begin = g.offsets[s];
        g.starts[w] = s;
        g.firsts[w] = begin;
        const size_t length = s > 0 ? (size_t)(begin - g.offsets[s - 1]) : 0;
        if (length > window<U, V> && length <= n) /* longer: the offsets are invalid */
            rounds = 1 + (unsigned)wi_merge_passes(length, chunk_size<U, V>);
    }
    rounds = wi_warp_max(rounds);
    if (rounds > 0 && wi_lane() == 0)
        atomicMax(f.rounds, rounds);
    if (wrong)
        atomicMax(f.wrong, 1u);
}

/* ---- the call ---- */

/* Blocks of a kernel for so many windows or chunks: as many as the device holds at once, each of
 * which takes as many of these as the others. Where nothing is long or short they end at once, but
 * each that the device must begin takes its time: 16,384 took 9 us of an H200 in each of some 30
 * kernels; and 4,224, which are no whole number of rounds, took longer for what is long. */
template <class... Parameters>
static weft_status sorting_blocks(weft_context *ctx, void (*kernel)(Parameters...), size_t many,
                                  unsigned *blocks) {
    size_t resident;
    const weft_status status = wi_resident_blocks(ctx, kernel, wi_merge_threads, 0, &resident);
    *blocks = (unsigned)(many < resident ? many : resident);
    return status;
}

template <class U, class V>
static weft_status launch_all(weft_context *ctx, const segments<U, V> &g, const findings &f,
                              size_t n, bool checked) {
    const unsigned enough = finding_blocks(checked ? 0 : g.count + 1),
                   checkers = enough < most_checkers ? enough : most_checkers,
                   least = finding_blocks(g.windows + 1);
    unsigned blocks = 0;
    weft_status status = sorting_blocks(ctx, sort_long<U, V>, 2 * g.windows, &blocks);
    if (status == WEFT_OK)
        status = WEFT_LAUNCH((find_starts<U, V>), ctx, checkers > least ? checkers : least, finders,
                             0, g, n, !checked, f);
    if (status == WEFT_OK)
        status =
            WEFT_LAUNCH((sort_short<U, V>), ctx, (unsigned)g.windows, wi_merge_threads, 0, g, n, f);
    return status == WEFT_OK
               ? WEFT_LAUNCH((sort_long<U, V>), ctx, blocks, wi_merge_threads, 0, g, f)
               : status;
}

static const char findings_key = 0;

template <class U, class V>
static weft_status sort_segments(weft_context *ctx, const wi_segments_args *args) {
    const wi_sort_args *const sort = &args->sort;
    const size_t n = sort->n, windows = (n + window<U, V> - 1) / window<U, V>;
    const bool may_be_long = n > window<U, V>;
    size_t bytes = 0;
    const size_t starts = wi_take(&bytes, (windows + 1) * sizeof(uint64_t));
    const size_t firsts = wi_take(&bytes, (windows + 1) * sizeof(uint64_t));
    const size_t keys = wi_take(&bytes, may_be_long ? n * sizeof(U) : 0);
    const size_t values = wi_take(&bytes, may_be_long ? n * sort->value_bytes : 0);
    if (sort->bytes) {
        *sort->bytes += bytes;
        return WEFT_OK;
    }
    void *block = NULL, *scratch = NULL;
    weft_status status =
        wi_gpu_scratch(ctx, &findings_key, 5 * sizeof(unsigned long long), &scratch);
    if (status == WEFT_OK)
        status = wi_gpu_alloc(ctx, &block, bytes);
    if (status != WEFT_OK)
        return status;
    char *const memory = (char *)block;
    const bool has_values = sort->value_bytes > 0;
    const segments<U, V> g = {args->offsets,
                              args->segments,
                              (uint64_t *)(memory + starts),
                              (uint64_t *)(memory + firsts),
                              windows,
                              {(const U *)sort->x, (const V *)sort->values, 0},
                              {(U *)sort->y, has_values ? (V *)sort->values_out : NULL},
                              {(U *)(memory + keys), has_values ? (V *)(memory + values) : NULL},
                              wi_key_map_of<U>(sort->type, sort->descending)};
    unsigned long long *const taken = (unsigned long long *)scratch;
    unsigned *const words = (unsigned *)(taken + 2);
    status = launch_all(ctx, g, findings{words, words + 2, words + 4, taken, taken + 1}, n,
                        args->checked);
    const weft_status freed = wi_gpu_free(ctx, block);
    return status == WEFT_OK ? freed : status;
}

weft_status wi_sort_segments_by_length(weft_context *ctx, const void *arguments) {
    const wi_segments_args *const args = (const wi_segments_args *)arguments;
    return wi_with_sort_sizes(
        weft_type_size(args->sort.type), args->sort.value_bytes, [=](auto key, auto value) {
            return sort_segments<typename decltype(key)::type, typename decltype(value)::type>(
                ctx, args);
        });
}
