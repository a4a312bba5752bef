/* SPDX-License-Identifier: Apache-2.0 */
/* `weft gemm`: the product of two matrices. */
#include "weft/gemm.h"

#include <stdio.h>
#include <string.h>

#include "cli/ranks.h"
#include "cli/session.h"
#include "cli/text.h"

static void list_accuracies(const wi_command *command, wi_words *words);

static const wi_option transpose_a_option = {.name = "transpose-a",
                                             .help = "multiply A transposed"};
static const wi_option transpose_b_option = {.name = "transpose-b",
                                             .help = "multiply B transposed"};
static const wi_option alpha_option = {
    .name = "alpha", .value = "NUMBER", .help = "factor of the product; default 1"};
static const wi_option add_option = {.name = "add",
                                     .letter = 'a',
                                     .value = "FILE.npy",
                                     .help = "a matrix to add",
                                     .file = WI_FILE_READ};
static const wi_option beta_option = {
    .name = "beta", .value = "NUMBER", .help = "factor of the added matrix; default 1"};
static const wi_option accuracy_option = {.name = "accuracy",
                                          .value = "HOW",
                                          .help = "of f32: full, strict or tf32; default full",
                                          .list = list_accuracies};

static const struct {
    const char *name;
    unsigned how;
} accuracies[] = {{"full", 0}, {"strict", WEFT_F32_STRICT}, {"tf32", WEFT_TF32}};

enum {
    ACCURACIES = sizeof accuracies / sizeof *accuracies
};

static void list_accuracies(const wi_command *command, wi_words *words) {
    (void)command;
    for (int k = 0; k < ACCURACIES; k++)
        wi_words_add(words, accuracies[k].name);
}

/* A product as the command line and the files ask for it. */
typedef struct product {
    wi_npy a, b, c;
    unsigned how;
    size_t m, n, k;
    double alpha, beta;
} product;

/* Consecutive rows of a matrix: those of one rank, or all. */
typedef struct part {
    size_t first, count;
} part;

/* ---- options ---- */

static wi_exit read_number(const wi_arguments *args, const wi_option *option, double *value) {
    const char *const text = wi_value(args, option);
    char why[WI_REASON_BYTES];
    if (!text || wi_read_element(WEFT_F64, text, value))
        return WI_EXIT_OK;
    wi_explain_element(WEFT_F64, text, why);
    return wi_usage(args->command, "option --%s: %s", option->name, why);
}

static wi_exit read_accuracy(const wi_arguments *args, unsigned *how) {
    const char *const text = wi_value(args, &accuracy_option);
    for (int k = 0; text && k < ACCURACIES; k++) {
        if (strcmp(text, accuracies[k].name) == 0) {
            *how |= accuracies[k].how;
            return WI_EXIT_OK;
        }
    }
    return text ? wi_usage_word(args->command, "accuracy", text, list_accuracies) : WI_EXIT_OK;
}

static wi_exit read_options(const wi_arguments *args, product *p) {
    const char *const add = wi_value(args, &add_option);
    const int standard = wi_is_standard(args->operand[0]) + wi_is_standard(args->operand[1]) +
                         (add && wi_is_standard(add));
    p->how = WEFT_ROW_MAJOR;
    p->alpha = 1;
    p->beta = add ? 1 : 0;
    if (standard > 1)
        return wi_usage(args->command, "only one of the files can be standard input");
    if (wi_given(args, &beta_option) && !add)
        return wi_usage(args->command, "option --beta: there is no matrix to multiply; name one "
                                       "with --add");
    wi_exit result = read_number(args, &alpha_option, &p->alpha);
    if (result == WI_EXIT_OK)
        result = read_number(args, &beta_option, &p->beta);
    return result == WI_EXIT_OK ? read_accuracy(args, &p->how) : result;
}

/* ---- files ---- */

static wi_exit load_matrix(const wi_arguments *args, const char *path, const weft_type *type,
                           wi_npy *array) {
    const wi_exit result = type ? wi_load_any(args, path, type, array) : wi_load(args, path, array);
    if (result != WI_EXIT_OK || array->layout.dims == 2)
        return result;
    wi_say_error("gemm: %s has %zu dimension%s; give matrices, a vector as one of shape (n, 1) or "
                 "(1, n)",
                 wi_input_name(path), array->layout.dims, wi_plural(array->layout.dims));
    return WI_EXIT_FAILED;
}

/* The extents of a factor as it is multiplied. A file in Fortran order holds the transpose of what
 * it would hold in C order. */
