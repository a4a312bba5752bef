/* SPDX-License-Identifier: Apache-2.0 */
/* Which steps between the GPUs of a process go by mailboxes, that they give the bits of the way
 * below, and what happens where a rank cannot take part or fails. With one GPU nothing is tested;
 * where GPUs do not reach each other, that all steps go without. */
#include "comm/comm_mailbox.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "climb/collectives.h"
#include "comm/dist.h"
#include "comm/gpus.h"
#include "comm/mailbox.h"
#include "gpu_name.h"
#include "testing.h"
#ifdef WEFT_EMU
#    include "emu_faults.h"
#endif

enum {
    GUARD = 16, /* bytes behind a result that must stay as they are */
    MANY = 24   /* steps in a row */
};

/* A step, alike on all ranks. */
typedef struct trial {
    wi_comm_kind kind;
    weft_type type;
    weft_op op;
    size_t n;       /* elements; of steps with counts, of the largest */
    size_t shift;   /* of the arrays, in elements, off 16 bytes */
    bool in_place;  /* all-reduce only */
    int on_host;    /* the rank that has its arrays in host memory, or -1 */
    int uneven;     /* with counts: how they differ */
    const char *by; /* what is to carry it; NULL: anything but mailboxes */
} trial;

/* What a rank has for it. */
typedef struct rig {
    weft_context *rank;
    const trial *t;
    size_t sent[WI_MOST_GPUS], got[WI_MOST_GPUS];
    size_t from_n, to_n;
    bool device;
    char *from, *to;     /* the arrays, with room before and behind them */
    char *data, *out[2]; /* in host memory: what is sent; what comes by either way */
} rig;

static size_t size_of(const rig *g) {
    return weft_type_size(g->t->type);
}

static size_t room(const rig *g, size_t n) {
    return (n + g->t->shift) * size_of(g) + GUARD;
}

/* What rank `from` sends to rank `to`. */
static size_t count_of(const trial *t, int from, int to) {
    const size_t part = t->n / 3;
    return (from + 2 * to) % 3 == t->uneven ? 0 : (from + to) % 2 ? t->n : part;
}

static size_t sum(const size_t *counts, int ranks) {
    size_t all = 0;
    for (int r = 0; r < ranks; r++)
        all += counts[r];
    return all;
}

static void lay_out(rig *g) {
    const wi_comm *const comm = g->rank->comm;
    const size_t n = g->t->n, ranks = (size_t)comm->size;
    const wi_comm_kind kind = g->t->kind;
    const bool exchanges = kind == WI_COMM_ALL_TO_ALL_V;
    for (int r = 0; r < comm->size; r++) {
        g->sent[r] = exchanges ? count_of(g->t, comm->rank, r) : count_of(g->t, comm->rank, 0);
        g->got[r] = exchanges ? count_of(g->t, r, comm->rank) : count_of(g->t, r, 0);
    }
    g->from_n = g->to_n = n;
    if (kind == WI_COMM_ALL_GATHER)
        g->to_n = n * ranks;
    if (kind == WI_COMM_REDUCE_SCATTER)
        g->from_n = n * ranks;
    if (kind == WI_COMM_ALL_GATHER_V)
        g->from_n = g->sent[0];
    if (exchanges)
        g->from_n = sum(g->sent, comm->size);
    if (exchanges || kind == WI_COMM_ALL_GATHER_V)
        g->to_n = sum(g->got, comm->size);
    g->device = g->t->on_host != comm->rank;
}

/* Sums of these depend on their order. */
static void fill(const rig *g, test_random *r) {
    for (size_t i = 0; i < g->from_n; i++) {
        const uint64_t bits = test_bits(r);
        const double x = test_unit(r) * (double)(1 << test_below(r, 20));
        if (g->t->type == WEFT_F32)
            ((float *)g->data)[i] = (float)x;
        else if (g->t->type == WEFT_F64)
            ((double *)g->data)[i] = x;
        else
            memcpy(g->data + i * size_of(g), &bits, size_of(g));
    }
}

