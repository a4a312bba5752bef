/* SPDX-License-Identifier: Apache-2.0 */
/* What mpirun or srun has started: processes that know nothing of each other unless a place over
 * ranks is opened. */
#ifndef WI_LAUNCHED_H
#define WI_LAUNCHED_H

#include "cli/commands.h"

/* Prints a note on standard error, from the first of several processes that a launcher started, if
 * each of them is about to do the whole command by itself. Commands inside a script that was
 * started so get no note: the script may give each of its processes work of its own. */
void wi_note_processes(const wi_arguments *args);

#endif
