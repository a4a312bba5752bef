/* SPDX-License-Identifier: Apache-2.0 */
/* `weft histogram`: the bins of an array or an image, as a chart or as numbers. */
#include "weft/histogram.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/chart.h"
#include "cli/ranks.h"
#include "cli/session.h"
#include "cli/table_file.h"
#include "cli/text.h"
#include "io/image.h"
#include "weft/reduce.h"
#include "weft/select.h"

static const wi_option bins_option = {
    .name = "bins", .letter = 'b', .value = "COUNT", .help = "how many bins, all of one width"};
static const wi_option lo_option = {
    .name = "lo", .value = "NUMBER", .help = "where the first bin begins"};
static const wi_option hi_option = {
    .name = "hi", .value = "NUMBER", .help = "where the last bin ends"};

enum {
    DEFAULT_BINS = 64,
    OUTSIDE = 3
};

/* One run of the command: what is counted, and the counts. */
typedef struct task {
    wi_npy array;  /* the array, or the samples of the image */
    size_t pixels; /* of this rank */
    size_t whole;  /* of all ranks */
    unsigned channels;
    bool is_image;
    unsigned most; /* the largest possible sample of the image */
    weft_bins bins;
    uint64_t *counts; /* `channels` rows of bins */
    uint64_t outside[OUTSIDE * WEFT_MOST_CHANNELS];
} task;

/* ---- the input ---- */

static weft_status take_image(task *t, weft_status status, wi_image *image) {
    if (status != WEFT_OK)
        return status;
    t->is_image = true;
    t->pixels = image->width * image->height;
    t->channels = image->channels;
    t->most = image->most;
    t->array.data = image->data;
    t->array.layout.type = image->type;
    t->array.layout.count = t->pixels * image->channels;
    return WEFT_OK;
}

/* Finds the kind of file from its first byte. ungetc works on a pipe too. */
static weft_status read_any(const wi_arguments *args, weft_context *ctx, FILE *file,
                            const char *name, task *t, wi_note *note) {
    wi_image image;
    const int first = getc(file);
    if (first != EOF)
        ungetc(first, file);
    if (first == WI_PNM_FIRST)
        return take_image(t, wi_pnm_read(file, name, &image, note), &image);
    if (first == WI_PNG_FIRST)
        return take_image(t, wi_png_read(file, name, &image, note), &image);
    const bool text = wi_holds_table(args->operand[0], file);
    if (first != WI_NPY_FIRST && first != EOF && !text)
        return wi_note_fail(note, WEFT_EUNSUPPORTED,
                            "%s: this is not a .npy, .csv, .txt, PGM, PPM or PNG file; convert "
                            "other images, such as JPEG, to PNG or PPM",
                            name);
    const weft_status status =
        wi_read_part(args, ctx, file, name, text, wi_value(args, &wi_columns_option),
                     wi_given(args, &wi_type_option) ? &args->type : NULL, &t->array, note);
    t->pixels = t->array.layout.count;
    t->channels = 1;
    return status;
}

static wi_exit load(const wi_arguments *args, weft_context *ctx, task *t) {
    wi_note note = {""};
    const char *const path = args->operand[0];
    FILE *file;
    const wi_exit result = wi_open_input(args, path, "file", &file);
    if (result != WI_EXIT_OK)
        return wi_agree_result(args, ctx, result);
    const weft_status status = read_any(args, ctx, file, wi_input_name(path), t, &note);
    wi_close_input(file);
    t->whole = t->is_image ? t->pixels : wi_npy_whole(&t->array.layout);
    if (t->is_image && weft_rank(ctx) > 0)
        t->pixels = 0; /* an image is rank 0's part */
    return wi_agree_loaded(args, ctx, status, &note);
}

/* ---- the bins ---- */

