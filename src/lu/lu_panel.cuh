/* SPDX-License-Identifier: Apache-2.0 */
/* A panel in one cluster. A thread has rows in registers from beginning to end. For a column, each
 * block sends its best row to all the others, and waits for theirs; then every thread knows the
 * pivot and subtracts. A block that has all rows sends nothing: all its threads read what its warps
 * propose. Rows are not moved: a thread keeps account of which row of the result it has, and writes
 * it there.
 *
 * Registers have no addresses, and a loop that is unrolled for each of 32 columns would take longer
 * to fetch than to run. So the column in turn is always x[0]: to subtract moves all others one
 * place down, and the multiplier takes the last place. When half of the columns are done, only the
 * other half goes on to turn. */
#ifndef WI_LU_PANEL_CUH
#define WI_LU_PANEL_CUH

#include "cuda/launch.cuh"
#include "cuda/memory.cuh"
#include "cuda/message.cuh"
#include "cuda/reciprocal.cuh"
#include "cuda/warp.cuh"
#include "lu/lu_size.cuh"

/* A block has so many threads of so many rows each, and the panel so many columns, at most. */
template <class Element, int threads_, int rows_, int width_, bool is_single_ = false>
struct wi_lu_panel_shape {
    using T = Element;
    static constexpr int threads = threads_, rows = rows_, width = width_;
    static constexpr size_t rows_of_block = (size_t)threads * rows;
    static constexpr bool is_single = is_single_; /* one block has all rows */
};

/* Columns begin ... end - 1. */
struct wi_lu_range {
    int begin, end;
};

template <class T>
struct wi_lu_block_params {
    T *a; /* the matrix, of so many rows */
    size_t lda;
    int rows;
    wi_lu_range whole; /* the columns that are factored */
    int64_t *pivot, *first;
    unsigned holders; /* the blocks of the cluster that have rows, two or more, come first */
};

/* Columns in turn use slots in turn, so that one is still read while the next is written. */
template <class Shape>
struct wi_lu_panel_shared {
    static constexpr int per_message = 16 / (int)sizeof(typename Shape::T);
    __host__ __device__ static constexpr int pieces_of(int elements) {
        return (elements + per_message - 1) / per_message;
    }
    static constexpr int pieces = pieces_of(Shape::width); /* of a row */
    static constexpr int warps = Shape::threads / 32;
    wi_message heads[2][WI_LARGEST_CLUSTER];        /* the blocks' candidates */
    wi_message rows[2][WI_LARGEST_CLUSTER][pieces]; /* and what they are rows of */
    wi_message warp_heads[2][warps], warp_rows[2][warps][pieces];
    typename Shape::T warp_reciprocals[2][warps]; /* of the candidates, in a panel of one block */
    wi_message chosen[Shape::width];              /* the pivots */
    wi_barrier arrived[2];

    /* Announces what a column brings, while `turning` of them turn. By one thread. */
    __device__ void expect(int slot, int turning, unsigned holders) {
        const uint32_t brought = (uint32_t)(pieces_of(turning) + 1);
        wi_barrier_arrive_expect(&arrived[slot], holders * brought * (uint32_t)sizeof(wi_message));
    }
    /* Announces the first columns of a panel. All blocks meet before these are sent. */
    __device__ void announce(unsigned holders) {
        if (!Shape::is_single && threadIdx.x == 0)
            for (int slot = 0; slot < 2; slot++)
                expect(slot, Shape::width, holders);
    }
};

template <class Shape>
struct wi_lu_panel_block {
    using T = typename Shape::T;
    using Shared = wi_lu_panel_shared<Shape>;
    static constexpr int rows = Shape::rows, width = Shape::width, pieces = Shared::pieces,
                         per_message = Shared::per_message, half = width / 2;

    const wi_lu_block_params<T> &p;
    const wi_lu_range &columns; /* in shared memory: registers are few */
    Shared &s;
    T (&x)[rows][width];
    uint32_t (&now)[rows]; /* which row of the result each is; wi_lu_no_row: beyond the last */
    unsigned rank;         /* of this block in the cluster */

