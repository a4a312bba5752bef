/* SPDX-License-Identifier: Apache-2.0 */
/* The rung columns: pixels are laid out as a matrix, and gemm's packed blocks multiply. Threads
 * share the images; a single image is multiplied by all of them. Gradients of weights are summed
 * apart for each of up to eight parts of the batch, whatever the number of threads, so that the
 * bits do not depend on it. */
#include <string.h>

#include "core/smaller.h"
#include "cpu/team.h"
#include "nn/conv_columns.h"

enum {
    MOST_PARTS = 8,
    ALIGNMENT = 64
};

/* The pixels first <= q < end of a row of y. */
typedef struct span {
    size_t first, end;
} span;

/* Those for which column s of the weights is inside of x. */
static span columns_inside(const wi_conv_args *a, size_t s) {
    const size_t shift = s * a->dilation_w, stride = a->stride_w;
    const size_t first = shift < a->pad_w ? (a->pad_w - shift + stride - 1) / stride : 0;
    const size_t end =
        a->in.w + a->pad_w > shift ? (a->in.w + a->pad_w - shift + stride - 1) / stride : 0;
    span inside = {first, end < a->out.w ? end : a->out.w};
    if (inside.first >= inside.end)
        inside.first = inside.end = 0;
    return inside;
}

#define NAME(f) f##_f32
#define REAL float
#include "nn/conv_columns_loops.inc"

#define NAME(f) f##_f64
#define REAL double
#include "nn/conv_columns_loops.inc"

typedef struct job {
    weft_context *ctx;
    const wi_conv_args *args;
    size_t parts;                    /* of the images */
    size_t columns_bytes, all_bytes; /* of a thread: its columns, and gemm's memory after them */
    size_t sums_bytes;               /* of the weights of a part */
    char *memory, *sums;
} job;

static void unfold(const wi_conv_args *a, const void *x, void *to) {
    const bool planes = a->in.layout == WEFT_NCHW;
    if (a->in.type == WEFT_F32)
        (planes ? unfold_planes_f32 : unfold_pixels_f32)(a, x, to);
    else
        (planes ? unfold_planes_f64 : unfold_pixels_f64)(a, x, to);
}

static void fold(const wi_conv_args *a, const void *from, void *x) {
    const bool planes = a->in.layout == WEFT_NCHW;
    if (a->in.type == WEFT_F32)
        (planes ? fold_planes_f32 : fold_pixels_f32)(a, from, x);
    else
        (planes ? fold_planes_f64 : fold_pixels_f64)(a, from, x);
}

/* One group of one image; `a` is the call, or has the sums of a part in place of f. */
static void do_group(const job *j, const wi_conv_args *a, size_t image, size_t group, double beta,
                     char *memory) {
    const wi_image_steps sx = wi_image_steps_of(&a->in);
    void *const x = wi_conv_at(a, a->x, image * sx.n + group * wi_conv_channels(a) * sx.c);
    const wi_conv_matrix columns = wi_conv_columns_of(a, image, group, memory);
    const bool apart = !wi_conv_is_pointwise(a);
    const wi_gemm_args g = wi_conv_product(a, image, 1, group, columns, beta);
    if (apart && a->pass != WI_CONV_DATA)
        unfold(a, x, columns.p);
    if (j->parts == 1)
        wi_gemm_packed_in(j->ctx, &g, memory + j->columns_bytes);
    else
        wi_gemm_packed_alone(&g, memory + j->columns_bytes);
    if (apart && a->pass == WI_CONV_DATA)
        fold(a, columns.p, x);
}

static void do_image(const job *j, const wi_conv_args *a, size_t image, double beta, char *memory) {
    const size_t one = a->in.c * a->in.h * a->in.w;
    if (a->pass == WI_CONV_DATA)
        memset(wi_conv_at(a, a->x, image * one), 0, one * weft_type_size(a->in.type));
    for (size_t group = 0; group < a->groups; group++)
        do_group(j, a, image, group, beta, memory);
}

