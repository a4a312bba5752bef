/* SPDX-License-Identifier: Apache-2.0 */
/* --trace, and WEFT_TRACE: the timeline of a command. */
#include "cli/timeline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/options.h"
#include "cli/output.h"
#include "cli/text.h"

wi_exit wi_timeline_begin(const wi_arguments *args, wi_trace **trace) {
    const char *const path = wi_value(args, &wi_trace_option);
    *trace = NULL;
    if (!path)
        return WI_EXIT_OK;
    if (wi_is_standard(path) || !*path)
        return wi_usage(args->command, "option --trace: \"%s\" is not a file; name one", path);
    const wi_exit result = wi_check_writable(args, &wi_trace_option);
    if (result != WI_EXIT_OK)
        return result;
    *trace = wi_trace_hold(path);
    if (*trace && setenv("WEFT_TRACE", path, 1) == 0)
        return WI_EXIT_OK;
    wi_say_error("%s: no memory for a timeline", args->command->name);
    return WI_EXIT_FAILED;
}

wi_exit wi_timeline_end(const wi_trace *trace, wi_exit result) {
    wi_output output;
    if (!trace || trace->sent)
        return result;
    const wi_exit opened = wi_output_open(trace->path, &output);
    if (opened != WI_EXIT_OK)
        return opened;
    const bool written = wi_trace_write(trace, output.file);
    if (!written)
        wi_say_error("%s: writing failed: %s", output.name, strerror(errno));
    const wi_exit ended = wi_output_end(&output, written);
    return result == WI_EXIT_OK ? ended : result;
}
