/* SPDX-License-Identifier: Apache-2.0 */
/* How many threads this process should use, by what the system and the user allow. */
#ifndef WI_CORES_H
#define WI_CORES_H

/* The cores that the calling thread may run on, by its affinity; at least 1. */
int wi_cores_allowed(void);

/* The number of cores that the quotas of the process's control groups allow, rounded up; 0 if there
 * is no quota. `root` is put before the system's paths: "" except in tests. */
int wi_cores_of_quota(const char *root);

/* The smaller of both, and at most OMP_NUM_THREADS if that begins with a number from 1 on. */
int wi_cores_usual(void);

#endif
