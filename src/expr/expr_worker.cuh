/* SPDX-License-Identifier: Apache-2.0 */
/* What a thread of expr's kernel does: it goes through the program with the accumulator of several
 * elements in its registers, so that to fetch a code and to branch on it costs once for all of
 * them; operands come from its own columns of the tile in shared memory. No thread reads what
 * another has written, so there are no barriers. */
#ifndef WI_EXPR_WORKER_CUH
#define WI_EXPR_WORKER_CUH

#include "cuda/async.cuh"
#include "cuda/memory.cuh"
#include "expr/expr.h"
#include "expr/expr_device.cuh"

/* A call as the kernels get it. `shift` is how many elements z lies past a 16-byte boundary: tiles
 * begin at such boundaries. at: where in shared memory the inputs' tiles are; scratch: two columns
 * for operations of many instructions. The program comes last: what a thread needs before its first
 * load lies together, for a line of parameters that no kernel has read yet takes long to come. */
struct wi_expr_job {
    size_t n, shift, tiles;
    const void *x[WEFT_EXPR_MAX_INPUTS];
    void *z;
    uint32_t at[WEFT_EXPR_MAX_INPUTS], slots, scratch;
    uint8_t bytes[WEFT_EXPR_MAX_INPUTS], out_bytes; /* of an element */
    wi_expr_program program;
};

/* Elements that lie side by side and move in one access. */
template <class T, int run>
struct alignas(sizeof(T) * run) wi_expr_group {
    T at[run];
};

/* The bits of a value, in a lane that is as wide or wider; and back. */
template <class Lane, class T>
__device__ inline Lane wi_expr_lane(T x) {
    return (Lane)wi_bit_cast<wi_bits<T>>(x);
}
template <class T, class Lane>
__device__ inline T wi_expr_value(Lane lane) {
    return wi_bit_cast<T>((wi_bits<T>)lane);
}

/* An element as a lane, widened. */
template <class Lane, class T>
__device__ inline Lane wi_expr_widen(T x) {
    if constexpr (sizeof(T) >= 4)
        return wi_expr_lane<Lane>(x);
    else if constexpr (wi_traits<T>::is_float)
        return wi_expr_lane<Lane>((float)x);
    else
        return (Lane)(uint32_t)(int32_t)x;
}
/* Calls f(wi_tag<T>{}) with the unsigned type of so many bytes, if lanes hold it. */
template <class Lane, class F>
__device__ inline void wi_expr_by_size(unsigned bytes, F f) {
    if (bytes == 4)
        f(wi_tag<uint32_t>{});
    else if (bytes == 2)
        f(wi_tag<uint16_t>{});
    else if (bytes == 1)
        f(wi_tag<uint8_t>{});
    else if constexpr (sizeof(Lane) == 8)
        f(wi_tag<uint64_t>{});
}

/* Calls f(wi_tag<T>{}) with a type that is widened as `type` is, if lanes hold it. */
template <class Lane, class F>
__device__ inline void wi_expr_with(unsigned type, F f) {
    switch (type) {
    case WEFT_I8:
        f(wi_tag<int8_t>{});
        break;
    case WEFT_U8:
        f(wi_tag<uint8_t>{});
        break;
    case WEFT_I16:
        f(wi_tag<int16_t>{});
        break;
    case WEFT_U16:
        f(wi_tag<uint16_t>{});
        break;
    case WEFT_F16:
        f(wi_tag<__half>{});
        break;
    case WEFT_BF16:
        f(wi_tag<__nv_bfloat16>{});
        break;
    case WEFT_I32:
    case WEFT_U32:
    case WEFT_F32:
        f(wi_tag<uint32_t>{});
        break;
    default:
        if constexpr (sizeof(Lane) == 8)
            f(wi_tag<uint64_t>{});
    }
}

/* A thread at work: `groups` runs of `run` elements. */
template <class Lane, int groups, int run>
struct wi_expr_worker {
    static constexpr int count = groups * run;
    const wi_expr_job &job;
    unsigned char *const shared;
    Lane acc[count];
    uint32_t mask;

