/* SPDX-License-Identifier: Apache-2.0 */
/* The type weft._core.Context, and how a call begins and ends. */
#include "core.h"

static PyObject *context_type;

/* Takes the lock of a context. It may have to wait for another thread, without Python's lock. */
static bool lock(wp_context *c) {
    unsigned long self = PyThread_get_thread_ident();
    if (!PyThread_acquire_lock(c->lock, NOWAIT_LOCK)) {
        if (c->holder == self) {
            PyErr_SetString(PyExc_RuntimeError,
                            "a call on this context is under way in this thread: a progress "
                            "function or a finalizer must use another context");
            return false;
        }
        PyThreadState *save = PyEval_SaveThread();
        PyThread_acquire_lock(c->lock, WAIT_LOCK);
        PyEval_RestoreThread(save);
    }
    c->holder = self;
    return true;
}

void wp_unlock(wp_context *c) {
    c->holder = 0;
    PyThread_release_lock(c->lock);
}

int wp_take_context(PyObject *object, void *to) {
    wp_context **c = to;
    if (object == NULL) { /* a later argument was refused */
        wp_unlock(*c);
        return 0;
    }
    if (!PyObject_TypeCheck(object, (PyTypeObject *)context_type)) {
        PyErr_SetString(PyExc_TypeError, "context must be a weft.Context");
        return 0;
    }
    *c = (wp_context *)object;
    if (!lock(*c))
        return 0;
    if ((*c)->ctx == NULL) {
        wp_unlock(*c);
        PyErr_SetString(PyExc_ValueError, "this context is closed: open another weft.Context");
        return 0;
    }
    return Py_CLEANUP_SUPPORTED;
}

bool wp_end(wp_context *c, weft_status status, wp_array *arrays, size_t count) {
    if (status != WEFT_OK && !PyErr_Occurred())
        wp_raise(status, wp.weft_message(c->ctx));
    wp_unlock(c);
    wp_release(arrays, count);
    return status == WEFT_OK;
}

static PyObject *context_new(PyTypeObject *type, PyObject *args, PyObject *names) {
    (void)args;
    (void)names;
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    wp_context *c = (wp_context *)allocate(type, 0);
    if (c == NULL)
        return NULL;
    c->lock = PyThread_allocate_lock();
    if (c->lock == NULL) {
        Py_DECREF(c);
        return PyErr_NoMemory();
    }
    return (PyObject *)c;
}

/* open(place): the context of an object that has none. */
static PyObject *context_open(PyObject *self, PyObject *args) {
    wp_context *c = (wp_context *)self;
    const char *place;
    if (!PyArg_ParseTuple(args, "z", &place) || !lock(c))
        return NULL;
    if (wp.weft_open == NULL || c->ctx != NULL) {
        wp_unlock(c);
        PyErr_SetString(PyExc_RuntimeError, "this context cannot be opened (again)");
        return NULL;
    }
    PyThreadState *save = PyEval_SaveThread();
    weft_status status = wp.weft_open(&c->ctx, place);
    const char *message = status != WEFT_OK ? wp.weft_message(NULL) : "";
    PyEval_RestoreThread(save);
    if (status != WEFT_OK)
        wp_raise(status, message);
    wp_unlock(c);
    return status == WEFT_OK ? Py_NewRef(Py_None) : NULL;
}

static PyObject *context_close(PyObject *self, PyObject *unused) {
    (void)unused;
    wp_context *c = (wp_context *)self;
    if (!lock(c))
        return NULL;
    weft_context *ctx = c->ctx;
    c->ctx = NULL;
    PyThreadState *save = PyEval_SaveThread();
    if (ctx != NULL)
        wp.weft_close(ctx);
    PyEval_RestoreThread(save);
    wp_unlock(c);
    return Py_NewRef(Py_None);
}

static void context_dealloc(PyObject *self) {
    wp_context *c = (wp_context *)self;
    PyTypeObject *type = Py_TYPE(self);
    if (c->ctx != NULL) {
        PyThreadState *save = PyEval_SaveThread();
        wp.weft_close(c->ctx);
        PyEval_RestoreThread(save);
    }
    if (c->lock != NULL)
        PyThread_free_lock(c->lock);
    freefunc free_object = (freefunc)PyType_GetSlot(type, Py_tp_free);
    free_object(self);
    Py_DECREF(type);
}

