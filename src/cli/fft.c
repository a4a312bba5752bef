/* SPDX-License-Identifier: Apache-2.0 */
/* `weft fft`: the Fourier transform of the array in a file. */
#include "weft/fft.h"

#include <string.h>

#include "cli/options.h"
#include "cli/ranks.h"
#include "cli/table_file.h"
#include "fft/fft_dist.h"

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
static const wi_option pairs_option = {
    .name = "pairs",
    .help = "complex numbers are a last dimension of 2, real and imaginary part: as f16 needs"};

/* The transform of an array: its description, the input as it is used, and the output. */
typedef struct task {
    const wi_arguments *args;
    weft_fft_description d;
    wi_npy in, out;
} task;

/* Reads real or complex numbers, in C order; of a table of text real ones. */
static wi_exit load(const wi_arguments *args, wi_npy *array) {
    static const weft_type f64 = WEFT_F64;
    const char *const path = args->operand[0];
    wi_note note = {""};
    FILE *file;
    const wi_exit result = wi_open_input(args, path, ".npy file", &file);
    if (result != WI_EXIT_OK)
        return result;
    const char *const name = wi_input_name(path);
    const char *const columns = wi_value(args, &wi_columns_option);
    const bool text = wi_holds_table(path, file);
    weft_status status = text ? wi_table_load(file, name, columns, &f64, false, array, &note)
                              : wi_npy_read_numbers(file, name, array, &note);
    wi_close_input(file);
    if (status == WEFT_OK && columns && !text)
        status = wi_note_fail(&note, WEFT_EARG,
                              "%s: --columns is about tables of text; leave it out", name);
    if (status == WEFT_OK)
        status = wi_npy_to_c_order(array, &note);
    if (status == WEFT_OK)
        return WI_EXIT_OK;
    wi_say_error("%s", note.text);
    return WI_EXIT_FAILED;
}