static weft_status take(const rig *g, size_t bytes, char **p) {
    if (g->device)
        return wi_local(g->rank, weft_alloc(g->rank->child, (void **)p, bytes));
    *p = malloc(bytes);
    return WEFT_OK;
}

static weft_status give(const rig *g, char *p) {
    if (g->device)
        return weft_free(g->rank->child, p);
    free(p);
    return WEFT_OK;
}

static weft_status move(const rig *g, void *to, const void *from, size_t bytes) {
    const weft_status status = weft_copy(g->rank->child, to, from, bytes);
    return wi_local(g->rank, status == WEFT_OK ? weft_sync(g->rank->child) : status);
}

static weft_status call(const rig *g, void *from, void *to) {
    const wi_comm_table *const c = g->rank->comm->calls;
    const trial *const t = g->t;
    const int root = g->rank->comm->size - 1;
    switch (t->kind) {
    case WI_COMM_BROADCAST:
        return c->broadcast(g->rank, g->rank->comm->rank == root ? from : to, t->n, t->type, root);
    case WI_COMM_REDUCE:
        return c->reduce(g->rank, from, to, t->n, t->type, t->op, root);
    case WI_COMM_ALL_REDUCE:
        return c->all_reduce(g->rank, from, t->in_place ? from : to, t->n, t->type, t->op);
    case WI_COMM_ALL_GATHER:
        return c->all_gather(g->rank, from, to, t->n, t->type);
    case WI_COMM_ALL_GATHER_V:
        return c->all_gather_v(g->rank, from, to, g->got, t->type);
    case WI_COMM_REDUCE_SCATTER:
        return c->reduce_scatter(g->rank, from, to, t->n, t->type, t->op);
    default:
        return c->all_to_all_v(g->rank, from, g->sent, to, g->got, t->type);
    }
}

/* Runs the step by mailboxes or without; out[by_mail] = all of the array that has the result. */
static weft_status run(const rig *g, bool by_mail) {
    const trial *const t = g->t;
    const size_t shift = t->shift * size_of(g);
    weft_context *const rank = g->rank;
    memset(g->out[by_mail], 0x5a, room(g, g->to_n));
    weft_status status = move(g, g->to, g->out[by_mail], room(g, g->to_n));
    if (status == WEFT_OK)
        status = move(g, g->from + shift, g->data, g->from_n * size_of(g));
    const bool before = wi_comm_mailbox_use(rank, by_mail);
    if (status == WEFT_OK)
        status = call(g, g->from + shift, g->to + shift);
    wi_comm_mailbox_use(rank, before);
    if (status == WEFT_OK)
        status = move(g, g->out[by_mail], t->in_place ? g->from : g->to, room(g, g->to_n));
    const char *const by = rank->comm->carried;
    const bool is_mail = strcmp(by, "mailbox") == 0;
    if (status == WEFT_OK && is_mail != (by_mail && t->by))
        status = wi_fail(rank, WEFT_EDEVICE, "step %d of %zu elements of %s went by %s",
                         (int)t->kind, t->n, weft_type_name(t->type), by);
    return status;
}

static weft_status open_rig(rig *g, test_random *r) {
    lay_out(g);
    g->data = malloc(room(g, g->from_n));
    g->out[0] = malloc(room(g, g->to_n));
    g->out[1] = malloc(room(g, g->to_n));
    fill(g, r);
    weft_status status = take(g, room(g, g->from_n), &g->from);
    if (status == WEFT_OK)
        status = take(g, room(g, g->to_n), &g->to);
    memset(g->out[0], 0x5a, room(g, g->from_n < g->to_n ? g->from_n : g->to_n));
    /* what an in-place result is compared with behind its end */
    if (status == WEFT_OK && g->t->in_place)
        status = move(g, g->from, g->out[0], room(g, g->from_n));
    return status;
}

