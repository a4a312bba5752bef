/* SPDX-License-Identifier: Apache-2.0 */
/* What links should carry by their specification, and whether what they carry is normal. */
#ifndef WI_NOMINAL_H
#define WI_NOMINAL_H

#include "cli/machine.h"

typedef struct wi_nominal {
    double bytes_per_s; /* one way; 0: not known */
    char name[48];      /* "NVLink 4, all links of the GPU" */
} wi_nominal;

/* Between two GPUs of this kind, one of which reaches the other's memory directly, and `measured`
 * bytes per second were seen, which tell NVLink from PCIe. */
wi_nominal wi_nominal_between(const wi_gpu_facts *gpu, double measured);

/* Between host memory and the GPU, by what the system says of its PCIe link. */
wi_nominal wi_nominal_to_host(const wi_gpu_facts *gpu, double measured);

/* The rate of a PCIe link: its speed as the system tells it, "32.0 GT/s PCIe", and its width. 0: no
 * speed is there. */
double wi_pcie_rate(const char *speed, int width);

/* "normal", "low" or "poor"; NULL if nothing is known. */
const char *wi_verdict(const wi_nominal *nominal, double measured);

#endif
