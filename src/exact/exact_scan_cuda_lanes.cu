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
#include "exact/exact_scan_span.cuh"

struct exact_lanes_shape {
    static constexpr int slots = 6, preparers = 1, preparer_warps = wi_tile_warps, totallers = 2,
                         lookers = 2, finishers = 2, finisher_warps = wi_tile_warps,
                         parts = wi_tile_warps, ahead = 1;
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

/* A part in its slot. Vector v of lane l is number 8 l + v of the part, and lies at 8 l + (v ^ l):
 * then neither those who read rows nor those who read their neighbours meet in a bank. */
template <class T>
struct exact_lanes_part {
    static constexpr int count = wi_part_rows; /* vectors of a lane, and rows */
    wi_vector<T> *memory;

    __device__ wi_vector<T> &own(int v) const {
        return memory[wi_lane() * count + (v ^ (wi_lane() % count))];
    }
    __device__ wi_vector<T> &of_row(int r) const {
        const int at = r * 32 + wi_lane();
        return memory[at ^ (at / count % count)];
    }
    /* Some vectors of the lane's own as numbers. */
    template <int elements>
    __device__ void take(int v, double (&x)[elements]) const {
        constexpr int width = wi_vector<T>::count;
#pragma unroll
        for (int k = 0; k < elements / width; k++) {
            const wi_vector<T> vector = own(v + k);
#pragma unroll
            for (int e = 0; e < width; e++)
                x[k * width + e] = (double)wi_load(vector.at[e]);
        }
    }
};

/* Elements of a lane that go through each step side by side. */
template <class T>
constexpr int exact_lanes_width = wi_rows_at_once<T> *wi_vector<T>::count;

/* How a part is scanned. */
enum {
    LANES_STOP, /* not at all: it is left to `wide`, with all that follows */
    LANES_HARD, /* by four folds, or digit by digit */
    LANES_ONE,  /* fold */
    LANES_TWO   /* folds */
};

/* How a part can be added up; LANES_HARD is neither of the quick ways. */
template <class T>
__device__ inline int lanes_way(const wi_part_range &range) {
    constexpr int log = sizeof(T) == 4 ? 10 : 9; /* of its elements */
    static_assert(wi_part_bytes / sizeof(T) == (size_t)1 << log, "see above");
    if (sizeof(T) < 8 && range.above + log - range.least <= 53)
        return LANES_ONE;
    const int top = wi_window_top(2, WI_NO_EXPONENT, range.above);
    return wi_window_fits(2, top, range.least) ? LANES_TWO : LANES_HARD;
}

/* The lane's own elements added up, if every sum of them is an f64. */
template <class T>
__device__ inline double lane_sum(const exact_lanes_part<T> &part) {
    constexpr int width = exact_lanes_width<T>;
    double sum = 0;
#pragma unroll 1
    for (int v = 0; v < wi_part_rows; v += wi_rows_at_once<T>) {
        double element[width];
        part.take(v, element);
        sum += wi_exact_tree(element);
    }
    return sum;
}

/* The sum of the lane's own elements by two folds. */
template <class T>
__device__ inline void lane_sum(const exact_lanes_part<T> &part, int top, double (&sum)[2]) {
    constexpr int width = exact_lanes_width<T>;
    const wi_exact_anchors<2> anchors(top);
    sum[0] = sum[1] = 0;
#pragma unroll 1
    for (int v = 0; v < wi_part_rows; v += wi_rows_at_once<T>) {
        double element[width], fold[2][width];
        part.take(v, element);
        anchors.split(element, fold);
        sum[0] += wi_exact_tree(fold[0]);
        sum[1] += wi_exact_tree(fold[1]);
    }
}

/* The sum of a part that two folds cannot add up. */
template <class T>
__device__ __attribute__((noinline)) wi_exact_span lanes_by_four(exact_lanes_part<T> part,
                                                                 wi_part_range range, int unit) {
    const int top = wi_window_top(WI_FOLD_MOST, WI_NO_EXPONENT, range.above);
    wi_exact_span span = wi_exact_span_of(0);
    wi_exact_part<T> x;
    double sum[WI_FOLD_MOST];
    if (!wi_window_fits(WI_FOLD_MOST, top, range.least))
        return wi_exact_span_of(wi_span_misfit);
#pragma unroll
    for (int v = 0; v < wi_part_rows; v++)
        x.row[v] = part.own(v);
    wi_exact_total<WI_FOLD_MOST>(x, top, sum);
    bool fits = true;
#pragma unroll 1
    for (int k = 0; k < WI_FOLD_MOST; k++)
        fits = wi_add_to_span(&span, unit, sum[k]) && fits;
    return fits ? span : wi_exact_span_of(wi_span_misfit);
}

/* Is every element of a part -0.0? Nothing is added then. */
template <class T>
__device__ inline bool lanes_add_nothing(const exact_lanes_part<T> &part) {
    bool other = false;
#pragma unroll 1
    for (int v = 0; v < wi_part_rows; v++) {
        double element[wi_vector<T>::count];
        part.take(v, element);
#pragma unroll
        for (int e = 0; e < wi_vector<T>::count; e++)
            other |= wi_bit_cast<uint64_t>(element[e]) != (uint64_t)1 << 63;
    }
    return !__any_sync(wi_all_lanes, other);
}

/* The upper word of a magnitude; of powers of two it is all there is. */
__device__ inline uint32_t upper_word(double x) {
    return (uint32_t)(wi_bit_cast<uint64_t>(x) >> 32) & 0x7fffffffu;
}

/* Prefixes in two folds, rounded to T. *least becomes the least upper word there was, if it is
 * less. f32 are rounded from f64, whose own rounding shows where it ends half way between two f32,
 * or among small ones: there and for narrower types it is to odd. */
template <class T, int count>
__device__ inline void round_lane(const double (&high)[count], const double (&low)[count],
                                  T (&out)[count], uint32_t *least) {
    double sum[count];
    bool again = sizeof(T) == 2;
    uint32_t here = UINT32_MAX;
#pragma unroll
    for (int e = 0; e < count; e++) {
        sum[e] = high[e] + low[e];
        here = upper_word(sum[e]) < here ? upper_word(sum[e]) : here;
        if constexpr (sizeof(T) == 4)
            again |= ((uint32_t)wi_bit_cast<uint64_t>(sum[e]) & 0x1fffffffu) == 0x10000000u;
    }
    if constexpr (sizeof(T) < 8) {
        if (again || here < upper_word(0x1p-125)) {
#pragma unroll
            for (int e = 0; e < count; e++)
                sum[e] = wi_add_to_odd(high[e], low[e]);
        }
    }
#pragma unroll
    for (int e = 0; e < count; e++)
        out[e] = wi_exact_narrow<T>(sum[e]);
    *least = here < *least ? here : *least;
}

/* Puts outputs in the place of the lane's elements from vector v on. */
template <class T, int count>
__device__ inline void put_lane(const exact_lanes_part<T> &part, int v, const T (&out)[count]) {
    constexpr int width = wi_vector<T>::count;
#pragma unroll
    for (int k = 0; k < count / width; k++) {
        wi_vector<T> to;
#pragma unroll
        for (int e = 0; e < width; e++)
            to.at[e] = out[k * width + e];
        part.own(v + k) = to;
    }
}

/* The sums before each of some elements, or with it; *sum goes on. */
template <bool exclusive, int count>
__device__ inline void run_along(double (&x)[count], double *sum) {
#pragma unroll
    for (int e = 0; e < count; e++) {
        const double before = *sum;
        *sum += x[e];
        x[e] = exclusive ? before : *sum;
    }
}

/* Scans the lane's own elements by two folds from `sum` on: the outputs take their place. Gives the
 * least upper word of an output. */
template <bool exclusive, class T>
__device__ inline uint32_t scan_by_two(const exact_lanes_part<T> &part, int top, double (&sum)[2]) {
    constexpr int width = exact_lanes_width<T>;
    const wi_exact_anchors<2> anchors(top);
    uint32_t least = UINT32_MAX;
#pragma unroll 1
    for (int v = 0; v < wi_part_rows; v += wi_rows_at_once<T>) {
        double element[width], fold[2][width];
        T out[width];
        part.take(v, element);
        anchors.split(element, fold);
        run_along<exclusive>(fold[0], &sum[0]);
        run_along<exclusive>(fold[1], &sum[1]);
        round_lane<T>(fold[0], fold[1], out, &least);
        put_lane(part, v, out);
    }
    return least;
}

/* high + low + x, rounded to odd. */
__device__ inline double three_to_odd(double high, double low, double x) {
    const double sum = high + x, of_x = sum - high;
    const double error = (high - (sum - of_x)) + (x - of_x);
    return wi_add_to_odd(sum, wi_add_to_odd(error, low));
}

/* The same by one fold. What comes before is rounded to f64, once, and each output to f64 again:
 * that is less than 17 of its last places away from the exact sum, if it is not much less than what
 * comes before. So it rounds to the right f32 unless it is as near to the middle between two;
 * there, where sums cancel, and among small ones, the exact sum decides. */
template <bool exclusive>
__device__ inline uint32_t scan_by_one(const exact_lanes_part<float> &part,
                                       const wi_exact_in_folds<2> &start, double sum) {
    constexpr int width = exact_lanes_width<float>;
    constexpr uint32_t near = 64, middle = 0x10000000u, sixteenth = 4u << 20;
    const double base = start.fold[0] + start.fold[1];
    const uint32_t of_base = upper_word(base) > sixteenth ? upper_word(base) - sixteenth : 0;
    const uint32_t small = of_base > upper_word(0x1p-125) ? of_base : upper_word(0x1p-125);
    uint32_t least = UINT32_MAX;
#pragma unroll 1
    for (int v = 0; v < wi_part_rows; v += wi_rows_at_once<float>) {
        double element[width], prefix[width];
        float out[width];
        uint32_t here = UINT32_MAX;
        bool again = false;
        part.take(v, element);
        run_along<exclusive>(element, &sum);
#pragma unroll
        for (int e = 0; e < width; e++) {
            prefix[e] = base + element[e];
            here = upper_word(prefix[e]) < here ? upper_word(prefix[e]) : here;
            const uint32_t low = (uint32_t)wi_bit_cast<uint64_t>(prefix[e]); /* 29 bits go */
            again |= (low << 3) - ((middle - near) << 3) <= (2 * near) << 3;
        }
        if (again || here < small) {
#pragma unroll
            for (int e = 0; e < width; e++)
                prefix[e] = three_to_odd(start.fold[0], start.fold[1], element[e]);
        }
#pragma unroll
        for (int e = 0; e < width; e++)
            out[e] = (float)prefix[e];
        put_lane(part, v, out);
        least = here < least ? here : least;
    }
    return least;
}

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
    __device__ exact_lanes_part<T> part_of(int k, int part) const {
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
        const exact_lanes_part<T> p = part_of(k, part);
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
        const exact_lanes_part<T> p = part_of(k, part);
        wi_part_sum sum = {{0, 0}, wi_exact_span_of(0)};
        if (way == LANES_ONE) {
            sum.fold[0] = add_lanes(k, part, 0, lane_sum(p));
        } else {
            lane_sum(p, wi_window_top(2, WI_NO_EXPONENT, range.above), sum.fold);
#pragma unroll
            for (int f = 0; f < 2; f++)
                sum.fold[f] = add_lanes(k, part, f, sum.fold[f]);
        }
        if (range.above == WI_NO_EXPONENT && lanes_add_nothing(p))
            sum.span = wi_exact_span_of(wi_span_nothing);
        return sum;
    }

