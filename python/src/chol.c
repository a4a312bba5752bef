/* SPDX-License-Identifier: Apache-2.0 */
/* Cholesky factorizations of sparse matrices: a capsule holds a plan, and frees it. */
#include "sparse.h"

static const char capsule_name[] = "weft.chol";

static void destroy(PyObject *capsule) {
    wp.weft_chol_destroy(PyCapsule_GetPointer(capsule, capsule_name));
}

static weft_chol *plan_of(PyObject *capsule) {
    return PyCapsule_GetPointer(capsule, capsule_name);
}

static PyObject *capsule_of(weft_chol *plan) {
    PyObject *capsule = PyCapsule_New(plan, capsule_name, destroy);
    if (capsule == NULL)
        wp.weft_chol_destroy(plan);
    return capsule;
}

/* chol_analyze(context, matrix, ordering or None, permutation or None, seconds, kind, signs or
 * None, perturbation, precision, factorizations) */
static PyObject *analyze(PyObject *module, PyObject *args) {
    (void)module;
    wp_context *c;
    PyObject *capsule, *given[2];
    int kind, precision;
    weft_chol_options options = {.size = sizeof options};
    wp_array a[2];
    if (!PyArg_ParseTuple(args, "O&OzOdiOdid:chol_analyze", wp_take_context, &c, &capsule,
                          &options.ordering, &given[0], &options.ordering_seconds, &kind, &given[1],
                          &options.perturbation, &precision, &options.factorizations) ||
        !wp_take_all(given, "aa", a, c))
        return NULL;
    options.permutation = a[0].p;
    options.kind = (weft_chol_kind)kind;
    options.precision = (weft_precision)precision;
    options.signs = a[1].p;
    weft_chol *plan = NULL;
    weft_status status = WEFT_EARG;
    weft_sparse *matrix = wp_sparse_of(capsule);
    PyThreadState *save = PyEval_SaveThread();
    if (matrix != NULL)
        status = wp.weft_chol_analyze(c->ctx, matrix, &options, &plan);
    PyEval_RestoreThread(save);
    return wp_end(c, status, a, 2) ? capsule_of(plan) : NULL;
}

/* Tells Python's function how far the factorization is; an exception there, or Ctrl-C, ends it. */
static int tell(void *user, double done) {
    PyGILState_STATE state = PyGILState_Ensure();
    PyObject *answer =
        PyErr_CheckSignals() == 0 ? PyObject_CallFunction((PyObject *)user, "d", done) : NULL;
    Py_XDECREF(answer);
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace); /* wp_end's thread state is the same: it finds it there */
    bool stop = type != NULL;
    PyErr_Restore(type, value, trace);
    PyGILState_Release(state);
    return stop;
}

/* chol_factor(context, plan, matrix, values in place of the matrix's or None, progress or None) */
static PyObject *factor(PyObject *module, PyObject *args) {
    (void)module;
    wp_context *c;
    PyObject *plan_capsule, *capsule, *given[1], *progress;
    wp_array a[1];
    if (!PyArg_ParseTuple(args, "O&OOOO:chol_factor", wp_take_context, &c, &plan_capsule, &capsule,
                          &given[0], &progress) ||
        !wp_take_all(given, "a", a, c))
        return NULL;
    weft_status status = WEFT_EARG;
    weft_chol *plan = plan_of(plan_capsule);
    weft_sparse *matrix = plan != NULL ? wp_sparse_of(capsule) : NULL;
    if (matrix != NULL)
        status =
            wp.weft_chol_on_progress(c->ctx, plan, progress != Py_None ? tell : NULL, progress);
    PyThreadState *save = PyEval_SaveThread();
    if (status == WEFT_OK && a[0].p != NULL)
        status = wp.weft_chol_factor_values(c->ctx, plan, matrix, a[0].p);
    else if (status == WEFT_OK)
        status = wp.weft_chol_factor(c->ctx, plan, matrix);
    PyEval_RestoreThread(save);
    if (plan != NULL && progress != Py_None)
        (void)wp.weft_chol_on_progress(c->ctx, plan, NULL, NULL);
    return wp_end(c, status, a, 1) ? Py_NewRef(Py_None) : NULL;
}

