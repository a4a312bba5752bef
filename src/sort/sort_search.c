/* SPDX-License-Identifier: Apache-2.0 */
/* Calls about arrays in order: is it in order, and where would an element belong? */
#include <math.h>
#include <stdatomic.h>

#include "comm/gpus.h"
#include "cpu/team.h"
#include "reduce/reduce.h"
#include "sort/sort_run.h"
#include "sort/sort_scalar.h"
#include "sort/sort_simd.h"

enum {
    BLOCK = 1024
};

/* ---- is it in order? ---- */

/* The arguments and the result of the threads. */
typedef struct question {
    const wi_sorted_args *args;
    wi_sort_key key;
    size_t pairs;
    _Atomic uint64_t first;
} question;

/* The first of positions first ... end - 1 whose element should come before the one before it. */
static uint64_t first_fall(const wi_sorted_args *a, const wi_sort_key *key, size_t first,
                           size_t end) {
    const wi_sort_simd *simd = WI_OF_ISA(wi_cpu_isa(), wi_sort_simd);
    const size_t size = weft_type_size(a->type);
    uint64_t keys[BLOCK]; /* room for keys of any width */
    for (size_t i = first; i < end; i += BLOCK - 1) {
        const size_t n = end - i < BLOCK - 1 ? end - i + 1 : BLOCK;
        simd->to_keys(key, (unsigned)size, n, (const char *)a->x + (i - 1) * size, keys);
        const wi_sort_range block = {
            .key_bytes = (unsigned)size, .end_bit = 8 * (unsigned)size, .n = n, .keys = keys};
        const size_t fall = simd->first_fall(&block);
        if (fall < n)
            return i - 1 + fall;
    }
    return WEFT_NOWHERE;
}

static void look_at_part(void *user, int rank, int size) {
    question *const q = user;
    const uint64_t own = first_fall(q->args, &q->key, 1 + wi_team_share(q->pairs, rank, size),
                                    1 + wi_team_share(q->pairs, rank + 1, size));
    uint64_t first = atomic_load(&q->first);
    while (own < first && !atomic_compare_exchange_weak(&q->first, &first, own)) {
    }
}

weft_status wi_is_sorted_threads(weft_context *ctx, const void *args) {
    const wi_sorted_args *const a = args;
    question q = {.args = a,
                  .key = wi_sort_key_of(a->type, a->descending),
                  .pairs = a->n > 0 ? a->n - 1 : 0,
                  .first = WEFT_NOWHERE};
    const int team = wi_team_size(ctx, q.pairs, a->n * weft_type_size(a->type));
    wi_team_run(ctx, team, look_at_part, &q);
    *a->position = q.first;
    return WEFT_OK;
}

static const wi_row is_sorted_rows[] = {
    {.name = "threads",
     .what = "every element beside the next, by vectors",
     .kinds = WI_ON_CPU,
     .types = WI_ALL_TYPES,
     .seconds = wi_no_rival,
     .run = wi_is_sorted_threads},
#ifdef WEFT_CUDA
    {.name = "neighbours",
     .what = "every element beside the next, until a fall is known",
     .kinds = WI_ON_CUDA,
     .types = WI_ALL_TYPES,
     .seconds = wi_no_rival,
     .run = wi_is_sorted_neighbours},
#endif
    {.name = "ranks",
     .what = "every rank looks at its part, and at the end of the one before",
     .kinds = WI_ON_CPU | WI_ON_CUDA,
     .scope = WI_DISTRIBUTED,
     .types = WI_ALL_TYPES,
     .seconds = wi_no_rival,
     .run = wi_is_sorted_ranks},
};

const wi_ladder wi_is_sorted_ladder = {"is_sorted", is_sorted_rows,
                                       sizeof is_sorted_rows / sizeof is_sorted_rows[0]};

static weft_status run_sorted(weft_context *ctx, wi_call *call, const wi_part *part, void *user) {
    wi_sorted_args args = *(const wi_sorted_args *)user;
    args.x = part->p[0];
    args.position = part->p[1];
    return wi_run(ctx, &wi_is_sorted_ladder, call->name, args.type, &args);
}

/* On a place of several GPUs: all ranks get the position, and the first gives it to the caller. */
static weft_status run_sorted_share(weft_context *rank, void *user) {
    const wi_sorted_args *const a = user;
    const size_t size = weft_type_size(a->type);
    const wi_share share = wi_gpus_share(rank, a->x, a->n, size);
    uint64_t unused;
    return weft_is_sorted(rank, a->descending ? WEFT_DESCENDING : WEFT_ASCENDING, a->type, share.n,
                          wi_share_of(a->x, share, size),
                          weft_rank(rank) == 0 ? a->position : &unused);
}

