/* SPDX-License-Identifier: Apache-2.0 */
/* `weft fft`: the Fourier transform of the array in a file. */
#include "weft/fft.h"

#include <string.h>

#include "cli/options.h"
#include "cli/session.h"
#include "cli/text.h"

static const wi_option inverse_option = {
    .name = "inverse", .letter = 'i', .help = "exp(+2 pi i j k / n), and a factor of 1 / n"};
static const wi_option half_option = {
    .name = "half",
    .help = "of real input: elements 0 to n / 2 of the last dimension only, as numpy's rfft"};
static const wi_option dims_option = {
    .name = "dims",
    .letter = 'd',
    .value = "D",
    .help =
        "transform along the last D dimensions, 1 to 3; those before are a batch; default: all"};

/* The transform of an array: its description, the input as it is used, and the output. */
typedef struct task {
    weft_fft_description d;
    wi_npy in, out;
} task;

/* Reads real or complex numbers, in C order. */
static wi_exit load(const wi_arguments *args, wi_npy *array) {
    const char *const path = args->operand[0];
    wi_note note = {""};
    FILE *file;
    const wi_exit result = wi_open_input(args, path, ".npy file", &file);
    if (result != WI_EXIT_OK)
        return result;
    weft_status status =
        wi_npy_read_numbers(file, wi_is_standard(path) ? "standard input" : path, array, &note);
    wi_close_input(file);
    if (status == WEFT_OK)
        status = wi_npy_to_c_order(array, &note);
    if (status == WEFT_OK)
        return WI_EXIT_OK;
    wi_say_error("%s", note.text);
    return WI_EXIT_FAILED;
}

static wi_exit choose_dimensions(const wi_arguments *args, const wi_npy_layout *layout,
                                 weft_fft_description *d) {
    const char *const text = wi_value(args, &dims_option);
    d->batch = 1;
    d->rank = (unsigned)(layout->dims > WEFT_FFT_DIMENSIONS ? WEFT_FFT_DIMENSIONS : layout->dims);
    if (text) {
        if (strlen(text) != 1 || *text < '1' || *text > '3')
            return wi_usage(args->command, "option --dims: write 1, 2 or 3");
        d->rank = (unsigned)(*text - '0');
    }
    if (d->rank == 0 || d->rank > layout->dims) {
        wi_say_error("fft: %s has %zu dimensions; there is nothing to transform%s",
                     args->operand[0], layout->dims, text ? ", lower --dims" : "");
        return WI_EXIT_FAILED;
    }
    const size_t before = layout->dims - d->rank;
    for (size_t k = 0; k < before; k++)
        d->batch *= layout->shape[k];
    for (size_t k = 0; k < d->rank; k++)
        d->n[k] = layout->shape[before + k];
    if (layout->count > 0)
        return WI_EXIT_OK;
    wi_say_error("fft: %s is an empty array; there is nothing to transform", args->operand[0]);
    return WI_EXIT_FAILED;
}

/* Real numbers as complex ones, or whole numbers as f64. */
static void widen(const wi_npy *in, bool pairs, weft_type type, void *to) {
    const weft_type from = in->layout.type;
    const size_t apart = pairs ? 2 : 1;
    for (size_t i = 0; i < in->layout.count; i++) {
        const double v = wi_element_value(from, (const char *)in->data + i * weft_type_size(from));
        if (type == WEFT_F64)
            ((double *)to)[apart * i] = v;
        else
            ((float *)to)[apart * i] = (float)v;
        if (pairs && type == WEFT_F64)
            ((double *)to)[2 * i + 1] = 0;
        else if (pairs)
            ((float *)to)[2 * i + 1] = 0;
    }
}

/* Brings the input to what the call takes: f32 stays, all other real numbers become f64. */
static wi_exit convert(task *t) {
    wi_npy_layout *const layout = &t->in.layout;
    const bool is_half = t->d.kind == WEFT_FFT_REAL_TO_COMPLEX,
               is_narrow = layout->type == WEFT_F32;
    const weft_type type = is_narrow ? WEFT_F32 : WEFT_F64;
    t->d.type = type;
    if (layout->pairs || (is_half && layout->type == type))
        return WI_EXIT_OK;
    const size_t count = layout->count * (is_half ? 1 : 2);
    void *const wide = wi_host_alloc(count * weft_type_size(type));
    if (!wide) {
        wi_say_error("fft: no memory for %zu numbers", layout->count);
        return WI_EXIT_FAILED;
    }
    widen(&t->in, !is_half, type, wide);
    wi_host_free(t->in.data);
    t->in.data = wide;
    layout->type = type;
    layout->pairs = !is_half;
    layout->opaque = false;
    layout->count = count;
    return WI_EXIT_OK;
}

