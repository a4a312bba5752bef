/* SPDX-License-Identifier: Apache-2.0 */
/* Place "mpi": one context over many processes (ranks), started by mpirun. The same calls work on
 * arrays of which every rank holds a part.
 *
 * Every rank opens the place and makes the same calls in the same order, with the same type,
 * operation and options, each with its own part of every array. The whole array is the parts in the
 * order of the ranks; their lengths may differ, and be 0. What each call does with the whole is in
 * its own header, and in docs/clusters.md.
 *
 *     "mpi"         the best place of each rank: a GPU if one works, else cores
 *     "mpi:cpu"     cores, divided among the ranks of a machine; "mpi:cpu:4": four threads each
 *     "mpi:gpu"     a GPU: the ranks of a machine take its GPUs in turn, and share them if they
 *                   must; "mpi:gpu:1": the GPU numbered 1
 *
 * Calls that have no distributed variant yet return WEFT_EUNSUPPORTED on all ranks. Memory
 * (weft_alloc, weft_copy), streams and settings (weft_use, weft_set_tuning) are a rank's own
 * affair. Every other call, weft_open and weft_close included, begins and ends with all ranks: it
 * waits for them, and it has ended well on all of them or fails on all. A rank whose arguments were
 * refused, or whose memory ran out, returns its own status; the others return WEFT_ECOMM, and their
 * message names the rank and its reason. On device memory, too, calls return when the answer is
 * there.
 *
 * After WEFT_ECOMM because a rank has died, or has left the order of calls, the context only
 * returns WEFT_ECOMM. Close it and end the program without further MPI calls: outputs of the failed
 * call are undefined, and MPI may still write to them. A rank of the same machine that has died is
 * noticed within a second if mpirun lets the others live (--enable-recovery in Open MPI); without
 * that mpirun ends them all.
 *
 * MPI is initialised by the first place that needs it, if the program has not done so, and is then
 * finalised when the process ends. MPI itself, which exists once a process, is the only state of
 * the library outside of contexts but for the list of open timelines and the caller's allocator
 * (weft_set_allocator). If the program initialises MPI, it must do so with MPI_THREAD_MULTIPLE if
 * several threads use MPI or weft contexts of place mpi at the same time. */
#ifndef WEFT_MPI_H
#define WEFT_MPI_H

#include "weft/core.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Opens place "mpi..." over the ranks of a communicator: `comm` is the address of an MPI_Comm (a
 * pointer, so that this header needs no mpi.h). The communicator is copied; it is not used later.
 * Collective over its ranks. */
WEFT_API weft_status weft_open_mpi(weft_context **ctx, const char *place, const void *comm);

/* This rank's number, from 0 on, and the number of ranks: 0 and 1 on any other place. */
WEFT_API int weft_rank(const weft_context *ctx);
WEFT_API int weft_ranks(const weft_context *ctx);

/* One line on how ranks communicate: "Open MPI v4.1.4: 4 ranks, 4 on this machine", and on GPUs how
 * their memory is sent; "self" if there is one rank only; "" on any other place. */
WEFT_API const char *weft_comm(const weft_context *ctx);

/* *own = how many elements this rank's part of the output has, after weft_select, weft_partition,
 * weft_unique and the like, whose `count` tells the number on all ranks. On a place of one process
 * that is *count: a program that calls this works on all places. `count` is host or device memory.
 */
WEFT_API weft_status weft_own_count(weft_context *ctx, const uint64_t *count, uint64_t *own);

#ifdef __cplusplus
}
#endif
#endif
