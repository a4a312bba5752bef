/* SPDX-License-Identifier: Apache-2.0 */
/* Runs one rung of a ladder at the largest n that it can do in reasonable time. */
#include "cli/rung.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/machine.h"

enum {
    FIRST_N = 1024, /* the search for n begins here */
    GROWTH = 4
};

/* The case in the pool that is cheapest to make again. */
static wi_case *smallest(wi_pool *pool) {
    wi_case *found = &pool->cases[0];
    for (size_t k = 1; k < pool->count; k++) {
        if (pool->cases[k].n < found->n)
            found = &pool->cases[k];
    }
    return found;
}

weft_status wi_pool_get(wi_pool *pool, size_t n, wi_case **c) {
    for (size_t k = 0; k < pool->count; k++) {
        if (pool->cases[k].n == n) {
            *c = &pool->cases[k];
            return WEFT_OK;
        }
    }
    if (pool->count == WI_MOST_CASES) {
        wi_case *const old = smallest(pool);
        pool->climb->drop(old);
        *old = pool->cases[--pool->count];
    }
    wi_case *const made = &pool->cases[pool->count];
    *made = (wi_case){.ctx = pool->ctx, .type = pool->type, .n = n, .seed = pool->seed};
    const weft_status status = pool->climb->make(made);
    if (status != WEFT_OK)
        return status;
    pool->count++;
    *c = made;
    return WEFT_OK;
}

void wi_pool_drop(wi_pool *pool) {
    for (size_t k = 0; k < pool->count; k++)
        pool->climb->drop(&pool->cases[k]);
    pool->count = 0;
}

/* A call of a climb on a case, as something to time. */
typedef struct call {
    const wi_climb *climb;
    wi_case *c;
} call;

static weft_status run_call(void *user) {
    const call *const own = user;
    return own->climb->call(own->c);
}

static wi_task task_of(call *own) {
    return (wi_task){run_call, own, own->climb->bytes(own->c), own->climb->roof == WI_ROOF_LINK};
}

/* The search for n. */
typedef struct search {
    wi_pool *pool;
    const wi_meter *meter;
    size_t n;        /* the largest found to work; 0: none yet */
    double seconds;  /* of one call there */
    size_t n_before; /* the same one step earlier */
    double seconds_before;
    double exponent; /* how seconds grow with n */
} search;

/* Tries n elements; on success they are the largest found. */
static weft_status try_n(search *s, size_t n) {
    call own = {s->pool->climb, NULL};
    double seconds;
    weft_status status = wi_pool_get(s->pool, n, &own.c);
    if (status != WEFT_OK)
        return status;
    const wi_task task = task_of(&own);
    status = wi_meter_once(s->meter, &task, &seconds);
    /* a first call may load kernels, start threads and touch new pages */
    if (status == WEFT_OK && seconds < WI_LONGEST_CALL_SECONDS / 2)
        status = wi_meter_once(s->meter, &task, &seconds);
    if (status != WEFT_OK)
        return status;
    /* over two steps, so that one disturbed call does not make a linear rung look quadratic */
    s->exponent = 2;
    if (s->n_before > 0)
        s->exponent = log(seconds / s->seconds_before) / log((double)n / (double)s->n_before);
    s->exponent = !(s->exponent > 1) ? 1 : s->exponent > 2 ? 2 : s->exponent;
    s->n_before = s->n;
    s->seconds_before = s->seconds;
    s->n = n;
    s->seconds = seconds;
    return WEFT_OK;
}

/* Would n elements probably take too long? */
static bool too_slow(const search *s, size_t n) {
    const double growth = pow((double)n / (double)s->n, s->exponent);
    return s->seconds * growth > WI_LONGEST_CALL_SECONDS;
}

/* A status that means "not with this many elements", kept as the reason why n is limited. */
static bool is_limit(const weft_context *ctx, weft_status status, wi_rung *rung) {
    if (status != WEFT_EUNSUPPORTED && status != WEFT_ENOMEM)
        return false;
    rung->limit = status == WEFT_ENOMEM ? WI_LIMIT_MEMORY : WI_LIMIT_MISFIT;
    snprintf(rung->why, sizeof rung->why, "%s", weft_message(ctx));
    return true;
}

/* Finds a first n that works, from `n` downwards. */
static weft_status find_first(search *s, size_t n, wi_rung *rung) {
    for (; n > 0; n /= 2) {
        const weft_status status = try_n(s, n);
        if (status == WEFT_OK || !is_limit(s->pool->ctx, status, rung))
            return status;
    }
    return WEFT_OK;
}

