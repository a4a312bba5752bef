/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the image readers: every kind of PGM and PPM, PNG files of the fuzzing corpus, and files
 * with false headers; and of the writers, whose files are read again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "io/image.h"

/* Reads a PGM or PPM file from memory; like a pipe, a stream over memory has no size. */
static weft_status read_pnm(const void *bytes, size_t length, wi_image *image, wi_note *note) {
    FILE *const file = fmemopen((void *)(uintptr_t)bytes, length, "rb");
    assert_non_null(file);
    *note = (wi_note){""};
    const weft_status status = wi_pnm_read(file, "memory", image, note);
    fclose(file);
    return status;
}

static void expect_pnm(const char *bytes, size_t length, size_t width, size_t height,
                       unsigned channels, unsigned most, const uint16_t *samples) {
    wi_image image;
    wi_note note;
    if (read_pnm(bytes, length, &image, &note) != WEFT_OK)
        fail_msg("%s", note.text);
    assert_int_equal(image.width, width);
    assert_int_equal(image.height, height);
    assert_int_equal(image.channels, channels);
    assert_int_equal(image.most, most);
    assert_int_equal(image.type, most < 256 ? WEFT_U8 : WEFT_U16);
    for (size_t i = 0; i < width * height * channels; i++) {
        const unsigned got = image.type == WEFT_U8 ? ((const uint8_t *)image.data)[i]
                                                   : ((const uint16_t *)image.data)[i];
        assert_int_equal(got, samples[i]);
    }
    wi_image_free(&image);
    assert_null(image.data);
}

#define BYTES(text) (text), sizeof(text) - 1

static void kinds(void **state) {
    (void)state;
    const uint16_t few[] = {0, 1, 2, 13, 14, 15}, wide[] = {1, 256, 1000, 7};
    expect_pnm(BYTES("P2\n3 2\n15\n0 1 2\n13 14 15\n"), 3, 2, 1, 15, few);
    expect_pnm(BYTES("P2 # one\n#two\n3#three\n2\r\n15 0 1 2 13 14 15"), 3, 2, 1, 15, few);
    expect_pnm(BYTES("P2 3 2 15 #\n0#one\n1 2 # 9 9\n# 7\r13 14 15# end"), 3, 2, 1, 15, few);
    expect_pnm(BYTES("P3 1 2 15 0 1 2 13 14 15\n"), 1, 2, 3, 15, few);
    expect_pnm(BYTES("P5 3 2 15\n\0\1\2\15\16\17"), 3, 2, 1, 15, few);
    expect_pnm(BYTES("P6\n2\t1\n255\n\0\1\2\15\16\17 and more"), 2, 1, 3, 255, few);
    expect_pnm(BYTES("P5 2 2 1000\n\0\1\1\0\3\350\0\7"), 2, 2, 1, 1000, wide);
    expect_pnm(BYTES("P2 2 2 65535 1 256 1000 7"), 2, 2, 1, 65535, wide);
}

static void refuse(const char *bytes, size_t length, weft_status expected, const char *word) {
    wi_image image;
    wi_note note;
    const weft_status status = read_pnm(bytes, length, &image, &note);
    if (status != expected || !strstr(note.text, word))
        fail_msg("\"%s\": %s with \"%s\", not %s with \"%s\"", bytes, weft_status_name(status),
                 note.text, weft_status_name(expected), word);
    assert_null(image.data);
}

