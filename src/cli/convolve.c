/* SPDX-License-Identifier: Apache-2.0 */
/* `weft convolve`: filters an image. */
#include "weft/convolve.h"

#include <math.h>
#include <string.h>

#include "cli/filters.h"
#include "cli/picture.h"
#include "cli/ranks.h"
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
    double white;       /* what a sample is multiplied by on its way to another type */
    size_t first;       /* over ranks: the first of this rank's rows of the input */
    size_t above, left; /* where in the input the first pixel of the output lies */
    size_t whole;       /* rows of the output of all ranks */
    void *room;         /* for the results of two filters */
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

/* How many pixels a filter has before its centre, as it lies on the image. */
static size_t before_centre(size_t filter, bool correlates) {
    return correlates ? filter / 2 : (filter - 1) / 2;
}

/* Each rank has a part of the rows, and all have read the whole image. */
static void divide(const weft_context *ctx, task *t) {
    const bool is_valid = t->call.border == WEFT_BORDER_VALID,
               correlates = (t->call.how & WEFT_CORRELATE) != 0;
    const size_t own = wi_npy_part_of(t->in.height, weft_rank(ctx), weft_ranks(ctx), &t->first);
    const size_t begin = is_valid ? before_centre(t->filter.height, correlates) : 0,
                 end = begin + t->whole, last = t->first + own < end ? t->first + own : end;
    t->call.height = own;
    t->left = is_valid ? before_centre(t->filter.width, correlates) : 0;
    t->above = t->first > begin ? t->first : begin;
    t->out.height = last > t->above ? last - t->above : 0;
}

static size_t samples_of(const wi_picture *p) {
    return p->width * p->height * p->channels;
}

/* The type in which two filters compute. */
static weft_type sums_type(const task *t) {
    return t->in.type == WEFT_F64 ? WEFT_F64 : WEFT_F32;
}

/* Describes the call, and takes memory for its output. */
static wi_exit prepare(const wi_arguments *args, const weft_context *ctx, task *t) {
    const wi_picture *const in = &t->in;
    weft_border border;
    const wi_exit result = choose_border(args, &border);
    if (result != WI_EXIT_OK)
        return result;
    const bool correlates = t->filter.correlates || wi_given(args, &correlate_option);
    t->call = (weft_convolution){.type = in->type,
                                 .out = t->out.type,
                                 .width = in->width,
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
    t->whole = size_left(in->height, t->filter.height, border);
    divide(ctx, t);
    const size_t samples = samples_of(&t->out);
    t->out.data = wi_host_alloc(samples * weft_type_size(t->out.type) + 1);
    if (t->filter.count == 2)
        t->room = wi_host_alloc(2 * samples * weft_type_size(sums_type(t)) + 1);
    if (t->out.data && (t->room || t->filter.count == 1))
        return WI_EXIT_OK;
    wi_say_error("convolve: no memory for %s of %zu x %zu",
                 t->filter.count == 2 ? "three images" : "an image", t->out.width, t->out.height);
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

/* One filter, from this rank's rows to `y`. */
static wi_exit run(weft_context *ctx, const task *t, const weft_convolution *call, void *y) {
    const size_t row = t->in.width * t->in.channels * weft_type_size(t->in.type);
    const char *const x = (const char *)t->in.data + t->first * row;
    return weft_convolve(ctx, call, x, y) == WEFT_OK ? WI_EXIT_OK : wi_session_failed(ctx);
}

/* Two filters: each to floats, which are joined here. */
static wi_exit run_both(weft_context *ctx, task *t) {
    const size_t n = samples_of(&t->out);
    const size_t size = weft_type_size(sums_type(t));
    char *const room = t->room;
    wi_exit result = WI_EXIT_OK;
    weft_convolution call = t->call;
    call.out = sums_type(t);
    for (unsigned k = 0; k < 2 && result == WI_EXIT_OK; k++) {
        call.filter = t->filter.weights + k * t->filter.width * t->filter.height;
        result = run(ctx, t, &call, room + k * n * size);
    }
    for (size_t i = 0; result == WI_EXIT_OK && i < n; i++) {
        const double x = wi_element_value(call.out, room + i * size);
        const double y = wi_element_value(call.out, room + (n + i) * size);
        put_sample(t, i, sqrt(x * x + y * y));
    }
    return result;
}

/* Puts the alpha of the input in the output. */
static void keep_alpha(const task *t) {
    const wi_picture *const in = &t->in, *const out = &t->out;
    const size_t channels = in->channels, size = weft_type_size(in->type);
    for (size_t row = 0; row < out->height; row++)
        for (size_t column = 0; column < out->width; column++) {
            const size_t from = (row + t->above) * in->width + column + t->left;
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
    for (size_t i = 0; out->most && i < samples_of(out); i++) {
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
    wi_json_ranks(&json, ctx);
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

/* What every rank does by itself before the first call. */
static wi_exit load(const wi_arguments *args, const weft_context *ctx, task *t) {
    wi_exit result = wi_check_shared(ctx, args->operand[0]);
    if (result == WI_EXIT_OK)
        result = wi_picture_load(args, args->operand[0], &t->in);
    if (result == WI_EXIT_OK)
        result = choose_type(args, t);
    if (result == WI_EXIT_OK)
        result = wi_picture_check_output(args, &t->out);
    return result == WI_EXIT_OK ? prepare(args, ctx, t) : result;
}

static wi_exit compute(weft_context *ctx, task *t) {
    const wi_exit result =
        t->filter.count == 2 ? run_both(ctx, t) : run(ctx, t, &t->call, t->out.data);
    if (result == WI_EXIT_OK)
        finish(t);
    return result;
}

/* Rank 0 writes the rows of all. */
static wi_exit save(const wi_arguments *args, weft_context *ctx, task *t) {
    size_t samples = samples_of(&t->out);
    wi_exit result = wi_collect(args, ctx, weft_type_size(t->out.type), &samples, &t->out.data);
    t->out.height = t->whole;
    if (result != WI_EXIT_OK)
        return result;
    if (weft_rank(ctx) == 0)
        result = wi_picture_save(args, &t->out);
    if (result == WI_EXIT_OK && weft_rank(ctx) == 0)
        print_json(args, ctx, t);
    return wi_agree_result(args, ctx, result);
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
        result = wi_agree_result(args, ctx, load(args, ctx, &t));
    if (result == WI_EXIT_OK)
        result = compute(ctx, &t);
    if (result == WI_EXIT_OK)
        result = save(args, ctx, &t);
    wi_host_free(t.room);
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
        "turned by 180 degrees, unless --correlate is given. On place mpi every rank reads the "
        "file and filters its part of the rows. A file name of - is standard input or output.",
    .examples = {{"weft convolve photo.png -f gauss:2.5 -o soft.png", "blur"},
                 {"weft convolve photo.png -f sobel -o edges.png", "edges"},
                 {"weft convolve scan.pgm -f weights.npy --border wrap -o out.pgm", "own weights"},
                 {"weft convolve photo.png -f gauss:2.5 --to u16 -o soft.png", "16 bits of 8"},
                 {"weft convolve x.npy -f box:9 --border valid -o mean.npy", "of an array"},
                 {"mpirun -np 4 weft convolve photo.png -f gauss:9 -o soft.png --place mpi",
                  "over four ranks"}},
    .options = options,
    .ladder = "convolve",
    .suffixes = "npy pgm ppm png",
    .writes_images = true,
    .least_operands = 1,
    .most_operands = 1,
    .run = execute,
    .over_ranks = true,
};
