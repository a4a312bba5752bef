/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the extension module weft._core share. The module is thin: each of its
 * functions takes a context, arrays and numbers, and makes one call of the library without Python's
 * lock. Shapes, types of results and what numpy's names mean are the business of the Python files.
 *
 * Only Python's stable interface is used, so one build serves Python 3.11 and all later versions.
 */
#ifndef WEFT_PYTHON_CORE_H
#define WEFT_PYTHON_CORE_H

#define Py_LIMITED_API 0x030b0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "weft/weft.h"

/* The calls that are looked up in the library when the module has been told which one to load. */
#define WP_CALLS(CALL)                                                                             \
    CALL(weft_open)                                                                                \
    CALL(weft_close)                                                                               \
    CALL(weft_place)                                                                               \
    CALL(weft_message)                                                                             \
    CALL(weft_version)                                                                             \
    CALL(weft_use)                                                                                 \
    CALL(weft_used)                                                                                \
    CALL(weft_set_tuning)                                                                          \
    CALL(weft_alloc)                                                                               \
    CALL(weft_free)                                                                                \
    CALL(weft_copy)                                                                                \
    CALL(weft_sync)                                                                                \
    CALL(weft_set_stream)                                                                          \
    CALL(weft_trace_begin)                                                                         \
    CALL(weft_trace_end)                                                                           \
    CALL(weft_sort)                                                                                \
    CALL(weft_sort_pairs)                                                                          \
    CALL(weft_sort_indices)                                                                        \
    CALL(weft_sort_segments)                                                                       \
    CALL(weft_is_sorted)                                                                           \
    CALL(weft_merge)                                                                               \
    CALL(weft_search)                                                                              \
    CALL(weft_top_k)                                                                               \
    CALL(weft_sort_records)                                                                        \
    CALL(weft_sort_records_indices)                                                                \
    CALL(weft_unique_records)                                                                      \
    CALL(weft_run_length_records)                                                                  \
    CALL(weft_search_records)                                                                      \
    CALL(weft_merge_records)                                                                       \
    CALL(weft_unique)                                                                              \
    CALL(weft_run_length)                                                                          \
    CALL(weft_select_where)                                                                        \
    CALL(weft_select_indices)                                                                      \
    CALL(weft_select_count)                                                                        \
    CALL(weft_expand)                                                                              \
    CALL(weft_gather)                                                                              \
    CALL(weft_scatter)                                                                             \
    CALL(weft_take_columns)                                                                        \
    CALL(weft_put_columns)                                                                         \
    CALL(weft_histogram)                                                                           \
    CALL(weft_nth)                                                                                 \
    CALL(weft_quantiles)                                                                           \
    CALL(weft_reduce)                                                                              \
    CALL(weft_reduce_segments)                                                                     \
    CALL(weft_reduce_segments_columns)                                                             \
    CALL(weft_reduce_by_key)                                                                       \
    CALL(weft_exact_reduce)                                                                        \
    CALL(weft_exact_reduce_segments)                                                               \
    CALL(weft_exact_dot)                                                                           \
    CALL(weft_exact_create)                                                                        \
    CALL(weft_exact_destroy)                                                                       \
    CALL(weft_exact_add)                                                                           \
    CALL(weft_exact_add_dot)                                                                       \
    CALL(weft_exact_merge)                                                                         \
    CALL(weft_exact_round)                                                                         \
    CALL(weft_exact_count)                                                                         \
    CALL(weft_exact_save)                                                                          \
    CALL(weft_exact_load)                                                                          \
    CALL(weft_dot_fast)                                                                            \
    CALL(weft_mean)                                                                                \
    CALL(weft_variance)                                                                            \
    CALL(weft_strided)                                                                             \
    CALL(weft_summary)                                                                             \
    CALL(weft_scan)                                                                                \
    CALL(weft_scan_segments)                                                                       \
    CALL(weft_scan_by_key)                                                                         \
    CALL(weft_scan_wide)                                                                           \
    CALL(weft_exact_scan)                                                                          \
    CALL(weft_binary_scalar)                                                                       \
    CALL(weft_binary)                                                                              \
    CALL(weft_unary)                                                                               \
    CALL(weft_convert)                                                                             \
    CALL(weft_where)                                                                               \
    CALL(weft_expr)                                                                                \
    CALL(weft_expr_reduce)                                                                         \
    CALL(weft_adjacent_difference)                                                                 \
    CALL(weft_fill)                                                                                \
    CALL(weft_iota)                                                                                \
    CALL(weft_random_bits)                                                                         \
    CALL(weft_random_uniform)                                                                      \
    CALL(weft_random_normal)                                                                       \
    CALL(weft_random_integers)                                                                     \
    CALL(weft_random_permutation)                                                                  \
    CALL(weft_gemm)                                                                                \
    CALL(weft_gemv)                                                                                \
    CALL(weft_gemm_batch_strided)                                                                  \
    CALL(weft_transpose)                                                                           \
    CALL(weft_trsm)                                                                                \
    CALL(weft_lu_factor)                                                                           \
    CALL(weft_lu_solve)                                                                            \
    CALL(weft_lu_inverse)                                                                          \
    CALL(weft_cholesky_factor)                                                                     \
    CALL(weft_cholesky_solve)                                                                      \
    CALL(weft_solve)                                                                               \
    CALL(weft_solve_spd)                                                                           \
    CALL(weft_solve_batch_strided)                                                                 \
    CALL(weft_solve_spd_batch_strided)                                                             \
    CALL(weft_cholesky_factor_batch_strided)                                                       \
    CALL(weft_fft)                                                                                 \
    CALL(weft_convolve)                                                                            \
    CALL(weft_blend)                                                                               \
    CALL(weft_nbody_accelerations)                                                                 \
    CALL(weft_nbody_step)                                                                          \
    CALL(weft_nbody_energy)                                                                        \
    CALL(weft_conv_forward)                                                                        \
    CALL(weft_conv_backward_data)                                                                  \
    CALL(weft_conv_backward_weights)                                                               \
    CALL(weft_pool_forward)                                                                        \
    CALL(weft_pool_backward)                                                                       \
    CALL(weft_upsample_forward)                                                                    \
    CALL(weft_upsample_backward)                                                                   \
    CALL(weft_bias_forward)                                                                        \
    CALL(weft_bias_backward)                                                                       \
    CALL(weft_activation_forward)                                                                  \
    CALL(weft_activation_backward)                                                                 \
    CALL(weft_softmax_forward)                                                                     \
    CALL(weft_cross_entropy_forward)                                                               \
    CALL(weft_cross_entropy_backward)                                                              \
    CALL(weft_batch_norm_forward)                                                                  \
    CALL(weft_batch_norm_inference)                                                                \
    CALL(weft_batch_norm_backward)                                                                 \
    CALL(weft_sgd_step)                                                                            \
    CALL(weft_adam_step)                                                                           \
    CALL(weft_sparse_create)                                                                       \
    CALL(weft_sparse_read_as)                                                                      \
    CALL(weft_sparse_write)                                                                        \
    CALL(weft_sparse_destroy)                                                                      \
    CALL(weft_sparse_update)                                                                       \
    CALL(weft_sparse_rows)                                                                         \
    CALL(weft_sparse_cols)                                                                         \
    CALL(weft_sparse_is_symmetric)                                                                 \
    CALL(weft_sparse_entries)                                                                      \
    CALL(weft_sparse_starts)                                                                       \
    CALL(weft_sparse_row_indices)                                                                  \
    CALL(weft_sparse_values)                                                                       \
    CALL(weft_sparse_multiply)                                                                     \
    CALL(weft_chol_analyze)                                                                        \
    CALL(weft_chol_destroy)                                                                        \
    CALL(weft_chol_save)                                                                           \
    CALL(weft_chol_load)                                                                           \
    CALL(weft_chol_get_report)                                                                     \
    CALL(weft_chol_permutation)                                                                    \
    CALL(weft_chol_on_progress)                                                                    \
    CALL(weft_chol_factor)                                                                         \
    CALL(weft_chol_factor_values)                                                                  \
    CALL(weft_chol_solve)                                                                          \
    CALL(weft_chol_condition)

