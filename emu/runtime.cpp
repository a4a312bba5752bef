/* SPDX-License-Identifier: Apache-2.0 */
/* The stand-in runtime. Nothing runs when it is queued: work is done when the host waits or asks,
 * one operation at a time from streams drawn from the seed, so that an order which no event
 * enforces does not come about by itself. */
#include "emu.h"

#include <map>
#include <string.h>
#include <utility>

using namespace emu;
using Guard = std::lock_guard<std::recursive_mutex>;

/* One recording of an event; waits hold on to the one they saw. */
struct Recording {
    bool done;
    Seen seen; /* by the stream, of what was done before */
};

struct Operation {
    std::function<void(EmuStream *)> run; /* empty for a wait */
    std::shared_ptr<Recording> wait;      /* what has to be done before */
    Seen host;                            /* what the host had seen when it queued this */
};

struct EmuGraph {
    std::vector<Operation> operations;
    std::vector<std::shared_ptr<Piece>> memory;
};

struct EmuStream {
    int device;
    std::deque<Operation> queue;
    std::unique_ptr<EmuGraph> capture; /* where operations go meanwhile */
    bool busy = false;                 /* a kernel of it runs */
    Seen seen;
    /* Who makes its copies, in the eyes of the checks. */
    Grid grid;
    Cluster cluster;
    Block block;
    Fibre fibre;
};

struct EmuEvent {
    std::shared_ptr<Recording> latest;
};

struct EmuPool {};

constexpr size_t longest_queue = 64;
constexpr unsigned stream_slots = (1 << 14) - most_blocks, most_devices = 64;
static std::vector<EmuStream *> streams;
static EmuStream *defaults[most_devices];
static Seen host_seen; /* by all threads of the host together */
static __thread cudaError_t last_error;
static __thread int device_now;
static uint64_t devices_in_use; /* a bit each */

static cudaError_t fail(cudaError_t error) {
    if (error != cudaSuccess)
        last_error = error;
    return error;
}

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
    return fail(*count > 0 ? cudaSuccess : cudaErrorNoDevice);
}

cudaError_t cudaGetDevice(int *device) {
    *device = device_now;
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
    const Guard guard(lock);
    if (device < 0 || device >= settings.devices)
        return fail(cudaErrorInvalidDevice);
    device_now = device;
    devices_in_use |= (uint64_t)1 << device;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr name, int device) {
    static const int values[] = {
        /* in the order of the names */
        shared_default, shared_limit, emu_multiprocessors, 1 << 20, cudaComputeModeDefault, 9, 0, 1,
        threads_of_slot};
    if (device < 0 || device >= settings.devices)
        return fail(cudaErrorInvalidDevice);
    *value = values[name];
    return cudaSuccess;
}

cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer) {
    *can = device != peer;
    return cudaSuccess;
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned) {
    return fail(peer == device_now ? cudaErrorInvalidDevice : cudaSuccess);
}

static CUresult context_state(int device, unsigned *, int *active) {
    *active = (int)(devices_in_use >> device & 1);
    return CUDA_SUCCESS;
}

cudaError_t cudaGetDriverEntryPointByVersion(const char *, void **entry, unsigned,
                                             unsigned long long,
                                             enum cudaDriverEntryPointQueryResult *found) {
    *entry = (void *)context_state; /* the one driver call that weft makes */
    *found = cudaDriverEntryPointSuccess;
    return cudaSuccess;
}

/* ---- queues ---- */

static EmuStream *new_stream() {
    static unsigned made;
    EmuStream *const s = new EmuStream();
    s->device = device_now;
    s->block.grid = &s->grid;
    s->block.cluster = &s->cluster;
    s->fibre.block = &s->block;
    s->block.slot = most_blocks + made++ % stream_slots;
    streams.push_back(s);
    return s;
}

/* Does it with the stream, the current device's default one for NULL, under the lock. */
template <class Do>
static cudaError_t on(cudaStream_t stream, Do what) {
    const Guard guard(lock);
    if (stream && std::find(streams.begin(), streams.end(), stream) == streams.end())
        return fail(cudaErrorInvalidResourceHandle);
    if (!stream && !defaults[device_now])
        defaults[device_now] = new_stream();
    return fail(what(stream ? stream : defaults[device_now]));
}

