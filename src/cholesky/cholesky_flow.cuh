/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel of cholesky's rung `flow` works on: its parameters, what its blocks tell each
 * other, and the order in which they draw tiles. Arithmetic is f64, also for matrices of f32,
 * except within squares of 16 x 16 of these: tensor cores do as many flops in f64 as there are
 * multiply-adds of f32, and with f64 a result by inverses of small squares is exact where L is. */
#ifndef WI_CHOLESKY_FLOW_CUH
#define WI_CHOLESKY_FLOW_CUH

#include "cholesky/cholesky_factorer.cuh"
#include "cuda/boxes.cuh"
#include "cuda/memory.cuh"
#include "cuda/message.cuh"

/* What a kernel can do beside its usual tasks: of large matrices two columns go together; of small
 * ones the tiles on the diagonal are of blocks of one cluster. */
enum wi_flow_kind {
    WI_FLOW_PLAIN,
    WI_FLOW_JOINED,
    WI_FLOW_CHAINED
};

constexpr int flow_side = wi_cholesky_side;
constexpr int flow_groups = 2; /* of as many warps as a tile has strips */
constexpr int flow_threads = 32 * wi_strips * flow_groups;
/* A slot holds so many columns of the three tiles that a task reads. */
constexpr int flow_depth = 32, flow_parts = flow_side / flow_depth;
template <class T>
constexpr int flow_pitch = flow_side + (sizeof(T) == 8 ? 4 : 8); /* elements, of a slot */
template <class T>
constexpr int flow_chunk = flow_depth *flow_pitch<T>;
constexpr unsigned flow_slots_most = 4;
/* Numbers of the record by which a strip is passed on, and of a letter (wi_flow_mail); and the
 * warps that pass strips on. */
constexpr int flow_record = wi_strip * (flow_side + wi_strip);
constexpr int flow_letter = 2 * wi_strip * wi_strip;
constexpr unsigned flow_publishers = wi_strips;
constexpr unsigned flow_turns = 8; /* looks of a wait between asking if the matrix failed */

/* A row's count of its tiles of L: each of a tile's warps adds `first` once it has the first half
 * of its columns, and `second` behind the others. A tile's second half is known before anything of
 * the next one is. */
struct wi_flow_count {
    static constexpr uint32_t first = 1 << 16, second = 1;
    uint32_t units;

    __device__ unsigned halves() const {
        return units / (first * wi_strips) + units % first / wi_strips;
    }
};

/* A ring's slots are of boxes of three tiles; of four where two columns go together. */
template <int columns, int kind>
constexpr int flow_slots_of = columns == 1 && kind != WI_FLOW_CHAINED ? 8 : 6;
template <int columns>
constexpr uint32_t flow_slot_bytes = (flow_groups + columns) * flow_side *wi_box_line;
template <int columns, int kind>
constexpr size_t flow_ring_memory = wi_box_align +
                                    (size_t)flow_slots_of<columns, kind> *flow_slot_bytes<columns>;
constexpr int flow_ring_slots = flow_slots_of<1, WI_FLOW_PLAIN>;

struct wi_flow_ring {
    wi_barrier full[flow_ring_slots], empty[flow_ring_slots];
};

/* By which a block of the chain gets the factor of its column from the one before: each strip, and
 * behind it whether the matrix has failed. */
struct wi_flow_passed {
    wi_barrier there[wi_strips];
    wi_message failed[wi_strips];
};

struct wi_flow_shared {
    wi_flow_ring ring;
    wi_flow_passed passed;
    uint64_t drawn;  /* the number of the block's task */
    uint32_t launch; /* the number of this launch */
    bool stops;      /* the matrix has failed */
    int strips;      /* known so far of the factor of the task's column */
};

/* What blocks tell each other. A launch uses one of two sets of counts, and clears the other one
 * for the next launch: so none has to be cleared before. */
