/* SPDX-License-Identifier: Apache-2.0 */
/* exact_scan in one pass by persistent blocks (cuda/ring.cuh), as scan's own `bulk`. Tiles pass on
 * sums as integers of 192 bits, whose unit is chosen from a sample of the elements: all that is
 * ordinary fits. From the first tile on that does not, this kernel writes nothing, and `wide` does
 * the rest. */
#include "cuda/ring.cuh"
#include "exact/exact_scan_plan.cuh"

constexpr int begin_threads = 256, samples = 16; /* of each thread */
constexpr int span_bits = 32 * wi_exact_span::count;
/* Elements up to 2^8 above those of the sample, and 2^31 of them, stay in a span. */
constexpr int more_than_seen = 8, room_above = more_than_seen + 31 + 2;

struct exact_span_sum {
    static __device__ inline wi_exact_span combine(const wi_exact_span &a, const wi_exact_span &b) {
        if (wi_exact_is_nothing(a))
            return b;
        if (wi_exact_is_nothing(b))
            return a;
        if (wi_exact_is_misfit(a) || wi_exact_is_misfit(b))
            return wi_exact_span_of(wi_span_misfit);
        wi_exact_span sum;
        uint64_t carry = 0;
#pragma unroll
        for (int k = 0; k < wi_exact_span::count; k++) {
            carry += (uint64_t)a.digit[k] + b.digit[k];
            sum.digit[k] = (uint32_t)carry;
            carry >>= 32;
        }
        return sum;
    }
    template <class C>
    static __device__ inline C identity() {
        return wi_exact_span_of(wi_span_nothing);
    }
};

/* Adds x to a span; false if it does not fit. */
__device__ inline bool add_to_span(wi_exact_span *span, int unit, double x) {
    const uint64_t bits = wi_bit_cast<uint64_t>(x);
    uint64_t m;
    int at = wi_exact_split(bits, &m) - unit;
    if (at < 0) {
        if (m != 0 && (at <= -64 || (m & (((uint64_t)1 << -at) - 1)) != 0))
            return false;
        m = at <= -64 ? 0 : m >> -at;
        at = 0;
    }
    if (m != 0 && at + 53 >= span_bits - 2)
        return false;
    const uint32_t flip = bits >> 63 ? UINT32_MAX : 0;
    uint64_t carry = bits >> 63;
#pragma unroll
    for (int k = 0; k < wi_exact_span::count; k++) {
        const int up = at - 32 * k; /* by how much m is shifted into digit k */
        const uint32_t part = up >= 32   ? 0
                              : up >= 0  ? (uint32_t)(m << up)
                              : up > -64 ? (uint32_t)(m >> -up)
                                         : 0;
        carry += (uint64_t)span->digit[k] + (part ^ flip);
        span->digit[k] = (uint32_t)carry;
        carry >>= 32;
    }
    return true;
}

/* ---- the plan ---- */

template <class T>
struct exact_bulk {
    wi_exact_arrays<T> a;
    wi_exact_plan *plan;
    const T *init;
    const int64_t *carry_in;
    int64_t *carry_out;
    bool any; /* elements come before the call */
};

/* What comes before the call: its digits in a span. Misfit if they are not finite or do not fit. */
template <class T>
__device__ inline wi_exact_span start_span(const int64_t *word, int unit) {
    using Line = wi_line_of<T>;
    uint32_t digit[Line::count];
    wi_exact_span span;
    if (word[WI_EXACT_NAN] | word[WI_EXACT_PLUS] | word[WI_EXACT_MINUS])
        return wi_exact_span_of(wi_span_misfit);
    if (word[WI_EXACT_OTHER] == 0)
        return wi_exact_span_of(wi_span_nothing);
    for (int k = 0; k < Line::count; k++)
        digit[k] = (uint32_t)(uint64_t)word[Line::first + k];
    const int height = wi_line_height(digit, Line::count, Line::unit);
    if (height > unit + span_bits - 3 || wi_line_below(digit, Line::count, Line::unit, unit))
        return wi_exact_span_of(wi_span_misfit);
    for (int k = 0; k < wi_exact_span::count; k++)
        span.digit[k] = (uint32_t)wi_line_from(digit, Line::count, Line::unit, unit + 32 * k);
    return span;
}

/* The height of what comes before the call. */
template <class T>
__device__ inline int start_height(const int64_t *word) {
    using Line = wi_line_of<T>;
    uint32_t digit[Line::count];
    for (int k = 0; k < Line::count; k++)
        digit[k] = (uint32_t)(uint64_t)word[Line::first + k];
    return wi_line_height(digit, Line::count, Line::unit);
}

