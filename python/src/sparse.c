/* SPDX-License-Identifier: Apache-2.0 */
/* Sparse matrices: a capsule holds one, and frees it. */
#include "sparse.h"

static const char capsule_name[] = "weft.sparse";

static void destroy(PyObject *capsule) {
    wp.weft_sparse_destroy(PyCapsule_GetPointer(capsule, capsule_name));
}

weft_sparse *wp_sparse_of(PyObject *capsule) {
    return PyCapsule_GetPointer(capsule, capsule_name);
}

static PyObject *capsule_of(weft_sparse *matrix) {
    PyObject *capsule = PyCapsule_New(matrix, capsule_name, destroy);
    if (capsule == NULL)
        wp.weft_sparse_destroy(matrix);
    return capsule;
}

bool wp_take_all(PyObject *const *given, const char *kinds, wp_array *a, wp_context *c) {
    size_t count = strlen(kinds);
    for (size_t k = 0; k < count; k++) {
        if (!wp_take(given[k], &a[k], kinds[k] == 'o' ? WP_WRITE : 0)) {
            wp_unlock(c);
            wp_release(a, k);
            return false;
        }
    }
    return true;
}

/* sparse_create(context, storage, form, rows, cols, tolerance, start, index, value): form is that
 * of the enum weft_form, start and index are its arrays in the order row, column for triplets */
static PyObject *create(PyObject *module, PyObject *args) {
    (void)module;
    wp_context *c;
    int storage, form;
    Py_ssize_t rows, cols;
    double tolerance;
    PyObject *given[3];
    if (!PyArg_ParseTuple(args, "O&iinndOOO:sparse_create", wp_take_context, &c, &storage, &form,
                          &rows, &cols, &tolerance, &given[0], &given[1], &given[2]))
        return NULL;
    wp_array a[3];
    if (!wp_take_all(given, "aaa", a, c))
        return NULL;
    bool triplets = form == WEFT_TRIPLETS;
    weft_sparse_input input = {
        .size = sizeof input,
        .storage = (weft_storage)storage,
        .form = (weft_form)form,
        .rows = (size_t)rows,
        .cols = (size_t)cols,
        .n = a[2].n,
        .start_type = triplets ? (weft_type)0 : a[0].type,
        .index_type = a[1].type,
        .start = triplets ? NULL : a[0].p,
        .row = triplets ? a[0].p : a[1].p,
        .col = a[1].p,
        .value = a[2].p,
        .symmetry_tolerance = tolerance,
    };
    weft_sparse *matrix = NULL;
    PyThreadState *save = PyEval_SaveThread();
    weft_status status = wp.weft_sparse_create(c->ctx, &matrix, &input);
    PyEval_RestoreThread(save);
    return wp_end(c, status, a, 3) ? capsule_of(matrix) : NULL;
}

/* sparse_read(context, path, storage, tolerance) */
static PyObject *read_file(PyObject *module, PyObject *args) {
    (void)module;
    wp_context *c;
    const char *path;
    int storage;
    double tolerance;
    if (!PyArg_ParseTuple(args, "O&sid:sparse_read", wp_take_context, &c, &path, &storage,
                          &tolerance))
        return NULL;
    weft_sparse *matrix = NULL;
    PyThreadState *save = PyEval_SaveThread();
    weft_status status =
        wp.weft_sparse_read_as(c->ctx, &matrix, path, (weft_storage)storage, tolerance);
    PyEval_RestoreThread(save);
    return wp_end(c, status, NULL, 0) ? capsule_of(matrix) : NULL;
}

/* sparse_write(context, matrix, path) */
static PyObject *write_file(PyObject *module, PyObject *args) {
    (void)module;
    wp_context *c;
    PyObject *capsule;
    const char *path;
    if (!PyArg_ParseTuple(args, "O&Os:sparse_write", wp_take_context, &c, &capsule, &path))
        return NULL;
    weft_status status = WEFT_EARG;
    weft_sparse *matrix = wp_sparse_of(capsule);
    PyThreadState *save = PyEval_SaveThread();
    if (matrix != NULL)
        status = wp.weft_sparse_write(c->ctx, matrix, path);
    PyEval_RestoreThread(save);
    return wp_end(c, status, NULL, 0) ? Py_NewRef(Py_None) : NULL;
}

