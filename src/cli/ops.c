/* SPDX-License-Identifier: Apache-2.0 */
/* The names that --op takes. */
#include "cli/ops.h"

#include <string.h>

const wi_op_name wi_op_names[] = {
    {"sum", WEFT_SUM, true, true, false},        {"product", WEFT_PRODUCT, true, true, false},
    {"min", WEFT_MIN, true, true, false},        {"max", WEFT_MAX, true, true, false},
    {"and", WEFT_AND, false, true, false},       {"or", WEFT_OR, false, true, false},
    {"xor", WEFT_XOR, false, true, false},       {"argmin", WEFT_ARGMIN, true, false, false},
    {"argmax", WEFT_ARGMAX, true, false, false}, {"nrm1", WEFT_NRM1, true, false, false},
    {"nrm2", WEFT_NRM2, true, false, false},     {"nrminf", WEFT_NRMINF, true, false, false},
    {"dot", WEFT_SUM, true, false, true},
};

const size_t wi_op_name_count = sizeof wi_op_names / sizeof *wi_op_names;

const wi_op_name *wi_find_op(const char *name) {
    for (size_t k = 0; k < wi_op_name_count; k++) {
        if (strcmp(wi_op_names[k].name, name) == 0)
            return &wi_op_names[k];
    }
    return NULL;
}
