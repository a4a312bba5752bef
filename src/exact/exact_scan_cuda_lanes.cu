/* SPDX-License-Identifier: Apache-2.0 */
/* exact_scan in one pass, as `bulk`; but each lane has 128 neighbouring bytes of a part, so that a
 * part needs one scan over the warp, not one for each row, and that scan is made before the tile's
 * carry is known:
 *
 *   copier      has the copy engine put a tile's vectors where lanes read their neighbours
 *               without bank conflicts
 *   preparers   measure a part and add it up: the sum before each lane
 *   totallers   make spans of the parts' sums
 *   lookers     find the tile's carry
 *   starters    make folds of what comes before each part
 *   finishers   go through the lanes' elements from there, the outputs taking their place in the
 *               slot, from where the copy engine takes them
 *
 * Elements of f32 that are multiples of one number, and so near each other that any sum of those
 * of a part is an f64, go by one fold; others by two. Loops are short: the code of all roles
 * together is meant to stay in the instruction cache. */
#include "cuda/boxes.cuh"
#include "cuda/prefetch.cuh"
#include "cuda/ring.cuh"
#include "exact/exact_scan_lanes.cuh"

/* Lines of boxes in a tile and in a part: a lane has one. */
constexpr int exact_lanes_lines = wi_tile_bytes / wi_box_line,
              exact_part_lines = wi_part_bytes / wi_box_line;

struct exact_lanes_shape {
    static constexpr int slots = 6, preparers = 1, preparer_warps = wi_tile_warps, totallers = 2,
                         lookers = 1, starters = 1, finishers = 2, finisher_warps = wi_tile_warps,
                         parts = wi_tile_warps;
};

/* Sums of spans, in any order. */
struct exact_lanes_sum : wi_exact_span_sum {
    /* Halves of digits, and the number in the last: 32 of them stay below 2^32. */
    static __device__ inline wi_exact_span of_lanes(const wi_exact_span &x) {
        constexpr int last = wi_exact_span::count - 1;
        wi_exact_span sum;
        uint64_t carry = 0;
#pragma unroll
        for (int k = 0; k < last; k++) {
            carry += wi_warp_sum(x.digit[k] & 0xffff);
            carry += (uint64_t)wi_warp_sum(x.digit[k] >> 16) << 16;
            sum.digit[k] = (uint32_t)carry;
            carry >>= 32;
        }
        carry += wi_warp_sum(x.digit[last] & wi_span_number);
        sum.digit[last] = ((uint32_t)carry & wi_span_number) | wi_warp_max(wi_marks_of(x));
        return sum;
    }
};
template <>
inline constexpr bool wi_in_any_order<exact_lanes_sum> = true;
template <>
inline constexpr int wi_near_groups<exact_lanes_sum> = 2;

/* A span as one lane reads it, whose digits stay in shared memory. */
struct lanes_digits {
    static constexpr int count = wi_exact_span::count;
    const uint32_t *digit;
    uint32_t last, sign;
    uint32_t used, unlike; /* a bit for each digit that is not 0, that is not the sign */

    __device__ explicit lanes_digits(const wi_exact_span &span)
        : digit(span.digit), last(wi_unmarked(digit[count - 1])), sign(last >> 31 ? UINT32_MAX : 0),
          used(0), unlike(0) {
#pragma unroll
        for (int k = 0; k < count; k++) {
            const uint32_t d = k < count - 1 ? digit[k] : last;
            used |= (uint32_t)(d != 0) << k;
            unlike |= (uint32_t)(d != sign) << k;
        }
    }
    __device__ uint32_t at(int k) const {
        const uint32_t inside = digit[(unsigned)k < (unsigned)count ? k : 0];
        return k < 0 ? 0 : k < count - 1 ? inside : k == count - 1 ? last : sign;
    }
    /* Bits of the magnitude, or one more. */
    __device__ int height() const {
        const int top = unlike ? 31 - __clz((int)unlike) : 0;
        return 32 * top + 32 - __clz((int)(at(top) ^ sign));
    }
    /* 64 bits of the number over 2^bit, rounded down. */
    __device__ uint64_t from(int bit) const {
        const int first = bit >> 5, shift = bit & 31;
        const uint64_t low = at(first) | (uint64_t)at(first + 1) << 32;
        const uint64_t high = low >> 32 | (uint64_t)at(first + 2) << 32;
        return (uint32_t)(low >> shift) | high >> shift << 32;
    }
    /* Is it no multiple of 2^bit? */
    __device__ bool has_below(int bit) const {
        const int first = bit >> 5;
        const uint32_t whole = first < count ? ((uint32_t)1 << (first & 31)) - 1 : UINT32_MAX;
        const uint32_t part = ((uint32_t)1 << (bit & 31)) - 1;
        return bit > 0 && ((used & whole) != 0 || (at(first) & part) != 0);
    }
};

