/* SPDX-License-Identifier: Apache-2.0 */
/* expr for one instruction set: each code is a loop over a block of values that stay in the
 * first-level cache, so that to interpret it costs once for some hundred elements. All sets give
 * the same bits: every element is computed by the same operations. */
#include "expr/expr_simd.h"

#include <string.h>

#include "cpu/half_simd.h"
#include "cpu/stream.h"
#include "expr/expr_host.h"

/* Buffers are used for values of one type after the other. */
#define VALUES(type) type __attribute__((may_alias))

typedef struct block {
    const wi_expr_program *program;
    size_t n;
    const void *x[WEFT_EXPR_MAX_INPUTS]; /* at the first element */
    const void *acc;                     /* in one of work[0], work[1], or where it was loaded */
    unsigned next;                       /* which of the two is written next */
    const void *slot[WI_X_SLOTS], *mask;
    unsigned char *work[WI_EXPR_WORK_BUFFERS], *slots, *constants;
} block;

/* Work buffers beside the two that results take in turn. */
enum {
    LOADED = 2, /* an operand, widened */
    MASK,       /* a mask, widened */
    WRITTEN     /* results, narrowed */
};

static void square_roots_f32(size_t n, const void *from, void *to) {
    const VALUES(float) *const x = from;
    VALUES(float) *const z = to;
    size_t i = 0;
#if defined(__AVX512F__)
    for (; i + 16 <= n; i += 16)
        _mm512_storeu_ps((float *)z + i, _mm512_sqrt_ps(_mm512_loadu_ps((const float *)x + i)));
#elif defined(__AVX__)
    for (; i + 8 <= n; i += 8)
        _mm256_storeu_ps((float *)z + i, _mm256_sqrt_ps(_mm256_loadu_ps((const float *)x + i)));
#endif
    for (; i < n; i++)
        z[i] = sqrtf(x[i]);
}

static void square_roots_f64(size_t n, const void *from, void *to) {
    const VALUES(double) *const x = from;
    VALUES(double) *const z = to;
    size_t i = 0;
#if defined(__AVX512F__)
    for (; i + 8 <= n; i += 8)
        _mm512_storeu_pd((double *)z + i, _mm512_sqrt_pd(_mm512_loadu_pd((const double *)x + i)));
#elif defined(__AVX__)
    for (; i + 4 <= n; i += 4)
        _mm256_storeu_pd((double *)z + i, _mm256_sqrt_pd(_mm256_loadu_pd((const double *)x + i)));
#endif
    for (; i < n; i++)
        z[i] = sqrt(x[i]);
}

/* z = what(a, b), n values each. z is neither a nor b. */
static void apply(wi_expr_do what, size_t n, const void *from_a, const void *from_b, void *to) {
#define BINARY(name, Z, A, B, value)                                                               \
    case WI_X_##name: {                                                                            \
        const VALUES(A) *const x = from_a;                                                         \
        const VALUES(B) *const y = from_b;                                                         \
        VALUES(Z) *const z = to;                                                                   \
        _Pragma("omp simd") for (size_t i = 0; i < n; i++) {                                       \
            const A a = x[i];                                                                      \
            const B b = y[i];                                                                      \
            z[i] = (Z)(value);                                                                     \
        }                                                                                          \
        break;                                                                                     \
    }
#define UNARY(name, Z, A, value)                                                                   \
    case WI_X_##name: {                                                                            \
        const VALUES(A) *const x = from_a;                                                         \
        VALUES(Z) *const z = to;                                                                   \
        _Pragma("omp simd") for (size_t i = 0; i < n; i++) {                                       \
            const A a = x[i];                                                                      \
            z[i] = (Z)(value);                                                                     \
        }                                                                                          \
        break;                                                                                     \
    }
#define HEAVY_BINARY BINARY
#define HEAVY_UNARY UNARY
    switch (what) {
#include "expr/expr_narrow.inc"
#include "expr/expr_wide.inc"
    default:
        break;
    }
#undef BINARY
#undef UNARY
#undef HEAVY_BINARY
#undef HEAVY_UNARY
}

