/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the .npy reader and writer: every version, byte order, layout and type, and files with
 * false headers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "io/npy.h"

/* A file put together in memory. */
typedef struct image {
    unsigned char bytes[1024];
    size_t length;
} image;

static void add(image *m, const void *bytes, size_t length) {
    assert_true(m->length + length <= sizeof m->bytes);
    if (length)
        memcpy(m->bytes + m->length, bytes, length);
    m->length += length;
}

static image image_of(int version, const char *dictionary, const void *data, size_t data_bytes) {
    image m = {.length = 0};
    const size_t length = strlen(dictionary);
    const unsigned char prefix[] = {0x93,
                                    'N',
                                    'U',
                                    'M',
                                    'P',
                                    'Y',
                                    (unsigned char)version,
                                    0,
                                    (unsigned char)length,
                                    (unsigned char)(length >> 8),
                                    0,
                                    0};
    add(&m, prefix, version == 1 ? 10 : 12);
    add(&m, dictionary, length);
    add(&m, data, data_bytes);
    return m;
}

/* Like a pipe, a stream over memory has no known size. */
static weft_status read_as_pipe(const void *bytes, size_t length, const weft_type *type, wi_npy *a,
                                wi_note *note) {
    FILE *const file = fmemopen((void *)(uintptr_t)bytes, length, "rb");
    assert_non_null(file);
    const weft_status status = wi_npy_read(file, "pipe", type, a, note);
    fclose(file);
    return status;
}

static weft_status read_as_file(const void *bytes, size_t length, const weft_type *type, wi_npy *a,
                                wi_note *note) {
    FILE *const file = tmpfile();
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    rewind(file);
    const weft_status status = wi_npy_read(file, "file", type, a, note);
    fclose(file);
    return status;
}

static wi_npy read_good(const image *m, const weft_type *type) {
    wi_note note = {""};
    wi_npy a, b;
    const weft_status status = read_as_pipe(m->bytes, m->length, type, &a, &note);
    if (status != WEFT_OK)
        fail_msg("%s", note.text);
    assert_int_equal(read_as_file(m->bytes, m->length, type, &b, &note), WEFT_OK);
    assert_int_equal(a.layout.count, b.layout.count);
    assert_memory_equal(a.data, b.data, a.layout.count * weft_type_size(a.layout.type));
    wi_npy_free(&b);
    return a;
}

static void refuse(const image *m, const weft_type *type, weft_status expected, const char *word) {
    for (int pipe = 0; pipe < 2; pipe++) {
        wi_note note = {""};
        wi_npy a;
        const weft_status status = pipe ? read_as_pipe(m->bytes, m->length, type, &a, &note)
                                        : read_as_file(m->bytes, m->length, type, &a, &note);
        if (status != expected || !strstr(note.text, word))
            fail_msg("%s with \"%s\", not %s with \"%s\"", weft_status_name(status), note.text,
                     weft_status_name(expected), word);
        assert_null(a.data);
        assert_int_equal(a.layout.count, 0);
    }
}

static void refuse_header(const char *dictionary, weft_status expected, const char *word) {
    const unsigned char zeros[64] = {0};
    const image m = image_of(1, dictionary, zeros, sizeof zeros);
    refuse(&m, NULL, expected, word);
}

static void versions_and_spellings(void **state) {
    (void)state;
    static const char *const spellings[] = {
        "{'descr': '<i4', 'fortran_order': False, 'shape': (2, 3), }\n",
        "{'shape':(2,3),'fortran_order':False,'descr':'<i4'}",
        " { \"descr\" : \"<i4\" , \"shape\" : ( 2 , 3 , ) , \"fortran_order\" : False , } \t\n",
        "{'descr': '<i4', 'fortran_order': False, 'shape': (2L, 3L)}",
    };
    const int32_t data[6] = {1, -2, 3, -4, 5, -6};
    for (int version = 1; version <= 3; version++) {
        for (size_t k = 0; k < sizeof spellings / sizeof *spellings; k++) {
            const image m = image_of(version, spellings[k], data, sizeof data);
            wi_npy a = read_good(&m, NULL);
            assert_int_equal(a.layout.type, WEFT_I32);
            assert_int_equal(a.layout.dims, 2);
            assert_int_equal(a.layout.shape[0], 2);
            assert_int_equal(a.layout.shape[1], 3);
            assert_memory_equal(a.data, data, sizeof data);
            wi_npy_free(&a);
        }
    }
}

