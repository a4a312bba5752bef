/* SPDX-License-Identifier: Apache-2.0 */
/* Copies matrices whose lines (rows or columns, as they are stored) begin anywhere to where each
 * begins at a multiple of 128 bytes: both operands of a product by one kernel. The driver's copies
 * of such lines reach a quarter of memory's rate. */
#include "cuda/ahead.cuh"
#include "cuda/shifted.cuh"
#include "cuda/types.cuh"
#include "gemm/gemm_cuda.cuh"

constexpr unsigned threads = 256, most_lanes = 128;
constexpr size_t most_blocks = 1 << 14, chunk = 16;

/* Lines are cut into pieces that `lanes` threads copy by units: of 8 or 16 bytes, if all lines
 * begin and end at multiples of these, else chunks of 16 bytes of a copy, which are shifted. A
 * block has threads / lanes pieces at a time. Pitches are in bytes. What a line's last chunk has
 * beyond the line is anything. */
struct copying {
    char *to;
    wi_shifted_source from;
    size_t count, length; /* lines; units of a line */
    size_t to_pitch, from_pitch;
    unsigned unit, lanes, blocks; /* unit: in bytes, or 0 */
};

/* Units of a thread at once, small ones more. */
__host__ __device__ constexpr unsigned at_once_of(unsigned unit) {
    return unit == 8 ? 8 : 4;
}

/* How a unit is read: as it lies, or shifted. */
template <class T>
struct whole {
    using unit = T;
    __device__ static bool has_all(const copying &, const void *) {
        return true;
    }
    __device__ static T load(const void *p) {
        return *(const T *)p;
    }
};
struct shifted {
    using unit = uint4;
    __device__ static bool has_all(const copying &c, const void *p) {
        return c.from.has_all(p);
    }
    __device__ static uint4 load(const void *p) {
        return wi_shifted_source::load(p);
    }
};

template <class Way>
__device__ static void copy_lines(const copying &c, unsigned block) {
    using unit = typename Way::unit;
    constexpr unsigned at_once = at_once_of(sizeof(unit));
    const size_t in_piece = (size_t)c.lanes * at_once, in_line = wi_gemm_pieces(c.length, in_piece);
    const unsigned pieces = threads / c.lanes;
    const size_t all = c.count * in_line, step = (size_t)c.blocks * pieces;
    for (size_t piece = (size_t)block * pieces + threadIdx.x / c.lanes; piece < all;
         piece += step) {
        const size_t line = in_line == 1 ? piece : piece / in_line;
        const size_t first = (piece - line * in_line) * in_piece + threadIdx.x % c.lanes;
        const char *const source = c.from.begin + line * c.from_pitch;
        unit *const target = (unit *)(c.to + line * c.to_pitch);
        const auto place = [&](unsigned q) { return first + q * c.lanes; };
        const auto at = [&](unsigned q) { return source + place(q) * sizeof(unit); };
        bool is_inside = true;
#pragma unroll
        for (unsigned q = 0; q < at_once; q++)
            is_inside = is_inside && (place(q) >= c.length || Way::has_all(c, at(q)));
        if (!is_inside) {
            for (unsigned q = 0; q < at_once; q++)
                if (place(q) < c.length)
                    ((uint4 *)target)[place(q)] = c.from.load_bytes(at(q));
            continue;
        }
        unit x[at_once] = {};
#pragma unroll
        for (unsigned q = 0; q < at_once; q++)
            if (place(q) < c.length)
                x[q] = Way::load(at(q));
#pragma unroll
        for (unsigned q = 0; q < at_once; q++)
            if (place(q) < c.length)
                target[place(q)] = x[q];
    }
}

__device__ static void copy(const copying &c, unsigned block) {
    switch (c.unit) {
    case 16:
        return copy_lines<whole<uint4>>(c, block);
    case 8:
        return copy_lines<whole<uint64_t>>(c, block);
    default:
        return copy_lines<shifted>(c, block);
    }
}

/* Two calls, not one of a reference to either: for that the compiler keeps both in local memory. */
static __global__ void __launch_bounds__(threads, 4) copy_two(copying a, copying b) {
    wi_wait_for_earlier();
    if (blockIdx.x < a.blocks)
        copy(a, blockIdx.x);
    else
        copy(b, blockIdx.x - a.blocks);
}

/* 8 or 16 bytes, if all lines begin and end at multiples of it, else 0. */
static unsigned unit_of(const wi_gemm_copy &c) {
    const size_t bits = (size_t)(uintptr_t)c.from | c.of.length * c.width | c.from_ld * c.width;
    return bits % 16 == 0 ? 16 : bits % 8 == 0 ? 8 : 0;
}

static copying copying_of(const wi_gemm_copy &c) {
    const unsigned unit = unit_of(c);
    const size_t bytes = c.of.length * c.width, pitch = c.from_ld * c.width;
    const size_t length = wi_gemm_pieces(bytes, unit ? unit : chunk);
    const unsigned at_once = at_once_of(unit);
    unsigned lanes = unit ? 8 : 1;
    while (lanes < most_lanes && lanes * at_once < length)
        lanes *= 2;
    const size_t pieces = c.of.count * wi_gemm_pieces(length, (size_t)lanes * at_once);
    const size_t blocks = wi_gemm_pieces(pieces, threads / lanes);
    const char *const from = (const char *)c.from;
    return {(char *)c.to,
            {from, from + (c.of.count - 1) * pitch + bytes},
            c.of.count,
            length,
            c.to_ld * c.width,
            pitch,
            unit,
            lanes,
            (unsigned)(blocks < most_blocks ? blocks : most_blocks)};
}

weft_status wi_gemm_copy_lines(weft_context *ctx, const wi_gemm_copy *copies, int count) {
    const copying first = copying_of(copies[0]);
    const copying second = count > 1 ? copying_of(copies[1]) : copying{};
    return WEFT_LAUNCH_AHEAD(copy_two, ctx, first.blocks + second.blocks, threads, 0, first,
                             second);
}
