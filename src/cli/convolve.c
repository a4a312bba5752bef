/* SPDX-License-Identifier: Apache-2.0 */
/* `weft convolve`: filters an image. */
#include "weft/convolve.h"

#include <math.h>
#include <string.h>

#include "cli/filters.h"
#include "cli/picture.h"
#include "cli/text.h"
#include "cli/words.h"

static const char *const border_names[] = {"zero", "clamp", "reflect", "wrap", "valid"};

enum {
    BORDERS = sizeof border_names / sizeof *border_names
};

static void list_borders(const wi_command *command, wi_words *words) {
    (void)command;
    for (int k = 0; k < BORDERS; k++)
        wi_words_add(words, border_names[k]);
}

static const weft_type output_types[] = {WEFT_U8, WEFT_U16, WEFT_F16, WEFT_F32, WEFT_F64};

enum {
    OUTPUT_TYPES = sizeof output_types / sizeof *output_types
};

static void list_output_types(const wi_command *command, wi_words *words) {
    (void)command;
    for (int k = 0; k < OUTPUT_TYPES; k++)
        wi_words_add(words, weft_type_name(output_types[k]));
}

static const wi_option filter_option = {
    .name = "filter",
    .letter = 'f',
    .value = "FILTER",
    .help = "gauss:SIGMA, box:SIDE, sobel, sobel:x, sobel:y, sharpen:AMOUNT, emboss, or a .npy of "
            "weights",
    .list = wi_list_filters};
static const wi_option border_option = {.name = "border",
                                        .value = "BORDER",
                                        .help = "what lies beyond the border: zero, clamp, reflect "
                                                "(if not given), wrap, or valid: no such output",
                                        .list = list_borders};
static const wi_option correlate_option = {
    .name = "correlate", .help = "lay the weights of a .npy on the image without turning them"};
static const wi_option dense_option = {.name = "dense",
                                       .help = "compute a separable filter like any other"};
static const wi_option to_option = {
    .name = "to",
    .value = "TYPE",
    .help = "type of the output: u8, u16, f16, f32 or f64; that of the input if not given",
    .list = list_output_types};
static const wi_option truncate_option = {
    .name = "truncate", .help = "cut whole numbers towards zero instead of rounding to nearest"};
static const wi_option any_order_option = {
    .name = "any-order",
    .help = "large filters by Fourier transforms, those of low rank as sums of separable ones, if "
            "that is faster"};
static const wi_option f64_option = {.name = "f64", .help = "sums in f64 instead of f32"};

/* One run of the command. */
typedef struct task {
    wi_picture in, out;
    wi_filter filter;
    weft_convolution call;
    double white; /* what a sample is multiplied by on its way to another type */
} task;

static wi_exit choose_border(const wi_arguments *args, weft_border *border) {
    const char *const name = wi_value(args, &border_option);
    *border = WEFT_BORDER_REFLECT;
    if (!name)
        return WI_EXIT_OK;
    for (int k = 0; k < BORDERS; k++)
        if (strcmp(name, border_names[k]) == 0) {
            *border = (weft_border)k;
            return WI_EXIT_OK;
        }
    return wi_usage_word(args->command, "border", name, list_borders);
}

/* The type of the output, which is empty so far. From the samples of an image to others white stays
 * white: filters get that factor. Numbers of arrays stay what they are. */
static wi_exit choose_type(const wi_arguments *args, task *t) {
    const char *const name = wi_value(args, &to_option);
    t->out = t->in;
    t->out.data = NULL;
    t->white = 1;
    if (!name)
        return WI_EXIT_OK;
    int k = 0;
    while (k < OUTPUT_TYPES && strcmp(name, weft_type_name(output_types[k])) != 0)
        k++;
    if (k == OUTPUT_TYPES)
        return wi_usage_word(args->command, "type", name, list_output_types);
    if (output_types[k] == t->in.type)
        return WI_EXIT_OK;
    t->out.type = output_types[k];
    t->out.most = t->out.type == WEFT_U8 ? UINT8_MAX : t->out.type == WEFT_U16 ? UINT16_MAX : 0;
    if (t->in.kind != WI_PICTURE_NPY && t->out.most)
        t->white = (double)t->out.most / t->in.most;
    for (size_t i = 0; i < t->filter.count * t->filter.width * t->filter.height; i++)
        t->filter.weights[i] *= t->white;
    return WI_EXIT_OK;
}

static size_t size_left(size_t n, size_t filter, weft_border border) {
    if (border != WEFT_BORDER_VALID)
        return n;
    return n < filter ? 0 : n - filter + 1;
}

