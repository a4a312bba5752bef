/* SPDX-License-Identifier: Apache-2.0 */
/* Nominal rates of links. */
#include "cli/nominal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The least share of its nominal rate that a sound link reaches, headers of packets taking the
 * rest; and the least that is called low, not poor. */
static const double normal = 0.78, low = 0.55;
/* A measured rate may exceed the nominal one by this factor; beyond it the nominal rate is that of
 * another link. */
static const double tolerance = 1.02;

enum {
    LINE_BYTES = 64
};

/* NVLink, in bytes per second one way, of the GPUs that have it. */
typedef struct generation {
    int major, minor; /* compute capability */
    double bytes_per_s;
    const char *name;
} generation;

static const generation generations[] = {
    {7, 0, 150e9, "NVLink 2"},  {8, 0, 300e9, "NVLink 3"},  {9, 0, 450e9, "NVLink 4"},
    {10, 0, 900e9, "NVLink 5"}, {10, 3, 900e9, "NVLink 5"},
};

double wi_pcie_rate(const char *speed, int width) {
    const double transfers = strtod(speed, NULL);
    const double payload = transfers < 8 ? 8.0 / 10 : 128.0 / 130; /* data bits per bit sent */
    return transfers > 0 && width > 0 ? transfers * 1e9 / 8 * payload * width : 0;
}

/* Reads the first line of a file in which Linux describes a PCIe device. */
static bool read_fact(const char *bus, const char *fact, char line[LINE_BYTES]) {
    char path[160];
    snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/%s", bus, fact);
    FILE *const f = fopen(path, "r");
    const bool read = f && fgets(line, LINE_BYTES, f);
    if (f)
        fclose(f);
    return read;
}

static wi_nominal pcie_of(const wi_gpu_facts *gpu) {
    char speed[LINE_BYTES], width[LINE_BYTES];
    wi_nominal nominal = {0};
    if (!*gpu->bus || !read_fact(gpu->bus, "max_link_speed", speed) ||
        !read_fact(gpu->bus, "max_link_width", width))
        return nominal;
    nominal.bytes_per_s = wi_pcie_rate(speed, atoi(width));
    snprintf(nominal.name, sizeof nominal.name, "PCIe, %.0f GT/s on %d lanes", strtod(speed, NULL),
             atoi(width));
    return nominal;
}

/* Drops a nominal rate that is too low to be that of the link measured. */
static wi_nominal believed(wi_nominal nominal, double measured) {
    if (measured > tolerance * nominal.bytes_per_s)
        nominal.bytes_per_s = 0;
    return nominal;
}

wi_nominal wi_nominal_to_host(const wi_gpu_facts *gpu, double measured) {
    return believed(pcie_of(gpu), measured);
}

wi_nominal wi_nominal_between(const wi_gpu_facts *gpu, double measured) {
    const wi_nominal pcie = believed(pcie_of(gpu), measured);
    wi_nominal nominal = {0};
    for (size_t k = 0; k < sizeof generations / sizeof *generations; k++) {
        const generation *const g = &generations[k];
        if (g->major != gpu->capability_major || g->minor != gpu->capability_minor)
            continue;
        nominal.bytes_per_s = g->bytes_per_s;
        snprintf(nominal.name, sizeof nominal.name, "%s, all links of a GPU", g->name);
    }
    return pcie.bytes_per_s > 0 || nominal.bytes_per_s == 0 ? pcie : believed(nominal, measured);
}

const char *wi_verdict(const wi_nominal *nominal, double measured) {
    if (!(nominal->bytes_per_s > 0))
        return NULL;
    const double share = measured / nominal->bytes_per_s;
    return share >= normal ? "normal" : share >= low ? "low" : "poor";
}