/* Chooses the unit from elements here and there, and puts the start in a span. One block. */
template <class T>
__global__ void __launch_bounds__(begin_threads)
    exact_begin(exact_bulk<T> b, wi_exact_start start) {
    constexpr bool wide = sizeof(T) == 8;
    constexpr int field_at = wide ? 20 : 23, bias = wide ? 1023 : 127;
    WEFT_SHARED(int64_t, word, [WI_EXACT_WORDS]);
    WEFT_SHARED(uint32_t, largest, );
    const uint64_t step = b.a.n / (begin_threads * samples) + 1;
    uint32_t most = 0;
    if (threadIdx.x == 0)
        largest = 0;
    for (int k = (int)threadIdx.x; k < WI_EXACT_WORDS; k += begin_threads)
        word[k] = b.carry_in ? b.carry_in[k] : start.word[k];
    for (int s = 0; s < samples; s++) {
        const uint64_t at = ((uint64_t)s * begin_threads + threadIdx.x) * step;
        const uint32_t upper = at < b.a.n ? wi_upper_of(wi_load(b.a.x[at])) : 0;
        if ((int)(upper >> field_at) <= 2 * bias)
            most = upper > most ? upper : most;
    }
    most = wi_warp_max(most);
    __syncthreads();
    if (wi_lane() == 0)
        atomicMax(&largest, most);
    __syncthreads();
    if (threadIdx.x != 0)
        return;
    if (!b.carry_in && b.init) {
        wi_exact_add_f64(word, (double)wi_load(*b.init));
        wi_exact_carry(word);
    }
    const int height = start_height<T>(word);
    int above = largest > 0 ? (int)(largest >> field_at) + 1 - bias : 0;
    above = height - 31 > above ? height - 31 : above;
    const int unit = above + room_above - span_bits + 1;
    *b.plan = {start_span<T>(word, unit), {}, unit, wi_no_cut};
    if (wi_exact_is_misfit(b.plan->start))
        b.plan->cut = 0;
}

/* ---- one pass ---- */

/* Found by experiment for scan, on an H200. */
struct exact_scan_shape {
    static constexpr int slots = 6, preparers = 0, preparer_warps = 1, totallers = 6, lookers = 1,
                         finishers = 2, finisher_warps = wi_tile_warps, parts = wi_tile_warps,
                         ahead = 1;
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
    const uint32_t digit = lane < count ? span->digit[lane] : 0;
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
        fits = add_to_span(span, unit, sum[k]) && fits;
    return fits;
}

/* The sum of a part: folds that are still to be put in a span, or a span. */
struct part_sum {
    double fold[2];
    wi_exact_span span; /* what they are added to */
};

template <class T>
__device__ inline part_sum sum_of_part(const wi_exact_part<T> &x, const wi_part_range &range,
                                       int unit) {
    part_sum sum = {{0, 0}, wi_exact_span_of(0)};
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
    const bool fits =
        range.finite && range.above <= unit + span_bits - 1 - room_above + more_than_seen;
    if (fits && wi_window_fits(2, top, range.least))
        wi_exact_total<2>(x, top, sum.fold);
    else if (!fits || !span_by_four(&x, range, unit, &sum.span))
        sum.span = wi_exact_span_of(wi_span_misfit);
    return sum;
}

/* Puts the folds of a part in its span. */
__device__ inline wi_exact_span span_of_part(part_sum sum, int unit) {
    bool fits = true;
    if (wi_exact_is_nothing(sum.span) || wi_exact_is_misfit(sum.span))
        return sum.span;
#pragma unroll
    for (int k = 0; k < 2; k++)
        fits = add_to_span(&sum.span, unit, sum.fold[k]) && fits;
    return fits ? sum.span : wi_exact_span_of(wi_span_misfit);
}

template <class T>
struct exact_scan_block {
    using Vector = wi_vector<T>;
    using ring_block = wi_ring_block<exact_scan_shape, exact_span_sum, wi_exact_span>;

