/* SPDX-License-Identifier: Apache-2.0 */
/* Copies within host memory. */
#include "climb/links.h"

#include <string.h>

#include "climb/meter.h"

enum {
    SAMPLES = 9
};

weft_status wi_link_of_host(size_t bytes, wi_link *link) {
    double samples[SAMPLES];
    unsigned char *const from = wi_host_alloc(bytes), *const to = wi_host_alloc(bytes);
    *link = (wi_link){.direct = true};
    if (!from || !to) {
        wi_host_free(from);
        wi_host_free(to);
        return WEFT_ENOMEM;
    }
    unsigned char last;
    volatile unsigned char *const used = &last;
    memset(from, 1, bytes);
    for (int k = -1; k < SAMPLES; k++) { /* the first touches the pages */
        from[0] = (unsigned char)(k + 2);
        const double begin = wi_now();
        memcpy(to, from, bytes);
        *used = to[bytes - 1]; /* or the copy could be left out */
        if (k >= 0)
            samples[k] = wi_now() - begin;
    }
    link->one_way = (double)bytes / wi_median(samples, SAMPLES);
    link->broken = memcmp(from, to, bytes) != 0 ? "host memory" : NULL;
    wi_host_free(from);
    wi_host_free(to);
    return WEFT_OK;
}