static void shapes(void **state) {
    (void)state;
    static const struct {
        const char *shape;
        size_t dims, count;
    } cases[] = {
        {"()", 0, 1},        {"(0,)", 1, 0},
        {"(5,)", 1, 5},      {"(5)", 1, 5},
        {"(2,0,3)", 3, 0},   {"(1,1,1,4)", 4, 4},
        {"( 4 , 2 )", 2, 8}, {"(0, 4611686018427387904)", 2, 0},
    };
    const unsigned char data[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        char text[160];
        snprintf(text, sizeof text, "{'descr':'|u1','fortran_order':False,'shape':%s}",
                 cases[k].shape);
        const image m = image_of(1, text, data, cases[k].count);
        wi_npy a = read_good(&m, NULL);
        assert_int_equal(a.layout.dims, cases[k].dims);
        assert_int_equal(a.layout.count, cases[k].count);
        wi_npy_free(&a);
    }
}

static void byte_orders(void **state) {
    (void)state;
    static const struct {
        const char *code;
        size_t size;
        weft_type type;
    } cases[] = {
        {"i1", 1, WEFT_I8},  {"i2", 2, WEFT_I16},  {"i4", 4, WEFT_I32}, {"i8", 8, WEFT_I64},
        {"u1", 1, WEFT_U8},  {"u2", 2, WEFT_U16},  {"u4", 4, WEFT_U32}, {"u8", 8, WEFT_U64},
        {"f2", 2, WEFT_F16}, {"V2", 2, WEFT_BF16}, {"f4", 4, WEFT_F32}, {"f8", 8, WEFT_F64},
    };
    unsigned char little[16], big[16];
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        const size_t size = cases[k].size;
        for (size_t i = 0; i < 16; i++) {
            little[i] = (unsigned char)(i * 13 + 7);
            big[i / size * size + size - 1 - i % size] = little[i];
        }
        for (int swapped = 0; swapped < 2; swapped++) {
            char text[160];
            snprintf(text, sizeof text, "{'descr':'%c%s','fortran_order':False,'shape':(%zu,)}",
                     swapped ? '>' : '<', cases[k].code, 16 / size);
            const image m = image_of(1, text, swapped ? big : little, 16);
            wi_npy a = read_good(&m, &cases[k].type);
            assert_int_equal(a.layout.type, cases[k].type);
            const bool big_here = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
            assert_memory_equal(a.data, big_here ? big : little, 16);
            wi_npy_free(&a);
        }
    }
}

static void fortran_order(void **state) {
    (void)state;
    /* x[i, j, k] = 100 i + 10 j + k for shape (2, 3, 4), first index fastest */
    unsigned char data[24], c_order[24];
    for (unsigned i = 0; i < 2; i++)
        for (unsigned j = 0; j < 3; j++)
            for (unsigned k = 0; k < 4; k++) {
                data[i + 2 * j + 6 * k] = (unsigned char)(100 * i + 10 * j + k);
                c_order[12 * i + 4 * j + k] = (unsigned char)(100 * i + 10 * j + k);
            }
    const image m =
        image_of(1, "{'descr':'|u1','fortran_order':True,'shape':(2,3,4)}", data, sizeof data);
    wi_note note = {""};
    wi_npy a = read_good(&m, NULL);
    assert_true(a.layout.fortran_order);
    assert_memory_equal(a.data, data, sizeof data);
    assert_int_equal(wi_npy_to_c_order(&a, &note), WEFT_OK);
    assert_false(a.layout.fortran_order);
    assert_memory_equal(a.data, c_order, sizeof c_order);
    wi_npy_free(&a);
}

static void round_trips(void **state) {
    (void)state;
    static const size_t lengths[] = {0, 1, 100};
    for (int type = 0; type < WEFT_TYPE_COUNT; type++) {
        for (size_t dims = 0; dims <= 3; dims++) {
            unsigned char data[800], file_bytes[2048];
            for (size_t i = 0; i < sizeof data; i++)
                data[i] = (unsigned char)(i * 31 + dims);
            wi_npy a = {.layout = {.type = (weft_type)type, .dims = dims, .count = 1},
                        .data = data};
            for (size_t k = 0; k < dims; k++) {
                a.layout.shape[k] = k ? 1 : lengths[dims - 1];
                a.layout.count *= a.layout.shape[k];
            }
            a.layout.fortran_order = dims == 2;
            wi_note note;
            FILE *file = fmemopen(file_bytes, sizeof file_bytes, "wb");
            assert_int_equal(wi_npy_write(file, "out", &a, &note), WEFT_OK);
            const size_t bytes = (size_t)ftello(file);
            fclose(file);
            const size_t payload = a.layout.count * weft_type_size(a.layout.type);
            assert_int_equal((bytes - payload) % 64, 0);
            wi_npy b;
            assert_int_equal(read_as_pipe(file_bytes, bytes, &a.layout.type, &b, &note), WEFT_OK);
            assert_int_equal(b.layout.dims, dims);
            assert_int_equal(b.layout.fortran_order, dims == 2);
            assert_memory_equal(b.layout.shape, a.layout.shape, sizeof a.layout.shape);
            assert_memory_equal(b.data, data, payload);
            wi_npy_free(&b);
        }
    }
}