/* One of two folds of a span in the window that a part below 2^above needs, as wi_line_split has
 * them; the window's top; and whether something is left below it. */
__device__ inline double lanes_fold_of(const wi_exact_span &span, int unit, int above, int fold,
                                       int *top, bool *more) {
    const lanes_digits digits(span);
    *top = wi_window_top(2, unit + digits.height(), above);
    const int of_fold = wi_fold_unit(*top, fold);
    const uint64_t bits = digits.from(of_fold - unit);
    const uint64_t mask = fold == 0 ? UINT64_MAX : ((uint64_t)1 << WI_FOLD_GAP) - 1;
    *more = fold == 1 && digits.has_below(of_fold - unit);
    return (double)(int64_t)(bits & mask) * wi_exact_power(of_fold) +
           (*more ? wi_exact_power(of_fold - 1) : 0);
}

/* A number for each of the folds of a part's sum. */
struct lanes_folds {
    double fold[2];
};

/* What is known of the parts of a tile: from preparers, and from the starter on. */
struct exact_lanes_note {
    wi_part_range range[wi_tile_warps];
    double fold[2][wi_tile_warps]; /* to be added to: */
    wi_exact_span span[wi_tile_warps];
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
    static constexpr size_t shared_bytes =
        wi_box_align + slots * (wi_tile_bytes + sizeof(exact_lanes_before));

    const ring_block &ring;
    const wi_exact_pass<T> &b;
    const wi_boxes *x, *y; /* a tile of the input, a part of the output */
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

    /* For the copier: the last tile, if incomplete, is left for its preparers to read. A tile that
     * arrives late keeps all later ones waiting for its sum; so each is brought to the second-level
     * cache by whoever loads the one that is as many before it as there are blocks. */
    __device__ void load(int k, uint64_t tile, wi_barrier *loaded) const {
        const uint64_t ahead = tile + gridDim.x;
        if (is_whole(tile)) {
            wi_barrier_arrive_expect(loaded, wi_tile_bytes);
            wi_box_load(slot(k), x, 0, (int)(tile * exact_lanes_lines), 0, loaded);
            if (is_whole(ahead))
                wi_bulk_prefetch(b.a.x + ahead * wi_tile_elements<T>, wi_tile_bytes);
        } else {
            wi_barrier_arrive(loaded);
        }
    }

    /* Puts a part of an incomplete tile where a box would have it. */
    __device__ void read(int k, uint64_t tile, int part) const {
        const wi_lanes_part<T> p = part_of(k, part);
#pragma unroll 1
        for (int row = 0; row < wi_part_rows; row++)
            wi_exact_read_row(&p.of_row(row), b.a.x, b.a.n, wi_place_in<T>(tile, part, row), true);
        __syncwarp();
    }

    /* The sum of the lanes' sums; what comes before each is kept. */
    template <int folds>
    __device__ void add_lanes(int k, int part, double (&own)[2]) const {
        const lanes_folds with =
            wi_warp_scan(lanes_folds{{own[0], own[1]}}, [](lanes_folds x, const lanes_folds &y) {
#pragma unroll
                for (int f = 0; f < folds; f++)
                    x.fold[f] += y.fold[f];
                return x;
            });
#pragma unroll
        for (int f = 0; f < folds; f++) {
            before(k, part)[f][wi_lane()] = with.fold[f] - own[f];
            own[f] = wi_shuffle(with.fold[f], 31);
        }
    }