/* sparse_update(context, matrix, values) */
static PyObject *update(PyObject *module, PyObject *args) {
    (void)module;
    wp_context *c;
    PyObject *capsule, *given[1];
    wp_array a[1];
    if (!PyArg_ParseTuple(args, "O&OO:sparse_update", wp_take_context, &c, &capsule, &given[0]) ||
        !wp_take_all(given, "a", a, c))
        return NULL;
    weft_status status = WEFT_EARG;
    weft_sparse *matrix = wp_sparse_of(capsule);
    PyThreadState *save = PyEval_SaveThread();
    if (matrix != NULL)
        status = wp.weft_sparse_update(c->ctx, matrix, a[0].n, a[0].p);
    PyEval_RestoreThread(save);
    return wp_end(c, status, a, 1) ? Py_NewRef(Py_None) : NULL;
}

/* sparse_facts(matrix): (rows, columns, entries held, whether it was given as symmetric) */
static PyObject *facts(PyObject *module, PyObject *capsule) {
    (void)module;
    const weft_sparse *matrix = wp_sparse_of(capsule);
    if (matrix == NULL)
        return NULL;
    return Py_BuildValue("nnnN", (Py_ssize_t)wp.weft_sparse_rows(matrix),
                         (Py_ssize_t)wp.weft_sparse_cols(matrix),
                         (Py_ssize_t)wp.weft_sparse_entries(matrix),
                         PyBool_FromLong(wp.weft_sparse_is_symmetric(matrix)));
}

/* sparse_entries(matrix): the entries held, by columns, as bytes: (starts, rows, values) */
static PyObject *entries(PyObject *module, PyObject *capsule) {
    (void)module;
    const weft_sparse *matrix = wp_sparse_of(capsule);
    if (matrix == NULL)
        return NULL;
    Py_ssize_t many = 8 * (Py_ssize_t)wp.weft_sparse_entries(matrix);
    Py_ssize_t starts = 8 * ((Py_ssize_t)wp.weft_sparse_cols(matrix) + 1);
    return Py_BuildValue("y#y#y#", (const char *)wp.weft_sparse_starts(matrix), starts,
                         (const char *)wp.weft_sparse_row_indices(matrix), many,
                         (const char *)wp.weft_sparse_values(matrix), many);
}

/* sparse_multiply(context, matrix, n, x, y): n columns, one after the other */
static PyObject *multiply(PyObject *module, PyObject *args) {
    (void)module;
    wp_context *c;
    PyObject *capsule, *given[2];
    Py_ssize_t n;
    wp_array a[2];
    if (!PyArg_ParseTuple(args, "O&OnOO:sparse_multiply", wp_take_context, &c, &capsule, &n,
                          &given[0], &given[1]) ||
        !wp_take_all(given, "ao", a, c))
        return NULL;
    weft_status status = WEFT_EARG;
    weft_sparse *matrix = wp_sparse_of(capsule);
    PyThreadState *save = PyEval_SaveThread();
    if (matrix != NULL)
        status =
            wp.weft_sparse_multiply(c->ctx, matrix, (size_t)n, a[0].p, wp.weft_sparse_cols(matrix),
                                    a[1].p, wp.weft_sparse_rows(matrix));
    PyEval_RestoreThread(save);
    return wp_end(c, status, a, 2) ? Py_NewRef(Py_None) : NULL;
}

PyMethodDef wp_sparse_methods[] = {
    {"sparse_create", create, METH_VARARGS,
     "sparse_create(context, storage, form, rows, cols, tolerance, start, index, value)"},
    {"sparse_read", read_file, METH_VARARGS, "sparse_read(context, path, storage, tolerance)"},
    {"sparse_write", write_file, METH_VARARGS, "sparse_write(context, matrix, path)"},
    {"sparse_update", update, METH_VARARGS, "sparse_update(context, matrix, values)"},
    {"sparse_facts", facts, METH_O, "sparse_facts(matrix): rows, columns, entries, symmetric"},
    {"sparse_entries", entries, METH_O, "sparse_entries(matrix): starts, rows, values"},
    {"sparse_multiply", multiply, METH_VARARGS, "sparse_multiply(context, matrix, n, x, y)"},
    {NULL, NULL, 0, NULL}};