static void do_part(const job *j, size_t part, char *memory) {
    const size_t first = wi_team_share(j->args->in.n, (int)part, (int)j->parts);
    const size_t end = wi_team_share(j->args->in.n, (int)part + 1, (int)j->parts);
    wi_conv_args a = *j->args;
    if (a.pass == WI_CONV_WEIGHTS && part > 0)
        a.f = j->sums + (part - 1) * j->sums_bytes;
    for (size_t image = first; image < end; image++)
        do_image(j, &a, image, a.pass == WI_CONV_WEIGHTS && image > first ? 1 : 0, memory);
}

static void do_parts(void *user, int rank, int team) {
    const job *const j = user;
    const size_t end = wi_team_share(j->parts, rank + 1, team);
    for (size_t part = wi_team_share(j->parts, rank, team); part < end; part++)
        do_part(j, part, j->memory + (size_t)rank * j->all_bytes);
}

/* The sums of all parts, in their order. */
static void add_parts(const job *j) {
    const wi_conv_args *const a = j->args;
    const size_t weights = a->out.c * wi_conv_weights(a);
    for (size_t part = 1; part < j->parts; part++) {
        const void *const sums = j->sums + (part - 1) * j->sums_bytes;
        if (a->in.type == WEFT_F32)
            add_f32(weights, sums, a->f);
        else
            add_f64(weights, sums, a->f);
    }
}

static job plan_of(weft_context *ctx, const wi_conv_args *a) {
    const size_t width = weft_type_size(a->in.type);
    job j = {.ctx = ctx, .args = a, .parts = a->in.n};
    if (a->pass == WI_CONV_WEIGHTS && j.parts > MOST_PARTS)
        j.parts = MOST_PARTS;
    if (!wi_conv_is_pointwise(a))
        j.columns_bytes = wi_round_up(wi_conv_weights(a) * wi_conv_pixels(a) * width, ALIGNMENT);
    const wi_gemm_args g = wi_conv_product(a, 0, 1, 0, wi_conv_columns_of(a, 0, 0, NULL), 1);
    j.all_bytes = j.columns_bytes + wi_round_up(j.parts == 1 ? wi_gemm_packed_bytes(ctx, &g)
                                                             : wi_gemm_alone_bytes(&g),
                                                ALIGNMENT);
    j.sums_bytes = a->pass == WI_CONV_WEIGHTS
                       ? wi_round_up(a->out.c * wi_conv_weights(a) * width, ALIGNMENT)
                       : 0;
    return j;
}

weft_status wi_conv_columns(weft_context *ctx, const void *args) {
    const wi_conv_args *const a = args;
    if (wi_nn_is_half(a->in.type))
        return wi_conv_widened(ctx, a, wi_conv_columns);
    if (wi_conv_flops(a) == 0) {
        wi_conv_clear(a);
        return WEFT_OK;
    }
    job j = plan_of(ctx, a);
    const size_t worth = (size_t)(wi_conv_flops(a) / 4);
    const int team = j.parts == 1 ? 1 : wi_team_size(ctx, j.parts, worth);
    const size_t bytes = (size_t)team * j.all_bytes + (j.parts - 1) * j.sums_bytes;
    j.memory = bytes ? wi_host_alloc(bytes) : NULL;
    if (bytes && !j.memory)
        return wi_fail(ctx, WEFT_ENOMEM, "weft_conv: no memory for %zu bytes of columns", bytes);
    j.sums = j.memory + (size_t)team * j.all_bytes;
    if (team == 1)
        do_parts(&j, 0, 1);
    else
        wi_team_run(ctx, team, do_parts, &j);
    if (a->pass == WI_CONV_WEIGHTS)
        add_parts(&j);
    wi_host_free(j.memory);
    return WEFT_OK;
}