/* Describes the call, and takes memory for its output. */
static wi_exit prepare(const wi_arguments *args, task *t) {
    const wi_picture *const in = &t->in;
    weft_border border;
    const wi_exit result = choose_border(args, &border);
    if (result != WI_EXIT_OK)
        return result;
    const bool correlates = t->filter.correlates || wi_given(args, &correlate_option);
    t->call = (weft_convolution){.type = in->type,
                                 .out = t->out.type,
                                 .width = in->width,
                                 .height = in->height,
                                 .channels = in->channels,
                                 .images = 1,
                                 .border = border,
                                 .filter_width = t->filter.width,
                                 .filter_height = t->filter.height,
                                 .filter = t->filter.weights};
    t->call.how = (correlates ? WEFT_CORRELATE : 0u) |
                  (wi_given(args, &dense_option) ? WEFT_DENSE : 0u) |
                  (wi_given(args, &f64_option) ? WEFT_SUMS_F64 : 0u) |
                  (wi_given(args, &truncate_option) ? WEFT_TRUNCATE : 0u) |
                  (wi_given(args, &any_order_option) ? WEFT_ANY_ORDER : 0u);
    t->out.width = size_left(in->width, t->filter.width, border);
    t->out.height = size_left(in->height, t->filter.height, border);
    t->out.data = wi_host_alloc(
        t->out.width * t->out.height * in->channels * weft_type_size(t->out.type) + 1);
    if (t->out.data)
        return WI_EXIT_OK;
    wi_say_error("convolve: no memory for an image of %zu x %zu", t->out.width, t->out.height);
    return WI_EXIT_FAILED;
}

/* A number that is not below 0 as a sample of the output. */
static void put_sample(const task *t, size_t i, double v) {
    const wi_picture *const out = &t->out;
    const double held = v < out->most ? v : out->most;
    const double whole = t->call.how & WEFT_TRUNCATE ? floor(held) : nearbyint(held);
    if (out->type == WEFT_U8)
        ((uint8_t *)out->data)[i] = (uint8_t)whole;
    else if (out->type == WEFT_U16)
        ((uint16_t *)out->data)[i] = (uint16_t)whole;
    else if (out->type == WEFT_F16)
        ((weft_f16 *)out->data)[i] = weft_f16_from_float((float)v);
    else if (out->type == WEFT_F32)
        ((float *)out->data)[i] = (float)v;
    else
        ((double *)out->data)[i] = v;
}

/* Two filters: each to floats, which are joined here. */
static wi_exit run_both(weft_context *ctx, task *t) {
    const size_t n = t->out.width * t->out.height * t->out.channels;
    const size_t size = t->in.type == WEFT_F64 ? sizeof(double) : sizeof(float);
    char *const room = wi_host_alloc(2 * n * size + 1);
    wi_exit result = WI_EXIT_OK;
    if (!room) {
        wi_say_error("convolve: no memory for two images of %zu x %zu", t->out.width,
                     t->out.height);
        return WI_EXIT_FAILED;
    }
    weft_convolution call = t->call;
    call.out = t->in.type == WEFT_F64 ? WEFT_F64 : WEFT_F32;
    for (unsigned k = 0; k < 2 && result == WI_EXIT_OK; k++) {
        call.filter = t->filter.weights + k * t->filter.width * t->filter.height;
        if (weft_convolve(ctx, &call, t->in.data, room + k * n * size) != WEFT_OK)
            result = wi_session_failed(ctx);
    }
    for (size_t i = 0; result == WI_EXIT_OK && i < n; i++) {
        const double x = wi_element_value(call.out, room + i * size);
        const double y = wi_element_value(call.out, room + (n + i) * size);
        put_sample(t, i, sqrt(x * x + y * y));
    }
    wi_host_free(room);
    return result;
}

/* Puts the alpha of the input in the output. */
static void keep_alpha(const task *t) {
    const wi_picture *const in = &t->in, *const out = &t->out;
    const size_t channels = in->channels, size = weft_type_size(in->type);
    const bool is_valid = t->call.border == WEFT_BORDER_VALID;
    const size_t left = is_valid ? t->filter.width / 2 : 0,
                 above = is_valid ? t->filter.height / 2 : 0;
    for (size_t row = 0; row < out->height; row++)
        for (size_t column = 0; column < out->width; column++) {
            const size_t from = (row + above) * in->width + column + left;
            const char *const alpha = (const char *)in->data + ((from + 1) * channels - 1) * size;
            put_sample(t, (row * out->width + column + 1) * channels - 1,
                       t->white * wi_element_value(in->type, alpha));
        }
}

/* Alpha is kept, and samples are no larger than the white of the file. */
static void finish(const task *t) {
    const wi_picture *const out = &t->out;
    if (t->in.kind != WI_PICTURE_NPY && out->channels % 2 == 0)
        keep_alpha(t);
    for (size_t i = 0; out->most && i < out->width * out->height * out->channels; i++) {
        if (out->type == WEFT_U8 && ((uint8_t *)out->data)[i] > out->most)
            ((uint8_t *)out->data)[i] = (uint8_t)out->most;
        if (out->type == WEFT_U16 && ((uint16_t *)out->data)[i] > out->most)
            ((uint16_t *)out->data)[i] = (uint16_t)out->most;
    }
}

