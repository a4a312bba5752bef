/* SPDX-License-Identifier: Apache-2.0 */
/* Reading PGM and PPM files, plain and raw, of 8 and 16 bits. */
#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "io/image.h"
#include "io/source.h"

enum {
    MOST_EDGE = (1 << 30) - 1, /* limit on width and height */
    MOST_SAMPLE = 65535,
    FIRST_BYTES = 1 << 20 /* allocated before anything of a plain raster has been read */
};

/* The contents of a header. */
typedef struct header {
    bool plain; /* samples are decimal numbers */
    wi_image image;
    size_t samples, bytes;
} header;

static weft_status malformed(const wi_source *s, const char *what) {
    if (ferror(s->file))
        return wi_note_fail(s->note, WEFT_EIO, "%s: reading failed: %s", s->name, strerror(errno));
    return wi_note_fail(s->note, WEFT_EFORMAT, "%s: malformed PGM or PPM file: %s", s->name, what);
}

/* Skips a comment whose `#` was read; returns the byte that ends it. */
static int pass_comment(const wi_source *s) {
    int c;
    do
        c = getc(s->file);
    while (c != '\n' && c != '\r' && c != EOF);
    return c;
}

/* The next byte that is neither white space nor part of a comment. */
static int next_solid(const wi_source *s) {
    int c = getc(s->file);
    while (isspace(c) || c == '#') {
        if (c == '#')
            pass_comment(s);
        c = getc(s->file);
    }
    return c;
}

/* Reads a number and the one byte of white space after it, in place of which there may be a comment
 * or the end of the file. A number above all limits becomes MOST_EDGE + 1. */
static bool read_number(const wi_source *s, size_t *number) {
    int c = next_solid(s);
    const bool begun = isdigit(c);
    for (*number = 0; isdigit(c); c = getc(s->file)) {
        if (*number <= MOST_EDGE)
            *number = *number * 10 + (size_t)(c - '0');
    }
    if (*number > MOST_EDGE)
        *number = (size_t)MOST_EDGE + 1;
    if (c == '#')
        c = pass_comment(s);
    return begun && (isspace(c) || c == EOF);
}

static weft_status read_header(const wi_source *s, header *h) {
    const int p = getc(s->file), kind = p == WI_PNM_FIRST ? getc(s->file) : EOF;
    wi_image *const image = &h->image;
    size_t most = 0;
    if (kind == '1' || kind == '4' || kind == '7')
        return wi_note_fail(s->note, WEFT_EUNSUPPORTED,
                            "%s: bitmaps and PAM files (P%c) are not read; convert to PGM or PPM",
                            s->name, kind);
    if (kind != '2' && kind != '3' && kind != '5' && kind != '6')
        return malformed(s, "it does not begin with P2, P3, P5 or P6");
    h->plain = kind < '5';
    image->channels = kind == '3' || kind == '6' ? 3 : 1;
    if (!read_number(s, &image->width) || !read_number(s, &image->height))
        return malformed(s, "its width and height should be numbers");
    if (image->width > MOST_EDGE || image->height > MOST_EDGE)
        return malformed(s, "its width or height is too large: at most 1073741823");
    if (!read_number(s, &most) || most < 1 || most > MOST_SAMPLE)
        return malformed(s, "its largest sample should be a number from 1 to 65535");
    if (image->width == 0 || image->height == 0)
        return malformed(s, "it is 0 pixels wide or high");
    image->most = (unsigned)most;
    image->type = most < 256 ? WEFT_U8 : WEFT_U16;
    if (__builtin_mul_overflow(image->width, image->height, &h->samples) ||
        __builtin_mul_overflow(h->samples, image->channels, &h->samples) ||
        __builtin_mul_overflow(h->samples, weft_type_size(image->type), &h->bytes))
        return malformed(s, "it claims more pixels than 64 bits can count");
    return WEFT_OK;
}

static void put_sample(wi_image *image, size_t i, size_t value) {
    if (image->type == WEFT_U8)
        ((uint8_t *)image->data)[i] = (uint8_t)value;
    else
        ((uint16_t *)image->data)[i] = (uint16_t)value;
}

/* Memory is doubled only when it is full. */
static weft_status read_plain(const wi_source *s, header *h) {
    const size_t size = weft_type_size(h->image.type);
    unsigned char *data = NULL;
    size_t room = 0;
    for (size_t i = 0; i < h->samples; i++) {
        size_t value;
        if (i * size == room) {
            const size_t larger = room ? 2 * room : FIRST_BYTES;
            room = larger < h->bytes ? larger : h->bytes;
            const weft_status status = wi_source_resize(s, &data, i * size, room);
            h->image.data = data;
            if (status != WEFT_OK)
                return status;
        }
        if (!read_number(s, &value))
            return malformed(s, feof(s->file) ? "it is cut short" : "a sample is not a number");
        if (value > h->image.most)
            return malformed(s, "a sample is larger than the largest it announces");
        put_sample(&h->image, i, value);
    }
    return WEFT_OK;
}

/* Raw samples of 16 bits have their high byte first. */
static weft_status read_raw(const wi_source *s, header *h) {
    wi_image *const image = &h->image;
    const weft_status status = wi_source_read(s, "raster", h->bytes, &image->data);
    if (status != WEFT_OK)
        return status;
    size_t largest = 0;
    for (size_t i = 0; i < h->samples; i++) {
        const unsigned char *const bytes = (const unsigned char *)image->data;
        const size_t value =
            image->type == WEFT_U8 ? bytes[i] : (size_t)bytes[2 * i] << 8 | bytes[2 * i + 1];
        largest = value > largest ? value : largest;
        put_sample(image, i, value);
    }
    if (largest > image->most)
        return malformed(s, "a sample is larger than the largest it announces");
    return WEFT_OK;
}

weft_status wi_pnm_read(FILE *file, const char *name, wi_image *image, wi_note *note) {
    const wi_source s = {file, name, note};
    header h = {.image = {.data = NULL}};
    *image = (wi_image){.data = NULL};
    weft_status status = read_header(&s, &h);
    if (status == WEFT_OK)
        status = h.plain ? read_plain(&s, &h) : read_raw(&s, &h);
    if (status == WEFT_OK)
        *image = h.image;
    else
        wi_image_free(&h.image);
    return status;
}

void wi_image_free(wi_image *image) {
    wi_host_free(image->data);
    *image = (wi_image){.data = NULL};
}
