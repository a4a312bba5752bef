/* SPDX-License-Identifier: Apache-2.0 */
/* What sparse.c and chol.c share. */
#ifndef WEFT_PYTHON_SPARSE_H
#define WEFT_PYTHON_SPARSE_H

#include "core.h"

/* The matrix in a capsule; NULL and an exception if it is none. */
weft_sparse *wp_sparse_of(PyObject *capsule);

/* Takes an array for each letter of `kinds`, "a" to read and "o" to write; on failure unlocks the
 * context. */
bool wp_take_all(PyObject *const *given, const char *kinds, wp_array *a, wp_context *c);

#endif
