/* SPDX-License-Identifier: Apache-2.0 */
/* Writes Matrix Market files: coordinates and real values. */
#include <errno.h>
#include <string.h>

#include "io/decimal.h"
#include "io/matrix_market.h"

void wi_mm_write_head(FILE *file, const wi_mm_head *head) {
    errno = 0;
    char head_lines[160];
    const int length = snprintf(head_lines, sizeof head_lines,
                                "%%%%MatrixMarket matrix coordinate real %s\n%zu %zu %zu\n",
                                head->symmetry == WI_MM_SYMMETRIC ? "symmetric" : "general",
                                head->rows, head->cols, head->entries);
    fwrite(head_lines, 1, (size_t)length, file);
}

/* Writes a number from 0 on, and what separates it from the next; returns the end. */
static char *put_index(char *at, int64_t index) {
    char digits[24];
    size_t count = 0;
    do
        digits[count++] = (char)('0' + index % 10);
    while (index /= 10);
    while (count)
        *at++ = digits[--count];
    *at++ = ' ';
    return at;
}

void wi_mm_write_entry(FILE *file, int64_t row, int64_t col, double value) {
    char line[2 * 24 + WI_DECIMAL_BYTES + 1];
    char *at = put_index(put_index(line, row + 1), col + 1);
    at += wi_decimal_write(value, at);
    *at++ = '\n';
    fwrite(line, 1, (size_t)(at - line), file);
}

weft_status wi_mm_write_end(FILE *file, const char *name, wi_note *note) {
    if (fflush(file) == 0 && !ferror(file))
        return WEFT_OK;
    return wi_note_fail(note, WEFT_EIO, "%s: writing failed: %s", name, strerror(errno));
}
