/* SPDX-License-Identifier: Apache-2.0 */
/* The contents of a context, and the helpers that every slice uses. */
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

/* The kind of place that a rung runs on. Place emu (test builds only) is WI_CUDA with a stand-in
 * for the CUDA runtime. */
typedef enum wi_kind {
    WI_CPU,
    WI_CUDA
} wi_kind;

enum {
    WI_MESSAGE_BYTES = 512,
    WI_PLACE_BYTES = 64,
    WI_MAX_OPS = 56
};

typedef struct wi_gpu wi_gpu;
typedef struct wi_team wi_team;
typedef struct wi_row wi_row;
struct wi_comm;
struct wi_gpus;
struct wi_forecast;
struct wi_tuning;
struct wi_tracer;

/* Something that a slice keeps in a context, which closes it: the first member of the slice's own
 * struct. */
typedef struct wi_kept {
    struct wi_kept *next;
    void (*drop)(weft_context *ctx, struct wi_kept *kept);
} wi_kept;

/* What weft_strided has returned: the addresses of `name`, in turn. Number k is described by
 * latest[k mod their number], until it is overwritten. */
enum {
    WI_STRIDES = 64,
    WI_STRIDE_NAMES = 64 * WI_STRIDES
};
typedef struct wi_stride_notes {
    uint64_t count;
    struct {
        const void *first;
        size_t stride_bytes;
        uint64_t number;
    } latest[WI_STRIDES];
    char name[WI_STRIDE_NAMES];
} wi_stride_notes;

struct weft_context {
    wi_kind kind;
    int threads; /* CPU threads a call may use, at least 1; on a GPU they copy host arrays */
    int device;  /* the GPU's number among those that CUDA shows; -1 on the cpu */
    wi_machine machine;
    char place[WI_PLACE_BYTES];
    char message[WI_MESSAGE_BYTES];
    weft_error_handler on_error; /* told of failures; or NULL */
    void *on_error_user;
    const wi_row *forced[WI_MAX_OPS]; /* by index in wi_ops; NULL: the library chooses */
    const wi_row *used[WI_MAX_OPS];   /* the rung that ran last */
    struct wi_tuning *tuning;         /* core/tuning.h: what rungs were measured to take; or NULL */
    struct wi_forecast *forecast;     /* core/tuning.h: records predictions; or NULL */
    struct wi_tracer *tracer;         /* core/trace.h: records what it does; or NULL */
    wi_gpu *gpu;                      /* NULL on the cpu */
    wi_team *team;                    /* cpu/team.h: the threads */
    struct wi_comm *comm;             /* comm/comm.h: of a distributed place; else NULL */
    struct wi_gpus *gpus; /* comm/gpus.h: of a place of several GPUs, and of each of its ranks */
    struct wi_kept *kept; /* what slices keep until the context closes */
    weft_context *child;  /* of a distributed place: this rank's own place; gpu and team are its */
    wi_stride_notes strides;
};

/* Records a message (printf-like, one line, no full stop at its end) and returns `status`, so that
 * a check reads `return wi_fail(ctx, WEFT_EARG, "weft_add: x is NULL; pass n elements")`. */
