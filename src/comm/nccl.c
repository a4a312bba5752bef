/* SPDX-License-Identifier: Apache-2.0 */
/* Loads NCCL's library. */
#include "comm/nccl.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

typedef struct loaded {
    wi_nccl_library calls; /* first */
    void *handle;
} loaded;

/* A function of the library, and where its address goes. */
typedef struct entry {
    const char *name;
    size_t at;
} entry;

static const entry entries[] = {
    {"ncclGetVersion", offsetof(wi_nccl_library, version)},
    {"ncclGetErrorString", offsetof(wi_nccl_library, error)},
    {"ncclGetUniqueId", offsetof(wi_nccl_library, unique_id)},
    {"ncclCommInitRank", offsetof(wi_nccl_library, init_rank)},
    {"ncclCommDestroy", offsetof(wi_nccl_library, destroy)},
    {"ncclCommAbort", offsetof(wi_nccl_library, leave)},
    {"ncclCommGetAsyncError", offsetof(wi_nccl_library, async_error)},
    {"ncclGroupStart", offsetof(wi_nccl_library, group_start)},
    {"ncclGroupEnd", offsetof(wi_nccl_library, group_end)},
    {"ncclAllReduce", offsetof(wi_nccl_library, all_reduce)},
    {"ncclReduce", offsetof(wi_nccl_library, reduce)},
    {"ncclBroadcast", offsetof(wi_nccl_library, broadcast)},
    {"ncclAllGather", offsetof(wi_nccl_library, all_gather)},
    {"ncclReduceScatter", offsetof(wi_nccl_library, reduce_scatter)},
    {"ncclSend", offsetof(wi_nccl_library, send)},
    {"ncclRecv", offsetof(wi_nccl_library, recv)},
};

/* The file to load; NULL: none is wanted. */
static const char *file_of(const char *wish, char why[WI_NCCL_WHY_BYTES]) {
    const bool named = wish && *wish;
    if (named && strcmp(wish, "off") == 0) {
        snprintf(why, WI_NCCL_WHY_BYTES, "WEFT_NCCL is off");
        return NULL;
    }
#ifdef WEFT_EMU /* NCCL itself knows nothing of emulated memory */
    if (!named)
        snprintf(why, WI_NCCL_WHY_BYTES, "place emu has none unless WEFT_NCCL names one");
    return named ? wish : NULL;
#else
    return named ? wish : "libnccl.so.2";
#endif
}

static bool find_all(loaded *l, char why[WI_NCCL_WHY_BYTES]) {
    int version = 0;
    for (size_t k = 0; k < sizeof entries / sizeof *entries; k++) {
        void *const p = dlsym(l->handle, entries[k].name);
        if (!p) {
            snprintf(why, WI_NCCL_WHY_BYTES, "it has no %s", entries[k].name);
            return false;
        }
        memcpy((char *)&l->calls + entries[k].at, &p, sizeof p); /* ISO C has no such cast */
    }
    if (l->calls.version(&version) == WI_NCCL_OK && version >= WI_NCCL_LEAST_VERSION)
        return true;
    snprintf(why, WI_NCCL_WHY_BYTES, "its version is %d, and %d is the least", version,
             WI_NCCL_LEAST_VERSION);
    return false;
}

const wi_nccl_library *wi_nccl_load(const char *wish, char why[WI_NCCL_WHY_BYTES]) {
    const char *const file = file_of(wish, why);
    if (!file)
        return NULL;
    loaded *const l = wi_host_alloc(sizeof *l);
    if (!l) {
        snprintf(why, WI_NCCL_WHY_BYTES, "there is no host memory");
        return NULL;
    }
    l->handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!l->handle) {
        const char *const text = dlerror();
        snprintf(why, WI_NCCL_WHY_BYTES, "%.150s", text ? text : "it cannot be loaded");
    } else if (find_all(l, why)) {
        return &l->calls;
    } else {
        dlclose(l->handle);
    }
    wi_host_free(l);
    return NULL;
}

void wi_nccl_unload(const wi_nccl_library *library) {
    loaded *const l = (loaded *)(uintptr_t)library;
    if (!l)
        return;
    dlclose(l->handle);
    wi_host_free(l);
}
