/* SPDX-License-Identifier: Apache-2.0 */
/* Files of commands that work over ranks. */
#include "cli/ranks.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "cli/table_file.h"
#include "cli/text.h"
#include "comm/dist.h"

/* All ranks learn whether any has failed. A failure is printed by the rank where it happened. */
static wi_exit agree(const wi_arguments *args, weft_context *ctx, weft_status status) {
    if (weft_ranks(ctx) > 1) {
        ctx->comm->call = args->command->name;
        status = wi_agree(ctx, 0, status);
    }
    return status == WEFT_OK ? WI_EXIT_OK : wi_session_failed(ctx);
}

wi_exit wi_agree_loaded(const wi_arguments *args, weft_context *ctx, weft_status status,
                        const wi_note *note) {
    if (status != WEFT_OK)
        wi_fail(ctx, status, "%s", note->text);
    return agree(args, ctx, status);
}

wi_exit wi_agree_result(const wi_arguments *args, weft_context *ctx, wi_exit result) {
    if (weft_ranks(ctx) == 1)
        return result;
    if (result == WI_EXIT_OK)
        return agree(args, ctx, WEFT_OK);
    ctx->comm->call = args->command->name;
    wi_agree(ctx, 0, wi_fail(ctx, WEFT_EIO, "its files or options are refused"));
    return result;
}

wi_exit wi_check_shared(const weft_context *ctx, const char *path) {
    if (weft_ranks(ctx) == 1 || !wi_is_standard(path))
        return WI_EXIT_OK;
    wi_say_error("ranks cannot share standard input; name a file that all can read");
    return WI_EXIT_FAILED;
}

weft_status wi_read_part(const wi_arguments *args, weft_context *ctx, FILE *file, const char *path,
                         bool text, const char *columns, const weft_type *type, wi_npy *array,
                         wi_note *note) {
    const int rank = weft_rank(ctx), ranks = weft_ranks(ctx);
    if (!text && !columns)
        return wi_npy_read_part(file, path, type, rank, ranks, array, note);
    weft_status status =
        text ? wi_table_load(file, path, columns, type, args->command->unrounded, array, note)
             : wi_npy_read(file, path, type, array, note);
    if (status == WEFT_OK && !text)
        status = wi_columns_choose(columns, path, array, note);
    return status == WEFT_OK ? wi_npy_take_part(rank, ranks, array, note) : status;
}

wi_exit wi_load_any_columns_part(const wi_arguments *args, weft_context *ctx, const char *path,
                                 const char *columns, const weft_type *type, wi_npy *array) {
    wi_note note = {""};
    FILE *file = NULL;
    *array = (wi_npy){.data = NULL};
    if (weft_ranks(ctx) == 1)
        return wi_load_any_columns(args, path, columns, type, array);
    weft_status status = WEFT_OK;
    if (!wi_is_standard(path))
        file = fopen(path, "rb");
    if (wi_is_standard(path))
        status = wi_note_fail(&note, WEFT_EUNSUPPORTED,
                              "ranks cannot share standard input; name a file that all can read");
    else if (!file)
        status = wi_note_fail(&note, WEFT_EIO, "%s: opening failed: %s", path, strerror(errno));
    else
        status = wi_read_part(args, ctx, file, path, wi_is_table_name(path), columns, type, array,
                              &note);
    if (file)
        fclose(file);
    if (status != WEFT_OK)
        wi_npy_free(array);
    return wi_agree_loaded(args, ctx, status, &note);
}

wi_exit wi_load_any_part(const wi_arguments *args, weft_context *ctx, const char *path,
                         const weft_type *type, wi_npy *array) {
    return wi_load_any_columns_part(args, ctx, path, wi_value(args, &wi_columns_option), type,
                                    array);
}

wi_exit wi_load_part(const wi_arguments *args, weft_context *ctx, const char *path, wi_npy *array) {
    const bool typed = wi_given(args, &wi_type_option);
    return wi_load_any_part(args, ctx, path, typed ? &args->type : NULL, array);
}

/* ---- saving ---- */

static bool write_at(int descriptor, const void *p, size_t bytes, size_t at) {
    const char *from = p;
    while (bytes > 0) {
        const ssize_t done = pwrite(descriptor, from, bytes, (off_t)at);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return false;
        from += done;
        at += (size_t)done;
        bytes -= (size_t)done;
    }
    return true;
}

/* Writes this rank's part, and rank 0 the header, into the unfinished file. */
static weft_status write_part(weft_context *ctx, const char *path, const wi_npy *array,
                              size_t before) {
    char header[4096];
    const size_t size = weft_type_size(array->layout.type);
    const size_t length = wi_npy_format(&array->layout, header);
    const int descriptor = open(path, O_WRONLY | O_CLOEXEC);
    bool written = descriptor >= 0;
    if (written && weft_rank(ctx) == 0)
        written = write_at(descriptor, header, length, 0);
    if (written)
        written =
            write_at(descriptor, array->data, array->layout.count * size, length + before * size) &&
            (fsync(descriptor) == 0 || errno == EINVAL);
    int error = errno;
    if (descriptor >= 0 && close(descriptor) != 0 && written) {
        error = errno;
        written = false;
    }
    return written ? WEFT_OK
                   : wi_fail(ctx, WEFT_EIO, "%s: writing failed: %s", path, strerror(error));
}

