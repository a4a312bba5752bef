/* SPDX-License-Identifier: Apache-2.0 */
/* A process that has ended is seen by its file descriptor (pidfd_open), which becomes readable
 * then: whatever ended it, and no matter whether anybody has waited for it. */
#include "comm/peers.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/core.h"

struct wi_peers {
    int count;
    int *rank;           /* of each that is watched */
    struct pollfd *poll; /* fd -1: it had ended before it could be watched */
};

static uint64_t hash(uint64_t h, const void *p, size_t n) {
    const unsigned char *const bytes = p;
    for (size_t i = 0; i < n; i++)
        h = (h ^ bytes[i]) * 0x100000001b3; /* FNV-1a */
    return h;
}

wi_peer wi_peer_self(void) {
    char boot[64] = "", name[256] = "";
    struct stat space = {0};
    FILE *const f = fopen("/proc/sys/kernel/random/boot_id", "r");
    if (f) {
        if (!fgets(boot, sizeof boot, f))
            boot[0] = '\0';
        fclose(f);
    }
    gethostname(name, sizeof name - 1);
    stat("/proc/self/ns/pid", &space);
    uint64_t machine = hash(0xcbf29ce484222325, boot, strlen(boot));
    if (boot[0] == '\0')
        machine = hash(machine, name, strlen(name));
    machine = hash(machine, &space.st_ino, sizeof space.st_ino);
    return (wi_peer){machine, (uint64_t)getpid()};
}

static int watch(uint64_t process) {
#ifdef SYS_pidfd_open
    return (int)syscall(SYS_pidfd_open, (pid_t)process, 0);
#else
    (void)process;
    errno = ENOSYS;
    return -1;
#endif
}

wi_peers *wi_peers_open(const wi_peer *all, int size) {
    const size_t room = sizeof(wi_peers) + (size_t)size * (sizeof(struct pollfd) + sizeof(int));
    wi_peers *const peers = wi_host_alloc(room);
    if (!peers)
        return NULL;
    const wi_peer self = wi_peer_self();
    peers->count = 0;
    peers->poll = (struct pollfd *)(void *)(peers + 1);
    peers->rank = (int *)(void *)(peers->poll + size);
    for (int r = 0; r < size; r++) {
        if (all[r].machine != self.machine || all[r].process == self.process)
            continue;
        const int fd = watch(all[r].process);
        if (fd < 0 && errno != ESRCH)
            continue;
        peers->poll[peers->count] = (struct pollfd){.fd = fd, .events = POLLIN};
        peers->rank[peers->count++] = r;
    }
    return peers;
}

void wi_peers_close(wi_peers *peers) {
    if (!peers)
        return;
    for (int k = 0; k < peers->count; k++) {
        if (peers->poll[k].fd >= 0)
            close(peers->poll[k].fd);
    }
    wi_host_free(peers);
}

int wi_peers_ended(const wi_peers *peers) {
    for (int k = 0; k < peers->count; k++) {
        if (peers->poll[k].fd < 0)
            return peers->rank[k];
    }
    if (peers->count > 0 && poll(peers->poll, (nfds_t)peers->count, 0) > 0) {
        for (int k = 0; k < peers->count; k++) {
            if (peers->poll[k].revents != 0)
                return peers->rank[k];
        }
    }
    return -1;
}