static void select_32(size_t n, const void *if_not_0, const void *kept, const void *other,
                      void *to) {
    const VALUES(uint32_t) *const mask = if_not_0;
    const VALUES(uint32_t) *const x = kept;
    const VALUES(uint32_t) *const y = other;
    VALUES(uint32_t) *const z = to;
#pragma omp simd
    for (size_t i = 0; i < n; i++)
        z[i] = mask[i] ? x[i] : y[i];
}

static void select_64(size_t n, const void *if_not_0, const void *kept, const void *other,
                      void *to) {
    const VALUES(uint32_t) *const mask = if_not_0;
    const VALUES(uint64_t) *const x = kept;
    const VALUES(uint64_t) *const y = other;
    VALUES(uint64_t) *const z = to;
#pragma omp simd
    for (size_t i = 0; i < n; i++)
        z[i] = mask[i] ? x[i] : y[i];
}

/* Elements of a narrow type, widened. */
static const void *widened(weft_type type, size_t n, const void *x, void *to) {
    VALUES(uint32_t) *const z = to;
    switch (type) {
    case WEFT_I8:
        for (size_t i = 0; i < n; i++)
            z[i] = (uint32_t)((const int8_t *)x)[i];
        return to;
    case WEFT_I16:
        for (size_t i = 0; i < n; i++)
            z[i] = (uint32_t)((const int16_t *)x)[i];
        return to;
    case WEFT_U8:
        for (size_t i = 0; i < n; i++)
            z[i] = ((const uint8_t *)x)[i];
        return to;
    case WEFT_U16:
        for (size_t i = 0; i < n; i++)
            z[i] = ((const uint16_t *)x)[i];
        return to;
    case WEFT_F16:
        wi_f16_widen_run(n, x, to);
        return to;
    case WEFT_BF16:
        wi_bf16_widen_run(n, x, to);
        return to;
    default:
        return x;
    }
}

/* Values as elements: in `to`, or where they are if they are elements already. */
static const void *narrowed(weft_type type, size_t n, const void *from, void *to) {
    const VALUES(uint32_t) *const x = from;
    switch (type) {
    case WEFT_I8:
    case WEFT_U8:
        for (size_t i = 0; i < n; i++)
            ((VALUES(uint8_t) *)to)[i] = (uint8_t)x[i];
        return to;
    case WEFT_I16:
    case WEFT_U16:
        for (size_t i = 0; i < n; i++)
            ((VALUES(uint16_t) *)to)[i] = (uint16_t)x[i];
        return to;
    case WEFT_F16:
        wi_f16_narrow_run(n, from, to);
        return to;
    case WEFT_BF16:
        wi_bf16_narrow_run(n, from, to);
        return to;
    default:
        return from;
    }
}

/* Where the values of an operand are; inputs of narrow types are widened into `into`. */
static const void *operand(const block *b, unsigned at, void *into) {
    if (at == WI_X_NONE || at == WI_X_ACC)
        return b->acc;
    if (at >= WI_X_AT_CONSTANT)
        return b->constants + (size_t)(at - WI_X_AT_CONSTANT) * WI_EXPR_BUFFER_BYTES;
    if (at >= WI_X_AT_SLOT)
        return b->slot[at - WI_X_AT_SLOT];
    const unsigned k = at - WI_X_AT_INPUT;
    return widened((weft_type)b->program->from[k], b->n, b->x[k], into);
}

/* Values in the two buffers that results take in turn are copied; others stay as they are. */
static void save(block *b, unsigned k) {
    b->slot[k] = b->acc;
    if (b->acc == b->work[0] || b->acc == b->work[1])
        b->slot[k] = memcpy(b->slots + (size_t)k * WI_EXPR_BUFFER_BYTES, b->acc,
                            b->n * (b->program->wide ? 8 : 4));
}