    /* Which run of a column is this thread's group g. */
    __device__ static unsigned run_of(int g) {
        return (unsigned)g * blockDim.x + threadIdx.x;
    }

    /* Are all elements of the tile there? */
    __device__ bool is_whole(int64_t first) const {
        return first >= 0 && first + (int64_t)(count * blockDim.x) <= (int64_t)job.n;
    }

    template <class T>
    __device__ wi_expr_group<T, run> *column(size_t at) const {
        return (wi_expr_group<T, run> *)(shared + at);
    }
    __device__ size_t slot(unsigned k) const {
        return job.slots + (size_t)k * sizeof(Lane) * count * blockDim.x;
    }

    /* A run moves in one access. */
    template <class T>
    __device__ static void move_run(wi_expr_group<T, run> *to, const T *from) {
        using Run = wi_expr_group<T, run>;
        if constexpr (sizeof(Run) >= 4)
            wi_async_copy<(int)sizeof(Run)>(to, from);
        else
            *to = *(const Run *)from;
    }

    /* Brings this thread's elements of an input; `first` is the tile's first element, perhaps less
     * than 0. */
    template <class T>
    __device__ void bring(const T *x, size_t at, int64_t first) const {
        using Run = wi_expr_group<T, run>;
        Run *const to = column<T>(at);
        const bool aligned = (uintptr_t)(x + first) % sizeof(Run) == 0;
        if (aligned && is_whole(first)) {
#pragma unroll
            for (int g = 0; g < groups; g++)
                move_run(to + run_of(g), x + first + run_of(g) * run);
            return;
        }
        if (is_whole(first)) {
#pragma unroll
            for (int g = 0; g < groups; g++)
#pragma unroll
                for (int e = 0; e < run; e++)
                    to[run_of(g)].at[e] = x[first + run_of(g) * run + e];
            return;
        }
#pragma unroll 1
        for (int g = 0; g < groups; g++) {
            const int64_t i = first + (int64_t)(run_of(g) * run);
#pragma unroll
            for (int e = 0; e < run; e++)
                to[run_of(g)].at[e] = i + e >= 0 && i + e < (int64_t)job.n ? x[i + e] : T();
        }
    }

    __device__ void bring_all(int64_t first) const {
        for (uint32_t k = 0; k < job.program.inputs; k++)
            wi_expr_by_size<Lane>(job.bytes[k], [&](auto tag) {
                using T = typename decltype(tag)::type;
                bring((const T *)job.x[k], job.at[k], first);
            });
        wi_async_commit();
        wi_async_wait<0>();
    }

    template <class T>
    __device__ void fetch_column(size_t at, Lane (&to)[count]) const {
#pragma unroll
        for (int g = 0; g < groups; g++) {
            const wi_expr_group<T, run> from = column<T>(at)[run_of(g)];
#pragma unroll
            for (int e = 0; e < run; e++)
                to[g * run + e] = wi_expr_widen<Lane>(from.at[e]);
        }
    }

    /* to = an operand */
    __device__ void fetch(unsigned at, Lane (&to)[count]) const {
        if (at >= WI_X_AT_CONSTANT) {
            const Lane constant = (Lane)job.program.constant[at - WI_X_AT_CONSTANT];
#pragma unroll
            for (int e = 0; e < count; e++)
                to[e] = constant;
        } else if (at >= WI_X_AT_SLOT) {
            fetch_column<Lane>(slot(at - WI_X_AT_SLOT), to);
        } else {
            const unsigned k = at - WI_X_AT_INPUT;
            wi_expr_with<Lane>(job.program.from[k], [&](auto tag) {
                fetch_column<typename decltype(tag)::type>(job.at[k], to);
            });
        }
    }

    __device__ void save(size_t at, const Lane (&lanes)[count]) const {
#pragma unroll
        for (int g = 0; g < groups; g++) {
            wi_expr_group<Lane, run> to;
#pragma unroll
            for (int e = 0; e < run; e++)
                to.at[e] = lanes[g * run + e];
            column<Lane>(at)[run_of(g)] = to;
        }
    }

