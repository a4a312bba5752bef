/* SPDX-License-Identifier: Apache-2.0 */
/* The options that several subcommands take, and the words that may follow them. */
#include "cli/options.h"

#include <string.h>

/* The places that this build has and the command works on. */
static void list_places(const wi_command *command, wi_words *words) {
    wi_words_add(words, "cpu");
#ifdef WEFT_CUDA
    wi_words_add(words, "gpu");
    wi_words_add(words, "gpus");
#endif
    if (!command || command->over_ranks)
        wi_words_add(words, "mpi");
}

void wi_list_types(const wi_command *command, wi_words *words) {
    (void)command;
    for (int type = 0; type < WEFT_TYPE_COUNT; type++)
        wi_words_add(words, weft_type_name((weft_type)type));
}

static const wi_ladder *find_ladder(const char *op) {
    for (size_t k = 0; k < wi_op_count; k++) {
        if (strcmp(wi_ops[k]->op, op) == 0)
            return wi_ops[k];
    }
    return NULL;
}

void wi_list_rungs(const char *op, wi_words *words) {
    wi_list_rungs_of(op, WI_CPU, words);
    wi_list_rungs_of(op, WI_CUDA, words);
}

void wi_list_rungs_of(const char *op, wi_kind kind, wi_words *words) {
    const wi_ladder *const ladder = find_ladder(op);
    for (size_t row = 0; ladder && row < ladder->count; row++) {
        if (ladder->rows[row].kinds >> kind & 1)
            wi_words_add(words, ladder->rows[row].name);
    }
}

/* Lists the rungs of the command's ladder, or of all ladders if it has none. */
static void list_variants(const wi_command *command, wi_words *words) {
    for (size_t k = 0; k < wi_op_count; k++) {
        if (!command || !command->ladder || strcmp(command->ladder, wi_ops[k]->op) == 0)
            wi_list_rungs(wi_ops[k]->op, words);
    }
}

const wi_option wi_place_option = {.name = "place",
                                   .letter = 'p',
                                   .value = "PLACE",
                                   .help =
                                       "cpu, cpu:4 (threads), gpu, gpu:1, gpus, mpi; or the best",
                                   .list = list_places};
const wi_option wi_variant_option = {.name = "variant",
                                     .letter = 'v',
                                     .value = "NAME",
                                     .help = "run this rung of the ladder and no other",
                                     .list = list_variants,
                                     .heading = "Variants"};
const wi_option wi_type_option = {.name = "type",
                                  .letter = 't',
                                  .value = "TYPE",
                                  .help = "i8 ... i64, u8 ... u64, f16, bf16, f32 or f64",
                                  .list = wi_list_types};
const wi_option wi_read_type_option = {
    .name = "type",
    .letter = 't',
    .value = "TYPE",
    .help = "read a table as i8 ... i64, u8 ... u64, f16, bf16, f32 or f64 (if not given); a .npy "
            "file must be of it",
    .list = wi_list_types};
const wi_option wi_n_option = {.name = "n",
                               .letter = 'n',
                               .value = "COUNT",
                               .help = "how many elements: 1000, 1e6, 2^28, 64Ki, 64Mi"};
const wi_option wi_seed_option = {.name = "seed",
                                  .letter = 's',
                                  .value = "NUMBER",
                                  .help = "seed of the random input; default 1"};
const wi_option wi_json_option = {
    .name = "json", .letter = 'j', .help = "print JSON, one object on each line"};
const wi_option wi_help_option = {.name = "help", .letter = 'h', .help = "explain the command"};
const wi_option wi_output_option = {.name = "output",
                                    .letter = 'o',
                                    .value = "FILE",
                                    .help = "where the result goes; - is standard output",
                                    .file = WI_FILE_WRITTEN};
const wi_option wi_columns_option = {
    .name = "columns",
    .letter = 'c',
    .value = "LIST",
    .help = "only these columns, in this order: names, or numbers from 1, separated by commas"};
const wi_option wi_types_option = {
    .name = "types",
    .value = "LIST",
    .help = "the types of a table's columns: one for all, or of some, as id=u64,2=f32"};
const wi_option wi_indices_option = {
    .name = "indices", .letter = 'i', .help = "write the elements' positions, not their values"};
const wi_option wi_trace_option = {.name = "trace",
                                   .value = "FILE",
                                   .help = "write a timeline (JSON), for ui.perfetto.dev",
                                   .file = WI_FILE_WRITTEN};