static weft_status try_trial(weft_context *rank, const trial *t, test_random *r) {
    rig g = {.rank = rank, .t = t};
    weft_status status = wi_agree(rank, 0, open_rig(&g, r));
    for (int by_mail = 0; by_mail < 2; by_mail++)
        status = status == WEFT_OK ? run(&g, by_mail) : status;
    const bool same = status != WEFT_OK || memcmp(g.out[0], g.out[1], room(&g, g.to_n)) == 0;
    if (!same)
        status = wi_fail(rank, WEFT_EDEVICE, "step %d of %zu elements of %s: other bits",
                         (int)t->kind, t->n, weft_type_name(t->type));
    give(&g, g.from);
    give(&g, g.to);
    free(g.data);
    free(g.out[0]);
    free(g.out[1]);
    return wi_agree(rank, 0, status);
}

/* ---- the place ---- */

static weft_context *open_with(const char *wish) {
    weft_context *ctx;
    setenv("WEFT_MAILBOX", wish, 1);
    const weft_status status = weft_open(&ctx, TEST_GPU "s");
    unsetenv("WEFT_MAILBOX");
    if (status == WEFT_OK && wi_gpus_count(ctx) > 1)
        return ctx;
    weft_close(status == WEFT_OK ? ctx : NULL);
    return NULL;
}

static bool reaches(weft_context *ctx) {
    const char *why;
    return wi_dealt_reaches(wi_gpus_dealt(ctx), &why);
}

static void run_all(weft_context *ctx, weft_status (*work)(weft_context *, void *), void *user) {
    if (wi_gpus_run(ctx, NULL, "test", work, user) != WEFT_OK)
        fail_msg("%s", weft_message(ctx));
}

/* The same on a context of its own, where mailboxes are to be had. */
static void run_by_mail(weft_status (*work)(weft_context *, void *)) {
    weft_context *const ctx = open_with("on");
    if (!ctx)
        skip();
    if (reaches(ctx))
        run_all(ctx, work, NULL);
    weft_close(ctx);
}

/* ---- steps ---- */

static const wi_comm_kind kinds[] = {
    WI_COMM_ALL_REDUCE, WI_COMM_ALL_GATHER,   WI_COMM_REDUCE_SCATTER, WI_COMM_REDUCE,
    WI_COMM_BROADCAST,  WI_COMM_ALL_GATHER_V, WI_COMM_ALL_TO_ALL_V};
enum {
    KINDS = sizeof kinds / sizeof *kinds
};

static bool has_counts(wi_comm_kind kind) {
    return kind == WI_COMM_ALL_GATHER_V || kind == WI_COMM_ALL_TO_ALL_V;
}

static bool combines(wi_comm_kind kind) {
    return kind == WI_COMM_ALL_REDUCE || kind == WI_COMM_REDUCE_SCATTER || kind == WI_COMM_REDUCE;
}

/* A step of that kind whose size is the k-th of a list: none, one, a few, around a vector and the
 * share of a block, at the limit and beyond it. */
static trial draw(test_random *r, wi_comm_kind kind, size_t k) {
    static const weft_type reduced[] = {WEFT_F32, WEFT_F64, WEFT_I8,  WEFT_U8,  WEFT_I16,
                                        WEFT_U16, WEFT_I32, WEFT_U32, WEFT_I64, WEFT_U64};
    const bool sums = combines(kind);
    const weft_type type = sums ? reduced[test_below(r, 10)] : (weft_type)test_below(r, 12);
    const bool floats = type == WEFT_F32 || type == WEFT_F64;
    const size_t size = weft_type_size(type), most = WI_MAIL_SLOT / size,
                 block = (size_t)WI_MAIL_THREADS * WI_MAIL_VECTOR / size;
    const size_t sizes[] = {0,    1,       3 + test_below(r, 40), block - 1, block + 1, most - 3,
                            most, most + 1};
    const size_t count = sizeof sizes / sizeof *sizes;
    trial t = {.kind = kind,
               .type = type,
               .op = floats || !sums ? WEFT_SUM : (weft_op)test_below(r, WEFT_XOR + 1),
               .n = k < count ? sizes[k] : test_below(r, most + 1),
               .shift = test_below(r, 2) ? test_below(r, 4) : 0,
               .in_place = kind == WI_COMM_ALL_REDUCE && test_below(r, 2),
               .on_host = -1,
               .uneven = (int)test_below(r, 4)};
    /* with counts, whether any is beyond the limit depends on the ranks: none here is */
    t.n = has_counts(kind) && t.n > most ? most : t.n;
    t.by = has_counts(kind) || (t.n > 0 && t.n <= most) ? "mailbox" : NULL;
    return t;
}

