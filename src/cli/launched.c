/* SPDX-License-Identifier: Apache-2.0 */
/* What mpirun or srun has started, read from the environment, so no MPI library is needed. */
#include "cli/launched.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/options.h"
#include "cli/text.h"

/* The variables in which launchers say how many processes there are, and which of them this is. */
static const struct {
    const char *count, *rank;
} launchers[] = {
    {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"}, /* Open MPI */
    {"PMI_SIZE", "PMI_RANK"},                         /* MPICH, Intel MPI, MVAPICH */
    {"SLURM_STEP_NUM_TASKS", "SLURM_PROCID"},         /* srun */
};

/* Did the parent of this process begin with this variable in its environment? Then the launcher
 * has started the parent, a script, and not this process. */
static bool parent_began_with(const char *variable) {
    char path[64], *text = NULL;
    const size_t length = strlen(variable);
    size_t room = 0;
    bool found = false;
    snprintf(path, sizeof path, "/proc/%ld/environ", (long)getppid());
    FILE *const file = fopen(path, "r");
    while (file && !found && getdelim(&text, &room, '\0', file) > 0)
        found = strncmp(text, variable, length) == 0 && text[length] == '=';
    free(text);
    if (file)
        fclose(file);
    return found;
}

/* How many processes a launcher has started, if this is the first of them; else 1. */
static size_t processes_begun(void) {
    for (size_t k = 0; k < sizeof launchers / sizeof *launchers; k++) {
        const char *const count = getenv(launchers[k].count);
        const char *const rank = getenv(launchers[k].rank);
        size_t processes;
        if (count && rank && wi_read_count(count, &processes) && processes > 1)
            return strcmp(rank, "0") == 0 && !parent_began_with(launchers[k].count) ? processes : 1;
    }
    return 1;
}

static bool opens_ranks(const wi_arguments *args) {
    const char *const option = wi_value(args, &wi_place_option);
    const char *const place = option ? option : getenv("WEFT_PLACE");
    return wi_command_takes(args->command, &wi_place_option) && place &&
           strncmp(place, "mpi", strlen("mpi")) == 0;
}

void wi_note_processes(const wi_arguments *args) {
    const size_t processes = opens_ranks(args) ? 1 : processes_begun();
    if (processes > 1)
        wi_print_line(stderr, strlen("weft: "),
                      "weft: note: each of the %zu processes does all of this by itself; %s",
                      processes,
                      args->command->over_ranks ? "add --place mpi, and they share it"
                                                : "start it without mpirun");
}
