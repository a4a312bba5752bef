/* SPDX-License-Identifier: Apache-2.0 */
/* What one thread of summary's kernel does: it brings its vectors to its own places in shared
 * memory by asynchronous copies, several turns ahead, so that what is on its way takes no registers
 * and there is no barrier.
 *
 * It sums differences to a number near its elements, and starts anew after some of them: that
 * keeps the chain of additions short, and the number near. Of extremes it keeps the value, and in
 * which region it was first met: what a warp takes in one turn lies together, so the first region
 * with the extreme of the whole array is all that has to be looked through, once, at the end. */
#ifndef WI_SUMMARY_COLLECT_CUH
#define WI_SUMMARY_COLLECT_CUH

#include "cuda/async.cuh"
#include "cuda/bytes.cuh"
#include "cuda/memory.cuh"
#include "cuda/reciprocal.cuh"
#include "cuda/types.cuh"
#include "sort/sort_key.cuh"
#include "summary/summary.h"

constexpr int wi_summary_block = 256, wi_summary_warps = wi_summary_block / 32;
/* After so many turns a thread's sums are closed. */
template <class T>
constexpr unsigned wi_summary_turns = sizeof(T) == 2 ? 32 : 64;

/* The order of the elements, NaN apart. */
template <class T>
struct wi_summary_order {
    __device__ static bool is_nan(T x) {
        return wi_is_nan(wi_load(x));
    }
    __device__ static T less(T a, T b) {
        if constexpr (wi_traits<T>::is_float)
            return (T)wi_minimum(wi_load(a), wi_load(b));
        else
            return b < a ? b : a;
    }
    __device__ static T more(T a, T b) {
        if constexpr (wi_traits<T>::is_float)
            return (T)wi_maximum(wi_load(a), wi_load(b));
        else
            return b > a ? b : a;
    }
    __device__ static bool same(T a, T b) {
        return wi_bit_cast<wi_bits<T>>(a) == wi_bit_cast<wi_bits<T>>(b);
    }
};

/* Vectors that a thread takes in one turn. */
constexpr int wi_summary_vectors = 4;

/* Integers of 8 and 16 bits are summed as integers. */
template <class T>
constexpr bool wi_summary_of_integers = !wi_traits<T>::is_float && sizeof(T) <= 2;
template <class T>
constexpr bool wi_summary_of_bytes = !wi_traits<T>::is_float && sizeof(T) == 1;

/* A vector of a turn. Bytes stay four in a word, which nothing has to take apart. */
template <class T>
using wi_summary_vector = wi_vector<typename wi_choose<wi_summary_of_bytes<T>, uint32_t, T>::type>;
template <class T>
__device__ T wi_summary_element(const wi_summary_vector<T> &v, int e) {
    if constexpr (wi_summary_of_bytes<T>)
        return (T)(v.at[e / 4] >> 8 * (e % 4));
    else
        return v.at[e];
}

/* Blocks on a multiprocessor, and turns of a thread that are on their way or worked on. */
constexpr int wi_summary_resident = 2;
constexpr int wi_summary_ahead = 4;
constexpr size_t wi_summary_shared_bytes =
    (size_t)wi_summary_block * wi_summary_vectors * wi_summary_ahead * 16;

/* How many elements apart the vectors of a thread's turn are, and how many elements a region has:
 * those of a turn of a warp, which lie together. */
template <class T>
constexpr size_t wi_summary_apart = 32 * wi_vector<T>::count;
template <class T>
constexpr size_t wi_summary_region = wi_summary_vectors *wi_summary_apart<T>;
/* No region, and no place in one. */
constexpr uint32_t wi_summary_nowhere = ~(uint32_t)0;

/* wi_summary_close and wi_summary_add without divisions, each of which has branches. */
__device__ inline void wi_summary_add_closed(wi_summary_sums *a, uint32_t count, double shift,
                                             double sum, double of_squares) {
    if (count == 0)
        return;
    const double n = (double)count, mean = sum * wi_reciprocal(n),
                 squares = of_squares - sum * mean;
    const wi_summary_sums b = {count, shift, sum, squares < 0 ? 0 : squares};
    if (a->count == 0) {
        *a = b;
        return;
    }
    const double before = (double)a->count, step = b.shift - a->shift;
    const double apart = a->sum * wi_reciprocal(before) - (step + mean);
    a->squares += b.squares + before * (n * wi_reciprocal(before + n)) * (apart * apart);
    a->count += count;
    a->sum += sum + n * step;
}