static bool can_run(const EmuStream *s) {
    return !s->busy && !s->queue.empty() && (!s->queue.front().wait || s->queue.front().wait->done);
}

/* Runs a stream's next operation, or starts it if it is a kernel: of one drawn from those that can,
 * or as the policy has it. False if there is none. */
static bool begin_next(EmuStream *preferred) {
    std::vector<EmuStream *> able;
    std::copy_if(streams.begin(), streams.end(), std::back_inserter(able), can_run);
    if (able.empty())
        return false;
    EmuStream *s = able[random_below(able.size())];
    if (settings.policy == REVERSED)
        s = able.back();
    if (settings.policy == IN_ORDER && preferred && can_run(preferred))
        s = preferred;
    const Operation operation = s->queue.front();
    s->queue.pop_front();
    s->seen = joined(s->seen, operation.host);
    if (operation.wait)
        s->seen = joined(s->seen, operation.wait->seen);
    else
        operation.run(s);
    return true;
}

/* One operation and, while kernels run, maybe others beside them. */
static bool step(EmuStream *preferred) {
    if (!begin_next(preferred))
        return false;
    while (!running.empty() || !waiting.empty()) {
        const bool more = settings.policy == REVERSED || random_below(2);
        if (settings.policy == IN_ORDER || !(more && begin_next(nullptr)))
            run_grids(settings.policy != IN_ORDER &&
                      std::any_of(streams.begin(), streams.end(), can_run));
    }
    return true;
}

/* Works until that is done, and lets the host see what `by` has. */
template <class Done>
static cudaError_t work_until(EmuStream *preferred, const Seen &by, Done done) {
    while (!done())
        if (!step(preferred))
            report(nullptr,
                   "deadlock: the host or a stream waits for an event that no stream will record");
    host_seen = joined(host_seen, by);
    return cudaSuccess;
}

static cudaError_t drain(EmuStream *s) {
    return work_until(s, s->seen, [=] { return s->queue.empty(); });
}

static cudaError_t drain_all() {
    while (step(nullptr)) {
    }
    for (const EmuStream *s : streams)
        host_seen = joined(host_seen, s->seen);
    return cudaSuccess;
}

static cudaError_t queue(EmuStream *s, std::function<void(EmuStream *)> run,
                         std::shared_ptr<Recording> wait = nullptr) {
    if (s->capture) {
        s->capture->operations.push_back({run, wait, nullptr});
        return cudaSuccess;
    }
    s->queue.push_back({run, wait, host_seen});
    while (s->queue.size() > longest_queue && step(s)) {
    }
    return cudaSuccess;
}

/* A copy or memset, whose accesses are checked as those of a thread `what`. */
static cudaError_t queue_copy(EmuStream *stream, const char *what, std::function<void()> run) {
    return queue(stream, [=](EmuStream *s) {
        const auto seen = std::make_shared<Known>(s->seen ? *s->seen : Known());
        s->grid.shape.what = what;
        s->fibre.seen = s->seen;
        s->fibre.time = next_time();
        self = &s->fibre;
        run();
        self = nullptr;
        note_end(s->block.slot, seen.get());
        s->seen = seen;
    });
}

/* ---- streams, events, graphs ---- */

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned) {
    const Guard guard(lock);
    *stream = new_stream();
    return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    return on(stream, [=](EmuStream *s) {
        if (!stream)
            return cudaErrorInvalidResourceHandle;
        drain(s);
        streams.erase(std::find(streams.begin(), streams.end(), s));
        delete s;
        return cudaSuccess;
    });
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    return on(stream, [](EmuStream *s) {
        return s->capture ? cudaErrorStreamCaptureUnsupported : drain(s);
    });
}

cudaError_t cudaDeviceSynchronize(void) {
    const Guard guard(lock);
    return drain_all();
}

