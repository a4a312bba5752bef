/* SPDX-License-Identifier: Apache-2.0 */
/* The command `weft`: finds the subcommand and runs it. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/launched.h"
#include "cli/options.h"
#include "cli/text.h"
#include "cli/timeline.h"

static wi_exit run_recorded(const wi_command *command, const wi_arguments *args) {
    wi_trace *trace;
    if (strcmp(command->name, "help") != 0)
        wi_note_processes(args);
    const wi_exit result = wi_timeline_begin(args, &trace);
    return result == WI_EXIT_OK ? wi_timeline_end(trace, command->run(args)) : result;
}

/* An option in place of a command. */
static wi_exit refuse_option(const char *name) {
    const char *of_weft[] = {"--version", "--help"};
    const char *const nearest = wi_nearest(name, &(wi_words){.at = of_weft, .count = 2});
    if (nearest)
        return wi_usage(NULL, "there is no option %s; did you mean %s?", name, nearest);
    return wi_usage(NULL,
                    "%s is not understood before the command; options come after it, as weft demo "
                    "--place cpu",
                    name);
}

static wi_exit run_command(const char *name, int count, char **words) {
    const wi_command *const command = wi_find_command(name);
    if (!command && name[0] == '-')
        return refuse_option(name);
    if (!command)
        return wi_usage_word(NULL, "command", name, wi_list_commands);
    wi_arguments args;
    wi_exit result = wi_parse(command, count, words, &args);
    if (result == WI_EXIT_OK && wi_given(&args, &wi_help_option))
        wi_print_command_help(command);
    else if (result == WI_EXIT_OK)
        result = run_recorded(command, &args);
    wi_arguments_free(&args);
    return result;
}

static wi_exit dispatch(int count, char **words) {
    if (count < 2) {
        wi_print_greeting();
        return WI_EXIT_USAGE;
    }
    if (strcmp(words[1], "--version") == 0) {
        printf("weft %s\n", weft_version());
        return WI_EXIT_OK;
    }
    if (strcmp(words[1], "--help") == 0 || strcmp(words[1], "-h") == 0) {
        wi_print_overview();
        return WI_EXIT_OK;
    }
    return run_command(words[1], count - 2, words + 2);
}

int main(int count, char **words) {
    wi_exit result = dispatch(count, words);
    /* A full disk is noticed only here, when the buffer of standard output is written. */
    if ((fflush(stdout) != 0 || ferror(stdout)) && result == WI_EXIT_OK) {
        wi_say_error("writing to standard output failed: %s", strerror(errno));
        result = WI_EXIT_FAILED;
    }
    return result;
}
