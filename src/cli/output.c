/* SPDX-License-Identifier: Apache-2.0 */
/* Writing files so that a signal leaves no unfinished one; and refusing outputs that would
 * overwrite another file of the same command. */
#include "cli/output.h"

#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/text.h"
#include "io/npy.h"

bool wi_is_standard(const char *path) {
    return strcmp(path, "-") == 0 || strcmp(path, "-.csv") == 0 || strcmp(path, "-.txt") == 0;
}

const char *wi_input_name(const char *path) {
    return wi_is_standard(path) ? "standard input" : path;
}

bool wi_ends_in(const char *path, const char *suffix) {
    const size_t length = strlen(path), end = strlen(suffix);
    return length > end && strcasecmp(path + length - end, suffix) == 0;
}

/* ---- signals ---- */

/* State of the temporary file, which a signal must remove. Only one thread at a time changes it, so
 * that no file is created or renamed once a signal is ending the process. */
enum {
    NO_FILE,
    CHANGING,    /* it is being created or renamed; a signal waits */
    FILE_EXISTS, /* its name is in `unfinished` */
    ENDING       /* a signal is ending the process */
};

static atomic_int state = NO_FILE;
static atomic_int waiting; /* the latest signal, 0 if there is none */
static const char *unfinished;

static bool change(int from, int to) {
    return atomic_compare_exchange_strong(&state, &from, to);
}

/* Removes the temporary file and ends the process by the same signal, so that its parent sees which
 * one. While the file is changing, settle() will do this. */
static void on_signal(int number) {
    atomic_store(&waiting, number);
    if (change(FILE_EXISTS, ENDING))
        unlink(unfinished);
    else if (!change(NO_FILE, ENDING))
        return;
    signal(number, SIG_DFL);
    raise(number);
}

/* Catches the signals that end a process, but not those already ignored (as nohup does). When a
 * file grows beyond the limit on file sizes, the write fails instead. */
static void catch_signals(void) {
    static const int numbers[] = {SIGHUP, SIGINT, SIGQUIT, SIGPIPE, SIGTERM, SIGXCPU};
    struct sigaction before;
    const struct sigaction after = {.sa_handler = on_signal}; /* without SA_RESTART */
    for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++) {
        if (sigaction(numbers[k], NULL, &before) == 0 && before.sa_handler == SIG_DFL)
            sigaction(numbers[k], &after, NULL);
    }
    signal(SIGXFSZ, SIG_IGN);
}

/* Waits for the process to end if a signal on another thread is ending it. */
static void begin_change(int from) {
    while (!change(from, CHANGING))
        pause();
}

static void settle(int to) {
    change(CHANGING, to);
    const int number = atomic_exchange(&waiting, 0);
    if (number)
        raise(number);
}

/* ---- files ---- */

static wi_exit failed(const wi_note *note) {
    wi_say_error("%s", note->text);
    return WI_EXIT_FAILED;
}

wi_exit wi_output_open(const char *path, wi_output *output) {
    wi_note note = {""};
    catch_signals();
    output->file = stdout;
    output->name = "standard output";
    if (wi_is_standard(path))
        return WI_EXIT_OK;
    begin_change(NO_FILE);
    const weft_status status = wi_target_open(path, &output->target, &note);
    unfinished = output->target.temporary;
    settle(status == WEFT_OK && *unfinished ? FILE_EXISTS : NO_FILE);
    if (status != WEFT_OK)
        return failed(&note);
    output->file = output->target.file;
    output->name = path;
    return WI_EXIT_OK;
}

wi_exit wi_output_end(wi_output *output, bool written) {
    wi_note note = {""};
    weft_status status = WEFT_OK;
    if (output->file == stdout)
        return written ? WI_EXIT_OK : WI_EXIT_FAILED;
    begin_change(*output->target.temporary ? FILE_EXISTS : NO_FILE);
    if (written)
        status = wi_target_close(&output->target, &note);
    else
        wi_target_drop(&output->target);
    settle(NO_FILE);
    if (status != WEFT_OK)
        return failed(&note);
    return written ? WI_EXIT_OK : WI_EXIT_FAILED;
}

/* ---- what must not be written ---- */

/* Which file a path leads to: an existing file, or a name in a folder. */
typedef struct identity {
    struct stat facts; /* of the file, or of the folder */
    char name[WI_PATH_BYTES];
} identity;

