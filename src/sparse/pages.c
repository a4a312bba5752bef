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
    const size_t begin = share_at(bytes, share, shares), end = share_at(bytes, share + 1, shares);
    if (begin == end || wi_host_populate(memory + begin, end - begin))
        return;
    for (size_t k = begin; k < end; k += WI_PAGE_BYTES)
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

void *wi_spare_take(wi_spare *spare, size_t bytes) {
    enum {
        LINE = 64
    };
    bytes = (bytes + LINE - 1) / LINE * LINE;
    if (!spare || bytes > spare->bytes - spare->used)
        return NULL;
    spare->used += bytes;
    return spare->memory + spare->used - bytes;
}

bool wi_is_spare(const wi_spare *spare, const void *p) {
    return spare && (uintptr_t)p - (uintptr_t)spare->memory < spare->bytes;
}

void wi_spare_free(const weft_context *ctx, int team, wi_spare *spare) {
    wi_pages_drop(ctx, team, spare->memory, spare->bytes);
    wi_host_unmap(spare->memory, spare->bytes);
    *spare = (wi_spare){NULL, 0, 0};
}

void *wi_pages_take(const weft_context *ctx, int team, wi_spare *spare, size_t bytes) {
    void *const part = wi_spare_take(spare, bytes);
    if (part)
        return part;
    void *const p = team > 1 ? wi_host_map(bytes) : wi_host_alloc(bytes);
    if (p)
        wi_pages_touch(ctx, team, p, bytes);
    return p;
}

void wi_pages_free(const weft_context *ctx, int team, const wi_spare *spare, void *p,
                   size_t bytes) {
    if (wi_is_spare(spare, p))
        return;
    if (team == 1) {
        wi_host_free(p);
        return;
    }
    wi_pages_drop(ctx, team, p, bytes);
    wi_host_unmap(p, bytes);
}
