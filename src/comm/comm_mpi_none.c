/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces comm_mpi*.c in a build without MPI. */
#include "comm/comm.h"

weft_status wi_comm_mpi_open(weft_context *ctx, const void *handed) {
    (void)handed;
    return wi_fail(ctx, WEFT_EUNSUPPORTED,
                   "weft_open: this build of weft has no MPI, so no place \"mpi\"; install "
                   "libopenmpi-dev, then configure and build again");
}
