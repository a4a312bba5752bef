/* SPDX-License-Identifier: Apache-2.0 */
/* exact_scan in one pass by persistent blocks (cuda/ring.cuh), as scan's own `bulk`. Tiles pass on
 * sums as integers of 184 bits, whose unit is chosen from a sample of the elements: those of
 * ordinary data fit. From the first tile whose sum does not, this kernel writes nothing, and `wide`
 * does the rest. */
#include "cuda/ring.cuh"
#include "exact/exact_scan_span.cuh"

/* Found by experiment for scan, on an H200. */
struct exact_scan_shape {
    static constexpr int slots = 6, preparers = 0, preparer_warps = 1, totallers = 6, lookers = 1,
                         starters = 0, finishers = 2, finisher_warps = wi_tile_warps,
                         parts = wi_tile_warps;
};

/* What totallers tell finishers. */
struct exact_tile_notes {
    wi_part_range range[wi_tile_warps];
    bool fits;
};

/* A span in the window that a part below 2^above needs. Each lane has a digit. */
__device__ inline wi_exact_in_folds<2> span_folds(const wi_exact_span *span, int unit, int above) {
    constexpr int count = wi_exact_span::count, low_bits = WI_FOLD_GAP;
    const int lane = wi_lane();
    const uint32_t mine = lane < count ? span->digit[lane] : 0;
    const uint32_t digit = lane == count - 1 ? wi_unmarked(mine) : mine;
    const uint32_t sign = (int32_t)wi_shuffle(digit, count - 1) < 0 ? UINT32_MAX : 0;
    const unsigned used = __ballot_sync(wi_all_lanes, lane < count && digit != sign);
    const int last = used ? 31 - __clz((int)used) : 0;
    const uint32_t top_digit = wi_shuffle(digit, last) ^ sign;
    wi_exact_in_folds<2> f;
    f.top = wi_window_top(2, unit + 32 * last + 32 - __clz((int)top_digit), above);
    /* 64 bits from 2^exponent on; all lanes ask for the same */
    const auto from = [&](int exponent) {
        const int at = exponent - unit, k = at >= 0 ? at / 32 : -((31 - at) / 32);
        const int shift = at - 32 * k;
        uint32_t d[3];
#pragma unroll
        for (int j = 0; j < 3; j++) {
            const uint32_t seen = wi_shuffle(digit, (k + j) & 31);
            d[j] = k + j < 0 ? 0 : k + j < count ? seen : sign;
        }
        const uint64_t low = d[0] | (uint64_t)d[1] << 32;
        return low >> shift | (shift ? (uint64_t)d[2] << (64 - shift) : 0);
    };
    const int unit_0 = wi_fold_unit(f.top, 0), unit_1 = wi_fold_unit(f.top, 1);
    const int left = unit_1 - unit - 32 * lane; /* bits of this lane's digit below the last fold */
    const uint32_t mask = left >= 32 ? UINT32_MAX : left > 0 ? ((uint32_t)1 << left) - 1 : 0;
    f.fold[0] = (double)(int64_t)from(unit_0) * wi_exact_power(unit_0);
    f.fold[1] =
        (double)(int64_t)(from(unit_1) & (((uint64_t)1 << low_bits) - 1)) * wi_exact_power(unit_1);
    f.more = __any_sync(wi_all_lanes, (digit & mask) != 0);
    if (f.more)
        f.fold[1] += wi_exact_power(unit_1 - 1);
    return f;
}

/* The sum of a part that two folds cannot add up. */
template <class T>
__device__ __attribute__((noinline)) bool
span_by_four(const wi_exact_part<T> *x, wi_part_range range, int unit, wi_exact_span *span) {
    const int top = wi_window_top(WI_FOLD_MOST, WI_NO_EXPONENT, range.above);
    double sum[WI_FOLD_MOST];
    if (!wi_window_fits(WI_FOLD_MOST, top, range.least))
        return false;
    wi_exact_total<WI_FOLD_MOST>(*x, top, sum);
    bool fits = true;
    for (int k = 0; k < WI_FOLD_MOST; k++)
        fits = wi_add_to_span(span, unit, sum[k]) && fits;
    return fits;
}

template <class T>
__device__ inline wi_part_sum sum_of_part(const wi_exact_part<T> &x, const wi_part_range &range,
                                          int unit) {
    wi_part_sum sum = {{0, 0}, wi_exact_span_of(wi_span_zero)};
    if (range.above == WI_NO_EXPONENT) {
        bool other = false;
        for (int r = 0; r < wi_part_rows; r++)
            for (int e = 0; e < wi_vector<T>::count; e++)
                other |= wi_bit_cast<uint64_t>(x.at(r, e)) != (uint64_t)1 << 63;
        if (!__any_sync(wi_all_lanes, other))
            sum.span = wi_exact_span_of(wi_span_nothing);
        return sum;
    }
    const int top = wi_window_top(2, WI_NO_EXPONENT, range.above);
    const bool fits = wi_part_is_in_span(range, unit);
    if (fits && wi_window_fits(2, top, range.least))
        wi_exact_total<2>(x, top, sum.fold);
    else if (!fits || !span_by_four(&x, range, unit, &sum.span))
        sum.span = wi_exact_span_of(wi_span_misfit);
    return sum;
}

template <class T>
struct exact_scan_block {
    using Vector = wi_vector<T>;
    using ring_block = wi_ring_block<exact_scan_shape, wi_exact_span_sum, wi_exact_span>;

    const ring_block &ring;
    const wi_exact_pass<T> &b;
    unsigned char *memory; /* `slots` tiles */
    exact_tile_notes *notes;
    int unit;

