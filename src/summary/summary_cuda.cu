/* SPDX-License-Identifier: Apache-2.0 */
/* summary on a GPU in one pass: as many blocks as fit at once read 16-byte vectors; the last block
 * to end merges the blocks' states in a fixed order, so the same input gives the same bits.
 *
 * A thread's vectors come to its own places in shared memory by asynchronous copies, several turns
 * ahead: so what is on its way takes no registers, and there is no barrier.
 *
 * A thread sums differences to a number near its elements, and starts anew after some of them:
 * that keeps the chain of additions short, and the number near. Of extremes it keeps the value, and
 * in which of its turns it was first met; the threads with the block's extremes then look it up. */
#include "cuda/async.cuh"
#include "cuda/bytes.cuh"
#include "cuda/launch.cuh"
#include "cuda/limit.cuh"
#include "cuda/memory.cuh"
#include "cuda/ticket.cuh"
#include "cuda/types.cuh"
#include "cuda/warp.cuh"
#include "sort/sort_key.cuh"
#include "summary/summary.h"

constexpr int threads = 256;
constexpr int warps = threads / 32;
/* After so many turns a thread's sums are closed. */
template <class T>
constexpr unsigned turns = sizeof(T) == 2 ? 32 : 64;
constexpr size_t ticket_bytes = 128;

/* Blocks of a launch, at most; tests set it lower. */
WI_LIMIT(size_t, wi_summary_blocks, SIZE_MAX)

/* The order of the elements, NaN apart. */
template <class T>
struct summary_order {
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

/* Vectors that a thread takes in one turn, a grid's width apart. */
constexpr int vectors = 4;

/* Integers of 8 and 16 bits are summed as integers. */
template <class T>
constexpr bool sums_integers = !wi_traits<T>::is_float && sizeof(T) <= 2;
template <class T>
constexpr bool is_byte = !wi_traits<T>::is_float && sizeof(T) == 1;

/* A vector of a turn. Bytes stay four in a word, which nothing has to take apart. */
template <class T>
using summary_vector = wi_vector<typename wi_choose<is_byte<T>, uint32_t, T>::type>;
template <class T>
__device__ T element_of(const summary_vector<T> &v, int e) {
    if constexpr (is_byte<T>)
        return (T)(v.at[e / 4] >> 8 * (e % 4));
    else
        return v.at[e];
}

/* Blocks on a multiprocessor, and turns of a thread that are on their way or worked on. */
constexpr int resident = 2;
constexpr int ahead = 4;
constexpr size_t shared_bytes = (size_t)threads * vectors * ahead * 16;

/* What a kernel needs of the call, with types. */
template <class T>
struct summary_task {
    const T *x;
    size_t n;
    uint64_t first;
    wi_key_map<wi_bits<T>> map;
    weft_type type;
    const wi_summary_state *state_in;
    wi_summary_state *state_out;
    weft_statistics *result;
};

/* One thread's state. */
template <class T>
struct summary_collector {
    using order = summary_order<T>;
    static constexpr int wide = wi_vector<T>::count;
    static constexpr uint64_t nowhere = ~(uint64_t)0;
    static constexpr uint64_t exactly = (uint64_t)1 << 63; /* the place of an element, not a turn */

    wi_summary_sums closed = {0, 0, 0, 0};
    uint64_t nans = 0, least_in = nowhere, most_in = nowhere;
    T least = {}, most = {};
    uint32_t count = 0, taken = 0; /* since the sums were closed: elements, and turns */
    double shift = 0, sum = 0, squares = 0;
    uint32_t of_bytes = 0, of_squares = 0; /* of turns of bytes: they fit until the sums close */

