/* SPDX-License-Identifier: Apache-2.0 */
/* exact on a GPU: floats are added up without rounding in registers, as exact_simd.h explains, and
 * emptied into integers of 128 bits that each thread has in shared memory, 64 bits apart. What
 * folds cannot take goes there directly. Warps choose how many folds they use, and how large the
 * numbers may be, by what they meet. Every way is exact, so the choice does not change the result.
 */
#include "exact/exact_bins.cuh"
#include "exact/exact_chunks.cuh"

constexpr size_t static_room = 4096; /* for the kernels' own shared memory */
/* Their bins take 182 KB, and an H200's multiprocessor sets aside 196 for them; with 384 threads it
 * would be 228, and the first-level cache smaller than what these wait for. */
constexpr int most_threads = 352;
constexpr int most_folds = 4;
constexpr int fold_bits = 46; /* 52 less the bits that 64 additions may carry */
constexpr int first_fold = 7;
constexpr int top_most = 1015, top_least = -891;
constexpr int additions = 64; /* to a fold before it is emptied */

/* What a warp does with a chunk of elements. */
enum pace {
    FEW_FOLDS,
    MANY_FOLDS,
    ONE_BY_ONE
};
constexpr int pace_chunks = 64; /* after which it tries to be faster again */
constexpr int strike = 8, strikes_out = 20;

/* What an element adds. Terms of f64 that are products have a rest: term + rest = x y. */
template <wi_exact_terms what, class T>
struct exact_term {
    using Element = T;
    static constexpr bool product = what == WI_EXACT_SQUARES || what == WI_EXACT_DOT;
    static constexpr bool has_rest = product && sizeof(T) == 8;
    static constexpr bool two = what == WI_EXACT_DOT;
    static constexpr bool is_short = !product && sizeof(T) < 8; /* at most 24 bits */
    static constexpr int few = is_short ? 1 : has_rest ? 3 : 2; /* folds */
    static constexpr int many = is_short ? 3 : 4;
    static constexpr int width = wi_vector<T>::count;
    /* Vectors of a chunk: at most 16 doubles are at work at once. */
    static constexpr int vectors = sizeof(T) == 2 ? 2 : two && sizeof(T) == 4 ? 2 : product ? 4 : 8;
    static constexpr int elements = vectors * width;
    static constexpr int front = width > 4 ? width : 4; /* elements that go to bins side by side */
    static constexpr int adds = elements * (has_rest ? 2 : 1);

    __device__ static double term(double x, double y) {
        return product ? x * y : what == WI_EXACT_NRM1 ? fabs(x) : x;
    }
    /* Can term and rest not say what x y is? */
    __device__ static bool is_lost(double x, double y, double term) {
        return has_rest && fabs(term) < 0x1p-960 && x != 0 && y != 0;
    }
};

/* What a thread takes at a time. */
template <class Term>
struct exact_chunk {
    using T = typename Term::Element;
    wi_exact_chunk<T, Term::vectors> xs, ys;

    __device__ double x(int e) const {
        return (double)wi_load(xs.element(e));
    }
    __device__ double y(int e) const {
        if constexpr (Term::two)
            return (double)wi_load(ys.element(e));
        else
            return x(e);
    }
    __device__ double term(int e) const {
        return Term::term(x(e), y(e));
    }
    /* Leaves elements that add nothing. */
    __device__ void clear() {
        xs.fill((T)-0.0f);
        if constexpr (Term::two)
            ys.fill((T)0.0f);
    }
    /* Moves what is behind the front to the front. */
    __device__ void turn() {
        constexpr int gone = Term::front / Term::width;
#pragma unroll
        for (int v = 0; v + gone < Term::vectors; v++) {
            xs.at[v] = xs.at[v + gone];
            if constexpr (Term::two)
                ys.at[v] = ys.at[v + gone];
        }
    }
};

/* Elements of which some go to the device's number. */
template <int count>
struct special_terms {
    double x[count], y[count];
};