/* What a kernel needs of the call, with types. */
template <class T>
struct wi_summary_task {
    const T *x;
    size_t n;
    uint64_t first;
    wi_key_map<wi_bits<T>> map;
    const wi_summary_state *state_in;
    wi_summary_state *state_out;
    weft_statistics *result;
};

/* One thread's state. */
template <class T>
struct wi_summary_collector {
    using order = wi_summary_order<T>;
    static constexpr int wide = wi_vector<T>::count;

    wi_summary_sums closed = {0, 0, 0, 0};
    uint32_t least_in = wi_summary_nowhere, most_in = wi_summary_nowhere;
    T least = {}, most = {};
    uint32_t count = 0, taken = 0; /* since the sums were closed: elements, and turns */
    double shift = 0, sum = 0, squares = 0;
    uint32_t of_bytes = 0, of_squares = 0; /* of turns of bytes: they fit until the sums close */

    __device__ void close() {
        if (wi_summary_of_bytes<T>)
            fold_bytes();
        wi_summary_add_closed(&closed, count, shift, sum, squares);
        count = taken = 0;
        sum = squares = 0;
    }
    __device__ void meet(T low, T high, uint32_t region) {
        if (least_in == wi_summary_nowhere || !order::same(order::less(least, low), least)) {
            least = low;
            least_in = region;
        }
        if (most_in == wi_summary_nowhere || !order::same(order::more(most, high), most)) {
            most = high;
            most_in = region;
        }
    }
    __device__ void take_one(T x, uint32_t region) {
        const double value = (double)wi_load(x);
        if (order::is_nan(x))
            return;
        if (count == 0)
            shift = isinf(value) ? 0 : value;
        const double d = value - shift;
        sum += d;
        squares = wi_fma(d, d, squares);
        count++;
        meet(x, x, region);
    }
    /* The sum of a turn of integers that are summed as such. */
    __device__ static int32_t whole_sum(const wi_summary_vector<T> (&v)[wi_summary_vectors]) {
        uint32_t all = 0;
#pragma unroll
        for (int k = 0; k < wi_summary_vectors; k++) {
            if constexpr (wi_summary_of_bytes<T>) {
#pragma unroll
                for (int w = 0; w < 4; w++)
                    all = wi_add_products(word_of(v[k].at[w]), 0x01010101u, all);
            } else {
#pragma unroll
                for (int e = 0; e < wide; e++)
                    all += (uint32_t)v[k].at[e];
            }
        }
        return (int32_t)all - (wi_summary_of_bytes<T> ? off * wi_summary_vectors * wide : 0);
    }
    /* A number near the mean of a turn. Equal elements stay exact. */
    __device__ double shift_of(const wi_summary_vector<T> (&v)[wi_summary_vectors]) const {
        if constexpr (wi_summary_of_integers<T>)
            return rint((double)whole_sum(v) / (wi_summary_vectors * wide));
        const double x = (double)wi_load(wi_summary_element<T>(v[0], 0));
        double all = 0;
#pragma unroll
        for (int k = 0; k < wi_summary_vectors; k++) {
            double some = 0; /* a chain of its own */
#pragma unroll
            for (int e = 0; e < wide; e++)
                some += (double)wi_load(wi_summary_element<T>(v[k], e)) - x;
            all += some;
        }
        const double near = x + all / (wi_summary_vectors * wide);
        return isinf(near) || near != near ? x : near;
    }
    /* The sums of a turn, of d = x - shift and of d d. */
    __device__ void add_up(const wi_summary_vector<T> (&v)[wi_summary_vectors], double *s,
                           double *q) const {
        if constexpr (wi_summary_of_integers<T>) {
            const int32_t near = (int32_t)shift;
            int32_t of = 0;
            uint64_t of_squares = 0;
#pragma unroll
            for (int k = 0; k < wi_summary_vectors; k++)
#pragma unroll
                for (int e = 0; e < wide; e++) {
                    const int32_t d = (int32_t)wi_summary_element<T>(v[k], e) - near;
                    of += d;
                    of_squares += (uint64_t)(uint32_t)abs(d) * (uint32_t)abs(d);
                }
            *s = of;
            *q = (double)of_squares;
        } else {
#pragma unroll
            for (int k = 0; k < wi_summary_vectors; k++)
#pragma unroll
                for (int e = 0; e < wide; e++) {
                    const double d = (double)wi_load(wi_summary_element<T>(v[k], e)) - shift;
                    *s += d;
                    *q = wi_fma(d, d, *q);
                }
        }
    }
    /* A turn of bytes, four in each instruction: as unsigned numbers `off` above the elements.
     * Their sums are exact, and so are those about a shift made of them. What has met the type's
     * ends can meet nothing beyond. */
    static constexpr int32_t off = wi_traits<T>::is_signed ? 128 : 0;
    __device__ bool met_ends() const {
        return least_in != wi_summary_nowhere && (int32_t)least + off == 0 &&
               (int32_t)most + off == 255;
    }
    __device__ static uint32_t word_of(uint32_t word) {
        return word ^ (uint32_t)off * 0x01010101u;
    }
    __device__ void take_bytes(const wi_summary_vector<T> (&v)[wi_summary_vectors],
                               uint32_t region) {
#pragma unroll
        for (int w = 0; w < 4 * wi_summary_vectors; w++) {
            const uint32_t word = word_of(v[w / 4].at[w % 4]);
            of_bytes = wi_add_products(word, 0x01010101u, of_bytes);
            of_squares = wi_add_products(word, word, of_squares);
        }
        count += wi_summary_vectors * wide;
        if (met_ends())
            return;
        wi_byte_range range;
#pragma unroll
        for (int w = 0; w < 4 * wi_summary_vectors; w++)
            range.take(word_of(v[w / 4].at[w % 4]));
        meet((T)((int32_t)range.least() - off), (T)((int32_t)range.most() - off), region);
    }
    /* Adds what turns of bytes have summed. */
    __device__ void fold_bytes() {
        const int64_t n = (int64_t)taken * wi_summary_vectors * wide, near = (int64_t)shift + off;
        sum += (double)((int64_t)of_bytes - n * near);
        squares += (double)((int64_t)of_squares - 2 * near * of_bytes + n * near * near);
        of_bytes = of_squares = 0;
    }
    /* NaN make the sum one, and are then looked for. */
    __device__ void take_turn(const wi_summary_vector<T> (&v)[wi_summary_vectors],
                              uint32_t region) {
        if (count == 0)
            shift = shift_of(v);
        if constexpr (wi_summary_of_bytes<T>)
            take_bytes(v, region);
        else
            take_numbers(v, region);
        if (++taken == wi_summary_turns<T>)
            close();
    }
    /* The least and the largest of a turn without NaN. For f64 no instruction tells -0 from 0, so
     * it is asked only where an extreme is one of them: else equal numbers are the same bits. */
    __device__ static void extremes(const wi_summary_vector<T> (&v)[wi_summary_vectors], T *low,
                                    T *high) {
        if constexpr (sizeof(T) == 8 && wi_traits<T>::is_float) {
#pragma unroll
            for (int k = 0; k < wi_summary_vectors; k++)
#pragma unroll
                for (int e = 0; e < wide; e++) {
                    *low = v[k].at[e] < *low ? v[k].at[e] : *low;
                    *high = v[k].at[e] > *high ? v[k].at[e] : *high;
                }
            if (*low != 0 && *high != 0)
                return;
        }
#pragma unroll
        for (int k = 0; k < wi_summary_vectors; k++)
#pragma unroll
            for (int e = 0; e < wide; e++) {
                *low = order::less(*low, v[k].at[e]);
                *high = order::more(*high, v[k].at[e]);
            }
    }
    __device__ void take_numbers(const wi_summary_vector<T> (&v)[wi_summary_vectors],
                                 uint32_t region) {
        double s = 0, q = 0;
        add_up(v, &s, &q);
        if (s == s) {
            T low = v[0].at[0], high = low;
            extremes(v, &low, &high);
            sum += s;
            squares += q;
            count += wi_summary_vectors * wide;
            meet(low, high, region);
        } else {
            for (int k = 0; k < wi_summary_vectors; k++)
                for (int e = 0; e < wide; e++)
                    take_one(v[k].at[e], region);
        }
    }
};

