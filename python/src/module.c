/* SPDX-License-Identifier: Apache-2.0 */
/* The module weft._core: loading the library, and the exceptions of its statuses. */
#include "core.h"

#include <dlfcn.h>

wp_library wp;
static void *loaded;      /* the library, never unloaded */
static PyObject *classes; /* a tuple: the exception class of each status from WEFT_EARG on */

void wp_raise(weft_status status, const char *message) {
    PyObject *class = NULL;
    if (classes != NULL && status > WEFT_OK && (Py_ssize_t)status <= PyTuple_Size(classes))
        class = PyTuple_GetItem(classes, (Py_ssize_t)status - 1);
    PyErr_SetString(class != NULL ? class : PyExc_RuntimeError, message);
}

/* Finds each call of WP_CALLS in the library; false and an ImportError if one is not there. */
static bool find_calls(void *library, const char *path) {
#define WP_NAME(name) #name,
    static const char *const names[] = {WP_CALLS(WP_NAME)};
#undef WP_NAME
    void *found[sizeof names / sizeof names[0]];
    _Static_assert(sizeof found == sizeof wp, "wp has one pointer for each name");
    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) {
        found[k] = dlsym(library, names[k]);
        if (found[k] == NULL) {
            PyErr_Format(PyExc_ImportError,
                         "%s has no %s: it is not a libweft, or one older than this package", path,
                         names[k]);
            return false;
        }
    }
    memcpy(&wp, found, sizeof wp);
    return true;
}

/* load(path, classes): loads the library and keeps the exception classes. */
static PyObject *load(PyObject *module, PyObject *args) {
    (void)module;
    const char *path;
    PyObject *given;
    if (!PyArg_ParseTuple(args, "sO!", &path, &PyTuple_Type, &given))
        return NULL;
    if (loaded == NULL) {
        void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (library == NULL)
            return PyErr_Format(PyExc_ImportError, "the library of weft cannot be loaded: %s",
                                dlerror());
        if (!find_calls(library, path)) {
            dlclose(library);
            return NULL;
        }
        loaded = library;
    }
    Py_INCREF(given);
    Py_XDECREF(classes);
    classes = given;
    return PyUnicode_FromString(wp.weft_version());
}

static PyMethodDef own_methods[] = {
    {"load", load, METH_VARARGS, "load(path, classes): load the library; returns its version"},
    {NULL, NULL, 0, NULL}};

static struct PyModuleDef definition = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "weft._core",
    .m_doc = "The calls of libweft; the package weft gives them numpy's names.",
    .m_size = -1,
    .m_methods = own_methods,
};

PyMODINIT_FUNC PyInit__core(void); /* Python calls it, and no header declares it */

PyMODINIT_FUNC PyInit__core(void) {
    const wp_row *const rows[] = {wp_context_rows, wp_order_rows,  wp_move_rows,
                                  wp_group_rows,   wp_number_rows, wp_exact_rows,
                                  wp_dense_rows,   wp_layer_rows,  wp_nbody_rows};
    PyMethodDef *const methods[] = {wp_dense_methods, wp_sparse_methods, wp_chol_methods};
    PyObject *module = PyModule_Create(&definition);
    if (module == NULL)
        return NULL;
    bool well = wp_add_context(module);
    for (size_t k = 0; well && k < sizeof rows / sizeof rows[0]; k++)
        well = wp_add_rows(module, rows[k]);
    for (size_t k = 0; well && k < sizeof methods / sizeof methods[0]; k++)
        well = PyModule_AddFunctions(module, methods[k]) == 0;
    if (!well) {
        Py_DECREF(module);
        return NULL;
    }
    return module;
}
