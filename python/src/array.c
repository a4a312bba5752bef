/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays of Python as the library takes them: address, type, count, and of matrices the distance
 * from one line to the next. Nothing is copied. */
#include "core.h"

enum {
    MOST_DIMENSIONS = 64
};

/* The weft_type of what a format of the buffer protocol describes, + WP_COMPLEX for complex
 * numbers; -1 if there is none. */
static int type_of_format(const char *format) {
    static const struct {
        char letter;
        signed char type;
    } types[] = {
        {'b', WEFT_I8},
        {'B', WEFT_U8},
        {'?', WEFT_U8},
        {'h', WEFT_I16},
        {'H', WEFT_U16},
        {'i', WEFT_I32},
        {'I', WEFT_U32},
        {'l', sizeof(long) == 8 ? WEFT_I64 : WEFT_I32},
        {'L', sizeof(long) == 8 ? WEFT_U64 : WEFT_U32},
        {'q', WEFT_I64},
        {'Q', WEFT_U64},
        {'e', WEFT_F16},
        {'f', WEFT_F32},
        {'d', WEFT_F64},
    };
    if (format == NULL)
        return WEFT_U8;
    if (*format == '@' || *format == '=' || *format == '^')
        format++;
    bool complex_numbers = *format == 'Z';
    if (complex_numbers)
        format++;
    if (format[0] == '\0' || format[1] != '\0')
        return -1;
    for (size_t k = 0; k < sizeof types / sizeof types[0]; k++) {
        if (types[k].letter == *format)
            return types[k].type + (complex_numbers ? WP_COMPLEX : 0);
    }
    return -1;
}

/* Elements of all dimensions, and whether they lie without gaps, the last dimension fastest. */
static bool no_gaps(int dimensions, const Py_ssize_t *shape, const Py_ssize_t *strides,
                    Py_ssize_t width, size_t *n) {
    *n = 1;
    for (int k = 0; k < dimensions; k++)
        *n *= (size_t)shape[k];
    if (strides == NULL || *n == 0)
        return true;
    Py_ssize_t expected = width;
    for (int k = dimensions - 1; k >= 0; k--) {
        if (shape[k] != 1 && strides[k] != expected)
            return false;
        expected *= shape[k];
    }
    return true;
}

/* Describes a matrix; one of one dimension is a column. */
static bool describe_matrix(wp_array *a, int dimensions, const Py_ssize_t *shape,
                            const Py_ssize_t *strides) {
    Py_ssize_t width = (Py_ssize_t)a->width;
    if (dimensions < 1 || dimensions > 2)
        return false;
    a->rows = (size_t)shape[0];
    a->cols = dimensions == 2 ? (size_t)shape[1] : 1;
    Py_ssize_t row = strides != NULL ? strides[0] : width * (Py_ssize_t)a->cols;
    Py_ssize_t col = dimensions == 2 && strides != NULL ? strides[1] : width;
    Py_ssize_t rows = (Py_ssize_t)a->rows, cols = (Py_ssize_t)a->cols;
    if (a->rows == 0 || a->cols == 0) {
        a->ld = a->cols > 0 ? a->cols : 1;
        return true;
    }
    if ((cols == 1 || col == width) && (rows == 1 || (row % width == 0 && row >= cols * width))) {
        a->ld = rows == 1 ? a->cols : (size_t)(row / width);
        return true;
    }
    a->by_columns = true;
    a->ld = cols == 1 ? a->rows : (size_t)(col / width);
    return (rows == 1 || row == width) && (cols == 1 || (col % width == 0 && col >= rows * width));
}

/* Describes a vector whose elements lie in rising order, with gaps. */
static bool describe_gaps(wp_array *a, int dimensions, const Py_ssize_t *strides) {
    if (dimensions != 1 || strides[0] <= (Py_ssize_t)a->width)
        return false;
    a->stride_bytes = (size_t)strides[0];
    return true;
}

static bool describe(wp_array *a, int type, unsigned how, int dimensions, const Py_ssize_t *shape,
                     const Py_ssize_t *strides) {
    static const unsigned char widths[WEFT_TYPE_COUNT] = {1, 2, 4, 8, 1, 2, 4, 8, 2, 2, 4, 8};
    a->complex_numbers = (type & WP_COMPLEX) != 0;
    a->type = (weft_type)(type & ~WP_COMPLEX);
    if ((unsigned)a->type >= WEFT_TYPE_COUNT) {
        PyErr_SetString(PyExc_TypeError, "an array of this type is not supported");
        return false;
    }
    if (a->complex_numbers && (how & WP_COMPLEX_TOO) == 0) {
        PyErr_SetString(PyExc_TypeError, "complex numbers are not supported here");
        return false;
    }
    bool matrix = (how & WP_MATRIX) != 0;
    a->width = (size_t)widths[a->type] << a->complex_numbers;
    bool whole = no_gaps(dimensions, shape, strides, (Py_ssize_t)a->width, &a->n);
    if (!whole && (how & WP_GAPS) != 0)
        whole = describe_gaps(a, dimensions, strides);
    if (matrix ? !describe_matrix(a, dimensions, shape, strides) : !whole) {
        PyErr_SetString(PyExc_ValueError,
                        matrix ? "neither the rows nor the columns of the matrix lie in one piece"
                               : "the array has gaps between its elements: pass a copy without");
        return false;
    }
    return true;
}