    __device__ bool is_whole(uint64_t tile) const {
        return (tile + 1) * wi_tile_elements<T> <= b.a.n;
    }
    __device__ unsigned char *slot(int k) const {
        return memory + (size_t)(k % exact_scan_shape::slots) * wi_tile_bytes;
    }

    /* For the copier: the last tile, if incomplete, is left for its totaller to load. */
    __device__ void load(int k, uint64_t tile, wi_barrier *loaded) const {
        wi_ring_load(slot(k), b.a.x + tile * wi_tile_elements<T>, wi_tile_bytes, is_whole(tile),
                     loaded);
    }

    __device__ Vector *vector_of(int k, int part, int row) const {
        return (Vector *)(slot(k) + (size_t)part * wi_part_bytes + (size_t)row * wi_row_bytes) +
               wi_lane();
    }
    __device__ void take(int k, int part, wi_exact_part<T> *x) const {
#pragma unroll
        for (int row = 0; row < wi_part_rows; row++)
            x->row[row] = *vector_of(k, part, row);
    }

    /* Loads a part of the incomplete tile, each lane its own vectors. */
    __device__ void fetch_broken(int k, int part, uint64_t tile) const {
#pragma unroll 1
        for (int row = 0; row < wi_part_rows; row++)
            wi_exact_read_row(vector_of(k, part, row), b.a.x, b.a.n,
                              wi_place_in<T>(tile, part, row), true);
    }

    /* For the totaller. */
    __device__ wi_exact_span total(int k, uint64_t tile) const {
        exact_tile_notes &note = notes[k % wi_ring_entries];
        wi_part_sum mine = {{0, 0}, wi_exact_span_sum::identity<wi_exact_span>()};
#pragma unroll 1
        for (int part = 0; part < exact_scan_shape::parts; part++) {
            wi_exact_part<T> x;
            if (!is_whole(tile))
                fetch_broken(k, part, tile);
            take(k, part, &x);
            const wi_part_range range = wi_exact_measure(x);
            const wi_part_sum of_part = sum_of_part(x, range, unit);
            if (wi_lane() == part) {
                mine = of_part;
                note.range[part] = range;
            }
        }
        const wi_exact_span span = wi_span_of_part(mine, unit); /* each lane that of a part */
        const bool fits = __all_sync(wi_all_lanes, !wi_exact_is_misfit(span));
        if (wi_lane() == 0)
            note.fits = fits;
        return wi_warp_scan(span, wi_exact_span_sum::combine);
    }

    /* For the finisher. */
    __device__ void scan(int k, uint64_t tile, int part) const {
        wi_exact_part<T> x;
        take(k, part, &x);
        ring.release(k);
        const wi_exact_span *const carry = &ring.carries(k)[part];
        const exact_tile_notes &note = notes[k % wi_ring_entries];
        const bool carry_fits = !wi_exact_is_misfit(*carry);
        if (!note.fits || !carry_fits) {
            if (part == 0 && carry_fits && wi_lane() == 0)
                wi_exact_cut(b.plan, *carry, tile);
            return;
        }
        const wi_exact_span sum = wi_exact_digits_of(*carry);
        const wi_exact_line line = {sum.digit, wi_exact_span::count, unit};
        const wi_exact_before before = {false, false, false, b.any || tile > 0 || part > 0,
                                        !wi_exact_is_nothing(*carry)};
        if (before.other) {
            wi_exact_scan(b.a, &x, note.range[part], tile, part, line, before,
                          [&] { return span_folds(carry, unit, note.range[part].above); });
        } else {
            wi_exact_scan_hard(b.a, note.range[part], tile, part, line, before);
        }
    }
};

template <class T>
__global__ void
__launch_bounds__(wi_ring_block<exact_scan_shape, wi_exact_span_sum, wi_exact_span>::threads)
    exact_scan_pass(wi_exact_pass<T> b, wi_lookback l) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
    using ring_memory = wi_ring<exact_scan_shape, wi_exact_span>;
    WEFT_DYNAMIC_SHARED(memory);
    WEFT_SHARED(ring_memory, r, );
    WEFT_SHARED(exact_tile_notes, notes, [wi_ring_entries]);
    const wi_ring_block<exact_scan_shape, wi_exact_span_sum, wi_exact_span> ring = {
        l, r, wi_lookback_epoch(l)};
    const exact_scan_block<T> block = {ring, b, memory, notes, b.plan->unit};
    ring.work(
        b.plan->start,
        [&](int k, uint64_t tile, wi_barrier *loaded) { block.load(k, tile, loaded); },
        [](int, uint64_t, int) {}, [&](int k, uint64_t tile) { return block.total(k, tile); },
        [&](const wi_exact_span &all) { wi_exact_hand_on(b.carry_out, all, block.unit); },
        [&](int k, uint64_t tile, int part) { block.scan(k, tile, part); });
#endif
}

template <class T>
static weft_status run_bulk(weft_context *ctx, const wi_exact_scan_args *args) {
    using ring_block = wi_ring_block<exact_scan_shape, wi_exact_span_sum, wi_exact_span>;
    constexpr size_t shared = exact_scan_shape::slots * wi_tile_bytes;
    return wi_exact_scan_in_one<T>(
        ctx, args, [=](const wi_exact_pass<T> &b, wi_lookback l, unsigned blocks) {
            return WEFT_LAUNCH(exact_scan_pass<T>, ctx, blocks, ring_block::threads, shared, b, l);
        });
}

weft_status wi_exact_scan_bulk(weft_context *ctx, const void *arguments) {
    const wi_exact_scan_args *const args = (const wi_exact_scan_args *)arguments;
    return wi_with_float_type(
        args->type, [=](auto tag) { return run_bulk<typename decltype(tag)::type>(ctx, args); });
}
