/* SPDX-License-Identifier: Apache-2.0 */
/* What the CUDA rungs of select share: how elements are tested, and how those that are kept find
 * their places. */
#ifndef WI_SELECT_CUDA_CUH
#define WI_SELECT_CUDA_CUH

#include "cuda/launch.cuh"
#include "cuda/lookback.cuh"
#include "cuda/size.cuh"
#include "select/select.h"

/* An element of 16 bytes that is only moved. */
struct alignas(16) wi_wide {
    uint64_t half[2];
};

/* The operator of look-back: counts are added. */
struct wi_add_counts {
    template <class V>
    static __device__ inline V combine(V a, V b) {
        return a + b;
    }
    template <class V>
    static __device__ inline V identity() {
        return 0;
    }
};

template <>
inline constexpr bool wi_adds_counts<wi_add_counts> = true;

/* The test of a wi_select_range on the bits of an element. When many are tested, `negate` is
 * applied to all at once. */
template <class S>
struct wi_in_range {
    S low, span, fold;
    bool negate;

    __device__ explicit wi_in_range(const wi_select_range &range)
        : low((S)range.low), span((S)range.span), fold((S)range.fold), negate(range.negate) {}
    template <bool folds = true>
    __device__ bool inside(S bits) const {
        const S sign = folds ? (S)(0 - (S)(bits >> (8 * sizeof(S) - 1))) : (S)0;
        return (S)((bits ^ (sign & fold)) - low) <= span;
    }
    __device__ bool wants(S bits) const {
        return inside(bits) != negate;
    }
    /* inside[k] = is bits[k] inside? Ranges without folding take half the work. */
    template <int count>
    __device__ void test(const S *bits, bool *inside_range) const {
        if (fold == 0) {
#pragma unroll
            for (int k = 0; k < count; k++)
                inside_range[k] = inside<false>(bits[k]);
        } else {
#pragma unroll
            for (int k = 0; k < count; k++)
                inside_range[k] = inside<true>(bits[k]);
        }
    }
    /* How many elements of a vector are wanted. */
    __device__ unsigned count(const wi_vector<S> &x) const {
        constexpr int width = wi_vector<S>::count;
        bool inside_range[width];
        test<width>(x.at, inside_range);
        unsigned count = 0;
#pragma unroll
        for (int e = 0; e < width; e++)
            count += inside_range[e];
        return negate ? width - count : count;
    }
};

/* What a kernel needs of wi_select_args. */
struct wi_select_params {
    const void *tested;
    uint64_t n;
    wi_select_range range;
    bool unique, has_fill, rest_follows, lengths;
    int tested_bytes, position_bytes;
    uint64_t units, packed;
    const void *x;
    void *kept, *rest, *positions;
    const void *fill;
    alignas(16) unsigned char fill_bytes[WI_SELECT_FILL_BYTES];
    uint64_t *count;
    const uint64_t *total;       /* the number of kept elements, if the rest follows them */
    const uint32_t *tile_counts; /* the same of each tile, if the pass asked for that */
};

/* Queues the count of the wanted elements into *count, in device memory. */
weft_status wi_select_count_queue(weft_context *ctx, const wi_select_args *args, uint64_t *count);

/* The key of the scratch memory for runs. */
extern const char wi_select_runs_key;

/* Before a pass: prepares the kernel's parameters, and `bytes` of scratch for look-back. If the
 * rest must follow the kept elements, these are counted first; unless `tile` is 0 the count of
 * every tile of so many elements, beginning at a 16-byte boundary, is stored. */
weft_status wi_select_begin(weft_context *ctx, const wi_select_args *args, size_t bytes,
                            uint64_t tile, wi_select_params *p, void **scratch);

/* May a tile overwrite what others have yet to read? */
inline bool wi_select_overwrites(const wi_select_args *args) {
    return args->kept && (args->kept == args->x || args->kept == args->tested);
}

/* Look-back for a call. */
inline wi_lookback wi_select_lookback_in(const wi_select_args *args, const wi_select_params &p,
                                         void *scratch, uint64_t tiles) {
    wi_lookback l = wi_lookback_in(scratch, tiles);
    l.counts = p.tile_counts;
    l.ordered = wi_select_overwrites(args);
    return l;
}

/* Calls f with an element of the type tested. */
template <class F>
__device__ inline auto wi_with_tested(int bytes, F f) {
    switch (bytes) {
    case 1:
        return f((uint8_t)0);
    case 2:
        return f((uint16_t)0);
    case 4:
        return f((uint32_t)0);
    default:
        return f((uint64_t)0);
    }
}

/* How many of the `most` elements from number `first` on exist. */
__device__ inline unsigned wi_left(const wi_select_params &p, uint64_t first, unsigned most) {
    if (first >= p.n)
        return 0;
    return p.n - first < most ? (unsigned)(p.n - first) : most;
}

/* Marks rows of 32 elements: marks[k] gets one bit for each element of row k that is wanted, but
 * none after the first `left` elements. load(row) is this lane's element of a row; all loads are in
 * flight together. `last` is the element before the first row; with is_first there is none. Called
 * by a whole warp; returns how many are marked. */
