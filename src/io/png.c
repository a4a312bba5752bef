/* SPDX-License-Identifier: Apache-2.0 */
/* Reading and writing PNG files through libpng. It is part of the command only, so that users of
 * the library do not need libpng. */
#include "io/image.h"
#include "io/source.h"

#ifdef WEFT_PNG
#    include <errno.h>
#    include <png.h>
#    include <string.h>

enum {
    MOST_EXPANSION = 1032, /* bytes of rows that a compressed byte gives, by the format's design */
    SMALL_BYTES = 1 << 26  /* an image from a pipe, of unknown size, may take so much memory */
};

/* The data of libpng's callbacks. */
typedef struct reading {
    const wi_source *source;
    png_structp png;
    png_infop info;
    wi_image image;
    png_bytep *rows;
} reading;

/* libpng calls this when it cannot continue; it must not return. */
static void stop(png_structp png, png_const_charp message) {
    const reading *const r = png_get_error_ptr(png);
    const wi_source *const s = r->source;
    if (ferror(s->file))
        wi_note_fail(s->note, WEFT_EIO, "%s: reading failed: %s", s->name, strerror(errno));
    else
        wi_note_fail(s->note, WEFT_EFORMAT, "%s: malformed PNG file: %s", s->name,
                     feof(s->file) ? "it is cut short" : message);
    png_longjmp(png, 1);
}

static void pass_over(png_structp png, png_const_charp warning) {
    (void)png;
    (void)warning;
}

/* Asks libpng for channels of 8 or 16 bits, in this machine's byte order, without a palette. */
static void set_form(reading *r) {
    png_set_expand(r->png);
#    if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    png_set_swap(r->png);
#    endif
    png_set_interlace_handling(r->png);
    png_read_update_info(r->png, r->info);
}

/* A header may give a false size: no more memory is allocated than for the rows that the remaining
 * bytes can hold, each of so many bytes in the file, and of `row_bytes` in memory. */
static weft_status make_room(reading *r, size_t file_row_bytes, size_t row_bytes) {
    const size_t height = png_get_image_height(r->png, r->info);
    size_t left, bytes;
    bool fits = !__builtin_mul_overflow(row_bytes, height, &bytes);
    if (wi_source_left(r->source->file, &left))
        fits = fits && file_row_bytes * height / MOST_EXPANSION <= left;
    else
        fits = fits && bytes <= SMALL_BYTES;
    if (!fits)
        return wi_note_fail(r->source->note, WEFT_EFORMAT,
                            "%s: malformed PNG file, or an image too large for a pipe: its header "
                            "claims %zu rows of %zu bytes",
                            r->source->name, height, row_bytes);
    r->image.data = wi_host_alloc(bytes);
    r->rows = wi_host_alloc(height * sizeof *r->rows);
    if (!r->image.data || !r->rows)
        return wi_source_no_memory(r->source, bytes);
    for (size_t k = 0; k < height; k++)
        r->rows[k] = (png_bytep)r->image.data + k * row_bytes;
    return WEFT_OK;
}

static weft_status read_image(reading *r) {
    if (setjmp(png_jmpbuf(r->png)))
        return ferror(r->source->file) ? WEFT_EIO : WEFT_EFORMAT;
    png_init_io(r->png, r->source->file);
    png_read_info(r->png, r->info);
    const size_t file_row_bytes = png_get_rowbytes(r->png, r->info);
    set_form(r);
    r->image.width = png_get_image_width(r->png, r->info);
    r->image.height = png_get_image_height(r->png, r->info);
    r->image.channels = png_get_channels(r->png, r->info);
    r->image.type = png_get_bit_depth(r->png, r->info) == 16 ? WEFT_U16 : WEFT_U8;
    r->image.most = r->image.type == WEFT_U16 ? UINT16_MAX : UINT8_MAX;
    const weft_status status = make_room(r, file_row_bytes, png_get_rowbytes(r->png, r->info));
    if (status != WEFT_OK)
        return status;
    png_read_image(r->png, r->rows);
    png_read_end(r->png, NULL);
    return WEFT_OK;
}

