/* SPDX-License-Identifier: Apache-2.0 */
/* Stands in for measuring GPUs in a build without CUDA: returns an error that says so. */
#ifndef WEFT_CUDA

#    include "climb/links.h"
#    include "climb/meter.h"

weft_status wi_gpu_time(const wi_meter *meter, const wi_timed *timed, double *seconds) {
    (void)timed;
    (void)seconds;
    return wi_fail(meter->ctx, WEFT_EUNSUPPORTED, "this build of weft has no CUDA");
}

weft_status wi_gpu_roof(const wi_meter *meter, wi_roof roof, double *value) {
    (void)roof;
    (void)value;
    return wi_fail(meter->ctx, WEFT_EUNSUPPORTED, "this build of weft has no CUDA");
}

weft_status wi_link_measure(weft_context *ctx, int from, int to, size_t bytes, bool staged,
                            wi_link *link) {
    (void)from;
    (void)to;
    (void)bytes;
    (void)staged;
    *link = (wi_link){.direct = false};
    return wi_fail(ctx, WEFT_EUNSUPPORTED, "this build of weft has no CUDA");
}

#endif