/* False if the file cannot be identified; then no conflict is assumed. */
static bool identify(const char *path, int standard, identity *id) {
    char final[WI_PATH_BYTES];
    id->name[0] = '\0';
    if (wi_is_standard(path))
        return fstat(standard, &id->facts) == 0;
    if (stat(path, &id->facts) == 0)
        return true;
    if (wi_target_find(path, final) != 0)
        return false;
    const char *const slash = strrchr(final, '/');
    snprintf(id->name, sizeof id->name, "%s", slash ? slash + 1 : final);
    if (slash)
        final[slash + 1 - final] = '\0';
    return stat(slash ? final : ".", &id->facts) == 0;
}

/* The same file? Devices such as /dev/null and terminals do not count: two outputs do not harm
 * them. */
static bool is_one_file(const identity *a, const identity *b) {
    return a->facts.st_dev == b->facts.st_dev && a->facts.st_ino == b->facts.st_ino &&
           strcmp(a->name, b->name) == 0 && !S_ISCHR(a->facts.st_mode);
}

static wi_exit check_other_outputs(const wi_arguments *args, const wi_option *option,
                                   const identity *id) {
    for (const wi_option *at = wi_next_option(args->command, NULL); at;
         at = wi_next_option(args->command, at)) {
        const char *const path = at->file == WI_FILE_WRITTEN ? wi_value(args, at) : NULL;
        identity other;
        if (path && at != option && identify(path, STDOUT_FILENO, &other) &&
            is_one_file(id, &other))
            return wi_usage(args->command,
                            "option --%s: %s is where --%s goes, too, and one would be lost; name "
                            "another file",
                            option->name,
                            wi_is_standard(path) ? "standard output" : wi_value(args, option),
                            at->name);
    }
    return WI_EXIT_OK;
}

/* Does the existing file begin like a .npy array? */
static bool holds_array(const char *path) {
    unsigned char first = 0;
    const bool standard = wi_is_standard(path);
    const int descriptor = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    const bool begins =
        descriptor >= 0 && pread(descriptor, &first, 1, 0) == 1 && first == WI_NPY_FIRST;
    if (descriptor >= 0 && !standard)
        close(descriptor);
    return begins;
}

/* Refuses `option` if its file is the input `path`; NULL: no input. */
static wi_exit check_input(const wi_arguments *args, const wi_option *option, const identity *id,
                           const char *path) {
    identity other;
    if (!path || !identify(path, STDIN_FILENO, &other) || !S_ISREG(other.facts.st_mode) ||
        !is_one_file(id, &other) || (option == &wi_output_option && holds_array(path)))
        return WI_EXIT_OK;
    return wi_usage(args->command,
                    "option --%s: this is the input %s, and only an array in a .npy file can be "
                    "replaced by a result; name another file",
                    option->name, wi_is_standard(path) ? "itself" : path);
}

static wi_exit check_apart(const wi_arguments *args, const wi_option *option) {
    identity id;
    if (!identify(wi_value(args, option), STDOUT_FILENO, &id))
        return WI_EXIT_OK;
    wi_exit result = check_other_outputs(args, option, &id);
    for (size_t k = 0; k < args->operands && result == WI_EXIT_OK; k++) {
        if (args->command->suffixes)
            result = check_input(args, option, &id, args->operand[k]);
    }
    for (const wi_option *at = wi_next_option(args->command, NULL); at && result == WI_EXIT_OK;
         at = wi_next_option(args->command, at)) {
        if (at->file == WI_FILE_READ)
            result = check_input(args, option, &id, wi_value(args, at));
    }
    return result;
}

wi_exit wi_check_drawing(const wi_arguments *args, const wi_option *option) {
    static const char *const others[] = {".png", ".ppm", ".pgm", ".jpg", ".jpeg", ".gif", ".pdf"};
    const char *const path = wi_value(args, option);
    for (size_t k = 0; path && k < sizeof others / sizeof *others; k++)
        if (wi_ends_in(path, others[k]))
            return wi_usage(args->command,
                            "option --%s: the picture is SVG; end the name %s in .svg",
                            option->name, path);
    return wi_check_writable(args, option);
}

wi_exit wi_check_writable(const wi_arguments *args, const wi_option *option) {
    const char *const path = wi_value(args, option);
    const int error = path && !wi_is_standard(path) ? wi_target_foresee(path) : 0;
    if (error == 0)
        return path ? check_apart(args, option) : WI_EXIT_OK;
    wi_say_error("%s: option --%s: cannot write %s: %s; name another file", args->command->name,
                 option->name, path, strerror(error));
    return WI_EXIT_FAILED;
}
