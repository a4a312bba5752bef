/* SPDX-License-Identifier: Apache-2.0 */
/* x = Q x and x = Qt x on a GPU. A thread has 2^levels elements of a vector in registers, whose
 * distance is a power of two, and does the butterflies among them; some passes have all.
 */
#include "cuda/launch.cuh"
#include "solve/solve_mix.h"

constexpr unsigned mixers = 128;     /* threads */
constexpr unsigned few_mixers = 32;  /* of a few vectors, for which more multiprocessors work */
constexpr int most_mixed_levels = 7; /* of a pass */

template <class T>
struct mixed_array {
    T *p;
    size_t across, apart;

    __device__ T *at(size_t vector, size_t element) const {
        return p + vector * apart + element * across;
    }
};

/* A pass. That `from` and `to` may differ also keeps the compiler from holding addresses. */
template <class From>
struct mixing {
    mixed_array<const From> from;
    mixed_array<float> to;
    size_t first, count;
    uint32_t salt;
    int level;     /* the first: elements of a thread are 2^level from each other */
    int groups;    /* sets of elements of a vector, a power of two */
    bool by_group; /* neighbouring threads have different sets, rather than different vectors */
    float factor;
};

/* A level of the butterflies of a thread: their signs come from random words, 32 from each. */
template <int length, int level>
static __device__ void mix_level(float (&x)[length], int first_level, uint32_t words,
                                 uint32_t salt) {
    constexpr int half = 1 << level;
    const float s = (float)wi_mixed_size(first_level + level) / 16;
    uint32_t signs = 0;
#pragma unroll
    for (int e = 0; e < length / 2; e++) {
        const int low = e & (half - 1), t = (e - low) * 2 + low;
        if (e % 32 == 0)
            signs = wi_mixed_bits(words + (uint32_t)(2 * level + e / 32), salt);
        const float turned = signs >> e % 32 & 1 ? -s : s;
        const float a = x[t], b = x[t + half];
        x[t] = fmaf(turned, b, a);
        x[t + half] = fmaf(turned, a, -b);
    }
}

/* The levels of a pass, from the last to the first of Q, or from the first on of Qt. */
template <int levels, bool transposed, int level>
static __device__ void mix_all(float (&x)[1 << levels], int first_level, uint32_t words,
                               uint32_t salt) {
    if constexpr (level < levels) {
        if (transposed)
            mix_level<1 << levels, level>(x, first_level, words, salt);
        mix_all<levels, transposed, level + 1>(x, first_level, words, salt);
        if (!transposed)
            mix_level<1 << levels, level>(x, first_level, words, salt);
    }
}

template <class From, int levels, bool transposed>
static __global__ void __launch_bounds__(mixers) mix_levels(mixing<From> m) {
    constexpr int length = 1 << levels;
    const size_t e = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (e >= m.count * (size_t)m.groups)
        return;
    const size_t group = m.by_group ? e % (size_t)m.groups : e / m.count;
    const size_t vector = m.by_group ? e / (size_t)m.groups : e % m.count;
    const size_t low = group & (((size_t)1 << m.level) - 1);
    const size_t first = m.first + low + ((group >> m.level) << (m.level + levels));
    const uint32_t words = ((uint32_t)group << 5 | (uint32_t)m.level) << 4;
    const From *const from = m.from.at(vector, first);
    float x[length];
#pragma unroll
    for (int t = 0; t < length; t++)
        x[t] = (float)from[(size_t)t * (m.from.across << m.level)];
    mix_all<levels, transposed, 0>(x, m.level, words, m.salt);
    float *const to = m.to.at(vector, first);
#pragma unroll
    for (int t = 0; t < length; t++)
        to[(size_t)t * (m.to.across << m.level)] = m.factor * x[t];
}

template <bool transposed, int levels, class From>
static weft_status launch_levels(weft_context *ctx, const mixing<From> &m, int wanted) {
    const unsigned threads = m.by_group ? few_mixers : mixers;
    const size_t blocks = (m.count * (size_t)m.groups + threads - 1) / threads;
    if constexpr (levels < most_mixed_levels)
        if (levels < wanted)
            return launch_levels<transposed, levels + 1>(ctx, m, wanted);
    return WEFT_LAUNCH((mix_levels<From, levels, transposed>), ctx, (unsigned)blocks, threads, 0,
                       m);
}

template <bool transposed, class From>
static weft_status launch_pass(weft_context *ctx, const wi_mixed_vectors *x,
                               const wi_mixed_part *part, mixed_array<const From> from, int pass,
                               int passes) {
    const int level = part->levels * pass / passes;
    const int levels = part->levels * (pass + 1) / passes - level;
    mixing<From> m = {};
    m.from = from;
    m.to = {x->p, x->across, x->apart};
    m.first = part->first;
    m.count = x->count;
    m.salt = part->salt;
    m.level = level;
    m.groups = 1 << (part->levels - levels);
    m.by_group = x->apart != 1;
    m.factor = pass == passes - 1 ? ldexpf(1, -wi_mixed_power(part->levels)) : 1;
    return launch_levels<transposed, 1>(ctx, m, levels);
}

/* Levels are shared out evenly to passes. */
static weft_status mix_part(weft_context *ctx, const wi_mixed_vectors *x, const wi_mixed_part *part,
                            bool transposed) {
    const int passes = (part->levels + most_mixed_levels - 1) / most_mixed_levels;
    const mixed_array<const float> own = {x->p, x->across, x->apart};
    const mixed_array<const double> source = {x->source, x->source_across, 1};
    weft_status status = WEFT_OK;
    for (int k = 0; k < passes && status == WEFT_OK; k++) {
        if (!transposed)
            status = launch_pass<false>(ctx, x, part, own, passes - 1 - k, passes);
        else if (k == 0 && x->source)
            status = launch_pass<true>(ctx, x, part, source, k, passes);
        else
            status = launch_pass<true>(ctx, x, part, own, k, passes);
    }
    return status;
}

weft_status wi_mix(weft_context *ctx, const wi_mixed_vectors *x, bool transposed) {
    wi_mixed_part part[WI_MIXED_PARTS];
    const int parts = wi_mixed_parts(x->n, part);
    weft_status status = WEFT_OK;
    for (int k = 0; k < parts && status == WEFT_OK; k++)
        status = mix_part(ctx, x, &part[transposed ? k : parts - 1 - k], transposed);
    return status;
}
