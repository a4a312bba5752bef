/* SPDX-License-Identifier: Apache-2.0 */
/* A panel in one cluster. A thread has rows in registers from beginning to end. For a column, each
 * block sends its best row to all the others, and waits for theirs; then every thread knows the
 * pivot and subtracts. Rows are not moved: a thread keeps account of which row of the result it
 * has, and writes it there.
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
template <class Element, int threads_, int rows_, int width_>
struct wi_lu_panel_shape {
    using T = Element;
    static constexpr int threads = threads_, rows = rows_, width = width_;
    static constexpr size_t rows_of_block = (size_t)threads * rows;
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
    wi_message chosen[Shape::width]; /* the pivots */
    wi_barrier arrived[2];

    /* Announces what a column brings, while `turning` of them turn. By one thread. */
    __device__ void expect(int slot, int turning, unsigned holders) {
        const uint32_t brought = (uint32_t)(pieces_of(turning) + 1);
        wi_barrier_arrive_expect(&arrived[slot], holders * brought * (uint32_t)sizeof(wi_message));
    }
    /* Announces the first columns of a panel. All blocks meet before these are sent. */
    __device__ void announce(unsigned holders) {
        if (threadIdx.x == 0)
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
    bool (&free)[rows];    /* not a pivot yet */

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
        return (wi_cluster_rank() * rows + (unsigned)r) * Shape::threads + threadIdx.x;
    }
    __device__ void load() const {
        const T *const from = corner();
#pragma unroll
        for (int r = 0; r < rows; r++) {
            const unsigned row = row_of(r);
            free[r] = row < (unsigned)(p.rows - columns.begin);
            now[r] = free[r] ? row : wi_lu_no_row;
#pragma unroll
            for (int c = 0; c < width; c++)
                x[r][c] = free[r] && c < panel_width() ? from[row + c * p.lda] : (T)0;
        }
    }
    /* After a full turn of each half, the second comes first. */
    __device__ void store() const {
        T *const to = corner();
#pragma unroll
        for (int r = 0; r < rows; r++)
#pragma unroll
            for (int c = 0; c < width; c++) {
                const int column = (c + width / 2) % width;
                if (now[r] != wi_lu_no_row && column < panel_width())
                    to[now[r] + column * p.lda] = x[r][c];
            }
    }

    /* This thread's best row, and the lanes of its warp that may have a better one. */
    struct contest {
        wi_lu_candidate best;
        int which;
        unsigned lanes;
    };
    __device__ contest compete() const {
        contest own = {{{0, 0}, wi_lu_no_row}, 0, 0};
#pragma unroll
        for (int r = 0; r < rows; r++) {
            const wi_lu_candidate c = {wi_lu_size_of(x[r][0]), now[r]};
            if (free[r] && (own.best.row == wi_lu_no_row || c.precedes(own.best))) {
                own.best = c;
                own.which = r;
            }
        }
        own.lanes = wi_lu_best_lanes(own.best);
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
#pragma unroll
                for (int piece = 0; piece < Shared::pieces_of(turning); piece++)
                    memcpy(&s.warp_rows[slot][warp][piece], &x[r][piece * per_message],
                           sizeof(wi_message));
            }
    }
    /* The first `left` elements of a piece of a row; zeros in place of others. */
    __device__ static wi_message cut(const wi_message &piece, int left) {
        T u[per_message];
        wi_message out;
        memcpy(u, &piece, sizeof u);
#pragma unroll
        for (int e = 0; e < per_message; e++)
            u[e] = e < left ? u[e] : (T)0;
        memcpy(&out, u, sizeof out);
        return out;
    }
    /* Lanes share the pieces and, with the warps, the blocks to send to. Beyond the columns that are
     * left a row has multipliers, which are not sent. */
    template <int turning>
    __device__ void send_best(int slot, int left) const {
        constexpr int warps = Shared::warps, count = Shared::pieces_of(turning);
        constexpr int at_once = 32 / count * warps; /* blocks */
        const int lane = wi_lane(), piece = lane % count;
        const wi_message own = lane < warps ? s.warp_heads[slot][lane] : no_candidate();
        const int best = wi_lu_best_lane(unpacked(own));
        const wi_message head = s.warp_heads[slot][best];
        const wi_message part =
            cut(s.warp_rows[slot][best][piece], left - piece * per_message);
        const unsigned mine = wi_cluster_rank();
        const unsigned first = threadIdx.x / 32 + (unsigned)(lane / count * warps);
#pragma unroll
        for (unsigned more = 0; more < WI_LARGEST_CLUSTER; more += at_once) {
            const unsigned to = first + more;
            if (to < p.holders) {
                wi_send(&s.rows[slot][mine][piece], part, &s.arrived[slot], to);
                if (piece == 0)
                    wi_send(&s.heads[slot][mine], head, &s.arrived[slot], to);
            }
        }
    }

    /* What becomes of this thread's rows, when row `from` is the pivot of column j. */
    __device__ void exchange(int j, uint32_t from) const {
#pragma unroll
        for (int r = 0; r < rows; r++) {
            if (now[r] == from) {
                now[r] = (uint32_t)j;
                free[r] = false;
            } else if (now[r] == (uint32_t)j) {
                now[r] = from;
            }
        }
    }
    /* x -= l u, a place down, where l, of what is no pivot yet, is a row's multiplier. The contest
     * of the next column begins as soon as its elements are known. */
    template <int turning>
    __device__ contest eliminate(const wi_message *row, T reciprocal) const {
        T u[per_message], l[rows], last[rows];
        memcpy(u, &row[0], sizeof u);
        const T pivot = u[0];
        const wi_divisor<T> divisor(pivot, reciprocal);
        contest next = {};
#pragma unroll
        for (int r = 0; r < rows; r++) {
            const bool divides = free[r] && pivot != 0;
            l[r] = divides ? divisor.of(x[r][0]) : (T)0;
            last[r] = divides ? l[r] : x[r][0];
        }
#pragma unroll
        for (int c = 1; c < turning; c++) {
            if (c % per_message == 0)
                memcpy(u, &row[c / per_message], sizeof u);
#pragma unroll
            for (int r = 0; r < rows; r++)
                x[r][c - 1] = wi_fma(-l[r], u[c % per_message], x[r][c]);
            if (c == 1)
                next = compete();
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
        if (lane == wi_lu_best_of(own.lanes, own.best))
            propose<turning>(slot, own);
        __syncthreads();
        send_best<turning>(slot, width - j);
        wi_receive(&s.arrived[slot], (uint32_t)(j / 2 % 2));
        const wi_message head = lane < (int)p.holders ? s.heads[slot][lane] : no_candidate();
        const wi_lu_candidate of_block = unpacked(head);
        T number;
        wi_lu_number(of_block.size, head.word[3], number);
        const T reciprocal = wi_reciprocal(number);
        const int from = wi_lu_best_lane(of_block);
        const wi_lu_candidate pivot = wi_lu_shuffle(of_block, from);
        if ((int)threadIdx.x == from)
            s.chosen[j] = head;
        exchange(j, pivot.row);
        const contest next = eliminate<turning>(s.rows[slot][from], wi_shuffle(reciprocal, from));
        if (threadIdx.x == 0 && two_later > 0)
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
        contest own = compete();
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
        if (wi_cluster_rank() == 0 && threadIdx.x < 32)
            tell_pivots();
    }
};

#endif