    /* For the preparer. */
    __device__ void prepare(int k, uint64_t tile, int part) const {
        const wi_part_range range = arrange(k, tile, part);
        const int way = lanes_way<T>(range);
        wi_part_sum sum = {{0, 0}, wi_exact_span_of(wi_span_misfit)};
        if (wi_part_is_in_span(range, unit) && way != LANES_HARD)
            sum = add_up(k, part, range, way);
        else if (wi_part_is_in_span(range, unit))
            sum.span = lanes_by_four(part_of(k, part), range, unit);
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
            return LANES_STOP;
        if (note.way[part] == LANES_HARD || wi_exact_is_nothing(carry))
            return LANES_HARD;
        const wi_exact_in_folds<2> found = lanes_folds_of(carry, unit, range.above);
        const int of_part = wi_window_top(2, WI_NO_EXPONENT, range.above);
        const bool fits =
            range.above == WI_NO_EXPONENT
                ? found.top <= WI_TOP_MOST
                : wi_window_fits(2, found.top, range.least) && found.top - of_part <= WI_FOLD_GAP;
        if (fits)
            *start = found;
        return fits ? note.way[part] : LANES_HARD;
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
        const exact_lanes_part<T> p = part_of(k, part);
        const double lane_0 = before(k, part)[0][wi_lane()];
        uint32_t least = 0;
        if constexpr (sizeof(T) == 4) {
            if (way == LANES_ONE)
                least = b.a.exclusive ? scan_by_one<true>(p, start, lane_0)
                                      : scan_by_one<false>(p, start, lane_0);
        }
        if (way == LANES_TWO) {
            const double anchor = wi_fold_anchor(wi_fold_unit(start.top, 0));
            const double lane_1 = before(k, part)[1][wi_lane()], upper = (lane_0 + anchor) - anchor;
            double sum[2] = {start.fold[0] + upper, start.fold[1] + ((lane_0 - upper) + lane_1)};
            least = b.a.exclusive ? scan_by_two<true>(p, start.top, sum)
                                  : scan_by_two<false>(p, start.top, sum);
        }
        const int unit_1 = wi_fold_unit(start.top, 1);
        const bool near = start.more && least < upper_word(wi_exact_power(unit_1 + 53));
        return !__any_sync(wi_all_lanes, near);
    }

    /* Writes a part's outputs from its slot, which is free then. */
    __device__ void write(int k, uint64_t tile, int part) const {
        const exact_lanes_part<T> p = part_of(k, part);
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
        if (way == LANES_STOP) {
            stop(k, tile, part, carry);
            return;
        }
        if (way != LANES_HARD && scan_in_slot(k, part, way)) {
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