static void malformed(void **state) {
    (void)state;
    refuse(BYTES("x"), WEFT_EFORMAT, "P2, P3, P5 or P6");
    refuse(BYTES("P"), WEFT_EFORMAT, "P2, P3, P5 or P6");
    refuse(BYTES("P8 1 1 1 1"), WEFT_EFORMAT, "P2, P3, P5 or P6");
    refuse(BYTES("P1 1 1 1"), WEFT_EUNSUPPORTED, "convert");
    refuse(BYTES("P4 1 1 1"), WEFT_EUNSUPPORTED, "convert");
    refuse(BYTES("P7\nWIDTH 1"), WEFT_EUNSUPPORTED, "convert");
    refuse(BYTES("P5 x 1 255 "), WEFT_EFORMAT, "width");
    refuse(BYTES("P5 1"), WEFT_EFORMAT, "width");
    refuse(BYTES("P5 1 -1 255 "), WEFT_EFORMAT, "width");
    refuse(BYTES("P5 2000000000 1 255 "), WEFT_EFORMAT,
           "its width or height is too large: at most 1073741823");
    refuse(BYTES("P5 1 1073741824 255 "), WEFT_EFORMAT, "too large");
    refuse(BYTES("P5 99999999999999999999999 1 255 "), WEFT_EFORMAT, "too large");
    refuse(BYTES("P5 1073741823 1 255 \1"), WEFT_EFORMAT, "cut short");
    refuse(BYTES("P5 1 1 99999999999999999999999 \1"), WEFT_EFORMAT, "65535");
    refuse(BYTES("P5 0 1 255 "), WEFT_EFORMAT, "0 pixels");
    refuse(BYTES("P5 1 1 0 \1"), WEFT_EFORMAT, "65535");
    refuse(BYTES("P5 1 1 65536 \1"), WEFT_EFORMAT, "65535");
    refuse(BYTES("P5 2 2 255 \1\2\3"), WEFT_EFORMAT, "cut short");
    refuse(BYTES("P5 999999999 999999999 255 \1"), WEFT_EFORMAT, "cut short");
    refuse(BYTES("P6 999999999 999999999 65535 \1"), WEFT_EFORMAT, "cut short");
    refuse(BYTES("P5 1 1 15 \20"), WEFT_EFORMAT, "larger");
    refuse(BYTES("P2 1 1 15 16"), WEFT_EFORMAT, "larger");
    refuse(BYTES("P2 2 1 15 1"), WEFT_EFORMAT, "cut short");
    refuse(BYTES("P2 2 1 15 1 x"), WEFT_EFORMAT, "not a number");
    refuse(BYTES("P2 2 1 15 1 99999999999999999999999"), WEFT_EFORMAT, "larger");
    refuse(BYTES("P2 2 1 15 1 1x"), WEFT_EFORMAT, "not a number");
    refuse(BYTES("P2 2 1 15 1 #2"), WEFT_EFORMAT, "cut short");
}

/* More samples than there is room for at first, through a pipe. */
static void large_plain(void **state) {
    (void)state;
    enum {
        WIDTH = 1500,
        HEIGHT = 1000
    };
    char *text = NULL;
    size_t length = 0;
    FILE *const file = open_memstream(&text, &length);
    assert_non_null(file);
    fprintf(file, "P2 %d %d 255\n", WIDTH, HEIGHT);
    for (int i = 0; i < WIDTH * HEIGHT; i++)
        fprintf(file, "%d\n", i % 251);
    fclose(file);
    wi_image image;
    wi_note note;
    assert_int_equal(read_pnm(text, length, &image, &note), WEFT_OK);
    for (int i = 0; i < WIDTH * HEIGHT; i++)
        assert_int_equal(((const uint8_t *)image.data)[i], i % 251);
    wi_image_free(&image);
    free(text);
}

/* A black pixel and a white one, gray, 8 bits. */
static const uint8_t small_png[] = {
    0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0x00, 0x00, 0x00, 0x0d, 0x49, 0x48,
    0x44, 0x52, 0x00, 0x00, 0x00, 0x02, 0x00, 0x00, 0x00, 0x01, 0x08, 0x00, 0x00, 0x00,
    0x00, 0xd1, 0x49, 0x20, 0x56, 0x00, 0x00, 0x00, 0x0b, 0x49, 0x44, 0x41, 0x54, 0x78,
    0x9c, 0x63, 0x60, 0xf8, 0x0f, 0x00, 0x01, 0x02, 0x01, 0x00, 0x42, 0xbe, 0xbc, 0x68,
    0x00, 0x00, 0x00, 0x00, 0x49, 0x45, 0x4e, 0x44, 0xae, 0x42, 0x60, 0x82};