static PyObject *context_place(PyObject *self, void *closure) {
    (void)closure;
    wp_context *c = (wp_context *)self;
    return PyUnicode_FromString(c->ctx != NULL ? wp.weft_place(c->ctx) : "closed");
}

/* used(op): the variant that the latest call of op ran, or None */
static PyObject *context_used(PyObject *self, PyObject *args) {
    wp_context *c = (wp_context *)self;
    const char *op;
    if (!PyArg_ParseTuple(args, "s", &op) || !wp_take_context(self, &c))
        return NULL;
    const char *variant = wp.weft_used(c->ctx, op);
    PyObject *result = variant != NULL ? PyUnicode_FromString(variant) : Py_NewRef(Py_None);
    wp_unlock(c);
    return result;
}

static PyGetSetDef context_members[] = {
    {"place", context_place, NULL, "The place that the context is open on, or \"closed\".", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

static PyMethodDef context_methods[] = {
    {"_open", context_open, METH_VARARGS, "_open(place)"},
    {"_close", context_close, METH_NOARGS, "_close()"},
    {"used", context_used, METH_VARARGS,
     "used(op): the variant that the latest call of the operation ran; None if none did."},
    {NULL, NULL, 0, NULL}};

static PyType_Slot slots[] = {
    {Py_tp_new, context_new},
    {Py_tp_dealloc, context_dealloc},
    {Py_tp_getset, context_members},
    {Py_tp_methods, context_methods},
    {Py_tp_doc, "One context of the library; weft.Context adds the rest."},
    {0, NULL},
};

static PyType_Spec spec = {
    .name = "weft._core.Context",
    .basicsize = sizeof(wp_context),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .slots = slots,
};

bool wp_add_context(PyObject *module) {
    context_type = PyType_FromSpec(&spec);
    return context_type != NULL && PyModule_AddObjectRef(module, "Context", context_type) == 0;
}

static weft_status use(weft_context *ctx, wp_arguments *v) {
    return wp.weft_use(ctx, v->s[0], v->s[1]);
}

static weft_status set_tuning(weft_context *ctx, wp_arguments *v) {
    return wp.weft_set_tuning(ctx, v->s[0]);
}

static weft_status trace_begin(weft_context *ctx, wp_arguments *v) {
    return wp.weft_trace_begin(ctx, v->s[0]);
}

static weft_status trace_end(weft_context *ctx, wp_arguments *v) {
    (void)v;
    return wp.weft_trace_end(ctx);
}

static void *address(int64_t number) {
    return (void *)(uintptr_t)number; // NOLINT(performance-no-int-to-ptr)
}

static weft_status alloc(weft_context *ctx, wp_arguments *v) {
    void *memory;
    weft_status status = wp.weft_alloc(ctx, &memory, (size_t)v->i[0]);
    v->result = (uintptr_t)memory;
    return status;
}

static weft_status free_memory(weft_context *ctx, wp_arguments *v) {
    return wp.weft_free(ctx, address(v->i[0]));
}

static weft_status copy(weft_context *ctx, wp_arguments *v) {
    if (v->a[0].n * v->a[0].width != v->a[1].n * v->a[1].width) {
        v->refused = "a copy needs two arrays of as many bytes";
        return WEFT_EARG;
    }
    return wp.weft_copy(ctx, v->a[1].p, v->a[0].p, v->a[0].n * v->a[0].width);
}

static weft_status sync_all(weft_context *ctx, wp_arguments *v) {
    (void)v;
    return wp.weft_sync(ctx);
}

static weft_status set_stream(weft_context *ctx, wp_arguments *v) {
    return wp.weft_set_stream(ctx, address(v->i[0]));
}

const wp_row wp_context_rows[] = {
    {"use", "ss", use},                /* op, variant */
    {"set_tuning", "s", set_tuning},   /* path */
    {"trace_begin", "s", trace_begin}, /* path */
    {"trace_end", "", trace_end},
    {"alloc", "i=", alloc},     /* bytes; the address */
    {"free", "i", free_memory}, /* address */
    {"copy", "ao", copy},       /* from, to */
    {"sync", "", sync_all},
    {"set_stream", "i", set_stream}, /* the address of a stream, or 0 */
    {NULL, NULL, NULL},
};