/* Adds those products whose bits are set. Not inlined: the compiler waits before these additions
 * for all that is on its way, and would so in front of a loop that is seldom entered. */
template <int count>
__device__ __attribute__((noinline)) void
add_special_terms(wi_exact_shared_sum *sum, const special_terms<count> &terms, unsigned which) {
#pragma unroll 1
    for (int k = 0; k < count; k++)
        if ((which >> k & 1) != 0)
            wi_exact_to_sum(sum, terms.x[k], terms.y[k]);
}

/* The sums of a thread between two times that it empties them. */
struct folds {
    double s[most_folds];
};

__device__ inline double first_of(int top, int fold) {
    const int power = top + first_fold - fold * fold_bits;
    return wi_bit_cast<double>((uint64_t)(power + 1023) << 52 | (uint64_t)1 << 51);
}

__device__ inline uint32_t upper_word(double x) {
    return (uint32_t)(wi_bit_cast<uint64_t>(x) >> 32);
}
__device__ inline uint32_t lower_word(double x) {
    return (uint32_t)wi_bit_cast<uint64_t>(x);
}
__device__ inline uint32_t upper_magnitude(double x) {
    return upper_word(x) & 0x7fffffff;
}

/* A thread's part of what its warp does. Its lanes have the same pace, top, strikes, calm, pending
 * and added. */
template <class Term>
struct exact_worker {
    using Chunk = exact_chunk<Term>;
    wi_exact_shared_sum *sum;
    wi_exact_thread_bins own;
    folds f;
    int pace, top;
    int pending; /* additions to the folds since they were emptied */
    int strikes, calm;
    unsigned added; /* to a bin since the last carry, at most */
    bool other;     /* something else than -0.0 was added */

    __device__ void begin() {
#pragma unroll
        for (int k = 0; k < most_folds; k++)
            f.s[k] = first_of(top, k);
        pending = 0;
    }

    __device__ void count(unsigned adds) {
        added += adds;
        if (added > wi_exact_bin_adds) {
            own.carry();
            added = 0;
        }
    }

    /* Adds what the folds have to the bins. */
    __device__ void empty() {
        if (pending == 0)
            return;
#pragma unroll
        for (int k = 0; k < most_folds; k++) {
            const int64_t change =
                wi_bit_cast<int64_t>(f.s[k]) - wi_bit_cast<int64_t>(first_of(top, k));
            if (k < (pace == MANY_FOLDS ? Term::many : Term::few))
                own.add(change, top + first_fold - k * fold_bits - 52);
        }
        count(most_folds);
        begin();
    }

    /* Adds a chunk to `now` by folds; false if they cannot take it. Folds add without rounding as
     * long as the first has the exponent it began with, for what it leaves is small beside the
     * second, and so on. */
    template <int used>
    __device__ bool take(const Chunk &c, folds *now) const {
        const uint32_t first = upper_word(first_of(top, 0));
        uint32_t low = 0, high = 0, beside = 0;
        bool lost = false;
#pragma unroll
        for (int e = 0; e < Term::elements; e++) {
            double r = c.term(e), rest = 0;
            if constexpr (Term::has_rest) {
                rest = fma(c.x(e), c.y(e), -r);
                lost |= Term::is_lost(c.x(e), c.y(e), r);
            }
#pragma unroll
            for (int k = 0; k < used; k++) {
                const double s = now->s[k] + r;
                r = r - (s - now->s[k]);
                now->s[k] = s;
                if (k == 0)
                    beside |= upper_word(s) ^ first;
                if (Term::has_rest && k > 0) {
                    const double s_rest = now->s[k] + rest;
                    rest = rest - (s_rest - now->s[k]);
                    now->s[k] = s_rest;
                }
            }
            low |= lower_word(r) | lower_word(rest);
            high |= upper_word(r) | upper_word(rest);
        }
        return (low | (high & 0x7fffffff) | beside >> 20) == 0 && !lost;
    }