/* chol_solve(context, plan, matrix, values or None, part, refine, exact, n, b, x): n columns, one
 * after the other */
static PyObject *solve(PyObject *module, PyObject *args) {
    (void)module;
    wp_context *c;
    PyObject *plan_capsule, *capsule, *given[3];
    int part, refine, exact;
    Py_ssize_t n;
    wp_array a[3];
    if (!PyArg_ParseTuple(args, "O&OOOiipnOO:chol_solve", wp_take_context, &c, &plan_capsule,
                          &capsule, &given[0], &part, &refine, &exact, &n, &given[1], &given[2]) ||
        !wp_take_all(given, "aao", a, c))
        return NULL;
    weft_chol_solve_options options = {.size = sizeof options,
                                       .part = (weft_chol_part)part,
                                       .refine = refine,
                                       .exact = exact,
                                       .value = a[0].p};
    weft_status status = WEFT_EARG;
    weft_chol *plan = plan_of(plan_capsule);
    weft_sparse *matrix = plan != NULL ? wp_sparse_of(capsule) : NULL;
    size_t ld = matrix != NULL ? wp.weft_sparse_rows(matrix) : 0;
    PyThreadState *save = PyEval_SaveThread();
    if (matrix != NULL)
        status =
            wp.weft_chol_solve(c->ctx, plan, matrix, &options, (size_t)n, a[1].p, ld, a[2].p, ld);
    PyEval_RestoreThread(save);
    return wp_end(c, status, a, 3) ? Py_NewRef(Py_None) : NULL;
}

/* chol_report(context, plan): a dict */
static PyObject *report(PyObject *module, PyObject *args) {
    (void)module;
    wp_context *c;
    PyObject *capsule;
    if (!PyArg_ParseTuple(args, "O&O:chol_report", wp_take_context, &c, &capsule))
        return NULL;
    weft_chol_report r = {.size = sizeof r};
    weft_chol *plan = plan_of(capsule);
    weft_status status = plan != NULL ? wp.weft_chol_get_report(c->ctx, plan, &r) : WEFT_EARG;
    if (!wp_end(c, status, NULL, 0))
        return NULL;
    return Py_BuildValue(
        "{s:n,s:n,s:n,s:d,s:s,s:n,s:n,s:n,s:n,s:d,s:d,s:d,s:d,s:d,s:d,s:d,s:n,s:d,s:n,s:n,s:n,s:n,"
        "s:n,s:n,s:s,s:O,s:n}",
        "n", (Py_ssize_t)r.n, "nnz_a", (Py_ssize_t)r.nnz_a, "nnz_l", (Py_ssize_t)r.nnz_l, "flops",
        r.flops, "ordering", r.ordering, "supernodes", (Py_ssize_t)r.supernodes, "tree_height",
        (Py_ssize_t)r.tree_height, "largest_front", (Py_ssize_t)r.largest_front, "bytes_needed",
        (Py_ssize_t)r.bytes_needed, "analyze_seconds", r.analyze_seconds, "factor_seconds",
        r.factor_seconds, "factor_gflops", r.factor_gflops, "logdet", r.logdet, "solve_seconds",
        r.solve_seconds, "backward_error", r.backward_error, "normwise_error", r.normwise_error,
        "refinements", (Py_ssize_t)r.refinements, "forward_estimate", r.forward_estimate, "stalled",
        (Py_ssize_t)r.stalled, "krylov_steps", (Py_ssize_t)r.krylov_steps, "positive",
        (Py_ssize_t)r.positive, "negative", (Py_ssize_t)r.negative, "perturbed",
        (Py_ssize_t)r.perturbed, "pairs", (Py_ssize_t)r.pairs, "factor_type",
        r.factor_type == WEFT_F32 ? "float32" : "float64", "fell_back",
        r.fell_back ? Py_True : Py_False, "host_factor_bytes", (Py_ssize_t)r.host_factor_bytes);
}

