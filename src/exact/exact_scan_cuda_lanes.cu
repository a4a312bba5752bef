/* SPDX-License-Identifier: Apache-2.0 */
/* exact_scan in one pass, as `bulk`; but each lane has 128 neighbouring bytes of a part, so that a
 * part needs one scan over the warp, not one for each row, and that scan is made before the tile's
 * carry is known:
 *
 *   preparers   put a part's vectors, in its slot, where lanes read their neighbours without bank
 *               conflicts, measure it, and add it up: the sum before each lane
 *   totallers   make spans of the parts' sums
 *   lookers     find the tile's carry, and make folds of what comes before each part
 *   finishers   go through the lanes' elements from there, the outputs taking their place in the
 *               slot; and write these, row by row
 *
 * Elements of f32 that are multiples of one number, and so near each other that any sum of those
 * of a part is an f64, go by one fold; others by two. Loops are short: the code of all roles
 * together is meant to stay in the instruction cache. */
#include "cuda/ring.cuh"
#include "exact/exact_scan_lanes.cuh"

struct exact_lanes_shape {
    static constexpr int slots = 6, preparers = 1, preparer_warps = wi_tile_warps, totallers = 2,
                         lookers = 2, finishers = 2, finisher_warps = wi_tile_warps,
                         parts = wi_tile_warps;
};

/* Sums of spans, in any order. */
struct exact_lanes_sum : wi_exact_span_sum {
    /* Halves of digits: 32 of them stay below 2^32. */
    static __device__ inline wi_exact_span of_lanes(const wi_exact_span &x) {
        const bool nothing = wi_exact_is_nothing(x);
        if (__any_sync(wi_all_lanes, wi_exact_is_misfit(x)))
            return wi_exact_span_of(wi_span_misfit);
        if (__all_sync(wi_all_lanes, nothing))
            return wi_exact_span_of(wi_span_nothing);
        wi_exact_span sum;
        uint64_t carry = 0;
#pragma unroll
        for (int k = 0; k < wi_exact_span::count; k++) {
            const uint32_t digit = nothing ? 0 : x.digit[k];
            carry += wi_warp_sum(digit & 0xffff);
            carry += (uint64_t)wi_warp_sum(digit >> 16) << 16;
            sum.digit[k] = (uint32_t)carry;
            carry >>= 32;
        }
        return sum;
    }
};
template <>
inline constexpr bool wi_in_any_order<exact_lanes_sum> = true;

/* A span in the window that a part below 2^above needs; by one lane. */
__device__ inline wi_exact_in_folds<2> lanes_folds_of(const wi_exact_span &span, int unit,
                                                      int above) {
    constexpr int count = wi_exact_span::count;
    const uint32_t sign = span.digit[count - 1] >> 31 ? UINT32_MAX : 0;
    uint32_t top_digit = span.digit[0] ^ sign;
    int last = 0;
#pragma unroll
    for (int k = 1; k < count; k++) {
        const uint32_t digit = span.digit[k] ^ sign;
        last = digit != 0 ? k : last;
        top_digit = digit != 0 ? digit : top_digit;
    }
    wi_exact_in_folds<2> f;
    f.top = wi_window_top(2, unit + 32 * last + 32 - __clz((int)top_digit), above);
    f.more = f.top <= WI_TOP_MOST && wi_line_split(span.digit, count, unit, f.top, 2, f.fold);
    return f;
}

/* What is known of the parts of a tile: from preparers, and from the looker on. */
struct exact_lanes_note {
    wi_part_range range[wi_tile_warps];
    wi_part_sum sum[wi_tile_warps];
    int way[wi_tile_warps];
    bool fits;
    wi_exact_in_folds<2> start[wi_tile_warps];
};

/* The sums before each lane in its part: [part][fold][lane]. */
using exact_lanes_before = double[wi_tile_warps][2][32];