    /* Adds a chunk by folds in all lanes, or in none. */
    __device__ bool take_together(const Chunk &c) {
        folds now = f;
        const bool taken = pace == FEW_FOLDS ? take<Term::few>(c, &now) : take<Term::many>(c, &now);
        if (!__all_sync(wi_all_lanes, taken))
            return false;
        f = now;
        pending += Term::adds;
        return true;
    }

    /* May a term not go to the bins? */
    __device__ static bool is_special(double x, double y, double term) {
        return (upper_magnitude(term) >> 20) == 2047 || Term::is_lost(x, y, term);
    }

    /* Adds the elements at the front of a chunk: to the bins, where those that they cannot take
     * count as 0, and then these to the device's number. */
    __device__ void add_front(const Chunk &c) {
        double x[Term::front], y[Term::front];
        unsigned special = 0;
#pragma unroll
        for (int k = 0; k < Term::front; k++) {
            x[k] = c.x(k);
            y[k] = c.y(k);
            const double term = Term::term(x[k], y[k]);
            const bool other_way = is_special(x[k], y[k], term);
            special |= (unsigned)other_way << k;
            own.add(other_way ? 0 : term);
            if constexpr (Term::has_rest)
                own.add(other_way ? 0 : fma(x[k], y[k], -term));
        }
        if (special != 0) {
            special_terms<Term::front> terms;
#pragma unroll
            for (int k = 0; k < Term::front; k++) {
                terms.x[k] = Term::product ? x[k] : Term::term(x[k], y[k]);
                terms.y[k] = Term::product ? y[k] : 1;
            }
            add_special_terms(sum, terms, special);
        }
    }

    /* A loop, through which the chunk turns in registers: unrolled, it would be most of the
     * kernel's code, and a copy in local memory does not fit the cache that the bins leave. */
    __device__ void add_one_by_one(const Chunk &c) {
        Chunk turning = c;
#pragma unroll 1
        for (int e = 0; e < Term::elements; e += Term::front) {
            add_front(turning);
            turning.turn();
        }
        count(Term::adds);
    }

    /* The least window that holds what the warp's lanes have met. */
    __device__ int window(const Chunk &c) const {
        const int slack = pace == FEW_FOLDS ? 2 : 4;
        uint32_t largest = 0;
#pragma unroll
        for (int e = 0; e < Term::elements; e++) {
            const uint32_t upper = upper_magnitude(c.term(e));
            largest = upper > largest ? upper : largest;
        }
        const int fit = (int)(wi_warp_max(largest) >> 20) - 1023 + slack;
        return fit < top_least ? top_least : fit;
    }

    /* After folds could not take a chunk as they were: may they with another window? */
    __device__ bool move_window(const Chunk &c) {
        const int fit = window(c);
        empty();
        if (fit == top || fit > top_most)
            return false;
        top = fit;
        begin();
        return true;
    }

    /* Adds a chunk by folds, if need be with another window; false if they cannot take it. The loop
     * is there so that the kernel has this code once. */
    __device__ bool take_by_folds(const Chunk &c) {
#pragma unroll 1
        for (bool moved = false;; moved = true) {
            if (take_together(c)) {
                strikes -= !moved && strikes > 0;
                return true;
            }
            if (moved || !move_window(c))
                return false;
        }
    }

    /* Adds a chunk that folds are not to take, or could not. */
    __device__ void take_hard(const Chunk &c) {
        add_one_by_one(c);
        strikes += pace == ONE_BY_ONE ? 0 : strike;
        if (strikes > strikes_out) {
            strikes = calm = 0;
            pace++;
        }
    }

    /* After some time at a slow pace a faster one is tried. */
    __device__ void calm_down() {
        if (pace == FEW_FOLDS || ++calm < pace_chunks)
            return;
        empty();
        pace--;
        calm = 0;
    }

    __device__ void note_other(const Chunk &c) {
        if (other)
            return;
#pragma unroll
        for (int e = 0; e < Term::elements; e++)
            other |= wi_bit_cast<uint64_t>(c.term(e)) != (uint64_t)1 << 63;
    }