weft_status wi_fail(weft_context *ctx, weft_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Records the message of another context, whose call failed on behalf of this one. */
weft_status wi_fail_as(weft_context *ctx, weft_status status, const weft_context *other);
/* The same for a message that the caller's error handler has been told already. */
void wi_take_message(weft_context *ctx, const weft_context *other);

/* Appends `text` to a line that has room for `room` bytes, after `separator` unless the line is
 * empty. What does not fit is cut off. */
void wi_append(char *line, size_t room, const char *separator, const char *text);

/* Copies text of unknown content (file names, say) for use in a message, which is one line of
 * UTF-8: control characters, and bytes that are not UTF-8, become \n, \t or \x1b. What does not fit
 * `room` is cut off. */
void wi_shown(const char *text, char *out, size_t room);

/* How many bytes the first character of `text` has; 0 if it is not UTF-8. */
size_t wi_utf8_bytes(const char *text);
/* Is the first character one that makes a terminal do something? */
bool wi_is_control(const char *text);

/* Argument checks. Each returns WEFT_OK, or records what is wrong and returns the status. `call` is
 * the public name. */
weft_status wi_check_context(const weft_context *ctx); /* WEFT_EARG if ctx is NULL */
weft_status wi_check_type(weft_context *ctx, const char *call, weft_type type);
/* f64 or f32; WEFT_EUNSUPPORTED for other types. */
weft_status wi_check_wide_float(weft_context *ctx, const char *call, weft_type type);
/* Checks that n elements of `type` fit the address space, that `p` is not NULL unless n is 0, and
 * that it is aligned as C aligns such elements. */
weft_status wi_check_array(weft_context *ctx, const char *call, const char *name, const void *p,
                           size_t n, weft_type type);
/* Is this what weft_strided returned, now or earlier? */
static inline bool wi_is_strided(const weft_context *ctx, const void *p) {
    return ctx && (uintptr_t)p - (uintptr_t)ctx->strides.name < WI_STRIDE_NAMES;
}
/* Checks where a call saves `needed` bytes: `room` of them at `memory`, or NULL to ask for their
 * number alone, which goes to `bytes`. */
weft_status wi_check_room(weft_context *ctx, const char *call, const void *memory, size_t room,
                          size_t needed, const size_t *bytes);
/* Checks a type for positions or counts up to `most`: i32, i64, u32 or u64, and large enough. */
weft_status wi_check_index_type(weft_context *ctx, const char *call, const char *name,
                                weft_type type, uint64_t most);
/* Do [a, a + bytes_a) and [b, b + bytes_b) share a byte? */
bool wi_overlap(const void *a, size_t bytes_a, const void *b, size_t bytes_b);
/* Refuses [a, a + bytes_a) and [b, b + bytes_b) if they overlap in part. a == b with equal sizes is
 * in place, and allowed. */
weft_status wi_check_overlap(weft_context *ctx, const char *call, const char *name_a, const void *a,
                             size_t bytes_a, const char *name_b, const void *b, size_t bytes_b);

/* Type facts. */
bool wi_type_is_float(weft_type type);
bool wi_type_is_signed(weft_type type); /* of integer types */

/* The element at p as a double; an integer beyond 2^53 is rounded. */
double wi_element_value(weft_type type, const void *p);

/* The bits of element i of an array whose elements have `size` bytes. */
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

/* Is `p` memory that this thread cannot read but the device can? Always false on the cpu. */
bool wi_is_device(const weft_context *ctx, const void *p);

/* May this thread read `p` itself? True on the cpu; false for memory of any GPU. */
bool wi_is_host(const weft_context *ctx, const void *p);

/* Allocates host memory, aligned to 64 bytes; NULL if there is none. All of the library's host
 * memory comes from here. */
void *wi_host_alloc(size_t bytes);

/* The same for arrays that are read many times or at random. Large ones use huge pages, which save
 * page faults and TLB misses. Do not use it for memory that is filled only once: a virtual machine
 * may need seconds per gigabyte to get huge pages from its host. */
void *wi_host_alloc_huge(size_t bytes);
void wi_host_free(void *p);

/* The same by mmap, for large blocks that are freed soon: free() of such a block would raise
 * malloc's threshold, and malloc would then keep blocks of that size. bytes > 0; NULL if there is
 * none. */
void *wi_host_map(size_t bytes);
void wi_host_unmap(void *p, size_t bytes);
/* Before that, by several threads at once: gives back the pages of a part, which begins at a page;
 * what is there is lost. */
void wi_host_drop(void *p, size_t bytes);
/* Fetches the pages of a part of fresh memory, in one call of the system in place of a fault for
 * each page. False if the system cannot do that. */
bool wi_host_populate(void *p, size_t bytes);

/* The monotonic clock, in seconds. */
double wi_now(void);

#ifdef __cplusplus
}
#endif
#endif