enum {
    SIZES = 9
};

static weft_status try_all(weft_context *rank, void *user) {
    const bool *const reach = user;
    test_random r = test_random_at(310), own = test_random_at(400 + (uint64_t)rank->comm->rank);
    weft_status status = WEFT_OK;
    for (size_t k = 0; k < KINDS * SIZES && status == WEFT_OK; k++) {
        trial t = draw(&r, kinds[k % KINDS], k / KINDS);
        t.by = *reach ? t.by : NULL;
        status = try_trial(rank, &t, &own);
    }
    return status;
}

static void test_steps(void **state) {
    (void)state;
    weft_context *const ctx = open_with("on");
    if (!ctx)
        skip();
    bool reach = reaches(ctx);
    run_all(ctx, try_all, &reach);
    const char *const about = wi_comm_mailbox_about(wi_gpus_rank(ctx, 1));
    assert_non_null(strstr(about, reach ? "as WEFT_MAILBOX says" : "cannot reach"));
    weft_close(ctx);
}

/* Many steps of different sizes on the same arrays, with nothing between them. */
static weft_status step_on(weft_context *rank, void *user) {
    enum {
        N = 700
    };
    uint32_t x[N], y[N];
    void *near = NULL;
    weft_status status = wi_dist_take_near(rank, N, 4, &near);
    (void)user;
    for (size_t i = 0; i < N; i++)
        x[i] = y[i] = (uint32_t)(i + 1);
    if (status == WEFT_OK)
        status = wi_local(rank, weft_copy(rank->child, near, x, sizeof x));
    status = wi_agree(rank, 0, status);
    for (size_t k = 0; k < MANY && status == WEFT_OK; k++) {
        const size_t n = k % 3 == 0 ? N : k % 3 == 1 ? 5 : N / 2;
        status = rank->comm->calls->all_reduce(rank, near, near, n, WEFT_U32, WEFT_SUM);
        if (status == WEFT_OK && strcmp(rank->comm->carried, "mailbox") != 0)
            status = wi_fail(rank, WEFT_EDEVICE, "step %zu went by %s", k, rank->comm->carried);
        for (size_t i = 0; i < n; i++)
            y[i] *= (uint32_t)rank->comm->size;
    }
    if (status == WEFT_OK)
        status = wi_local(rank, weft_copy(rank->child, x, near, sizeof x));
    if (status == WEFT_OK && memcmp(x, y, sizeof x) != 0)
        status = wi_fail(rank, WEFT_EDEVICE, "after %d steps the sums are wrong", (int)MANY);
    wi_dist_give_near(rank, near);
    return wi_agree(rank, 0, status);
}

static void test_many(void **state) {
    (void)state;
    run_by_mail(step_on);
}

/* Steps in which one rank alone has its arrays in host memory, or more than fits, go below on all;
 * those between them do not. */
static weft_status try_apart(weft_context *rank, void *user) {
    test_random r = test_random_at(311), own = test_random_at(500 + (uint64_t)rank->comm->rank);
    const int ranks = rank->comm->size;
    weft_status status = WEFT_OK;
    (void)user;
    for (size_t k = 0; k < 2 * KINDS && status == WEFT_OK; k++) {
        trial t = draw(&r, kinds[k % KINDS], 2);
        if (k % 2 == 0) {
            t.on_host = (int)test_below(&r, (uint64_t)ranks);
            t.by = NULL;
        }
        status = try_trial(rank, &t, &own);
    }
    trial large = draw(&r, WI_COMM_ALL_TO_ALL_V, 6);
    large.n += 1; /* some are a third of this, or nothing */
    large.by = NULL;
    large.uneven = 3;
    return status == WEFT_OK ? try_trial(rank, &large, &own) : status;
}

static void test_apart(void **state) {
    (void)state;
    run_by_mail(try_apart);
}

/* A step of GPU memory and one of host memory in turn, one right after the other: a rank that has
 * ended the first declines the second while others still wait for the first, which must not give it
 * up for that. */
