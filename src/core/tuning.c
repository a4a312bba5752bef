/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of tuning in memory: names, factors, and the public call that sets one. */
#include "core/tuning.h"

#include <string.h>

#include "comm/gpus.h"
#include "core/gpu.h"
#include "core/tuning_table.h"

const char *wi_tuning_shape(unsigned shape) {
    static const char *const names[WI_SHAPES] = {
        [WI_SHAPE_ANY] = "any",   [WI_SHAPE_SMALL] = "small", [WI_SHAPE_LARGE] = "large",
        [WI_SHAPE_THIN] = "thin", [WI_SHAPE_FLAT] = "flat",   [WI_SHAPE_SHORT] = "short",
        [WI_SHAPE_TALL] = "tall"};
    return names[shape % WI_SHAPES];
}

const char *wi_tuning_type(weft_type type, unsigned shape) {
    if (type == WI_NO_TYPE)
        return "-";
    return shape >= WI_ROUNDED ? "tf32" : weft_type_name(type);
}

const char *wi_tuning_place(const weft_context *ctx) {
    if (ctx->kind == WI_CPU)
        return "cpu";
#ifdef WEFT_EMU
    return "emu";
#else
    return "gpu";
#endif
}

void wi_tuning_device(const weft_context *ctx, char device[WI_DEVICE_BYTES]) {
    if (ctx->kind == WI_CPU)
        wi_cpu_name(device, WI_DEVICE_BYTES);
    else
        wi_gpu_name(ctx->device, device, WI_DEVICE_BYTES);
}

double *wi_tuning_at(const wi_tuning *tuning, size_t op, size_t row, weft_type type,
                     unsigned shape) {
    double *const factors = tuning->of[op];
    if (!factors || row >= wi_ops[op]->count)
        return NULL;
    return &factors[(row * (WEFT_TYPE_COUNT + 1) + (size_t)type) * WI_SHAPE_CLASSES + shape];
}

double wi_tuning_factor(const wi_tuning *tuning, size_t op, size_t row, weft_type type,
                        unsigned shape) {
    const double *const own = wi_tuning_at(tuning, op, row, type, shape);
    const unsigned any = shape >= WI_ROUNDED ? WI_ROUNDED + WI_SHAPE_ANY : WI_SHAPE_ANY;
    if (!own)
        return 1;
    const double factor = *own > 0 ? *own : *wi_tuning_at(tuning, op, row, type, any);
    return factor > 0 ? factor : 1;
}

weft_status wi_tuning_take(wi_tuning *tuning, size_t op) {
    const size_t bytes =
        wi_ops[op]->count * (WEFT_TYPE_COUNT + 1) * WI_SHAPE_CLASSES * sizeof *tuning->of[op];
    if (tuning->of[op])
        return WEFT_OK;
    tuning->of[op] = wi_host_alloc(bytes);
    if (!tuning->of[op])
        return WEFT_ENOMEM;
    memset(tuning->of[op], 0, bytes);
    return WEFT_OK;
}

void wi_tuning_free(wi_tuning *tuning) {
    for (size_t op = 0; tuning && op < WI_MAX_OPS; op++)
        wi_host_free(tuning->of[op]);
    wi_host_free(tuning);
}

weft_status wi_set_tuning(weft_context *ctx, const char *call, const char *path, bool lenient) {
    wi_tuning *tuning = NULL;
    const weft_status status = path ? wi_tuning_read(ctx, call, path, lenient, &tuning) : WEFT_OK;
    if (status != WEFT_OK)
        return status;
    wi_tuning_free(ctx->tuning);
    ctx->tuning = tuning;
    return WEFT_OK;
}

weft_status weft_set_tuning(weft_context *ctx, const char *path) {
    if (wi_check_context(ctx) != WEFT_OK)
        return WEFT_EARG;
    weft_context *const local = ctx->child ? ctx->child : ctx; /* it is about local rungs */
    weft_status status = wi_set_tuning(local, "weft_set_tuning", path, false);
    for (int r = 0; wi_is_gpus(ctx) && r < wi_gpus_count(ctx) && status == WEFT_OK; r++)
        status = weft_set_tuning(wi_gpus_rank(ctx, r), path);
    return status == WEFT_OK || local == ctx ? status : wi_fail_as(ctx, status, local);
}