template <class T>
struct exact_lanes_block {
    using ring_block = wi_ring_block<exact_lanes_shape, exact_lanes_sum, wi_exact_span>;
    static constexpr int slots = exact_lanes_shape::slots;
    static constexpr size_t shared_bytes = slots * (wi_tile_bytes + sizeof(exact_lanes_before));

    const ring_block &ring;
    const wi_exact_pass<T> &b;
    unsigned char *memory; /* `slots` tiles, and as many exact_lanes_before */
    exact_lanes_note *notes;
    int unit;

    __device__ unsigned char *slot(int k) const {
        return memory + (size_t)(k % slots) * wi_tile_bytes;
    }
    __device__ wi_lanes_part<T> part_of(int k, int part) const {
        return {(wi_vector<T> *)(slot(k) + (size_t)part * wi_part_bytes)};
    }
    __device__ double (&before(int k, int part) const)[2][32] {
        return ((exact_lanes_before *)(memory + slots * wi_tile_bytes))[k % slots][part];
    }
    __device__ bool is_whole(uint64_t tile) const {
        return (tile + 1) * wi_tile_elements<T> <= b.a.n;
    }

    /* For the copier: the last tile, if incomplete, is left for its preparers to load. */
    __device__ void load(int k, uint64_t tile, wi_barrier *loaded) const {
        wi_ring_load(slot(k), b.a.x + tile * wi_tile_elements<T>, wi_tile_bytes, is_whole(tile),
                     loaded);
    }

    /* Measures a part that lies as it is in the array, and puts its vectors in their places. */
    __device__ wi_part_range arrange(int k, uint64_t tile, int part) const {
        const wi_lanes_part<T> p = part_of(k, part);
        wi_exact_part<T> x;
        if (!is_whole(tile)) {
#pragma unroll 1
            for (int row = 0; row < wi_part_rows; row++)
                wi_exact_read_row(&p.memory[row * 32 + wi_lane()], b.a.x, b.a.n,
                                  wi_place_in<T>(tile, part, row), true);
        }
#pragma unroll
        for (int row = 0; row < wi_part_rows; row++)
            x.row[row] = p.memory[row * 32 + wi_lane()];
        const wi_part_range range = wi_exact_measure(x);
        __syncwarp(); /* all have read: a vector moves among eight lanes' */
#pragma unroll
        for (int row = 0; row < wi_part_rows; row++)
            p.of_row(row) = x.row[row];
        __syncwarp();
        return range;
    }

    /* The sum of the lanes' sums; what comes before each is kept. */
    __device__ double add_lanes(int k, int part, int fold, double own) const {
        const double with = wi_warp_scan(own, [](double x, double y) { return x + y; });
        before(k, part)[fold][wi_lane()] = with - own;
        return wi_shuffle(with, 31);
    }

    /* The sum of a part, and of what comes before each lane. */
    __device__ wi_part_sum add_up(int k, int part, const wi_part_range &range, int way) const {
        const wi_lanes_part<T> p = part_of(k, part);
        wi_part_sum sum = {{0, 0}, wi_exact_span_of(0)};
        if (way == WI_LANES_ONE) {
            sum.fold[0] = add_lanes(k, part, 0, wi_lane_sum(p));
        } else {
            wi_lane_sum(p, wi_window_top(2, WI_NO_EXPONENT, range.above), sum.fold);
#pragma unroll
            for (int f = 0; f < 2; f++)
                sum.fold[f] = add_lanes(k, part, f, sum.fold[f]);
        }
        if (range.above == WI_NO_EXPONENT && wi_lanes_add_nothing(p))
            sum.span = wi_exact_span_of(wi_span_nothing);
        return sum;
    }

