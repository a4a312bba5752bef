/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that spin. What such a thread has read decides whether it spins again: so it is put aside
 * until one of these words has changed, or until others wait for it where they meet. Otherwise most
 * turns would be those of threads that find what they found before. */
#include "emu.h"

#include <string.h>

using namespace emu;

static std::vector<Fibre *> aside;
static size_t turns; /* since those aside were last looked at */

void emu::note_look(const void *p, size_t bytes) {
    if (self->looks < most_looks && bytes <= sizeof self->look[0].found) {
        Look &look = self->look[self->looks];
        look.p = p;
        look.bytes = bytes;
        memcpy(look.found, p, bytes);
        self->looks++;
    } else {
        self->looks = most_looks + 1;
    }
}

/* Is everything that the thread read as it was then? Not known if it read too much, or nothing. */
static bool sees_the_same(const Fibre *f) {
    if (f->looks == 0 || f->looks > most_looks)
        return false;
    for (const Look *look = f->look; look < f->look + f->looks; look++)
        if (memcmp(look->p, look->found, look->bytes) != 0)
            return false;
    return true;
}

/* A thread may spin for what others of its warp have read, and tells them so where they meet. Once
 * it has looked again for their sake and not come, it waits for something of its own. */
static bool is_waited_for(const Fibre *f) {
    return !f->was_called && std::any_of(std::begin(f->groups), std::end(f->groups),
                                         [](const Group *group) { return group->waiting > 0; });
}

void emu_spin(emu_site at) {
    if (sees_the_same(self)) {
        rest(at, at.what, &aside);
    } else {
        spin(at, at.what);
    }
    self->looks = 0;
}

void emu_spin_far(emu_site at) {
    self->is_far = true;
    emu_spin(at);
    self->is_far = false;
}

void emu::forget_spinning() {
    aside.clear();
}

/* All of them have their turn where no other thread has one, for they may count how often they
 * look; but those that wait for other devices or for the host leave it to these. */
bool emu::wake_spinning(bool is_idle) {
    if (aside.empty() || (!is_idle && ++turns < aside.size()))
        return false;
    turns = 0;
    size_t kept = 0, woken = 0;
    for (Fibre *f : aside) {
        const bool is_called = is_waited_for(f);
        if (!is_called && sees_the_same(f)) {
            aside[kept++] = f;
            continue;
        }
        f->was_called = is_called;
        make_ready(f);
        woken++;
    }
    aside.resize(kept);
    if (!is_idle || woken > 0)
        return false;
    const auto far =
        std::partition(aside.begin(), aside.end(), [](const Fibre *f) { return f->is_far; });
    std::for_each(far, aside.end(), make_ready);
    const bool all_far = far == aside.end();
    aside.erase(far, aside.end());
    return all_far;
}
