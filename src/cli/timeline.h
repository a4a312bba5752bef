/* SPDX-License-Identifier: Apache-2.0 */
/* --trace: the timeline of a command, whatever contexts it opens. */
#ifndef WI_TIMELINE_H
#define WI_TIMELINE_H

#include "cli/commands.h"
#include "core/trace.h"

/* From now on all contexts are recorded, if --trace is given; otherwise *trace is NULL. On failure
 * an error has been printed. */
wi_exit wi_timeline_begin(const wi_arguments *args, wi_trace **trace);

/* Writes the file, once all contexts are closed. Returns `result` unless writing fails. */
wi_exit wi_timeline_end(const wi_trace *trace, wi_exit result);

#endif
