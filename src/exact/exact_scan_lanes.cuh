/* SPDX-License-Identifier: Apache-2.0 */
/* What a lane does with its elements of a part in exact_scan's rung `lanes`: it adds them up, and
 * goes through them from a sum that comes before. */
#ifndef WI_EXACT_SCAN_LANES_CUH
#define WI_EXACT_SCAN_LANES_CUH

#include "exact/exact_scan_span.cuh"

/* A part in its slot. Vector v of lane l is number 8 l + v of the part, and lies at 8 l + (v ^ l),
 * as in a box (boxes.cuh): then neither those who read rows nor those who read their neighbours
 * meet in a bank. */
template <class T>
struct wi_lanes_part {
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
constexpr int wi_lanes_width = wi_rows_at_once<T> *wi_vector<T>::count;

/* The lane's own vectors one after another, some at a time: the next are on their way from shared
 * memory while those at hand are worked on. */
template <class T>
struct wi_lanes_walk {
    static constexpr int rows = wi_rows_at_once<T>, width = wi_vector<T>::count;
    const wi_lanes_part<T> &part;
    wi_vector<T> ahead[rows];

    __device__ explicit wi_lanes_walk(const wi_lanes_part<T> &part) : part(part) {
        fetch(0);
    }
    __device__ void fetch(int v) {
#pragma unroll
        for (int k = 0; k < rows; k++)
            ahead[k] = part.own((v + k) % wi_part_rows);
    }
    /* Those from v on as numbers. */
    __device__ void take(int v, double (&x)[rows * width]) {
#pragma unroll
        for (int e = 0; e < rows * width; e++)
            x[e] = (double)wi_load(ahead[e / width].at[e % width]);
        fetch(v + rows);
    }
};

/* How a part is scanned. */
enum {
    WI_LANES_STOP, /* not at all: it is left to `wide`, with all that follows */
    WI_LANES_HARD, /* by four folds, or digit by digit */
    WI_LANES_ONE,  /* fold */
    WI_LANES_TWO   /* folds */
};

/* How a part can be added up; WI_LANES_HARD is neither of the quick ways. */
template <class T>
__device__ inline int wi_lanes_way(const wi_part_range &range) {
    constexpr int log = sizeof(T) == 4 ? 10 : 9; /* of its elements */
    static_assert(wi_part_bytes / sizeof(T) == (size_t)1 << log, "see above");
    if (sizeof(T) < 8 && range.above + log - range.least <= 53)
        return WI_LANES_ONE;
    const int top = wi_window_top(2, WI_NO_EXPONENT, range.above);
    return wi_window_fits(2, top, range.least) ? WI_LANES_TWO : WI_LANES_HARD;
}

/* Some elements of the lane's own vectors, which are in registers. */
template <class T, int elements>
__device__ inline void wi_take_own(const wi_exact_part<T> &own, int v, double (&x)[elements]) {
    constexpr int width = wi_vector<T>::count;
#pragma unroll
    for (int e = 0; e < elements; e++)
        x[e] = own.at(v + e / width, e % width);
}

/* The lane's own elements added up, if every sum of them is an f64. */
template <class T>
__device__ inline double wi_lane_sum(const wi_exact_part<T> &own) {
    double sum = 0;
#pragma unroll
    for (int v = 0; v < wi_part_rows; v += wi_rows_at_once<T>) {
        double element[wi_lanes_width<T>];
        wi_take_own(own, v, element);
        sum += wi_exact_tree(element);
    }
    return sum;
}

/* Adds some elements by two folds. */
template <int count>
__device__ inline void wi_add_folds(const wi_exact_anchors<2> &anchors, double (&element)[count],
                                    double (&sum)[2]) {
    double fold[2][count];
    anchors.split(element, fold);
    sum[0] += wi_exact_tree(fold[0]);
    sum[1] += wi_exact_tree(fold[1]);
}

/* The sum of the lane's own elements by two folds. Of f32, which seldom need them, it is a short
 * loop that reads them again. */
template <class T>
__device__ inline void wi_lane_sum(const wi_exact_part<T> &own, const wi_lanes_part<T> &part,
                                   int top, double (&sum)[2]) {
    const wi_exact_anchors<2> anchors(top);
    double element[wi_lanes_width<T>];
    sum[0] = sum[1] = 0;
    if constexpr (sizeof(T) == 8) {
#pragma unroll
        for (int v = 0; v < wi_part_rows; v += wi_rows_at_once<T>) {
            wi_take_own(own, v, element);
            wi_add_folds(anchors, element, sum);
        }
    } else {
#pragma unroll 1
        for (int v = 0; v < wi_part_rows; v += wi_rows_at_once<T>) {
            part.take(v, element);
            wi_add_folds(anchors, element, sum);
        }
    }
}

/* The sum of a part that two folds cannot add up. */
template <class T>
__device__ __attribute__((noinline)) wi_exact_span wi_lanes_by_four(wi_lanes_part<T> part,
                                                                    wi_part_range range, int unit) {
    const int top = wi_window_top(WI_FOLD_MOST, WI_NO_EXPONENT, range.above);
    wi_exact_span span = wi_exact_span_of(wi_span_zero);
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
__device__ inline bool wi_lanes_add_nothing(const wi_lanes_part<T> &part) {
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
__device__ inline uint32_t wi_upper_word(double x) {
    return (uint32_t)(wi_bit_cast<uint64_t>(x) >> 32) & 0x7fffffffu;
}

/* Prefixes in two folds, rounded to T. *least becomes the least upper word there was, if it is
 * less. f32 are rounded from f64, whose own rounding shows where it ends half way between two f32,
 * or among small ones: there and for narrower types it is to odd. */
template <class T, int count>
__device__ inline void wi_round_lane(const double (&high)[count], const double (&low)[count],
                                     T (&out)[count], uint32_t *least) {
    double sum[count];
    bool again = sizeof(T) == 2;
    uint32_t here = UINT32_MAX;
#pragma unroll
    for (int e = 0; e < count; e++) {
        sum[e] = high[e] + low[e];
        here = wi_upper_word(sum[e]) < here ? wi_upper_word(sum[e]) : here;
        if constexpr (sizeof(T) == 4)
            again |= ((uint32_t)wi_bit_cast<uint64_t>(sum[e]) & 0x1fffffffu) == 0x10000000u;
    }
    if constexpr (sizeof(T) < 8) {
        if (again || here < wi_upper_word(0x1p-125)) {
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
__device__ inline void wi_put_lane(const wi_lanes_part<T> &part, int v, const T (&out)[count]) {
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
__device__ inline void wi_run_along(double (&x)[count], double *sum) {
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
__device__ inline uint32_t wi_scan_by_two(const wi_lanes_part<T> &part, int top, double (&sum)[2]) {
    constexpr int width = wi_lanes_width<T>;
    const wi_exact_anchors<2> anchors(top);
    uint32_t least = UINT32_MAX;
    wi_lanes_walk<T> walk(part);
#pragma unroll 1
    for (int v = 0; v < wi_part_rows; v += wi_rows_at_once<T>) {
        double element[width], fold[2][width];
        T out[width];
        walk.take(v, element);
        anchors.split(element, fold);
        wi_run_along<exclusive>(fold[0], &sum[0]);
        wi_run_along<exclusive>(fold[1], &sum[1]);
        wi_round_lane<T>(fold[0], fold[1], out, &least);
        wi_put_lane(part, v, out);
    }
    return least;
}

/* high + low + x, rounded to odd. */
__device__ inline double wi_three_to_odd(double high, double low, double x) {
    const double sum = high + x, of_x = sum - high;
    const double error = (high - (sum - of_x)) + (x - of_x);
    return wi_add_to_odd(sum, wi_add_to_odd(error, low));
}

/* The same by one fold. What comes before is rounded to f64, once, and each output to f64 again:
 * that is less than 17 of its last places away from the exact sum, if it is not much less than what
 * comes before. So it rounds to the right f32 unless it is as near to the middle between two;
 * there, where sums cancel, and among small ones, the exact sum decides. */
template <bool exclusive>
__device__ inline uint32_t wi_scan_by_one(const wi_lanes_part<float> &part,
                                          const wi_exact_in_folds<2> &start, double sum) {
    constexpr int width = wi_lanes_width<float>;
    constexpr uint32_t near = 64, middle = 0x10000000u, sixteenth = 4u << 20;
    const double base = start.fold[0] + start.fold[1];
    const uint32_t of_base = wi_upper_word(base) > sixteenth ? wi_upper_word(base) - sixteenth : 0;
    const uint32_t small = of_base > wi_upper_word(0x1p-125) ? of_base : wi_upper_word(0x1p-125);
    uint32_t least = UINT32_MAX;
    wi_lanes_walk<float> walk(part);
#pragma unroll 1
    for (int v = 0; v < wi_part_rows; v += wi_rows_at_once<float>) {
        double element[width], prefix[width];
        float out[width];
        uint32_t here = UINT32_MAX;
        bool again = false;
        walk.take(v, element);
        wi_run_along<exclusive>(element, &sum);
#pragma unroll
        for (int e = 0; e < width; e++) {
            prefix[e] = base + element[e];
            here = wi_upper_word(prefix[e]) < here ? wi_upper_word(prefix[e]) : here;
            const uint32_t low = (uint32_t)wi_bit_cast<uint64_t>(prefix[e]); /* 29 bits go */
            again |= (low << 3) - ((middle - near) << 3) <= (2 * near) << 3;
        }
        if (again || here < small) {
#pragma unroll
            for (int e = 0; e < width; e++)
                prefix[e] = wi_three_to_odd(start.fold[0], start.fold[1], element[e]);
        }
#pragma unroll
        for (int e = 0; e < width; e++)
            out[e] = (float)prefix[e];
        wi_put_lane(part, v, out);
        least = here < least ? here : least;
    }
    return least;
}

#endif