static void take_factor(const wi_arguments *args, const wi_option *option, const wi_npy *array,
                        unsigned flag, unsigned *how, size_t *rows, size_t *cols) {
    const wi_npy_layout *const layout = &array->layout;
    const bool transposed = wi_given(args, option);
    *rows = layout->shape[transposed];
    *cols = layout->shape[!transposed];
    if (transposed != layout->fortran_order)
        *how |= flag;
}

static wi_exit load_factors(const wi_arguments *args, product *p) {
    const char *const a = args->operand[0], *const b = args->operand[1];
    size_t k;
    wi_exit result = load_matrix(args, a, NULL, &p->a);
    if (result == WI_EXIT_OK)
        result = load_matrix(args, b, NULL, &p->b);
    if (result != WI_EXIT_OK)
        return result;
    take_factor(args, &transpose_a_option, &p->a, WEFT_TRANSPOSE_A, &p->how, &p->m, &p->k);
    take_factor(args, &transpose_b_option, &p->b, WEFT_TRANSPOSE_B, &p->how, &k, &p->n);
    if (p->a.layout.type != p->b.layout.type)
        wi_say_error("gemm: %s is of %s, but %s of %s; give two matrices of one type",
                     wi_input_name(a), weft_type_name(p->a.layout.type), wi_input_name(b),
                     weft_type_name(p->b.layout.type));
    else if (p->k != k)
        wi_say_error("gemm: %s is %zu x %zu and %s is %zu x %zu as they are multiplied; the "
                     "columns of the first must be as many as the rows of the second",
                     wi_input_name(a), p->m, p->k, wi_input_name(b), k, p->n);
    else
        return WI_EXIT_OK;
    return WI_EXIT_FAILED;
}

/* The type of the result without --add: that of the factors, but i32 for i8. */
static weft_type usual_type(weft_type type) {
    return type == WEFT_I8 ? WEFT_I32 : type;
}

/* The matrix of --add. The result replaces it in memory, and has its type, which may be f32 where
 * the factors are f16. It is read as bf16 if the factors are: a .npy file does not say that it
 * holds bf16. */
static wi_exit load_added(const wi_arguments *args, product *p) {
    const char *const path = wi_value(args, &add_option);
    const bool is_bf16 = p->a.layout.type == WEFT_BF16;
    wi_note note = {""};
    weft_type type = WEFT_BF16;
    wi_exit result = load_matrix(args, path, is_bf16 ? &type : NULL, &p->c);
    if (result != WI_EXIT_OK)
        return result;
    if (p->c.layout.shape[0] != p->m || p->c.layout.shape[1] != p->n) {
        wi_say_error("gemm: %s is %zu x %zu, but the product is %zu x %zu", wi_input_name(path),
                     p->c.layout.shape[0], p->c.layout.shape[1], p->m, p->n);
        return WI_EXIT_FAILED;
    }
    if (wi_npy_to_c_order(&p->c, &note) != WEFT_OK) {
        wi_say_error("%s", note.text);
        return WI_EXIT_FAILED;
    }
    return WI_EXIT_OK;
}

/* Takes memory for these rows of the result. */
static wi_exit make_result(product *p, part rows) {
    wi_npy_layout *const layout = &p->c.layout;
    *layout =
        (wi_npy_layout){.type = usual_type(p->a.layout.type), .dims = 2, .shape = {p->m, p->n}};
    layout->opaque = layout->type == WEFT_BF16;
    size_t bytes;
    if (!__builtin_mul_overflow(rows.count, p->n, &layout->count) &&
        !__builtin_mul_overflow(layout->count, weft_type_size(layout->type), &bytes))
        p->c.data = wi_host_alloc(bytes);
    if (p->c.data)
        return WI_EXIT_OK;
    wi_say_error("gemm: no host memory for a product of %zu x %zu", rows.count, p->n);
    return WI_EXIT_FAILED;
}

/* Keeps these rows of the added matrix. */
static void keep_rows(product *p, part rows) {
    const size_t bytes = p->n * weft_type_size(p->c.layout.type);
    memmove(p->c.data, (const char *)p->c.data + rows.first * bytes, rows.count * bytes);
    p->c.layout.count = rows.count * p->n;
}

/* Over ranks each has a part of the rows of A and of C, and another of the rows of B. */
static part part_of(const weft_context *ctx, size_t whole) {
    part own;
    own.count = wi_npy_part_of(whole, weft_rank(ctx), weft_ranks(ctx), &own.first);
    return own;
}

static wi_exit load_result(const wi_arguments *args, const weft_context *ctx, product *p) {
    const part rows = part_of(ctx, p->m);
    if (!wi_given(args, &add_option))
        return make_result(p, rows);
    const wi_exit result = load_added(args, p);
    if (result == WI_EXIT_OK)
        keep_rows(p, rows);
    return result;
}