/* Rank 0 makes the unfinished file and tells the others its name. */
static wi_exit share_file(const wi_arguments *args, weft_context *ctx, const char *path,
                          wi_output *output, char name[WI_PATH_BYTES]) {
    weft_status status = WEFT_OK;
    name[0] = '\0';
    if (wi_is_standard(path))
        status = wi_fail(ctx, WEFT_EUNSUPPORTED,
                         "ranks cannot share standard output; name a file that all can write");
    else if (weft_rank(ctx) == 0 && wi_output_open(path, output) != WI_EXIT_OK)
        status = wi_fail(ctx, WEFT_EIO, "%s: no part of it can be written", path);
    else if (weft_rank(ctx) == 0)
        memcpy(name, output->target.temporary, WI_PATH_BYTES);
    if (status == WEFT_OK && weft_rank(ctx) == 0 && !name[0]) {
        wi_output_end(output, false);
        status = wi_fail(
            ctx, WEFT_EUNSUPPORTED,
            "%s: ranks write their parts into one file, and this is not a regular file", path);
    }
    const wi_exit result = agree(args, ctx, status);
    if (result != WI_EXIT_OK)
        return result;
    status = ctx->comm->calls->broadcast(ctx, name, WI_PATH_BYTES, WEFT_U8, 0);
    return agree(args, ctx, status);
}

wi_exit wi_collect(const wi_arguments *args, weft_context *ctx, size_t width, size_t *count,
                   void **data) {
    const size_t ranks = (size_t)weft_ranks(ctx);
    const uint64_t own = *count, *of_ranks = NULL;
    const bool gets = weft_rank(ctx) == 0;
    uint64_t before, total;
    if (ranks == 1)
        return WI_EXIT_OK;
    if (wi_all_counts(ctx, own, &before, &total) != WEFT_OK)
        return wi_session_failed(ctx);
    const size_t most = gets ? (size_t)total : 0;
    void *const all = wi_host_alloc(most * width);
    size_t *const sent = wi_host_alloc(2 * ranks * sizeof *sent);
    weft_status status = WEFT_OK;
    if (!all || !sent)
        status = wi_fail(ctx, WEFT_ENOMEM, "%s: no host memory for the %zu bytes of all ranks",
                         args->command->name, most * width);
    wi_exit result = agree(args, ctx, status);
    if (result == WI_EXIT_OK) {
        status = wi_all_words(ctx, &own, 1, &of_ranks);
        for (size_t r = 0; r < ranks && status == WEFT_OK; r++) {
            sent[r] = r == 0 ? (size_t)own : 0;
            sent[ranks + r] = gets ? (size_t)of_ranks[r] : 0;
        }
        if (status == WEFT_OK)
            status = wi_dist_exchange(ctx, *data, sent, all, sent + ranks, width);
        result = agree(args, ctx, status);
    }
    wi_host_free(sent);
    if (result != WI_EXIT_OK) {
        wi_host_free(all);
        return result;
    }
    wi_host_free(*data);
    *data = all;
    *count = most;
    return WI_EXIT_OK;
}

/* Rank 0 writes a table of text, of which it gets a copy of all parts. */
static wi_exit save_text(const wi_arguments *args, weft_context *ctx, const wi_option *option,
                         const wi_npy *array) {
    const size_t size = weft_type_size(array->layout.type);
    wi_npy whole = *array;
    whole.data = wi_host_alloc(array->layout.count * size);
    weft_status status = WEFT_OK;
    if (whole.data)
        memcpy(whole.data, array->data, array->layout.count * size);
    else
        status = wi_fail(ctx, WEFT_ENOMEM, "no host memory for %zu elements", array->layout.count);
    wi_exit result = agree(args, ctx, status);
    if (result == WI_EXIT_OK)
        result = wi_collect(args, ctx, size, &whole.layout.count, &whole.data);
    if (result == WI_EXIT_OK && weft_rank(ctx) == 0)
        result = wi_save(args, option, &whole);
    wi_host_free(whole.data);
    return wi_agree_result(args, ctx, result);
}

wi_exit wi_save_part(const wi_arguments *args, weft_context *ctx, const wi_option *option,
                     const wi_npy *array) {
    if (weft_ranks(ctx) == 1)
        return wi_save(args, option, array);
    if (wi_is_table_name(wi_value(args, option)))
        return save_text(args, ctx, option, array);
    uint64_t before = 0, total;
    char name[WI_PATH_BYTES];
    wi_output output;
    weft_status status = wi_all_counts(ctx, array->layout.count, &before, &total);
    wi_exit result = agree(args, ctx, status);
    if (result == WI_EXIT_OK)
        result = share_file(args, ctx, wi_value(args, option), &output, name);
    if (result != WI_EXIT_OK)
        return result;
    result = agree(args, ctx, write_part(ctx, name, array, before));
    if (weft_rank(ctx) == 0)
        result = wi_output_end(&output, result == WI_EXIT_OK);
    return result;
}

/* ---- what else knows ranks ---- */

wi_exit wi_take_own(weft_context *ctx, wi_npy *array, const uint64_t *count) {
    uint64_t own;
    if (weft_own_count(ctx, count, &own) != WEFT_OK)
        return wi_session_failed(ctx);
    wi_npy_flatten_part(array, own, *count);
    return WI_EXIT_OK;
}

void wi_json_ranks(wi_json *json, const weft_context *ctx) {
    if (weft_ranks(ctx) == 1)
        return;
    wi_json_count(json, "ranks", (size_t)weft_ranks(ctx));
    wi_json_string(json, "comm", weft_comm(ctx));
}
