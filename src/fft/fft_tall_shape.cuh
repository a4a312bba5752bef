/* SPDX-License-Identifier: Apache-2.0 */
/* Columns that fill a multiprocessor: how they lie in memory, and in shared memory. */
#ifndef WI_FFT_TALL_SHAPE_CUH
#define WI_FFT_TALL_SHAPE_CUH

#include "cuda/memory.cuh"
#include "fft/fft_cut.cuh"

/* How lines lie in an array. Not folded: number r of line c at r stride + c near. Folded: tiles of
 * 2^line_bits lines, each in one piece, in which boxes of 2^number_bits numbers of all its lines
 * follow each other; in a box are 2^fold_bits lines side by side, number by number, and then the
 * next such lines. Of the numbers of a box those whose last `turn_bits` bits are 0 come first, then
 * the others: a thread of the first pass has numbers next to each other, and threads are to write
 * whole sectors. */
struct wi_fft_tall_side {
    bool folds;
    unsigned line_bits, number_bits, fold_bits, turn_bits;
    size_t tile; /* numbers */

    /* Of number r of line c. */
    __device__ __forceinline__ size_t at(unsigned r, unsigned c) const {
        const unsigned line = c & ((1u << line_bits) - 1), number = r & ((1u << number_bits) - 1);
        const unsigned slot = (number >> turn_bits) |
                              (number << (number_bits - turn_bits) & ((1u << number_bits) - 1));
        return (c >> line_bits) * tile + ((size_t)(r - number) << line_bits) +
               ((((line >> fold_bits) << number_bits) + slot) << fold_bits) +
               (line & ((1u << fold_bits) - 1));
    }
};

template <class T>
struct wi_fft_tall_params {
    wi_fft_pass<T> p;
    wi_fft_tall_side in, out;
    unsigned tiles;
    bool pairs, pairs_out; /* rows of x, of y begin at multiples of 16 bytes */
};

template <class T, unsigned blocks_, unsigned threads_, unsigned wide_, int R1_, int R2_, int R3_,
          bool asks_ = false, unsigned room = 227u << 10>
struct wi_fft_tall_shape {
    using Type = T;
    using number = wi_fft_number<T>;
    static constexpr unsigned blocks = blocks_, threads = threads_, wide = wide_;
    static constexpr int R1 = R1_, R2 = R2_, R3 = R3_;
    static constexpr unsigned n = R1 * R2 * R3, own = n / blocks; /* rows, of a block */
    static constexpr unsigned share = R1 / blocks;     /* results of stage 1, of a block */
    static constexpr unsigned width = n / R1 / blocks; /* sets of stage 1 in a column */
    static constexpr unsigned radix[] = {(unsigned)R1, (unsigned)R2, (unsigned)R3};
    static constexpr bool asks = asks_; /* L2 for the rows that come late */
    static constexpr unsigned line = own * wide, turns = R3 * wide;
    /* Rows of 64 bytes: two that an access meets are to differ in parity. */
    static constexpr unsigned flips = wide * sizeof(number) < 128 ? 1 : 0;
    /* Copies of 16 bytes: a thread brings so many numbers of a row, and all threads so many rows
     * at once. */
    static constexpr unsigned each = 16 / (unsigned)sizeof(number);
    static constexpr unsigned rows = threads * each / wide, copies = own / rows;
    static constexpr unsigned unit = rows > width ? rows : width; /* of what comes early */
    static constexpr unsigned most = (room - 256) / (unsigned)sizeof(number);
    static constexpr unsigned fit = (most - line - turns) / (unit * wide) * unit;
    static constexpr unsigned early = fit < own ? fit : own; /* rows */
    static constexpr size_t bytes = (line + turns + early * wide) * sizeof(number);
    static_assert(rows * copies == own && unit % rows == 0 && unit % width == 0, "whole copies");
    static constexpr unsigned pieces = wide / each;
    static_assert(share * blocks == R1 && own / R2 / share % 2 == 0 && own / R3 / share % 2 == 0,
                  "blocks have equal shares");
};

/* As many numbers of a row as one access takes. */
template <class T, unsigned each>
struct alignas(16) wi_fft_chunk {
    wi_fft_number<T> v[each];
};

template <class Chunk>
__device__ __forceinline__ void wi_fft_send_chunk(Chunk *to, const Chunk &v, wi_barrier *b,
                                                  unsigned rank) {
    wi_send_late((wi_message *)to, wi_bit_cast<wi_message>(v), b, rank);
}

/* One access of 16 bytes: the compiler would take a structure apart. */
template <class Chunk>
__device__ __forceinline__ Chunk wi_fft_load_chunk(const Chunk *p) {
    Chunk v;
    const float4 bits = *(const float4 *)p;
    memcpy(&v, &bits, sizeof v);
    return v;
}
template <bool passes, class Chunk>
__device__ __forceinline__ void wi_fft_store_chunk(Chunk *p, const Chunk &v) {
    float4 bits;
    memcpy(&bits, &v, sizeof v);
    if constexpr (passes)
        wi_store_once((float4 *)p, bits);
    else
        *(float4 *)p = bits;
}

#endif