    /* The sum of a part, and of what comes before each lane. */
    __device__ wi_part_sum add_up(int k, int part, const wi_exact_part<T> &own,
                                  const wi_part_range &range, int way) const {
        wi_part_sum sum = {{0, 0}, wi_exact_span_of(wi_span_zero)};
        if (way == WI_LANES_ONE) {
            sum.fold[0] = wi_lane_sum(own);
            add_lanes<1>(k, part, sum.fold);
        } else {
            wi_lane_sum(own, part_of(k, part), wi_window_top(2, WI_NO_EXPONENT, range.above),
                        sum.fold);
            add_lanes<2>(k, part, sum.fold);
        }
        if (range.above == WI_NO_EXPONENT && wi_lanes_add_nothing(part_of(k, part)))
            sum.span = wi_exact_span_of(wi_span_nothing);
        return sum;
    }

    /* For the preparer. */
    __device__ void prepare(int k, uint64_t tile, int part) const {
        if (!is_whole(tile))
            read(k, tile, part);
        wi_exact_part<T> own;
#pragma unroll
        for (int v = 0; v < wi_part_rows; v++)
            own.row[v] = part_of(k, part).own(v);
        const wi_part_range range = wi_exact_measure(own);
        const int way = wi_lanes_way<T>(range);
        wi_part_sum sum = {{0, 0}, wi_exact_span_of(wi_span_misfit)};
        if (wi_part_is_in_span(range, unit) && way != WI_LANES_HARD)
            sum = add_up(k, part, own, range, way);
        else if (wi_part_is_in_span(range, unit))
            sum.span = wi_lanes_by_four(part_of(k, part), range, unit);
        if (wi_lane() == 0) {
            exact_lanes_note &note = notes[k % slots];
            note.range[part] = range;
            note.fold[0][part] = sum.fold[0];
            note.fold[1][part] = sum.fold[1];
            note.span[part] = sum.span;
            note.way[part] = way;
        }
        wi_bulk_fence(); /* the slot may have been written to, and was read */
    }

    /* One fold of a part's sum, or the part's span with one. */
    __device__ wi_exact_span total_of(const exact_lanes_note &note, int part, int fold) const {
        wi_exact_span span = fold > 0 ? wi_exact_span_of(wi_span_nothing) : note.span[part];
        return wi_add_to_span(&span, unit, note.fold[fold][part])
                   ? span
                   : wi_exact_span_of(wi_span_misfit);
    }

    /* For the totaller: each lane has a fold of a part. */
    __device__ wi_exact_span total(int k) const {
        constexpr int parts = exact_lanes_shape::parts;
        exact_lanes_note &note = notes[k % slots];
        wi_exact_span span = exact_lanes_sum::identity<wi_exact_span>();
        if (wi_lane() < 2 * parts)
            span = total_of(note, wi_lane() % parts, wi_lane() / parts);
        span = exact_lanes_sum::combine(span, wi_shuffle_xor(span, parts));
        span = wi_warp_scan<parts>(span, exact_lanes_sum::combine);
        if (wi_lane() == parts - 1)
            note.fits = !wi_exact_is_misfit(span);
        return span;
    }

    /* How to scan a part after `carry`, for which a window with that top is due. The sums before
     * lanes are multiples of the units of the part's own window: it must not be too far above. */
    __device__ int find_way(const exact_lanes_note &note, int part, const wi_exact_span &carry,
                            int top) const {
        const wi_part_range &range = note.range[part];
        const int of_part = wi_window_top(2, WI_NO_EXPONENT, range.above);
        if (note.way[part] == WI_LANES_HARD || wi_exact_is_nothing(carry))
            return WI_LANES_HARD;
        const bool fits = range.above == WI_NO_EXPONENT
                              ? top <= WI_TOP_MOST
                              : wi_window_fits(2, top, range.least) && top - of_part <= WI_FOLD_GAP;
        return fits ? note.way[part] : WI_LANES_HARD;
    }

