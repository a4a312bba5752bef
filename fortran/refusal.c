/* SPDX-License-Identifier: Apache-2.0 */
/* What module weft itself refused, for weft_message, one text for each thread: Fortran has no
 * variables of a thread. */
#include <stdio.h>

void weft_fortran_set_refusal(const char *text);
const char *weft_fortran_refusal(void);

static _Thread_local char refusal[256];

void weft_fortran_set_refusal(const char *text) {
    snprintf(refusal, sizeof refusal, "%s", text);
}

const char *weft_fortran_refusal(void) {
    return refusal;
}
