/* SPDX-License-Identifier: Apache-2.0 */
/* The names that --op takes. */
#include "cli/ops.h"

#include <string.h>

static const wi_op_name names[] = {
    {"sum", WEFT_SUM, true, true, false},        {"product", WEFT_PRODUCT, true, true, false},
    {"min", WEFT_MIN, true, true, false},        {"max", WEFT_MAX, true, true, false},
    {"and", WEFT_AND, false, true, false},       {"or", WEFT_OR, false, true, false},
    {"xor", WEFT_XOR, false, true, false},       {"argmin", WEFT_ARGMIN, true, false, false},
    {"argmax", WEFT_ARGMAX, true, false, false}, {"nrm1", WEFT_NRM1, true, false, false},
    {"nrm2", WEFT_NRM2, true, false, false},     {"nrminf", WEFT_NRMINF, true, false, false},
    {"dot", WEFT_SUM, true, false, true},
};

enum {
    NAMES = sizeof names / sizeof *names
};

void wi_list_reductions(const wi_command *command, wi_words *words) {
    (void)command;
    for (size_t k = 0; k < NAMES; k++) {
        if (names[k].reduces)
            wi_words_add(words, names[k].name);
    }
}

void wi_list_scans(const wi_command *command, wi_words *words) {
    (void)command;
    for (size_t k = 0; k < NAMES; k++) {
        if (names[k].scans)
            wi_words_add(words, names[k].name);
    }
}

const wi_op_name *wi_find_op(const char *name) {
    for (size_t k = 0; k < NAMES; k++) {
        if (strcmp(names[k].name, name) == 0)
            return &names[k];
    }
    return NULL;
}