static void step(block *b, wi_expr_code code) {
    void *const to = b->work[b->next];
    if (code.what == WI_X_SAVE) {
        save(b, code.a - WI_X_AT_SLOT);
        return;
    }
    if (code.what == WI_X_LOAD) {
        b->acc = operand(b, code.a, to);
        b->next ^= b->acc == to;
        return;
    }
    if (code.what == WI_X_MASK) {
        b->mask = operand(b, code.a, b->work[MASK]);
        return;
    }
    const void *const x = operand(b, code.a, b->work[LOADED]);
    const void *const y = operand(b, code.b, b->work[LOADED]);
    const bool narrow = code.what == WI_X_SELECT_32;
    if (narrow || code.what == WI_X_SELECT_64)
        (narrow ? select_32 : select_64)(b->n, b->mask, x, y, to);
    else if (code.what == WI_X_SQRT_F32)
        square_roots_f32(b->n, x, to);
    else if (code.what == WI_X_SQRT_F64)
        square_roots_f64(b->n, x, to);
    else
        apply((wi_expr_do)code.what, b->n, x, y, to);
    b->acc = to;
    b->next ^= 1;
}

static block prepare(const wi_expr_program *p, unsigned char *room) {
    block b = {.program = p};
    for (int k = 0; k < WI_EXPR_WORK_BUFFERS; k++)
        b.work[k] = room + (size_t)k * WI_EXPR_BUFFER_BYTES;
    b.slots = room + (size_t)WI_EXPR_WORK_BUFFERS * WI_EXPR_BUFFER_BYTES;
    b.constants = b.slots + (size_t)p->slots * WI_EXPR_BUFFER_BYTES;
    for (uint32_t k = 0; k < p->constants; k++) {
        unsigned char *const to = b.constants + (size_t)k * WI_EXPR_BUFFER_BYTES;
        const size_t width = p->constant_wide[k] ? 8 : 4;
        for (size_t i = 0; i < wi_expr_block_n(p); i++)
            memcpy(to + i * width, &p->constant[k], width);
    }
    return b;
}

/* Prefetches what the next block reads, from element i on, into the second-level cache, a share
 * with each code of the present block: the hardware's own prefetching stops at the end of a page,
 * and a block of an input may be a page. */
WI_INLINE void fetch_share(const wi_expr_args *args, size_t i, size_t to, uint32_t code) {
    const wi_expr_program *const p = args->program;
    const size_t most = wi_expr_block_n(p);
    if (to - i <= most)
        return;
    for (uint32_t k = 0; k < p->inputs; k++) {
        const size_t size = weft_type_size((weft_type)p->from[k]), bytes = most * size;
        const size_t from = bytes * code / p->codes, end = bytes * (code + 1) / p->codes;
        wi_fetch((const char *)args->x[k] + i * size + from, end - from);
    }
}

/* Computes up to a block of elements, from element i on; returns their values. */
static const void *compute(block *b, const wi_expr_args *args, size_t i, size_t to) {
    const wi_expr_program *const p = args->program;
    const size_t most = wi_expr_block_n(p);
    b->n = to - i < most ? to - i : most;
    for (uint32_t k = 0; k < p->inputs; k++)
        b->x[k] = (const char *)args->x[k] + i * weft_type_size((weft_type)p->from[k]);
    for (uint32_t k = 0; k < p->codes; k++) {
        fetch_share(args, i + b->n, to, k);
        step(b, p->code[k]);
    }
    return b->acc;
}

static void run(const wi_expr_args *args, size_t from, size_t to, bool stream, void *room) {
    const wi_expr_program *const p = args->program;
    const size_t size = weft_type_size((weft_type)p->type);
    block b = prepare(p, room);
    for (size_t i = from; i < to; i += b.n) {
        const void *const values = compute(&b, args, i, to);
        const void *const z = narrowed((weft_type)p->type, b.n, values, b.work[WRITTEN]);
        if (stream)
            wi_stream((char *)args->z + i * size, z, b.n * size);
        else
            memmove((char *)args->z + i * size, z, b.n * size);
    }
    if (stream)
        wi_stream_done();
}

static void each(const wi_expr_args *args, size_t from, size_t to, void *room, wi_expr_taker take,
                 void *user) {
    block b = prepare(args->program, room);
    for (size_t i = from; i < to; i += b.n) {
        const void *const values = compute(&b, args, i, to);
        take(user, i, b.n, values);
    }
}

const wi_expr_simd WI_FOR_ISA(wi_expr_simd) = {.run = run, .each = each};
