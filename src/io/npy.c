/* SPDX-License-Identifier: Apache-2.0 */
/* Reading and writing .npy files as streams. */
#include "io/npy.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "io/source.h"

static const char magic[] = {'\x93', 'N', 'U', 'M', 'P', 'Y'};

/* Reads magic, version and the length of the dictionary. */
static weft_status read_prefix(const wi_source *s, size_t *length) {
    unsigned char prefix[WI_NPY_PREFIX_BYTES];
    const size_t read = fread(prefix, 1, 8, s->file);
    if (read != 8 || memcmp(prefix, magic, sizeof magic) != 0) {
        if (ferror(s->file))
            return wi_source_cut_short(s, "beginning", 8, 0);
        if (read == 0)
            return wi_note_fail(s->note, WEFT_EFORMAT, "%s: it is empty; give a file with data",
                                s->name);
        if (wi_note_packed(s->note, s->name, prefix, read) != WEFT_OK)
            return WEFT_EFORMAT;
        return wi_note_fail(s->note, WEFT_EFORMAT,
                            "%s: this is not a .npy file: it does not begin with \\x93NUMPY; save "
                            "arrays with numpy.save, or name a table of text .csv or .txt",
                            s->name);
    }
    const unsigned major = prefix[6], minor = prefix[7];
    if (major < 1 || major > 3 || minor != 0)
        return wi_note_fail(s->note, WEFT_EFORMAT,
                            "%s: .npy version %u.%u is not known here; there are 1.0, 2.0 and 3.0",
                            s->name, major, minor);
    const size_t width = major == 1 ? 2 : 4;
    const size_t got = fread(prefix + 8, 1, width, s->file);
    if (got != width)
        return wi_source_cut_short(s, "header length", width, got);
    *length = 0;
    for (size_t k = width; k > 0; k--)
        *length = *length << 8 | prefix[7 + k];
    if (*length > WI_NPY_HEADER_BYTES)
        return wi_note_fail(s->note, WEFT_EFORMAT,
                            "%s: the .npy header claims %zu bytes; plain arrays need no more than "
                            "%d",
                            s->name, *length, WI_NPY_HEADER_BYTES);
    return WEFT_OK;
}

static weft_status read_layout(const wi_source *s, wi_npy_layout *layout) {
    size_t length = 0;
    void *text = NULL;
    weft_status status = read_prefix(s, &length);
    if (status == WEFT_OK)
        status = wi_source_read(s, "header", length, &text);
    if (status != WEFT_OK)
        return status;
    status = wi_npy_parse(text, length, s->name, layout, s->note);
    wi_host_free(text);
    return status;
}

/* Can the caller use the type in the file? */
static weft_status check_type(const wi_source *s, const weft_type *wanted, bool takes_pairs,
                              const wi_npy_layout *layout) {
    if (layout->pairs && !takes_pairs)
        return wi_note_fail(
            s->note, WEFT_EUNSUPPORTED,
            "%s: elements of type 'c%zu' are complex numbers, which weft fft takes; "
            "save x.real and x.imag",
            s->name, 2 * weft_type_size(layout->type));
    if (layout->opaque && !wanted)
        return wi_note_fail(s->note, WEFT_EUNSUPPORTED,
                            "%s: elements of type 'V2' are two raw bytes each; if they are "
                            "bfloat16, say so with --type bf16",
                            s->name);
    if (wanted && *wanted != layout->type)
        return wi_note_fail(s->note, WEFT_EUNSUPPORTED,
                            "%s: the file holds %s, not %s, and is not converted; leave the type "
                            "out, or save it with x.astype",
                            s->name,
                            layout->opaque ? "two-byte voids" : weft_type_name(layout->type),
                            weft_type_name(*wanted));
    return WEFT_OK;
}