/* A thread's vectors on their way: turn t has place t modulo `wi_summary_ahead`. */
template <class T>
struct wi_summary_stages {
    wi_summary_vector<T> *own; /* in shared memory */
    bool aligned;

    __device__ wi_summary_vector<T> *place(unsigned turn, int k) const {
        return own +
               ((turn % wi_summary_ahead) * wi_summary_vectors + (unsigned)k) * wi_summary_block;
    }
    __device__ void bring_one(unsigned turn, int k, const T *x) const {
        if (aligned)
            wi_async_copy<16>(place(turn, k), x);
        else
            *place(turn, k) = wi_bit_cast<wi_summary_vector<T>>(wi_load_vector(x, false));
    }
    __device__ void bring(unsigned turn, const T *x) const {
        if (aligned) {
#pragma unroll
            for (int k = 0; k < wi_summary_vectors; k++)
                wi_async_copy<16>(place(turn, k), x + k * wi_summary_apart<T>);
        } else {
#pragma unroll 1
            for (int k = 0; k < wi_summary_vectors; k++)
                bring_one(turn, k, x + k * wi_summary_apart<T>);
        }
    }
};

/* Vectors that are no whole turn, all brought at once. */
template <class T>
__device__ void wi_summary_collect_rest(const wi_summary_task<T> &p,
                                        const wi_summary_stages<T> &stages,
                                        wi_summary_collector<T> &c, size_t i, uint32_t region) {
    constexpr size_t wide = wi_vector<T>::count, stride = wi_summary_apart<T>;
    const size_t whole = p.n / wide * wide;
#pragma unroll 1
    for (int k = 0; k < wi_summary_vectors - 1 && i + k * stride < whole; k++)
        stages.bring_one(0, k, p.x + i + k * stride);
    wi_async_commit();
    wi_async_wait<0>();
#pragma unroll 1
    for (int k = 0; k < wi_summary_vectors - 1 && i < whole; i += stride, k++)
#pragma unroll 1
        for (size_t e = 0; e < wide; e++)
            c.take_one(wi_summary_element<T>(*stages.place(0, k), (int)e), region);
}