static void png(void **state) {
    (void)state;
    wi_image image;
    wi_note note = {""};
    FILE *const file = fmemopen((void *)(uintptr_t)small_png, sizeof small_png, "rb");
    assert_non_null(file);
    const weft_status status = wi_png_read(file, "memory", &image, &note);
    fclose(file);
    if (status == WEFT_EUNSUPPORTED && strstr(note.text, "libpng")) {
        print_message("skipped: %s\n", note.text);
        return;
    }
    if (status != WEFT_OK)
        fail_msg("%s", note.text);
    assert_int_equal(image.width, 2);
    assert_int_equal(image.height, 1);
    assert_int_equal(image.channels, 1);
    assert_int_equal(image.most, 255);
    assert_int_equal(((const uint8_t *)image.data)[0], 0);
    assert_int_equal(((const uint8_t *)image.data)[1], 255);
    wi_image_free(&image);
    for (size_t length = 1; length < sizeof small_png; length++) {
        FILE *const cut = fmemopen((void *)(uintptr_t)small_png, length, "rb");
        assert_non_null(cut);
        assert_int_equal(wi_png_read(cut, "memory", &image, &note), WEFT_EFORMAT);
        assert_string_equal(note.text, "memory: malformed PNG file: it is cut short");
        assert_null(image.data);
        fclose(cut);
    }
    FILE *const folder = fopen("/tmp", "rb");
    assert_non_null(folder);
    assert_int_equal(wi_png_read(folder, "/tmp", &image, &note), WEFT_EIO);
    assert_string_equal(note.text, "/tmp: reading failed: Is a directory");
    fclose(folder);
}

/* The numbers 1 to 15 in three rows, interlaced: they arrive in seven passes, and none is left out,
 * as memory is not set before. */
static const uint8_t interlaced_png[] = {
    0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0x00, 0x00, 0x00, 0x0d, 0x49, 0x48, 0x44,
    0x52, 0x00, 0x00, 0x00, 0x05, 0x00, 0x00, 0x00, 0x03, 0x08, 0x00, 0x00, 0x00, 0x01, 0x09,
    0x5a, 0xaa, 0xb2, 0x00, 0x00, 0x00, 0x1e, 0x49, 0x44, 0x41, 0x54, 0x78, 0xda, 0x63, 0x60,
    0x64, 0x60, 0x65, 0x60, 0x66, 0xe0, 0xe6, 0xe5, 0x67, 0x60, 0x62, 0x61, 0xe0, 0xe1, 0x63,
    0x60, 0x63, 0xe7, 0xe0, 0xe4, 0x02, 0x00, 0x04, 0x49, 0x00, 0x79, 0x2f, 0xed, 0xc4, 0x38,
    0x00, 0x00, 0x00, 0x00, 0x49, 0x45, 0x4e, 0x44, 0xae, 0x42, 0x60, 0x82};

static void interlaced(void **state) {
    (void)state;
    wi_image image;
    wi_note note = {""};
    FILE *const file = fmemopen((void *)(uintptr_t)interlaced_png, sizeof interlaced_png, "rb");
    const weft_status status = wi_png_read(file, "memory", &image, &note);
    fclose(file);
    if (status == WEFT_EUNSUPPORTED)
        return;
    assert_int_equal(status, WEFT_OK);
    for (unsigned k = 0; k < 15; k++)
        assert_int_equal(((const uint8_t *)image.data)[k], k + 1);
    wi_image_free(&image);
}

/* A header that claims a gigabyte before 100,000 bytes is refused before memory is taken. */
static void lying_png(void **state) {
    static const uint8_t head[] = {0x89, 'P',  'N',  'G',  0x0d, 0x0a, 0x1a, 0x0a, 0,    0,    0,
                                   13,   'I',  'H',  'D',  'R',  0,    0,    0x4e, 0x20, 0,    0,
                                   0x4e, 0x20, 8,    2,    0,    0,    0,    0x6c, 0x12, 0xd1, 0x6e,
                                   0,    1,    0x86, 0xa0, 'I',  'D',  'A',  'T'};
    static const uint8_t rest[100000];
    (void)state;
    wi_image image;
    wi_note note = {""};
    FILE *const file = fdopen(memfd_create("lying", 0), "w+b");
    assert_int_equal(fwrite(head, 1, sizeof head, file), sizeof head);
    assert_int_equal(fwrite(rest, 1, sizeof rest, file), sizeof rest);
    rewind(file);
    const weft_status status = wi_png_read(file, "memory", &image, &note);
    fclose(file);
    if (status == WEFT_EUNSUPPORTED)
        return;
    assert_int_equal(status, WEFT_EFORMAT);
    assert_non_null(strstr(note.text, "claims 20000 rows of 60000 bytes"));
}

/* ---- writing ---- */

typedef weft_status writer(FILE *file, const char *name, const wi_image *image, wi_note *note);
typedef weft_status reader(FILE *file, const char *name, wi_image *image, wi_note *note);