    __device__ static wi_message packed(const wi_lu_candidate &c, bool is_negative) {
        return {{c.size.high, c.size.low, c.row, is_negative ? 1u << 31 : 0u}};
    }
    __device__ static wi_message no_candidate() {
        return packed({{0, 0}, wi_lu_no_row}, false);
    }
    __device__ static wi_lu_candidate unpacked(const wi_message &m) {
        return {{m.word[0], m.word[1]}, m.word[2]};
    }

    __device__ int panel_width() const {
        return columns.end - columns.begin;
    }
    __device__ T *corner() const {
        return p.a + columns.begin + columns.begin * p.lda;
    }
    __device__ unsigned row_of(int r) const {
        return (rank * rows + (unsigned)r) * Shape::threads + threadIdx.x;
    }
    /* Not a pivot yet, when columns before j have theirs. */
    __device__ bool is_free(int r, int j) const {
        return (int)now[r] >= j;
    }
    __device__ void load() const {
        const T *from = corner() + row_of(0);
        const int there = panel_width();
#pragma unroll
        for (int r = 0; r < rows; r++)
            now[r] = row_of(r) < (unsigned)(p.rows - columns.begin) ? row_of(r) : wi_lu_no_row;
#pragma unroll
        for (int c = 0; c < width; c++) {
#pragma unroll
            for (int r = 0; r < rows; r++)
                x[r][c] = is_free(r, 0) & (c < there) ? from[r * Shape::threads] : (T)0;
            from += p.lda;
        }
    }
    /* After a full turn of each half, the second comes first. */
    __device__ void store() const {
        const int there = panel_width();
        T *to[rows];
#pragma unroll
        for (int r = 0; r < rows; r++)
            to[r] = corner() + (now[r] != wi_lu_no_row ? now[r] : 0);
#pragma unroll
        for (int column = 0; column < width; column++) {
            const int c = (column + width / 2) % width;
#pragma unroll
            for (int r = 0; r < rows; r++) {
                if ((now[r] != wi_lu_no_row) & (column < there))
                    *to[r] = x[r][c];
                to[r] += p.lda;
            }
        }
    }

