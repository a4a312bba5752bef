/* SPDX-License-Identifier: Apache-2.0 */
/* The blocked rung of scan. A thread takes the next block, reduces it while it comes into cache,
 * waits until the blocks before it have handed on their total, hands on its own, and scans the
 * block from cache. Blocks, and the order in which totals are combined, depend on n alone: so do
 * the bits of the result. */
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "cpu/half.h"
#include "cpu/team.h"
#include "reduce/reduce_simd.h"
#include "scan/scan_simd.h"

enum {
    BLOCK = WI_REDUCE_BLOCK,
    /* An output larger than this would not be in a cache when next looked for. */
    STREAM_BYTES = 1 << 24,
    /* Bytes worth waking another thread for. */
    WORTHWHILE_BYTES = 1 << 17,
    /* Looks at the carry before a waiting thread offers its core to others. */
    PATIENCE = 1 << 10
};

/* How the totals of blocks are found and combined. */
typedef enum combining {
    ADD_INTEGERS,
    MULTIPLY_INTEGERS,
    OR_BITS,
    XOR_BITS,
    ADD_VALUES,
    MULTIPLY_VALUES,
    LESSER_KEY
} combining;

typedef struct plan {
    const wi_scan_args *args;
    wi_scan_run run; /* what all blocks have in common */
    combining combine;
    void (*scan)(const wi_scan_run *run);
    wi_reduce_block total; /* NULL for bitwise operations, which have */
    uint64_t (*bitwise)(const wi_scan_run *run);
    size_t blocks;
} plan;

/* Where blocks hand on what is carried. */
typedef struct relay {
    _Alignas(64) atomic_size_t taken; /* blocks that threads have taken */
    _Alignas(64) atomic_size_t done;  /* blocks whose total is in `carry` */
    wi_scan_carry carry;
} relay;

static combining combining_of(weft_op op, weft_type type) {
    bool floating = wi_type_is_float(type);
    switch (op) {
    case WEFT_SUM:
        return floating ? ADD_VALUES : ADD_INTEGERS;
    case WEFT_PRODUCT:
        return floating ? MULTIPLY_VALUES : MULTIPLY_INTEGERS;
    case WEFT_AND:
    case WEFT_OR:
        return OR_BITS;
    case WEFT_XOR:
        return XOR_BITS;
    default:
        return LESSER_KEY;
    }
}

/* x & y is ~(~x | ~y), and a maximum is a minimum in the opposite order. Keys compare as signed
 * integers, so unsigned ones have their top bit turned. */
static uint64_t flip_of(weft_op op, weft_type type) {
    uint64_t sign = 0;
    if (!wi_type_is_float(type) && !wi_type_is_signed(type))
        sign = (uint64_t)1 << (8 * weft_type_size(type) - 1);
    switch (op) {
    case WEFT_AND:
        return UINT64_MAX;
    case WEFT_MIN:
        return sign;
    case WEFT_MAX:
        return ~sign;
    default:
        return 0;
    }
}

