/* SPDX-License-Identifier: Apache-2.0 */
/* The rung vectors: 16 bytes an access. */
#include "blend/blend_cuda.cuh"
#include "cuda/ahead.cuh"
#include "cuda/bytes.cuh"

constexpr int threads = 256;
constexpr int each = 4;              /* vectors of a thread */
constexpr int line_each = 2;         /* the same of one line of elements, with ... */
constexpr int line_resident = 6;     /* ... so many blocks of a multiprocessor, at least */
constexpr unsigned link_blocks = 24; /* keep the link busy; more wait for one another there */

/* Vectors whose numbers fit 32 bits are found by a division of 32 bits. */
template <class T>
struct vector_params {
    wi_blend_images<T> m;
    size_t across; /* vectors of a row, the last maybe incomplete */
    size_t count;
    bool by_vectors; /* each begins at a multiple of 16 bytes; else all go element by element */
};

/* What an access brings. Elements are taken from whole words and put into them: an array of bytes
 * would have a register for each. */
struct alignas(16) blend_words {
    uint32_t at[4];
};

/* Numbers of bytes come in units of 2^-24, which weights make up for: two bytes are set apart by
 * one instruction. */
template <class T>
constexpr float scale = sizeof(T) == 1 ? 1 / wi_byte_unit : 1;

template <class T>
static __device__ inline float number(const blend_words &words, int k) {
    constexpr int of_word = 4 / (int)sizeof(T);
    const uint32_t word = words.at[k / of_word];
    if constexpr (sizeof(T) == 1)
        return wi_byte_units(word, k % of_word);
    else
        return (float)wi_bit_cast<T>((wi_bits<T>)(word >> (k % of_word * 8 * (int)sizeof(T))));
}

/* Word w of the results. */
template <class T>
static __device__ inline uint32_t joined(const float *v, int w) {
    constexpr int of_word = 4 / (int)sizeof(T);
    if constexpr (sizeof(T) == 1)
        return wi_pack_bytes(v[4 * w], v[4 * w + 1], v[4 * w + 2], v[4 * w + 3]);
    uint32_t word = 0;
#pragma unroll
    for (int k = 0; k < of_word; k++) {
        T x;
        wi_blend_put(&x, v[of_word * w + k]);
        word |= (uint32_t)wi_bit_cast<wi_bits<T>>(x) << (k * 8 * (int)sizeof(T));
    }
    return word;
}

/* The elements from column `col` on; with a mask, the pixel that each belongs to is counted. */
template <bool masked, class T>
static __device__ inline blend_words mix(const wi_blend_images<T> &m, size_t row, size_t col,
                                         const blend_words &a, const blend_words &b) {
    float v[16 / sizeof(T)];
    float share_a = m.weight_a * scale<T>, share_b = m.weight_b * scale<T>;
    unsigned left = 0; /* elements of this pixel */
    const T *mask = nullptr;
    if constexpr (masked) {
        mask = m.mask + row * m.ldmask + col / m.channels;
        left = m.channels - (unsigned)(col % m.channels);
        share_a = wi_blend_share(*mask) * scale<T>;
        share_b = scale<T> - share_a;
    }
#pragma unroll
    for (int k = 0; k < 16 / (int)sizeof(T); k++) {
        if (masked && left == 0) {
            share_a = wi_blend_share(*++mask) * scale<T>;
            share_b = scale<T> - share_a;
            left = m.channels;
        }
        left--;
        v[k] = wi_blend_mix(share_a, number<T>(a, k), share_b, number<T>(b, k));
    }
    blend_words out;
#pragma unroll
    for (int w = 0; w < 4; w++)
        out.at[w] = joined<T>(v, w);
    return out;
}

/* Each thread first reads all its vectors, then writes. */
template <bool masked, class T>
static __global__ void __launch_bounds__(threads, 3)
    vectors(const __grid_constant__ vector_params<T> p) {
    constexpr int wide = 16 / (int)sizeof(T);
    const wi_blend_images<T> &m = p.m;
    const size_t first = (size_t)blockIdx.x * threads * each + threadIdx.x;
    blend_words a[each], b[each];
    size_t row[each], col[each];
    bool is_whole[each];
    wi_wait_for_earlier();
#pragma unroll
    for (int k = 0; k < each; k++) {
        const size_t v = first + (size_t)k * threads;
        if (p.count <= UINT32_MAX) {
            row[k] = (uint32_t)v / (uint32_t)p.across;
            col[k] = (uint32_t)v % (uint32_t)p.across * (size_t)wide;
        } else {
            row[k] = v / p.across;
            col[k] = v % p.across * (size_t)wide;
        }
        is_whole[k] = v < p.count && p.by_vectors && col[k] + wide <= m.cols;
        if (is_whole[k]) {
            a[k] = *(const blend_words *)(m.a + row[k] * m.lda + col[k]);
            b[k] = *(const blend_words *)(m.b + row[k] * m.ldb + col[k]);
        }
    }
#pragma unroll
    for (int k = 0; k < each; k++) {
        if (is_whole[k])
            *(blend_words *)(m.out + row[k] * m.ldout + col[k]) =
                mix<masked>(m, row[k], col[k], a[k], b[k]);
        else if (first + (size_t)k * threads < p.count)
            for (size_t c = col[k]; c < m.cols && c < col[k] + wide; c++)
                wi_blend_one(m, row[k], c);
    }
}