#define WP_MEMBER(name) __typeof__(name) *name;
typedef struct wp_library {
    WP_CALLS(WP_MEMBER)
} wp_library;
#undef WP_MEMBER
extern wp_library wp;

/* A context, and the lock that lets one thread at a time use it. */
typedef struct wp_context {
    PyObject_HEAD weft_context *ctx; /* NULL: not open */
    PyThread_type_lock lock;
    unsigned long holder; /* the thread that holds the lock, 0 if none */
} wp_context;

/* One argument that is an array; or, of None, nothing: p = NULL and n = 0. */
typedef struct wp_array {
    void *p;
    size_t n; /* elements of all dimensions; a complex number is one */
    weft_type type;
    bool complex_numbers; /* `type` is that of each part */
    size_t width;         /* bytes of an element */
    size_t rows, cols;    /* of a matrix, as ld and by_columns */
    size_t ld;
    bool by_columns;
    size_t stride_bytes; /* of a vector with gaps; else 0 */
    bool viewed;         /* `view` is to be released */
    Py_buffer view;
} wp_array;

enum {
    WP_INTEGERS = 16,
    WP_REALS = 5,
    WP_TEXTS = 2,
    WP_ARRAYS = 18
}; /* the most of one call */

/* The arguments of one call, each kind in its order; a number that it gives back; and what to say
 * instead of the library, if the call was not made (the status is then any but WEFT_OK). */
