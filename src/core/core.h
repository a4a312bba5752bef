/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of a context, and what every slice may lean on. */
#ifndef WI_CORE_H
#define WI_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/machine.h"
#include "weft/core.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Where a rung runs. Place emu, in test builds, is WI_CUDA over the stand-in runtime. */
typedef enum wi_kind {
    WI_CPU,
    WI_CUDA
} wi_kind;

enum {
    WI_MESSAGE_BYTES = 512,
    WI_PLACE_BYTES = 32,
    WI_MAX_OPS = 32
};

typedef struct wi_gpu wi_gpu;
typedef struct wi_team wi_team;
typedef struct wi_row wi_row;

struct weft_context {
    wi_kind kind;
    int threads; /* CPU threads a call may use, at least 1; on a GPU, for staging */
    int device;  /* the number of the GPU among those that CUDA shows; -1 on the cpu */
    wi_machine machine;
    char place[WI_PLACE_BYTES];
    char message[WI_MESSAGE_BYTES];
    const wi_row *forced[WI_MAX_OPS]; /* by index in wi_ops; NULL: the library chooses */
    const wi_row *used[WI_MAX_OPS];   /* what ran last */
    wi_gpu *gpu;                      /* NULL on the cpu */
    wi_team *team;                    /* cpu/team.h: the threads */
};

/* Records a message (printf-like, one line, ending without a full stop) and returns `status`, so
 * that a check reads `return wi_fail(ctx, WEFT_EARG, "weft_add: x is NULL; pass n elements")`. */
weft_status wi_fail(weft_context *ctx, weft_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Appends to a line of `room` bytes, after `separator` unless the line is empty; cut short where it
 * is full. */
void wi_append(char *line, size_t room, const char *separator, const char *text);

/* Text from outside may hold anything, and a message is one line of UTF-8: control characters and
 * bytes that are no UTF-8 are copied as \n, \t or \x1b. Cut short where `room` ends. */
void wi_shown(const char *text, char *out, size_t room);

/* The bytes of the first character of `text`; 0 if it is no UTF-8. */
size_t wi_utf8_bytes(const char *text);
/* Is that character one that terminals obey? */
bool wi_is_control(const char *text);

/* Argument checks, each returning WEFT_OK or having said what is wrong. `call` is the public name.
 */
weft_status wi_check_context(const weft_context *ctx); /* WEFT_EARG if ctx is NULL */
weft_status wi_check_type(weft_context *ctx, const char *call, weft_type type);
/* n elements of `type` must fit the address space; `p` must not be NULL unless n is 0, and must be
 * aligned as C aligns such elements. */
weft_status wi_check_array(weft_context *ctx, const char *call, const char *name, const void *p,
                           size_t n, weft_type type);
/* A type for positions and counts, up to `most`: i32, i64, u32 or u64 that holds them. */
weft_status wi_check_index_type(weft_context *ctx, const char *call, const char *name,
                                weft_type type, uint64_t most);
/* Do [a, a + bytes_a) and [b, b + bytes_b) share a byte? */
bool wi_overlap(const void *a, size_t bytes_a, const void *b, size_t bytes_b);
/* Partial overlap of [a, a + bytes_a) and [b, b + bytes_b) is refused. a == b with equal sizes is
 * in place, and allowed. */
weft_status wi_check_overlap(weft_context *ctx, const char *call, const char *name_a, const void *a,
                             size_t bytes_a, const char *name_b, const void *b, size_t bytes_b);

/* Type facts. */
bool wi_type_is_float(weft_type type);
bool wi_type_is_signed(weft_type type); /* of the integers */

/* The element at p as a double; integers beyond 2^53 are rounded. */
double wi_element_value(weft_type type, const void *p);

/* The bits of element i of an array of elements of `size` bytes. */
static inline uint64_t wi_element_bits(const void *x, size_t size, size_t i) {
    switch (size) {
    case 1:
        return ((const uint8_t *)x)[i];
    case 2:
        return ((const uint16_t *)x)[i];
    case 4:
        return ((const uint32_t *)x)[i];
    default:
        return ((const uint64_t *)x)[i];
    }
}

/* Is `p` memory that only a device can reach? Always false on the cpu. */
bool wi_is_device(const weft_context *ctx, const void *p);

/* May this thread read `p` itself? True on the cpu; false for memory of any GPU. */
bool wi_is_host(const weft_context *ctx, const void *p);

/* Host memory, aligned to 64 bytes; NULL when there is none. The one place that allocates. */
void *wi_host_alloc(size_t bytes);

/* The same for arrays that are gone through again and again, or at random: large ones ask for huge
 * pages, which save page faults and address translations. What is filled only once is better
 * without: a virtual machine may have to fetch each huge page from its host, at seconds a
 * gigabyte. */
void *wi_host_alloc_huge(size_t bytes);
void wi_host_free(void *p);

/* Host memory by mmap, for large blocks that are soon freed: freeing such a block of malloc's
 * raises the size up to which malloc keeps memory from then on. bytes > 0; NULL when there is none.
 */
void *wi_host_map(size_t bytes);
void wi_host_unmap(void *p, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