cudaError_t cudaStreamGetDevice(cudaStream_t stream, int *device) {
    return on(stream, [=](EmuStream *s) {
        *device = s->device;
        return cudaSuccess;
    });
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
        const auto latest = event->latest = std::make_shared<Recording>();
        return queue(s, [=](EmuStream *by) { *latest = {true, by->seen}; });
    });
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
    return on(stream, [=](EmuStream *s) { return queue(s, nullptr, event->latest); });
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
    const Guard guard(lock);
    if (!event->latest->done)
        step(nullptr);
    return event->latest->done ? cudaEventSynchronize(event) : fail(cudaErrorNotReady);
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    const Guard guard(lock);
    const Recording &latest = *event->latest;
    return work_until(nullptr, latest.seen, [&] { return latest.done; });
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode) {
    return on(stream, [=](EmuStream *s) {
        if (!stream)
            return cudaErrorStreamCaptureUnsupported;
        s->capture = std::make_unique<EmuGraph>();
        return cudaSuccess;
    });
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph) {
    return on(stream, [=](EmuStream *s) {
        *graph = s->capture.release();
        return *graph ? cudaSuccess : cudaErrorInvalidValue;
    });
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *status) {
    return on(stream, [=](EmuStream *s) {
        *status = s->capture ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
        return cudaSuccess;
    });
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *ready, cudaGraph_t graph, unsigned long long) {
    *ready = new EmuGraph(*graph);
    return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t ready, cudaStream_t stream) {
    return on(stream, [=](EmuStream *s) {
        for (const Operation &operation : ready->operations)
            queue(s, operation.run, operation.wait);
        return queue(s, [keep = ready->memory](EmuStream *) {});
    });
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
    const Guard guard(lock); /* its memory may go with it */
    delete graph;
    return cudaSuccess;
}

/* ---- memory ---- */

static cudaError_t allocate(void **p, size_t bytes, bool pinned) {
    const Guard guard(lock);
    devices_in_use |= (uint64_t)1 << device_now;
    Piece *const piece = bytes ? take(bytes, pinned, device_now) : nullptr;
    *p = piece ? (void *)piece->begin : nullptr;
    return fail(piece || !bytes ? cudaSuccess : cudaErrorMemoryAllocation);
}

cudaError_t cudaMalloc(void **p, size_t bytes) {
    return allocate(p, bytes, false);
}

cudaError_t cudaMallocHost(void **p, size_t bytes) {
    return allocate(p, bytes, true);
}

cudaError_t cudaHostAlloc(void **p, size_t bytes, unsigned) {
    return allocate(p, bytes, true);
}

/* What a graph takes keeps its place until the graph is gone, with all that is queued of it. What
 * was written there is forgotten whenever the graph takes it or gives it back. */
cudaError_t cudaMallocAsync(void **p, size_t bytes, cudaStream_t stream) {
    return on(stream, [=](EmuStream *s) {
        const cudaError_t error = allocate(p, bytes, false);
        if (!*p || !s->capture)
            return error;
        Piece *const piece = find_piece(*p);
        piece->of_graph = true;
        s->capture->memory.emplace_back(piece, release);
        return queue(s, [=](EmuStream *) { forget(piece); });
    });
}

cudaError_t cudaMallocFromPoolAsync(void **p, size_t bytes, cudaMemPool_t, cudaStream_t stream) {
    return cudaMallocAsync(p, bytes, stream);
}

/* On the stream or, if that is NULL, at once, when all that is queued is done. */
static cudaError_t free_piece(void *p, bool pinned, EmuStream *s, Where caller) {
    const Guard guard(lock);
    Piece *const piece = find_piece(p);
    devices_in_use |= (uint64_t)1 << device_now;
    if (!p)
        return cudaSuccess;
    if (!piece || piece->begin != (uintptr_t)p || piece->pinned != pinned)
        return fail(cudaErrorInvalidValue);
    if (piece->dead || piece->freeing)
        report(caller, "double free of an allocation of %zu bytes", piece->bytes);
    if (s && s->capture && piece->of_graph)
        return queue(s, [=](EmuStream *) { forget(piece); });
    if (s && (s->capture || piece->of_graph))
        return fail(cudaErrorInvalidValue);
    piece->freeing = true;
    if (s)
        return queue(s, [=](EmuStream *) { release(piece); });
    drain_all();
    release(piece);
    return cudaSuccess;
}