weft_status weft_is_sorted(weft_context *ctx, weft_order order, weft_type type, size_t n,
                           const void *x, uint64_t *position) {
    static const char name[] = "weft_is_sorted";
    wi_sorted_args args = {.call = name,
                           .type = type,
                           .descending = order == WEFT_DESCENDING,
                           .n = n,
                           .x = x,
                           .position = position};
    wi_call call = {.name = name, .count = 2, .distributed = true};
    weft_status status = wi_sort_check_keys(ctx, name, order, type);
    if (status == WEFT_OK) {
        call.array[0] = wi_elements("x", x, n, type, WI_IN | WI_STRIDED);
        call.array[1] = wi_elements("position", position, 1, WEFT_U64, WI_OUT);
        status = wi_call_check(ctx, &call);
    }
    if (status == WEFT_OK && wi_gpus_wanted(ctx, &wi_is_sorted_ladder, x, n, weft_type_size(type)))
        return wi_gpus_run(ctx, &wi_is_sorted_ladder, name, run_sorted_share, &args);
    if (wi_is_dist(ctx))
        return wi_dist_run(ctx, &wi_is_sorted_ladder, name, type, wi_alike(0, order), status,
                           &(wi_dist_args){&call, &args});
    return status == WEFT_OK ? wi_call_run(ctx, &call, run_sorted, &args) : status;
}

/* ---- where does it belong? ---- */

/* How many elements of x come before the wanted key; with `upper`, or equal it. */
static uint64_t bound_of(const wi_search_args *a, const wi_sort_key *key, size_t size,
                         uint64_t wanted) {
    size_t first = 0, n = a->n;
    while (n > 0) {
        const size_t half = n / 2;
        const uint64_t own = wi_sort_key_at(key, size, a->x, first + half);
        const bool before = a->upper ? own <= wanted : own < wanted;
        first = before ? first + half + 1 : first;
        n = before ? n - half - 1 : half;
    }
    return first;
}

static void search_part(void *user, int rank, int team) {
    const wi_search_args *const a = user;
    const wi_sort_key key = wi_sort_key_of(a->type, a->descending);
    const size_t size = weft_type_size(a->type), end = wi_team_share(a->m, rank + 1, team);
    for (size_t j = wi_team_share(a->m, rank, team); j < end; j++)
        a->positions[j] = bound_of(a, &key, size, wi_sort_key_at(&key, size, a->wanted, j));
}

weft_status wi_search_threads(weft_context *ctx, const void *args) {
    wi_search_args a = *(const wi_search_args *)args;
    /* One search takes about as long as reading some hundred bytes. */
    const int team = wi_team_size(ctx, a.m, a.m > SIZE_MAX / 128 ? SIZE_MAX : a.m * 128);
    wi_team_run(ctx, team, search_part, &a);
    return WEFT_OK;
}

#ifdef WEFT_CUDA
static const char *fits_index(const weft_context *ctx, const void *args) {
    const wi_search_args *const a = args;
    const size_t size = weft_type_size(a->type);
    (void)ctx;
    if (size != 4 && size != 8)
        return "needs elements of 4 or 8 bytes: others have so few values that bisections share "
               "their way";
    if (a->n == 0)
        return "needs elements of which to make an index";
    return a->n / 32 > UINT32_MAX ? "needs n < 2^37: it counts every 32nd element in u32" : NULL;
}

/* ---- costs, of an H200: README.md has the figures ---- */

/* Of so many reads that wait for each other, each of which takes all wanted elements some time. */
static double reading_seconds(size_t m, double reads, double read_s) {
    const double latency = 6e-7;
    return reads * (latency + (double)m * read_s);
}

static double bisect_seconds(const weft_context *ctx, const void *args) {
    const wi_search_args *const a = args;
    const wi_machine *const m = wi_machine_of(ctx);
    const bool cached = a->n * weft_type_size(a->type) <= m->cache_bytes;
    return m->launch_s + reading_seconds(a->m, log2((double)a->n + 1), cached ? 6e-12 : 12e-12);
}

static double index_seconds(const weft_context *ctx, const void *args) {
    const wi_search_args *const a = args;
    const wi_machine *const m = wi_machine_of(ctx);
    const double strides = (double)a->n / 32, made = 64 * strides; /* bytes read for a key */
    const double levels = strides > 4096 ? log2(strides / 4096) / 3 : 0;
    const double begin = 5 * m->launch_s; /* two kernels, and memory is taken and given back */
    const bool cached = a->n * weft_type_size(a->type) <= m->cache_bytes;
    return begin + made / m->bytes_per_s +
           reading_seconds(a->m, 6 + levels, cached ? 10e-12 : 20e-12);
}
#endif

