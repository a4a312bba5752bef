/* SPDX-License-Identifier: Apache-2.0 */
/* A step between GPUs by one kernel on each. Block b of a rank tells the blocks b of all others
 * that it takes part, writes its share of what the rank sends into their mailboxes, waits until all
 * of them have told, and makes its share of the result of vectors that it finds in its own mailbox.
 * Vectors carry marks, so nobody waits until all that was written has arrived. Blocks with
 * different numbers never wait for each other, and there are so few that all are resident.
 *
 * What tells is the number of a step, and a mark is its last bits, so nothing is reset from step to
 * step. Two generations of slots, used in turn, are enough without a second wait: a rank that
 * writes in step s + 2 has ended step s + 1, so each other rank has told it of s + 1; and that
 * rank's kernel of s + 1, which told, began after its kernel of s, which read what was in the
 * slots, had ended. */
#include "comm/mailbox.h"

#include "cuda/launch.cuh"
#include "cuda/marked.cuh"
#include "cuda/memory.cuh"
#include "cuda/size.cuh"
#include "cuda/system.cuh"

namespace {

#ifdef WEFT_EMU
constexpr unsigned looks_between = 1;
#else
constexpr unsigned looks_between = 32; /* a look at host memory takes microseconds */
#endif

/* The vectors of n elements that this block works on. */
template <class T>
struct own_share {
    size_t first, end;
    __device__ explicit own_share(size_t n) {
        const size_t all = (n + wi_vector<T>::count - 1) / wi_vector<T>::count;
        const size_t each = (all + gridDim.x - 1) / gridDim.x;
        first = each * blockIdx.x < all ? each * blockIdx.x : all;
        end = all - first < each ? all : first + each;
    }
};

/* A whole vector at a boundary is one access. Others have functions of their own: most calls have
 * none, and they would be most of the code. */
template <class T>
__device__ bool is_whole(const T *x, size_t v, size_t n) {
    return wi_is_aligned(x) && n - v * wi_vector<T>::count >= wi_vector<T>::count;
}

template <class T>
__device__ __attribute__((noinline)) wi_vector<T> load_some(const T *x, size_t n) {
    wi_vector<T> w = {};
    for (size_t e = 0; e < wi_vector<T>::count && e < n; e++)
        w.at[e] = x[e];
    return w;
}

template <class T>
__device__ __attribute__((noinline)) void store_some(T *x, size_t n, wi_vector<T> w) {
    for (size_t e = 0; e < wi_vector<T>::count && e < n; e++)
        x[e] = w.at[e];
}

/* Vector v of n elements at x; what it has beyond them is zero. */
template <class T>
__device__ wi_vector<T> load_at(const T *x, size_t v, size_t n) {
    const size_t first = v * wi_vector<T>::count;
    return is_whole(x, v, n) ? *(const wi_vector<T> *)(x + first) : load_some(x + first, n - first);
}

template <class T>
__device__ void store_at(T *x, size_t v, size_t n, const wi_vector<T> &w) {
    const size_t first = v * wi_vector<T>::count;
    if (is_whole(x, v, n))
        *(wi_vector<T> *)(x + first) = w;
    else
        store_some(x + first, n - first, w);
}

/* Elements of vector v of n. */
template <class T>
__device__ size_t elements_at(size_t v, size_t n) {
    const size_t left = n - v * wi_vector<T>::count, most = wi_vector<T>::count;
    return left < most ? left : most;
}

/* Moves vector v of n elements. What was never written may be among what ranks send. */
template <class T>
__device__ void move_at(T *to, const T *from, size_t v, size_t n) {
#ifdef WEFT_EMU
    const size_t first = v * wi_vector<T>::count;
    emu_move(to + first, from + first, elements_at<T>(v, n) * sizeof(T));
#else
    store_at(to, v, n, load_at(from, v, n));
#endif
}

/* What a rank's vectors of this step are marked with. */
__device__ uint32_t mark_of(const wi_mail &m) {
    return (uint32_t)(m.step % WI_MAIL_MARKS);
}

/* Where rank `box` gets in this step what rank `writer` sends to it. */
__device__ wi_marked *slot_of(const wi_mail &m, int box, int writer) {
    const size_t generation = m.step % WI_MAIL_GENERATIONS;
    return (wi_marked *)((char *)m.box[box] + WI_MAIL_TOLD) +
           (generation * (size_t)m.ranks + (size_t)writer) * (WI_MAIL_SLOT / WI_MAIL_VECTOR);
}

__device__ uint64_t *told_by(const wi_mail &m, int box, int writer) {
    return (uint64_t *)m.box[box] + writer * WI_MAIL_BLOCKS + blockIdx.x;
}

template <class T>
__device__ void send_to(const wi_mail &m, int rank) {
    const T *const x = (const T *)m.from + m.sent[rank].at;
    const size_t n = m.sent[rank].n;
    wi_marked *const slot = slot_of(m, rank, m.own);
    const own_share<T> share(n);
    for (size_t v = share.first + threadIdx.x; v < share.end; v += blockDim.x) {
#ifdef WEFT_EMU
        wi_marked_move(&slot[v], x + v * wi_vector<T>::count, elements_at<T>(v, n) * sizeof(T),
                       mark_of(m));
#else
        wi_marked_write(&slot[v], load_at(x, v, n), mark_of(m));
#endif
    }
}

/* Calls look() until it is true; false if the host gives the step up. */
template <class F>
__device__ bool await(const wi_mail &m, F look) {
    for (unsigned looks = 1; !look(); looks++) {
        if (looks % looks_between == 0 && wi_observe(m.abandoned) >= m.step)
            return false;
        wi_spin_far();
    }
    return true;
}

/* Waits for a vector that rank r sends here. */
template <class T>
__device__ bool await_vector(const wi_mail &m, int r, size_t v, wi_vector<T> *x) {
    const wi_marked *const from = slot_of(m, m.own, r) + v;
    return await(m, [&] { return wi_marked_read(from, mark_of(m), x); });
}

/* Places the vectors of rank r. */
template <class T>
__device__ bool keep_from(const wi_mail &m, int r) {
    T *const to = (T *)m.to + m.got[r].at;
    const T *const own = (const T *)m.from + m.sent[r].at;
    const size_t n = m.got[r].n;
    const own_share<T> share(n);
    for (size_t v = share.first + threadIdx.x; v < share.end; v += blockDim.x) {
        wi_vector<T> x;
        if (r == m.own) {
            if (to != own)
                move_at(to, own, v, n);
            continue;
        }
        if (!await_vector(m, r, v, &x))
            return false;
#ifdef WEFT_EMU
        move_at(to + v * wi_vector<T>::count, (const T *)(slot_of(m, m.own, r) + v), 0,
                elements_at<T>(v, n));
#else
        store_at(to, v, n, x);
#endif
    }
    return true;
}

/* Places the parts of all ranks. */
template <class T>
__device__ bool keep(const wi_mail &m) {
    bool all = true;
    for (int r = 0; r < m.ranks; r++)
        all = keep_from<T>(m, r) && all;
    return all;
}

/* Integers are those without a sign; `flip` makes signed ones of them for comparisons. */
template <class T>
__device__ T combine(int op, T flip, T a, T b) {
    if constexpr (wi_traits<T>::is_float) {
        return a + b;
    } else {
        const bool less = (T)(b ^ flip) < (T)(a ^ flip);
        switch (op) {
        case WEFT_SUM:
            return (T)(a + b);
        case WEFT_PRODUCT:
            return (T)((uint64_t)a * b);
        case WEFT_MIN:
            return less ? b : a;
        case WEFT_MAX:
            return less ? a : b;
        case WEFT_AND:
            return a & b;
        case WEFT_OR:
            return a | b;
        default:
            return a ^ b;
        }
    }
}

/* In a function of its own: seven operations on up to sixteen elements are most of the code. */
template <class T>
__device__ __attribute__((noinline)) wi_vector<T> combine_vectors(int op, T flip, wi_vector<T> a,
                                                                  wi_vector<T> b) {
#pragma unroll
    for (int e = 0; e < wi_vector<T>::count; e++)
        a.at[e] = combine(op, flip, a.at[e], b.at[e]);
    return a;
}

/* Combines what all ranks have sent, in their order: the bits that the host would get. What a slot
 * has beyond n elements is of earlier steps, and is not stored. */
template <class T>
__device__ bool combine_all(const wi_mail &m, T flip) {
    const size_t n = m.got[0].n;
    const own_share<T> share(n);
    for (size_t v = share.first + threadIdx.x; v < share.end; v += blockDim.x) {
        const wi_vector<T> own = load_at((const T *)m.from + m.sent[m.own].at, v, n);
        wi_vector<T> sum = {};
        for (int r = 0; r < m.ranks; r++) {
            wi_vector<T> x = own;
            if (r != m.own && !await_vector(m, r, v, &x))
                return false;
            sum = r == 0 ? x : combine_vectors(m.op, flip, sum, x);
        }
        store_at((T *)m.to, v, n, sum);
    }
    return true;
}

template <class T>
__global__ void __launch_bounds__(WI_MAIL_THREADS)
    exchange(const __grid_constant__ wi_mail m, T flip) {
    const int t = (int)threadIdx.x;
    const bool talks = t < m.ranks && t != m.own;
    if (talks)
        wi_tell(told_by(m, t, m.own), m.step);
    for (int k = 1; k < m.ranks; k++)
        send_to<T>(m, (m.own + k) % m.ranks);
    const bool all_here =
        !talks || await(m, [&] { return wi_heard(told_by(m, m.own, t)) >= m.step; });
    if (__syncthreads_or(!all_here))
        return;
    const bool all_came = m.op == WI_MAIL_KEEP ? keep<T>(m) : combine_all<T>(m, flip);
    if (!__syncthreads_or(!all_came) && t == 0)
        wi_publish(&m.done[blockIdx.x], m.step);
}

template <class T>
weft_status launch(weft_context *ctx, wi_launch_graph *graph, unsigned blocks, const wi_mail *m,
                   T flip) {
    return WEFT_LAUNCH_BY_GRAPH(exchange<T>, ctx, graph, blocks, WI_MAIL_THREADS, *m, flip);
}

} // namespace

extern "C" weft_status wi_mail_launch(weft_context *ctx, wi_launch_graph *graph, weft_type type,
                                      unsigned blocks, const wi_mail *m) {
    if (m->op != WI_MAIL_KEEP && type == WEFT_F32)
        return launch<float>(ctx, graph, blocks, m, 0);
    if (m->op != WI_MAIL_KEEP && type == WEFT_F64)
        return launch<double>(ctx, graph, blocks, m, 0);
    return wi_with_size(weft_type_size(type), [=](auto tag) {
        using T = typename decltype(tag)::type;
        const T highest = (T)((T)1 << (8 * sizeof(T) - 1));
        return launch<T>(ctx, graph, blocks, m, wi_type_is_signed(type) ? highest : 0);
    });
}
