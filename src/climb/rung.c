/* SPDX-License-Identifier: Apache-2.0 */
/* Runs one rung of a ladder at the largest n that it can do in a reasonable time. */
#include "climb/rung.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    FIRST_N = 1024, /* where the search for n begins */
    GROWTH = 4
};

/* The problem in the pool that is cheapest to make again: the smallest. */
static size_t smallest(const wi_pool *pool) {
    size_t found = 0;
    for (size_t k = 1; k < pool->count; k++) {
        if (pool->made[k].n < pool->made[found].n)
            found = k;
    }
    return found;
}

weft_status wi_pool_get(wi_pool *pool, size_t n, void **problem) {
    for (size_t k = 0; k < pool->count; k++) {
        if (pool->made[k].n == n) {
            *problem = pool->made[k].problem;
            return WEFT_OK;
        }
    }
    if (pool->count == WI_MOST_PROBLEMS) {
        const size_t old = smallest(pool);
        pool->climb->drop(pool->made[old].problem);
        pool->made[old] = pool->made[--pool->count];
    }
    wi_setup setup = pool->setup;
    setup.n = n;
    const weft_status status = pool->climb->make(&setup, problem);
    if (status != WEFT_OK)
        return status;
    pool->made[pool->count].n = n;
    pool->made[pool->count++].problem = *problem;
    return WEFT_OK;
}

void wi_pool_drop(wi_pool *pool) {
    for (size_t k = 0; k < pool->count; k++)
        pool->climb->drop(pool->made[k].problem);
    pool->count = 0;
}

/* Where the search for n begins. */
static size_t first_n(const wi_climb *climb, size_t n) {
    const size_t first = climb->first_n ? climb->first_n : FIRST_N;
    return n > first ? first : n;
}

weft_status wi_pool_describe(wi_pool *pool, size_t n, wi_facts *facts) {
    void *problem;
    const weft_status status = wi_pool_get(pool, first_n(pool->climb, n), &problem);
    if (status == WEFT_OK)
        pool->climb->describe(problem, NULL, facts);
    return status;
}

/* A call of the pool's climb, to be timed. The bytes it touches are those of the problem, whatever
 * the rung: several passes over cached data do not push it out of the cache. */
static wi_timed timed_call(const wi_pool *pool, void *problem) {
    wi_facts facts;
    pool->climb->describe(problem, NULL, &facts);
    return (wi_timed){pool->climb->call, problem, facts.bytes, facts.on_host};
}

/* The state of the search for n. */
typedef struct search {
    wi_pool *pool;
    const wi_meter *meter;
    size_t n;        /* the largest that worked; 0: none yet */
    double seconds;  /* of one call there */
    size_t n_before; /* the same, one step earlier */
    double seconds_before;
    double exponent; /* the time grows like n to this power */
} search;

/* Tries n elements; if they work they are the largest found. */
static weft_status try_n(search *s, size_t n) {
    void *problem;
    double seconds;
    weft_status status = wi_pool_get(s->pool, n, &problem);
    if (status != WEFT_OK)
        return status;
    const wi_timed timed = timed_call(s->pool, problem);
    status = wi_meter_once(s->meter, &timed, &seconds);
    /* a first call may load kernels, start threads and touch new pages */
    if (status == WEFT_OK && seconds < WI_LONGEST_CALL_SECONDS / 2)
        status = wi_meter_once(s->meter, &timed, &seconds);
    if (status != WEFT_OK)
        return status;
    /* Estimated over two steps, so that one disturbed call does not make a linear rung look
     * quadratic. */
    const double most = s->pool->climb->has_extents ? 3 : 2;
    s->exponent = most;
    if (s->n_before > 0)
        s->exponent = log(seconds / s->seconds_before) / log((double)n / (double)s->n_before);
    s->exponent = !(s->exponent > 1) ? 1 : s->exponent > most ? most : s->exponent;
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

/* Does this status mean "not with so many elements"? Then it becomes the reason why n is limited.
 */
static bool is_limit(const weft_context *ctx, weft_status status, wi_rung *rung) {
    if (status != WEFT_EUNSUPPORTED && status != WEFT_ENOMEM)
        return false;
    rung->limit = status == WEFT_ENOMEM ? WI_LIMIT_MEMORY : WI_LIMIT_MISFIT;
    snprintf(rung->why, sizeof rung->why, "%s", weft_message(ctx));
    return true;
}

/* Finds a first n that works, going down from `n`. */
static weft_status find_first(search *s, size_t n, wi_rung *rung) {
    for (; n > 0; n /= 2) {
        const weft_status status = try_n(s, n);
        if (status == WEFT_OK || !is_limit(s->pool->setup.ctx, status, rung))
            return status;
    }
    return WEFT_OK;
}

/* Increases n towards `full`, in smaller steps after something did not work. */
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
            if (!is_limit(s->pool->setup.ctx, status, rung))
                return status;
            step /= 2;
        }
    }
    if (s->n == full)
        rung->limit = WI_LIMIT_NONE;
    return WEFT_OK;
}