    /* For the starter: each lane has a fold of what comes before a part. */
    __device__ void begin_parts(int k, const wi_exact_span *carries) const {
        constexpr int parts = exact_lanes_shape::parts;
        exact_lanes_note &note = notes[k % slots];
        const int part = wi_lane() % parts, fold = wi_lane() / parts;
        if (fold >= 2)
            return;
        if (!note.fits || wi_exact_is_misfit(carries[part])) {
            if (fold == 0)
                note.way[part] = WI_LANES_STOP;
            return;
        }
        int top;
        bool more;
        note.start[part].fold[fold] =
            lanes_fold_of(carries[part], unit, note.range[part].above, fold, &top, &more);
        if (fold == 1) {
            note.start[part].top = top;
            note.start[part].more = more;
        } else {
            note.way[part] = find_way(note, part, carries[part], top);
        }
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
        if (is_whole(tile)) {
            wi_bulk_fence(); /* the slot was written to */
            __syncwarp();
            if (wi_lane() == 0) {
                wi_box_store(y, 0, (int)(tile * exact_lanes_lines) + part * exact_part_lines, 0,
                             p.memory);
                wi_bulk_commit();
                wi_bulk_wait_read<0>();
            }
            ring.release(k);
            return;
        }
        wi_exact_part<T> out;
        __syncwarp();
#pragma unroll
        for (int r = 0; r < wi_part_rows; r++)
            out.row[r] = p.of_row(r);
        ring.release(k);
        wi_exact_write_part(out, b.a.y, b.a.n, tile, part, true);
    }

    /* Nothing more is written from this tile on. */
    __device__ void stop(int k, uint64_t tile, int part, const wi_exact_span &carry) const {
        if (part == 0 && !wi_exact_is_misfit(carry) && wi_lane() == 0)
            wi_exact_cut(b.plan, carry, tile);
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
        const wi_exact_span sum = wi_exact_digits_of(carry);
        wi_exact_scan_hard(
            b.a, range, tile, part, {sum.digit, wi_exact_span::count, unit},
            {false, false, false, b.any || tile > 0 || part > 0, !wi_exact_is_nothing(carry)});
    }
};

template <class T>
__global__ void __launch_bounds__(exact_lanes_block<T>::ring_block::threads)
    exact_lanes_pass(wi_exact_pass<T> b, wi_lookback l, const __grid_constant__ wi_boxes x,
                     const __grid_constant__ wi_boxes y) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
    using ring_memory = wi_ring<exact_lanes_shape, wi_exact_span>;
    WEFT_DYNAMIC_SHARED(memory);
    WEFT_SHARED(ring_memory, r, );
    WEFT_SHARED(exact_lanes_note, notes, [exact_lanes_shape::slots]);
    const uintptr_t past = (uintptr_t)memory % wi_box_align;
    const typename exact_lanes_block<T>::ring_block ring = {l, r, wi_lookback_epoch(l)};
    const exact_lanes_block<T> block = {
        ring, b, &x, &y, memory + (past ? wi_box_align - past : 0), notes, b.plan->unit};
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

/* An array's whole tiles as the copy engine sees them. */
template <class T>
static weft_status lines_of(weft_context *ctx, const void *array, size_t n, unsigned box_lines,
                            wi_boxes *boxes) {
    const uint64_t whole = n / wi_tile_elements<T>;
    const wi_box_source from = {wi_type_of_float<T>,
                                array,
                                wi_box_line / sizeof(T),
                                (size_t)(whole > 0 ? whole * exact_lanes_lines : 1),
                                wi_box_line,
                                1,
                                0,
                                false};
    return wi_gpu_describe_boxes(ctx, &from, box_lines, boxes);
}

template <class T>
static weft_status run_lanes(weft_context *ctx, const wi_exact_scan_args *args) {
    using Block = exact_lanes_block<T>;
    wi_boxes x, y;
    weft_status status = lines_of<T>(ctx, args->x, args->n, exact_lanes_lines, &x);
    if (status == WEFT_OK)
        status = lines_of<T>(ctx, args->y, args->n, exact_part_lines, &y);
    if (status != WEFT_OK)
        return status;
    return wi_exact_scan_in_one<T>(
        ctx, args, [=](const wi_exact_pass<T> &b, wi_lookback l, unsigned blocks) {
            return WEFT_LAUNCH(exact_lanes_pass<T>, ctx, blocks, Block::ring_block::threads,
                               Block::shared_bytes, b, l, x, y);
        });
}

weft_status wi_exact_scan_lanes(weft_context *ctx, const void *arguments) {
    const wi_exact_scan_args *const args = (const wi_exact_scan_args *)arguments;
    return args->type == WEFT_F32 ? run_lanes<float>(ctx, args) : run_lanes<double>(ctx, args);
}
