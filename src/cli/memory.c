/* SPDX-License-Identifier: Apache-2.0 */
/* How much memory this process uses, and how much it will use. */
#include "cli/memory.h"

#include <malloc.h>
#include <stdio.h>
#include <sys/resource.h>
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

size_t wi_most_resident_bytes(void) {
    struct rusage usage;
    char line[256];
    unsigned long kib = 0;
    FILE *const file = fopen("/proc/self/status", "r");
    while (file && kib == 0 && fgets(line, sizeof line, file)) {
        if (sscanf(line, "VmHWM: %lu", &kib) != 1)
            kib = 0;
    }
    if (file)
        fclose(file);
    getrusage(RUSAGE_SELF, &usage);
    return (kib > 0 ? kib : (size_t)usage.ru_maxrss) * 1024;
}

size_t wi_predicted_bytes(const weft_chol_report *report, size_t resident, size_t more) {
    const size_t beside = resident > report->analysis_bytes ? resident - report->analysis_bytes : 0;
    return beside + report->bytes_needed + more;
}
