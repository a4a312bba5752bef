/* SPDX-License-Identifier: Apache-2.0 */
/* The rung vectors: 16 bytes an access. */
#include "blend/blend_cuda.cuh"
#include "cuda/bits.cuh"

constexpr int threads = 256;
constexpr int each = 4; /* vectors of a thread */

/* Vectors whose numbers fit 32 bits are found by a division of 32 bits. */
template <class T>
struct vector_params {
    wi_blend_images<T> m;
    size_t across; /* vectors of a row, the last maybe incomplete */
    size_t count;
    bool aligned; /* every vector of every image begins at a multiple of 16 bytes */
};

/* What an access brings. Elements are taken from whole words and put into them: an array of bytes
 * would have a register for each. */
struct alignas(16) blend_words {
    uint32_t at[4];
};

template <class T>
static __device__ inline T element(const blend_words &words, int k) {
    constexpr int of_word = 4 / (int)sizeof(T);
    const uint32_t word = words.at[k / of_word];
    return wi_bit_cast<T>((wi_bits<T>)(word >> (k % of_word * 8 * (int)sizeof(T))));
}

template <class T>
static __device__ inline void put_element(blend_words &words, int k, T x) {
    constexpr int of_word = 4 / (int)sizeof(T);
    words.at[k / of_word] |= (uint32_t)wi_bit_cast<wi_bits<T>>(x)
                             << (k % of_word * 8 * (int)sizeof(T));
}

/* The elements from column `col` on; with a mask, the pixel that each belongs to is counted. */
template <bool masked, class T>
static __device__ inline blend_words mix(const wi_blend_images<T> &m, size_t row, size_t col,
                                         const blend_words &a, const blend_words &b) {
    blend_words out = {};
    float share_a = m.weight_a, share_b = m.weight_b;
    unsigned left = 0; /* elements of this pixel */
    const T *mask = nullptr;
    if constexpr (masked) {
        mask = m.mask + row * m.ldmask + col / m.channels;
        left = m.channels - (unsigned)(col % m.channels);
        share_a = wi_blend_share(*mask);
        share_b = 1 - share_a;
    }
#pragma unroll
    for (int k = 0; k < 16 / (int)sizeof(T); k++) {
        T x;
        if (masked && left == 0) {
            share_a = wi_blend_share(*++mask);
            share_b = 1 - share_a;
            left = m.channels;
        }
        left--;
        wi_blend_put(
            &x, wi_blend_mix(share_a, (float)element<T>(a, k), share_b, (float)element<T>(b, k)));
        put_element(out, k, x);
    }
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
        is_whole[k] = v < p.count && p.aligned && col[k] + wide <= m.cols;
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

template <class T>
static bool is_aligned(const T *p, size_t ld, size_t rows) {
    return wi_is_aligned(p) && (rows == 1 || ld * sizeof(T) % 16 == 0);
}

template <class T>
static weft_status launch(weft_context *ctx, const wi_blend_images<T> &m) {
    constexpr size_t wide = 16 / sizeof(T), of_block = (size_t)threads * each;
    vector_params<T> p = {};
    p.m = m;
    p.across = (m.cols + wide - 1) / wide;
    p.count = p.across * m.rows;
    p.aligned = is_aligned(m.a, m.lda, m.rows) && is_aligned(m.b, m.ldb, m.rows) &&
                is_aligned((const T *)m.out, m.ldout, m.rows);
    const size_t blocks = (p.count + of_block - 1) / of_block;
    if (blocks > INT32_MAX)
        return wi_fail(ctx, WEFT_EUNSUPPORTED,
                       "weft_blend: %zu rows of %zu elements need more blocks than a launch has; "
                       "pass fewer rows at a time",
                       m.rows, m.cols);
    if (m.mask)
        return WEFT_LAUNCH((vectors<true, T>), ctx, (unsigned)blocks, threads, 0, p);
    return WEFT_LAUNCH((vectors<false, T>), ctx, (unsigned)blocks, threads, 0, p);
}

weft_status wi_blend_vectors(weft_context *ctx, const void *args) {
    const wi_blend_args flat = wi_blend_flat((const wi_blend_args *)args);
    return wi_blend_with(flat, [=](const auto &images) { return launch(ctx, images); });
}