    /* For the preparer. */
    __device__ void prepare(int k, uint64_t tile, int part) const {
        const wi_part_range range = arrange(k, tile, part);
        const int way = wi_lanes_way<T>(range);
        wi_part_sum sum = {{0, 0}, wi_exact_span_of(wi_span_misfit)};
        if (wi_part_is_in_span(range, unit) && way != WI_LANES_HARD)
            sum = add_up(k, part, range, way);
        else if (wi_part_is_in_span(range, unit))
            sum.span = wi_lanes_by_four(part_of(k, part), range, unit);
        if (wi_lane() == 0) {
            exact_lanes_note &note = notes[k % slots];
            note.range[part] = range;
            note.sum[part] = sum;
            note.way[part] = way;
        }
        wi_bulk_fence(); /* the slot was written to */
    }

    /* For the totaller: each lane has a part. */
    __device__ wi_exact_span total(int k) const {
        constexpr int parts = exact_lanes_shape::parts;
        exact_lanes_note &note = notes[k % slots];
        wi_exact_span span = exact_lanes_sum::identity<wi_exact_span>();
        if (wi_lane() < parts)
            span = wi_span_of_part(note.sum[wi_lane()], unit);
        const bool fits = __all_sync(wi_all_lanes, !wi_exact_is_misfit(span));
        if (wi_lane() == 0)
            note.fits = fits;
        return wi_warp_scan<parts>(span, exact_lanes_sum::combine);
    }

    /* How to scan a part after `carry`, and from where. The sums before lanes are multiples of the
     * units of the part's own window: the one that is due must not be too far above. */
    __device__ int find_way(const exact_lanes_note &note, int part, const wi_exact_span &carry,
                            wi_exact_in_folds<2> *start) const {
        const wi_part_range &range = note.range[part];
        if (!note.fits || wi_exact_is_misfit(carry))
            return WI_LANES_STOP;
        if (note.way[part] == WI_LANES_HARD || wi_exact_is_nothing(carry))
            return WI_LANES_HARD;
        const wi_exact_in_folds<2> found = lanes_folds_of(carry, unit, range.above);
        const int of_part = wi_window_top(2, WI_NO_EXPONENT, range.above);
        const bool fits =
            range.above == WI_NO_EXPONENT
                ? found.top <= WI_TOP_MOST
                : wi_window_fits(2, found.top, range.least) && found.top - of_part <= WI_FOLD_GAP;
        if (fits)
            *start = found;
        return fits ? note.way[part] : WI_LANES_HARD;
    }

    /* For the looker: each lane has a part. */
    __device__ void begin_parts(int k, const wi_exact_span *carries) const {
        exact_lanes_note &note = notes[k % slots];
        const int part = wi_lane();
        if (part < exact_lanes_shape::parts)
            note.way[part] = find_way(note, part, carries[part], &note.start[part]);
    }

    /* The outputs of a part, in its slot; false, in all lanes, if they may be wrong. */
    __device__ bool scan_in_slot(int k, int part, int way) const {
        const wi_exact_in_folds<2> start = notes[k % slots].start[part];
        const wi_lanes_part<T> p = part_of(k, part);
        const double lane_0 = before(k, part)[0][wi_lane()];
        uint32_t least = 0;
        if constexpr (sizeof(T) == 4) {
            if (way == WI_LANES_ONE)
                least = b.a.exclusive ? wi_scan_by_one<true>(p, start, lane_0)
                                      : wi_scan_by_one<false>(p, start, lane_0);
        }
        if (way == WI_LANES_TWO) {
            const double anchor = wi_fold_anchor(wi_fold_unit(start.top, 0));
            const double lane_1 = before(k, part)[1][wi_lane()], upper = (lane_0 + anchor) - anchor;
            double sum[2] = {start.fold[0] + upper, start.fold[1] + ((lane_0 - upper) + lane_1)};
            least = b.a.exclusive ? wi_scan_by_two<true>(p, start.top, sum)
                                  : wi_scan_by_two<false>(p, start.top, sum);
        }
        const int unit_1 = wi_fold_unit(start.top, 1);
        const bool near = start.more && least < wi_upper_word(wi_exact_power(unit_1 + 53));
        return !__any_sync(wi_all_lanes, near);
    }

