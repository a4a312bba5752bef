/* SPDX-License-Identifier: Apache-2.0 */
/* One description of a call: the arrays that it was given. The checks read it, and so does what
 * brings host arrays to a GPU. */
#ifndef WI_CALL_H
#define WI_CALL_H

#include "core/core.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    WI_CALL_ARRAYS = 8
};

/* What a call does with an array, and what it asks of it. */
enum {
    WI_IN = 1,        /* reads it */
    WI_OUT = 2,       /* writes it */
    WI_OPTIONAL = 4,  /* NULL: there is none */
    WI_UNALIGNED = 8, /* at any address: its elements are bytes to the call */
    WI_WHOLE = 16,    /* needs all of it at once, even if the call is cut into segments */
    WI_HOST = 32,     /* must lie in host memory */
    WI_COLUMNS = 64   /* a matrix stored by columns; messages speak of columns */
};

/* A matrix of `rows` rows of `cols` elements, or a vector: one row. Of a matrix stored by columns,
 * each column counts as a row here. */
typedef struct wi_array {
    const char *name; /* as the public header has it */
    const void *p;
    size_t rows, cols;
    size_t ld;           /* elements from the start of a row to that of the next */
    const char *ld_name; /* NULL for a vector */
    weft_type type;      /* what messages call the elements, unless they are WI_UNALIGNED */
    size_t width;        /* bytes of an element */
    unsigned use;        /* WI_IN ... */
    unsigned in_place;   /* bit k: may be the very same array as array k of the call */
    /* Set by wi_call_check; a call that writes less than all may lower it before it returns. */
    size_t bytes; /* from the first element to behind the last, gaps included */
} wi_array;

typedef struct wi_call {
    const char *name; /* the public function */
    wi_array array[WI_CALL_ARRAYS];
    int count;
    size_t rows, cols; /* if it can be cut: of every array that is not WI_WHOLE; else 0 */
    /* Not NULL: how much temporary memory would the call take? Nothing is copied then; the bytes of
     * copies are added here, and what runs a part adds its own and runs nothing. */
    size_t *asked;
} wi_call;

/* A call that can be cut, without arrays yet; wi_call_add appends one. Quicker than an initializer,
 * which clears room for all WI_CALL_ARRAYS: small calls notice. */
static inline void wi_call_begin(wi_call *call, const char *name, size_t rows, size_t cols) {
    call->name = name;
    call->count = 0;
    call->rows = rows;
    call->cols = cols;
    call->asked = NULL;
}
static inline wi_array *wi_call_add(wi_call *call, wi_array array) {
    call->array[call->count] = array;
    return &call->array[call->count++];
}

/* n elements of a type. */
static inline wi_array wi_elements(const char *name, const void *p, size_t n, weft_type type,
                                   unsigned use) {
    const wi_array array = {name, p, 1, n, n, NULL, type, weft_type_size(type), use, 0, 0};
    return array;
}
/* n elements of `width` bytes each, at any address. */
static inline wi_array wi_items(const char *name, const void *p, size_t n, size_t width,
                                unsigned use) {
    const wi_array array = {name, p, 1, n, n, NULL, WEFT_U8, width, use | WI_UNALIGNED, 0, 0};
    return array;
}
/* Rows of elements of a type; ld_name is the argument that ld comes from. */
static inline wi_array wi_matrix(const char *name, const void *p, size_t rows, size_t cols,
                                 const char *ld_name, size_t ld, weft_type type, unsigned use) {
    const wi_array array = {name, p, rows, cols, ld, ld_name, type, weft_type_size(type),
                            use,  0, 0};
    return array;
}
/* A matrix of rows x cols elements stored by columns. */
static inline wi_array wi_columns(const char *name, const void *p, size_t rows, size_t cols,
                                  const char *ld_name, size_t ld, weft_type type, unsigned use) {
    return wi_matrix(name, p, cols, rows, ld_name, ld, type, use | WI_COLUMNS);
}

/* Refuses arrays that are NULL, do not fit the address space, lie at addresses that their type
 * cannot have, or share memory with what the call writes: an array is written apart from all
 * others, save those it may be in place of. Types and widths are valid. */
weft_status wi_call_check(weft_context *ctx, wi_call *call);

/* The same for a call with one array. */
weft_status wi_call_check_one(weft_context *ctx, const char *call, wi_array array);

/* A part of a call on memory that the place reaches: all of it, or a segment. */
typedef struct wi_part {
    size_t index; /* parts before it; they run in order */
    size_t first; /* elements of the call before it, row after row */
    size_t rows, cols;
    bool last;
    bool mirrored;           /* some output goes back to the host when all is done */
    void *p[WI_CALL_ARRAYS]; /* by number of the array in the call; NULL: there is none */
    size_t ld[WI_CALL_ARRAYS];
} wi_part;

/* Queues one part. */
typedef weft_status (*wi_part_run)(weft_context *ctx, wi_call *call, const wi_part *part,
                                   void *user);

/* Runs a checked call where its arrays lie or, on a GPU, where copies of the host's arrays lie:
 * segment after segment if the call can be cut, which hides most of the copying; else whole. Arrays
 * that begin at one address are the same one, as far as the shorter goes, and share their copy.
 * Outputs are back on the host when this returns; a call on device memory is only queued. */
weft_status wi_call_run(weft_context *ctx, wi_call *call, wi_part_run run, void *user);

#ifdef __cplusplus
}
#endif
#endif
