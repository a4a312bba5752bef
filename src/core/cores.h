/* SPDX-License-Identifier: Apache-2.0 */
/* How many threads a process should use, as those say who started it. */
#ifndef WI_CORES_H
#define WI_CORES_H

/* Cores that the calling thread may run on, by its affinity; at least 1. */
int wi_cores_allowed(void);

/* Cores' worth of time that the process may use by the quotas of its control groups, rounded up; 0
 * if there is none. `root` is put before the system's paths: "", but for tests. */
int wi_cores_of_quota(const char *root);

/* Both together, and no more than OMP_NUM_THREADS if that begins with a number from 1. */
int wi_cores_usual(void);

#endif
