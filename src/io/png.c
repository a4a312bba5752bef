/* SPDX-License-Identifier: Apache-2.0 */
/* Reading PNG files through libpng. It is part of the command only, so that users of the library do
 * not need libpng. */
#include "io/image.h"
#include "io/source.h"

#ifdef WEFT_PNG
#    include <errno.h>
#    include <png.h>
#    include <string.h>

enum {
    /* By the format's design a compressed byte gives at most 1032 bytes, and one bit of a palette's
     * index at most four. */
    MOST_EXPANSION = 1032 * 32,
    SMALL_BYTES = 1 << 26 /* an image from a pipe, of unknown size, may take so much memory */
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

/* A header may give a false size: no more memory is allocated than the remaining bytes can fill. */
static weft_status make_room(reading *r, size_t row_bytes) {
    const size_t height = png_get_image_height(r->png, r->info);
    size_t left, bytes, most = SMALL_BYTES;
    if (wi_source_left(r->source->file, &left))
        most = left < SIZE_MAX / MOST_EXPANSION - 1 ? (left + 1) * MOST_EXPANSION : SIZE_MAX;
    if (__builtin_mul_overflow(row_bytes, height, &bytes) || bytes > most)
        return wi_note_fail(r->source->note, WEFT_EFORMAT,
                            "%s: malformed PNG file, or an image too large for a pipe: its header "
                            "claims %zu rows of %zu bytes",
                            r->source->name, height, row_bytes);
    r->image.data = wi_host_alloc(bytes);
    r->rows = wi_host_alloc(height * sizeof *r->rows);
    if (!r->image.data || !r->rows)
        return wi_source_no_memory(r->source, bytes);
    memset(r->image.data, 0, bytes);
    for (size_t k = 0; k < height; k++)
        r->rows[k] = (png_bytep)r->image.data + k * row_bytes;
    return WEFT_OK;
}

static weft_status read_image(reading *r) {
    if (setjmp(png_jmpbuf(r->png)))
        return ferror(r->source->file) ? WEFT_EIO : WEFT_EFORMAT;
    png_init_io(r->png, r->source->file);
    png_read_info(r->png, r->info);
    set_form(r);
    r->image.width = png_get_image_width(r->png, r->info);
    r->image.height = png_get_image_height(r->png, r->info);
    r->image.channels = png_get_channels(r->png, r->info);
    r->image.type = png_get_bit_depth(r->png, r->info) == 16 ? WEFT_U16 : WEFT_U8;
    r->image.most = r->image.type == WEFT_U16 ? UINT16_MAX : UINT8_MAX;
    const weft_status status = make_room(r, png_get_rowbytes(r->png, r->info));
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
#else
weft_status wi_png_read(FILE *file, const char *name, wi_image *image, wi_note *note) {
    (void)file;
    *image = (wi_image){.data = NULL};
    return wi_note_fail(note, WEFT_EUNSUPPORTED,
                        "%s: this build reads no PNG files: libpng was not there when it was "
                        "configured; install libpng-dev and build again, or convert to PPM",
                        name);
}
#endif