    /* This thread's best row, and the lanes of its warp that may have a better one. */
    struct contest {
        wi_lu_candidate best;
        T reciprocal; /* of its size, in a panel of one block */
        int which;
        unsigned lanes;
    };
    /* 0 where x is so small or large that it divides itself. */
    __device__ static T reciprocal_of(T x) {
        const wi_divisor<T> divisor(x, wi_reciprocal(x));
        return divisor.quick ? divisor.reciprocal : (T)0;
    }
    __device__ contest compete(int j) const {
        contest own = {{{0, 0}, wi_lu_no_row}, 0, 0, 0};
#pragma unroll
        for (int r = 0; r < rows; r++) {
            const wi_lu_candidate c = is_free(r, j)
                                          ? wi_lu_candidate{wi_lu_size_of(x[r][0]), now[r]}
                                          : wi_lu_candidate{{0, 0}, wi_lu_no_row};
            if (r == 0 || c.precedes(own.best)) {
                own.best = c;
                own.which = r;
            }
        }
        own.lanes = wi_lu_best_lanes(own.best);
        if (Shape::is_single) {
            T size;
            wi_lu_number(own.best.size, 0, size);
            own.reciprocal = reciprocal_of(size);
        }
        return own;
    }
    /* By the lane that has the warp's best row. */
    template <int turning>
    __device__ void propose(int slot, const contest &own) const {
        const int warp = (int)threadIdx.x / 32;
#pragma unroll
        for (int r = 0; r < rows; r++)
            if (rows == 1 || own.which == r) {
                s.warp_heads[slot][warp] = packed(own.best, x[r][0] < 0);
                if (Shape::is_single)
                    s.warp_reciprocals[slot][warp] = x[r][0] < 0 ? -own.reciprocal : own.reciprocal;
#pragma unroll
                for (int piece = 0; piece < Shared::pieces_of(turning); piece++) {
                    wi_message part;
                    memcpy(&part, &x[r][piece * per_message], sizeof part);
                    s.warp_rows[slot][warp][piece] = part;
                }
            }
    }
    /* The first `left` elements of a piece of a row; zeros in place of others. */
    __device__ static wi_message cut(wi_message piece, int left) {
        T u[per_message];
        wi_message out;
        memcpy(u, &piece, sizeof u);
#pragma unroll
        for (int e = 0; e < per_message; e++)
            u[e] = e < left ? u[e] : (T)0;
        memcpy(&out, u, sizeof out);
        return out;
    }
    /* Lanes share the pieces and, with the warps, the blocks to send to. Beyond the columns that
     * are left a row has multipliers, which are not sent. */
    template <int turning>
    __device__ void send_best(int slot, int left) const {
        constexpr int warps = Shared::warps, count = Shared::pieces_of(turning);
        constexpr int at_once = 32 / count * warps; /* blocks */
        const int lane = wi_lane(), piece = lane % count;
        const wi_message own = lane < warps ? s.warp_heads[slot][lane] : no_candidate();
        const int best = wi_lu_best_lane(unpacked(own));
        const wi_message head = s.warp_heads[slot][best];
        const wi_message part = cut(s.warp_rows[slot][best][piece], left - piece * per_message);
        const unsigned first = threadIdx.x / 32 + (unsigned)(lane / count * warps);
#pragma unroll
        for (unsigned more = 0; more < WI_LARGEST_CLUSTER; more += at_once) {
            const unsigned to = first + more;
            if (to < p.holders) {
                wi_send(&s.rows[slot][rank][piece], part, &s.arrived[slot], to);
                if (piece == 0)
                    wi_send(&s.heads[slot][rank], head, &s.arrived[slot], to);
            }
        }
    }

    /* Beyond the columns that are left a row has multipliers, in place of which zeros are read. By
     * the warp that has proposed it. */
    template <int turning>
    __device__ void cut_proposed(int slot, int left) const {
        const int lane = wi_lane();
        __syncwarp();
        if (lane >= left && lane < turning)
            ((T *)s.warp_rows[slot][threadIdx.x / 32])[lane] = 0;
    }

    /* What becomes of this thread's rows, when row `from` is the pivot of column j. */
    __device__ void exchange(int j, uint32_t from) const {
#pragma unroll
        for (int r = 0; r < rows; r++) {
            if (now[r] == from)
                now[r] = (uint32_t)j;
            else if (now[r] == (uint32_t)j)
                now[r] = from;
        }
    }
    /* x -= l u, a place down, where l, of what is no pivot yet, is a row's multiplier. The contest
     * of the next column begins as soon as its elements are known. */
    template <int turning>
    __device__ contest eliminate(int j, const wi_message *row, T reciprocal) const {
        wi_message piece = row[0];
        T u[per_message], l[rows], last[rows];
        memcpy(u, &piece, sizeof u);
        const T pivot = u[0];
        const wi_divisor<T> divisor(pivot, reciprocal);
        contest next = {};
        if (reciprocal != 0) {
#pragma unroll
            for (int r = 0; r < rows; r++)
                l[r] = divisor.quickly(x[r][0]);
        } else {
#pragma unroll
            for (int r = 0; r < rows; r++)
                l[r] = x[r][0] / pivot;
        }
#pragma unroll
        for (int r = 0; r < rows; r++) {
            const bool divides = is_free(r, j + 1) && pivot != 0;
            last[r] = divides ? l[r] : x[r][0];
            l[r] = divides ? l[r] : (T)0;
        }
#pragma unroll
        for (int c = 1; c < turning; c++) {
            if (c % per_message == 0) {
                piece = row[c / per_message];
                memcpy(u, &piece, sizeof u);
            }
#pragma unroll
            for (int r = 0; r < rows; r++)
                x[r][c - 1] = wi_fma(-l[r], u[c % per_message], x[r][c]);
            if (c == 1)
                next = compete(j + 1);
        }
#pragma unroll
        for (int r = 0; r < rows; r++)
            x[r][turning - 1] = last[r];
        return next;
    }

