/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of 4 KiB and how a warp adds them up and scans them without rounding, for the CUDA rungs of
 * exact_scan. Rows and tiles are those of scan_tile.cuh: a row is one vector for each lane. */
#ifndef WI_EXACT_SCAN_CUDA_CUH
#define WI_EXACT_SCAN_CUDA_CUH

#include "exact/exact_cuda.cuh"
#include "exact/exact_scan.h"
#include "scan/scan_tile.cuh"

/* Sums of T as a line of digits. */
template <class T>
struct wi_line_of {
    static constexpr int first = sizeof(T) == 8 ? WI_LINE_FIRST : WI_SHORT_FIRST;
    static constexpr int count = sizeof(T) == 8 ? WI_LINE_COUNT : WI_SHORT_COUNT;
    static constexpr int unit = WI_EXACT_UNIT + 32 * first;
};

/* A line of digits in memory. */
struct wi_exact_line {
    const uint32_t *digit;
    int count, unit;

    __device__ int height() const {
        return wi_line_height(digit, count, unit);
    }
    /* The digit that counts 2^exponent. */
    __device__ uint32_t from(int exponent) const {
        return (uint32_t)wi_line_from(digit, count, unit, exponent);
    }
};

/* An element's type as a weft_type. */
template <class T>
constexpr weft_type wi_type_of_float = WEFT_F64;
template <>
constexpr weft_type wi_type_of_float<float> = WEFT_F32;
template <>
constexpr weft_type wi_type_of_float<__half> = WEFT_F16;
template <>
constexpr weft_type wi_type_of_float<__nv_bfloat16> = WEFT_BF16;

/* The vectors of a part that a lane has. */
template <class T>
struct wi_exact_part {
    wi_vector<T> row[wi_part_rows];
    __device__ double at(int r, int e) const {
        return (double)wi_load(row[r].at[e]);
    }
};

/* What folds need to know of a part. */
struct wi_part_range {
    int above, least; /* elements are below 2^above, and multiples of 2^least */
    bool finite;
};

/* Loads a vector from x[0 .. n); beyond the end there are -0.0. */
template <class T>
__device__ inline void wi_exact_read_row(wi_vector<T> *to, const T *x, size_t n, size_t at,
                                         bool aligned) {
    if (aligned && at + wi_vector<T>::count <= n) {
        *to = *(const wi_vector<T> *)(x + at);
        return;
    }
#pragma unroll
    for (int e = 0; e < wi_vector<T>::count; e++)
        to->at[e] = at + (size_t)e < n ? x[at + (size_t)e] : (T)-0.0f;
}

/* Loads a part; with at_once 1 one row after another, in a short loop. */
template <int at_once = wi_part_rows, class T>
__device__ inline void wi_exact_read_part(wi_exact_part<T> *to, const T *x, size_t n, uint64_t tile,
                                          int part, bool aligned) {
#pragma unroll(at_once)
    for (int r = 0; r < wi_part_rows; r++)
        wi_exact_read_row(&to->row[r], x, n, wi_place_in<T>(tile, part, r), aligned);
}

template <int at_once = wi_part_rows, class T>
__device__ inline void wi_exact_write_part(const wi_exact_part<T> &from, T *y, size_t n,
                                           uint64_t tile, int part, bool aligned) {
#pragma unroll(at_once)
    for (int r = 0; r < wi_part_rows; r++)
        wi_write_vector(y, wi_place_in<T>(tile, part, r), n, aligned, from.row[r]);
}

/* The upper bits of a magnitude, exponent first, as f64 or f32 has them; not 0 unless x is. */
__device__ inline uint32_t wi_upper_of(double x) {
    const uint64_t bits = wi_bit_cast<uint64_t>(x);
    return ((uint32_t)(bits >> 32) & 0x7fffffffu) | (uint32_t)((uint32_t)bits != 0);
}
__device__ inline uint32_t wi_upper_of(float x) {
    return wi_bit_cast<uint32_t>(x) & 0x7fffffffu;
}

/* Measures a part, for all lanes. */
template <class T>
__device__ inline wi_part_range wi_exact_measure(const wi_exact_part<T> &x) {
    constexpr bool wide = sizeof(T) == 8;
    constexpr int field_at = wide ? 20 : 23, bias = wide ? 1023 : 127, digits = wide ? 52 : 23;
    uint32_t most = 0, less = UINT32_MAX; /* of what is not 0, less 1 */
#pragma unroll
    for (int r = 0; r < wi_part_rows; r++) {
#pragma unroll
        for (int e = 0; e < wi_vector<T>::count; e++) {
            const uint32_t upper = wi_upper_of(wi_load(x.row[r].at[e]));
            most = upper > most ? upper : most;
            less = upper - 1 < less ? upper - 1 : less;
        }
    }
    most = wi_warp_max(most);
    less = wi_warp_min(less);
    if (most == 0)
        return {WI_NO_EXPONENT, 0, true};
    const int large = (int)(most >> field_at), small = (int)((less + 1) >> field_at);
    return {large + 1 - bias, (small > 0 ? small : 1) - bias - digits, large <= 2 * bias};
}

