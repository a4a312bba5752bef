/* SPDX-License-Identifier: Apache-2.0 */
/* The rungs of scan by segment on a cpu. "blocks" works on blocks of fixed size: what each leaves
 * open, then the carries of all blocks one after another, then every block from its carry. So the
 * bits depend on neither the number of threads nor the instruction set. */
#include <math.h>

#include "cpu/half.h"
#include "cpu/order.h"
#include "cpu/team.h"
#include "group/group.h"

/* What comes before a block, or what it leaves open. */
typedef struct wi_group_carry {
    union {
        uint64_t bits;
        int64_t number;
        double value;
    };
    bool begins; /* a segment begins in the block */
} wi_group_carry;

static inline double float_combined(weft_op op, double a, double b) {
    switch (op) {
    case WEFT_PRODUCT:
        return a * b;
    case WEFT_MIN:
        return wi_comes_before(b, a) ? b : a;
    case WEFT_MAX:
        return wi_comes_before(-b, -a) ? b : a;
    default:
        return a + b;
    }
}

static inline double float_start(weft_op op) {
    return op == WEFT_PRODUCT ? 1 : op == WEFT_MIN ? INFINITY : op == WEFT_MAX ? -INFINITY : 0;
}

static inline double float_neutral(weft_op op) {
    return op == WEFT_SUM ? -0.0 : float_start(op);
}

static inline uint64_t bits_combined(weft_op op, uint64_t a, uint64_t b) {
    switch (op) {
    case WEFT_PRODUCT:
        return a * b;
    case WEFT_AND:
        return a & b;
    case WEFT_OR:
        return a | b;
    case WEFT_XOR:
        return a ^ b;
    default:
        return a + b;
    }
}

static inline uint64_t unsigned_combined(weft_op op, uint64_t a, uint64_t b) {
    if (op == WEFT_MIN)
        return b < a ? b : a;
    return op == WEFT_MAX ? b > a ? b : a : bits_combined(op, a, b);
}

static inline int64_t signed_combined(weft_op op, int64_t a, int64_t b) {
    if (op == WEFT_MIN)
        return b < a ? b : a;
    if (op == WEFT_MAX)
        return b > a ? b : a;
    return (int64_t)bits_combined(op, (uint64_t)a, (uint64_t)b);
}

static inline uint64_t unsigned_start(weft_op op, uint64_t most) {
    return op == WEFT_PRODUCT ? 1 : op == WEFT_MIN || op == WEFT_AND ? most : 0;
}

static inline int64_t signed_start(weft_op op, int64_t most) {
    switch (op) {
    case WEFT_PRODUCT:
        return 1;
    case WEFT_MIN:
        return most;
    case WEFT_MAX:
        return -most - 1;
    default:
        return op == WEFT_AND ? -1 : 0;
    }
}

#define NAME(f) f##_i8
#define T int8_t
#define WIDE int64_t
#define VALUE(v) (v)
#define STORED(v) ((T)(v))
#define COMBINED signed_combined
#define NEUTRAL(op) signed_start(op, INT8_MAX)
#define START NEUTRAL
#define MEMBER number
#include "group/group_scan_cpu.inc"

#define NAME(f) f##_i16
#define T int16_t
#define WIDE int64_t
#define VALUE(v) (v)
#define STORED(v) ((T)(v))
#define COMBINED signed_combined
#define NEUTRAL(op) signed_start(op, INT16_MAX)
#define START NEUTRAL
#define MEMBER number
#include "group/group_scan_cpu.inc"

#define NAME(f) f##_i32
#define T int32_t
#define WIDE int64_t
#define VALUE(v) (v)
#define STORED(v) ((T)(v))
#define COMBINED signed_combined
#define NEUTRAL(op) signed_start(op, INT32_MAX)
#define START NEUTRAL
#define MEMBER number
#include "group/group_scan_cpu.inc"

#define NAME(f) f##_i64
#define T int64_t
#define WIDE int64_t
#define VALUE(v) (v)
#define STORED(v) ((T)(v))
#define COMBINED signed_combined
#define NEUTRAL(op) signed_start(op, INT64_MAX)
#define START NEUTRAL
#define MEMBER number
#include "group/group_scan_cpu.inc"

#define NAME(f) f##_u8
#define T uint8_t
#define WIDE uint64_t
#define VALUE(v) (v)
#define STORED(v) ((T)(v))
#define COMBINED unsigned_combined
#define NEUTRAL(op) unsigned_start(op, UINT8_MAX)
#define START NEUTRAL
#define MEMBER bits
#include "group/group_scan_cpu.inc"

#define NAME(f) f##_u16
#define T uint16_t
#define WIDE uint64_t
#define VALUE(v) (v)
#define STORED(v) ((T)(v))
#define COMBINED unsigned_combined
#define NEUTRAL(op) unsigned_start(op, UINT16_MAX)
#define START NEUTRAL
#define MEMBER bits
#include "group/group_scan_cpu.inc"