static weft_status take_turns(weft_context *rank, void *user) {
#ifdef WEFT_EMU
    const uint64_t turns = 40;
#else
    const uint64_t turns = 4000;
#endif
    const wi_comm_table *const calls = rank->comm->calls;
    const uint64_t ranks = (uint64_t)rank->comm->size, own = (uint64_t)rank->comm->rank;
    uint64_t *x = NULL, sum = 0;
    (void)user;
    weft_status status = wi_local(rank, weft_alloc(rank->child, (void **)&x, 2 * sizeof *x));
    if (status == WEFT_OK)
        status = wi_local(rank, weft_copy(rank->child, x, &own, sizeof own));
    for (uint64_t k = 0; k < turns && status == WEFT_OK; k++) {
        const uint64_t sent = k + own;
        status = calls->all_reduce(rank, x, x + 1, 1, WEFT_U64, WEFT_SUM);
        if (status == WEFT_OK)
            status = calls->all_reduce(rank, &sent, &sum, 1, WEFT_U64, WEFT_SUM);
        if (status == WEFT_OK && sum != ranks * k + ranks * (ranks - 1) / 2)
            status = wi_fail(rank, WEFT_ECOMM, "turn %zu: %zu", (size_t)k, (size_t)sum);
    }
    if (status == WEFT_OK)
        status = wi_local(rank, weft_copy(rank->child, &sum, x + 1, sizeof sum));
    if (status == WEFT_OK)
        status = wi_local(rank, weft_sync(rank->child));
    if (status == WEFT_OK && sum != ranks * (ranks - 1) / 2)
        status = wi_fail(rank, WEFT_ECOMM, "by mailboxes: %zu", (size_t)sum);
    weft_free(rank->child, x);
    return status;
}

static void test_turns(void **state) {
    (void)state;
    run_by_mail(take_turns);
}

/* ---- the choice ---- */

static weft_status measure(weft_context *rank, void *user) {
    const char *const *const by = user; /* without being asked, and asked */
    weft_status status = WEFT_OK;
    for (int k = 0; k < 2 * (WI_STEP_KINDS - WI_STEP_ALL_REDUCE) && status == WEFT_OK; k++) {
        const wi_step step = {.kind = (wi_step_kind)(WI_STEP_ALL_REDUCE + k / 2),
                              .bytes = 1200,
                              .samples = 2,
                              .device = {true, true},
                              .by_mail = k % 2};
        wi_step_rate rate;
        status = wi_step_measure(rank, &step, &rate);
        if (status == WEFT_OK && !(rate.right && strcmp(rate.transport, by[k % 2]) == 0))
            status =
                wi_fail(rank, WEFT_EDEVICE, "%s went by %s, and is %s", wi_step_name(step.kind),
                        rate.transport, rate.right ? "right" : "wrong");
    }
    return status;
}

static void test_choice(void **state) {
    static const struct {
        const char *wish, *by[2], *about;
    } cases[] = {{"", {"peer", "mailbox"}, "only where"},
                 {"on", {"mailbox", "mailbox"}, "says"},
                 {"off", {"peer", "peer"}, ""}};
    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        weft_context *const ctx = open_with(cases[k].wish);
        if (!ctx)
            skip();
        if (reaches(ctx)) {
            const char *by[2] = {cases[k].by[0], cases[k].by[1]};
            run_all(ctx, measure, by);
            assert_non_null(strstr(wi_comm_mailbox_about(wi_gpus_rank(ctx, 0)), cases[k].about));
        }
        weft_close(ctx);
    }
}

/* ---- failures ---- */