/* Grows n towards `full`; by smaller steps once something stands in the way. */
static weft_status grow(search *s, size_t full, wi_rung *rung) {
    size_t step = rung->limit == WI_LIMIT_NONE ? GROWTH : 1;
    while (s->n < full && step > 1) {
        const size_t next = full / step < s->n ? full : s->n * step;
        if (too_slow(s, next)) {
            rung->limit = WI_LIMIT_SLOW;
            step /= 2;
            continue;
        }
        const weft_status status = try_n(s, next);
        if (status != WEFT_OK) {
            if (!is_limit(s->pool->ctx, status, rung))
                return status;
            step /= 2;
        }
    }
    if (s->n == full)
        rung->limit = WI_LIMIT_NONE;
    return WEFT_OK;
}

/* Checks the result at the n found, and that it came from the row asked for. */
static bool check(wi_pool *pool, wi_case *c, const wi_row *row, wi_rung *rung) {
    if (!pool->climb->check(c, rung->why, sizeof rung->why))
        return false;
    const char *const used = weft_used(pool->ctx, pool->climb->ladder->op);
    if (!row || (used && strcmp(used, row->name) == 0))
        return true;
    snprintf(rung->why, sizeof rung->why, "variant %s ran instead", used ? used : "none");
    return false;
}

static weft_status measure(wi_pool *pool, const wi_meter *meter, const wi_row *row, wi_rung *rung) {
    call own = {pool->climb, NULL};
    weft_status status = wi_pool_get(pool, rung->n, &own.c);
    if (status != WEFT_OK)
        return status;
    const wi_task task = task_of(&own);
    rung->bytes = task.bytes;
    rung->work = pool->climb->flops ? pool->climb->flops(own.c) : task.bytes;
    rung->ok = check(pool, own.c, row, rung);
    if (!rung->ok)
        return WEFT_OK;
    status = pool->climb->merits
                 ? pool->climb->merits->find(own.c, rung->merit)
                 : wi_roof_measure(meter, pool->climb->roof, pool->type, &rung->roof);
    return status == WEFT_OK ? wi_meter_time(meter, &task, &rung->seconds) : status;
}

weft_status wi_rung_run(wi_pool *pool, const wi_meter *meter, const wi_row *row, size_t n,
                        wi_rung *rung) {
    search s = {.pool = pool, .meter = meter};
    *rung = (wi_rung){.row = row, .limit = WI_LIMIT_NONE};
    const char *const op = pool->climb->ladder->op;
    char count[WI_FIELD_BYTES];
    wi_progress("%s: %s, n = %s ...", op, row ? row->name : "best", wi_format_count(n, count));
    weft_status status = weft_use(pool->ctx, op, row ? row->name : NULL);
    if (status == WEFT_OK)
        status = find_first(&s, row && n > FIRST_N ? FIRST_N : n, rung);
    if (status == WEFT_OK && s.n > 0)
        status = grow(&s, n, rung);
    rung->n = s.n;
    if (status == WEFT_OK && s.n > 0)
        status = measure(pool, meter, row, rung);
    wi_progress_end();
    return status;
}

double wi_rung_rate(const wi_rung *rung) {
    return rung->seconds > 0 ? rung->work / rung->seconds : 0;
}

const char *wi_rung_format_rate(const wi_climb *climb, double rate, char out[WI_FIELD_BYTES]) {
    return climb->flops ? wi_format_flops(rate, out) : wi_format_rate(rate, out);
}

void wi_rung_json(wi_json *json, const wi_climb *climb, const wi_rung *rung) {
    const bool timed = rung->seconds > 0;
    wi_json_known(json, "seconds", timed, rung->seconds);
    if (climb->merits) {
        for (size_t k = 0; k < WI_MERITS; k++)
            wi_json_known(json, climb->merits->of[k].key, timed, rung->merit[k]);
        return;
    }
    wi_json_count(json, "bytes", (uint64_t)rung->bytes);
    if (climb->flops)
        wi_json_number(json, "flops", rung->work);
    wi_json_known(json, climb->flops ? "gflops" : "gbps", timed, wi_rung_rate(rung) / 1e9);
    wi_json_string(json, "roof", wi_roof_name(climb->roof));
    wi_json_number(json, climb->flops ? "roof_gflops" : "roof_gbps", timed ? rung->roof / 1e9 : 0);
}

size_t wi_usual_n(const wi_climb *climb, const weft_context *ctx, weft_type type) {
    enum {
        ARRAYS = 8 /* three and their host copies, and as much again for the smaller n */
    };
    wi_cpu_facts facts;
    if (climb->usual_n)
        return climb->usual_n;
    wi_cpu_describe(&facts);
    size_t n = ctx->kind == WI_CUDA ? (size_t)1 << 28 : (size_t)1 << 26;
    while (facts.memory_bytes && n > FIRST_N &&
           ARRAYS * n * weft_type_size(type) > facts.memory_bytes / 2)
        n /= 2;
    return n;
}

bool wi_has_rungs(const wi_ladder *ladder, wi_kind kind) {
    for (size_t k = 0; k < ladder->count; k++) {
        if (ladder->rows[k].kind == kind)
            return true;
    }
    return false;
}