static wi_exit prepare(const wi_arguments *args, task *t) {
    const bool is_half = wi_given(args, &half_option), is_inverse = wi_given(args, &inverse_option);
    wi_exit result = choose_dimensions(args, &t->in.layout, &t->d);
    if (result == WI_EXIT_OK && is_half && (t->in.layout.pairs || is_inverse)) {
        wi_say_error("fft: --half is for forward transforms of real numbers; leave it out");
        result = WI_EXIT_FAILED;
    }
    if (result != WI_EXIT_OK)
        return result;
    t->d.kind = is_half ? WEFT_FFT_REAL_TO_COMPLEX : WEFT_FFT_COMPLEX;
    t->d.direction = is_inverse ? WEFT_FFT_INVERSE : WEFT_FFT_FORWARD;
    t->d.scale = 1;
    for (unsigned k = 0; k < t->d.rank && is_inverse; k++)
        t->d.scale /= (double)t->d.n[k];
    result = convert(t);
    t->out.layout = t->in.layout;
    t->out.layout.pairs = true;
    if (is_half) {
        size_t *const last = &t->out.layout.shape[t->out.layout.dims - 1];
        t->out.layout.count = t->in.layout.count / *last * (*last / 2 + 1) * 2;
        *last = *last / 2 + 1;
    }
    return result;
}

/* In place, unless the output has another size. */
static wi_exit compute(weft_context *ctx, task *t) {
    void *y = t->in.data;
    if (t->d.kind == WEFT_FFT_REAL_TO_COMPLEX) {
        y = wi_host_alloc(t->out.layout.count * weft_type_size(t->d.type));
        if (!y) {
            wi_say_error("fft: no memory for %zu numbers", t->out.layout.count / 2);
            return WI_EXIT_FAILED;
        }
    }
    const weft_status status = weft_fft(ctx, &t->d, t->in.data, y);
    if (y == t->in.data)
        t->in.data = NULL;
    t->out.data = y;
    return status == WEFT_OK ? WI_EXIT_OK : wi_session_failed(ctx);
}

static wi_exit execute(const wi_arguments *args) {
    weft_context *ctx = NULL;
    task t = {.in = {.data = NULL}};
    wi_exit result = wi_need_output(args);
    if (result == WI_EXIT_OK)
        result = wi_session_open(args, "fft", &ctx);
    if (result == WI_EXIT_OK)
        result = load(args, &t.in);
    if (result == WI_EXIT_OK)
        result = prepare(args, &t);
    if (result == WI_EXIT_OK)
        result = compute(ctx, &t);
    if (result == WI_EXIT_OK)
        result = wi_save(args, &wi_output_option, &t.out);
    if (result == WI_EXIT_OK)
        wi_print_saved(args, "fft", "fft", ctx, &t.out.layout);
    wi_npy_free(&t.in);
    wi_npy_free(&t.out);
    weft_close(ctx);
    return result;
}

static const wi_option *const options[] = {&wi_output_option, &inverse_option,  &half_option,
                                           &dims_option,      &wi_place_option, &wi_variant_option,
                                           &wi_json_option,   &wi_help_option,  NULL};

const wi_command wi_fft_command = {
    .name = "fft",
    .operand_text = "FILE.npy",
    .summary = "the Fourier transform of an array",
    .details =
        "Transforms complex numbers (c8, c16) or real ones along all dimensions, up to three, "
        "and writes complex numbers of the same shape; with --half only those that real "
        "input needs. f32 gives c8; all other real types give c16. The inverse is divided by "
        "the count of numbers, so that it brings back what was transformed. A file name of - "
        "is standard input or output.",
    .examples = {{"weft fft x.npy -o X.npy", "forward"},
                 {"weft fft X.npy --inverse -o x.npy", "and back"},
                 {"weft fft signals.npy --dims 1 --half -o spectra.npy",
                  "rows of real numbers, one by one"}},
    .options = options,
    .ladder = "fft",
    .suffixes = "npy",
    .least_operands = 1,
    .most_operands = 1,
    .run = execute,
};
