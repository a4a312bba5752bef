/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel of cholesky's rung `flow` works on: its parameters, what its blocks tell each
 * other, and the order in which they draw tiles. */
#ifndef WI_CHOLESKY_FLOW_CUH
#define WI_CHOLESKY_FLOW_CUH

#include "cholesky/cholesky_factorer.cuh"
#include "cuda/memory.cuh"

constexpr int flow_side = wi_cholesky_side;
constexpr int flow_groups = 2; /* of as many warps as a tile has strips */
constexpr int flow_threads = 32 * wi_strips * flow_groups;
constexpr int flow_depth = 32, flow_parts = flow_side / flow_depth; /* columns of a slot */
constexpr int flow_chunk = flow_depth * wi_tile_pitch;
constexpr unsigned flow_slots_most = 4;
constexpr int flow_record =
    wi_strip * (flow_side + wi_strip + 1);           /* elements of a strip, at most */
constexpr int flow_letter = 2 * wi_strip * wi_strip; /* numbers, at most */
constexpr unsigned flow_publishers = wi_strips - 1;  /* warps */
constexpr unsigned flow_tile_units =
    wi_strips * flow_publishers; /* of a tile, in its row's count */

struct alignas(16) wi_flow_state {
    unsigned long long next; /* task */
    uint32_t failed;
};

/* What the next tile on the diagonal waits for: the last strip of a factor. Each number comes with
 * the launch's, so that those who wait need not look twice. */
struct wi_flow_mail {
    wi_pair launch; /* value: its number */
    wi_pair at[1];  /* flow_letter for each tile on the diagonal */
};

template <class T, bool by_columns>
struct wi_flow_params {
    T *a; /* L(i, j) is a[i * down + j * across] */
    size_t ld, n;
    unsigned tiles;      /* rows of tiles */
    unsigned begin, end; /* columns of tiles */
    unsigned slots;      /* a power of two */
    bool packs;          /* are whole tiles made of packs of 16 bytes, down their columns? */
    wi_flow_state *state;
    uint32_t *ready;    /* of each row of tiles: units of L's, from column `begin` on */
    uint32_t *factored; /* of each tile on the diagonal: strips that are known, by each publisher */
    T *records;         /* of those strips */
    wi_flow_mail *mail;
    int64_t *first;
    bool clears; /* the words of `first` */

    __device__ size_t down() const {
        return by_columns ? 1 : ld;
    }
    __device__ size_t across() const {
        return by_columns ? ld : 1;
    }
    __device__ T *tile(unsigned i, unsigned j) const {
        return a + (size_t)i * flow_side * down() + (size_t)j * flow_side * across();
    }
    __device__ int rows(unsigned i) const {
        const size_t left = n - (size_t)i * flow_side;
        return left < flow_side ? (int)left : flow_side;
    }
    __device__ T *record(unsigned i, int strip) const {
        return records + ((size_t)(i - begin) * wi_strips + strip) * flow_record;
    }
    __device__ wi_pair *letter(unsigned i) const {
        return mail->at + (size_t)(i - begin) * flow_letter;
    }
};

/* What a block has in shared memory behind its products. Before that the same memory has some
 * slots, each of which has 32 columns of three tiles. */
template <class T>
struct wi_flow_memory {
    wi_tile_factor<T> factor;
    T x[2][wi_tile_size];
};
template <class T>
using wi_flow_slot = T[3][flow_chunk];

/* Two tiles of column `column`, at `row` and the next one; or one; or at the diagonal one, and the
 * tile on the diagonal of its row. */
struct wi_flow_task {
    unsigned column, row;
    bool has_x, has_second, is_diagonal;
};

/* The tasks in the order in which they are drawn: the first tile on the diagonal, then the
 * columns'.
 */
struct wi_flow_order {
    unsigned tiles, begin, end;

    /* Tiles that go alone: that beside the next one on the diagonal, and the one below, which is
     * needed soonest. */
    __host__ __device__ unsigned alone_in(unsigned j) const {
        return j + 1 < end ? 2 : 0;
    }
    __host__ __device__ unsigned of_column(unsigned j) const {
        const unsigned below = tiles - 1 - j, alone = alone_in(j);
        return below < alone ? below : alone + (below - alone + 1) / 2;
    }
    __host__ __device__ uint64_t count() const {
        uint64_t all = 1;
        for (unsigned j = begin; j < end; j++)
            all += of_column(j);
        return all;
    }
    __device__ wi_flow_task at(uint64_t number) const {
        if (number == 0)
            return {begin, begin, false, false, true};
        unsigned j = begin;
        for (number--; number >= of_column(j); j++)
            number -= of_column(j);
        const unsigned k = (unsigned)number, alone = alone_in(j);
        const unsigned row = j + 1 + (k < alone ? k : alone + 2 * (k - alone));
        return {j, row, true, k >= alone && row + 1 < tiles, k == 0 && j + 1 < end};
    }
};

#endif