/* Booleans are bytes of 0 and 1. */
static void booleans(void **state) {
    (void)state;
    const unsigned char data[6] = {1, 0, 0, 1, 1, 0};
    const weft_type bytes = WEFT_U8, wide = WEFT_U16;
    const image m = image_of(1, "{'descr':'|b1','fortran_order':True,'shape':(3,2)}", data, 6);
    for (int k = 0; k < 2; k++) {
        wi_npy a = read_good(&m, k ? &bytes : NULL);
        assert_int_equal(a.layout.type, WEFT_U8);
        assert_true(a.layout.fortran_order);
        assert_memory_equal(a.data, data, sizeof data);
        char header[4096];
        wi_npy_format(&a.layout, header);
        assert_non_null(strstr(header + 10, "'|u1'"));
        wi_npy_free(&a);
    }
    refuse(&m, &wide, WEFT_EUNSUPPORTED, "holds u8, not u16");
}

/* Headers of every length, also those that leave no room for the newline in their last 64 bytes;
 * some number of dimensions gives each length. */
static void header_lengths(void **state) {
    (void)state;
    bool seen[65] = {false}; /* how far the end of the line is from the brace */
    for (size_t dims = 0; dims <= WI_NPY_MAX_DIMS; dims++) {
        for (size_t last = 1; last < 100000; last *= 10) {
            wi_npy_layout layout = {.type = WEFT_F32, .dims = dims, .count = dims ? last : 1},
                          again;
            wi_note note = {""};
            static char header[4096];
            for (size_t k = 0; k < dims; k++)
                layout.shape[k] = k + 1 < dims ? 1 : last;
            memset(header, 'x', sizeof header);
            const size_t length = wi_npy_format(&layout, header);
            assert_true(length % 64 == 0 && length < sizeof header);
            assert_int_equal(header[length - 1], '\n');
            assert_int_equal(header[length], 'x');
            assert_int_equal(length - 10,
                             (unsigned char)header[8] + 256 * (unsigned char)header[9]);
            assert_int_equal(wi_npy_parse(header + 10, length - 10, "", &again, &note), WEFT_OK);
            assert_memory_equal(&again, &layout, sizeof again);
            const char *const brace = memrchr(header, '}', length);
            assert_non_null(brace);
            seen[header + length - 1 - brace] = true;
        }
    }
    assert_true(seen[1]);  /* the end of the line fills the 64 bytes */
    assert_true(seen[64]); /* there is no room for it, and 64 more bytes are taken */
}

static void foreign_types(void **state) {
    (void)state;
    static const char *const words[][2] = {
        {"'<c8'", "complex"},    {"'|O'", "objects"},
        {"'|S5'", "text"},       {"'<U3'", "text"},
        {"'<M8[ns]'", "dates"},  {"'<f16'", "a width"},
        {"'<i16'", "a width"},   {"'|V7'", "raw bytes"},
        {"'<x4'", "unknown"},    {"'|b2'", "unknown"},
        {"''", "unknown"},       {"'<'", "unknown"},
        {"'V2'", "--type bf16"}, {"[('a', '<f4')]", "named fields"},
    };
    for (size_t k = 0; k < sizeof words / sizeof *words; k++) {
        char text[160];
        snprintf(text, sizeof text, "{'descr':%s,'fortran_order':False,'shape':(2,)}", words[k][0]);
        refuse_header(text, WEFT_EUNSUPPORTED, words[k][1]);
    }
    image nul = image_of(1, "{'descr':'?f4','fortran_order':False,'shape':(2,)}", "12345678", 8);
    *(char *)memchr(nul.bytes, '?', nul.length) = '\0';
    refuse(&nul, NULL, WEFT_EUNSUPPORTED, "unknown");
    const weft_type wanted = WEFT_F64;
    const image m =
        image_of(1, "{'descr':'<f4','fortran_order':False,'shape':(2,)}", "12345678", 8);
    refuse(&m, &wanted, WEFT_EUNSUPPORTED, "holds f32, not f64");
}

