// SPDX-License-Identifier: Apache-2.0
// Copies to shared memory that a thread starts and waits for itself (cp.async). Each ends as late
// as it may: in the wait that asks for it.
#include "emu.h"

using namespace emu;

void emu_async_copy(void *shared, const void *global, size_t bytes, size_t valid) {
    const Where caller = __builtin_return_address(0);
    if (((uintptr_t)shared | (valid ? (uintptr_t)global : 0)) % bytes != 0)
        report(caller, "asynchronous copy of %zu bytes from %p to %p: neither may be misaligned",
               bytes, global, shared);
    // a device reads all bytes of a copy of which only some are wanted, also beyond an array's end
    if (valid != 0 && valid != bytes)
        report(caller, "asynchronous copy of %zu of %zu bytes: all or none", valid, bytes);
    if (valid > 0)
        check_access(global, valid, EMU_READ, false, caller, "asynchronous copy");
    check_access(shared, bytes, EMU_WRITE, false, caller, "asynchronous copy");
    forget_marks(shared, bytes); // until the copy has ended
    self->fetches.push_back({shared, global, bytes, valid, self->fetch_groups});
}

void emu_async_commit() {
    self->fetch_groups++;
}

void emu_async_wait(unsigned pending) {
    const Where caller = __builtin_return_address(0);
    const unsigned closed = self->fetch_groups;
    const unsigned ended = closed > pending ? closed - pending : 0;
    size_t kept = 0;
    for (const Fetch &f : self->fetches) {
        if (f.group >= ended) {
            self->fetches[kept++] = f;
            continue;
        }
        check_access(f.shared, f.bytes, EMU_WRITE, false, caller, "asynchronous copy");
        move_bytes(f.shared, f.global, f.valid);
        memset((char *)f.shared + f.valid, 0, f.bytes - f.valid);
    }
    self->fetches.resize(kept);
}
