/* SPDX-License-Identifier: Apache-2.0 */
/* Passes of the radix sort "onesweep" over pieces of an array, each of which is sorted by itself:
 * so many blocks for each piece as the longest one has tiles. A pass over one piece may also have
 * limited room for each digit, when it has not been counted how many keys there are of it. */
#ifndef WI_SORT_PIECES_CUH
#define WI_SORT_PIECES_CUH

#include "cuda/limit.cuh"
#include "sort/sort_onesweep_count.cuh"

/* Where a piece lies. */
struct wi_placed_piece {
    uint64_t at[WI_SORT_ARRAYS];
    uint64_t n;
    uint64_t first_tile; /* of the words that tell of tiles */
};

/* keys[WI_SORT_IN] and keys[WI_SORT_OUT] are what this pass reads and writes, and so are values.
 * There are places where digits begin, and tickets, for every piece. */
template <class K, class V>
struct wi_piece_pass : wi_pass<K, V> {
    static constexpr bool in_pieces = true;
    wi_sort_step step;
    int from; /* which of a piece's places is that in the array that is read */
    const wi_placed_piece *pieces;
    unsigned tiles;          /* blocks for each piece */
    const uint64_t *ends;    /* of the room of each digit; NULL: there is enough */
    uint64_t first_position; /* added to positions, if these are the values */
};

template <class K, class V>
__global__ void __launch_bounds__((wi_tile<K, V, true>::threads), 2)
    sort_pieces(wi_piece_pass<K, V> given) {
    using tile = wi_tile<K, V, true>;
    using shared_places = wi_places<K, V>;
    WEFT_DYNAMIC_SHARED(memory);
    WEFT_SHARED(shared_places, places, );
    WEFT_SHARED(uint32_t, next, );
    const unsigned number = blockIdx.x / given.tiles;
    const wi_placed_piece &piece = given.pieces[number];
    if (threadIdx.x == 0) {
        next = atomicAdd(given.next_tile + number, 1u);
        places.full = 0;
    }
    for (unsigned i = threadIdx.x; i < tile::warps * wi_digits; i += tile::threads)
        ((uint32_t *)memory)[i] = 0;
    const uint64_t n = piece.n, at = piece.at[given.from], first_tile = piece.first_tile;
    __syncthreads();
    const uint32_t index = next;
    const size_t begin = (size_t)index * tile::keys;
    if (begin >= n)
        return;
    wi_piece_pass<K, V> p = given;
    p.status += first_tile * wi_digits;
    p.begins += number * wi_digits;
    const wi_sort_step step = {false,      given.step.first, given.step.last,
                               WI_SORT_IN, WI_SORT_OUT,      given.step.place};
    const unsigned count = (unsigned)(n - begin < tile::keys ? n - begin : tile::keys);
    const wi_pass_block<K, V, true, wi_piece_pass<K, V>> block = {p,     step,       memory, places,
                                                                  index, at + begin, count};
    wi_run_pass(p, block);
}

/* ---- counting ---- */

constexpr int wi_piece_items = 16; /* keys of a thread that are on their way at once */

/* Elements of a piece that a block counts. */
WI_LIMIT(uint64_t, wi_piece_chunk, (uint64_t)1 << 17)

/* Counts the digits of the keys of each piece, which has `chunks` blocks; whole: all digits but the
 * highest one. */
template <class K, bool whole>
__global__ void __launch_bounds__(wi_count_threads)
    count_pieces(wi_count_args<K> c, const wi_placed_piece *pieces, unsigned chunks) {
    constexpr unsigned batch = wi_count_threads * wi_piece_items;
    WEFT_DYNAMIC_SHARED(counters);
    const unsigned number = blockIdx.x / chunks;
    const wi_placed_piece &piece = pieces[number];
    const uint64_t first = blockIdx.x % chunks * wi_piece_chunk, n = piece.n;
    if (first >= n)
        return;
    const unsigned count = (unsigned)(n - first < wi_piece_chunk ? n - first : wi_piece_chunk);
    const unsigned bins = (unsigned)c.passes * wi_digits;
    const wi_count_form<K, whole, (int)sizeof(K) - 1> form(c);
    const K *const x = c.x + piece.at[WI_SORT_IN] + first;
    const unsigned mine = threadIdx.x / 32 * 32 * wi_piece_items + threadIdx.x % 32;
    wi_zero_counters(counters, bins << c.copy_bits);
    for (unsigned done = 0; done < count; done += batch) {
        const unsigned left = count - done;
        K key[wi_piece_items];
        wi_load_striped(x + done, mine, left, left >= batch, (K)0, key);
#pragma unroll
        for (int i = 0; i < wi_piece_items; i++)
            if (left >= batch || mine + (unsigned)i * 32 < left)
                form.count(counters, c.maps ? c.map.key(key[i]) : key[i]);
    }
    __syncthreads();
    wi_add_counters(counters, bins, 1u << c.copy_bits, c.counts + number * (uint64_t)bins);
}

/* Turns the counts of a piece into where its digits begin: a block for each piece, a warp for each
 * pass. A pass has the places of all pieces in turn. */
__global__ void begin_pieces(const unsigned long long *counts, const wi_placed_piece *pieces,
                             int passes, uint64_t *begins) {
    const int pass = (int)threadIdx.x / 32;
    const wi_placed_piece &piece = pieces[blockIdx.x];
    const uint64_t to = piece.at[wi_pass_target(passes, pass, false, true)];
    wi_begin_digits(counts + (blockIdx.x * (uint64_t)passes + pass) * wi_digits, piece.n, to,
                    begins + ((uint64_t)pass * gridDim.x + blockIdx.x) * wi_digits);
}

#endif
