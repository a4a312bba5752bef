/* SPDX-License-Identifier: Apache-2.0 */
/* Images of the command. */
#include "cli/picture.h"

#include <string.h>

#include "cli/text.h"

static wi_picture picture_of(const wi_image *image, wi_picture_kind kind) {
    return (wi_picture){.kind = kind,
                        .width = image->width,
                        .height = image->height,
                        .channels = image->channels,
                        .has_channels = image->channels > 1,
                        .type = image->type,
                        .most = image->most,
                        .data = image->data};
}

/* An array as an image; WEFT_EUNSUPPORTED if it is none. */
static weft_status take_array(const char *name, wi_npy *array, wi_picture *picture, wi_note *note) {
    const wi_npy_layout *const l = &array->layout;
    if (l->dims < 2 || l->dims > 3 || (l->dims == 3 && (l->shape[2] < 1 || l->shape[2] > 4)))
        return wi_note_fail(note, WEFT_EUNSUPPORTED,
                            "%s: this array is no image: it has %zu dimension%s; save rows and "
                            "columns, or rows, columns and 1 to 4 channels",
                            name, l->dims, wi_plural(l->dims));
    const weft_status status = wi_npy_to_c_order(array, note);
    if (status != WEFT_OK)
        return status;
    *picture = (wi_picture){.kind = WI_PICTURE_NPY,
                            .width = l->shape[1],
                            .height = l->shape[0],
                            .channels = l->dims == 3 ? (unsigned)l->shape[2] : 1,
                            .has_channels = l->dims == 3,
                            .type = l->type,
                            .data = array->data};
    picture->most = l->type == WEFT_U8 ? UINT8_MAX : l->type == WEFT_U16 ? UINT16_MAX : 0;
    array->data = NULL;
    return WEFT_OK;
}

/* Finds the kind of file from its first byte. ungetc works on a pipe too. */
static weft_status read_any(const wi_arguments *args, FILE *file, const char *name,
                            wi_picture *picture, wi_note *note) {
    wi_image image = {.data = NULL};
    wi_npy array = {.data = NULL};
    const int first = getc(file);
    if (first != EOF)
        ungetc(first, file);
    if (first == WI_PNM_FIRST || first == WI_PNG_FIRST) {
        const bool png = first == WI_PNG_FIRST;
        const weft_status status =
            png ? wi_png_read(file, name, &image, note) : wi_pnm_read(file, name, &image, note);
        *picture = picture_of(&image, png ? WI_PICTURE_PNG : WI_PICTURE_PNM);
        return status;
    }
    if (first != WI_NPY_FIRST && first != EOF)
        return wi_note_fail(note, WEFT_EUNSUPPORTED,
                            "%s: this is not a .npy, PGM, PPM or PNG file; convert other images, "
                            "such as JPEG, to PNG or PPM",
                            name);
    weft_status status =
        wi_npy_read(file, name, wi_given(args, &wi_type_option) ? &args->type : NULL, &array, note);
    if (status == WEFT_OK)
        status = take_array(name, &array, picture, note);
    wi_npy_free(&array);
    return status;
}

wi_exit wi_picture_load(const wi_arguments *args, const char *path, wi_picture *picture) {
    wi_note note = {""};
    FILE *file;
    *picture = (wi_picture){.data = NULL};
    const wi_exit result = wi_open_input(args, path, "image", &file);
    if (result != WI_EXIT_OK)
        return result;
    const weft_status status = read_any(args, file, wi_input_name(path), picture, &note);
    wi_close_input(file);
    if (status == WEFT_OK)
        return WI_EXIT_OK;
    wi_say_error("%s", note.text);
    return WI_EXIT_FAILED;
}

/* ---- output ---- */

/* The kind that --output asks for; false if its name says none. */
static bool output_kind(const char *path, const wi_picture *picture, wi_picture_kind *kind) {
    *kind = picture->kind;
    if (wi_ends_in(path, ".npy"))
        *kind = WI_PICTURE_NPY;
    else if (wi_ends_in(path, ".png"))
        *kind = WI_PICTURE_PNG;
    else if (wi_ends_in(path, ".pgm") || wi_ends_in(path, ".ppm"))
        *kind = WI_PICTURE_PNM;
    else
        return strcmp(path, "-") == 0;
    return true;
}

wi_exit wi_picture_check_output(const wi_arguments *args, const wi_picture *picture) {
    const char *const path = wi_value(args, &wi_output_option);
    const bool color = picture->channels >= 3;
    wi_picture_kind kind;
    if (!output_kind(path, picture, &kind))
        return wi_usage(args->command,
                        "option --output: the name %s does not say which kind of file; end it in "
                        ".png, .pgm, .ppm or .npy",
                        path);
    if (kind == WI_PICTURE_NPY)
        return WI_EXIT_OK;
    if (picture->type != WEFT_U8 && picture->type != WEFT_U16)
        return wi_usage(args->command,
                        "option --output: the array is of %s, and images hold u8 and u16; write "
                        ".npy",
                        weft_type_name(picture->type));
    if (kind == WI_PICTURE_PNM && picture->channels % 2 == 0)
        return wi_usage(args->command,
                        "option --output: PGM and PPM hold no alpha channel, which this image has; "
                        "write .png or .npy");
    if (color ? wi_ends_in(path, ".pgm") : wi_ends_in(path, ".ppm"))
        return wi_usage(args->command, "option --output: the image is %s; write %s or .png",
                        color ? "in colour, and .pgm is gray" : "gray, and .ppm is in colour",
                        color ? ".ppm" : ".pgm");
    return WI_EXIT_OK;
}

static weft_status write_array(const wi_picture *p, wi_output *output, wi_note *note) {
    wi_npy array = {.data = p->data};
    array.layout.type = p->type;
    array.layout.dims = p->has_channels ? 3 : 2;
    array.layout.shape[0] = p->height;
    array.layout.shape[1] = p->width;
    array.layout.shape[2] = p->channels;
    array.layout.count = p->height * p->width * p->channels;
    return wi_npy_write(output->file, output->name, &array, note);
}

wi_exit wi_picture_save(const wi_arguments *args, const wi_picture *p) {
    const char *const path = wi_value(args, &wi_output_option);
    const wi_image image = {.width = p->width,
                            .height = p->height,
                            .channels = p->channels,
                            .type = p->type,
                            .most = p->most,
                            .data = p->data};
    wi_picture_kind kind;
    wi_note note = {""};
    wi_output output;
    const wi_exit result = wi_output_open(path, &output);
    if (result != WI_EXIT_OK)
        return result;
    output_kind(path, p, &kind);
    const weft_status status = kind == WI_PICTURE_NPY ? write_array(p, &output, &note)
                               : kind == WI_PICTURE_PNG
                                   ? wi_png_write(output.file, output.name, &image, &note)
                                   : wi_pnm_write(output.file, output.name, &image, &note);
    if (status != WEFT_OK)
        wi_say_error("%s", note.text);
    return wi_output_end(&output, status == WEFT_OK);
}

void wi_picture_free(wi_picture *picture) {
    wi_host_free(picture->data);
    *picture = (wi_picture){.data = NULL};
}