static void lying_headers(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"{'descr':'<f4','fortran_order':False,'shape':(17,)}", "cut short"},
        {"{'descr':'<f8','fortran_order':False,'shape':(1152921504606846976,)}", "cut short"},
        {"{'descr':'<f8','fortran_order':False,'shape':(2305843009213693952,)}", "more bytes"},
        {"{'descr':'|u1','fortran_order':False,'shape':(4294967296,4294967296)}", "more elements"},
        {"{'descr':'|u1','fortran_order':False,'shape':(0,4294967296,4294967296)}",
         "more elements"},
        {"{'descr':'|u1','fortran_order':False,'shape':(18446744073709551616,)}", "fits 64 bits"},
        {"{'descr':'|u1','fortran_order':False,'shape':(-1,)}", "length of a dimension"},
        {"{'descr':'|u1','fortran_order':False,'shape':(,)}", "length of a dimension"},
        {"{'descr':'|u1','fortran_order':False,'shape':(1 2)}", "comma"},
        {"{'descr':'|u1','fortran_order':False,'shape':7}", "a tuple"},
        {"{'descr':'|u1','fortran_order':Falsehood,'shape':(1,)}", "True or False"},
        {"{'descr':'|u1','fortran_order':0,'shape':(1,)}", "True or False"},
        {"{'descr':'|u1','fortran_order':False}", "lacks its entry 'shape'"},
        {"{'fortran_order':False,'shape':(1,)}", "lacks its entry 'descr'"},
        {"{}", "lacks its entry"},
        {"{'descr':'|u1','descr':'|u1','fortran_order':False,'shape':(1,)}", "second entry"},
        {"{'descr':'|u1','colour':False,'shape':(1,)}", "unknown entry 'colour'"},
        {"{'descr':'|u1','fortran_order':False,'shape':(1,)} x", "nothing more"},
        {"{'descr':'|u1'", "comma or the closing brace"},
        {"{'descr", "closing quote"},
        {"{'de\\x73cr':'|u1'}", "plain string"},
        {"{'descr' '|u1'}", "colon"},
        {"['descr']", "opening brace"},
        {"", "opening brace"},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
        refuse_header(cases[k][0], WEFT_EFORMAT, cases[k][1]);
}

static void too_many_dimensions(void **state) {
    (void)state;
    char text[512] = "{'descr':'|u1','fortran_order':False,'shape':(";
    for (int k = 0; k < WI_NPY_MAX_DIMS + 1; k++)
        strcat(text, "1,");
    strcat(text, ")}");
    refuse_header(text, WEFT_EFORMAT, "dimensions");
}

static void broken_beginnings(void **state) {
    (void)state;
    const image good = image_of(2, "{'descr':'|u1','fortran_order':False,'shape':(3,)}", "abc", 3);
    for (size_t length = 1; length < good.length; length++) {
        image cut = good;
        cut.length = length;
        refuse(&cut, NULL, WEFT_EFORMAT,
               length == 0  ? "is empty"
               : length < 8 ? "not a .npy file"
                            : "cut short");
    }
    image m = good;
    m.bytes[0] = 'X';
    refuse(&m, NULL, WEFT_EFORMAT, "not a .npy file");
    m = good;
    m.bytes[6] = 4;
    refuse(&m, NULL, WEFT_EFORMAT, "version 4.0");
    m = good;
    m.bytes[11] = 0x7F;
    refuse(&m, NULL, WEFT_EFORMAT, "claims");
}

/* More than the first piece taken from a pipe, so that the memory grows several times. */
static void long_pipe(void **state) {
    (void)state;
    const size_t n = (9u << 20) + 5;
    unsigned char *const bytes = malloc(n + 4096);
    assert_non_null(bytes);
    wi_npy_layout layout = {.type = WEFT_U8, .dims = 1, .shape = {n}, .count = n};
    const size_t length = wi_npy_format(&layout, (char *)bytes);
    for (size_t i = 0; i < n; i++)
        bytes[length + i] = (unsigned char)(i * 2654435761u >> 24);
    wi_npy a;
    wi_note note = {""};
    assert_int_equal(read_as_pipe(bytes, length + n, NULL, &a, &note), WEFT_OK);
    assert_memory_equal(a.data, bytes + length, n);
    wi_npy_free(&a);
    assert_int_equal(read_as_pipe(bytes, length + n - 1, NULL, &a, &note), WEFT_EFORMAT);
    free(bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(versions_and_spellings),
        cmocka_unit_test(shapes),
        cmocka_unit_test(byte_orders),
        cmocka_unit_test(fortran_order),
        cmocka_unit_test(round_trips),
        cmocka_unit_test(booleans),
        cmocka_unit_test(header_lengths),
        cmocka_unit_test(foreign_types),
        cmocka_unit_test(lying_headers),
        cmocka_unit_test(too_many_dimensions),
        cmocka_unit_test(broken_beginnings),
        cmocka_unit_test(long_pipe),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