/* Checks the result, and that the right rung ran. */
static bool check(const wi_pool *pool, void *problem, const wi_row *row, wi_rung *rung) {
    if (!pool->climb->check(problem, rung->why, sizeof rung->why))
        return false;
    const char *const used = weft_used(pool->setup.ctx, pool->climb->ladder->op);
    pool->climb->describe(problem, used, &rung->facts);
    if (!row || (used && strcmp(used, row->name) == 0))
        return true;
    snprintf(rung->why, sizeof rung->why, "variant %s ran instead", used ? used : "none");
    return false;
}

/* The rung that is in use, at n elements. */
static weft_status find_error(const wi_pool *pool, size_t n, double *ulps) {
    wi_setup setup = pool->setup;
    setup.n = n;
    return pool->climb->error(&setup, ulps);
}

/* Checks and times the call of rung->n elements, and finds its merits or else its roof, and its
 * error. */
static weft_status measure(wi_pool *pool, const wi_meter *meter, bool with_roof, wi_rung *rung) {
    const wi_climb *const climb = pool->climb;
    void *problem;
    weft_status status = wi_pool_get(pool, rung->n, &problem);
    if (status != WEFT_OK)
        return status;
    const wi_timed timed = timed_call(pool, problem);
    rung->ok = check(pool, problem, rung->row, rung);
    if (!rung->ok)
        return WEFT_OK;
    if (climb->merits)
        status = climb->merits->find(problem, rung->merit);
    else if (with_roof)
        status = wi_roof_measure(meter, rung->facts.roof, &rung->roof);
    rung->error = -1;
    if (status == WEFT_OK && with_roof && climb->error && wi_type_is_float(pool->setup.type))
        status = find_error(pool, rung->n, &rung->error);
    return status == WEFT_OK ? wi_meter_time(meter, &timed, &rung->seconds) : status;
}

weft_status wi_rung_run(wi_pool *pool, const wi_meter *meter, const wi_row *row, size_t n,
                        wi_rung *rung) {
    search s = {.pool = pool, .meter = meter};
    *rung = (wi_rung){.row = row, .limit = WI_LIMIT_NONE};
    const char *const op = pool->climb->ladder->op;
    weft_status status = weft_use(pool->setup.ctx, op, row ? row->name : NULL);
    if (status == WEFT_OK)
        status = find_first(&s, row ? first_n(pool->climb, n) : n, rung);
    if (status == WEFT_OK && s.n > 0)
        status = grow(&s, n, rung);
    rung->n = s.n;
    if (status == WEFT_OK && s.n > 0)
        status = measure(pool, meter, true, rung);
    return status;
}

/* The rung at n elements: as measured already, or measured now; its time is 0 if it cannot do that.
 */
static weft_status at_size(wi_pool *pool, const wi_meter *meter, const wi_rung *rung, size_t n,
                           wi_rung *there) {
    void *problem;
    if (rung->n == n) {
        *there = *rung;
        return WEFT_OK;
    }
    *there = (wi_rung){.row = rung->row, .n = n, .ok = true};
    weft_status status = weft_use(pool->setup.ctx, pool->climb->ladder->op, rung->row->name);
    if (status == WEFT_OK)
        status = wi_pool_get(pool, n, &problem);
    if (status == WEFT_OK)
        status = pool->climb->call(problem);
    if (status == WEFT_OK)
        return measure(pool, meter, false, there);
    return is_limit(pool->setup.ctx, status, there) ? WEFT_OK : status;
}

weft_status wi_rung_compare(wi_pool *pool, const wi_meter *meter, wi_rung *rung,
                            const wi_rung *earlier, double *times) {
    const bool by_merit = pool->climb->merits != NULL;
    wi_rung a, b;
    *times = 0;
    if (!earlier || !(rung->seconds > 0) || !(earlier->seconds > 0))
        return WEFT_OK;
    const size_t n = rung->n < earlier->n ? rung->n : earlier->n;
    weft_status status = at_size(pool, meter, rung, n, &a);
    if (status == WEFT_OK)
        status = at_size(pool, meter, earlier, n, &b);
    if (status != WEFT_OK)
        return status;
    if (!a.ok) {
        rung->ok = false;
        rung->seconds = 0;
        rung->n = n;
        memcpy(rung->why, a.why, sizeof rung->why);
    }
    if (a.seconds > 0 && b.seconds > 0)
        *times = by_merit ? b.merit[WI_MERITS - 1] / a.merit[WI_MERITS - 1] : b.seconds / a.seconds;
    return WEFT_OK;
}

double wi_rung_rate(const wi_rung *rung) {
    return rung->seconds > 0 ? wi_work_of(&rung->facts) / rung->seconds : 0;
}

size_t wi_usual_n(const wi_climb *climb, const weft_context *ctx, weft_type type) {
    enum {
        ARRAYS = 8 /* three, their host copies, and some for the smaller n */
    };
    const size_t memory = wi_memory_bytes();
    if (climb->usual_n)
        return climb->usual_n;
    size_t n = ctx->kind == WI_CUDA ? (size_t)1 << 28 : (size_t)1 << 26;
    while (memory && n > FIRST_N && ARRAYS * n * weft_type_size(type) > memory / 2)
        n /= 2;
    return n;
}

bool wi_has_rungs(const wi_ladder *ladder, wi_kind kind) {
    for (size_t k = 0; k < ladder->count; k++) {
        if (ladder->rows[k].kinds >> kind & 1)
            return true;
    }
    return false;
}
