/* SPDX-License-Identifier: Apache-2.0 */
/* What the subcommands that compute have in common: a place, a forced variant, files. */
#include "cli/session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/ops.h"
#include "cli/ranks.h"
#include "cli/table_file.h"
#include "cli/text.h"
#include "core/rows.h"
#include "weft/mpi.h"

static bool has_rungs(const char *op, wi_kind kind) {
    wi_words rungs = {.at = NULL};
    wi_list_rungs_of(op, kind, &rungs);
    const bool any = rungs.count > 0;
    wi_words_free(&rungs);
    return any;
}

static wi_exit force(const wi_arguments *args, const char *op, weft_context *ctx) {
    const char *const variant = wi_value(args, &wi_variant_option);
    wi_words rungs = {.at = NULL};
    if (!op || !variant || weft_use(ctx, op, variant) == WEFT_OK)
        return WI_EXIT_OK;
    wi_list_rungs_of(op, ctx->kind, &rungs);
    const char *const nearest = wi_nearest(variant, &rungs);
    wi_words_free(&rungs);
    return wi_usage(args->command, "option --variant: %s%s%s%s", weft_message(ctx),
                    nearest ? "; did you mean \"" : "", nearest ? nearest : "",
                    nearest ? "\"?" : "");
}

/* Checks that the place has rungs of the ladder `op`, and forces --variant. */
static wi_exit fit(const wi_arguments *args, const char *op, weft_context *ctx) {
    if (!op || has_rungs(op, ctx->kind))
        return force(args, op, ctx);
    wi_say_error("%s: place %s has no rungs of %s; choose a place of another kind with --place",
                 args->command->name, weft_place(ctx), op);
    return WI_EXIT_FAILED;
}

/* Says why no place was opened. A message of weft_open about its argument becomes one about
 * --place; a message about an environment variable names that variable, and stays as it is. */
static wi_exit refuse_place(const wi_arguments *args, weft_status status, const char *message) {
    static const char call[] = "weft_open: ";
    const char *option = "";
    if (wi_given(args, &wi_place_option) && strncmp(message, call, strlen(call)) == 0) {
        option = "option --place: ";
        message += strlen(call);
    }
    if (status == WEFT_EARG)
        return wi_usage(args->command, "%s%s", option, message);
    wi_say_error("%s: %s%s", args->command->name, option, message);
    return WI_EXIT_FAILED;
}

/* Does this build support GPUs, but have no rungs of `op` for them? */
static bool is_cpu_only(const char *op) {
    bool any = false;
    for (size_t k = 0; k < wi_op_count; k++)
        any = any || has_rungs(wi_ops[k]->op, WI_CUDA);
    return any && !has_rungs(op, WI_CUDA);
}

/* The place to open if no option names one: NULL, which means WEFT_PLACE or the best place; but the
 * cpu if that could be a GPU and the operation has rungs for the cpu only. */
static const char *usual_place(const char *op) {
    const char *const wish = getenv("WEFT_PLACE");
    const bool maybe_gpu = !wish || !*wish || strncmp(wish, "gpu", strlen("gpu")) == 0;
    return op && maybe_gpu && is_cpu_only(op) ? "cpu" : NULL;
}

static wi_exit only_one_rank(const wi_arguments *args, const weft_context *ctx) {
    if (weft_rank(ctx) == 0)
        wi_say_error("%s: it does not work over ranks, as place %s does; choose place cpu or gpu, "
                     "and start it without mpirun",
                     args->command->name, weft_place(ctx));
    return WI_EXIT_FAILED;
}

wi_exit wi_session_open(const wi_arguments *args, const char *op, weft_context **ctx) {
    const char *const place = wi_value(args, &wi_place_option);
    const weft_status status = weft_open(ctx, place ? place : usual_place(op));
    if (status != WEFT_OK)
        return refuse_place(args, status, weft_message(NULL));
    const wi_exit result = weft_ranks(*ctx) > 1 && !args->command->over_ranks
                               ? only_one_rank(args, *ctx)
                               : fit(args, op, *ctx);
    if (result != WI_EXIT_OK) {
        weft_close(*ctx);
        *ctx = NULL;
    }
    return result;
}

wi_exit wi_session_failed(const weft_context *ctx) {
    if (weft_ranks(ctx) > 1)
        wi_say_error("rank %d: %s", weft_rank(ctx), weft_message(ctx));
    else
        wi_say_error("%s", weft_message(ctx));
    return WI_EXIT_FAILED;
}

