/* SPDX-License-Identifier: Apache-2.0 */
/* Files of commands that work over ranks: every rank reads its part of an array, and writes its
 * part of the result into the same file. On a place of one process these are wi_load and wi_save.
 */
#ifndef WI_CLI_RANKS_H
#define WI_CLI_RANKS_H

#include "cli/session.h"
#include "cli/text.h"
#include "weft/mpi.h"

/* As wi_load and wi_load_any. If one rank fails, all do. */
wi_exit wi_load_part(const wi_arguments *args, weft_context *ctx, const char *path, wi_npy *array);
wi_exit wi_load_any_part(const wi_arguments *args, weft_context *ctx, const char *path,
                         const weft_type *type, wi_npy *array);

/* The same with chosen columns, or all if `columns` is NULL, in place of those of --columns. */
wi_exit wi_load_any_columns_part(const wi_arguments *args, weft_context *ctx, const char *path,
                                 const char *columns, const weft_type *type, wi_npy *array);

/* Reads this rank's part of an open file: of a table of text, or of an array. Of a table, and of
 * some columns of an array, every rank reads all and keeps its part. */
weft_status wi_read_part(const wi_arguments *args, weft_context *ctx, FILE *file, const char *path,
                         bool text, const char *columns, const weft_type *type, wi_npy *array,
                         wi_note *note);

/* Refuses standard input where there are several ranks. */
wi_exit wi_check_shared(const weft_context *ctx, const char *path);

/* Has every rank loaded its part? `note` says why this one has not. */
wi_exit wi_agree_loaded(const wi_arguments *args, weft_context *ctx, weft_status status,
                        const wi_note *note);

/* Has the command succeeded on every rank? A rank where it failed has printed why; the others print
 * which one failed. */
wi_exit wi_agree_result(const wi_arguments *args, weft_context *ctx, wi_exit result);

/* Brings the elements of all ranks, of `width` bytes each, to rank 0 in the order of the ranks; the
 * others then have none. *data becomes new memory, and the old is freed. */
wi_exit wi_collect(const wi_arguments *args, weft_context *ctx, size_t width, size_t *count,
                   void **data);

/* As wi_save; a table of text is written by rank 0, others by all ranks together. An array of one
 * dimension may have any number of elements on each rank; others are written where they were read.
 */
wi_exit wi_save_part(const wi_arguments *args, weft_context *ctx, const wi_option *option,
                     const wi_npy *array);

/* Flattens the array to what a select has left in it; `count` is what the select has set. */
wi_exit wi_take_own(weft_context *ctx, wi_npy *array, const uint64_t *count);

/* Adds how ranks communicate, if there are several. */
void wi_json_ranks(wi_json *json, const weft_context *ctx);

#endif