static wi_exit read_number(const wi_arguments *args, const wi_option *option, double *number) {
    const char *const text = wi_value(args, option);
    char *end;
    if (!text)
        return WI_EXIT_OK;
    *number = strtod(text, &end);
    if (end > text && *end == '\0' && isfinite(*number))
        return WI_EXIT_OK;
    return wi_usage(args->command, "option --%s: \"%s\" is not a finite number", option->name,
                    text);
}

static wi_exit find_range(const wi_arguments *args, weft_context *ctx, const wi_npy *array,
                          double *lo, double *hi);

/* The range of the finite elements, which are copied to an array of their own first: those from the
 * lowest finite number of their type to the same without its sign, the largest. */
static wi_exit find_finite_range(const wi_arguments *args, weft_context *ctx, const wi_npy *array,
                                 double *lo, double *hi) {
    static const char *const lowest[WEFT_TYPE_COUNT] = {[WEFT_F16] = "-65504",
                                                        [WEFT_BF16] = "-3.3895314e38",
                                                        [WEFT_F32] = "-3.4028235e38",
                                                        [WEFT_F64] = "-1.7976931348623157e308"};
    const wi_npy_layout *const layout = &array->layout;
    wi_npy finite = {.layout = *layout,
                     .data = wi_host_alloc(layout->count * weft_type_size(layout->type))};
    weft_predicate p = {.type = layout->type, .test = WEFT_BETWEEN};
    uint64_t count = 0;
    wi_exit result = WI_EXIT_FAILED;
    wi_read_element(layout->type, lowest[layout->type], &p.a);
    wi_read_element(layout->type, lowest[layout->type] + 1, &p.b);
    if (!finite.data)
        wi_say_error("histogram: no memory for the finite ones of %zu elements; give the range "
                     "with --lo and --hi",
                     layout->count);
    else if (weft_select(ctx, p, layout->count, array->data, finite.data, &count) != WEFT_OK)
        result = wi_session_failed(ctx);
    else if (count == wi_npy_whole(layout))
        wi_say_error("histogram: %s: the largest element is as large as %s can be, and a bin ends "
                     "above it; give the range with --lo and --hi",
                     args->operand[0], weft_type_name(layout->type));
    else {
        result = wi_take_own(ctx, &finite, &count);
        if (result == WI_EXIT_OK)
            result = find_range(args, ctx, &finite, lo, hi);
    }
    wi_npy_free(&finite);
    return result;
}

/* Has an element of 64 bits become larger as f64? */
static bool rounded_up(weft_type type, uint64_t element, double value) {
    if (type == WEFT_I64)
        return value >= 0x1p63 || (int64_t)value > (int64_t)element;
    return type == WEFT_U64 && (value >= 0x1p64 || (uint64_t)value > element);
}

/* From the smallest element to just above the largest; if these are not finite, of the finite ones.
 */
static wi_exit find_range(const wi_arguments *args, weft_context *ctx, const wi_npy *array,
                          double *lo, double *hi) {
    const wi_npy_layout *const layout = &array->layout;
    uint64_t least = 0, most = 0;
    if (wi_npy_whole(layout) == 0) {
        *lo = 0;
        *hi = 1;
        return WI_EXIT_OK;
    }
    if (weft_reduce(ctx, WEFT_MIN, layout->type, layout->count, array->data, &least) != WEFT_OK ||
        weft_reduce(ctx, WEFT_MAX, layout->type, layout->count, array->data, &most) != WEFT_OK)
        return wi_session_failed(ctx);
    *lo = wi_element_value(layout->type, &least);
    if (rounded_up(layout->type, least, *lo))
        *lo = nextafter(*lo, -INFINITY);
    *hi = wi_element_value(layout->type, &most);
    *hi = wi_type_is_float(layout->type) && *hi > *lo ? nextafter(*hi, INFINITY)
                                                      : fmax(*hi + 1, nextafter(*hi, INFINITY));
    return isfinite(*lo) && isfinite(*hi) ? WI_EXIT_OK
                                          : find_finite_range(args, ctx, array, lo, hi);
}