wi_exit wi_open_input(const wi_arguments *args, const char *path, const char *kind, FILE **file) {
    *file = wi_is_standard(path) ? stdin : NULL;
    if (*file && isatty(STDIN_FILENO))
        return wi_usage(args->command,
                        "- means standard input, which is a terminal; send a %s there, or name one",
                        kind);
    if (!*file)
        *file = fopen(path, "rb");
    if (*file)
        return WI_EXIT_OK;
    wi_say_error("%s: %s: opening failed: %s", args->command->name, path, strerror(errno));
    return WI_EXIT_FAILED;
}

void wi_close_input(FILE *file) {
    if (file != stdin)
        fclose(file);
}

wi_exit wi_load_any_columns(const wi_arguments *args, const char *path, const char *columns,
                            const weft_type *type, wi_npy *array) {
    wi_note note = {""};
    FILE *file;
    *array = (wi_npy){.data = NULL};
    const wi_exit result = wi_open_input(args, path, ".npy file", &file);
    if (result != WI_EXIT_OK)
        return result;
    const char *const name = wi_input_name(path);
    const bool text = wi_holds_table(path, file);
    weft_status status =
        text ? wi_table_load(file, name, columns, type, args->command->unrounded, array, &note)
             : wi_npy_read(file, name, type, array, &note);
    if (status == WEFT_OK && columns && !text)
        status = wi_columns_choose(columns, name, array, &note);
    wi_close_input(file);
    if (status == WEFT_OK)
        return WI_EXIT_OK;
    wi_npy_free(array);
    wi_say_error("%s", note.text);
    return WI_EXIT_FAILED;
}

wi_exit wi_load_any(const wi_arguments *args, const char *path, const weft_type *type,
                    wi_npy *array) {
    return wi_load_any_columns(args, path, wi_value(args, &wi_columns_option), type, array);
}

wi_exit wi_load(const wi_arguments *args, const char *path, wi_npy *array) {
    return wi_load_any(args, path, wi_given(args, &wi_type_option) ? &args->type : NULL, array);
}

/* How a command that takes one column does for whole rows what it does for elements. */
static const char *for_rows(const wi_command *command) {
    static const struct {
        const char *name, *remedy;
    } remedies[] = {
        {"sort", "; for whole rows: weft sort FILE --by NAME -o OUT.csv"},
        {"topk",
         "; for whole rows: weft topk FILE -c NAME -i -o - | weft gather FILE - -o OUT.csv"},
        {"select",
         "; for whole rows: weft select FILE -c NAME -w TEST -i -o - | weft gather FILE - "
         "-o OUT.csv"},
        {"unique", "; for whole rows: weft group FILE --by NAME,NAME --op count"}};
    for (size_t k = 0; k < sizeof remedies / sizeof *remedies; k++)
        if (strcmp(command->name, remedies[k].name) == 0)
            return remedies[k].remedy;
    return "";
}

wi_exit wi_need_one_column(const wi_arguments *args, const weft_context *ctx, const wi_npy *array) {
    const wi_npy_layout *const l = &array->layout;
    if (!array->is_text || l->dims < 2)
        return WI_EXIT_OK;
    if (weft_rank(ctx) > 0)
        return WI_EXIT_USAGE;
    return wi_usage(args->command,
                    "%s: %zu columns of a table would be mixed; choose one with --columns%s",
                    wi_input_name(args->operand[0]), l->shape[1], for_rows(args->command));
}

enum {
    EXTENT_BYTES = 24, /* of ", " and a size_t */
    SHAPE_BYTES = 128
};

/* A shape as "(3, 4)", cut off if it is very long. */
static const char *shape_text(const wi_npy_layout *layout, char out[SHAPE_BYTES]) {
    size_t used = 1;
    out[0] = '(';
    out[1] = '\0';
    for (size_t k = 0; k < layout->dims && used + EXTENT_BYTES < SHAPE_BYTES; k++)
        used += (size_t)snprintf(out + used, SHAPE_BYTES - used, "%s%zu", k ? ", " : "",
                                 layout->shape[k]);
    snprintf(out + used, SHAPE_BYTES - used, ")");
    return out;
}

