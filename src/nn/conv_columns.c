/* SPDX-License-Identifier: Apache-2.0 */
/* The matrix of columns, and the products by it that are the passes of a convolution. */
#include "nn/conv_columns.h"

wi_conv_matrix wi_conv_columns_of(const wi_conv_args *a, size_t image, size_t group, void *room) {
    const bool planes = a->in.layout == WEFT_NCHW;
    const wi_image_steps sx = wi_image_steps_of(&a->in);
    const size_t first = image * sx.n + group * wi_conv_channels(a) * sx.c;
    wi_conv_matrix m = {room, planes ? wi_conv_pixels(a) : wi_conv_weights(a)};
    if (wi_conv_is_pointwise(a)) {
        m.p = wi_conv_at(a, a->x, first);
        m.ld = planes ? wi_conv_pixels(a) : a->in.c;
    }
    return m;
}

wi_gemm_args wi_conv_product(const wi_conv_args *a, size_t image, size_t images, size_t group,
                             wi_conv_matrix columns, double beta) {
    const bool planes = a->in.layout == WEFT_NCHW;
    const wi_image_steps sy = wi_image_steps_of(&a->out);
    const size_t filters = wi_conv_filters(a), weights = wi_conv_weights(a);
    const size_t pixels = planes ? wi_conv_pixels(a) : images * wi_conv_pixels(a);
    void *const y = wi_conv_at(a, a->y, image * sy.n + group * filters * sy.c);
    void *const f = (char *)a->f + group * filters * weights * weft_type_size(a->f_type);
    const size_t y_ld = planes ? pixels : a->out.c;
    wi_gemm_args g = {.type = a->in.type,
                      .out = a->pass == WI_CONV_WEIGHTS ? a->f_type : a->in.type,
                      .accuracy = a->accuracy,
                      .alpha = 1,
                      .beta = beta};
    if (a->pass == WI_CONV_WEIGHTS) {
        /* f' = columns y' of planes stored by rows, or columns' y */
        g.m = weights;
        g.n = filters;
        g.k = pixels;
        g.transposed_a = planes;
        g.transposed_b = !planes;
        g.a = columns.p;
        g.lda = columns.ld;
        g.b = y;
        g.ldb = y_ld;
        g.c = f;
        g.ldc = weights;
        return g;
    }
    const bool forward = a->pass == WI_CONV_FORWARD;
    const size_t results = forward ? filters : weights;
    g.k = forward ? weights : filters;
    g.m = planes ? pixels : results;
    g.n = planes ? results : pixels;
    g.c = forward ? y : columns.p;
    g.ldc = forward ? y_ld : columns.ld;
    const void *const factor = forward ? columns.p : y;
    const size_t factor_ld = forward ? columns.ld : y_ld;
    g.a = planes ? factor : f;
    g.lda = planes ? factor_ld : weights;
    g.b = planes ? f : factor;
    g.ldb = planes ? weights : factor_ld;
    g.transposed_a = !planes && forward;
    g.transposed_b = planes && !forward;
    return g;
}