    __device__ void close() {
        if (is_byte<T>)
            fold_bytes();
        closed = wi_summary_add(closed, wi_summary_close(count, shift, sum, squares));
        count = taken = 0;
        sum = squares = 0;
    }
    __device__ void meet(T low, T high, uint64_t where) {
        if (least_in == nowhere || !order::same(order::less(least, low), least)) {
            least = low;
            least_in = where;
        }
        if (most_in == nowhere || !order::same(order::more(most, high), most)) {
            most = high;
            most_in = where;
        }
    }
    __device__ void take_one(T x, uint64_t at) {
        const double value = (double)wi_load(x);
        if (order::is_nan(x)) {
            nans++;
            return;
        }
        if (count == 0)
            shift = isinf(value) ? 0 : value;
        const double d = value - shift;
        sum += d;
        squares = wi_fma(d, d, squares);
        count++;
        meet(x, x, at | exactly);
    }
    /* A number near the mean of a turn. Equal elements stay exact. */
    __device__ double shift_of(const summary_vector<T> (&v)[vectors]) const {
        const double x = (double)wi_load(element_of<T>(v[0], 0));
        double all = 0;
#pragma unroll
        for (int k = 0; k < vectors; k++)
#pragma unroll
            for (int e = 0; e < wide; e++)
                all += (double)wi_load(element_of<T>(v[k], e)) - x;
        const double near = x + all / (vectors * wide);
        if (sums_integers<T>)
            return rint(near);
        return isinf(near) || near != near ? x : near;
    }
    /* The sums of a turn, of d = x - shift and of d d. */
    __device__ void add_up(const summary_vector<T> (&v)[vectors], double *s, double *q) const {
        if constexpr (sums_integers<T>) {
            const int32_t near = (int32_t)shift;
            int32_t of = 0;
            uint64_t of_squares = 0;
#pragma unroll
            for (int k = 0; k < vectors; k++)
#pragma unroll
                for (int e = 0; e < wide; e++) {
                    const int32_t d = (int32_t)element_of<T>(v[k], e) - near;
                    of += d;
                    of_squares += (uint64_t)(uint32_t)abs(d) * (uint32_t)abs(d);
                }
            *s = of;
            *q = (double)of_squares;
        } else {
#pragma unroll
            for (int k = 0; k < vectors; k++)
#pragma unroll
                for (int e = 0; e < wide; e++) {
                    const double d = (double)wi_load(element_of<T>(v[k], e)) - shift;
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
        return least_in != nowhere && (int32_t)least + off == 0 && (int32_t)most + off == 255;
    }
    __device__ static uint32_t word_of(uint32_t word) {
        return word ^ (uint32_t)off * 0x01010101u;
    }
    __device__ void take_bytes(const summary_vector<T> (&v)[vectors], size_t at) {
#pragma unroll
        for (int w = 0; w < 4 * vectors; w++) {
            const uint32_t word = word_of(v[w / 4].at[w % 4]);
            of_bytes = wi_add_products(word, 0x01010101u, of_bytes);
            of_squares = wi_add_products(word, word, of_squares);
        }
        count += vectors * wide;
        if (met_ends())
            return;
        wi_byte_range range;
#pragma unroll
        for (int w = 0; w < 4 * vectors; w++)
            range.take(word_of(v[w / 4].at[w % 4]));
        meet((T)((int32_t)range.least() - off), (T)((int32_t)range.most() - off), at);
    }
    /* Adds what turns of bytes have summed. */
    __device__ void fold_bytes() {
        const int64_t n = (int64_t)taken * vectors * wide, near = (int64_t)shift + off;
        sum += (double)((int64_t)of_bytes - n * near);
        squares += (double)((int64_t)of_squares - 2 * near * of_bytes + n * near * near);
        of_bytes = of_squares = 0;
    }
    /* Vectors at elements `at`, at + stride, ... NaN make the sum one, and are then looked for. */
    __device__ void take_turn(const summary_vector<T> (&v)[vectors], size_t at, size_t stride) {
        if (count == 0)
            shift = shift_of(v);
        if constexpr (is_byte<T>)
            take_bytes(v, at);
        else
            take_numbers(v, at, stride);
        if (++taken == turns<T>)
            close();
    }
    __device__ void take_numbers(const summary_vector<T> (&v)[vectors], size_t at, size_t stride) {
        double s = 0, q = 0;
        add_up(v, &s, &q);
        if (s == s) {
            T low = v[0].at[0], high = low;
#pragma unroll
            for (int k = 0; k < vectors; k++)
#pragma unroll
                for (int e = 0; e < wide; e++) {
                    low = order::less(low, v[k].at[e]);
                    high = order::more(high, v[k].at[e]);
                }
            sum += s;
            squares += q;
            count += vectors * wide;
            meet(low, high, at);
        } else {
            for (int k = 0; k < vectors; k++)
                for (int e = 0; e < wide; e++)
                    take_one(v[k].at[e], at + (size_t)k * stride + (size_t)e);
        }
    }
};

/* A thread's vectors on their way: turn t has place t modulo `ahead`. */
template <class T>
struct summary_stages {
    summary_vector<T> *own; /* in shared memory */
    bool aligned;

    __device__ summary_vector<T> *place(unsigned turn, int k) const {
        return own + ((turn % ahead) * vectors + (unsigned)k) * threads;
    }
    __device__ void bring_one(unsigned turn, int k, const T *x) const {
        if (aligned)
            wi_async_copy<16>(place(turn, k), x);
        else
            *place(turn, k) = wi_bit_cast<summary_vector<T>>(wi_load_vector(x, false));
    }
    __device__ void bring(unsigned turn, const T *x, size_t stride) const {
#pragma unroll
        for (int k = 0; k < vectors; k++)
            bring_one(turn, k, x + (size_t)k * stride);
    }
};

/* The first place of x, which this thread met in the turn or at the place `where`. The turn is
 * brought once more, all of it at once. */
template <class T>
__device__ uint64_t locate(const summary_stages<T> &stages, const T *p, T x, uint64_t where,
                           size_t stride) {
    using collector = summary_collector<T>;
    if (where & collector::exactly)
        return where ^ collector::exactly;
    stages.bring(0, p + where, stride);
    wi_async_commit();
    wi_async_wait<0>();
    uint64_t found = collector::nowhere;
#pragma unroll 1
    for (int k = vectors - 1; k >= 0; k--) {
        const summary_vector<T> v = *stages.place(0, k);
#pragma unroll
        for (int e = collector::wide - 1; e >= 0; e--)
            if (collector::order::same(element_of<T>(v, e), x))
                found = where + (uint64_t)k * stride + (uint64_t)e;
    }
    return found;
}

/* Vectors that are no whole turn, all brought at once. */
template <class T>
__device__ void collect_rest(const summary_task<T> &p, const summary_stages<T> &stages,
                             summary_collector<T> &c, size_t i, size_t stride) {
    constexpr size_t wide = wi_vector<T>::count;
    const size_t whole = p.n / wide * wide;
#pragma unroll
    for (int k = 0; k < vectors - 1; k++)
        if (i + (size_t)k * stride < whole)
            stages.bring_one(0, k, p.x + i + (size_t)k * stride);
    wi_async_commit();
    wi_async_wait<0>();
#pragma unroll 1
    for (int k = 0; i < whole; i += stride, k++)
#pragma unroll 1
        for (size_t e = 0; e < wide; e++)
            c.take_one(element_of<T>(*stages.place(0, k), (int)e), i + e);
}

/* Takes this thread's share: vectors a whole grid apart, and for the first threads the elements
 * after the last whole vector. Vectors are counted from the first element, wherever it is in
 * memory, so the same numbers give the same bits at any address. */
template <class T>
__device__ void collect(const summary_task<T> &p, const summary_stages<T> &stages,
                        summary_collector<T> &c, size_t stride) {
    constexpr size_t wide = wi_vector<T>::count;
    const size_t whole = p.n / wide * wide, me = (size_t)blockIdx.x * threads + threadIdx.x;
    const size_t turn = vectors * stride, reach = (vectors - 1) * stride;
    size_t i = me * wide;
#pragma unroll 1
    for (unsigned t = 0; t < ahead - 1; t++) {
        if (i + t * turn + reach < whole)
            stages.bring(t, p.x + i + t * turn, stride);
        wi_async_commit();
    }
    for (unsigned t = 0; i + reach < whole; i += turn, t++) {
        const size_t next = i + (ahead - 1) * turn;
        if (next + reach < whole)
            stages.bring(t + ahead - 1, p.x + next, stride);
        wi_async_commit();
        wi_async_wait<ahead - 1>();
        summary_vector<T> v[vectors];
#pragma unroll
        for (int k = 0; k < vectors; k++)
            v[k] = *stages.place(t, k);
        c.take_turn(v, i, stride);
    }
    collect_rest(p, stages, c, i, stride);
    if (me < wide && whole + me < p.n)
        c.take_one(p.x[whole + me], whole + me);
    c.close();
}

/* The threads' values combined in their order, in every thread. */
template <class S, class Combine>
__device__ S over_block(S s, Combine combine) {
    WEFT_SHARED(S, of_warp, [warps]);
    s = wi_warp_reduce(s, combine);
    __syncthreads();
    if (wi_lane() == 0)
        of_warp[threadIdx.x / 32] = s;
    __syncthreads();
    s = of_warp[0];
#pragma unroll 1
    for (int w = 1; w < warps; w++)
        s = combine(s, of_warp[w]);
    return s;
}

/* What a block learns first of its threads' states, and then. */
struct summary_range {
    uint64_t least, most; /* keys */
    double shift;         /* of the first thread with elements */
    bool any;
};
struct summary_totals {
    uint64_t count, nans, least_at, most_at;
    double sum; /* about that shift */
};

/* The states of a block's threads as one, in every thread. All sums are brought to one shift, and
 * all squares to the mean, when it is known: so they are only added, and the few divisions are made
 * by all threads at once. place(most) tells where a thread's least or largest element is; only
 * those that have the block's are asked. */
template <class Place>
__device__ wi_summary_state merge_block(const wi_summary_state &s, Place place) {
    const bool any = s.sums.count > 0;
    const summary_range range =
        over_block(summary_range{any ? s.least : ~(uint64_t)0, any ? s.most : 0, s.sums.shift, any},
                   [](const summary_range &a, const summary_range &b) {
                       return summary_range{a.least < b.least ? a.least : b.least,
                                            a.most > b.most ? a.most : b.most,
                                            a.any ? a.shift : b.shift, a.any || b.any};
                   });
    const double n = any ? (double)s.sums.count : 1, apart = any ? s.sums.shift - range.shift : 0;
    summary_totals totals = {s.sums.count, s.nans, ~(uint64_t)0, ~(uint64_t)0,
                             any ? s.sums.sum + n * apart : 0};
    if (any && s.least == range.least)
        totals.least_at = place(false);
    if (any && s.most == range.most)
        totals.most_at = place(true);
    totals = over_block(totals, [](const summary_totals &a, const summary_totals &b) {
        return summary_totals{a.count + b.count, a.nans + b.nans,
                              a.least_at < b.least_at ? a.least_at : b.least_at,
                              a.most_at < b.most_at ? a.most_at : b.most_at, a.sum + b.sum};
    });
    const double all = totals.count > 0 ? (double)totals.count : 1;
    const double off = apart + s.sums.sum / n - totals.sum / all;
    const double squares = over_block(any ? s.sums.squares + n * (off * off) : 0,
                                      [](double a, double b) { return a + b; });
    return {{totals.count, range.shift, totals.sum, squares},
            totals.nans,
            range.least,
            range.most,
            totals.least_at,
            totals.most_at};
}

/* The state of a block's elements. */
template <class T>
__device__ wi_summary_state state_of_block(const summary_task<T> &p, size_t stride) {
    using Bits = wi_bits<T>;
    WEFT_DYNAMIC_SHARED(shared);
    const summary_stages<T> stages = {(summary_vector<T> *)shared + threadIdx.x,
                                      wi_is_aligned(p.x)};
    summary_collector<T> c;
    collect(p, stages, c, stride);
    const wi_summary_state own = {c.closed,
                                  c.nans,
                                  p.map.key(wi_bit_cast<Bits>(c.least)),
                                  p.map.key(wi_bit_cast<Bits>(c.most)),
                                  0,
                                  0};
    return merge_block(own, [&](bool most) {
        return p.first +
               locate(stages, p.x, most ? c.most : c.least, most ? c.most_in : c.least_in, stride);
    });
}

template <class T>
__device__ void put_out(const summary_task<T> &p, wi_summary_state s) {
    using Bits = wi_bits<T>;
    if (p.state_in)
        s = wi_summary_merge(*p.state_in, s);
    const double nan = (double)NAN, n = (double)s.sums.count;
    const bool any = s.sums.count > 0;
    if (p.state_out) {
        *p.state_out = s;
        return;
    }
    *p.result = {s.sums.count,
                 s.nans,
                 any ? wi_value_of_bits(p.type, p.map.bits((Bits)s.least)) : nan,
                 any ? wi_value_of_bits(p.type, p.map.bits((Bits)s.most)) : nan,
                 any ? s.least_at : WEFT_NOWHERE,
                 any ? s.most_at : WEFT_NOWHERE,
                 any ? s.sums.shift + s.sums.sum / n : nan,
                 any ? s.sums.squares / n : nan};
}

template <class T>
__global__ void __launch_bounds__(threads, resident)
    summarise(summary_task<T> p, unsigned *ticket, wi_summary_state *of_block) {
    wi_summary_state s = state_of_block(p, (size_t)gridDim.x * threads * wi_vector<T>::count);
    if (gridDim.x > 1) {
        if (threadIdx.x == 0)
            of_block[blockIdx.x] = s;
        if (!wi_ends_last(ticket))
            return;
        s = wi_summary_state{};
        for (unsigned b = threadIdx.x; b < gridDim.x; b += threads)
            s = wi_summary_merge(s, of_block[b]);
        s = merge_block(s, [&](bool most) { return most ? s.most_at : s.least_at; });
    }
    if (threadIdx.x == 0)
        put_out(p, s);
}

template <class T>
static weft_status launch(weft_context *ctx, const wi_summary_args *args) {
    constexpr size_t per_block = (size_t)threads * vectors * wi_vector<T>::count;
    const size_t useful = args->n / per_block + 1;
    size_t blocks;
    void *scratch;
    weft_status status = wi_grant_shared(ctx, "summarise", summarise<T>, shared_bytes);
    if (status == WEFT_OK)
        status = wi_resident_blocks(ctx, summarise<T>, threads, shared_bytes, &blocks);
    if (status != WEFT_OK)
        return status;
    blocks = blocks < wi_summary_blocks ? blocks : wi_summary_blocks;
    blocks = blocks < useful ? blocks : useful;
    status = wi_gpu_scratch(ctx, &wi_summary_ladder,
                            ticket_bytes + blocks * sizeof(wi_summary_state), &scratch);
    if (status != WEFT_OK)
        return status;
    const summary_task<T> task = {(const T *)args->x, args->n,
                                  args->first,        wi_key_map_of<wi_bits<T>>(args->type, false),
                                  args->type,         args->state_in,
                                  args->state_out,    args->result};
    return WEFT_LAUNCH(summarise<T>, ctx, (unsigned)blocks, threads, shared_bytes, task,
                       (unsigned *)scratch, (wi_summary_state *)((char *)scratch + ticket_bytes));
}

weft_status wi_summary_one_pass(weft_context *ctx, const void *arguments) {
    const wi_summary_args *const args = (const wi_summary_args *)arguments;
    return wi_with_type(args->type,
                        [=](auto tag) { return launch<typename decltype(tag)::type>(ctx, args); });
}