struct wi_flow_counts {
    struct {
        uint32_t ready;    /* of a row of tiles: a wi_flow_count, from column `begin` on */
        uint32_t factored; /* of the tile on its diagonal: strips that each publisher has told of */
    } of[2];
};
struct wi_flow_sets {
    unsigned long long next; /* the launch's number, in the upper half; the next task */
    uint32_t failed[2];
    uint32_t rows[2]; /* whose counts are in use */
};

/* Letters carry what the next tile on the diagonal waits for: the last strip of a factor. Each of
 * their numbers is stored together with those of the launch and the tile, so that a reader sees
 * from the number itself whether it is there. A letter has been read long before another tile's
 * replaces it. */
constexpr unsigned flow_letters = 8;
struct wi_flow_mail {
    wi_flow_sets sets;
    wi_pair letter[flow_letters][flow_letter];
    wi_flow_counts counts[1]; /* one for each row of tiles */
};

/* The drawn number also counts the blocks of the chain that have begun, in units of so many. */
constexpr uint32_t flow_chain_unit = 1 << 24;

template <class T, bool by_columns>
struct wi_flow_params {
    T *a; /* L(i, j) is a[i * down + j * across] */
    size_t ld, n;
    unsigned tiles;      /* rows of tiles */
    unsigned begin, end; /* columns of tiles */
    unsigned tasks;  /* blocks that have one; the others only bring code to caches: they rehearse */
    unsigned mixed;  /* blocks that rehearse and alternate with the first tasks; others come last */
    unsigned slots;  /* a power of two */
    bool packs;      /* are whole tiles made of packs of 16 bytes, down their columns? */
    unsigned boxed;  /* a task with so many columns before its own reads boxes; 0: none does */
    unsigned late;   /* the most columns that a pair leaves to its last products */
    unsigned chain;  /* blocks of the first cluster that have a tile on the diagonal */
    unsigned joined; /* columns before this one go by twos, where tiles are far from the diagonal */
    double *records; /* of the strips of the tiles on the diagonal */
    wi_flow_mail *mail;
    int64_t *first;
    bool clears; /* the words of `first` */

    __device__ bool rehearses() const {
        return chain == 0 &&
               (blockIdx.x < 2 * mixed ? blockIdx.x % 2 != 0 : blockIdx.x >= tasks + mixed);
    }
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
    __device__ double *record(unsigned i, int strip) const {
        return records + ((size_t)(i - begin) * wi_strips + strip) * flow_record;
    }
};

/* What a block has in shared memory behind its products: f64, also of f32. Before that the same
 * memory has some slots, each of which has 32 columns of three tiles. Of two columns that go
 * together the second one's sums lie behind it. */
struct wi_flow_memory {
    wi_tile_factor<double> factor;
    double x[flow_groups][wi_tile_size];
};
struct wi_flow_joined_memory : wi_flow_memory {
    double later[flow_groups][wi_tile_size];
};
template <class T>
using wi_flow_slot = T[3][flow_chunk<T>];
/* The column's factor comes while the last slot is multiplied, one with an odd number: of f32 slots
 * lie behind it, of f64 it is no larger than slot 0. In a chain it comes at any time. */
template <class T, int kind>
constexpr size_t flow_slots_at = sizeof(T) == 8 && kind != WI_FLOW_CHAINED
                                     ? 0
                                     : (sizeof(wi_tile_factor<double>) + 127) / 128 * 128;
static_assert(sizeof(wi_tile_factor<double>) <= sizeof(wi_flow_slot<double>) && flow_parts == 2,
              "a factor within slot 0");

/* Two tiles of column `column`, at `row` and the next one; or one; or at the diagonal one, and the
 * tile on the diagonal of its row. If it is joined, then those of the next column, too. */
struct wi_flow_task {
    unsigned column, row;
    bool has_x, has_second, is_diagonal, is_joined;
};

/* The tasks in the order in which they are drawn: the first tile on the diagonal, then some columns
 * abreast, by pairs of rows from the diagonal down, so that blocks which run at the same time read
 * the same rows. Where all of them go by pairs, those of two columns can be one task. A task needs
 * only what those before it have. */
constexpr unsigned flow_abreast = 2;

struct wi_flow_order {
    unsigned tiles, begin, end, joined;
    bool chained; /* nobody draws tiles on the diagonal */