static void print_json(const wi_arguments *args, const weft_context *ctx, const task *t) {
    wi_json json;
    if (!wi_given(args, &wi_json_option))
        return;
    wi_json_open(&json);
    wi_json_string(&json, "op", "convolve");
    wi_json_string(&json, "variant", weft_used(ctx, "convolve"));
    wi_json_string(&json, "place", weft_place(ctx));
    wi_json_string(&json, "file", args->operand[0]);
    wi_json_string(&json, "type", weft_type_name(t->in.type));
    wi_json_string(&json, "output_type", weft_type_name(t->out.type));
    wi_json_count(&json, "width", t->out.width);
    wi_json_count(&json, "height", t->out.height);
    wi_json_count(&json, "channels", t->out.channels);
    wi_json_count(&json, "filter_width", t->filter.width);
    wi_json_count(&json, "filter_height", t->filter.height);
    wi_json_string(&json, "output", wi_value(args, &wi_output_option));
    wi_json_close(&json);
}

static wi_exit compute(const wi_arguments *args, weft_context *ctx, task *t) {
    wi_exit result = prepare(args, t);
    if (result == WI_EXIT_OK && t->filter.count == 2)
        result = run_both(ctx, t);
    else if (result == WI_EXIT_OK &&
             weft_convolve(ctx, &t->call, t->in.data, t->out.data) != WEFT_OK)
        result = wi_session_failed(ctx);
    if (result == WI_EXIT_OK)
        finish(t);
    return result;
}

static wi_exit execute(const wi_arguments *args) {
    weft_context *ctx = NULL;
    task t = {.in = {.data = NULL}};
    wi_exit result = wi_need_output(args);
    if (result == WI_EXIT_OK && !wi_given(args, &filter_option))
        result = wi_usage(args->command, "option --filter is missing; add --filter gauss:2, or "
                                         "another of weft help convolve");
    if (result == WI_EXIT_OK)
        result = wi_filter_make(args, &filter_option, wi_value(args, &filter_option), &t.filter);
    if (result == WI_EXIT_OK)
        result = wi_session_open(args, "convolve", &ctx);
    if (result == WI_EXIT_OK)
        result = wi_picture_load(args, args->operand[0], &t.in);
    if (result == WI_EXIT_OK)
        result = choose_type(args, &t);
    if (result == WI_EXIT_OK)
        result = wi_picture_check_output(args, &t.out);
    if (result == WI_EXIT_OK)
        result = compute(args, ctx, &t);
    if (result == WI_EXIT_OK)
        result = wi_picture_save(args, &t.out);
    if (result == WI_EXIT_OK)
        print_json(args, ctx, &t);
    wi_picture_free(&t.in);
    wi_picture_free(&t.out);
    wi_filter_free(&t.filter);
    weft_close(ctx);
    return result;
}

static const wi_option *const options[] = {
    &filter_option,   &border_option,       &to_option,        &truncate_option, &wi_output_option,
    &wi_place_option, &wi_variant_option,   &correlate_option, &dense_option,    &any_order_option,
    &f64_option,      &wi_read_type_option, &wi_json_option,   &wi_help_option,  NULL};

const wi_command wi_convolve_command = {
    .name = "convolve",
    .operand_text = "FILE(.npy|.pgm|.ppm|.png)",
    .summary = "filter an image: blur, sharpen, find edges",
    .details =
        "Filters each channel of an image, or of an array of rows, columns and perhaps channels, "
        "of "
        "u8, u16, f16, f32 or f64, and writes the same kind of numbers, or those that --to names; "
        "whole numbers are rounded to nearest, and those beyond the range become its end. Between "
        "images of 8 and 16 bits white stays white. An alpha channel is not filtered. The "
        "name of the output says its kind: .png, .pgm, .ppm or .npy. gauss:SIGMA reaches three "
        "SIGMA "
        "to each side, box:SIDE is the mean of a square, sobel the strength of edges, of which "
        "sobel:x and sobel:y give the two directions, sharpen:AMOUNT adds what a pixel differs "
        "from "
        "its neighbours by, emboss lights it from one side. Weights from a .npy are a "
        "convolution's, "
        "turned by 180 degrees, unless --correlate is given. A file name of - is standard input or "
        "output.",
    .examples = {{"weft convolve photo.png -f gauss:2.5 -o soft.png", "blur"},
                 {"weft convolve photo.png -f sobel -o edges.png", "edges"},
                 {"weft convolve scan.pgm -f weights.npy --border wrap -o out.pgm", "own weights"},
                 {"weft convolve photo.png -f gauss:2.5 --to u16 -o soft.png", "16 bits of 8"},
                 {"weft convolve x.npy -f box:9 --border valid -o mean.npy", "of an array"}},
    .options = options,
    .ladder = "convolve",
    .suffixes = "npy pgm ppm png",
    .writes_images = true,
    .least_operands = 1,
    .most_operands = 1,
    .run = execute,
};