/* chol_condition(context, plan, matrix): an estimate of the condition number */
static PyObject *condition(PyObject *module, PyObject *args) {
    (void)module;
    wp_context *c;
    PyObject *plan_capsule, *capsule;
    if (!PyArg_ParseTuple(args, "O&OO:chol_condition", wp_take_context, &c, &plan_capsule,
                          &capsule))
        return NULL;
    double estimate = 0;
    weft_status status = WEFT_EARG;
    weft_chol *plan = plan_of(plan_capsule);
    weft_sparse *matrix = plan != NULL ? wp_sparse_of(capsule) : NULL;
    PyThreadState *save = PyEval_SaveThread();
    if (matrix != NULL)
        status = wp.weft_chol_condition(c->ctx, plan, matrix, &estimate);
    PyEval_RestoreThread(save);
    return wp_end(c, status, NULL, 0) ? PyFloat_FromDouble(estimate) : NULL;
}

/* chol_permutation(plan, n): the order of the columns, as bytes */
static PyObject *permutation(PyObject *module, PyObject *args) {
    (void)module;
    PyObject *capsule;
    Py_ssize_t n;
    if (!PyArg_ParseTuple(args, "On:chol_permutation", &capsule, &n))
        return NULL;
    const weft_chol *plan = plan_of(capsule);
    if (plan == NULL)
        return NULL;
    return PyBytes_FromStringAndSize((const char *)wp.weft_chol_permutation(plan), 8 * n);
}

/* chol_save(context, plan, path) */
static PyObject *save_plan(PyObject *module, PyObject *args) {
    (void)module;
    wp_context *c;
    PyObject *capsule;
    const char *path;
    if (!PyArg_ParseTuple(args, "O&Os:chol_save", wp_take_context, &c, &capsule, &path))
        return NULL;
    const weft_chol *plan = plan_of(capsule);
    weft_status status = WEFT_EARG;
    PyThreadState *save = PyEval_SaveThread();
    if (plan != NULL)
        status = wp.weft_chol_save(c->ctx, plan, path);
    PyEval_RestoreThread(save);
    return wp_end(c, status, NULL, 0) ? Py_NewRef(Py_None) : NULL;
}

/* chol_load(context, path): a plan */
static PyObject *load_plan(PyObject *module, PyObject *args) {
    (void)module;
    wp_context *c;
    const char *path;
    if (!PyArg_ParseTuple(args, "O&s:chol_load", wp_take_context, &c, &path))
        return NULL;
    weft_chol *plan = NULL;
    PyThreadState *save = PyEval_SaveThread();
    weft_status status = wp.weft_chol_load(c->ctx, path, &plan);
    PyEval_RestoreThread(save);
    return wp_end(c, status, NULL, 0) ? capsule_of(plan) : NULL;
}

PyMethodDef wp_chol_methods[] = {
    {"chol_analyze", analyze, METH_VARARGS,
     "chol_analyze(context, matrix, ordering, permutation, seconds, kind, signs, perturbation)"},
    {"chol_factor", factor, METH_VARARGS, "chol_factor(context, plan, matrix, values, progress)"},
    {"chol_solve", solve, METH_VARARGS,
     "chol_solve(context, plan, matrix, values, part, refine, exact, n, b, x)"},
    {"chol_report", report, METH_VARARGS, "chol_report(context, plan)"},
    {"chol_condition", condition, METH_VARARGS, "chol_condition(context, plan, matrix)"},
    {"chol_save", save_plan, METH_VARARGS, "chol_save(context, plan, path)"},
    {"chol_load", load_plan, METH_VARARGS, "chol_load(context, path)"},
    {"chol_permutation", permutation, METH_VARARGS, "chol_permutation(plan, n)"},
    {NULL, NULL, 0, NULL}};