    /* x = what(x), or what(x, y), of columns of shared memory: the loop is inside of the case, so
     * that an operation is chosen once. */
    template <class A, class F>
    __device__ void each_value(F value) const {
#pragma unroll 1
        for (int g = 0; g < groups; g++) {
            wi_expr_group<Lane, run> x = column<Lane>(job.scratch)[run_of(g)];
#pragma unroll
            for (int e = 0; e < run; e++)
                x.at[e] = wi_expr_lane<Lane>(value(wi_expr_value<A>(x.at[e])));
            column<Lane>(job.scratch)[run_of(g)] = x;
        }
    }
    template <class A, class B, class F>
    __device__ void each_pair(F value) const {
        const size_t second = second_scratch();
#pragma unroll 1
        for (int g = 0; g < groups; g++) {
            wi_expr_group<Lane, run> x = column<Lane>(job.scratch)[run_of(g)];
            const wi_expr_group<Lane, run> y = column<Lane>(second)[run_of(g)];
#pragma unroll
            for (int e = 0; e < run; e++)
                x.at[e] =
                    wi_expr_lane<Lane>(value(wi_expr_value<A>(x.at[e]), wi_expr_value<B>(y.at[e])));
            column<Lane>(job.scratch)[run_of(g)] = x;
        }
    }
    __device__ size_t second_scratch() const {
        return job.scratch + sizeof(Lane) * count * blockDim.x;
    }

    /* acc = what(acc, other) in a loop over shared memory, where `other` is in the second scratch
     * column: unrolled in registers, the code of such operations would not fit the instruction
     * cache. */
    __device__ void apply_heavy(unsigned what) {
#define UNARY(name, Z, A, value)
#define BINARY(name, Z, A, B, value)
#define HEAVY_UNARY(name, Z, A, value)                                                             \
case WI_X_##name:                                                                                  \
    if constexpr (sizeof(A) <= sizeof(Lane) && sizeof(Z) <= sizeof(Lane))                          \
        each_value<A>([](A a) { return (Z)(value); });                                             \
    break;
#define HEAVY_BINARY(name, Z, A, B, value)                                                         \
case WI_X_##name:                                                                                  \
    if constexpr (sizeof(A) <= sizeof(Lane) && sizeof(Z) <= sizeof(Lane))                          \
        each_pair<A, B>([](A a, B b) { return (Z)(value); });                                      \
    break;
        save(job.scratch, acc);
        switch (what) {
#include "expr/expr_narrow.inc"
#include "expr/expr_wide.inc"
        }
        fetch_column<Lane>(job.scratch, acc);
#undef UNARY
#undef BINARY
#undef HEAVY_UNARY
#undef HEAVY_BINARY
    }

    /* acc = what(acc) */
    __device__ void apply(unsigned what) {
#define HEAVY_UNARY(name, Z, A, value)
#define HEAVY_BINARY(name, Z, A, B, value)
#define BINARY(name, Z, A, B, value)
#define UNARY(name, Z, A, value)                                                                   \
case WI_X_##name:                                                                                  \
    if constexpr (sizeof(A) <= sizeof(Lane) && sizeof(Z) <= sizeof(Lane)) {                        \
        _Pragma("unroll") for (int e = 0; e < count; e++) {                                        \
            const A a = wi_expr_value<A>(acc[e]);                                                  \
            acc[e] = wi_expr_lane<Lane>((Z)(value));                                               \
        }                                                                                          \
    }                                                                                              \
    break;
        switch (what) {
#include "expr/expr_narrow.inc"
#include "expr/expr_wide.inc"
        }
#undef UNARY
#undef BINARY
    }

