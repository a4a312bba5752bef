/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of one number, whose transform is a copy; and lines of f16 arrays for an engine that only
 * reads and writes f32: they are copied to f32 memory before, or from it after. */
#include <string.h>

#include "fft/fft.h"

weft_status wi_fft_copy_line(wi_fft_job *job, const wi_fft_lines *l) {
    const wi_fft_move move = {.type = l->type,
                              .x = l->x,
                              .y = l->y,
                              .n_in = 1,
                              .n_out = 1,
                              .half_in = l->half_in,
                              .half_out = l->half_out,
                              .scale = l->scale,
                              .stride_in = 1,
                              .stride_out = 1,
                              .loops = l->loops};
    return wi_fft_do_move(job, &move);
}

weft_status wi_fft_by_copies(wi_fft_job *job, const wi_fft_lines *l) {
    const size_t bytes = wi_fft_loops_lines(&l->loops) * l->n * wi_fft_number_bytes(l->type);
    void *const wide = wi_fft_take(job, bytes);
    wi_fft_lines inner = *l;
    wi_fft_move in = {.type = l->type,
                      .x = l->x,
                      .y = wide,
                      .n_in = l->n,
                      .n_out = l->n,
                      .half_in = true,
                      .scale = 1,
                      .stride_in = l->stride_in,
                      .stride_out = 1,
                      .loops = l->loops};
    wi_fft_move out = in;
    wi_fft_loops_pack(&l->loops, 0, l->n, in.loops.out);
    inner.half_in = inner.half_out = false;
    if (l->half_in) {
        inner.x = wide;
        inner.stride_in = 1;
        memcpy(inner.loops.in, in.loops.out, sizeof inner.loops.in);
    }
    if (l->half_out) {
        inner.y = wide;
        inner.stride_out = 1;
        memcpy(inner.loops.out, in.loops.out, sizeof inner.loops.out);
    }
    out.x = wide;
    out.y = l->y;
    out.half_in = false;
    out.half_out = true;
    out.stride_in = 1;
    out.stride_out = l->stride_out;
    memcpy(out.loops.in, in.loops.out, sizeof out.loops.in);
    memcpy(out.loops.out, l->loops.out, sizeof out.loops.out);
    weft_status status = l->half_in ? wi_fft_do_move(job, &in) : WEFT_OK;
    if (status == WEFT_OK)
        status = wi_fft_transform(job, &inner);
    if (status == WEFT_OK && l->half_out)
        status = wi_fft_do_move(job, &out);
    wi_fft_give(job, bytes);
    return status;
}
