/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of the tables: one function of C runs every row, which Python hands it as `self`.
 */
#include "core.h"

static unsigned how_of(char kind) {
    return (strchr("owZ", kind) != NULL ? WP_WRITE : 0U) |
           (strchr("mw", kind) != NULL ? WP_MATRIX : 0U) |
           (strchr("zZ", kind) != NULL ? WP_COMPLEX_TOO : 0U) | (kind == 'v' ? WP_GAPS : 0U);
}

/* Reads an array; one with gaps is passed as what weft_strided makes of it. */
static bool take_array(weft_context *ctx, char kind, PyObject *object, wp_array *a) {
    if (!wp_take(object, a, how_of(kind)))
        return false;
    if (a->stride_bytes > 0)
        a->p = (void *)(uintptr_t)wp.weft_strided(ctx, a->p, a->stride_bytes);
    return true;
}

/* Reads one argument into its place among those of its kind; `at` counts them. */
static bool take_one(weft_context *ctx, char kind, PyObject *object, wp_arguments *v, size_t *at) {
    switch (kind) {
    case 'i':
        v->i[at[0]] = PyLong_Check(object) ? (int64_t)PyLong_AsUnsignedLongLongMask(object)
                                           : PyLong_AsLongLong(object);
        return v->i[at[0]++] != -1 || !PyErr_Occurred();
    case 'r':
        v->r[at[1]] = PyFloat_AsDouble(object);
        return v->r[at[1]++] != -1 || !PyErr_Occurred();
    case 's':
        v->s[at[3]] = object != Py_None ? PyUnicode_AsUTF8AndSize(object, NULL) : NULL;
        return v->s[at[3]++] != NULL || object == Py_None;
    default:
        if (!take_array(ctx, kind, object, &v->a[at[2]]))
            return false;
        at[2]++;
        return true;
    }
}

static PyObject *call(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    const wp_row *row = PyCapsule_GetPointer(self, NULL);
    if (row == NULL)
        return NULL;
    Py_ssize_t expected = (Py_ssize_t)strcspn(row->takes, "=") + 1;
    if (count != expected)
        return PyErr_Format(PyExc_TypeError, "%s takes %zd arguments, not %zd", row->name, expected,
                            count);
    wp_context *c;
    if (!wp_take_context(args[0], &c))
        return NULL;
    wp_arguments v;
    size_t at[4] = {0};
    v.refused = NULL;
    for (Py_ssize_t k = 1; k < count; k++) {
        if (!take_one(c->ctx, row->takes[k - 1], args[k], &v, at)) {
            wp_unlock(c);
            wp_release(v.a, at[2]);
            return NULL;
        }
    }
    PyThreadState *save = PyEval_SaveThread();
    weft_status status = row->run(c->ctx, &v);
    PyEval_RestoreThread(save);
    if (v.refused != NULL)
        PyErr_SetString(PyExc_ValueError, v.refused);
    if (!wp_end(c, status, v.a, at[2]))
        return NULL;
    return row->takes[expected - 1] == '=' ? PyLong_FromUnsignedLongLong(v.result)
                                           : Py_NewRef(Py_None);
}

bool wp_add_rows(PyObject *module, const wp_row *rows) {
    static PyMethodDef any = {"call", (PyCFunction)(void (*)(void))call, METH_FASTCALL,
                              "See the rows of the extension module's sources."};
    for (const wp_row *row = rows; row->name != NULL; row++) {
        PyObject *self = PyCapsule_New((void *)row, NULL, NULL);
        PyObject *function = self != NULL ? PyCFunction_New(&any, self) : NULL;
        Py_XDECREF(self);
        if (function == NULL || PyModule_AddObjectRef(module, row->name, function) < 0) {
            Py_XDECREF(function);
            return false;
        }
        Py_DECREF(function);
    }
    return true;
}