weft_status wi_png_read(FILE *file, const char *name, wi_image *image, wi_note *note) {
    const wi_source s = {file, name, note};
    reading r = {.source = &s};
    weft_status status = WEFT_ENOMEM;
    *image = (wi_image){.data = NULL};
    r.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &r, stop, pass_over);
    r.info = r.png ? png_create_info_struct(r.png) : NULL;
    if (r.info)
        status = read_image(&r);
    else
        wi_note_fail(note, WEFT_ENOMEM, "%s: no memory for a PNG reader", name);
    png_destroy_read_struct(&r.png, &r.info, NULL);
    wi_host_free(r.rows);
    if (status == WEFT_OK)
        *image = r.image;
    else
        wi_image_free(&r.image);
    return status;
}
/* ---- writing ---- */

/* The data of libpng's callbacks. */
typedef struct writing {
    const char *name;
    wi_note *note;
    png_structp png;
    png_infop info;
    unsigned char *row;
} writing;

static void stop_writing(png_structp png, png_const_charp message) {
    const writing *const w = png_get_error_ptr(png);
    wi_note_fail(w->note, WEFT_EIO, "%s: writing failed: %s", w->name,
                 errno ? strerror(errno) : message);
    png_longjmp(png, 1);
}

/* A row with the high byte of a sample first, stretched to the full range. */
static void form_row(const wi_image *image, size_t row, unsigned char *to) {
    const size_t n = image->width * image->channels;
    const bool wide = image->type == WEFT_U16;
    const unsigned full = wide ? UINT16_MAX : UINT8_MAX;
    for (size_t i = 0; i < n; i++) {
        unsigned v = wide ? ((const uint16_t *)image->data)[row * n + i]
                          : ((const uint8_t *)image->data)[row * n + i];
        if (image->most != full)
            v = (unsigned)(((uint64_t)v * full + image->most / 2) / image->most);
        if (wide)
            *to++ = (unsigned char)(v >> 8);
        *to++ = (unsigned char)v;
    }
}

static weft_status write_image(writing *w, FILE *file, const wi_image *image) {
    static const int kinds[] = {PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB,
                                PNG_COLOR_TYPE_RGB_ALPHA};
    if (setjmp(png_jmpbuf(w->png)))
        return WEFT_EIO;
    errno = 0;
    png_init_io(w->png, file);
    png_set_IHDR(w->png, w->info, (png_uint_32)image->width, (png_uint_32)image->height,
                 image->type == WEFT_U16 ? 16 : 8, kinds[image->channels - 1], PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_write_info(w->png, w->info);
    for (size_t row = 0; row < image->height; row++) {
        form_row(image, row, w->row);
        png_write_row(w->png, w->row);
    }
    png_write_end(w->png, w->info);
    return fflush(file) == 0 ? WEFT_OK
                             : wi_note_fail(w->note, WEFT_EIO, "%s: writing failed: %s", w->name,
                                            strerror(errno));
}

weft_status wi_png_write(FILE *file, const char *name, const wi_image *image, wi_note *note) {
    writing w = {.name = name, .note = note};
    weft_status status = WEFT_ENOMEM;
    if (image->width > PNG_UINT_31_MAX || image->height > PNG_UINT_31_MAX || image->width == 0 ||
        image->height == 0)
        return wi_note_fail(note, WEFT_EUNSUPPORTED,
                            "%s: PNG cannot hold an image of %zu x %zu pixels; write .npy", name,
                            image->width, image->height);
    w.row = wi_host_alloc(image->width * image->channels * weft_type_size(image->type));
    w.png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &w, stop_writing, pass_over);
    w.info = w.png ? png_create_info_struct(w.png) : NULL;
    if (w.info && w.row)
        status = write_image(&w, file, image);
    else
        wi_note_fail(note, WEFT_ENOMEM, "%s: no memory for a PNG writer", name);
    png_destroy_write_struct(&w.png, &w.info);
    wi_host_free(w.row);
    return status;
}
#else
weft_status wi_png_read(FILE *file, const char *name, wi_image *image, wi_note *note) {
    (void)file;
    *image = (wi_image){.data = NULL};
    return wi_note_fail(note, WEFT_EUNSUPPORTED,
                        "%s: this build reads no PNG files: libpng was not there when it was "
                        "configured; install libpng-dev and build again, or convert to PPM",
                        name);
}

weft_status wi_png_write(FILE *file, const char *name, const wi_image *image, wi_note *note) {
    (void)file;
    (void)image;
    return wi_note_fail(note, WEFT_EUNSUPPORTED,
                        "%s: this build writes no PNG files: libpng was not there when it was "
                        "configured; install libpng-dev and build again, or write .ppm or .pgm",
                        name);
}
#endif
