/* SPDX-License-Identifier: Apache-2.0 */
/* Which ranks of this machine are still alive. A rank on another machine is not seen. */
#ifndef WI_PEERS_H
#define WI_PEERS_H

#include <stddef.h>
#include <stdint.h>

/* Tells one process from all others of a cluster. */
typedef struct wi_peer {
    uint64_t machine; /* a hash: of the system that runs, and of the space of process numbers */
    uint64_t process;
} wi_peer;

typedef struct wi_peers wi_peers;

wi_peer wi_peer_self(void);

/* Watches those of all[0 .. size) that are other processes of this machine. NULL: no memory. If the
 * system cannot watch processes (before Linux 5.3), none is ever seen to end. */
wi_peers *wi_peers_open(const wi_peer *all, int size);
void wi_peers_close(wi_peers *peers); /* NULL is allowed */

/* The lowest rank whose process has ended; -1: none has. */
int wi_peers_ended(const wi_peers *peers);

#endif
