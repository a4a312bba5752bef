/* SPDX-License-Identifier: Apache-2.0 */
/* Whether L fits the memory of a GPU, and the schedule that follows from it: L on the device, or
 * two windows of L. */
#include "sparse/chol_device.h"

bool wi_chol_fits(const weft_context *ctx, size_t bytes) {
    return ctx->kind != WI_CUDA || bytes <= wi_chol_free_bytes(ctx);
}

/* How many numbers a window may have if the device has `bytes` for two; a multiple of the alignment
 * of columns. */
static int64_t window_of(const weft_chol *plan, size_t bytes) {
    return (int64_t)(bytes / (2 * wi_chol_number(plan)) / WI_FRONT_ALIGNMENT * WI_FRONT_ALIGNMENT);
}

/* Replaces *schedule, which has no windows, by one with two if it needs more memory than the device
 * has free. Smaller windows make more levels, which take memory themselves: so windows shrink until
 * all fits. *needed is 0, or, if nothing fits, the bytes that the smallest windows would take. */
static weft_status cut(weft_context *ctx, const char *call, const weft_chol *plan, int64_t rhs,
                       wi_schedule_wish wish, wi_schedule *schedule, size_t *needed) {
    const int64_t widest = wi_schedule_widest(&plan->symbolic, &wish);
    const size_t room = wi_chol_free_bytes(ctx), number = wi_chol_number(plan);
    size_t all = wi_chol_device_bytes(plan, schedule, rhs);
    weft_status status = WEFT_OK;
    *needed = 0;
    while (all > room && status == WEFT_OK) {
        const size_t rest = all - (size_t)wi_schedule_resident(schedule) * number;
        wish.window = rest < room ? window_of(plan, room - rest) : 0;
        if (wish.window < widest) {
            *needed = rest + 2 * (size_t)widest * number;
            return WEFT_OK;
        }
        wi_schedule_free(schedule);
        status = wi_schedule_make(ctx, call, &plan->symbolic, &wish, schedule);
        all = wi_chol_device_bytes(plan, schedule, rhs);
    }
    return status;
}

weft_status wi_chol_fit(weft_context *ctx, const char *call, const weft_chol *plan, int64_t rhs,
                        const wi_spread *spread, int gpu, wi_schedule *schedule, size_t *needed) {
    const wi_schedule_wish wish = {.small = plan->small,
                                   .interchanged = plan->kind == WEFT_CHOL_INDEFINITE,
                                   .flow_from = wi_chol_flow_from(ctx, plan),
                                   .owner = spread ? spread->owner : NULL,
                                   .gpu = gpu};
    const weft_status status = wi_schedule_make(ctx, call, &plan->symbolic, &wish, schedule);
    return status == WEFT_OK ? cut(ctx, call, plan, rhs, wish, schedule, needed) : status;
}

weft_status wi_chol_tell_too_large(weft_context *ctx, const char *call, size_t needed) {
    return wi_fail(ctx, WEFT_ENOMEM,
                   "%s: the GPU has %zu bytes free, and the factorization needs %zu there, with L "
                   "in host memory; free some, or factor on a cpu place",
                   call, wi_chol_free_bytes(ctx), needed);
}
