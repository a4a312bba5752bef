/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: the .npy reader takes any bytes, as a pipe and as a file, and ends in an array that
 * survives being written and read again, or in a message. */
#include "fuzz.h"
#include "io/npy.h"

/* Reads the bytes from a stream that has no size, or from a file that has one. */
static weft_status read_bytes(const uint8_t *bytes, size_t length, bool pipe, const weft_type *type,
                              wi_npy *array) {
    wi_note note = {""};
    FILE *const file = open_bytes(bytes, length, pipe);
    const weft_status status = wi_npy_read(file, "fuzz", type, array, &note);
    require(fclose(file) == 0);
    require((status == WEFT_OK) == (note.text[0] == '\0') && !strchr(note.text, '\n'));
    return status;
}

static bool same(const wi_npy *a, const wi_npy *b) {
    return a->layout.count == b->layout.count && a->layout.dims == b->layout.dims &&
           memcmp(a->layout.shape, b->layout.shape, sizeof a->layout.shape) == 0 &&
           memcmp(a->data, b->data, a->layout.count * weft_type_size(a->layout.type)) == 0;
}

/* Writes the array, reads it back, and compares. */
static void round_trip(const wi_npy *array) {
    wi_note note = {""};
    char *written = NULL;
    size_t length = 0;
    FILE *const file = open_memstream(&written, &length);
    require(file && wi_npy_write(file, "fuzz", array, &note) == WEFT_OK && fclose(file) == 0);
    wi_npy again;
    require(read_bytes((const uint8_t *)written, length, true, &array->layout.type, &again) ==
            WEFT_OK);
    require(same(array, &again));
    wi_npy_free(&again);
    free(written);
}

static void read_both_ways(const uint8_t *bytes, size_t length, const weft_type *type) {
    wi_npy array, other;
    wi_note note = {""};
    const weft_status status = read_bytes(bytes, length, true, type, &array);
    require(read_bytes(bytes, length, false, type, &other) == status);
    if (status != WEFT_OK)
        return;
    require(array.layout.count * weft_type_size(array.layout.type) <= length);
    require(same(&array, &other));
    round_trip(&array);
    require(wi_npy_to_c_order(&array, &note) == WEFT_OK);
    wi_npy_free(&array);
    wi_npy_free(&other);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
    const weft_type bf16 = WEFT_BF16;
    if (length > 0) {
        read_both_ways(bytes, length, NULL);
        read_both_ways(bytes, length, &bf16);
    }
    return 0;
}
