/* SPDX-License-Identifier: Apache-2.0 */
/* Tables as text, .csv and .txt, wherever the command takes or writes an array. */
#include "cli/table_file.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "cli/output.h"
#include "cli/text.h"
#include "io/text_table.h"

static bool ends_in(const char *path, const char *suffix) {
    const size_t length = strlen(path), own = strlen(suffix);
    return length > own && strcasecmp(path + length - own, suffix) == 0;
}

bool wi_is_table_name(const char *path) {
    return ends_in(path, ".csv") || ends_in(path, ".txt");
}

bool wi_holds_table(const char *path, FILE *file) {
    if (!wi_is_standard(path))
        return wi_is_table_name(path);
    const int first = getc(file);
    if (first != EOF)
        ungetc(first, file);
    return first != EOF && first != WI_NPY_FIRST;
}

weft_status wi_table_load(const wi_arguments *args, FILE *file, const char *name,
                          const weft_type *type, wi_npy *array, wi_note *note) {
    weft_context *threads = NULL;
    weft_status status = weft_open(&threads, "cpu");
    if (status != WEFT_OK)
        return wi_note_fail(note, status, "%s", weft_message(NULL));
    status = wi_text_table_read(threads, file, name, wi_value(args, &wi_columns_option), type,
                                array, note);
    weft_close(threads);
    return status;
}

weft_status wi_table_save(FILE *file, const char *name, const wi_npy *array, wi_note *note) {
    const wi_npy_layout *const l = &array->layout;
    const size_t size = weft_type_size(l->type), columns = l->dims == 2 ? l->shape[1] : 1;
    const char separator = ends_in(name, ".csv") ? ',' : ' ';
    if (l->dims > 2)
        return wi_note_fail(note, WEFT_EUNSUPPORTED,
                            "%s: an array of %zu dimensions is no table; name a .npy file", name,
                            l->dims);
    for (size_t k = 0; k < l->count; k++) {
        const size_t row = k / columns, column = k % columns;
        const size_t at = l->fortran_order ? column * (l->count / columns) + row : k;
        char text[WI_FIELD_BYTES];
        fputs(wi_format_element(l->type, (const char *)array->data + at * size, text), file);
        putc(column + 1 < columns ? separator : '\n', file);
    }
    if (fflush(file) == 0 && !ferror(file))
        return WEFT_OK;
    return wi_note_fail(note, WEFT_EIO, "%s: writing failed: %s", name, strerror(errno));
}
