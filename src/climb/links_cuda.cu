/* SPDX-License-Identifier: Apache-2.0 */
/* Copies between two ends, at least one of which is a GPU. */
#include "climb/links.h"

#include <stdlib.h>
#include <string.h>

#include "climb/meter.h"
#include "core/gpu.h"

namespace {

enum {
    SAMPLES = 9,
    SMALL_SAMPLES = 51,
    SMALL_BYTES = 4
};

/* Memory at one end, and a stream of the GPU that copies from there. */
struct end {
    int device; /* or a kind of host memory */
    char *p[2]; /* what is copied from here, and what is copied to here */
    cudaStream_t stream;
    bool opened; /* its GPU was given access to the other's memory */
};

struct link_job {
    weft_context *ctx;
    end ends[2]; /* from, to */
    size_t bytes;
};

} // namespace

/* The GPU that makes the copies from end k. */
static int driver_of(const link_job *j, int k) {
    return j->ends[k].device >= 0 ? j->ends[k].device : j->ends[1 - k].device;
}

/* ---- memory and streams ---- */

static weft_status take(link_job *j, int k, int use) {
    end *const e = &j->ends[k];
    if (e->device >= 0)
        return wi_cuda(j->ctx, cudaMalloc((void **)&e->p[use], j->bytes),
                       "cudaMalloc: memory to measure a link");
    if (e->device == WI_END_PINNED)
        return wi_cuda(j->ctx, cudaMallocHost((void **)&e->p[use], j->bytes),
                       "cudaMallocHost: pinned memory to measure a link");
    e->p[use] = (char *)wi_host_alloc(j->bytes);
    return e->p[use] ? WEFT_OK : wi_fail(j->ctx, WEFT_ENOMEM, "no host memory to measure a link");
}

static weft_status fill(link_job *j, int k) {
    const int value = 7 + k;
    end *const e = &j->ends[k];
    for (int use = 0; use < 2; use++) {
        if (e->device < 0) {
            memset(e->p[use], use ? 0 : value, j->bytes);
            continue;
        }
        const weft_status status =
            wi_cuda(j->ctx, cudaMemsetAsync(e->p[use], use ? 0 : value, j->bytes, e->stream),
                    "cudaMemsetAsync: filling memory to measure a link");
        if (status != WEFT_OK)
            return status;
    }
    return wi_cuda(j->ctx, cudaStreamSynchronize(e->stream), "waiting for filled memory");
}

static weft_status open_end(link_job *j, int k, bool staged) {
    weft_status status = wi_cuda(j->ctx, cudaSetDevice(driver_of(j, k)), "choosing a GPU");
    if (status == WEFT_OK)
        status =
            wi_cuda(j->ctx, cudaStreamCreateWithFlags(&j->ends[k].stream, cudaStreamNonBlocking),
                    "creating a stream");
    for (int use = 0; use < 2 && status == WEFT_OK; use++)
        status = take(j, k, use);
    if (status == WEFT_OK)
        status = fill(j, k);
    const int other = j->ends[1 - k].device;
    if (status == WEFT_OK && j->ends[k].device >= 0 && other >= 0 && !staged) {
        j->ends[k].opened = cudaDeviceEnablePeerAccess(other, 0) == cudaSuccess;
        cudaGetLastError(); /* it was open before, or cannot be opened */
    }
    return status;
}

static void close_end(link_job *j, int k) {
    end *const e = &j->ends[k];
    cudaSetDevice(driver_of(j, k));
    if (e->opened)
        cudaDeviceDisablePeerAccess(j->ends[1 - k].device);
    for (int use = 0; use < 2; use++) {
        if (e->device >= 0)
            cudaFree(e->p[use]);
        else if (e->device == WI_END_PINNED)
            cudaFreeHost(e->p[use]);
        else
            wi_host_free(e->p[use]);
    }
    if (e->stream)
        cudaStreamDestroy(e->stream);
    cudaGetLastError();
}

/* ---- copies ---- */

/* Queues a copy from end k to the other. */
static weft_status queue(link_job *j, int k, size_t bytes) {
    const end *const from = &j->ends[k], *const to = &j->ends[1 - k];
    if (from->device >= 0 && to->device >= 0)
        return wi_cuda(j->ctx,
                       cudaMemcpyPeerAsync(to->p[1], to->device, from->p[0], from->device, bytes,
                                           from->stream),
                       "cudaMemcpyPeerAsync: measuring a link");
    return wi_cuda(j->ctx,
                   cudaMemcpyAsync(to->p[1], from->p[0], bytes, cudaMemcpyDefault, from->stream),
                   "cudaMemcpyAsync: measuring a link");
}