    /* Writes a part's outputs from its slot, which is free then. */
    __device__ void write(int k, uint64_t tile, int part) const {
        const wi_lanes_part<T> p = part_of(k, part);
        wi_exact_part<T> y;
        __syncwarp();
#pragma unroll
        for (int r = 0; r < wi_part_rows; r++)
            y.row[r] = p.of_row(r);
        ring.release(k);
        wi_exact_write_part(y, b.a.y, b.a.n, tile, part, true);
    }

    /* Nothing more is written from this tile on. */
    __device__ void stop(int k, uint64_t tile, int part, const wi_exact_span &carry) const {
        if (part == 0 && !wi_exact_is_misfit(carry) && wi_lane() == 0) {
            b.plan->carry = carry;
            b.plan->cut = tile;
        }
        ring.release(k);
    }

    /* For the finisher. */
    __device__ void scan(int k, uint64_t tile, int part) const {
        const wi_exact_span &carry = ring.carries(k)[part];
        const wi_part_range range = notes[k % slots].range[part];
        const int way = notes[k % slots].way[part];
        if (way == WI_LANES_STOP) {
            stop(k, tile, part, carry);
            return;
        }
        if (way != WI_LANES_HARD && scan_in_slot(k, part, way)) {
            write(k, tile, part);
            return;
        }
        ring.release(k);
        const bool other = !wi_exact_is_nothing(carry);
        const wi_exact_span zero = wi_exact_span_of(0);
        wi_exact_scan_hard(b.a, range, tile, part,
                           {other ? carry.digit : zero.digit, wi_exact_span::count, unit},
                           {false, false, false, b.any || tile > 0 || part > 0, other});
    }
};

template <class T>
__global__ void __launch_bounds__(exact_lanes_block<T>::ring_block::threads)
    exact_lanes_pass(wi_exact_pass<T> b, wi_lookback l) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
    using ring_memory = wi_ring<exact_lanes_shape, wi_exact_span>;
    WEFT_DYNAMIC_SHARED(memory);
    WEFT_SHARED(ring_memory, r, );
    WEFT_SHARED(exact_lanes_note, notes, [exact_lanes_shape::slots]);
    const typename exact_lanes_block<T>::ring_block ring = {l, r, wi_lookback_epoch(l)};
    const exact_lanes_block<T> block = {ring, b, memory, notes, b.plan->unit};
    ring.work(
        b.plan->start,
        [&](int k, uint64_t tile, wi_barrier *loaded) { block.load(k, tile, loaded); },
        [&](int k, uint64_t tile, int part) { block.prepare(k, tile, part); },
        [&](int k, uint64_t) { return block.total(k); },
        [&](const wi_exact_span &all) { wi_exact_hand_on(b.carry_out, all, block.unit); },
        [&](int k, uint64_t tile, int part) { block.scan(k, tile, part); },
        [&](int k, const wi_exact_span *carries) { block.begin_parts(k, carries); });
#endif
}

template <class T>
static weft_status run_lanes(weft_context *ctx, const wi_exact_scan_args *args) {
    using Block = exact_lanes_block<T>;
    return wi_exact_scan_in_one<T>(
        ctx, args, [=](const wi_exact_pass<T> &b, wi_lookback l, unsigned blocks) {
            return WEFT_LAUNCH(exact_lanes_pass<T>, ctx, blocks, Block::ring_block::threads,
                               Block::shared_bytes, b, l);
        });
}

weft_status wi_exact_scan_lanes(weft_context *ctx, const void *arguments) {
    const wi_exact_scan_args *const args = (const wi_exact_scan_args *)arguments;
    return args->type == WEFT_F32 ? run_lanes<float>(ctx, args) : run_lanes<double>(ctx, args);
}
