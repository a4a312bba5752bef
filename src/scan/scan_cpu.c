/* SPDX-License-Identifier: Apache-2.0 */
/* The rung "blocked" of scan. A thread takes the next block, reduces it while reading it into
 * cache, passes the total on to later blocks, and scans the block from cache. Blocks, and the order
 * in which totals are combined, depend on n only, and so do the bits of the result. A thread that
 * is alone needs no totals of integers: what the scan of a block ends with has the same bits. */
#include <math.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "cpu/half.h"
#include "cpu/order.h"
#include "cpu/team.h"
#include "expr/expr_simd.h"
#include "reduce/reduce_simd.h"
#include "scan/scan_simd.h"

enum {
    /* A larger output would not stay in a cache until it is next used. */
    STREAM_BYTES = 1 << 24,
    /* How often a thread looks for a carry before it computes the missing part itself: longer than
     * a running thread needs for a block. */
    PATIENCE = 1 << 9
};

_Static_assert((int)WI_SCAN_BLOCK <= (int)WI_REDUCE_BLOCK, "blocks are reduced by reduce's loops");

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
    wi_scan_block_scan scan;
    wi_reduce_block total; /* NULL for those that use one of the next two */
    uint64_t (*bitwise)(const wi_scan_run *run);
    bool (*product)(const wi_scan_run *run, double *product); /* for floats */
    double (*carry_over)(const wi_scan_run *run);             /* for floats */
    size_t blocks;
    char *room; /* of each thread, to widen elements */
} plan;

/* Where blocks pass carries on. Several threads may compute the same total; it has the same bits
 * each time. */
