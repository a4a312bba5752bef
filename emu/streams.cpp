/* SPDX-License-Identifier: Apache-2.0 */
/* Streams, events, graphs and launches. Nothing runs when it is queued: work is done when the host
 * waits or asks, one operation at a time from streams drawn from the seed, so that an order which
 * no event enforces does not come about by itself. */
#include "streams.h"

#include <string.h>
#include <time.h>

namespace emu {

static constexpr size_t longest_queue = 64;

static std::vector<EmuStream *> &streams() {
    static auto *const all = new std::vector<EmuStream *>();
    return *all;
}

bool is_stream(cudaStream_t stream) {
    for (const EmuStream *s : streams())
        if (s == stream)
            return true;
    return stream == nullptr;
}

static Seen host_seen; /* by all threads of the host together */
static std::vector<unsigned> spare_slots;

static EmuStream *new_stream(int device) {
    static unsigned next_slot = most_slots;
    EmuStream *const s = new EmuStream();
    s->device = device;
    s->block.grid = &s->grid;
    s->fibre.block = &s->block;
    if (spare_slots.empty())
        spare_slots.push_back(next_slot++);
    s->block.slot = spare_slots.back();
    spare_slots.pop_back();
    s->fibre.id = s->block.slot * threads_of_slot;
    streams().push_back(s);
    return s;
}

EmuStream *stream_of(cudaStream_t stream) {
    static EmuStream *defaults[64];
    if (stream)
        return stream;
    EmuStream *&own = defaults[current_device()];
    if (!own)
        own = new_stream(current_device());
    return own;
}

static bool can_run(const EmuStream *s) {
    return !s->busy && !s->queue.empty() && (!s->queue.front().wait || s->queue.front().wait->done);
}

static std::vector<EmuStream *> able_streams() {
    std::vector<EmuStream *> able;
    for (EmuStream *s : streams())
        if (can_run(s))
            able.push_back(s);
    return able;
}

/* Runs the next operation of a stream, or starts it if it is a kernel. */
static void begin_next(EmuStream *s) {
    const EmuOperation operation = s->queue.front();
    s->queue.pop_front();
    s->seen = joined(s->seen, operation.host);
    if (operation.wait)
        s->seen = joined(s->seen, operation.wait->seen);
    else
        operation.run(s);
}

bool step(EmuStream *preferred) {
    std::vector<EmuStream *> able = able_streams();
    if (able.empty())
        return false;
    const Policy policy = settings().policy;
    if (policy == Policy::in_order && preferred && can_run(preferred))
        begin_next(preferred);
    else
        begin_next(policy == Policy::reversed ? able.back() : able[random_below(able.size())]);
    while (kernels_run()) {
        able = able_streams();
        if (able.empty() || policy == Policy::in_order)
            run_grids(false);
        else if (policy == Policy::reversed || random_below(2))
            begin_next(able[random_below(able.size())]);
        else
            run_grids(true);
    }
    return true;
}

void drain(EmuStream *stream) {
    while (!stream->queue.empty())
        if (!step(stream))
            report(nullptr, "deadlock: a stream waits for an event that no stream will record");
    host_seen = joined(host_seen, stream->seen);
}

void drain_all() {
    while (step(nullptr)) {
    }
    for (const EmuStream *s : streams())
        host_seen = joined(host_seen, s->seen);
}

static void queue_operation(EmuStream *stream, EmuOperation operation) {
    if (stream->capture) {
        stream->capture->operations.push_back(std::move(operation));
        return;
    }
    operation.host = host_seen;
    stream->queue.push_back(std::move(operation));
    while (stream->queue.size() > longest_queue && step(stream)) {
    }
}

void queue(EmuStream *stream, std::function<void(EmuStream *)> run) {
    queue_operation(stream, {std::move(run), nullptr, nullptr});
}

void queue_copy(EmuStream *stream, const char *what, std::function<void()> run) {
    queue(stream, [=](EmuStream *s) {
        const auto seen = s->seen ? std::make_shared<Known>(*s->seen) : std::make_shared<Known>();
        s->grid.shape.what = what;
        s->fibre.seen = s->seen;
        s->fibre.time = next_time();
        self = &s->fibre;
        run();
        self = nullptr;
        note_end(&s->block);
        seen->add(block_key(&s->block), next_time());
        s->seen = seen;
    });
}

static double now() {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

} // namespace emu

using namespace emu;
using Guard = std::lock_guard<std::recursive_mutex>;

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned) {
    const Guard guard(lock);
    *stream = new_stream(current_device());
    return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    const Guard guard(lock);
    if (!stream || !is_stream(stream))
        return fail(cudaErrorInvalidResourceHandle);
    drain(stream);
    for (size_t k = 0; k < streams().size(); k++)
        if (streams()[k] == stream)
            streams().erase(streams().begin() + (long)k);
    spare_slots.push_back(stream->block.slot);
    delete stream;
    return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    const Guard guard(lock);
    if (!is_stream(stream))
        return fail(cudaErrorInvalidResourceHandle);
    if (stream_of(stream)->capture)
        return fail(cudaErrorStreamCaptureUnsupported);
    drain(stream_of(stream));
    return cudaSuccess;
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
    const Guard guard(lock);
    if (!is_stream(stream))
        return fail(cudaErrorInvalidResourceHandle);
    step(stream_of(stream));
    if (!stream_of(stream)->queue.empty())
        return fail(cudaErrorNotReady);
    host_seen = joined(host_seen, stream_of(stream)->seen);
    return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize(void) {
    const Guard guard(lock);
    drain_all();
    return cudaSuccess;
}

cudaError_t cudaStreamGetDevice(cudaStream_t stream, int *device) {
    const Guard guard(lock);
    if (!is_stream(stream))
        return fail(cudaErrorInvalidResourceHandle);
    *device = stream_of(stream)->device;
    return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned) {
    *event = new EmuEvent();
    (*event)->latest->done = true;
    return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t *event) {
    return cudaEventCreateWithFlags(event, cudaEventDefault);
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
    delete event;
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    const Guard guard(lock);
    if (!is_stream(stream))
        return fail(cudaErrorInvalidResourceHandle);
    const auto recording = std::make_shared<EmuRecording>();
    event->latest = recording;
    event->time = now();
    queue(stream_of(stream), [=](EmuStream *s) {
        recording->done = true;
        recording->seen = s->seen;
    });
    return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
    const Guard guard(lock);
    if (!is_stream(stream))
        return fail(cudaErrorInvalidResourceHandle);
    queue_operation(stream_of(stream), {nullptr, event->latest, nullptr});
    return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
    const Guard guard(lock);
    if (!event->latest->done)
        step(nullptr);
    if (!event->latest->done)
        return fail(cudaErrorNotReady);
    host_seen = joined(host_seen, event->latest->seen);
    return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    const Guard guard(lock);
    while (!event->latest->done)
        if (!step(nullptr))
            report(nullptr, "deadlock: an event is waited for that no stream will record");
    host_seen = joined(host_seen, event->latest->seen);
    return cudaSuccess;
}

cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t from, cudaEvent_t to) {
    *milliseconds = (float)(to->time - from->time);
    return cudaSuccess;
}