    const ring_block &ring;
    const exact_bulk<T> &b;
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
        if (!is_whole(tile)) {
            wi_barrier_arrive(loaded);
            return;
        }
        wi_barrier_arrive_expect(loaded, wi_tile_bytes);
        wi_bulk_load(slot(k), b.a.x + tile * wi_tile_elements<T>, wi_tile_bytes, loaded);
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
        part_sum mine = {{0, 0}, exact_span_sum::identity<wi_exact_span>()};
#pragma unroll 1
        for (int part = 0; part < exact_scan_shape::parts; part++) {
            wi_exact_part<T> x;
            if (!is_whole(tile))
                fetch_broken(k, part, tile);
            take(k, part, &x);
            const wi_part_range range = wi_exact_measure(x);
            const part_sum of_part = sum_of_part(x, range, unit);
            if (wi_lane() == part) {
                mine = of_part;
                note.range[part] = range;
            }
        }
        const wi_exact_span span = span_of_part(mine, unit); /* each lane that of a part */
        const bool fits = __all_sync(wi_all_lanes, !wi_exact_is_misfit(span));
        if (wi_lane() == 0)
            note.fits = fits;
        return wi_warp_scan(span, exact_span_sum::combine);
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
            if (part == 0 && carry_fits && wi_lane() == 0) {
                b.plan->carry = *carry;
                b.plan->cut = tile;
            }
            return;
        }
        const wi_exact_line line = {carry->digit, wi_exact_span::count, unit};
        const wi_exact_before before = {false, false, false, b.any || tile > 0 || part > 0,
                                        !wi_exact_is_nothing(*carry)};
        if (before.other) {
            wi_exact_scan(b.a, &x, note.range[part], tile, part, line, before,
                          [&] { return span_folds(carry, unit, note.range[part].above); });
        } else {
            const wi_exact_span zero = wi_exact_span_of(0);
            wi_exact_scan_hard(b.a, note.range[part], tile, part,
                               {zero.digit, wi_exact_span::count, unit}, before);
        }
    }

    /* By one thread: the words after the last tile, for the next call. */
    __device__ void hand_on(const wi_exact_span &all) const {
        if (!b.carry_out || wi_exact_is_misfit(all))
            return;
        const bool nothing = wi_exact_is_nothing(all);
        const wi_exact_line line = {all.digit, wi_exact_span::count, unit};
        for (int k = 0; k < WI_EXACT_DIGITS; k++)
            b.carry_out[k] = nothing ? 0 : (int64_t)line.from(WI_EXACT_UNIT + 32 * k);
        if (!nothing && wi_line_is_negative(all.digit, wi_exact_span::count))
            b.carry_out[WI_EXACT_DIGITS - 1] = -1;
        for (int k = WI_EXACT_DIGITS; k < WI_EXACT_WORDS; k++)
            b.carry_out[k] = 0;
        b.carry_out[WI_EXACT_OTHER] = !nothing;
        b.carry_out[WI_EXACT_COUNT] = 1; /* some; how many, no scan asks */
    }
};

template <class T>
__global__ void
__launch_bounds__(wi_ring_block<exact_scan_shape, exact_span_sum, wi_exact_span>::threads)
    exact_scan_pass(exact_bulk<T> b, wi_lookback l) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
    using ring_memory = wi_ring<exact_scan_shape, wi_exact_span>;
    WEFT_DYNAMIC_SHARED(memory);
    WEFT_SHARED(ring_memory, r, );
    WEFT_SHARED(exact_tile_notes, notes, [wi_ring_entries]);
    const wi_ring_block<exact_scan_shape, exact_span_sum, wi_exact_span> ring = {
        l, r, wi_lookback_epoch(l)};
    const exact_scan_block<T> block = {ring, b, memory, notes, b.plan->unit};
    ring.work(
        b.plan->start,
        [&](int k, uint64_t tile, wi_barrier *loaded) { block.load(k, tile, loaded); },
        [](int, uint64_t, int) {}, [&](int k, uint64_t tile) { return block.total(k, tile); },
        [&](const wi_exact_span &all) { block.hand_on(all); },
        [&](int k, uint64_t tile, int part) { block.scan(k, tile, part); });
#endif
}

template <class T>
static weft_status run_bulk(weft_context *ctx, const wi_exact_scan_args *args) {
    static const char key = 0;
    constexpr size_t shared = exact_scan_shape::slots * wi_tile_bytes;
    constexpr int threads = wi_ring_block<exact_scan_shape, exact_span_sum, wi_exact_span>::threads;
    constexpr int words = wi_carry_words<wi_exact_span>;
    const uint64_t tiles = wi_tiles_of(args->n, wi_tile_elements<T>);
    const uint64_t resident = (uint64_t)ctx->gpu->multiprocessors;
    const unsigned blocks = (unsigned)(tiles < resident ? tiles : resident);
    void *scratch, *plan;
    weft_status status =
        wi_gpu_scratch(ctx, &wi_exact_scan_ladder, wi_lookback_bytes(tiles, words), &scratch);
    if (status == WEFT_OK)
        status = wi_gpu_scratch(ctx, &key, sizeof(wi_exact_plan), &plan);
    if (status != WEFT_OK)
        return status;
    const exact_bulk<T> b = {
        {(const T *)args->x, (T *)args->y, args->n, args->kind == WEFT_EXCLUSIVE},
        (wi_exact_plan *)plan,
        (const T *)args->init,
        args->carry_in,
        args->carry_out,
        args->carry_in || args->init || args->start[WI_EXACT_COUNT] != 0};
    status = WEFT_LAUNCH(exact_begin<T>, ctx, 1, begin_threads, 0, b, wi_exact_start_of(args));
    if (status == WEFT_OK)
        status = WEFT_LAUNCH(exact_scan_pass<T>, ctx, blocks, threads, shared, b,
                             wi_lookback_in(scratch, tiles, words));
    return status == WEFT_OK ? wi_exact_scan_rest(ctx, args, b.plan) : status;
}

weft_status wi_exact_scan_bulk(weft_context *ctx, const void *arguments) {
    const wi_exact_scan_args *const args = (const wi_exact_scan_args *)arguments;
    return wi_with_float_type(
        args->type, [=](auto tag) { return run_bulk<typename decltype(tag)::type>(ctx, args); });
}