/* The last rank fails alone, and tells, or just ends its part; the others wait for its kernel. */
static weft_status leave_last(weft_context *rank, void *user) {
    const wi_comm *const comm = rank->comm;
    const bool *const tells = user;
    void *near = NULL;
    uint32_t x[8] = {0};
    weft_status status = wi_dist_take_near(rank, 8, 4, &near);
    if (status == WEFT_OK)
        status = wi_local(rank, weft_copy(rank->child, near, x, sizeof x));
    status = wi_agree(rank, 0, status);
    const bool leaves = status == WEFT_OK && comm->rank == comm->size - 1;
    if (leaves)
        status = wi_fail(rank, WEFT_ENOMEM, "test: nothing left");
    else if (status == WEFT_OK)
        status = comm->calls->all_reduce(rank, near, near, 8, WEFT_U32, WEFT_SUM);
    if (leaves && *tells)
        status = comm->calls->look(rank, status);
    if (!leaves || *tells)
        status = wi_agree(rank, 0, status);
    wi_dist_give_near(rank, near);
    return status;
}

static void test_leaving(void **state) {
    (void)state;
    weft_context *const ctx = open_with("on");
    if (!ctx)
        skip();
    for (int k = 0; k < 4; k++) {
        bool tells = k % 2;
        test_refused(ctx, wi_gpus_run(ctx, NULL, "test", leave_last, &tells), WEFT_ENOMEM, "test",
                     "nothing left");
        if (reaches(ctx))
            run_all(ctx, step_on, NULL);
    }
    weft_close(ctx);
}

#ifdef WEFT_EMU
/* A launch that is refused on one rank, whichever comes first: the step goes below. */
static weft_status refuse_one(weft_context *rank, void *user) {
    test_random r = test_random_at(312), own = test_random_at(600 + (uint64_t)rank->comm->rank);
    trial t = draw(&r, WI_COMM_ALL_REDUCE, 2);
    (void)user;
    t.by = NULL;
    weft_status status = rank->comm->calls->barrier(rank);
    if (status == WEFT_OK && rank->comm->rank == 0)
        emu_plant(EMU_AT_LAUNCH, cudaErrorMemoryAllocation, 0);
    if (status == WEFT_OK)
        status = rank->comm->calls->barrier(rank);
    return status == WEFT_OK ? try_trial(rank, &t, &own) : status;
}

/* A kernel that fails while others wait for it. */
static weft_status break_one(weft_context *rank, void *user) {
    test_random r = test_random_at(313), own = test_random_at(700 + (uint64_t)rank->comm->rank);
    const trial t = draw(&r, WI_COMM_ALL_REDUCE, 2);
    (void)user;
    weft_status status = rank->comm->calls->barrier(rank);
    if (status == WEFT_OK && rank->comm->rank == 0)
        emu_plant(EMU_IN_KERNEL, cudaErrorIllegalAddress, 0);
    if (status == WEFT_OK)
        status = rank->comm->calls->barrier(rank);
    return status == WEFT_OK ? try_trial(rank, &t, &own) : status;
}
#endif

static void test_faults(void **state) {
    (void)state;
#ifdef WEFT_EMU
    weft_context *ctx = open_with("on");
    if (!ctx)
        skip();
    if (reaches(ctx)) {
        run_all(ctx, step_on, NULL);
        run_all(ctx, refuse_one, NULL);
        run_all(ctx, step_on, NULL);
        assert_int_not_equal(wi_gpus_run(ctx, NULL, "test", break_one, NULL), WEFT_OK);
    }
    weft_close(ctx);
    emu_replace_device();
    ctx = open_with("on");
    size_t left, all;
    cudaMemGetInfo(&left, &all);
    emu_set_memory(all - left + 3 * WI_MAIL_SLOT); /* not enough for a mailbox */
    bool reach = false;
    run_all(ctx, measure, (const char *[]){"peer", "peer"});
    emu_set_memory(0);
    if (reaches(ctx))
        assert_non_null(strstr(wi_comm_mailbox_about(wi_gpus_rank(ctx, 0)), "memory"));
    run_all(ctx, try_all, &reach);
    weft_close(ctx);
#else
    skip();
#endif
}

int main(void) {
    setenv("WEFT_NCCL", "off", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steps),  cmocka_unit_test(test_many),
        cmocka_unit_test(test_apart),  cmocka_unit_test(test_turns),
        cmocka_unit_test(test_choice), cmocka_unit_test(test_leaving),
        cmocka_unit_test(test_faults),
    };
    return cmocka_run_group_tests_name("mailbox", tests, NULL, NULL);
}
