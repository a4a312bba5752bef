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

/* All of them have their turn where no other thread has one: what they wait for may be done by the
 * host, or they may count how often they look. */
void emu::wake_spinning(bool is_idle) {
    if (aside.empty() || (!is_idle && ++turns < aside.size()))
        return;
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
    if (is_idle && woken == 0) {
        std::for_each(aside.begin(), aside.end(), make_ready);
        kept = 0;
    }
    aside.resize(kept);
}