/* Chooses the bins: by the options, else by the type or the range of the elements. */
static wi_exit choose_bins(const wi_arguments *args, weft_context *ctx, task *t) {
    const weft_type type = t->array.layout.type;
    const bool bytes = weft_type_size(type) == 1;
    t->bins = (weft_bins){.count = bytes ? 256 : DEFAULT_BINS};
    if (bytes) {
        t->bins.lo = type == WEFT_I8 ? -128 : 0;
        t->bins.hi = t->bins.lo + 256;
    } else if (t->is_image) {
        t->bins.hi = (double)t->most + 1;
    } else if (!wi_given(args, &lo_option) || !wi_given(args, &hi_option)) {
        const wi_exit found = find_range(args, ctx, &t->array, &t->bins.lo, &t->bins.hi);
        if (found != WI_EXIT_OK)
            return found;
    }
    if (wi_given(args, &bins_option) &&
        !wi_read_count(wi_value(args, &bins_option), &t->bins.count))
        return wi_usage(args->command, "option --bins: \"%s\" is not a whole number",
                        wi_value(args, &bins_option));
    wi_exit result = read_number(args, &lo_option, &t->bins.lo);
    if (result == WI_EXIT_OK)
        result = read_number(args, &hi_option, &t->bins.hi);
    return result;
}

static wi_exit count(weft_context *ctx, task *t) {
    if (t->bins.count <= WEFT_MOST_BINS) {
        t->counts = wi_host_alloc(t->bins.count * t->channels * sizeof *t->counts);
        if (!t->counts) {
            wi_say_error("histogram: no memory for %zu bins", t->bins.count);
            return WI_EXIT_FAILED;
        }
    }
    const weft_status status =
        weft_histogram(ctx, t->array.layout.type, t->pixels, t->channels, t->array.data, &t->bins,
                       WEFT_OVERWRITE, WEFT_U64, t->counts, t->outside);
    return status == WEFT_OK ? WI_EXIT_OK : wi_session_failed(ctx);
}

/* ---- the output ---- */

static const char *channel_name(const task *t, unsigned channel) {
    static const char *const names[][WEFT_MOST_CHANNELS] = {
        {"gray"}, {"gray", "alpha"}, {"red", "green", "blue"}, {"red", "green", "blue", "alpha"}};
    return t->is_image ? names[t->channels - 1][channel] : NULL;
}

static void print_json(const wi_arguments *args, const weft_context *ctx, const task *t) {
    for (unsigned c = 0; c < t->channels; c++) {
        const uint64_t *const outside = t->outside + OUTSIDE * c;
        wi_json json;
        wi_json_open(&json);
        wi_json_string(&json, "op", "histogram");
        wi_json_string(&json, "variant", weft_used(ctx, "histogram"));
        wi_json_string(&json, "place", weft_place(ctx));
        wi_json_string(&json, "file", args->operand[0]);
        wi_json_string(&json, "type", weft_type_name(t->array.layout.type));
        wi_json_ranks(&json, ctx);
        wi_json_count(&json, "n", t->whole);
        wi_json_string(&json, "channel", channel_name(t, c));
        wi_json_count(&json, "bins", t->bins.count);
        wi_json_element(&json, "lo", WEFT_F64, &t->bins.lo);
        wi_json_element(&json, "hi", WEFT_F64, &t->bins.hi);
        wi_json_count(&json, "below", outside[0]);
        wi_json_count(&json, "above", outside[1]);
        wi_json_count(&json, "nan", outside[2]);
        if (wi_given(args, &wi_output_option))
            wi_json_string(&json, "output", wi_value(args, &wi_output_option));
        else
            wi_json_counts(&json, "counts", t->bins.count, t->counts + c * t->bins.count);
        wi_json_close(&json);
    }
}

