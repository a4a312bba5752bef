/* SPDX-License-Identifier: Apache-2.0 */
/* The stand-in for the CUDA runtime. Nothing runs when it is queued: work is done when the host
 * waits or asks, one operation at a time from streams chosen by the seed, so that an order which no
 * event enforces does not come about by chance. */
#include "runtime.h"

#include <cudaTypedefs.h>

#include <stdlib.h>
#include <string.h>
#include <utility>

#include "emu_faults.h"

using namespace emu;

struct EmuEvent {
    std::shared_ptr<Recording> latest;
};

Lock emu::lock;
static auto &streams = *new std::vector<EmuStream *>();    /* never freed */
static auto &defaults = *new std::map<int, EmuStream *>(); /* one for each device */
static Seen host_seen;                                     /* of all host threads together */
__thread cudaError_t emu::last_error;
__thread int emu::device_now;

/* ---- errors and devices ---- */

cudaError_t cudaGetLastError(void) {
    return std::exchange(last_error, cudaSuccess);
}

cudaError_t cudaPeekAtLastError(void) {
    return last_error;
}

const char *cudaGetErrorName(cudaError_t error) {
#define EMU_NAME(name) #name
    static const char *const names[] = {EMU_ERRORS(EMU_NAME)};
    return names[error];
}

cudaError_t cudaGetDeviceCount(int *count) {
    *count = settings.devices;
    return call([=] { return *count > 0 ? cudaSuccess : cudaErrorNoDevice; });
}

cudaError_t cudaGetDevice(int *device) {
    *device = device_now;
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
    return call([=] {
        if (device < 0 || device >= settings.devices)
            return cudaErrorInvalidDevice;
        device_now = device;
        return cudaSuccess;
    });
}

/* ---- queues ---- */

static EmuStream *new_stream(bool blocking) {
    streams.push_back(new EmuStream{device_now, blocking, {}, nullptr, false, nullptr, {}});
    return streams.back();
}

EmuStream *emu::stream_of(cudaStream_t stream) {
    if (!stream && !defaults[device_now])
        defaults[device_now] = new_stream(false);
    EmuStream *const s = stream ? stream : defaults[device_now];
    return std::find(streams.begin(), streams.end(), s) == streams.end() ? nullptr : s;
}

static bool can_run(const EmuStream *s) {
    return !s->busy && !s->queue.empty() && (!s->queue.front().wait || s->queue.front().wait->done);
}

/* Starts the next operation of a stream, chosen among those that can, as the policy says. False if
 * there is none. */
static bool begin_next() {
    std::vector<EmuStream *> able;
    std::copy_if(streams.begin(), streams.end(), std::back_inserter(able), can_run);
    if (able.empty())
        return false;
    EmuStream *const s = settings.policy == IN_ORDER   ? able.front()
                         : settings.policy == REVERSED ? able.back()
                                                       : able[random_below(able.size())];
    const Operation operation = s->queue.front();
    s->queue.pop_front();
    s->seen = joined(s->seen, operation.host);
    if (operation.wait)
        s->seen = joined(s->seen, operation.wait->seen);
    if (operation.record)
        *operation.record = {true, s->seen, std::chrono::steady_clock::now()};
    if (!operation.shape.body || lost != cudaSuccess)
        return true;
    s->busy = true;
    Grid *const grid = new Grid{operation.shape, s->seen, [=](const Seen &seen) {
                                    s->seen = seen;
                                    s->busy = false;
                                }};
    grid->device = s->device;
    launch(grid);
    return true;
}

void emu::begin_others() {
    while (settings.policy == REVERSED || (settings.policy != IN_ORDER && random_below(2)))
        if (!begin_next())
            return;
}

/* Kernels wait for what other host threads will do: queue another kernel, or write to pinned
 * memory. These get the lock. */
static void let_others_work(bool is_idle) {
    using clock = std::chrono::steady_clock;
    constexpr auto longest = std::chrono::seconds(200);
    static clock::time_point since;
    const clock::time_point now = clock::now();
    if (!is_idle)
        since = now;
    else if (now - since > longest)
        report_waits("deadlock: threads wait for other devices or the host, which do nothing");
    else
        lock.pass();
}

/* Runs one operation and maybe, while its kernel runs, others at the same time. False if there is
 * nothing to run. */
