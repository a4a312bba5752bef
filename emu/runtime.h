/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the stand-in runtime share: streams and what is queued on them. runtime.cpp has
 * streams, events, graphs, copies and launches; runtime_memory.cpp has memory. */
#ifndef EMU_RUNTIME_H
#define EMU_RUNTIME_H

#include "emu.h"

#include <chrono>
#include <set>

/* One recording of an event; a wait refers to the recording that was current when it was queued. */
struct Recording {
    bool done;
    emu::Seen seen; /* what the stream had done and seen */
    std::chrono::steady_clock::time_point when = {};
};

/* An operation of a stream: it waits for a recording, makes one, and runs a kernel, or a single
 * thread that copies or frees; each part is optional. */
struct Operation {
    emu_grid shape;
    std::shared_ptr<Recording> wait, record;
    emu::Seen host; /* what the host had seen when it queued this */
};

struct EmuGraph : std::deque<Operation> {};

struct EmuStream {
    int device;
    bool blocking; /* ordered with the device's default stream */
    std::deque<Operation> queue;
    std::unique_ptr<EmuGraph> capture; /* during a capture, operations go there */
    bool busy;                         /* its grid is running */
    emu::Seen seen;
    std::set<EmuStream *> behind; /* it must wait for the latest operations of these streams */
};

namespace emu {

extern __thread cudaError_t last_error;
extern __thread int device_now;

/* Runs f under the lock, unless a kernel has failed. Returns the error, and keeps it for
 * cudaGetLastError. */
template <class Do>
cudaError_t call(Do what) {
    const Guard guard(lock);
    cudaError_t error = cudaSuccess;
    if (lost == cudaSuccess) {
        if constexpr (std::is_void_v<decltype(what())>)
            what();
        else
            error = what();
    }
    if (lost != cudaSuccess)
        error = lost;
    if (error != cudaSuccess)
        last_error = error;
    return error;
}

/* The stream, or the current device's default stream for NULL; NULL if there is no such stream. */
EmuStream *stream_of(cudaStream_t stream);

/* Runs f with the stream; NULL is the current device's default stream. */
template <class Do>
cudaError_t on(cudaStream_t stream, Do what) {
    return call([&] {
        EmuStream *const s = stream_of(stream);
        return s ? call([&] { return what(s); }) : cudaErrorInvalidResourceHandle;
    });
}

/* Works until nothing is queued; or nothing on the current device. */
void drain_all();
void drain_device();

/* Queues an operation, or the work of a single thread. */
void queue(EmuStream *s, Operation operation);
void queue(EmuStream *s, const char *what, std::function<void()> body);

/* Frees all of emu's memory and closes its pools. */
void forget_memory();

} // namespace emu

#endif
