/* SPDX-License-Identifier: Apache-2.0 */
/* Pages of memory, given out and taken back by several threads at once. */
#include "sparse/pages.h"

#include "cpu/team.h"

typedef struct stretch {
    char *memory;
    size_t bytes;
} stretch;

/* Where the share of a thread begins, in bytes. */
static size_t share_at(size_t bytes, int rank, int size) {
    return wi_team_share(bytes / WI_PAGE_BYTES, rank, size) * WI_PAGE_BYTES;
}

void wi_pages_touch_share(char *memory, size_t bytes, int share, int shares) {
    const size_t end = share_at(bytes, share + 1, shares);
    for (size_t k = share_at(bytes, share, shares); k < end; k += WI_PAGE_BYTES)
        memory[k] = 0;
}

static void touch_share(void *user, int rank, int size) {
    const stretch *const s = user;
    wi_pages_touch_share(s->memory, s->bytes, rank, size);
}

static void drop_share(void *user, int rank, int size) {
    const stretch *const s = user;
    const size_t from = share_at(s->bytes, rank, size);
    const size_t bytes = share_at(s->bytes, rank + 1, size) - from;
    if (bytes > 0)
        wi_host_drop(s->memory + from, bytes);
}

void wi_pages_touch(const weft_context *ctx, int team, void *p, size_t bytes) {
    stretch s = {p, bytes};
    if (team > 1)
        wi_team_run(ctx, team, touch_share, &s);
}

void wi_pages_drop(const weft_context *ctx, int team, void *p, size_t bytes) {
    stretch s = {p, bytes};
    if (team > 1 && p)
        wi_team_run(ctx, team, drop_share, &s);
}

void *wi_pages_take(const weft_context *ctx, int team, size_t bytes) {
    void *const p = team > 1 ? wi_host_map(bytes) : wi_host_alloc(bytes);
    if (p)
        wi_pages_touch(ctx, team, p, bytes);
    return p;
}

void wi_pages_free(const weft_context *ctx, int team, void *p, size_t bytes) {
    if (team == 1) {
        wi_host_free(p);
        return;
    }
    wi_pages_drop(ctx, team, p, bytes);
    wi_host_unmap(p, bytes);
}
