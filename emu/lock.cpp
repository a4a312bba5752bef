/* SPDX-License-Identifier: Apache-2.0 */
/* The runtime's lock. Kernels run under it; where all that is left of them waits for another host
 * thread, whoever runs them passes the lock on. */
#include "emu.h"

using namespace emu;

void Lock::take(std::unique_lock<std::mutex> &held, unsigned times) {
    waiting++;
    changed.wait(held, [this] { return depth == 0; });
    waiting--;
    owner = std::this_thread::get_id();
    depth = times;
    if (turns++, passing > 0)
        changed.notify_all();
}

void Lock::lock() {
    std::unique_lock<std::mutex> held(inner);
    if (depth > 0 && owner == std::this_thread::get_id())
        depth++;
    else
        take(held, 1);
}

void Lock::unlock() {
    const std::unique_lock<std::mutex> held(inner);
    if (--depth > 0)
        return;
    if (passing > 0)
        changed.notify_all();
    else if (waiting > 0) /* for the same */
        changed.notify_one();
}

void Lock::pass() {
    constexpr auto pause = std::chrono::microseconds(20);
    std::unique_lock<std::mutex> held(inner);
    const unsigned times = std::exchange(depth, 0);
    const uint64_t before = turns;
    passing++;
    changed.notify_all();
    if (waiting > 0)
        changed.wait(held, [=] { return turns != before; });
    else
        changed.wait_for(held, pause);
    passing--;
    take(held, times);
}