static double double_of(uint64_t bits) {
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* The bits of the element whose carry form is `init`, extended by its sign to 64. */
static int64_t element_of(weft_type type, uint64_t init) {
    switch (type) {
    case WEFT_F16:
        return (int16_t)wi_f16_narrow_double(double_of(init));
    case WEFT_BF16:
        return (int16_t)wi_bf16_narrow_double(double_of(init));
    case WEFT_F32:
        return (int32_t)wi_float_bits((float)double_of(init));
    default:
        break;
    }
    const unsigned unused = 64 - 8 * (unsigned)weft_type_size(type);
    return (int64_t)(init << unused) >> unused;
}

/* The key of the initial value, by the rules of scan_simd_key.inc. */
static int64_t key_of(weft_type type, uint64_t init, uint64_t flip) {
    const unsigned unused = 64 - 8 * (unsigned)weft_type_size(type);
    const int64_t bits = element_of(type, init);
    const int64_t turn = (int64_t)(flip << unused) >> unused;
    if (!wi_type_is_float(type))
        return bits ^ turn;
    const double value = double_of(init);
    if (value != value)
        return INT64_MIN >> unused;
    return bits ^ (bits < 0 ? INT64_MAX >> unused : 0) ^ turn;
}

static wi_scan_carry first_carry(const plan *p) {
    const wi_scan_args *args = p->args;
    wi_scan_carry carry = {.integer = args->init ^ p->run.flip};
    if (p->combine == LESSER_KEY)
        carry.integer = (uint64_t)key_of(args->type, args->init, p->run.flip);
    return carry;
}

static plan make_plan(const wi_scan_args *args) {
    const wi_isa isa = wi_cpu_isa();
    const wi_scan_simd *simd = WI_OF_ISA(isa, wi_scan_simd);
    const wi_reduce_simd *reduce = WI_OF_ISA(isa, wi_reduce_simd);
    plan p = {.args = args, .combine = combining_of(args->op, args->type)};
    static const weft_op ops[] = {[ADD_INTEGERS] = WEFT_SUM, [MULTIPLY_INTEGERS] = WEFT_PRODUCT,
                                  [OR_BITS] = WEFT_OR,       [XOR_BITS] = WEFT_XOR,
                                  [ADD_VALUES] = WEFT_SUM,   [MULTIPLY_VALUES] = WEFT_PRODUCT,
                                  [LESSER_KEY] = WEFT_MIN};
    static const wi_reduction reductions[] = {
        [WEFT_SUM] = WI_RED_SUM, [WEFT_PRODUCT] = WI_RED_PRODUCT, [WEFT_MIN] = WI_RED_MIN};
    const size_t bytes = args->n * weft_type_size(args->type);
    p.run = (wi_scan_run){.op = ops[p.combine],
                          .flip = flip_of(args->op, args->type),
                          .exclusive = args->kind == WEFT_EXCLUSIVE,
                          .stream = args->x != args->y && bytes >= STREAM_BYTES};
    p.scan = (p.combine == LESSER_KEY ? simd->ordering : simd->arithmetic)[args->type];
    if (p.combine == OR_BITS || p.combine == XOR_BITS)
        p.bitwise = simd->bitwise[args->type];
    else
        p.total = reduce->blocks[reductions[p.run.op]][args->type];
    p.blocks = (args->n - 1) / BLOCK + 1;
    return p;
}

static wi_scan_run run_of(const plan *p, size_t block) {
    const size_t size = weft_type_size(p->args->type);
    const size_t from = block * BLOCK, left = p->args->n - from;
    wi_scan_run run = p->run;
    run.n = left < BLOCK ? left : BLOCK;
    run.x = (const char *)p->args->x + from * size;
    run.y = (char *)p->args->y + from * size;
    return run;
}

static wi_scan_carry total_of(const plan *p, const wi_scan_run *run) {
    wi_scan_carry total;
    wi_partial partial;
    if (p->bitwise) {
        total.integer = p->bitwise(run);
        return total;
    }
    p->total(run->n, run->x, NULL, run->flip, &partial);
    if (p->combine == ADD_VALUES || p->combine == MULTIPLY_VALUES)
        total.value = partial.value;
    else if (p->combine == LESSER_KEY)
        total.integer = (uint64_t)partial.best.key;
    else
        total.integer = partial.integer;
    return total;
}

static wi_scan_carry combine(combining how, wi_scan_carry a, wi_scan_carry b) {
    switch (how) {
    case ADD_INTEGERS:
        a.integer += b.integer;
        break;
    case MULTIPLY_INTEGERS:
        a.integer *= b.integer;
        break;
    case OR_BITS:
        a.integer |= b.integer;
        break;
    case XOR_BITS:
        a.integer ^= b.integer;
        break;
    case ADD_VALUES:
        a.value += b.value;
        break;
    case MULTIPLY_VALUES:
        a.value *= b.value;
        break;
    case LESSER_KEY:
        a = (int64_t)b.integer < (int64_t)a.integer ? b : a;
        break;
    }
    return a;
}

/* Waits for the blocks before this one. Another thread works on the one just before: threads take
 * blocks in order, so the earliest unfinished one never waits. */
static void await_turn(relay *r, size_t block) {
    for (unsigned looks = 0; atomic_load_explicit(&r->done, memory_order_acquire) != block;
         looks++) {
        if (looks % PATIENCE == PATIENCE - 1)
            sched_yield();
    }
}

static size_t take_block(relay *r) {
    return atomic_fetch_add_explicit(&r->taken, 1, memory_order_relaxed);
}

/* A thread takes its next block before it scans one, and has memory bring it meanwhile. */
static void scan_blocks(const plan *p, relay *r) {
    size_t block = take_block(r);
    while (block < p->blocks) {
        wi_scan_run run = run_of(p, block);
        const bool is_last = block + 1 == p->blocks; /* nobody asks for its total */
        wi_scan_carry total = {0};
        if (!is_last)
            total = total_of(p, &run);
        await_turn(r, block);
        run.carry = r->carry;
        if (!is_last) {
            r->carry = combine(p->combine, run.carry, total);
            atomic_store_explicit(&r->done, block + 1, memory_order_release);
        }
        block = take_block(r);
        run.next = block < p->blocks ? run_of(p, block).x : NULL;
        p->scan(&run);
    }
}

weft_status wi_scan_blocked(weft_context *ctx, const void *args) {
    const wi_scan_args *call = args;
    if (call->n == 0)
        return WEFT_OK;
    const plan p = make_plan(call);
    relay r = {.carry = first_carry(&p)};
    const size_t worthwhile = call->n * weft_type_size(call->type) / WORTHWHILE_BYTES;
    const int team = wi_team_size(ctx, worthwhile < p.blocks ? worthwhile : p.blocks);
#pragma omp parallel num_threads(team) if (team > 1)
    scan_blocks(&p, &r);
    return WEFT_OK;
}