static void swap_bytes(void *data, size_t count, size_t size) {
    if (size == 2) {
        uint16_t *const p = data;
        for (size_t i = 0; i < count; i++)
            p[i] = __builtin_bswap16(p[i]);
    } else if (size == 4) {
        uint32_t *const p = data;
        for (size_t i = 0; i < count; i++)
            p[i] = __builtin_bswap32(p[i]);
    } else {
        uint64_t *const p = data;
        for (size_t i = 0; i < count; i++)
            p[i] = __builtin_bswap64(p[i]);
    }
}

/* Reads all that comes before the elements; *bytes is how much they take. */
static weft_status read_head(const wi_source *s, const weft_type *type, bool takes_pairs,
                             wi_npy_layout *layout, size_t *bytes) {
    weft_status status = read_layout(s, layout);
    if (status == WEFT_OK)
        status = check_type(s, type, takes_pairs, layout);
    if (status == WEFT_OK &&
        __builtin_mul_overflow(layout->count, weft_type_size(layout->type), bytes))
        status = wi_note_fail(s->note, WEFT_EFORMAT,
                              "%s: the shape in the .npy header asks for more bytes than 64 bits "
                              "can count",
                              s->name);
    return status;
}

size_t wi_npy_part_of(size_t whole, int rank, int ranks, size_t *first) {
    const size_t parts = (size_t)ranks, r = (size_t)rank;
    *first = whole / parts * r + (whole % parts < r ? whole % parts : r);
    return whole / parts + (r < whole % parts);
}

/* Goes on to the part of a rank; layout->count becomes its elements, and *bytes what they take. */
static weft_status skip_to_part(const wi_source *s, int rank, int ranks, wi_npy_layout *layout,
                                size_t *bytes) {
    const size_t size = weft_type_size(layout->type);
    size_t left, first;
    const size_t own = wi_npy_part_of(layout->count, rank, ranks, &first);
    if (layout->fortran_order && layout->dims > 1)
        return wi_note_fail(s->note, WEFT_EUNSUPPORTED,
                            "%s: the array is in Fortran order, and ranks take parts in C order; "
                            "save it by numpy.ascontiguousarray",
                            s->name);
    if (!wi_source_left(s->file, &left))
        return wi_note_fail(s->note, WEFT_EUNSUPPORTED,
                            "%s: ranks cannot share a pipe; name a file that all of them can read",
                            s->name);
    if (left < *bytes)
        return wi_source_cut_short(s, "array", *bytes, left);
    if (fseeko(s->file, (off_t)(first * size), SEEK_CUR) != 0)
        return wi_note_fail(s->note, WEFT_EIO, "%s: reading failed: %s", s->name, strerror(errno));
    layout->fortran_order = false;
    layout->count = own;
    *bytes = layout->count * size;
    return WEFT_OK;
}

weft_status wi_npy_read(FILE *file, const char *name, const weft_type *type, wi_npy *array,
                        wi_note *note) {
    return wi_npy_read_part(file, name, type, 0, 1, array, note);
}

size_t wi_npy_whole(const wi_npy_layout *layout) {
    size_t count = 1;
    for (size_t k = 0; k < layout->dims; k++)
        count *= layout->shape[k];
    return count;
}

static weft_status read_array(const wi_source *s, const weft_type *type, bool takes_pairs, int rank,
                              int ranks, wi_npy *array) {
    wi_npy_layout *const layout = &array->layout;
    size_t bytes = 0;
    *array = (wi_npy){.data = NULL};
    weft_status status = read_head(s, type, takes_pairs, layout, &bytes);
    if (status == WEFT_OK && ranks > 1)
        status = skip_to_part(s, rank, ranks, layout, &bytes);
    if (status == WEFT_OK)
        status = wi_source_read(s, "array", bytes, &array->data);
    if (status != WEFT_OK) {
        *array = (wi_npy){.data = NULL};
        return status;
    }
    if (layout->swapped)
        swap_bytes(array->data, layout->count, weft_type_size(layout->type));
    layout->swapped = false;
    return WEFT_OK;
}

