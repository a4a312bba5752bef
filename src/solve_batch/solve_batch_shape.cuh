/* SPDX-License-Identifier: Apache-2.0 */
/* How small systems are laid out on a GPU. */
#ifndef WI_SOLVE_BATCH_SHAPE_CUH
#define WI_SOLVE_BATCH_SHAPE_CUH

#include "cuda/types.cuh"
#include "solve_batch/solve_batch.h"

template <int bytes>
struct wi_batch_word {
    using type = uint64_t;
};
template <>
struct wi_batch_word<4> {
    using type = uint32_t;
};

template <class T>
struct wi_batch_place {
    T *p;
    size_t row, column, stride;

    __device__ T *at(size_t system, int i, size_t j) const {
        return p + system * stride + (size_t)i * row + j * column;
    }
};

template <class T>
struct wi_solve_batch_params {
    wi_batch_task task;
    bool transposed;
    int n;
    size_t nrhs, count;
    wi_batch_place<T> a, b;
    int32_t *pivot, *info;
    T nothing; /* -0.0 */
};

/* All threads of a system read a pivot's row from shared memory: with two rows each, they are half
 * as many, and what they do once in a step they do for half as many lanes. But a thread's rows take
 * registers, and where few warps are left, one row each is quicker. */
template <class T>
constexpr int wi_batch_rows_of(int order) {
    return order == 64 && sizeof(T) == 4 ? 2 : 1;
}

template <class Element, int order_, int rhs_, bool spd_>
struct wi_batch_shape {
    using T = Element;
    static constexpr int order = order_, rhs = rhs_;
    static constexpr int rows = wi_batch_rows_of<T>(order);         /* of a thread */
    static constexpr int words = order * rows * (int)sizeof(T) / 4; /* in registers of 32 bits */
    static constexpr bool spd = spd_;
    static constexpr int team = order / rows; /* threads of a system */
    static constexpr int threads = team > 32 || words > 64 ? 64 : 128;
    static constexpr int systems = threads / team;
    static constexpr int warps = team > 32 ? team / 32 : 1; /* of a system */
    static constexpr int run = 8, runs = order / run;       /* of columns */
    static constexpr int width = 16 / (int)sizeof(T);
    /* Warps of a multiprocessor, so many that registers suffice: each step is a chain of waits. */
    static constexpr int resident = words > 64 ? 8 : words > 32 ? 16 : words > 16 ? 24 : 32;
    static constexpr int blocks = resident * 32 / threads;
};

template <class T>
struct alignas(2 * sizeof(T)) wi_batch_pivot {
    T x, reciprocal;
};

/* What the threads of a system tell each other. */
template <class Shape>
struct wi_batch_words {
    using T = typename Shape::T;
    static constexpr int sides = (Shape::rhs + Shape::width - 1) / Shape::width * Shape::width;

    /* The pivot's row, one that each warp proposes, and the unknowns, of two steps in turn. */
    alignas(16) T line[2][Shape::warps][Shape::order + sides];
    T known[2][sides];
    alignas(16) T nothing[Shape::order + sides]; /* the row of a pivot that is 0: zeros */
    /* Of all columns. */
    wi_batch_pivot<T> pivot[Shape::warps][Shape::order];
    int32_t from[Shape::warps][Shape::order], taken[Shape::order]; /* the pivots' rows; warps */
    T scale[Shape::order]; /* of quotients by it, or the roots of D */
};
/* An odd multiple of 16 bytes, so that the systems of a warp are read from different banks. */
template <class Shape>
struct alignas(16) wi_batch_board : wi_batch_words<Shape> {
    unsigned char apart[sizeof(wi_batch_words<Shape>) / 16 % 2 ? 32 : 16];
};

#endif