/* Seconds from the first call until all is done. */
static weft_status time_copies(link_job *j, size_t bytes, int directions, double *seconds) {
    const double begin = wi_now();
    weft_status status = WEFT_OK;
    for (int k = 0; k < directions && status == WEFT_OK; k++) {
        cudaSetDevice(driver_of(j, k));
        status = queue(j, k, bytes);
    }
    for (int k = 0; k < directions && status == WEFT_OK; k++)
        status = wi_cuda(j->ctx, cudaStreamSynchronize(j->ends[k].stream), "waiting for a copy");
    *seconds = wi_now() - begin;
    return status;
}

static weft_status median_of(link_job *j, size_t bytes, int directions, int count,
                             double *seconds) {
    double samples[SMALL_SAMPLES];
    weft_status status = WEFT_OK;
    for (int k = -1; k < count && status == WEFT_OK; k++) {
        double one;
        status = time_copies(j, bytes, directions, &one);
        if (k >= 0)
            samples[k] = one;
    }
    *seconds = status == WEFT_OK ? wi_median(samples, (size_t)count) : 0;
    return status;
}

/* Has what left end k arrived? */
static weft_status check(link_job *j, int k, bool *right) {
    char *const got = (char *)wi_host_alloc(j->bytes);
    if (!got)
        return wi_fail(j->ctx, WEFT_ENOMEM, "no host memory to check a copy");
    end *const to = &j->ends[1 - k];
    weft_status status =
        wi_cuda(j->ctx, cudaMemcpyAsync(got, to->p[1], j->bytes, cudaMemcpyDefault, to->stream),
                "cudaMemcpyAsync: checking a copy");
    if (status == WEFT_OK)
        status = wi_cuda(j->ctx, cudaStreamSynchronize(to->stream), "checking a copy");
    *right = status == WEFT_OK;
    for (size_t i = 0; i < j->bytes && *right; i++)
        *right = got[i] == 7 + k;
    wi_host_free(got);
    return status;
}

static weft_status measure(link_job *j, wi_link *link) {
    const bool pageable =
        j->ends[0].device == WI_END_PAGEABLE || j->ends[1].device == WI_END_PAGEABLE;
    double seconds;
    bool right = false;
    weft_status status = median_of(j, SMALL_BYTES, 1, SMALL_SAMPLES, &link->latency);
    if (status == WEFT_OK)
        status = median_of(j, j->bytes, 1, SAMPLES, &seconds);
    if (status != WEFT_OK)
        return status;
    link->one_way = (double)j->bytes / (seconds > link->latency ? seconds : link->latency);
    status = check(j, 0, &right);
    link->broken = right ? NULL : "one way";
    if (pageable || status != WEFT_OK) /* such copies keep the host busy, so two do not overlap */
        return status;
    status = median_of(j, j->bytes, 2, SAMPLES, &seconds);
    if (status != WEFT_OK)
        return status;
    link->both_ways = 2 * (double)j->bytes / seconds;
    status = check(j, 1, &right);
    if (!right && !link->broken)
        link->broken = "the other way";
    return status;
}

weft_status wi_link_measure(weft_context *ctx, int from, int to, size_t bytes, bool staged,
                            wi_link *link) {
    link_job j = {ctx, {{from, {NULL, NULL}, NULL, false}, {to, {NULL, NULL}, NULL, false}}, bytes};
    int before = 0, can = 0;
    memset(link, 0, sizeof *link);
    weft_status status = wi_gpu_enter(ctx, &before);
    if (status != WEFT_OK)
        return status;
    if (from >= 0 && to >= 0 && cudaDeviceCanAccessPeer(&can, from, to) != cudaSuccess)
        cudaGetLastError();
    link->direct = can && !staged;
    for (int k = 0; k < 2 && status == WEFT_OK; k++)
        status = open_end(&j, k, !link->direct);
    if (status == WEFT_OK)
        status = measure(&j, link);
    for (int k = 0; k < 2; k++)
        close_end(&j, k);
    cudaSetDevice(ctx->device);
    wi_gpu_leave(ctx, before);
    return status;
}
