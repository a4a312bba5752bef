/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of the driver that the runtime has no call for, found by their names at run time. */
#ifndef WI_GPU_DRIVER_H
#define WI_GPU_DRIVER_H

#include <stdbool.h>

/* Sets *function, a pointer to a function, to the driver's function of this name, as of this
 * version of CUDA (12000 for 12.0); to NULL, and returns false, if the driver does not have it. */
bool wi_gpu_find_driver(const char *name, unsigned version, void *function);

#endif