/* The leading dimension, as weft_gemm wants it: a file in Fortran order is passed as its transpose.
 */
static size_t ld_of(const wi_npy *array) {
    return array->layout.shape[!array->layout.fortran_order];
}

/* Row `first` of a factor as it is multiplied. */
static const char *row_of(const wi_npy *array, bool transposed, size_t first) {
    const size_t elements = transposed ? first : first * ld_of(array);
    return (const char *)array->data + elements * weft_type_size(array->layout.type);
}

static wi_exit compute(weft_context *ctx, product *p) {
    const part rows = part_of(ctx, p->m), deep = part_of(ctx, p->k);
    const char *const a = row_of(&p->a, p->how & WEFT_TRANSPOSE_A, rows.first);
    const char *const b = row_of(&p->b, p->how & WEFT_TRANSPOSE_B, deep.first);
    const weft_status status =
        weft_gemm(ctx, p->how, p->a.layout.type, p->c.layout.type, rows.count, p->n, deep.count,
                  p->alpha, a, ld_of(&p->a), b, ld_of(&p->b), p->beta, p->c.data, p->n);
    return status == WEFT_OK ? WI_EXIT_OK : wi_session_failed(ctx);
}

/* Every rank reads the matrices whole. */
static wi_exit load(const wi_arguments *args, const weft_context *ctx, product *p) {
    const char *const files[] = {args->operand[0], args->operand[1], wi_value(args, &add_option)};
    wi_exit result = WI_EXIT_OK;
    for (size_t k = 0; k < 3 && result == WI_EXIT_OK; k++)
        result = files[k] ? wi_check_shared(ctx, files[k]) : WI_EXIT_OK;
    if (result == WI_EXIT_OK)
        result = load_factors(args, p);
    return result == WI_EXIT_OK ? load_result(args, ctx, p) : result;
}

static wi_exit execute(const wi_arguments *args) {
    weft_context *ctx = NULL;
    product p = {.a = {.data = NULL}};
    wi_exit result = wi_need_output(args);
    if (result == WI_EXIT_OK)
        result = read_options(args, &p);
    if (result == WI_EXIT_OK)
        result = wi_session_open(args, "gemm", &ctx);
    if (result == WI_EXIT_OK)
        result = wi_agree_result(args, ctx, load(args, ctx, &p));
    if (result == WI_EXIT_OK)
        result = compute(ctx, &p);
    if (result == WI_EXIT_OK)
        result = wi_save_part(args, ctx, &wi_output_option, &p.c);
    if (result == WI_EXIT_OK)
        wi_print_saved(args, "gemm", "gemm", ctx, &p.c.layout);
    wi_npy_free(&p.a);
    wi_npy_free(&p.b);
    wi_npy_free(&p.c);
    weft_close(ctx);
    return result;
}

static const wi_option *const options[] = {&wi_output_option,
                                           &transpose_a_option,
                                           &transpose_b_option,
                                           &alpha_option,
                                           &add_option,
                                           &beta_option,
                                           &accuracy_option,
                                           &wi_place_option,
                                           &wi_variant_option,
                                           &wi_read_type_option,
                                           &wi_json_option,
                                           &wi_help_option,
                                           NULL};

const wi_command wi_gemm_command = {
    .name = "gemm",
    .operand_text = "A(.npy|.csv|.txt) B",
    .summary = "multiply two matrices",
    .details =
        "Writes alpha A B + beta C, where C is the file of --add. Matrices are of f64, f32, "
        "f16, bf16 or i8, A and B of one type; the result is of that type too, but of i32 "
        "for i8, and of f32 for f16 if C is. It is in C order. --accuracy tf32 "
        "lets f32 be cut to 11 significant bits, which GPUs multiply faster; strict "
        "asks for fused multiply-adds in f32 and nothing else. On place mpi every rank reads the "
        "files and computes its part of the rows. A file name of - is standard input or "
        "output.",
    .examples = {{"weft gemm a.npy b.npy -o c.npy", "C = A B"},
                 {"weft gemm x.npy x.npy --transpose-a -o gram.npy", "the products of columns"},
                 {"weft gemm a.npy b.npy --add c.npy --alpha -1 -o c.npy", "C = C - A B"},
                 {"mpirun -np 4 weft gemm a.npy b.npy -o c.npy --place mpi", "over four ranks"}},
    .options = options,
    .ladder = "gemm",
    .suffixes = "npy csv txt",
    .least_operands = 2,
    .most_operands = 2,
    .run = execute,
    .over_ranks = true,
};
