/* SPDX-License-Identifier: Apache-2.0 */
/* What the subcommands on sparse matrices have in common. */
#include "cli/matrix.h"

#include <string.h>
#include <unistd.h>

#include "sparse/sparse.h"

wi_exit wi_check_ordering(const wi_arguments *args) {
    const char *const ordering = args->value[WI_OPT_ORDERING], *list[WI_MAX_WORDS];
    const size_t count = wi_list_words(WI_WORDS_ORDERING, list);
    for (size_t k = 0; k < count; k++) {
        if (!ordering || strcmp(ordering, list[k]) == 0)
            return WI_EXIT_OK;
    }
    return wi_usage_word(args->command, "ordering", ordering, WI_WORDS_ORDERING);
}

wi_exit wi_load_matrix(const wi_arguments *args, weft_context *ctx, weft_sparse **matrix) {
    const char *const path = args->operand[0];
    const bool standard = strcmp(path, "-") == 0;
    if (standard && isatty(STDIN_FILENO))
        return wi_usage(args->command, "- means standard input, which is a terminal; send a "
                                       "Matrix Market file there, or name one");
    const weft_status status =
        standard ? wi_sparse_read(ctx, args->command->name, stdin, "standard input", matrix)
                 : weft_sparse_read(ctx, matrix, path);
    return status == WEFT_OK ? WI_EXIT_OK : wi_session_failed(ctx);
}
