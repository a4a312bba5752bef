/* SPDX-License-Identifier: Apache-2.0 */
/* The description of a call: the arrays it was given. The checks read it, and so does the code that
 * copies host arrays to a GPU. */
#ifndef WI_CALL_H
#define WI_CALL_H

#include "core/core.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    WI_CALL_ARRAYS = 20
};

/* What a call does with an array, and what it requires of it. */
enum {
    WI_IN = 1,        /* reads it */
    WI_OUT = 2,       /* writes it */
    WI_OPTIONAL = 4,  /* it may be NULL: not given */
    WI_UNALIGNED = 8, /* no alignment needed: the call copies its elements as bytes */
    WI_WHOLE = 16,    /* needs all of it at once, even if the call is cut into segments */
    WI_HOST = 32,     /* must lie in host memory */
    WI_COLUMNS = 64,  /* a matrix stored by columns; messages speak of columns */
    WI_STRIDED = 128  /* it may be what weft_strided returns: only wi_call_run and the code that it
                         calls read it, and only through the pointers of a part */
};

/* A matrix: `rows` rows of `cols` elements. A vector is one row. If the matrix is stored by
 * columns, "row" here means a stored column. */
typedef struct wi_array {
    const char *name; /* as in the public header */
    const void *p;
    size_t rows, cols;
    size_t ld;           /* elements from the start of one row to the start of the next */
    const char *ld_name; /* NULL for a vector */
    weft_type type;      /* of the elements, for messages; not used if they are WI_UNALIGNED */
    size_t width;        /* bytes of an element */
    unsigned use;        /* WI_IN ... */
    unsigned in_place;   /* bit k: it may be the same array as array k of the call */
    /* wi_call_check sets this. A call that writes only part of an output may lower it before it
     * returns. */
    size_t bytes; /* from the first element to the end of the last, gaps included */
    /* wi_call_check sets this if p was what weft_strided returns; p is then the first element.
     * wi_call_run makes it an array of neighbours. */
    size_t stride_bytes;
} wi_array;

typedef struct wi_call {
    const char *name; /* the public function */
    wi_array array[WI_CALL_ARRAYS];
    int count;
    size_t rows, cols; /* of every array that is not WI_WHOLE, if the call can be cut into segments;
                          else 0 */
    /* Not NULL: the call is asked how much temporary memory it would take. It copies and runs
     * nothing; the bytes of copies are added here, and the function that runs a part adds its own.
     */
    size_t *asked;
    bool distributed; /* it has a rung for several ranks; wi_call_check refuses others there */
    bool over_link;   /* its kernels access each element of its arrays once, and can do so over the
                         link; they learn it from the part */
} wi_call;

/* Begins the description of a call; wi_call_add appends its arrays. rows and cols as in wi_call. An
 * initializer would also clear all WI_CALL_ARRAYS arrays, which small calls would notice. */
static inline void wi_call_begin(wi_call *call, const char *name, size_t rows, size_t cols) {
    call->name = name;
    call->count = 0;
    call->rows = rows;
    call->cols = cols;
    call->asked = NULL;
    call->distributed = false;
    call->over_link = false;
}
static inline wi_array *wi_call_add(wi_call *call, wi_array array) {
    call->array[call->count] = array;
    return &call->array[call->count++];
}

/* n elements of a type. */
static inline wi_array wi_elements(const char *name, const void *p, size_t n, weft_type type,
                                   unsigned use) {
    const wi_array array = {name, p, 1, n, n, NULL, type, weft_type_size(type), use, 0, 0, 0};
    return array;
}
/* n elements of `width` bytes each, at any address. */
static inline wi_array wi_items(const char *name, const void *p, size_t n, size_t width,
                                unsigned use) {
    const wi_array array = {name, p, 1, n, n, NULL, WEFT_U8, width, use | WI_UNALIGNED, 0, 0, 0};
    return array;
}
/* Rows of elements of a type; ld_name is the name of the argument that gives ld. */
static inline wi_array wi_matrix(const char *name, const void *p, size_t rows, size_t cols,
                                 const char *ld_name, size_t ld, weft_type type, unsigned use) {
    const wi_array array = {name, p, rows, cols, ld, ld_name, type, weft_type_size(type),
                            use,  0, 0,    0};
    return array;
}
/* A matrix of rows x cols elements stored by columns. */
static inline wi_array wi_columns(const char *name, const void *p, size_t rows, size_t cols,
                                  const char *ld_name, size_t ld, weft_type type, unsigned use) {
    return wi_matrix(name, p, cols, rows, ld_name, ld, type, use | WI_COLUMNS);
}

/* Refuses arrays that are NULL, do not fit the address space, are not aligned as their type needs,
 * or overlap an array that the call writes (unless in_place allows it). Types and widths are valid.
 */
weft_status wi_call_check(weft_context *ctx, wi_call *call);

/* The elements of a call's inputs that weft_strided made, copied to be neighbours. */
typedef struct wi_packed {
    void *copy[WI_CALL_ARRAYS];
    bool host[WI_CALL_ARRAYS]; /* it is in memory of the host */
} wi_packed;

/* Does the call have such inputs? */
bool wi_has_strides(const wi_call *call);
/* If p is what weft_strided returned: makes the array what it stands for, or refuses it. */
weft_status wi_strided_check(weft_context *ctx, const char *call, wi_array *array);
/* Copies them, and makes the copies the arrays of the call; if the call only asks for its memory,
 * adds the bytes of the copies. wi_strided_give frees what was taken, also if the copying failed.
 */
weft_status wi_strided_take(weft_context *ctx, wi_call *call, wi_packed *packed);
weft_status wi_strided_give(weft_context *ctx, const wi_call *call, const wi_packed *packed);

/* Refuses a call that has no rung for several ranks, on a place that has them; wi_call_check does
 * so, too. */
weft_status wi_check_local(weft_context *ctx, const char *call);

/* wi_call_check for a call with one array, and none for several ranks. */
weft_status wi_call_check_one(weft_context *ctx, const char *call, wi_array array);

/* A part of a call, all of it or one segment, on memory that the place can access. */
typedef struct wi_part {
    size_t index; /* number of the part; parts run in order */
    size_t first; /* elements of the call before this part, counted row by row */
    size_t rows, cols;
    bool last;
    bool mirrored;  /* some output is a copy, to be copied to the host when all parts have run */
    bool over_link; /* arrays are in pinned host memory, where kernels access them */
    void *p[WI_CALL_ARRAYS]; /* the arrays, numbered as in the call; NULL: not given */
    size_t ld[WI_CALL_ARRAYS];
} wi_part;

/* Queues one part. */
typedef weft_status (*wi_part_run)(weft_context *ctx, wi_call *call, const wi_part *part,
                                   void *user);

/* Runs a checked call on its arrays or, on a GPU, on copies of those that are in host memory. If
 * the call can be cut it runs segment by segment, which hides most of the copying; otherwise whole.
 * Arrays that begin at the same address share one copy, as long as the longer. When this returns,
 * outputs are back in host memory; a call on device memory only is just queued. */
weft_status wi_call_run(weft_context *ctx, wi_call *call, wi_part_run run, void *user);

#ifdef __cplusplus
}
#endif
#endif
