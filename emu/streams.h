/* SPDX-License-Identifier: Apache-2.0 */
/* Streams: queues of operations, each run at some point after the one before it. */
#ifndef EMU_STREAMS_H
#define EMU_STREAMS_H

#include <deque>
#include <memory>

#include "emu.h"

/* One recording of an event; waits hold on to the one they saw. */
struct EmuRecording {
    bool done = false;
    emu::Seen seen; /* by the stream, of what was done before */
};

struct EmuOperation {
    std::function<void(EmuStream *)> run; /* empty for a wait */
    std::shared_ptr<EmuRecording> wait;   /* what has to be done before */
    emu::Seen host;                       /* what the host had seen when it queued this */
};

struct EmuGraph {
    std::vector<EmuOperation> operations;
    std::vector<std::shared_ptr<emu::Piece>> memory;
};

struct EmuStream {
    int device;
    std::deque<EmuOperation> queue;
    std::unique_ptr<EmuGraph> capture; /* where operations go meanwhile */
    bool busy = false;                 /* a kernel of it runs */
    emu::Seen seen;
    /* Who makes its copies, in the eyes of the checks. */
    emu::Grid grid;
    emu::Block block;
    emu::Fibre fibre;
};

struct EmuEvent {
    std::shared_ptr<EmuRecording> latest = std::make_shared<EmuRecording>();
    double time = 0;
};

struct EmuPool {
    int device;
};

namespace emu {

bool is_stream(cudaStream_t stream);
EmuStream *stream_of(cudaStream_t stream); /* NULL: the current device's default stream */
void queue(EmuStream *stream, std::function<void(EmuStream *)> run);
/* The same for a copy or memset, whose accesses are checked as those of a thread `what`. */
void queue_copy(EmuStream *stream, const char *what, std::function<void()> run);
/* Runs queued work, of this stream and as it happens of others, until the stream is empty. */
void drain(EmuStream *stream);
void drain_all();
/* Runs one operation somewhere, if there is one that may run, and maybe others beside it. */
bool step(EmuStream *preferred);
int current_device();
/* Records an error for cudaGetLastError, and gives it back. */
cudaError_t fail(cudaError_t error);

} // namespace emu

#endif