wi_exit wi_check_alike(const wi_arguments *args, const wi_npy_layout *a, const wi_npy_layout *b) {
    char shape_a[SHAPE_BYTES], shape_b[SHAPE_BYTES];
    if (a->type == b->type && a->dims == b->dims &&
        memcmp(a->shape, b->shape, a->dims * sizeof *a->shape) == 0)
        return WI_EXIT_OK;
    wi_say_error("%s: %s holds %s of shape %s, but %s holds %s of shape %s; save them alike",
                 args->command->name, args->operand[0], weft_type_name(a->type),
                 shape_text(a, shape_a), args->operand[1], weft_type_name(b->type),
                 shape_text(b, shape_b));
    return WI_EXIT_FAILED;
}

/* Does the name say that the file is something else than an array? */
static bool names_other_kind(const char *path) {
    static const char *const kinds[] = {".png", ".pgm", ".ppm", ".jpg", ".jpeg", ".svg", ".mtx"};
    bool any = false;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        any = any || wi_ends_in(path, kinds[k]);
    return any;
}

wi_exit wi_check_array_output(const wi_arguments *args, const wi_option *option) {
    const char *const path = wi_value(args, option), *const name = option->name;
    if (path && wi_is_standard(path) && !wi_is_table_name(path) && isatty(STDOUT_FILENO))
        return wi_usage(args->command,
                        "option --%s: standard output is a terminal, and .npy is not text; add "
                        ">OUT.npy, or write -.csv for text",
                        name);
    if (path && wi_is_standard(path) && wi_given(args, &wi_json_option))
        return wi_usage(args->command,
                        "option --json: standard output takes the array already; name a file with "
                        "--%s",
                        name);
    if (path && !args->command->writes_images && names_other_kind(path))
        return wi_usage(args->command,
                        "option --%s: an array is written, and %s is named like something else; "
                        "end it in .npy, .csv or .txt",
                        name, path);
    return wi_check_writable(args, option);
}

wi_exit wi_need_output(const wi_arguments *args) {
    if (!wi_given(args, &wi_output_option))
        return wi_usage(args->command,
                        "option --output is missing; add -o OUT.npy, or for standard "
                        "output -o -, as text -o -.csv");
    return wi_check_array_output(args, &wi_output_option);
}

void wi_print_saved(const wi_arguments *args, const char *op, const char *ladder,
                    const weft_context *ctx, const wi_npy_layout *layout) {
    wi_json json;
    if (!wi_given(args, &wi_json_option) || weft_rank(ctx) > 0)
        return;
    wi_json_open(&json);
    wi_json_string(&json, "op", op);
    wi_json_string(&json, "variant", weft_used(ctx, ladder));
    wi_json_string(&json, "place", weft_place(ctx));
    wi_json_ranks(&json, ctx);
    wi_json_string(&json, "file", args->operand[0]);
    wi_json_string(&json, "type", weft_type_name(layout->type));
    wi_json_count(&json, "n", wi_npy_whole(layout));
    wi_json_string(&json, "output", wi_value(args, &wi_output_option));
    wi_json_close(&json);
}

wi_exit wi_save_titled(const wi_arguments *args, const wi_option *option, const char *titles,
                       const wi_npy *array) {
    wi_output output;
    wi_note note = {""};
    const char *const path = wi_value(args, option);
    const wi_exit result = wi_output_open(path, &output);
    if (result != WI_EXIT_OK)
        return result;
    const bool text = wi_is_table_name(path);
    const bool written = (text ? wi_table_save(output.file, path, titles, array, &note)
                               : wi_npy_write(output.file, output.name, array, &note)) == WEFT_OK;
    if (!written)
        wi_say_error("%s", note.text);
    return wi_output_end(&output, written);
}

wi_exit wi_save(const wi_arguments *args, const wi_option *option, const wi_npy *array) {
    const wi_npy_layout *const l = &array->layout;
    const size_t columns = l->dims == 2 ? l->shape[1] : 1;
    const bool fits = array->titles && !l->pairs && wi_titles_count(array->titles) == columns;
    return wi_save_titled(args, option, fits ? array->titles : NULL, array);
}

wi_exit wi_chosen_op(const wi_arguments *args, const wi_option *option, const wi_op_name **op) {
    const char *const given = wi_value(args, option), *const name = given ? given : "sum";
    wi_words words = {.at = NULL};
    option->list(args->command, &words);
    const bool known = wi_words_have(&words, name);
    wi_words_free(&words);
    if (!known)
        return wi_usage_word(args->command, "operation", name, option->list);
    *op = wi_find_op(name);
    return WI_EXIT_OK;
}