/* Images without gaps between rows are one line. Without a mask, where every vector is whole but
 * the last, that takes few registers. */
template <class T>
struct line_params {
    wi_blend_images<T> m;
    size_t whole; /* vectors */
};

/* Piece number `piece` of the line: as many vectors as a block has at a time. */
template <class T>
static __device__ inline void mix_piece(const line_params<T> &p, size_t piece) {
    constexpr int of_piece = threads * line_each, wide = 16 / (int)sizeof(T);
    const size_t first = piece * of_piece + threadIdx.x;
    const blend_words *const from_a = (const blend_words *)p.m.a + first;
    const blend_words *const from_b = (const blend_words *)p.m.b + first;
    blend_words *const to = (blend_words *)p.m.out + first;
    blend_words a[line_each], b[line_each];
    if ((piece + 1) * of_piece <= p.whole) {
#pragma unroll
        for (int k = 0; k < line_each; k++) {
            a[k] = from_a[k * threads];
            b[k] = from_b[k * threads];
        }
#pragma unroll
        for (int k = 0; k < line_each; k++)
            to[k * threads] = mix<false>(p.m, 0, 0, a[k], b[k]);
        return;
    }
    for (int k = 0; k < line_each; k++)
        if (first + k * threads < p.whole)
            to[k * threads] = mix<false>(p.m, 0, 0, from_a[k * threads], from_b[k * threads]);
    const size_t rest = p.whole * wide + threadIdx.x;
    if (rest < p.m.cols)
        wi_blend_one(p.m, 0, rest);
}

template <class T>
static __global__ void __launch_bounds__(threads, line_resident)
    line(const __grid_constant__ line_params<T> p) {
    wi_wait_for_earlier();
    mix_piece(p, blockIdx.x);
}

/* The same over the link: blocks stay. */
template <class T>
static __global__ void __launch_bounds__(threads, line_resident)
    line_over_link(const __grid_constant__ line_params<T> p, size_t pieces) {
    wi_wait_for_earlier();
#pragma unroll 1
    for (size_t piece = blockIdx.x; piece < pieces; piece += gridDim.x)
        mix_piece(p, piece);
}

template <class T>
static bool is_aligned(const T *p, size_t ld, size_t rows) {
    return wi_is_aligned(p) && (rows == 1 || ld * sizeof(T) % 16 == 0);
}

/* Whether weights can make up for the unit of bytes. */
template <class T>
static bool has_scale(const wi_blend_images<T> &m) {
    constexpr float most = 0x1p100f;
    return sizeof(T) > 1 || (fabsf(m.weight_a) <= most && fabsf(m.weight_b) <= most);
}

static weft_status check_grid(weft_context *ctx, size_t blocks, size_t rows, size_t cols) {
    if (blocks <= INT32_MAX)
        return WEFT_OK;
    return wi_fail(ctx, WEFT_EUNSUPPORTED,
                   "weft_blend: %zu rows of %zu elements need more blocks than a launch has; pass "
                   "fewer rows at a time",
                   rows, cols);
}

template <class T>
static weft_status launch_line(weft_context *ctx, const wi_blend_images<T> &m, bool over_link) {
    constexpr size_t wide = 16 / sizeof(T), of_piece = (size_t)threads * line_each;
    const line_params<T> p = {m, m.cols / wide};
    const size_t pieces = p.whole / of_piece + 1; /* the last one has the rest */
    if (over_link)
        return WEFT_LAUNCH_AHEAD(line_over_link<T>, ctx,
                                 pieces < link_blocks ? (unsigned)pieces : link_blocks, threads, 0,
                                 p, pieces);
    const weft_status status = check_grid(ctx, pieces, 1, m.cols);
    return status == WEFT_OK ? WEFT_LAUNCH_AHEAD(line<T>, ctx, (unsigned)pieces, threads, 0, p)
                             : status;
}

template <class T>
static weft_status launch(weft_context *ctx, const wi_blend_images<T> &m, bool over_link) {
    constexpr size_t wide = 16 / sizeof(T), of_block = (size_t)threads * each;
    vector_params<T> p = {};
    p.m = m;
    p.across = (m.cols + wide - 1) / wide;
    p.count = p.across * m.rows;
    p.by_vectors = has_scale(m) && is_aligned(m.a, m.lda, m.rows) &&
                   is_aligned(m.b, m.ldb, m.rows) && is_aligned((const T *)m.out, m.ldout, m.rows);
    if (p.by_vectors && m.rows == 1 && !m.mask)
        return launch_line(ctx, m, over_link);
    const size_t blocks = (p.count + of_block - 1) / of_block;
    const weft_status status = check_grid(ctx, blocks, m.rows, m.cols);
    if (status != WEFT_OK)
        return status;
    if (m.mask)
        return WEFT_LAUNCH_AHEAD((vectors<true, T>), ctx, (unsigned)blocks, threads, 0, p);
    return WEFT_LAUNCH_AHEAD((vectors<false, T>), ctx, (unsigned)blocks, threads, 0, p);
}

weft_status wi_blend_vectors(weft_context *ctx, const void *args) {
    const wi_blend_args flat = wi_blend_flat((const wi_blend_args *)args);
    return wi_blend_with(flat,
                         [=](const auto &images) { return launch(ctx, images, flat.over_link); });
}
