/* SPDX-License-Identifier: Apache-2.0 */
/* NCCL's interface, as much of it as is used, and its library, loaded when it is first needed. The
 * declarations are our own, so that a build needs nothing of NCCL; they are those of version 2. */
#ifndef WI_NCCL_H
#define WI_NCCL_H

#include <stdbool.h>
#include <stddef.h>

#include "core/core.h"

enum {
    WI_NCCL_ID_BYTES = 128,
    WI_NCCL_OK = 0,
    WI_NCCL_IN_PROGRESS = 7,
    WI_NCCL_LEAST_VERSION = 21200 /* 2.12: earlier ones lack types or fail differently */
};

/* Types and operations have NCCL's own numbers. */
enum {
    WI_NCCL_I8 = 0,
    WI_NCCL_U8 = 1,
    WI_NCCL_I32 = 2,
    WI_NCCL_U32 = 3,
    WI_NCCL_I64 = 4,
    WI_NCCL_U64 = 5,
    WI_NCCL_F32 = 7,
    WI_NCCL_F64 = 8
};
enum {
    WI_NCCL_SUM = 0,
    WI_NCCL_PRODUCT = 1,
    WI_NCCL_MAX = 2,
    WI_NCCL_MIN = 3
};

typedef struct wi_nccl_id {
    char bytes[WI_NCCL_ID_BYTES];
} wi_nccl_id;

/* The library's functions; a communicator and a stream are addresses. */
typedef struct wi_nccl_library {
    int (*version)(int *version);
    const char *(*error)(int result);
    int (*unique_id)(wi_nccl_id *id);
    int (*init_rank)(void **comm, int ranks, wi_nccl_id id, int rank);
    int (*destroy)(void *comm);
    int (*leave)(void *comm);
    int (*async_error)(void *comm, int *result);
    int (*group_start)(void);
    int (*group_end)(void);
    int (*all_reduce)(const void *from, void *to, size_t n, int type, int op, void *comm,
                      void *stream);
    int (*reduce)(const void *from, void *to, size_t n, int type, int op, int root, void *comm,
                  void *stream);
    int (*broadcast)(const void *from, void *to, size_t n, int type, int root, void *comm,
                     void *stream);
    int (*all_gather)(const void *from, void *to, size_t n, int type, void *comm, void *stream);
    int (*reduce_scatter)(const void *from, void *to, size_t n, int type, int op, void *comm,
                          void *stream);
    int (*send)(const void *from, size_t n, int type, int rank, void *comm, void *stream);
    int (*recv)(void *to, size_t n, int type, int rank, void *comm, void *stream);
} wi_nccl_library;

enum {
    WI_NCCL_WHY_BYTES = 160
};

/* Loads the library: its file is `wish` (which WEFT_NCCL has named), or libnccl.so.2 if that is
 * NULL or empty; "off" is none. NULL: `why` tells the reason. */
const wi_nccl_library *wi_nccl_load(const char *wish, char why[WI_NCCL_WHY_BYTES]);
void wi_nccl_unload(const wi_nccl_library *library);

#endif
