/* SPDX-License-Identifier: Apache-2.0 */
/* How much memory this process uses, and how much it will use. */
#include "cli/memory.h"

#include <malloc.h>
#include <stdio.h>
#include <unistd.h>

size_t wi_resident_bytes(void) {
    unsigned long pages = 0, resident = 0;
#ifdef __GLIBC__
    malloc_trim(0);
#endif
    FILE *const file = fopen("/proc/self/statm", "r");
    if (!file)
        return 0;
    const int found = fscanf(file, "%lu %lu", &pages, &resident);
    fclose(file);
    return found == 2 ? resident * (size_t)sysconf(_SC_PAGESIZE) : 0;
}

size_t wi_predicted_bytes(const weft_chol_report *report, size_t resident, size_t more) {
    const size_t beside = resident > report->analysis_bytes ? resident - report->analysis_bytes : 0;
    return beside + report->bytes_needed + more;
}