static bool step() {
    const uint64_t before = steps;
    const bool begun = begin_next();
    if (!begun && grids.empty())
        return false;
    begin_others();
    run_grids();
    let_others_work(!begun && steps - before <= 1); /* the look at those that wait was one */
    return true;
}

/* Works until `done`, and makes visible to the host what `by` has seen. */
template <class Done>
static void work_until(const Seen &by, Done done) {
    while (!done())
        if (!step())
            report(nullptr,
                   "deadlock: the host or a stream waits for an event that no stream will record");
    host_seen = joined(host_seen, by);
}

static bool is_idle(const EmuStream *s) {
    return s->queue.empty() && !s->busy;
}

static void drain(EmuStream *s) {
    work_until(s->seen, [=] { return is_idle(s); });
}

/* Others may open and close streams in the meantime. */
static void drain_if(bool (*wanted)(const EmuStream *)) {
    const std::vector<EmuStream *> all = streams;
    for (EmuStream *s : all)
        if (std::find(streams.begin(), streams.end(), s) != streams.end() && wanted(s))
            drain(s);
}

void emu::drain_all() {
    drain_if([](const EmuStream *) { return true; });
}

void emu::drain_device() {
    drain_if([](const EmuStream *s) { return s->device == device_now; });
}

/* The default stream and the blocking streams of its device: an operation queued on one waits for
 * all that was queued before on the other. */
static void keep_default_order(EmuStream *s) {
    EmuStream *const legacy = defaults[s->device];
    if (!legacy || s->capture || !(s == legacy || s->blocking))
        return;
    for (EmuStream *before : s->behind) {
        const auto recording = std::make_shared<Recording>();
        before->queue.push_back({{}, nullptr, recording, host_seen});
        s->queue.push_back({{}, recording, nullptr, host_seen});
    }
    s->behind.clear();
    for (EmuStream *other : streams)
        if (other->device == s->device && (s == legacy ? other->blocking : other == legacy))
            other->behind.insert(s);
}

void emu::queue(EmuStream *s, Operation operation) {
    keep_default_order(s);
    operation.host = host_seen;
    (s->capture ? *s->capture : s->queue).push_back(operation);
}

void emu::queue(EmuStream *s, const char *what, std::function<void()> body) {
    queue(s, {{what, 1, 1, 1, 0, body}, nullptr, nullptr, nullptr});
}

/* ---- streams, events, graphs ---- */

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags) {
    return call([=] {
        const cudaError_t error = planted_now(EMU_AT_OPEN);
        if (error == cudaSuccess)
            *stream = new_stream(flags != cudaStreamNonBlocking);
        return error;
    });
}

/* The seed decides what runs first. */
cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned flags, int) {
    return cudaStreamCreateWithFlags(stream, flags);
}

cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest) {
    *least = 0;
    *greatest = -5;
    return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    return on(stream, [](EmuStream *s) {
        drain(s);
        streams.erase(std::find(streams.begin(), streams.end(), s));
        for (EmuStream *other : streams)
            other->behind.erase(s);
        delete s;
    });
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    return on(stream, [](EmuStream *s) {
        if (s->capture)
            return cudaErrorStreamCaptureUnsupported;
        drain(s);
        return cudaSuccess;
    });
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
    return on(stream, [](EmuStream *s) {
        if (!is_idle(s))
            step();
        if (!is_idle(s))
            return cudaErrorNotReady;
        drain(s);
        return cudaSuccess;
    });
}

cudaError_t cudaDeviceSynchronize(void) {
    return call(drain_all);
}

cudaError_t cudaStreamGetDevice(cudaStream_t stream, int *device) {
    return on(stream, [=](EmuStream *s) { *device = s->device; });
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned) {
    *event = new EmuEvent{std::make_shared<Recording>(Recording{true, nullptr})};
    return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
    delete event;
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    return on(stream, [=](EmuStream *s) {
        event->latest = std::make_shared<Recording>();
        queue(s, {{}, nullptr, event->latest, nullptr});
    });
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
    return on(stream, [=](EmuStream *s) { queue(s, {{}, event->latest, nullptr, nullptr}); });
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    return call([=] {
        const Recording &latest = *event->latest;
        work_until(latest.seen, [&] { return latest.done; });
    });
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
    return call([=] {
        if (!event->latest->done)
            step();
        return event->latest->done ? cudaEventSynchronize(event) : cudaErrorNotReady;
    });
}

cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t start, cudaEvent_t end) {
    return call([=] {
        if (!start->latest->done || !end->latest->done)
            return cudaErrorNotReady;
        const std::chrono::duration<float, std::milli> between =
            end->latest->when - start->latest->when;
        *milliseconds = between.count();
        return cudaSuccess;
    });
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode) {
    return on(stream, [](EmuStream *s) { s->capture = std::make_unique<EmuGraph>(); });
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph) {
    return on(stream, [=](EmuStream *s) { *graph = s->capture.release(); });
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *status) {
    constexpr auto yes = cudaStreamCaptureStatusActive, no = cudaStreamCaptureStatusNone;
    return on(stream, [=](EmuStream *s) { *status = s->capture ? yes : no; });
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *ready, cudaGraph_t graph, unsigned long long) {
    *ready = new EmuGraph(*graph);
    return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t ready, cudaStream_t stream) {
    return on(stream, [=](EmuStream *s) {
        for (const Operation &operation : *ready)
            queue(s, operation);
        queue(s, "end of a graph", [keep = *ready] {});
    });
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
    return call([=] { delete graph; }); /* memory that it owns may be freed with it */
}

/* ---- copies and launches ---- */

cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                              size_t width, size_t height, enum cudaMemcpyKind,
                              cudaStream_t stream) {
    const Where caller = __builtin_return_address(0);
    return on(stream, [=](EmuStream *s) {
        const Piece *const target = live_piece(to);
        const bool pinned = target && target->pinned;
        queue(s, "copy", [=] {
            for (size_t row = 0; row < height; row++) {
                void *const to_row = (char *)to + row * to_pitch;
                const void *const from_row = (const char *)from + row * from_pitch;
                check_access(from_row, width, EMU_READ, false, caller, "copy");
                check_access(to_row, width, EMU_WRITE, false, caller, "copy");
                move_bytes(to_row, from_row, width);
                if (pinned) /* the host may write there, which is not seen */
                    mark_written(to_row, width);
            }
        });
        if (!s->capture && (!live_piece(to) || !live_piece(from))) /* pageable memory */
            drain(s);
    });
}

cudaError_t cudaMemsetAsync(void *p, int value, size_t bytes, cudaStream_t stream) {
    const Where caller = __builtin_return_address(0);
    return on(stream, [=](EmuStream *s) {
        if (bytes && !live_piece(p))
            return cudaErrorInvalidValue;
        queue(s, "memset", [=] {
            check_access(p, bytes, EMU_WRITE, false, caller, "memset");
            memset(p, value, bytes);
        });
        return cudaSuccess;
    });
}

cudaError_t emu_set_constant(void *constant, const void *value, size_t bytes, cudaStream_t stream) {
    const std::string copy((const char *)value, bytes);
    return on(stream, [=](EmuStream *s) {
        queue(s, "constant", [=] { memcpy(constant, copy.data(), bytes); });
    });
}

/* CUDA_LAUNCH_BLOCKING: every launch waits for its kernel. */
static bool launches_block() {
    const char *const value = getenv("CUDA_LAUNCH_BLOCKING");
    return value && strcmp(value, "1") == 0;
}

cudaError_t emu_launch(const void *kernel, cudaStream_t stream, const emu_grid &asked) {
    return on(stream, [&](EmuStream *s) {
        emu_grid shape = asked;
        shape.kernel = kernel;
        const cudaError_t planted = planted_now(EMU_AT_LAUNCH);
        const cudaError_t error = planted == cudaSuccess ? refusal(kernel, shape) : planted;
        const cudaError_t fault = planted_now(EMU_IN_KERNEL);
        if (fault != cudaSuccess)
            queue(s, shape.what, [=] { lost = fault; });
        else if (error == cudaSuccess)
            queue(s, {shape, nullptr, nullptr, nullptr});
        if (launches_block() && !s->capture)
            drain(s);
        return error;
    });
}

void emu_replace_device(void) {
    const Guard guard(lock);
    forget_grids();
    for (EmuStream *s : streams)
        delete s;
    streams.clear();
    defaults.clear();
    forget_memory();
    forget_reach();
    last_error = cudaSuccess;
    forget_plants();
}