/* With --pairs: takes the last dimension for the parts of complex numbers. */
static wi_exit take_pairs(const wi_arguments *args, wi_npy_layout *layout) {
    const weft_type type = layout->type;
    if (layout->pairs || (type != WEFT_F16 && type != WEFT_F32 && type != WEFT_F64)) {
        wi_say_error("fft: %s has %s numbers; with --pairs it needs real ones of f16, f32 or f64",
                     args->operand[0], layout->pairs ? "complex" : weft_type_name(type));
        return WI_EXIT_FAILED;
    }
    if (wi_given(args, &half_option))
        return WI_EXIT_OK;
    if (layout->dims == 0 || layout->shape[layout->dims - 1] != 2) {
        wi_say_error("fft: the last dimension of %s is not 2; leave out --pairs for real numbers",
                     args->operand[0]);
        return WI_EXIT_FAILED;
    }
    layout->dims--;
    layout->pairs = true;
    return WI_EXIT_OK;
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
        wi_say_error("fft: %s has %zu dimension%s; %s", args->operand[0], layout->dims,
                     wi_plural(layout->dims),
                     layout->dims ? "lower --dims" : "there is nothing to transform");
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

/* Brings the input to what the call takes: f32 stays, all other real numbers become f64, but for
 * f16 with --pairs. */
static wi_exit convert(const wi_arguments *args, task *t) {
    wi_npy_layout *const layout = &t->in.layout;
    const bool is_half = t->d.kind == WEFT_FFT_REAL_TO_COMPLEX;
    const bool stays = layout->type == WEFT_F32 || wi_given(args, &pairs_option);
    const weft_type type = stays ? layout->type : WEFT_F64;
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
    const bool has_pairs = wi_given(args, &pairs_option);
    wi_exit result = has_pairs ? take_pairs(args, &t->in.layout) : WI_EXIT_OK;
    if (result == WI_EXIT_OK)
        result = choose_dimensions(args, &t->in.layout, &t->d);
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
    result = convert(args, t);
    t->out.layout = t->in.layout;
    t->out.layout.pairs = true;
    if (is_half) {
        size_t *const last = &t->out.layout.shape[t->out.layout.dims - 1];
        t->out.layout.count = t->in.layout.count / *last * (*last / 2 + 1) * 2;
        *last = *last / 2 + 1;
    }
    if (has_pairs && t->out.layout.dims < sizeof t->out.layout.shape / sizeof(size_t)) {
        t->out.layout.shape[t->out.layout.dims++] = 2;
        t->out.layout.pairs = false;
    }
    return result;
}

/* Over ranks: a batch, or else the first dimension, is divided into equal parts. *x is this rank's,
 * of the input that all have read; the output is reduced to its part. */
static void divide(const weft_context *ctx, task *t, const char **x) {
    const size_t ranks = (size_t)weft_ranks(ctx), rank = (size_t)weft_rank(ctx);
    const bool is_batch = t->d.batch > 1;
    const size_t n = is_batch ? t->d.batch : t->d.n[0];
    const size_t begin = wi_fft_even_begin(n, rank, ranks),
                 own = wi_fft_even_begin(n, rank + 1, ranks) - begin;
    *x += t->in.layout.count / n * begin * weft_type_size(t->d.type);
    t->out.layout.count = t->out.layout.count / n * own;
    t->d.layout = is_batch ? WEFT_FFT_OWN : 0;
    t->d.batch = is_batch ? own : 1;
}

/* In place, unless the output has another size. */
static wi_exit compute(weft_context *ctx, task *t) {
    const bool is_divided = weft_ranks(ctx) > 1;
    const char *x = t->in.data;
    void *y = t->in.data;
    if (is_divided)
        divide(ctx, t, &x);
    if (is_divided || t->d.kind == WEFT_FFT_REAL_TO_COMPLEX) {
        y = wi_host_alloc(t->out.layout.count * weft_type_size(t->d.type) + 1);
        if (!y)
            wi_say_error("fft: no memory for %zu numbers", t->out.layout.count / 2);
    }
    const wi_exit result = wi_agree_result(t->args, ctx, y ? WI_EXIT_OK : WI_EXIT_FAILED);
    if (y == t->in.data)
        t->in.data = NULL;
    t->out.data = y;
    if (result != WI_EXIT_OK)
        return result;
    return weft_fft(ctx, &t->d, x, y) == WEFT_OK ? WI_EXIT_OK : wi_session_failed(ctx);
}

static wi_exit execute(const wi_arguments *args) {
    weft_context *ctx = NULL;
    task t = {.args = args};
    wi_exit result = wi_need_output(args);
    if (result == WI_EXIT_OK)
        result = wi_session_open(args, "fft", &ctx);
    if (result == WI_EXIT_OK)
        result = load(args, &t.in);
    if (result == WI_EXIT_OK)
        result = prepare(args, &t);
    if (ctx)
        result = wi_agree_result(args, ctx, result);
    if (result == WI_EXIT_OK)
        result = compute(ctx, &t);
    if (result == WI_EXIT_OK)
        result = wi_save_part(args, ctx, &wi_output_option, &t.out);
    if (result == WI_EXIT_OK)
        wi_print_saved(args, "fft", "fft", ctx, &t.out.layout);
    wi_npy_free(&t.in);
    wi_npy_free(&t.out);
    weft_close(ctx);
    return result;
}

static const wi_option *const options[] = {&wi_output_option,
                                           &inverse_option,
                                           &half_option,
                                           &dims_option,
                                           &pairs_option,
                                           &wi_columns_option,
                                           &wi_place_option,
                                           &wi_variant_option,
                                           &wi_json_option,
                                           &wi_help_option,
                                           NULL};

const wi_command wi_fft_command = {
    .name = "fft",
    .operand_text = "FILE(.npy|.csv|.txt)",
    .summary = "the Fourier transform of an array",
    .details =
        "Transforms complex numbers (c8, c16) or real ones along all dimensions, up to three, "
        "and writes complex numbers of the same shape; with --half only those that real "
        "input needs. f32 gives c8; all other real types give c16. The inverse is divided by "
        "the count of numbers, so that it brings back what was transformed. With --pairs f16 "
        "stays f16. On place mpi every rank reads the whole file and transforms its part of the "
        "batch or, if there is none, of the first dimension. Tables of text, .csv or .txt, hold "
        "real numbers; of complex ones two columns are written. A file name of - is standard "
        "input or output.",
    .examples = {{"weft fft x.npy -o X.npy", "forward"},
                 {"weft fft X.npy --inverse -o x.npy", "and back"},
                 {"weft fft signals.npy --dims 1 --half -o spectra.npy",
                  "rows of real numbers, one by one"},
                 {"mpirun -np 4 weft fft volume.npy -o V.npy --place mpi", "over four ranks"}},
    .options = options,
    .ladder = "fft",
    .suffixes = "npy csv txt",
    .least_operands = 1,
    .most_operands = 1,
    .run = execute,
    .over_ranks = true,
};