    /* The first row of column j whose tiles go by pairs: those before it go alone. The tile beside
     * the next one on the diagonal, and the one below, which is needed soonest, do. */
    __host__ __device__ unsigned first_pair(unsigned j) const {
        const unsigned row = j + (j + 1 < end ? 3 : 1);
        return row + row % 2;
    }
    __host__ __device__ unsigned first_row(unsigned j) const {
        return chained && j + 1 < end ? j + 2 : j + 1;
    }
    /* Tasks of column j above row `row`, an even one, or in all. */
    __host__ __device__ unsigned above(unsigned j, unsigned row) const {
        const unsigned last = row < tiles ? row : tiles, pairs = first_pair(j);
        const unsigned first = first_row(j);
        if (last <= first)
            return 0;
        return last <= pairs ? last - first : pairs - first + (last - pairs + 1) / 2;
    }
    __host__ __device__ unsigned of_columns(unsigned from, unsigned to, unsigned row) const {
        unsigned all = 0;
        for (unsigned j = from; j < to; j++)
            all += above(j, row);
        return all;
    }
    __host__ __device__ unsigned last_abreast(unsigned from) const {
        return from + flow_abreast < end ? from + flow_abreast : end;
    }
    __host__ __device__ bool are_joined(unsigned from, unsigned to) const {
        return to <= joined && to - from == flow_abreast;
    }
    /* The row from which columns that go abreast have pairs alone. */
    __host__ __device__ unsigned pairs_of_all(unsigned from, unsigned to) const {
        const unsigned last = first_pair(to - 1), first = first_pair(from);
        return (last > first ? last : first) + 2;
    }
    __host__ __device__ unsigned of_abreast(unsigned from, unsigned to) const {
        const unsigned pairs = pairs_of_all(from, to);
        if (!are_joined(from, to) || pairs >= tiles)
            return of_columns(from, to, tiles);
        return of_columns(from, to, pairs) + (tiles - pairs + 1) / 2;
    }
    __host__ __device__ uint64_t count() const {
        uint64_t all = chained ? 0 : 1;
        for (unsigned from = begin; from < end; from = last_abreast(from))
            all += of_abreast(from, last_abreast(from));
        return all;
    }
    __device__ wi_flow_task task(unsigned j, unsigned row, bool is_joined) const {
        const bool is_pair = row >= first_pair(j);
        return {j, row, true, is_pair && row + 1 < tiles, row == j + 1 && j + 1 < end, is_joined};
    }
    /* The tile on the diagonal of a row, and the one beside it. */
    __device__ wi_flow_task on_diagonal(unsigned row) const {
        return {row > begin ? row - 1 : begin, row, row > begin, false, true, false};
    }
    __device__ wi_flow_task at(uint64_t number) const {
        if (number == 0 && !chained)
            return on_diagonal(begin);
        unsigned from = begin, to = last_abreast(begin), all = of_abreast(from, to);
        for (number -= chained ? 0 : 1; number >= all; all = of_abreast(from, to)) {
            number -= all;
            from = to;
            to = last_abreast(from);
        }
        return among(from, to, (unsigned)number);
    }
    /* Task `number` of columns that go abreast. */
    __device__ wi_flow_task among(unsigned from, unsigned to, unsigned number) const {
        const unsigned pairs = pairs_of_all(from, to), early = of_columns(from, to, pairs);
        unsigned row = from + 1 - (from + 1) % 2;
        if (number >= early && are_joined(from, to))
            return task(from, pairs + (number - early) * 2, true);
        if (number >= early)
            row = pairs + (number - early) / (to - from) * 2;
        else
            while (of_columns(from, to, row + 2) <= number)
                row += 2;
        number -= of_columns(from, to, row);
        unsigned j = from;
        for (unsigned own = above(j, row + 2) - above(j, row); number >= own;
             own = above(j, row + 2) - above(j, row)) {
            number -= own;
            j++;
        }
        const unsigned first = row > first_row(j) ? row : first_row(j);
        return task(j, first + number, false);
    }
};

#endif
