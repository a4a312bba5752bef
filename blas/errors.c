/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong arguments. The reference library prints and stops the program (Fortran) or prints and ends
 * it (C); testers and programs bring functions of their own with these names, which the dynamic
 * linker then takes instead. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blas.h"

WB_EXPORT __attribute__((weak)) void xerbla_(const char *name, const int *info, size_t length) {
    fprintf(stderr, " ** On entry to %.*s parameter number %2d had an illegal value\n",
            (int)strnlen(name, length), name, *info);
    exit(EXIT_FAILURE);
}

/* Arguments that a call by rows hands on in each other's places, as it is the transposed one by
 * columns. Its errors are told in the order of those columns, as the reference's are; cblas_xerbla,
 * which may be the program's own, turns them back where RowMajorStrg says so. */
static const struct {
    const char *in_name;
    int one, other;
} exchanged[] = {
    {"gemm", 4, 5}, {"gemm", 9, 11}, {"symm", 4, 5}, {"trmm", 6, 7}, {"trsm", 6, 7},
    {"gemv", 3, 4}, {"gbmv", 3, 4},  {"gbmv", 5, 6}, {"ger", 2, 3},  {"ger", 6, 8},
};

WB_EXPORT __attribute__((weak)) int RowMajorStrg;

/* The position of an argument in C's order. */
static int by_rows(int position, const char *name) {
    for (size_t k = 0; k < sizeof exchanged / sizeof *exchanged; k++) {
        const int one = exchanged[k].one, other = exchanged[k].other;
        if (strstr(name, exchanged[k].in_name) && (position == one || position == other))
            return one + other - position;
    }
    return position;
}

WB_EXPORT __attribute__((weak)) void cblas_xerbla(int position, const char *name,
                                                  const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    if (position)
        fprintf(stderr, "Parameter %d to routine %s was incorrect\n",
                RowMajorStrg ? by_rows(position, name) : position, name);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    exit(EXIT_FAILURE);
}

void wb_wrong(wb_caller who, int info) {
    RowMajorStrg = who.layout == WB_ROW_MAJOR;
    if (who.layout)
        cblas_xerbla(info + 1, who.name, "");
    else
        xerbla_(who.name, &info, strlen(who.name));
}

void wb_wrong_layout(const char *name, int layout) {
    RowMajorStrg = 0;
    cblas_xerbla(1, name, "Illegal layout setting, %d\n", layout);
}

void wb_wrong_option(const char *name, int position, const char *which, int value) {
    RowMajorStrg = 0; /* these come in the order of C's arguments */
    cblas_xerbla(position, name, "Illegal %s setting, %d\n", which, value);
}