    /* Column j; two columns later, `two_later` turn. Returns the contest of the next column. */
    template <int turning>
    __device__ contest column(int j, const contest &own, int two_later) const {
        const int slot = j % 2, lane = wi_lane();
        if (wi_lu_best_of(own.lanes, own.best) == 1u << lane)
            propose<turning>(slot, own);
        if constexpr (Shape::is_single) {
            cut_proposed<turning>(slot, width - j);
            __syncthreads();
        } else {
            __syncthreads();
            send_best<turning>(slot, width - j);
            wi_receive(&s.arrived[slot], (uint32_t)(j / 2 % 2));
        }
        const int proposed = Shape::is_single ? Shared::warps : (int)p.holders;
        const wi_message *const heads = Shape::is_single ? s.warp_heads[slot] : s.heads[slot];
        const wi_message head = lane < proposed ? heads[lane] : no_candidate();
        const wi_lu_candidate of_block = unpacked(head);
        T reciprocal = 0;
        if (!Shape::is_single) {
            wi_lu_number(of_block.size, head.word[3], reciprocal);
            reciprocal = reciprocal_of(reciprocal);
        }
        const int from = wi_lu_best_lane(of_block);
        reciprocal =
            Shape::is_single ? s.warp_reciprocals[slot][from] : wi_shuffle(reciprocal, from);
        const wi_lu_candidate pivot = wi_lu_shuffle(of_block, from);
        if ((int)threadIdx.x == from)
            s.chosen[j] = head;
        exchange(j, pivot.row);
        const wi_message *const row =
            Shape::is_single ? s.warp_rows[slot][from] : s.rows[slot][from];
        const contest next = eliminate<turning>(j, row, reciprocal);
        if (!Shape::is_single && threadIdx.x == 0 && two_later > 0)
            s.expect(slot, two_later, p.holders);
        return next;
    }

    /* By the first warp, which has noted them. */
    __device__ void tell_pivots() const {
        const int j = wi_lane();
        bool odd = false;
        __syncwarp();
        if (j < panel_width()) {
            const wi_lu_candidate pivot = unpacked(s.chosen[j]);
            p.pivot[columns.begin + j] = columns.begin + (int64_t)pivot.row;
            odd = wi_lu_is_odd<T>(pivot.size);
        }
        if (__ballot_sync(wi_all_lanes, odd) != 0 && j == 0)
            for (int k = 0; k < panel_width(); k++)
                wi_lu_tell<T>(p.first, unpacked(s.chosen[k]).size, columns.begin + k);
    }

    /* Beyond the last column of the panel nothing remains but to turn. */
    template <int turning>
    __device__ void turn(int places) const {
#pragma unroll 1
        for (int k = 0; k < places; k++)
#pragma unroll
            for (int r = 0; r < rows; r++) {
                const T last = x[r][0];
#pragma unroll
                for (int c = 1; c < turning; c++)
                    x[r][c - 1] = x[r][c];
                x[r][turning - 1] = last;
            }
    }

    __device__ void run() const {
        load();
        contest own = compete(0);
        const int first = panel_width() < half ? panel_width() : half;
#pragma unroll 1
        for (int j = 0; j < first; j++)
            own = column<width>(j, own, j + 2 < half ? width : half);
        turn<width>(half - first);
#pragma unroll 1
        for (int j = half; j < panel_width(); j++)
            own = column<half>(j, own, j + 2 < width ? half : 0);
        turn<half>(panel_width() < half ? half : width - panel_width());
        store();
        if (rank == 0 && threadIdx.x < 32)
            tell_pivots();
    }
};

#endif