weft_status wi_npy_read_part(FILE *file, const char *name, const weft_type *type, int rank,
                             int ranks, wi_npy *array, wi_note *note) {
    const wi_source s = {file, name, note};
    return read_array(&s, type, false, rank, ranks, array);
}

weft_status wi_npy_read_numbers(FILE *file, const char *name, wi_npy *array, wi_note *note) {
    const wi_source s = {file, name, note};
    return read_array(&s, NULL, true, 0, 1, array);
}

weft_status wi_npy_write(FILE *file, const char *name, const wi_npy *array, wi_note *note) {
    char header[4096];
    const size_t length = wi_npy_format(&array->layout, header);
    const size_t size = weft_type_size(array->layout.type);
    const size_t count = array->layout.count;
    errno = 0;
    if (fwrite(header, 1, length, file) != length ||
        (count && fwrite(array->data, size, count, file) != count) || fflush(file) != 0)
        return wi_note_fail(note, WEFT_EIO, "%s: writing failed: %s", name, strerror(errno));
    return WEFT_OK;
}

/* Copies elements in C order from memory in Fortran order. */
static void gather(const wi_npy_layout *layout, const unsigned char *from, unsigned char *to) {
    const size_t parts = layout->pairs ? 2 : 1, dims = layout->dims;
    const size_t size = parts * weft_type_size(layout->type), count = layout->count / parts;
    size_t index[WI_NPY_MAX_DIMS] = {0}, stride[WI_NPY_MAX_DIMS], at = 0;
    for (size_t k = 0, product = 1; k < dims; product *= layout->shape[k], k++)
        stride[k] = product;
    for (size_t i = 0; i < count; i++) {
        memcpy(to + i * size, from + at * size, size);
        for (size_t k = dims; k > 0; k--) {
            at += stride[k - 1];
            if (++index[k - 1] < layout->shape[k - 1])
                break;
            at -= stride[k - 1] * layout->shape[k - 1];
            index[k - 1] = 0;
        }
    }
}

weft_status wi_npy_to_c_order(wi_npy *array, wi_note *note) {
    wi_npy_layout *const layout = &array->layout;
    if (!layout->fortran_order)
        return WEFT_OK;
    if (layout->dims > 1 && layout->count > 0) {
        const size_t bytes = layout->count * weft_type_size(layout->type);
        unsigned char *const ordered = wi_host_alloc(bytes);
        if (!ordered)
            return wi_note_fail(note, WEFT_ENOMEM,
                                "no memory for %zu bytes to bring an array into C order", bytes);
        gather(layout, array->data, ordered);
        wi_host_free(array->data);
        array->data = ordered;
    }
    layout->fortran_order = false;
    return WEFT_OK;
}

weft_status wi_npy_take_part(int rank, int ranks, wi_npy *array, wi_note *note) {
    const weft_status status = wi_npy_to_c_order(array, note);
    const size_t size = weft_type_size(array->layout.type);
    size_t first;
    const size_t own = wi_npy_part_of(array->layout.count, rank, ranks, &first);
    if (status != WEFT_OK)
        return status;
    memmove(array->data, (const char *)array->data + first * size, own * size);
    array->layout.count = own;
    return WEFT_OK;
}

void wi_npy_flatten(wi_npy *array, size_t count) {
    array->layout = (wi_npy_layout){.type = array->layout.type,
                                    .opaque = array->layout.opaque,
                                    .dims = 1,
                                    .shape = {count},
                                    .count = count};
}

void wi_npy_flatten_part(wi_npy *array, size_t count, size_t whole) {
    wi_npy_flatten(array, count);
    array->layout.shape[0] = whole;
}

void wi_npy_free(wi_npy *array) {
    wi_host_free(array->data);
    wi_host_free(array->titles);
    *array = (wi_npy){.data = NULL};
}