/* Where a thread's share is: turns a whole grid apart, each of vectors a warp's width apart.
 * Vectors are counted from the first element, wherever it is in memory, so the same numbers give
 * the same bits at any address. */
template <class T>
struct wi_summary_share {
    static constexpr size_t wide = wi_vector<T>::count, of_warp = wi_summary_region<T>;
    uint32_t warps, me; /* of the grid */
    size_t whole;       /* elements in whole vectors */
    size_t turn;        /* from one to the next */

    __device__ explicit wi_summary_share(const wi_summary_task<T> &p)
        : warps(gridDim.x * wi_summary_warps), me(blockIdx.x * wi_summary_block + threadIdx.x),
          whole(p.n / wide * wide), turn(warps * of_warp) {}
    __device__ size_t first() const {
        return me / 32 * of_warp + me % 32 * wide;
    }
    __device__ bool has_turn(size_t i) const {
        return i + of_warp - wi_summary_apart<T> < whole;
    }
};

/* Brings this thread's first turns. */
template <class T>
__device__ void wi_summary_begin(const wi_summary_task<T> &p, const wi_summary_stages<T> &stages) {
    const wi_summary_share<T> share(p);
#pragma unroll 1
    for (unsigned t = 0; t < wi_summary_ahead - 1; t++) {
        const size_t i = share.first() + t * share.turn;
        if (share.has_turn(i))
            stages.bring(t, p.x + i);
        wi_async_commit();
    }
}

/* Takes this thread's share, of which the first turns are on their way, and for the first threads
 * the elements after the last whole vector. */
template <class T>
__device__ void wi_summary_collect(const wi_summary_task<T> &p, const wi_summary_stages<T> &stages,
                                   wi_summary_collector<T> &c) {
    const wi_summary_share<T> share(p);
    uint32_t region = share.me / 32;
    size_t i = share.first();
    for (unsigned t = 0; share.has_turn(i); i += share.turn, region += share.warps, t++) {
        const size_t next = i + (wi_summary_ahead - 1) * share.turn;
        if (share.has_turn(next))
            stages.bring(t + wi_summary_ahead - 1, p.x + next);
        wi_async_commit();
        wi_async_wait<wi_summary_ahead - 1>();
        wi_summary_vector<T> v[wi_summary_vectors];
#pragma unroll
        for (int k = 0; k < wi_summary_vectors; k++)
            v[k] = *stages.place(t, k);
        c.take_turn(v, region);
    }
    if (i < share.whole)
        wi_summary_collect_rest(p, stages, c, i, region);
    const size_t rest = share.whole + share.me;
    if (share.me < share.wide && rest < p.n)
        c.take_one(p.x[rest], (uint32_t)(rest / share.of_warp));
    c.close();
}

#endif