/* Elements that are split side by side, so that the f64 units always have work. */
template <class T>
constexpr int wi_rows_at_once = wi_vector<T>::count < 4 ? 2 : 1;

/* The folds of elements: what is left of each goes from one to the next. */
template <int folds>
struct wi_exact_anchors {
    double at[folds];
    __device__ explicit wi_exact_anchors(int top) {
#pragma unroll
        for (int k = 0; k < folds; k++)
            at[k] = wi_fold_anchor(wi_fold_unit(top, k));
    }
    /* The last fold takes what is left, which is a multiple of its unit. */
    template <int count>
    __device__ void split(double (&x)[count], double (&fold)[folds][count]) const {
#pragma unroll
        for (int k = 0; k < folds - 1; k++) {
#pragma unroll
            for (int e = 0; e < count; e++)
                fold[k][e] = x[e] + at[k];
#pragma unroll
            for (int e = 0; e < count; e++)
                fold[k][e] -= at[k];
#pragma unroll
            for (int e = 0; e < count; e++)
                x[e] -= fold[k][e];
        }
#pragma unroll
        for (int e = 0; e < count; e++)
            fold[folds - 1][e] = x[e];
    }
};

/* The sum of a few numbers by a tree. */
template <int count>
__device__ inline double wi_exact_tree(const double (&x)[count]) {
    double sum[count];
#pragma unroll
    for (int e = 0; e < count; e++)
        sum[e] = x[e];
#pragma unroll
    for (int step = count / 2; step > 0; step /= 2)
#pragma unroll
        for (int e = 0; e < step; e++)
            sum[e] += sum[e + step];
    return sum[0];
}

/* The sum of a part by folds, in every lane. */
template <int folds, class T>
__device__ inline void wi_exact_total(const wi_exact_part<T> &x, int top, double (&sum)[folds]) {
    constexpr int rows = wi_rows_at_once<T>, width = wi_vector<T>::count;
    const wi_exact_anchors<folds> anchors(top);
#pragma unroll
    for (int k = 0; k < folds; k++)
        sum[k] = 0;
#pragma unroll(folds == 2 ? wi_part_rows : 1)
    for (int r = 0; r < wi_part_rows; r += rows) {
        double element[rows * width], fold[folds][rows * width];
#pragma unroll
        for (int e = 0; e < rows * width; e++)
            element[e] = x.at(r + e / width, e % width);
        anchors.split(element, fold);
#pragma unroll
        for (int k = 0; k < folds; k++)
            sum[k] += wi_exact_tree(fold[k]);
    }
#pragma unroll
    for (int k = 0; k < folds; k++)
        sum[k] = wi_warp_reduce(sum[k], [](double a, double b) { return a + b; });
}

/* A sum rounded to odd, rounded to T. */
template <class T>
__device__ inline T wi_exact_narrow(double odd) {
    if constexpr (sizeof(T) == 8) {
        return odd;
    } else if constexpr (sizeof(T) == 4) {
        return (float)odd;
    } else {
        const float nearest = (float)odd;
        uint32_t bits = wi_bit_cast<uint32_t>(nearest);
        bits -= fabs((double)nearest) > fabs(odd);
        bits |= (double)nearest != odd;
        return (T)wi_bit_cast<float>(bits);
    }
}

/* A prefix from its folds, rounded to T; *near if they cannot tell it. */
template <int folds, class T>
__device__ inline T wi_exact_prefix(const double (&fold)[folds], int top, bool more, double limit,
                                    bool *near) {
    double sum;
    if constexpr (folds == WI_FOLD_MOST) {
        *near |= !wi_folds_round(fold, top, more, sizeof(T) < 8, &sum);
    } else {
        sum = fold[0] + fold[1];
        *near |= fabs(sum) < limit;
        if constexpr (sizeof(T) == 4) { /* half way between floats, or among small ones */
            const uint64_t bits = wi_bit_cast<uint64_t>(sum);
            if (((uint32_t)bits & 0x1fffffffu) == 0x10000000u || fabs(sum) < 0x1p-125)
                sum = wi_add_to_odd(fold[0], fold[1]);
        } else if constexpr (sizeof(T) == 2) {
            sum = wi_add_to_odd(fold[0], fold[1]);
        }
    }
    return wi_exact_narrow<T>(sum);
}