typedef struct relay {
    const plan *p;
    _Atomic uint64_t *carries;        /* the bits of the carry into block k, known for k <= done */
    _Alignas(64) atomic_size_t taken; /* blocks that threads have taken */
    _Alignas(64) atomic_size_t done;  /* blocks whose total has been passed on */
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

/* The xor mask that turns one operation into another: x & y is ~(~x | ~y), and a maximum is a
 * minimum in the opposite order. Keys compare as signed integers, so unsigned ones get their top
 * bit flipped. */
static uint64_t flip_of(weft_op op, weft_type type) {
    const uint64_t sign = wi_sign_turn(type);
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

size_t wi_scan_room(const wi_scan_args *args) {
    return args->widen ? wi_expr_room(args->widen) : 0;
}

const void *wi_scan_input(const wi_scan_args *args, size_t first, size_t n, void *room) {
    const size_t size = weft_type_size(args->type);
    const wi_expr_args widening = {
        .program = args->widen, .n = args->n, .x = {args->x}, .z = args->y};
    if (!args->widen)
        return (const char *)args->x + first * size;
    WI_OF_ISA(wi_cpu_isa(), wi_expr_simd)->run(&widening, first, first + n, false, room);
    return (const char *)args->y + first * size;
}

/* The bits of the element whose carry is `init`, extended by its sign to 64. */
static int64_t element_of(weft_type type, uint64_t init) {
    switch (type) {
    case WEFT_F16:
        return (int16_t)wi_f16_narrow_double(wi_carry_value(init));
    case WEFT_BF16:
        return (int16_t)wi_bf16_narrow_double(wi_carry_value(init));
    case WEFT_F32:
        return (int32_t)wi_float_bits((float)wi_carry_value(init));
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
    const double value = wi_carry_value(init);
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
    const bool stays = args->x == args->y || args->widen;
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
                          .stream = !stays && bytes >= STREAM_BYTES};
    p.scan = (p.combine == LESSER_KEY ? simd->ordering : simd->arithmetic)[args->type];
    p.carry_over = simd->carry_over[args->type];
    if (p.combine == OR_BITS || p.combine == XOR_BITS)
        p.bitwise = simd->bitwise[args->type];
    else if (p.combine == MULTIPLY_VALUES)
        p.product = simd->product[args->type];
    else
        p.total = reduce->blocks[reductions[p.run.op]][args->type];
    p.blocks = (args->n - 1) / WI_SCAN_BLOCK + 1;
    return p;
}

/* Block `block`, whose elements have been widened if they have to be. */
static wi_scan_run run_of(const plan *p, size_t block) {
    const size_t size = weft_type_size(p->args->type);
    const size_t from = block * WI_SCAN_BLOCK, left = p->args->n - from;
    wi_scan_run run = p->run;
    run.n = left < WI_SCAN_BLOCK ? left : WI_SCAN_BLOCK;
    run.y = (char *)p->args->y + from * size;
    run.x = p->args->widen ? run.y : (const char *)p->args->x + from * size;
    return run;
}

static wi_scan_carry total_of(const plan *p, const wi_scan_run *run) {
    wi_scan_carry total;
    wi_partial partial;
    if (p->bitwise) {
        total.integer = p->bitwise(run);
        return total;
    }
    if (p->product) {
        if (!p->product(run, &total.value))
            total.value = NAN;
        return total;
    }
    const wi_reduce_run block = {.n = run->n, .x = run->x, .flip = run->flip};
    /* NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage): set, if those are not */
    p->total(&block, &partial);
    if (p->combine == ADD_VALUES)
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

static wi_scan_carry carry_into(const relay *r, size_t block) {
    return (wi_scan_carry){.integer =
                               atomic_load_explicit(&r->carries[block], memory_order_relaxed)};
}

/* Is the total of a block of floats not enough to compute the carry? Sums and products inside it
 * may have overflowed although they would not with the carry; and its zero is positive although all
 * terms may be -0.0. A NaN stays a NaN. */
static bool wants_care(combining how, double carry, double total) {
    if (how == ADD_VALUES)
        return (!isfinite(total) && !isnan(carry)) || (total == 0 && carry == 0 && signbit(carry));
    return how == MULTIPLY_VALUES && !isfinite(total) && !isnan(carry);
}

/* Passes on the carry into the block after `block`, whose own carry is known. */
static void hand_on(const plan *p, relay *r, size_t block, wi_scan_carry total) {
    const wi_scan_carry carry = carry_into(r, block);
    wi_scan_carry next = combine(p->combine, carry, total);
    if (wants_care(p->combine, carry.value, total.value)) {
        wi_scan_run run = run_of(p, block);
        run.carry = carry;
        next.value = p->carry_over(&run);
    }
    atomic_store_explicit(&r->carries[block + 1], next.integer, memory_order_relaxed);
    atomic_compare_exchange_strong_explicit(&r->done, &block, block + 1, memory_order_release,
                                            memory_order_relaxed);
}

/* Waits for the carry into a block. If that takes long, the thread it waits for may have lost its
 * core to another process; this thread then does that thread's part itself, unless that thread may
 * be overwriting its input. */
static void await_carry(const plan *p, relay *r, size_t block) {
    unsigned looks = 0;
    for (;;) {
        const size_t done = atomic_load_explicit(&r->done, memory_order_acquire);
        if (done >= block)
            return;
        wi_cpu_relax();
        if (++looks % PATIENCE != 0)
            continue;
        if (p->args->x == p->args->y || p->args->widen) {
            sched_yield();
        } else {
            const wi_scan_run late = run_of(p, done);
            hand_on(p, r, done, total_of(p, &late));
        }
    }
}

static size_t take_block(relay *r) {
    return atomic_fetch_add_explicit(&r->taken, 1, memory_order_relaxed);
}

/* A thread takes its next block before it scans one, and prefetches it meanwhile. */
static void scan_blocks(void *user, int rank, int size) {
    relay *const r = user;
    const plan *const p = r->p;
    void *const room = p->room + (size_t)rank * wi_scan_room(p->args);
    (void)size;
    size_t block = take_block(r);
    while (block < p->blocks) {
        wi_scan_run run = run_of(p, block);
        run.x = wi_scan_input(p->args, block * WI_SCAN_BLOCK, run.n, room);
        if (block + 1 < p->blocks) {
            const wi_scan_carry total = total_of(p, &run);
            await_carry(p, r, block);
            hand_on(p, r, block, total);
        } else {
            await_carry(p, r, block);
        }
        run.carry = carry_into(r, block);
        block = take_block(r);
        run.next = block < p->blocks && !p->args->widen ? run_of(p, block).x : NULL;
        p->scan(&run);
    }
}

/* All blocks, each with the carry that the one before has ended with. */
static void scan_in_turn(const plan *p) {
    wi_scan_carry carry = first_carry(p);
    for (size_t block = 0; block < p->blocks; block++) {
        wi_scan_run run = run_of(p, block);
        run.x = wi_scan_input(p->args, block * WI_SCAN_BLOCK, run.n, p->room);
        run.carry = carry;
        carry = p->scan(&run);
    }
}

/* Two threads add up bytes and then scan them in the time in which one scans them at once. */
int wi_scan_team(const weft_context *ctx, const wi_scan_args *args) {
    const size_t size = weft_type_size(args->type);
    const size_t blocks = (args->n + WI_SCAN_BLOCK - 1) / WI_SCAN_BLOCK;
    const int team = wi_team_size(ctx, blocks, args->n * size);
    return team == 2 && size == 1 && args->op == WEFT_SUM && !args->widen ? 1 : team;
}

weft_status wi_scan_blocked(weft_context *ctx, const void *args) {
    const wi_scan_args *call = args;
    if (call->n == 0)
        return WEFT_OK;
    plan p = make_plan(call);
    const int team = wi_scan_team(ctx, call);
    const size_t carries = p.blocks * sizeof(_Atomic uint64_t), room = wi_scan_room(call);
    char *const memory = wi_host_alloc((size_t)team * room + carries);
    if (!memory)
        return wi_fail(ctx, WEFT_ENOMEM,
                       "%s: no memory for the carries of %zu blocks; free some, or use variant "
                       "serial, which needs none",
                       call->call, p.blocks);
    p.room = memory;
    relay r = {.p = &p, .carries = (_Atomic uint64_t *)(void *)(memory + (size_t)team * room)};
    atomic_init(&r.carries[0], first_carry(&p).integer);
    if (team == 1 && p.combine != ADD_VALUES && p.combine != MULTIPLY_VALUES)
        scan_in_turn(&p);
    else
        wi_team_run(ctx, team, scan_blocks, &r);
    wi_host_free(memory);
    return WEFT_OK;
}