    /* acc = what(acc, other(e)) */
    template <class Other>
    __device__ void apply(unsigned what, Other other) {
#define UNARY(name, Z, A, value)
#define BINARY(name, Z, A, B, value)                                                               \
case WI_X_##name:                                                                                  \
    if constexpr (sizeof(A) <= sizeof(Lane) && sizeof(Z) <= sizeof(Lane)) {                        \
        _Pragma("unroll") for (int e = 0; e < count; e++) {                                        \
            const A a = wi_expr_value<A>(acc[e]);                                                  \
            const B b = wi_expr_value<B>(other(e));                                                \
            acc[e] = wi_expr_lane<Lane>((Z)(value));                                               \
        }                                                                                          \
    }                                                                                              \
    break;
        switch (what) {
#include "expr/expr_narrow.inc"
#include "expr/expr_wide.inc"
        case WI_X_LOAD:
#pragma unroll
            for (int e = 0; e < count; e++)
                acc[e] = other(e);
            break;
        case WI_X_MASK:
            mask = 0;
#pragma unroll
            for (int e = 0; e < count; e++)
                mask |= (uint32_t)(other(e) != 0) << e;
            break;
        case WI_X_SELECT_32:
        case WI_X_SELECT_64:
#pragma unroll
            for (int e = 0; e < count; e++)
                acc[e] = mask >> e & 1 ? acc[e] : other(e);
            break;
        }
#undef UNARY
#undef BINARY
#undef HEAVY_UNARY
#undef HEAVY_BINARY
    }

    /* Inlined: a call would put the worker, and with it the accumulator, into memory. */
    __device__ __forceinline__ void step(const wi_expr_code code) {
        if (code.what == WI_X_SAVE) {
            save(slot(code.a - WI_X_AT_SLOT), acc);
            return;
        }
        const unsigned at = code.a == WI_X_ACC ? code.b : code.a;
        const bool is_constant = at >= WI_X_AT_CONSTANT && at != WI_X_NONE;
        if (is_constant && !code.heavy) {
            const Lane c = (Lane)job.program.constant[at - WI_X_AT_CONSTANT];
            apply(code.what, [=](int) { return c; });
            return;
        }
        if (at != WI_X_NONE) {
            Lane other[count];
            fetch(at, other);
            if (code.heavy)
                save(second_scratch(), other);
            else
                apply(code.what, [&](int e) { return other[e]; });
        }
        if (code.heavy)
            apply_heavy(code.what);
        else if (at == WI_X_NONE)
            apply(code.what);
    }

    /* The last step of 16-bit floats. */
    __device__ void narrow_floats() {
        const unsigned type = job.program.type;
        if (type == WEFT_F16) {
#pragma unroll
            for (int e = 0; e < count; e++)
                acc[e] = wi_expr_lane<Lane>((__half)wi_expr_value<float>(acc[e]));
        } else if (type == WEFT_BF16) {
#pragma unroll
            for (int e = 0; e < count; e++)
                acc[e] = wi_expr_lane<Lane>((__nv_bfloat16)wi_expr_value<float>(acc[e]));
        }
    }

    template <class T>
    __device__ wi_expr_group<T, run> result(int g) const {
        wi_expr_group<T, run> out;
#pragma unroll
        for (int e = 0; e < run; e++)
            out.at[e] = (T)acc[g * run + e];
        return out;
    }

    /* Whole runs are stored in one access each; of an assignment the compiler here makes one for
     * each element. */
    template <class T>
    __device__ void write(T *z, int64_t first) const {
        using Run = wi_expr_group<T, run>;
        if (is_whole(first)) {
#pragma unroll
            for (int g = 0; g < groups; g++)
                wi_store_if(true, (Run *)(z + first + run_of(g) * run), result<T>(g));
            return;
        }
#pragma unroll
        for (int g = 0; g < groups; g++) {
            const int64_t i = first + (int64_t)(run_of(g) * run);
            const wi_expr_group<T, run> out = result<T>(g);
#pragma unroll
            for (int e = 0; e < run; e++)
                if (i + e >= 0 && i + e < (int64_t)job.n)
                    z[i + e] = out.at[e];
        }
    }

    /* Leaves the tile's values in `acc`; `first` is its first element. Inlined, too. */
    __device__ __forceinline__ void compute(int64_t first) {
        bring_all(first);
        for (uint32_t k = 0; k < job.program.codes; k++)
            step(job.program.code[k]);
    }

    __device__ void work(size_t tile) {
        const int64_t first = (int64_t)(tile * count * blockDim.x) - (int64_t)job.shift;
        compute(first);
        narrow_floats();
        wi_expr_by_size<Lane>(job.out_bytes, [&](auto tag) {
            using T = typename decltype(tag)::type;
            write((T *)job.z, first);
        });
    }
};

#endif
