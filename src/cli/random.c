/* SPDX-License-Identifier: Apache-2.0 */
/* `weft random`: an array of random numbers. */
#include "weft/random.h"

#include <string.h>

#include "cli/ranks.h"
#include "cli/session.h"
#include "cli/text.h"

static const wi_option offset_option = {
    .name = "offset", .value = "NUMBER", .help = "where in the sequence to begin; default 0"};
static const wi_option low_option = {
    .name = "low", .value = "VALUE", .help = "the least of integers; default 0"};
static const wi_option high_option = {
    .name = "high", .value = "VALUE", .help = "the greatest of integers; default 99"};

typedef struct order order;

struct order {
    weft_type type;
    size_t n;
    uint64_t seed, offset, low, high; /* low and high are elements */
    void *x;
};

static weft_status make_bits(weft_context *ctx, const order *o) {
    return weft_random_bits(ctx, o->type, o->n, o->seed, o->offset, o->x);
}
static weft_status make_integers(weft_context *ctx, const order *o) {
    return weft_random_integers(ctx, o->type, o->n, &o->low, &o->high, o->seed, o->offset, o->x);
}
static weft_status make_uniform(weft_context *ctx, const order *o) {
    return weft_random_uniform(ctx, o->type, o->n, o->seed, o->offset, o->x);
}
static weft_status make_normal(weft_context *ctx, const order *o) {
    return weft_random_normal(ctx, o->type, o->n, o->seed, o->offset, o->x);
}
static weft_status make_permutation(weft_context *ctx, const order *o) {
    return weft_random_permutation(ctx, o->type, o->n, o->seed, o->x);
}

static const struct kind {
    const char *name;
    weft_type type; /* if the user names none */
    weft_status (*make)(weft_context *ctx, const order *o);
    bool has_range, has_offset;
} kinds[] = {
    {"bits", WEFT_U32, make_bits, false, true},
    {"integers", WEFT_I32, make_integers, true, true},
    {"uniform", WEFT_F64, make_uniform, false, true},
    {"normal", WEFT_F64, make_normal, false, true},
    {"permutation", WEFT_U32, make_permutation, false, false},
};
enum {
    KINDS = sizeof kinds / sizeof *kinds
};

static void list_kinds(const wi_command *command, wi_words *words) {
    (void)command;
    for (int k = 0; k < KINDS; k++)
        wi_words_add(words, kinds[k].name);
}

/* Reads an end of the range as an element; `usual` if it is not given. */
static wi_exit read_end(const wi_arguments *args, const wi_option *option, weft_type type,
                        const char *usual, uint64_t *element) {
    const char *const given = wi_value(args, option), *const text = given ? given : usual;
    char why[WI_REASON_BYTES];
    if (wi_read_element(type, text, element))
        return WI_EXIT_OK;
    wi_explain_element(type, text, why);
    return wi_usage(args->command, "option --%s: %s", option->name, why);
}

static wi_exit read_order(const wi_arguments *args, const struct kind *kind, order *o) {
    const char *const offset = wi_value(args, &offset_option);
    *o = (order){.type = wi_given(args, &wi_type_option) ? args->type : kind->type,
                 .n = args->n,
                 .seed = args->seed};
    if (!wi_given(args, &wi_n_option))
        return wi_usage(args->command, "option --n is missing; add -n 1e6");
    if (!kind->has_range && (wi_given(args, &low_option) || wi_given(args, &high_option)))
        return wi_usage(args->command, "option --%s: only integers have a range; leave it out",
                        wi_given(args, &low_option) ? "low" : "high");
    if (!kind->has_offset && offset)
        return wi_usage(args->command, "option --offset: a permutation has none; leave it out");
    if (offset && !wi_read_u64(offset, &o->offset))
        return wi_usage(args->command, "option --offset: \"%s\" is not a number", offset);
    if (!kind->has_range)
        return WI_EXIT_OK;
    const wi_exit result = read_end(args, &low_option, o->type, "0", &o->low);
    return result == WI_EXIT_OK ? read_end(args, &high_option, o->type, "99", &o->high) : result;
}

/* Makes the numbers, over ranks this rank's part of them. */
static wi_exit compute(const wi_arguments *args, weft_context *ctx, const struct kind *kind,
                       order *o, wi_npy *array) {
    size_t first;
    const size_t own = wi_npy_part_of(o->n, weft_rank(ctx), weft_ranks(ctx), &first);
    wi_exit result = WI_EXIT_OK;
    array->layout = (wi_npy_layout){.type = o->type, .dims = 1, .shape = {o->n}, .count = own};
    array->data = wi_host_alloc(own * weft_type_size(o->type));
    o->n = own;
    o->x = array->data;
    if (!o->x && own > 0) {
        wi_say_error("no memory for %zu elements; ask for fewer", own);
        result = WI_EXIT_FAILED;
    }
    result = wi_agree_result(args, ctx, result);
    if (result != WI_EXIT_OK)
        return result;
    return kind->make(ctx, o) == WEFT_OK ? WI_EXIT_OK : wi_session_failed(ctx);
}

static wi_exit execute(const wi_arguments *args) {
    const struct kind *kind = kinds;
    weft_context *ctx = NULL;
    wi_npy array = {.data = NULL};
    order o;
    while (kind < kinds + KINDS && strcmp(kind->name, args->operand[0]) != 0)
        kind++;
    if (kind == kinds + KINDS)
        return wi_usage_word(args->command, "kind", args->operand[0], list_kinds);
    wi_exit result = wi_need_output(args);
    if (result == WI_EXIT_OK)
        result = read_order(args, kind, &o);
    if (result == WI_EXIT_OK)
        result = wi_session_open(args, "random", &ctx);
    if (result == WI_EXIT_OK)
        result = compute(args, ctx, kind, &o, &array);
    if (result == WI_EXIT_OK)
        result = wi_save_part(args, ctx, &wi_output_option, &array);
    if (result == WI_EXIT_OK)
        wi_print_saved(args, kind->name, "random", ctx, &array.layout);
    wi_npy_free(&array);
    weft_close(ctx);
    return result;
}

static const wi_option *const options[] = {&wi_output_option, &wi_n_option,       &wi_seed_option,
                                           &offset_option,    &low_option,        &high_option,
                                           &wi_place_option,  &wi_variant_option, &wi_type_option,
                                           &wi_json_option,   &wi_help_option,    NULL};

const wi_command wi_random_command = {
    .name = "random",
    .operand_text = "KIND",
    .summary = "write an array of random numbers",
    .details = "Writes N random numbers, the same ones on every place for one seed. bits: integers "
               "whose every bit is random. integers: from --low to --high, both included, all "
               "equally likely. uniform: floats from 0 to below 1. normal: mean 0, variance 1. "
               "permutation: 0 ... N - 1 in random order. --offset goes on where another array "
               "has ended.",
    .examples = {{"weft random normal -n 1e6 -o x.npy", "f64, seed 1"},
                 {"weft random integers -n 100 --low 1 --high 6 -o dice.npy", "a hundred throws"},
                 {"weft random bits -t u64 -n 2^20 --seed 7 -o - | weft sort - -o sorted.npy",
                  "in a pipe"}},
    .options = options,
    .list_operands = list_kinds,
    .operand_heading = "KIND",
    .ladder = "random",
    .over_ranks = true,
    .least_operands = 1,
    .most_operands = 1,
    .run = execute,
};