    __device__ void add_chunk(const Chunk &c) {
        if (pace == ONE_BY_ONE || !take_by_folds(c))
            take_hard(c);
        else if (pending + Term::adds > additions)
            empty();
        note_other(c);
        calm_down();
    }

    __device__ void start(wi_exact_shared_sum *to, wi_exact_bin *first) {
        sum = to;
        own.mine = first;
        pace = FEW_FOLDS;
        top = 4;
        strikes = calm = 0;
        added = 0;
        other = false;
        begin();
#pragma unroll 1
        for (int b = 0; b < wi_exact_bins; b++)
            own.at(b) = {0, 0};
    }
};

template <class Term>
__global__ void __launch_bounds__(most_threads, 1)
    exact_folds(wi_exact_params p, wi_exact_shares shares) {
    using T = typename Term::Element;
    using Array = wi_exact_array<T, Term::vectors>;
    WEFT_DYNAMIC_SHARED(memory);
    wi_exact_bin *const all = (wi_exact_bin *)memory;
    const Array x(p.x, p.n), y(p.y, p.n);
    exact_worker<Term> worker;
    worker.start(p.sum, all + threadIdx.x);
    exact_chunk<Term> zeros;
    zeros.clear();
    wi_exact_each_chunk(
        shares, p.sum, zeros,
        [&](exact_chunk<Term> *c, size_t k) {
            x.load(&c->xs, k, (T)-0.0f);
            if (Term::two)
                y.load(&c->ys, k, (T)0.0f);
        },
        [&](const exact_chunk<Term> &c) { worker.add_chunk(c); });
    worker.empty();
    if (worker.other)
        wi_exact_note_other(p.sum);
    __syncthreads();
    wi_exact_gather_bins(p.sum, all);
    wi_exact_end(p);
}

/* A block for each multiprocessor: more threads than fit its shared memory would not be faster. */
template <class Term>
static weft_status launch(weft_context *ctx, const wi_exact_args *args) {
    constexpr size_t each = sizeof(wi_exact_bin) * wi_exact_bins;
    constexpr size_t lane_bytes = sizeof(typename Term::Element) * Term::elements;
    const size_t lanes = (args->n + Term::elements - 1) / Term::elements;
    const size_t room = (ctx->gpu->shared_optin - static_room) / each / 32 * 32;
    const int most = room < (size_t)most_threads ? (int)room : most_threads;
    const int threads = wi_exact_threads_for(ctx, lanes, most);
    const size_t useful = (lanes + (size_t)threads - 1) / (size_t)threads;
    const size_t multiprocessors = (size_t)ctx->gpu->multiprocessors;
    const size_t blocks = useful < multiprocessors ? useful ? useful : 1 : multiprocessors;
    const wi_exact_shares shares = wi_exact_shares_of(
        (lanes + 31) / 32, blocks * (size_t)(threads / 32), lane_bytes * (Term::two ? 2 : 1));
    void *scratch;
    const weft_status status =
        wi_gpu_scratch(ctx, &wi_exact_ladder, sizeof(wi_exact_shared_sum), &scratch);
    if (status != WEFT_OK)
        return status;
    return WEFT_LAUNCH((exact_folds<Term>), ctx, (unsigned)blocks, threads, each * (size_t)threads,
                       wi_exact_params_of(args, scratch), shares);
}

weft_status wi_exact_folds(weft_context *ctx, const void *arguments) {
    const wi_exact_args *const args = (const wi_exact_args *)arguments;
    return wi_with_float_type(args->type, [=](auto tag) {
        using T = typename decltype(tag)::type;
        switch (args->terms) {
        case WI_EXACT_SUM:
            return launch<exact_term<WI_EXACT_SUM, T>>(ctx, args);
        case WI_EXACT_NRM1:
            return launch<exact_term<WI_EXACT_NRM1, T>>(ctx, args);
        case WI_EXACT_SQUARES:
            return launch<exact_term<WI_EXACT_SQUARES, T>>(ctx, args);
        default:
            return launch<exact_term<WI_EXACT_DOT, T>>(ctx, args);
        }
    });
}