typedef struct wp_arguments {
    int64_t i[WP_INTEGERS];
    double r[WP_REALS];
    const char *s[WP_TEXTS];
    wp_array a[WP_ARRAYS];
    uint64_t result;
    const char *refused;
} wp_arguments;

/* One function of the module. `takes` has a letter for each argument after the context:
 *     i   an integer (of u64 the bits)      r   a real number
 *     s   text, or None
 *     a   an array that is read             o   an array that is written
 *     v   the same, maybe with gaps between its elements
 *     m   a matrix that is read             w   a matrix that is written
 *     z   an array, maybe of complex numbers, that is read; Z: that is written
 * and at its end "=" if the function gives back `result`. Arrays are without gaps, or None; the
 * rows or columns of matrices lie in one piece each. */
typedef struct wp_row {
    const char *name, *takes;
    weft_status (*run)(weft_context *ctx, wp_arguments *v);
} wp_row;

/* The functions, by file; each table ends with a row without a name. */
extern const wp_row wp_context_rows[], wp_order_rows[], wp_move_rows[], wp_group_rows[],
    wp_number_rows[], wp_exact_rows[], wp_dense_rows[], wp_layer_rows[], wp_nbody_rows[];

/* Puts the functions of a table into the module. */
bool wp_add_rows(PyObject *module, const wp_row *rows);

/* What a complex type adds to the number of the type of its parts. */
#define WP_COMPLEX 64

/* Describes an array: something with the buffer protocol, or with an attribute `_raw`, the tuple
 * (address, number of the type, shape, strides in bytes or None, whether it may be written). */
enum {
    WP_WRITE = 1,
    WP_MATRIX = 2,
    WP_COMPLEX_TOO = 4,
    WP_GAPS = 8 /* of one dimension, it may have gaps */
};
bool wp_take(PyObject *object, wp_array *a, unsigned how);
void wp_release(wp_array *arrays, size_t count);

/* A converter for "O&" of PyArg_ParseTuple, for functions that are in no table: a context, which is
 * locked until wp_end. It comes first. */
int wp_take_context(PyObject *object, void *to);
void wp_unlock(wp_context *c);

/* Ends a call: raises the exception that belongs to the status, unlocks the context and releases
 * the arrays. Returns whether all is well. */
bool wp_end(wp_context *c, weft_status status, wp_array *arrays, size_t count);

/* Makes the type weft._core.Context and puts it into the module. */
bool wp_add_context(PyObject *module);

/* Raises the exception of a status. */
void wp_raise(weft_status status, const char *message);

/* Functions that are in no table, by file. */
extern PyMethodDef wp_dense_methods[], wp_sparse_methods[], wp_chol_methods[];

#endif