cudaError_t cudaFree(void *p) {
    return free_piece(p, false, nullptr, __builtin_return_address(0));
}

cudaError_t cudaFreeHost(void *p) {
    return free_piece(p, true, nullptr, __builtin_return_address(0));
}

cudaError_t cudaFreeAsync(void *p, cudaStream_t stream) {
    const Where caller = __builtin_return_address(0);
    return on(stream, [=](EmuStream *s) { return free_piece(p, false, s, caller); });
}

cudaError_t cudaHostRegister(void *p, size_t bytes, unsigned) {
    const Guard guard(lock);
    if (!p || !bytes)
        return fail(cudaErrorInvalidValue);
    pin(p, bytes);
    return cudaSuccess;
}

cudaError_t cudaHostUnregister(void *p) {
    const Guard guard(lock);
    return fail(unpin(p) ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t *pool, const struct cudaMemPoolProps *) {
    *pool = new EmuPool();
    return cudaSuccess;
}

cudaError_t emu_ignore(const void *) {
    return cudaSuccess;
}

cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) {
    delete pool;
    return cudaSuccess;
}

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *p) {
    const Guard guard(lock);
    const Piece *const piece = live_piece(p);
    void *const same = (void *)(uintptr_t)p;
    *attributes = {cudaMemoryTypeUnregistered, -1, nullptr, nullptr};
    if (piece && piece->pinned)
        *attributes = {cudaMemoryTypeHost, piece->device, same, same};
    else if (piece && !piece->of_graph) /* drivers do not know what a capture took */
        *attributes = {cudaMemoryTypeDevice, piece->device, same, nullptr};
    return cudaSuccess;
}

/* ---- copies and launches ---- */

cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                              size_t width, size_t height, enum cudaMemcpyKind,
                              cudaStream_t stream) {
    return on(stream, [=](EmuStream *s) {
        if (width == 0 || height == 0)
            return cudaSuccess;
        if (!to || !from || width > to_pitch || width > from_pitch)
            return cudaErrorInvalidValue;
        queue_copy(s, "copy", [=] {
            for (size_t row = 0; row < height; row++)
                copy_row((char *)to + row * to_pitch, (const char *)from + row * from_pitch, width);
        });
        const bool waits = !s->capture && (!live_piece(to) || !live_piece(from)); /* pageable */
        return waits ? drain(s) : cudaSuccess;
    });
}

cudaError_t cudaMemsetAsync(void *p, int value, size_t bytes, cudaStream_t stream) {
    return on(stream, [=](EmuStream *s) {
        if (bytes && !live_piece(p))
            return cudaErrorInvalidValue;
        return queue_copy(s, "memset", [=] { set_row(p, value, bytes); });
    });
}

cudaError_t emu_set_constant(void *constant, const void *value, size_t bytes, cudaStream_t stream) {
    const std::string copy((const char *)value, bytes);
    return on(stream, [=](EmuStream *s) {
        return queue(s, [=](EmuStream *) { memcpy(constant, copy.data(), bytes); });
    });
}

static std::map<const void *, size_t> granted_shared; /* to kernels */

cudaError_t cudaFuncSetAttribute(const void *kernel, enum cudaFuncAttribute name, int value) {
    const Guard guard(lock);
    if (name == cudaFuncAttributeNonPortableClusterSizeAllowed)
        return cudaSuccess;
    if (value < 0 || (size_t)value > shared_limit)
        return fail(cudaErrorInvalidValue);
    granted_shared[kernel] = (size_t)value;
    return cudaSuccess;
}

cudaError_t emu_launch(const void *kernel, cudaStream_t stream, const emu_grid &shape) {
    return on(stream, [&](EmuStream *s) {
        if (!fits(shape) || shape.shared_bytes > std::max(shared_default, granted_shared[kernel]))
            return cudaErrorInvalidValue;
        return queue(s, [=](EmuStream *by) {
            Grid *const grid = new Grid();
            grid->shape = shape;
            grid->seen = by->seen;
            grid->then = [=](const Seen &seen) {
                by->seen = seen;
                by->busy = false;
            };
            by->busy = true;
            waiting.push_back(grid);
        });
    });
}