static const wi_row search_rows[] = {
    {.name = "threads",
     .what = "a bisection for each",
     .kinds = WI_ON_CPU,
     .types = WI_ALL_TYPES,
     .seconds = wi_no_rival,
     .run = wi_search_threads},
#ifdef WEFT_CUDA
    {.name = "bisect",
     .what = "a bisection for each, one a thread",
     .kinds = WI_ON_CUDA,
     .types = WI_ALL_TYPES,
     .seconds = bisect_seconds,
     .run = wi_search_bisect},
    {.name = "index",
     .what = "a tree of some of the elements tells where to bisect",
     .kinds = WI_ON_CUDA,
     .types = WI_ALL_TYPES,
     .misfit = fits_index,
     .seconds = index_seconds,
     .run = wi_search_index},
#endif
    {.name = "ranks",
     .what = "every wanted element is sent to the rank where it belongs",
     .kinds = WI_ON_CPU | WI_ON_CUDA,
     .scope = WI_DISTRIBUTED,
     .types = WI_ALL_TYPES,
     .seconds = wi_no_rival,
     .run = wi_search_ranks},
};

const wi_ladder wi_search_ladder = {"search", search_rows,
                                    sizeof search_rows / sizeof search_rows[0]};

enum {
    X,
    WANTED,
    POSITIONS,
    ARRAYS
};

static weft_status run_search(weft_context *ctx, wi_call *call, const wi_part *part, void *user) {
    wi_search_args args = *(const wi_search_args *)user;
    args.x = part->p[X];
    args.wanted = part->p[WANTED];
    args.positions = part->p[POSITIONS];
    return wi_run(ctx, &wi_search_ladder, call->name, args.type, &args);
}

weft_status wi_sort_check_bound(weft_context *ctx, const char *call, weft_bound bound) {
    if (bound == WEFT_LOWER || bound == WEFT_UPPER)
        return WEFT_OK;
    return wi_fail(ctx, WEFT_EARG,
                   "%s: bound %d is not a weft_bound; pass WEFT_LOWER or WEFT_UPPER", call,
                   (int)bound);
}

static weft_status check_search(weft_context *ctx, const char *name, weft_bound bound,
                                weft_order order, weft_type type) {
    if (wi_check_context(ctx) != WEFT_OK || wi_sort_check_bound(ctx, name, bound) != WEFT_OK)
        return WEFT_EARG;
    return wi_sort_check_keys(ctx, name, order, type);
}

/* On a place of several GPUs: each has its share of x, and wants its share of `wanted`. */
static weft_status run_search_share(weft_context *rank, void *user) {
    const wi_search_args *const a = user;
    const size_t size = weft_type_size(a->type);
    const wi_share x = wi_gpus_share(rank, a->x, a->n, size),
                   wanted = wi_gpus_share(rank, a->wanted, a->m, size);
    return weft_search(rank, a->upper ? WEFT_UPPER : WEFT_LOWER,
                       a->descending ? WEFT_DESCENDING : WEFT_ASCENDING, a->type, x.n,
                       wi_share_of(a->x, x, size), wanted.n, wi_share_of(a->wanted, wanted, size),
                       wi_share_of(a->positions, wanted, sizeof *a->positions));
}

weft_status weft_search(weft_context *ctx, weft_bound bound, weft_order order, weft_type type,
                        size_t n, const void *x, size_t m, const void *wanted,
                        uint64_t *positions) {
    static const char name[] = "weft_search";
    wi_search_args args = {.call = name,
                           .type = type,
                           .descending = order == WEFT_DESCENDING,
                           .upper = bound == WEFT_UPPER,
                           .n = n,
                           .x = x,
                           .m = m,
                           .wanted = wanted,
                           .positions = positions};
    wi_call call = {.name = name, .count = ARRAYS, .distributed = true};
    weft_status status = check_search(ctx, name, bound, order, type);
    if (status == WEFT_OK) {
        call.array[X] = wi_elements("x", x, n, type, WI_IN | WI_STRIDED);
        call.array[WANTED] = wi_elements("wanted", wanted, m, type, WI_IN | WI_STRIDED);
        call.array[POSITIONS] = wi_elements("positions", positions, m, WEFT_U64, WI_OUT);
        status = wi_call_check(ctx, &call);
    }
    if (status == WEFT_OK &&
        wi_gpus_wanted(ctx, &wi_search_ladder, wanted, m, weft_type_size(type)))
        return wi_gpus_run(ctx, &wi_search_ladder, name, run_search_share, &args);
    if (wi_is_dist(ctx))
        return wi_dist_run(ctx, &wi_search_ladder, name, type, wi_alike(wi_alike(0, order), bound),
                           status, &(wi_dist_args){&call, &args});
    return status == WEFT_OK && m > 0 ? wi_call_run(ctx, &call, run_search, &args) : status;
}