static bool take_buffer(PyObject *object, wp_array *a, unsigned how) {
    const bool written = (how & WP_WRITE) != 0;
    if (PyObject_GetBuffer(object, &a->view, written ? PyBUF_RECORDS : PyBUF_RECORDS_RO) < 0) {
        if (!written && PyErr_ExceptionMatches(PyExc_ValueError)) /* numpy's, of dates and spans */
            PyErr_SetString(PyExc_TypeError,
                            "elements of this type are not supported; pass numbers, "
                            "of dates and times as x.view(\"i8\")");
        return false;
    }
    a->viewed = true;
    a->p = a->view.buf;
    int type = type_of_format(a->view.format);
    bool taken = false;
    const char kind = a->view.format ? a->view.format[strlen(a->view.format) - 1] : 'B';
    if (type < 0 && (kind == 'O' || kind == 'w' || kind == 's'))
        PyErr_Format(PyExc_TypeError, "elements are %s; pass numbers%s",
                     kind == 'O' ? "objects of Python" : "text",
                     kind == 'O' ? ", as x.astype(\"f8\") makes them" : "");
    else if (type < 0)
        PyErr_Format(PyExc_TypeError,
                     "elements of the buffer format \"%s\" are not supported; pass numbers in this "
                     "machine's order of bytes, as x.astype(\"f8\") makes them",
                     a->view.format);
    else
        taken = describe(a, type, how, a->view.ndim, a->view.shape, a->view.strides);
    if (!taken) {
        PyBuffer_Release(&a->view);
        a->viewed = false;
    }
    return taken;
}

/* The sizes in a tuple; -1 and an exception if they are none. */
static int read_sizes(PyObject *tuple, Py_ssize_t *sizes) {
    Py_ssize_t count = PyTuple_Check(tuple) ? PyTuple_Size(tuple) : -1;
    if (count < 0 || count > MOST_DIMENSIONS) {
        PyErr_SetString(PyExc_TypeError, "_raw: a shape and strides are tuples");
        return -1;
    }
    for (Py_ssize_t k = 0; k < count; k++) {
        sizes[k] = PyLong_AsSsize_t(PyTuple_GetItem(tuple, k));
        if (sizes[k] == -1 && PyErr_Occurred())
            return -1;
    }
    return (int)count;
}

static bool take_raw(PyObject *raw, wp_array *a, unsigned how) {
    unsigned long long address;
    int type, may_write;
    PyObject *shape_object, *strides_object;
    Py_ssize_t shape[MOST_DIMENSIONS], strides[MOST_DIMENSIONS];
    if (!PyArg_ParseTuple(raw, "KiOOp", &address, &type, &shape_object, &strides_object,
                          &may_write))
        return false;
    if ((how & WP_WRITE) != 0 && !may_write) {
        PyErr_SetString(PyExc_ValueError, "the output array is read-only");
        return false;
    }
    int dimensions = read_sizes(shape_object, shape);
    bool strided = strides_object != Py_None;
    if (dimensions < 0 || (strided && read_sizes(strides_object, strides) != dimensions)) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_ValueError, "_raw: as many strides as dimensions");
        return false;
    }
    a->p = (void *)(uintptr_t)address; // NOLINT(performance-no-int-to-ptr)
    return describe(a, type, how, dimensions, shape, strided ? strides : NULL);
}

bool wp_take(PyObject *object, wp_array *a, unsigned how) {
    memset(a, 0, sizeof *a);
    if (object == Py_None)
        return true;
    if (PyObject_CheckBuffer(object))
        return take_buffer(object, a, how);
    PyObject *raw = PyObject_GetAttrString(object, "_raw");
    if (raw == NULL)
        return false;
    bool taken = take_raw(raw, a, how);
    Py_DECREF(raw);
    return taken;
}

void wp_release(wp_array *arrays, size_t count) {
    for (size_t k = 0; k < count; k++) {
        if (arrays[k].viewed)
            PyBuffer_Release(&arrays[k].view);
    }
}