/* ---- graphs: what was queued on one stream, to be queued again ---- */

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode) {
    const Guard guard(lock);
    if (!stream || !is_stream(stream))
        return fail(cudaErrorStreamCaptureUnsupported);
    stream->capture = std::make_unique<EmuGraph>();
    return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph) {
    const Guard guard(lock);
    if (!stream || !is_stream(stream) || !stream->capture)
        return fail(cudaErrorInvalidValue);
    *graph = stream->capture.release();
    return cudaSuccess;
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *status) {
    const Guard guard(lock);
    if (!is_stream(stream))
        return fail(cudaErrorInvalidResourceHandle);
    *status =
        stream && stream->capture ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
    return cudaSuccess;
}

cudaError_t cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode *) {
    return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *ready, cudaGraph_t graph, unsigned long long) {
    *ready = new EmuGraph(*graph);
    return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t ready, cudaStream_t stream) {
    const Guard guard(lock);
    for (const EmuOperation &operation : ready->operations)
        queue_operation(stream_of(stream), operation);
    return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t ready) {
    delete ready;
    return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
    delete graph;
    return cudaSuccess;
}

/* ---- launches ---- */

static std::map<const void *, size_t> &granted_shared() {
    static auto *const granted = new std::map<const void *, size_t>();
    return *granted;
}

cudaError_t cudaFuncSetAttribute(const void *kernel, enum cudaFuncAttribute name, int value) {
    const Guard guard(lock);
    if (name == cudaFuncAttributeNonPortableClusterSizeAllowed)
        return cudaSuccess;
    if (value < 0 || (size_t)value > shared_limit)
        return fail(cudaErrorInvalidValue);
    granted_shared()[kernel] = (size_t)value;
    return cudaSuccess;
}

cudaError_t emu_launch(const void *kernel, cudaStream_t stream, const emu_grid &shape) {
    const Guard guard(lock);
    const size_t granted = granted_shared().count(kernel) ? granted_shared()[kernel] : 0;
    if (!fits(shape) || (shape.shared_bytes > shared_default && shape.shared_bytes > granted))
        return fail(cudaErrorInvalidValue);
    if (!is_stream(stream))
        return fail(cudaErrorInvalidResourceHandle);
    queue(stream_of(stream), [=](EmuStream *s) {
        Grid *const grid = new_grid(shape, nullptr);
        grid->seen = s->seen;
        grid->then = [=] {
            s->seen = grid->seen;
            s->busy = false;
        };
        s->busy = true;
        start(grid);
    });
    return cudaSuccess;
}

cudaError_t emu_set_constant(void *constant, const void *value, size_t bytes, cudaStream_t stream) {
    const Guard guard(lock);
    if (!is_stream(stream))
        return fail(cudaErrorInvalidResourceHandle);
    const auto copy = std::make_shared<std::string>((const char *)value, bytes);
    queue(stream_of(stream), [=](EmuStream *) { memcpy(constant, copy->data(), bytes); });
    return cudaSuccess;
}