#define NAME(f) f##_u32
#define T uint32_t
#define WIDE uint64_t
#define VALUE(v) (v)
#define STORED(v) ((T)(v))
#define COMBINED unsigned_combined
#define NEUTRAL(op) unsigned_start(op, UINT32_MAX)
#define START NEUTRAL
#define MEMBER bits
#include "group/group_scan_cpu.inc"

#define NAME(f) f##_u64
#define T uint64_t
#define WIDE uint64_t
#define VALUE(v) (v)
#define STORED(v) ((T)(v))
#define COMBINED unsigned_combined
#define NEUTRAL(op) unsigned_start(op, UINT64_MAX)
#define START NEUTRAL
#define MEMBER bits
#include "group/group_scan_cpu.inc"

#define NAME(f) f##_f16
#define T uint16_t
#define WIDE double
#define VALUE(v) ((double)wi_f16_widen(v))
#define STORED wi_f16_narrow_double
#define COMBINED float_combined
#define NEUTRAL float_neutral
#define START float_start
#define MEMBER value
#include "group/group_scan_cpu.inc"

#define NAME(f) f##_bf16
#define T uint16_t
#define WIDE double
#define VALUE(v) ((double)wi_bf16_widen(v))
#define STORED wi_bf16_narrow_double
#define COMBINED float_combined
#define NEUTRAL float_neutral
#define START float_start
#define MEMBER value
#include "group/group_scan_cpu.inc"

#define NAME(f) f##_f32
#define T float
#define WIDE double
#define VALUE(v) ((double)(v))
#define STORED (float)
#define COMBINED float_combined
#define NEUTRAL float_neutral
#define START float_start
#define MEMBER value
#include "group/group_scan_cpu.inc"

#define NAME(f) f##_f64
#define T double
#define WIDE double
#define VALUE(v) (v)
#define STORED (double)
#define COMBINED float_combined
#define NEUTRAL float_neutral
#define START float_start
#define MEMBER value
#include "group/group_scan_cpu.inc"

typedef struct loops {
    /* Finds what elements [from, end) leave open, if `total` is given; else scans them. */
    void (*block)(const wi_group_scan_args *a, size_t from, size_t end, const wi_group_carry *carry,
                  wi_group_carry *total);
    void (*join)(const wi_group_scan_args *a, wi_group_carry *carry, const wi_group_carry *total);
    void (*first)(const wi_group_scan_args *a, wi_group_carry *carry);
} loops;

#define LOOPS(type)                                                                                \
    { block_##type, join_##type, first_##type }

static const loops all_loops[WEFT_TYPE_COUNT] = {
    LOOPS(i8),  LOOPS(i16), LOOPS(i32), LOOPS(i64),  LOOPS(u8),  LOOPS(u16),
    LOOPS(u32), LOOPS(u64), LOOPS(f16), LOOPS(bf16), LOOPS(f32), LOOPS(f64),
};

weft_status wi_group_scan_serial(weft_context *ctx, const void *args) {
    const wi_group_scan_args *const a = args;
    const loops *const l = &all_loops[a->type];
    wi_group_carry carry = {.begins = false};
    (void)ctx;
    l->first(a, &carry);
    l->block(a, 0, a->n, &carry, NULL);
    return WEFT_OK;
}

enum {
    BLOCK = 1 << 14
};

/* The arguments of the threads. */
typedef struct work {
    const wi_group_scan_args *args;
    const loops *loops;
    wi_group_carry *carries; /* one for each block */
    size_t blocks;
} work;

static void each_block(const work *w, int rank, int size, bool totals) {
    const size_t end = wi_team_share(w->blocks, rank + 1, size), n = w->args->n;
    for (size_t b = wi_team_share(w->blocks, rank, size); b < end; b++) {
        const size_t from = b * BLOCK;
        w->loops->block(w->args, from, n - from < BLOCK ? n : from + BLOCK, &w->carries[b],
                        totals ? &w->carries[b] : NULL);
    }
}

static void find_totals(void *user, int rank, int size) {
    each_block(user, rank, size, true);
}

static void scan_blocks(void *user, int rank, int size) {
    each_block(user, rank, size, false);
}

/* Turns what each block leaves open into what comes before it. */
static void carry_on(const work *w) {
    wi_group_carry carry = {.begins = false};
    w->loops->first(w->args, &carry);
    for (size_t b = 0; b < w->blocks; b++) {
        const wi_group_carry total = w->carries[b];
        w->carries[b] = carry;
        w->loops->join(w->args, &carry, &total);
    }
}

weft_status wi_group_scan_blocks(weft_context *ctx, const void *args) {
    const wi_group_scan_args *const a = args;
    work w = {.args = a, .loops = &all_loops[a->type], .blocks = (a->n - 1) / BLOCK + 1};
    void *carries;
    const weft_status status =
        wi_group_take(ctx, "group_scan", w.blocks * sizeof *w.carries, &carries);
    if (status != WEFT_OK)
        return status;
    w.carries = carries;
    const int team = wi_team_size(ctx, w.blocks, a->n * weft_type_size(a->type));
    wi_team_run(ctx, team, find_totals, &w);
    carry_on(&w);
    wi_team_run(ctx, team, scan_blocks, &w);
    wi_host_free(carries);
    return WEFT_OK;
}