/* Writes samples and reads them again; false if this build cannot. `most` may have grown. */
static bool round_trip(writer *write, reader *read, const wi_image *image, wi_image *back) {
    char *bytes = NULL;
    size_t length = 0;
    wi_note note = {""};
    FILE *const to = open_memstream(&bytes, &length);
    assert_non_null(to);
    const weft_status written = write(to, "memory", image, &note);
    fclose(to);
    if (written == WEFT_EUNSUPPORTED && strstr(note.text, "libpng")) {
        free(bytes);
        return false;
    }
    if (written != WEFT_OK)
        fail_msg("%s", note.text);
    FILE *const from = fmemopen(bytes, length, "rb");
    assert_non_null(from);
    if (read(from, "memory", back, &note) != WEFT_OK)
        fail_msg("%s", note.text);
    fclose(from);
    free(bytes);
    assert_int_equal(back->width, image->width);
    assert_int_equal(back->height, image->height);
    assert_int_equal(back->channels, image->channels);
    assert_int_equal(back->type, image->type);
    return true;
}

static void written(void **state) {
    static const uint8_t bytes[24] = {0, 1, 2, 100, 254, 255, 7, 8, 9};
    static const uint16_t words[24] = {0, 1, 255, 256, 65534, 65535, 7, 1000};
    (void)state;
    for (unsigned channels = 1; channels <= 4; channels++)
        for (int wide = 0; wide < 2; wide++) {
            const void *const data = wide ? (const void *)words : bytes;
            const wi_image image = {3,
                                    2,
                                    channels,
                                    wide ? WEFT_U16 : WEFT_U8,
                                    wide ? 65535 : 255,
                                    (void *)(uintptr_t)data};
            const size_t size = 6 * channels * (wide ? 2 : 1);
            wi_image back;
            if (round_trip(wi_png_write, wi_png_read, &image, &back)) {
                assert_memory_equal(back.data, data, size);
                wi_image_free(&back);
            }
            if (channels % 2 == 0)
                continue;
            assert_true(round_trip(wi_pnm_write, wi_pnm_read, &image, &back));
            assert_memory_equal(back.data, data, size);
            assert_int_equal(back.most, image.most);
            wi_image_free(&back);
        }
}

/* White is 15 in this image, and stays so in PGM; PNG has no such thing. */
static void written_dim(void **state) {
    static const uint8_t bytes[4] = {0, 1, 7, 15};
    static const uint8_t stretched[4] = {0, 17, 119, 255};
    const wi_image image = {4, 1, 1, WEFT_U8, 15, (void *)(uintptr_t)bytes};
    wi_image back;
    (void)state;
    assert_true(round_trip(wi_pnm_write, wi_pnm_read, &image, &back));
    assert_int_equal(back.most, 15);
    assert_memory_equal(back.data, bytes, 4);
    wi_image_free(&back);
    if (round_trip(wi_png_write, wi_png_read, &image, &back)) {
        assert_memory_equal(back.data, stretched, 4);
        wi_image_free(&back);
    }
}

static void not_written(void **state) {
    static const uint8_t bytes[1 << 16];
    const wi_image alpha = {1, 1, 2, WEFT_U8, 255, (void *)(uintptr_t)bytes};
    const wi_image empty = {0, 1, 1, WEFT_U8, 255, (void *)(uintptr_t)bytes};
    const wi_image large = {256, 256, 1, WEFT_U8, 255, (void *)(uintptr_t)bytes};
    wi_note note = {""};
    (void)state;
    FILE *const full = fopen("/dev/full", "wb");
    assert_int_equal(wi_pnm_write(stdout, "memory", &alpha, &note), WEFT_EUNSUPPORTED);
    assert_non_null(strstr(note.text, "alpha"));
    assert_int_equal(wi_png_write(stdout, "memory", &empty, &note), WEFT_EUNSUPPORTED);
    if (!full)
        return;
    assert_int_equal(wi_pnm_write(full, "full", &large, &note), WEFT_EIO);
    assert_string_equal(note.text, "full: writing failed: No space left on device");
    const weft_status status = wi_png_write(full, "full", &large, &note);
    assert_true(status == WEFT_EIO || status == WEFT_EUNSUPPORTED);
    fclose(full);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kinds),      cmocka_unit_test(malformed), cmocka_unit_test(large_plain),
        cmocka_unit_test(png),        cmocka_unit_test(written),   cmocka_unit_test(written_dim),
        cmocka_unit_test(interlaced), cmocka_unit_test(lying_png), cmocka_unit_test(not_written),
    };
    return cmocka_run_group_tests_name("images", tests, NULL, NULL);
}
