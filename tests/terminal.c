/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a command in a terminal of so many columns, and prints what is then on the screen.
 *     terminal COLUMNS COMMAND [ARGUMENT...]
 * Lines that are longer than the screen end in <WRAP>; unknown control characters are printed as
 * <ESC> or <14>; with TERM=dumb all escape sequences are unknown. Returns the command's exit
 * status, or 126 if no terminal can be opened.
 *
 * The terminal stays open here, and a mark behind the command's last byte says where its output
 * ends: where the last writer closes a terminal, reading may fail before all of it was read. */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    MOST_COLUMNS = 512,
    MOST_SEQUENCE = 32,
    OUTPUT_END = 4, /* ASCII's "end of transmission"; no command of ours prints it */
    NO_TERMINAL = 126,
    NO_COMMAND = 127
};

/* The current line; a cell holds one UTF-8 character. Lines above it are printed already. */
typedef struct screen {
    size_t columns, at, used;
    char cell[MOST_COLUMNS][5];
    char sequence[MOST_SEQUENCE]; /* an escape sequence, as far as it has been read */
    size_t sequence_bytes;
    bool dumb;
} screen;

static void print_line(screen *s, const char *end) {
    for (size_t k = 0; k < s->used; k++)
        fputs(*s->cell[k] ? s->cell[k] : " ", stdout);
    fputs(end, stdout);
    memset(s->cell, 0, sizeof s->cell);
    s->used = 0;
}

static void put(screen *s, const char *text, size_t bytes) {
    if (s->at == s->columns) {
        print_line(s, "<WRAP>\n");
        s->at = 0;
    }
    memcpy(s->cell[s->at], text, bytes);
    s->cell[s->at++][bytes] = '\0';
    s->used = s->at > s->used ? s->at : s->used;
}

/* Continuation bytes of UTF-8 join the character before them. */
static void put_byte(screen *s, unsigned char byte) {
    char *const before = s->at ? s->cell[s->at - 1] : NULL;
    if ((byte & 0xC0) == 0x80 && before && strlen(before) < sizeof s->cell[0] - 1)
        strncat(before, (const char *)&byte, 1);
    else
        put(s, (const char *)&byte, 1);
}

static void put_name(screen *s, unsigned char byte) {
    char name[8];
    snprintf(name, sizeof name, byte == '\033' ? "<ESC>" : "<%d>", byte);
    for (const char *c = name; *c; c++)
        put(s, c, 1);
}

/* Colours are ignored, and ESC [ K clears the rest of the line; no other sequence is known. */
static void end_sequence(screen *s) {
    const char last = s->sequence[s->sequence_bytes - 1];
    if (last == 'K' && s->sequence_bytes == 3) {
        for (size_t k = s->at; k < s->used; k++)
            *s->cell[k] = '\0';
        s->used = s->at;
    } else if (last != 'm') {
        put_name(s, '\033');
    }
    s->sequence_bytes = 0;
}

static void take(screen *s, unsigned char byte) {
    if (s->sequence_bytes) {
        s->sequence[s->sequence_bytes++] = (char)byte;
        if ((byte >= '@' && byte != '[') || s->sequence_bytes == MOST_SEQUENCE)
            end_sequence(s);
    } else if (byte == '\033' && !s->dumb) {
        s->sequence[s->sequence_bytes++] = (char)byte;
    } else if (byte == '\n') {
        print_line(s, "\n");
    } else if (byte == '\r') {
        s->at = 0;
    } else if (byte < ' ') {
        put_name(s, byte);
    } else {
        put_byte(s, byte);
    }
}

static void become(int end, char **command) {
    for (int to = STDIN_FILENO; to <= STDERR_FILENO; to++)
        dup2(end, to);
    execvp(command[0], command);
    _exit(NO_COMMAND);
}

/* Runs the command in the terminal, then writes the mark; returns the command's exit status. */
static int run_command(int end, char **command) {
    const char mark = OUTPUT_END;
    int status = 0;
    const pid_t child = fork();
    if (child == 0)
        become(end, command);
    if (child < 0 || waitpid(child, &status, 0) != child)
        status = -1;
    if (write(end, &mark, 1) != 1)
        return NO_TERMINAL;
    return WIFEXITED(status) ? WEXITSTATUS(status) : NO_TERMINAL;
}

static void show_output(screen *s, int terminal) {
    unsigned char buffer[4096];
    ssize_t bytes;
    while ((bytes = read(terminal, buffer, sizeof buffer)) > 0) {
        const bool last = buffer[bytes - 1] == OUTPUT_END;
        for (ssize_t k = 0; k < bytes - last; k++)
            take(s, buffer[k]);
        if (last)
            break;
    }
    if (s->used)
        print_line(s, "<NO NEWLINE>\n");
}

int main(int count, char **words) {
    static screen s;
    char name[128];
    const char *const type = getenv("TERM");
    const int terminal = posix_openpt(O_RDWR | O_NOCTTY);
    s.columns = count > 2 ? strtoul(words[1], NULL, 10) : 0;
    if (s.columns < 1 || s.columns > MOST_COLUMNS || terminal < 0 || grantpt(terminal) != 0 ||
        unlockpt(terminal) != 0 || ptsname_r(terminal, name, sizeof name) != 0)
        return NO_TERMINAL;
    const struct winsize size = {.ws_row = 24, .ws_col = (unsigned short)s.columns};
    s.dumb = type && strcmp(type, "dumb") == 0;
    const int end = open(name, O_RDWR | O_NOCTTY);
    if (end < 0 || ioctl(terminal, TIOCSWINSZ, &size) != 0)
        return NO_TERMINAL;
    const pid_t runner = fork();
    if (runner == 0)
        _exit(run_command(end, words + 2));
    int status = 0;
    if (runner < 0)
        return NO_TERMINAL;
    show_output(&s, terminal);
    waitpid(runner, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : NO_TERMINAL;
}
