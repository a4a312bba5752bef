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

/* Blocks on a multiprocessor, and turns of a thread that are on their way or worked on. Bytes need
 * more instructions for what they take of memory, and so more threads. */
template <class T>
constexpr int resident = is_byte<T> ? 3 : 2;
template <class T>
constexpr int ahead = is_byte<T> ? 3 : 4;
template <class T>
constexpr size_t shared_bytes = (size_t)threads *vectors *ahead<T> * 16;

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

    __device__ void close() {
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
    __device__ double shift_of(const wi_vector<T> (&v)[vectors]) const {
        const double x = (double)wi_load(v[0].at[0]);
        double all = 0;
#pragma unroll
        for (int k = 0; k < vectors; k++)
#pragma unroll
            for (int e = 0; e < wide; e++)
                all += (double)wi_load(v[k].at[e]) - x;
        const double near = x + all / (vectors * wide);
        if (sums_integers<T>)
            return rint(near);
        return isinf(near) || near != near ? x : near;
    }
    /* The sums of a turn, of d = x - shift and of d d. */
    __device__ void add_up(const wi_vector<T> (&v)[vectors], double *s, double *q) const {
        if constexpr (sums_integers<T>) {
            const int32_t near = (int32_t)shift;
            int32_t of = 0;
            uint64_t of_squares = 0;
#pragma unroll
            for (int k = 0; k < vectors; k++)
#pragma unroll
                for (int e = 0; e < wide; e++) {
                    const int32_t d = (int32_t)v[k].at[e] - near;
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
                    const double d = (double)wi_load(v[k].at[e]) - shift;
                    *s += d;
                    *q = wi_fma(d, d, *q);
                }
        }
    }
    /* The same with the extremes of a turn of bytes, four in each instruction: as unsigned numbers
     * `off` above the elements. Their sums are exact, and so are those about a shift made of them.
     */
    __device__ void take_bytes(const wi_vector<T> (&v)[vectors], size_t at) {
        constexpr int32_t off = wi_traits<T>::is_signed ? 128 : 0;
        wi_byte_range range;
        uint32_t all = 0, of_squares = 0;
#pragma unroll
        for (int k = 0; k < vectors; k++) {
            const wi_vector<uint32_t> words = wi_bit_cast<wi_vector<uint32_t>>(v[k]);
#pragma unroll
            for (int w = 0; w < 4; w++) {
                const uint32_t word = words.at[w] ^ (uint32_t)off * 0x01010101u;
                all = wi_add_products(word, 0x01010101u, all);
                of_squares = wi_add_products(word, word, of_squares);
                range.take(word);
            }
        }
        const int32_t n = vectors * wide, near = (int32_t)shift + off;
        const int64_t d = (int64_t)all - (int64_t)n * near;
        sum += (double)d;
        squares +=
            (double)((int64_t)of_squares - 2 * (int64_t)near * all + (int64_t)n * near * near);
        count += (uint32_t)n;
        meet((T)((int32_t)range.least() - off), (T)((int32_t)range.most() - off), at);
    }
    /* Vectors at elements `at`, at + stride, ... NaN make the sum one, and are then looked for. */
    __device__ void take_turn(const wi_vector<T> (&v)[vectors], size_t at, size_t stride) {
        if (count == 0)
            shift = shift_of(v);
        if constexpr (is_byte<T>)
            take_bytes(v, at);
        else
            take_numbers(v, at, stride);
        if (++taken == turns<T>)
            close();
    }
    __device__ void take_numbers(const wi_vector<T> (&v)[vectors], size_t at, size_t stride) {
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
    /* The first place of x, which this thread met in the turn or at the place `where`. */
    __device__ uint64_t locate(const T *p, T x, uint64_t where, size_t stride) const {
        if (where & exactly)
            return where ^ exactly;
        for (int k = 0; k < vectors; k++)
            for (int e = 0; e < wide; e++) {
                const uint64_t at = where + (uint64_t)k * stride + (uint64_t)e;
                if (order::same(p[at], x))
                    return at;
            }
        return nowhere;
    }
};

/* A thread's vectors on their way: turn t has place t modulo `ahead`. */
template <class T>
struct summary_stages {
    wi_vector<T> *own; /* in shared memory */
    bool aligned;

    __device__ wi_vector<T> *place(unsigned turn, int k) const {
        return own + ((turn % ahead<T>)*vectors + (unsigned)k) * threads;
    }
    __device__ void bring(unsigned turn, const T *x, size_t stride) const {
#pragma unroll
        for (int k = 0; k < vectors; k++)
            if (aligned)
                wi_async_copy<16>(place(turn, k), x + (size_t)k * stride);
            else
                *place(turn, k) = wi_load_vector(x + (size_t)k * stride, false);
    }
};

/* Takes this thread's share: vectors a whole grid apart, and for the first threads the elements
 * after the last whole vector. Vectors are counted from the first element, wherever it is in
 * memory, so the same numbers give the same bits at any address. */
template <class T>
__device__ void collect(const summary_task<T> &p, summary_collector<T> &c, size_t stride) {
    WEFT_DYNAMIC_SHARED(shared);
    constexpr size_t wide = wi_vector<T>::count;
    const size_t whole = p.n / wide * wide, me = (size_t)blockIdx.x * threads + threadIdx.x;
    const summary_stages<T> stages = {(wi_vector<T> *)shared + threadIdx.x, wi_is_aligned(p.x)};
    const size_t turn = vectors * stride, reach = (vectors - 1) * stride;
    size_t i = me * wide;
#pragma unroll 1
    for (unsigned t = 0; t < ahead<T> - 1; t++) {
        if (i + t * turn + reach < whole)
            stages.bring(t, p.x + i + t * turn, stride);
        wi_async_commit();
    }
    for (unsigned t = 0; i + reach < whole; i += turn, t++) {
        const size_t next = i + (ahead<T> - 1) * turn;
        if (next + reach < whole)
            stages.bring(t + ahead<T> - 1, p.x + next, stride);
        wi_async_commit();
        wi_async_wait<ahead<T> - 1>();
        wi_vector<T> v[vectors];
#pragma unroll
        for (int k = 0; k < vectors; k++)
            v[k] = *stages.place(t, k);
        c.take_turn(v, i, stride);
    }
    for (; i < whole; i += stride) {
        const wi_vector<T> v = wi_load_vector(p.x + i, stages.aligned);
        for (size_t e = 0; e < wide; e++)
            c.take_one(v.at[e], i + e);
    }
    if (me < wide && whole + me < p.n)
        c.take_one(p.x[whole + me], whole + me);
    c.close();
}

/* The block's states merged; thread 0 gets the result. */
__device__ inline wi_summary_state merge_block(wi_summary_state s) {
    WEFT_SHARED(wi_summary_state, of_warp, [warps]);
    const auto merge = [](wi_summary_state a, wi_summary_state b) {
        return wi_summary_merge(a, b);
    };
    s = wi_warp_reduce(s, merge);
    __syncthreads();
    if (wi_lane() == 0)
        of_warp[threadIdx.x / 32] = s;
    __syncthreads();
    if (threadIdx.x < 32) {
        s = wi_summary_state{};
        if (wi_lane() < warps)
            s = of_warp[wi_lane()];
        s = wi_warp_reduce(s, merge);
    }
    return s;
}

/* The least and the largest of the block's keys, in every thread. */
__device__ inline void spread_extremes(uint64_t *least, uint64_t *most) {
    WEFT_SHARED(uint64_t, lows, [warps]);
    WEFT_SHARED(uint64_t, highs, [warps]);
    const auto less = [](uint64_t a, uint64_t b) { return a < b ? a : b; };
    const auto more = [](uint64_t a, uint64_t b) { return a > b ? a : b; };
    const uint64_t low = wi_warp_reduce(*least, less), high = wi_warp_reduce(*most, more);
    if (wi_lane() == 0) {
        lows[threadIdx.x / 32] = low;
        highs[threadIdx.x / 32] = high;
    }
    __syncthreads();
    *least = wi_warp_reduce(lows[wi_lane() % warps], less);
    *most = wi_warp_reduce(highs[wi_lane() % warps], more);
}

/* A thread's state, with the places of its extremes if they are the block's. */
template <class T>
__device__ wi_summary_state state_of(const summary_task<T> &p, const summary_collector<T> &c,
                                     size_t stride) {
    using Bits = wi_bits<T>;
    wi_summary_state s = {c.closed, c.nans, ~(uint64_t)0, 0, ~(uint64_t)0, ~(uint64_t)0};
    const bool any = c.closed.count > 0;
    if (any) {
        s.least = p.map.key(wi_bit_cast<Bits>(c.least));
        s.most = p.map.key(wi_bit_cast<Bits>(c.most));
    }
    uint64_t least = s.least, most = s.most;
    spread_extremes(&least, &most);
    if (any && s.least == least)
        s.least_at = p.first + c.locate(p.x, c.least, c.least_in, stride);
    if (any && s.most == most)
        s.most_at = p.first + c.locate(p.x, c.most, c.most_in, stride);
    return s;
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
__global__ void __launch_bounds__(threads, resident<T>)
    summarise(summary_task<T> p, unsigned *ticket, wi_summary_state *of_block) {
    const size_t stride = (size_t)gridDim.x * threads * wi_vector<T>::count;
    summary_collector<T> c;
    collect(p, c, stride);
    wi_summary_state s = merge_block(state_of(p, c, stride));
    if (gridDim.x > 1) {
        if (threadIdx.x == 0)
            of_block[blockIdx.x] = s;
        if (!wi_ends_last(ticket))
            return;
        s = wi_summary_state{};
        for (unsigned b = threadIdx.x; b < gridDim.x; b += threads)
            s = wi_summary_merge(s, of_block[b]);
        s = merge_block(s);
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
    weft_status status = wi_grant_shared(ctx, "summarise", summarise<T>, shared_bytes<T>);
    if (status == WEFT_OK)
        status = wi_resident_blocks(ctx, summarise<T>, threads, shared_bytes<T>, &blocks);
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
    return WEFT_LAUNCH(summarise<T>, ctx, (unsigned)blocks, threads, shared_bytes<T>, task,
                       (unsigned *)scratch, (wi_summary_state *)((char *)scratch + ticket_bytes));
}

weft_status wi_summary_one_pass(weft_context *ctx, const void *arguments) {
    const wi_summary_args *const args = (const wi_summary_args *)arguments;
    return wi_with_type(args->type,
                        [=](auto tag) { return launch<typename decltype(tag)::type>(ctx, args); });
}