/* What comes before a part, in folds. */
template <int folds>
struct wi_exact_in_folds {
    double fold[folds];
    int top;   /* of the window */
    bool more; /* something is left below the last fold */
};

/* Scans a part that follows `start`: the outputs take the place of the elements. False, in all
 * lanes, if these folds cannot do it. */
template <int folds, class T>
__device__ inline bool wi_exact_scan_part(wi_exact_part<T> *x,
                                          const wi_exact_in_folds<folds> &start, bool exclusive) {
    constexpr int width = wi_vector<T>::count;
    const wi_exact_anchors<folds> anchors(start.top);
    const double limit = start.more ? wi_exact_power(wi_fold_unit(start.top, folds - 1) + 53) : 0;
    double before[folds];
    bool near = false;
#pragma unroll
    for (int k = 0; k < folds; k++)
        before[k] = start.fold[k];
#pragma unroll(folds == 2 ? wi_part_rows : 1)
    for (int r = 0; r < wi_part_rows; r++) {
        double element[width], own[folds][width], sum[folds];
#pragma unroll
        for (int e = 0; e < width; e++)
            element[e] = x->at(r, e);
        anchors.split(element, own);
#pragma unroll
        for (int k = 0; k < folds; k++) {
            const double of_lane = wi_exact_tree(own[k]);
            const double with = wi_warp_scan(of_lane, [](double a, double b) { return a + b; });
            sum[k] = before[k] + (with - of_lane);
            before[k] += wi_shuffle(with, 31);
        }
#pragma unroll
        for (int e = 0; e < width; e++) {
            if (exclusive)
                x->row[r].at[e] =
                    wi_exact_prefix<folds, T>(sum, start.top, start.more, limit, &near);
#pragma unroll
            for (int k = 0; k < folds; k++)
                sum[k] += own[k][e];
            if (!exclusive)
                x->row[r].at[e] =
                    wi_exact_prefix<folds, T>(sum, start.top, start.more, limit, &near);
        }
    }
    return !__any_sync(wi_all_lanes, near);
}

/* A sum in the window that a run of elements below 2^above needs. */
template <int folds>
__device__ inline wi_exact_in_folds<folds> wi_exact_folds_of(const wi_exact_line &line, int above) {
    wi_exact_in_folds<folds> f;
    f.top = wi_window_top(folds, line.height(), above);
    f.more = f.top <= WI_TOP_MOST &&
             wi_line_split(line.digit, line.count, line.unit, f.top, folds, f.fold);
    return f;
}

/* What comes before a part, beside the digits of its sum. */
struct wi_exact_before {
    bool nan, plus, minus; /* NaN, and infinities, were met */
    bool any, other;       /* elements; such that are not -0.0 */
};

/* One lane's stretch of a part, whose elements are added to digits one by one. */
template <class T>
struct wi_exact_stretch {
    using Line = wi_line_of<T>;
    uint32_t digit[Line::count];
    wi_exact_before b;

    __device__ void add(T element) {
        const double x = (double)wi_load(element);
        const uint64_t bits = wi_bit_cast<uint64_t>(x);
        const bool special = (bits >> 52 & 2047) == 2047, is_nan = x != x;
        b.any = true;
        b.other |= bits != (uint64_t)1 << 63;
        b.nan |= is_nan;
        b.plus |= special && !is_nan && x > 0;
        b.minus |= special && !is_nan && x < 0;
        if (!special)
            wi_line_add_f64(digit, Line::count, Line::unit, x);
    }
    __device__ void add_line(const wi_exact_line &other) {
        uint64_t carry = 0;
        for (int k = 0; k < Line::count; k++) {
            carry += (uint64_t)digit[k] + other.from(Line::unit + 32 * k);
            digit[k] = (uint32_t)carry;
            carry >>= 32;
        }
    }
    __device__ T rounded() const {
        constexpr weft_type type = wi_type_of_float<T>;
        const wi_exact_format f = wi_exact_format_of(type);
        uint64_t bits;
        if (b.nan || (b.plus && b.minus))
            bits = f.infinity | (uint64_t)1 << (f.precision - 2);
        else if (b.plus || b.minus)
            bits = wi_exact_signed(type, b.minus, f.infinity);
        else if (b.any && !b.other)
            bits = wi_exact_signed(type, true, 0);
        else
            bits = wi_line_round(digit, Line::count, Line::unit, type);
        return wi_bit_cast<T>((wi_bits<T>)bits);
    }
    /* To the sum of all before this lane in the warp; `digit` is zero before lane 0. */
    __device__ void add_lanes_before() {
        for (int step = 1; step < 32; step *= 2) {
            uint64_t carry = 0;
            for (int k = 0; k < Line::count; k++) {
                const uint32_t other = wi_shuffle_up(digit[k], step);
                carry += (uint64_t)digit[k] + (wi_lane() >= step ? other : 0);
                digit[k] = (uint32_t)carry;
                carry >>= 32;
            }
        }
        for (int k = 0; k < Line::count; k++) {
            const uint32_t other = wi_shuffle_up(digit[k], 1);
            digit[k] = wi_lane() == 0 ? 0 : other;
        }
        const unsigned lower = (1u << wi_lane()) - 1;
        b.nan = (__ballot_sync(wi_all_lanes, b.nan) & lower) != 0;
        b.plus = (__ballot_sync(wi_all_lanes, b.plus) & lower) != 0;
        b.minus = (__ballot_sync(wi_all_lanes, b.minus) & lower) != 0;
        b.any = (__ballot_sync(wi_all_lanes, b.any) & lower) != 0;
        b.other = (__ballot_sync(wi_all_lanes, b.other) & lower) != 0;
    }
};