template <int rows, class S, class Load>
__device__ inline unsigned wi_mark_rows(const wi_select_params &p, unsigned left, S last,
                                        bool is_first, unsigned *marks, Load load) {
    const wi_in_range<S> in_range(p.range);
    const unsigned flip = in_range.negate && !p.unique ? ~0u : 0;
    S bits[rows];
    bool wanted[rows];
#pragma unroll
    for (int k = 0; k < rows; k++)
        bits[k] = load(k);
    if (p.unique) {
        const bool leads = wi_lane() == 0;
#pragma unroll
        for (int k = 0; k < rows; k++) {
            const S up = wi_shuffle_up(bits[k], 1);
            wanted[k] = bits[k] != (leads ? last : up) || (k == 0 && leads && is_first);
            last = wi_shuffle(bits[k], 31);
        }
    } else {
        in_range.template test<rows>(bits, wanted);
    }
#pragma unroll
    for (int k = 0; k < rows; k++)
        marks[k] = __ballot_sync(wi_all_lanes, wanted[k]) ^ flip;
    if (left < 32u * rows) {
#pragma unroll
        for (int row = 0; row < rows; row++) {
            const unsigned before = 32u * (unsigned)row;
            const unsigned valid = left > before ? left - before : 0;
            marks[row] &= valid >= 32 ? ~0u : (1u << valid) - 1;
        }
    }
    unsigned count = 0;
#pragma unroll
    for (int row = 0; row < rows; row++)
        count += (unsigned)__popc(marks[row]);
    return count;
}

/* What a pass writes: the kept elements; these and the rest; or the positions of the kept ones and,
 * if there are any, the elements. */
typedef enum wi_select_output {
    WI_OUTPUT_KEPT,
    WI_OUTPUT_REST,
    WI_OUTPUT_POSITIONS
} wi_select_output;

template <wi_select_output o>
struct wi_output_tag {
    static constexpr wi_select_output output = o;
};

/* Rows of 32 one-unit elements in a warp's registers; this lane has a column of them. */
template <class P, int rows, wi_select_output output>
struct wi_select_column {
    unsigned marks[rows];
    P item[rows];
    unsigned left; /* elements from this lane's first one on: element r exists if 32 r < left */

    __device__ bool wanted(int row) const {
        return marks[row] & 1u << wi_lane();
    }
    __device__ bool holds(int row) const {
        return output == WI_OUTPUT_REST ? 32u * (unsigned)row < left : wanted(row);
    }

    /* Writes; the first row begins with element `first`, before which `carry` elements are kept. */
    __device__ void write(const wi_select_params &p, uint64_t first, uint64_t carry) const {
        const unsigned lower = (1u << wi_lane()) - 1;
        P *const kept = (P *)p.kept + carry;
        P *rest = (P *)p.rest;
        if (output == WI_OUTPUT_REST && p.rest_follows)
            rest = (P *)p.kept + *p.total;
        rest += first - carry;
        const bool moves = !stays(p, first, carry);
        unsigned before = 0;
#pragma unroll
        for (int row = 0; row < rows; row++) {
            const unsigned rank = before + (unsigned)__popc(marks[row] & lower);
            const unsigned e = (unsigned)(32 * row + wi_lane());
            if (output == WI_OUTPUT_REST)
                wi_store_if(holds(row), wanted(row) ? kept + rank : rest + (e - rank), item[row]);
            if (output == WI_OUTPUT_KEPT || (output == WI_OUTPUT_POSITIONS && p.kept))
                wi_store_if(wanted(row) && moves, kept + rank, item[row]);
            if (output == WI_OUTPUT_POSITIONS)
                write_position(p, wanted(row), carry + rank, first + e);
            before += (unsigned)__popc(marks[row]);
        }
    }

  private:
    /* Is every element at its place already? Then it is not written: the next tile may be reading
     * the last one, to compare its own first element with it. */
    __device__ bool stays(const wi_select_params &p, uint64_t first, uint64_t carry) const {
        unsigned all = marks[0];
#pragma unroll
        for (int row = 1; row < rows; row++)
            all &= marks[row];
        return p.kept == p.x && carry == first && all == ~0u;
    }
    __device__ static void write_position(const wi_select_params &p, bool wanted, uint64_t to,
                                          uint64_t i) {
        if (p.position_bytes == 4)
            wi_store_if(wanted, (uint32_t *)p.positions + to, (uint32_t)i);
        else
            wi_store_if(wanted, (uint64_t *)p.positions + to, i);
    }
};

/* Calls f with a tag of what the call writes. */
template <class F>
weft_status wi_with_output(const wi_select_args *args, F f) {
    if (args->position_bytes)
        return f(wi_output_tag<WI_OUTPUT_POSITIONS>{});
    if (args->rest || args->rest_follows)
        return f(wi_output_tag<WI_OUTPUT_REST>{});
    return f(wi_output_tag<WI_OUTPUT_KEPT>{});
}

/* Calls f with a tag of the type that is moved. */
template <class F>
weft_status wi_with_unit(size_t unit, F f) {
    return unit == sizeof(wi_wide) ? f(wi_tag<wi_wide>{}) : wi_with_size(unit, f);
}

#endif