static void print_charts(const wi_arguments *args, const task *t) {
    for (unsigned c = 0; c < t->channels; c++) {
        const uint64_t *const outside = t->outside + OUTSIDE * c;
        const wi_chart chart = {.title = channel_name(t, c),
                                .bins = t->bins.count,
                                .lo = t->bins.lo,
                                .hi = t->bins.hi,
                                .counts = t->counts + c * t->bins.count,
                                .below = outside[0],
                                .above = outside[1],
                                .nan = outside[2],
                                .every_bin = wi_given(args, &bins_option)};
        wi_print_chart(&chart);
    }
}

static wi_exit save(const wi_arguments *args, const task *t) {
    wi_npy counts = {.data = t->counts};
    counts.layout.type = WEFT_U64;
    counts.layout.count = t->channels * t->bins.count;
    if (t->is_image)
        counts.layout.shape[counts.layout.dims++] = t->channels;
    counts.layout.shape[counts.layout.dims++] = t->bins.count;
    return wi_save(args, &wi_output_option, &counts);
}

static wi_exit show(const wi_arguments *args, const weft_context *ctx, const task *t) {
    const bool saves = wi_given(args, &wi_output_option);
    if (weft_rank(ctx) > 0)
        return WI_EXIT_OK; /* every rank has the counts of all; rank 0 shows them */
    const wi_exit result = saves ? save(args, t) : WI_EXIT_OK;
    if (result != WI_EXIT_OK)
        return result;
    if (wi_given(args, &wi_json_option))
        print_json(args, ctx, t);
    else if (!saves)
        print_charts(args, t);
    return WI_EXIT_OK;
}

static wi_exit execute(const wi_arguments *args) {
    weft_context *ctx = NULL;
    task t = {.counts = NULL};
    wi_exit result = WI_EXIT_OK;
    if (wi_given(args, &wi_output_option))
        result = wi_need_output(args);
    if (result == WI_EXIT_OK)
        result = wi_session_open(args, "histogram", &ctx);
    if (result == WI_EXIT_OK)
        result = load(args, ctx, &t);
    if (result == WI_EXIT_OK)
        result = choose_bins(args, ctx, &t);
    if (result == WI_EXIT_OK)
        result = count(ctx, &t);
    if (result == WI_EXIT_OK)
        result = show(args, ctx, &t);
    wi_npy_free(&t.array);
    wi_host_free(t.counts);
    weft_close(ctx);
    return result;
}

static const wi_option *const options[] = {&wi_output_option,
                                           &bins_option,
                                           &lo_option,
                                           &hi_option,
                                           &wi_columns_option,
                                           &wi_place_option,
                                           &wi_variant_option,
                                           &wi_read_type_option,
                                           &wi_json_option,
                                           &wi_help_option,
                                           NULL};

const wi_command wi_histogram_command = {
    .name = "histogram",
    .operand_text = "FILE(.npy|.csv|.txt|.pgm|.ppm|.png)",
    .summary = "count how many elements fall into each bin, and draw it",
    .details = "Draws a chart of an array, or of each channel of an image: with --bins a line "
               "for each bin, otherwise 32 lines, each for several neighbouring bins. Bytes get "
               "a bin for each value; images of 16 bits 64 bins from 0 to the largest possible "
               "sample; other arrays 64 bins from the smallest finite element to the largest. "
               "--bins, --lo and --hi change that. Bin k of N holds lo + k (hi - lo) / N <= x < "
               "lo + (k + 1) (hi - lo) / N. Elements outside all bins and NaN are counted "
               "separately. --output writes the counts instead, as u64, with a row for each "
               "channel of an image. A file name of - is standard input.",
    .examples = {{"weft histogram photo.png", "a chart for each channel"},
                 {"weft histogram x.npy --bins 20 --lo 0 --hi 1", "of an array"},
                 {"weft histogram scan.pgm --bins 65536 -o counts.npy", "as numbers"},
                 {"weft histogram x.npy --json", "for programs: an object for each channel"}},
    .options = options,
    .ladder = "histogram",
    .over_ranks = true,
    .suffixes = "npy csv txt pgm ppm png",
    .least_operands = 1,
    .most_operands = 1,
    .run = execute,
};