/* The arrays of a scan. */
template <class T>
struct wi_exact_arrays {
    const T *x;
    T *y;
    size_t n;
    bool exclusive;
};

/* Scans a part element by element: each lane a stretch, once it knows the sums of those before. */
template <class T>
__device__ inline void wi_exact_scan_stretches(const wi_exact_arrays<T> &a, uint64_t tile, int part,
                                               const wi_exact_line &line,
                                               const wi_exact_before &before) {
    constexpr size_t elements = wi_part_bytes / sizeof(T), each = elements / 32;
    const size_t first =
        tile * wi_tile_elements<T> + (size_t)part * elements + (size_t)wi_lane() * each;
    const size_t end = first + each < a.n ? first + each : a.n;
    wi_exact_stretch<T> s = {};
    for (size_t i = first; i < end; i++)
        s.add(a.x[i]);
    s.add_lanes_before();
    s.add_line(line);
    s.b = {s.b.nan || before.nan, s.b.plus || before.plus, s.b.minus || before.minus,
           s.b.any || before.any, s.b.other || before.other};
    for (size_t i = first; i < end; i++) {
        const T element = a.x[i];
        if (a.exclusive)
            a.y[i] = s.rounded();
        s.add(element);
        if (!a.exclusive)
            a.y[i] = s.rounded();
    }
}

/* Scans a part that two folds cannot scan. */
template <class T>
__device__ __attribute__((noinline)) void
wi_exact_scan_hard(wi_exact_arrays<T> a, wi_part_range range, uint64_t tile, int part,
                   wi_exact_line line, wi_exact_before before) {
    const bool plain = range.finite && before.other && !before.nan && !before.plus && !before.minus;
    if (plain) {
        const wi_exact_in_folds<WI_FOLD_MOST> start =
            wi_exact_folds_of<WI_FOLD_MOST>(line, range.above);
        wi_exact_part<T> x;
        wi_exact_read_part<1>(&x, a.x, a.n, tile, part, wi_is_aligned(a.x));
        if (wi_window_fits(WI_FOLD_MOST, start.top, range.least) &&
            wi_exact_scan_part(&x, start, a.exclusive)) {
            wi_exact_write_part<1>(x, a.y, a.n, tile, part, wi_is_aligned(a.y));
            return;
        }
    }
    __syncwarp(); /* y may be x: no lane writes what another has yet to read */
    wi_exact_scan_stretches(a, tile, part, line, before);
}

/* Scans a part that has been read, and writes it, if two folds that `start` gives can do it. Called
 * by a warp. */
template <class T, class Start>
__device__ inline void wi_exact_scan(const wi_exact_arrays<T> &a, wi_exact_part<T> *x,
                                     const wi_part_range &range, uint64_t tile, int part,
                                     const wi_exact_line &line, const wi_exact_before &before,
                                     Start start) {
    if (range.finite && before.other && !before.nan && !before.plus && !before.minus) {
        const wi_exact_in_folds<2> folds = start();
        if (wi_window_fits(2, folds.top, range.least) &&
            wi_exact_scan_part(x, folds, a.exclusive)) {
            wi_exact_write_part(*x, a.y, a.n, tile, part, wi_is_aligned(a.y));
            return;
        }
    }
    wi_exact_scan_hard(a, range, tile, part, line, before);
}

#endif
