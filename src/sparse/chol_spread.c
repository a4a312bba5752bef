/* SPDX-License-Identifier: Apache-2.0 */
/* A factor that several GPUs share: the context, plan and guests of each GPU, and the memory that
 * all of them need. */
#include "comm/gpus.h"
#include "core/gpu.h"
#include "sparse/chol_device.h"

weft_context *wi_chol_gpu(weft_context *ctx, int gpu) {
    return gpu > 0 ? wi_gpus_rank(ctx, gpu)->child : ctx;
}

weft_chol wi_chol_of_gpu(const weft_chol *plan, int gpu) {
    weft_chol own = *plan;
    own.device = gpu > 0 ? plan->device->other[gpu] : plan->device;
    return own;
}

weft_status wi_chol_each_gpu(weft_context *ctx, weft_chol *plan, wi_chol_gpu_step step,
                             void *user) {
    weft_status status = step(ctx, plan, user);
    for (int g = 1; g < wi_chol_gpus(plan) && status == WEFT_OK; g++) {
        weft_context *const gpu = wi_chol_gpu(ctx, g);
        weft_chol own = wi_chol_of_gpu(plan, g);
        status = step(gpu, &own, user);
        if (status != WEFT_OK)
            wi_fail_as(ctx, status, gpu);
    }
    return status;
}

bool wi_chol_has_gpus(const weft_context *ctx, const weft_chol *plan) {
    const int gpus = wi_chol_gpus(plan);
    bool same = gpus == 1 || (wi_is_gpus(ctx) && wi_gpus_count(ctx) >= gpus);
    for (int g = 1; g < gpus && same; g++)
        same = wi_gpus_rank(ctx, g)->device == plan->device->other[g]->device;
    return same;
}

weft_status wi_chol_spread(weft_context *ctx, const char *call, const weft_chol *plan,
                           wi_spread *spread) {
    const int gpus = wi_is_gpus(ctx) ? wi_gpus_count(ctx) : 1;
    const char *why;
    const bool reach = gpus > 1 && wi_dealt_reaches(wi_gpus_dealt(ctx), &why);
    const bool together = reach && plan->kind != WEFT_CHOL_INDEFINITE;
    const weft_status status =
        wi_spread_make(ctx, call, &plan->symbolic, gpus, together, wi_chol_spread_from(), spread);
    spread->reach = reach;
    return status;
}

/* ---- guests ---- */

/* The record of supernode `number` among the fronts first ... end - 1; `end` if it is not there. */
static int64_t find_record(const wi_schedule *s, int64_t first, int64_t end, int32_t number) {
    while (first < end && s->front[first].number != number)
        first++;
    return first;
}

/* The level that a record belongs to. */
static int64_t level_of(const wi_schedule *s, int64_t record) {
    int64_t k = s->levels - 1;
    while (s->level[k].first > record)
        k--;
    return k;
}

weft_status wi_chol_find_guests(weft_context *ctx, const char *call, const wi_chol_device *first,
                                wi_chol_device *other) {
    const wi_schedule *const here = &first->schedule, *const there = &other->schedule;
    other->guest = wi_host_alloc((size_t)here->guests * sizeof *other->guest + 1);
    if (!other->guest)
        return wi_fail(ctx, WEFT_ENOMEM,
                       "%s: no memory for %zu bytes, the list of what GPUs exchange; free some",
                       call, (size_t)here->guests * sizeof *other->guest);
    for (int64_t k = here->fronts; k < wi_schedule_records(here); k++) {
        const int64_t record = find_record(there, 0, there->fronts, here->front[k].number);
        if (record < there->fronts)
            other->guest[other->guests++] = (wi_guest){level_of(there, record), record, k};
    }
    return WEFT_OK;
}

/* ---- the memory it needs ---- */

static void add_needs(const weft_chol *plan, const wi_schedule *schedule, int64_t rhs,
                      wi_chol_needs *needs) {
    needs->device += wi_chol_device_bytes(plan, schedule, rhs);
    needs->host += wi_chol_device_host_bytes(plan, schedule, rhs);
    needs->home += wi_chol_home_bytes(plan, schedule);
}

/* Adds what one GPU would need for a factor and one right-hand side, without taking it. */
static weft_status foresee_one(weft_context *ctx, const char *call, const weft_chol *plan,
                               const wi_spread *spread, int gpu, wi_chol_needs *needs) {
    wi_schedule schedule = {.fronts = 0};
    size_t needed;
    const weft_status status =
        wi_chol_fit(ctx, call, plan, 1, spread->gpus > 1 ? spread : NULL, gpu, &schedule, &needed);
    if (status == WEFT_OK)
        add_needs(plan, &schedule, 1, needs);
    wi_schedule_free(&schedule);
    return status;
}

weft_status wi_chol_foresee(weft_context *ctx, const char *call, const weft_chol *plan,
                            wi_chol_needs *needs) {
    wi_spread spread;
    *needs = (wi_chol_needs){.device = 0};
    if (plan->device && plan->device->index) { /* it is on the GPUs: no need to predict */
        for (int g = 0; g < wi_chol_gpus(plan); g++) {
            const wi_chol_device *const d = wi_chol_of_gpu(plan, g).device;
            add_needs(plan, &d->schedule, d->rhs, needs);
        }
        return WEFT_OK;
    }
    weft_status status = wi_chol_spread(ctx, call, plan, &spread);
    if (status != WEFT_OK)
        return status;
    for (int g = 0; g < spread.gpus && status == WEFT_OK; g++) {
        weft_context *const gpu = wi_chol_gpu(ctx, g);
        status = foresee_one(gpu, call, plan, &spread, g, needs);
        if (status != WEFT_OK && gpu != ctx)
            wi_fail_as(ctx, status, gpu);
    }
    wi_spread_free(&spread);
    return status;
}
