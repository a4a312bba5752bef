/* SPDX-License-Identifier: Apache-2.0 */
/* Plans in files and in memory: a header, then the arrays of the analysis as they are in memory.
 * Everything read is checked before it is used, because later phases index with it. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "io/memory_file.h"
#include "io/target.h"
#include "sparse/chol.h"
#include "sparse/order.h"

static const char magic[8] = {'W', 'E', 'F', 'T', 'P', 'L', 'N', '3'};
static const uint64_t byte_order = UINT64_C(0x0102030405060708);

typedef struct header {
    char magic[8];
    uint64_t byte_order;
    int64_t n, supernodes, rows;
    uint64_t nnz_a, fingerprint;
    uint64_t checksum; /* of all else */
    char ordering[16];
    uint32_t kind, precision; /* weft_chol_kind; weft_precision */
    uint64_t sign_words;      /* of weft_chol.negative */
    double perturbation;
} header;

/* One array of the plan. */
typedef struct part {
    int64_t *array;
    int64_t count;
} part;

enum {
    PARTS = 8
};

static int64_t sign_words_of(const weft_chol *plan) {
    return plan->negative ? wi_sign_words(plan->symbolic.n) : 0;
}

static void list_parts(const weft_chol *plan, int64_t rows, part parts[PARTS]) {
    const wi_symbolic *const symbolic = &plan->symbolic;
    const int64_t n = symbolic->n, supernodes = symbolic->supernodes;
    const part all[PARTS] = {{symbolic->perm, n},
                             {symbolic->parent, n},
                             {symbolic->count, n},
                             {symbolic->first, supernodes + 1},
                             {symbolic->rows_at, supernodes + 1},
                             {symbolic->super_parent, supernodes},
                             {symbolic->rows, rows},
                             {(int64_t *)plan->negative, sign_words_of(plan)}};
    memcpy(parts, all, sizeof all);
}

static const uint64_t fnv_start = UINT64_C(0xCBF29CE484222325), fnv_prime = UINT64_C(0x100000001B3);

static uint64_t add_words(uint64_t sum, const void *from, size_t count) {
    const char *const bytes = from;
    for (size_t k = 0; k < count; k++) {
        uint64_t word;
        memcpy(&word, bytes + k * sizeof word, sizeof word);
        sum = (sum ^ word) * fnv_prime;
    }
    return sum;
}

/* The hash FNV-1a, but over words of 64 bits. That of the checksum itself counts as 0. */
static uint64_t checksum(const header *head, const part parts[PARTS]) {
    header summed;
    memcpy(&summed, head, sizeof summed);
    summed.checksum = 0;
    uint64_t sum = add_words(fnv_start, &summed, sizeof summed / sizeof sum);
    for (int p = 0; p < PARTS; p++)
        sum = add_words(sum, parts[p].array, (size_t)parts[p].count);
    return sum;
}

static weft_status check_saved(weft_context *ctx, const char *call, const weft_chol *plan) {
    if (wi_check_context(ctx) != WEFT_OK)
        return WEFT_EARG;
    if (!plan)
        return wi_fail(ctx, WEFT_EARG, "%s: plan is NULL; weft_chol_analyze makes one", call);
    return WEFT_OK;
}

/* Fills the header, lists the arrays behind it and returns the bytes of all. */
static size_t describe(const weft_chol *plan, header *head, part parts[PARTS]) {
    const wi_symbolic *const symbolic = &plan->symbolic;
    *head = (header){.byte_order = byte_order,
                     .n = symbolic->n,
                     .supernodes = symbolic->supernodes,
                     .rows = symbolic->rows_at[symbolic->supernodes],
                     .nnz_a = plan->report.nnz_a,
                     .fingerprint = plan->fingerprint,
                     .kind = (uint32_t)plan->kind,
                     .precision = (uint32_t)plan->precision,
                     .sign_words = (uint64_t)sign_words_of(plan),
                     .perturbation = plan->perturbation};
    list_parts(plan, head->rows, parts);
    memcpy(head->magic, magic, sizeof magic);
    strncpy(head->ordering, plan->report.ordering, sizeof head->ordering - 1);
    head->checksum = checksum(head, parts);
    size_t bytes = sizeof *head;
    for (int p = 0; p < PARTS; p++)
        bytes += (size_t)parts[p].count * sizeof(int64_t);
    return bytes;
}

weft_status weft_chol_save(weft_context *ctx, const weft_chol *plan, const char *path) {
    static const char call[] = "weft_chol_save";
    weft_status status = check_saved(ctx, call, plan);
    if (status != WEFT_OK)
        return status;
    if (!path)
        return wi_fail(ctx, WEFT_EARG, "%s: path is NULL; name a file", call);
    header head;
    part parts[PARTS];
    describe(plan, &head, parts);
    wi_target target;
    wi_note note = {""};
    status = wi_target_open(path, &target, &note);
    if (status == WEFT_OK) {
        bool written = fwrite(&head, sizeof head, 1, target.file) == 1;
        for (int p = 0; written && p < PARTS; p++) {
            const size_t count = (size_t)parts[p].count;
            if (count > 0) /* else there may be no array */
                written = fwrite(parts[p].array, sizeof(int64_t), count, target.file) == count;
        }
        status = written ? wi_target_close(&target, &note) : wi_target_fail(&target, &note);
    }
    return status == WEFT_OK ? status : wi_fail(ctx, status, "%s: %s", call, note.text);
}

weft_status weft_chol_save_memory(weft_context *ctx, const weft_chol *plan, void *memory,
                                  size_t room, size_t *bytes) {
    static const char call[] = "weft_chol_save_memory";
    const weft_status status = check_saved(ctx, call, plan);
    if (status != WEFT_OK)
        return status;
    header head;
    part parts[PARTS];
    const size_t needed = describe(plan, &head, parts);
    if (wi_check_room(ctx, call, memory, room, needed, bytes) != WEFT_OK)
        return WEFT_EARG;
    *bytes = needed;
    if (!memory)
        return WEFT_OK;
    char *at = memory;
    memcpy(at, &head, sizeof head);
    at += sizeof head;
    for (int p = 0; p < PARTS; p++) {
        const size_t part_bytes = (size_t)parts[p].count * sizeof(int64_t);
        if (part_bytes)
            memcpy(at, parts[p].array, part_bytes);
        at += part_bytes;
    }
    return WEFT_OK;
}

/* ---- reading ---- */

/* Is perm a permutation? Fills inverse. */
static bool is_permutation(int64_t n, const int64_t *perm, int64_t *inverse) {
    for (int64_t k = 0; k < n; k++)
        inverse[k] = -1;
    for (int64_t k = 0; k < n; k++) {
        if (perm[k] < 0 || perm[k] >= n || inverse[perm[k]] >= 0)
            return false;
        inverse[perm[k]] = k;
    }
    return true;
}

/* Are these the elimination tree and the column counts of some L? The parent of a column comes
 * after it, or it is a root (-1); a column has its diagonal, and no other entry just if it is a
 * root. */
static bool are_columns(const wi_symbolic *s) {
    for (int64_t k = 0; k < s->n; k++) {
        const bool root = s->parent[k] == -1;
        if (!root && (s->parent[k] <= k || s->parent[k] >= s->n))
            return false;
        if (s->count[k] < 1 || s->count[k] > s->n - k || root != (s->count[k] == 1))
            return false;
    }
    return is_permutation(s->n, s->perm, s->inverse);
}

/* Do the supernodes' extents ascend from 0 to n, and those of their rows from 0 to `rows`? Each has
 * a column at least, and as many rows as columns at least. */
static bool are_extents(const wi_symbolic *s, int64_t rows) {
    const int64_t last = s->supernodes;
    if (s->first[0] != 0 || s->rows_at[0] != 0 || s->first[last] != s->n ||
        s->rows_at[last] != rows)
        return false;
    for (int64_t t = 0; t < last; t++) {
        if (s->first[t + 1] <= s->first[t] || s->first[t + 1] > s->n ||
            s->rows_at[t + 1] <= s->rows_at[t] || s->rows_at[t + 1] > rows)
            return false; /* before these are subtracted, which could overflow */
        if (wi_super_height(s, t) < wi_super_columns(s, t))
            return false;
    }
    return true;
}

/* Where the first of ascending rows `from` to `end` is that is not less than `row`. It is sought in
 * steps that double, as a forged plan can make every search long. */
static int64_t find_row(const int64_t *rows, int64_t from, int64_t end, int64_t row) {
    int64_t step = 1;
    for (; step <= end - from && rows[from + step - 1] < row; step *= 2)
        from += step;
    end = step < end - from ? from + step : end;
    while (from < end) {
        const int64_t middle = from + (end - from) / 2;
        if (rows[middle] < row)
            from = middle + 1;
        else
            end = middle;
    }
    return from;
}

/* Is each row of supernode t below its columns also a row of its parent, the supernode that has the
 * first of these rows as a column? */
static bool fits_parent(const wi_symbolic *s, int64_t t) {
    const int64_t up = s->super_parent[t];
    int64_t k = s->rows_at[t] + s->first[t + 1] - s->first[t];
    const int64_t end = s->rows_at[t + 1];
    if (k == end)
        return up == -1;
    if (up <= t || up >= s->supernodes || s->rows[k] < s->first[up] ||
        s->rows[k] >= s->first[up + 1])
        return false;
    for (int64_t m = s->rows_at[up]; k < end; k++, m++) {
        m = find_row(s->rows, m, s->rows_at[up + 1], s->rows[k]);
        if (m == s->rows_at[up + 1] || s->rows[m] != s->rows[k])
            return false;
    }
    return true;
}

/* Are the rows of each supernode its own columns, and then rows below them in ascending order? */
static bool are_rows(const wi_symbolic *s) {
    for (int64_t t = 0; t < s->supernodes; t++) {
        for (int64_t k = s->rows_at[t], column = s->first[t]; k < s->rows_at[t + 1]; k++) {
            if (column < s->first[t + 1] ? s->rows[k] != column++
                                         : s->rows[k] <= s->rows[k - 1] || s->rows[k] >= s->n)
                return false;
        }
    }
    for (int64_t t = 0; t < s->supernodes; t++) {
        if (!fits_parent(s, t))
            return false;
    }
    return true;
}

/* Is the parent of each column the next column of its supernode, or one of the rows below? Then
 * every row of a column is also a row of its ancestors, up to its own column. */
static bool are_parents(const wi_symbolic *s) {
    for (int64_t t = 0; t < s->supernodes; t++) {
        const int64_t end = s->rows_at[t + 1];
        for (int64_t j = s->first[t]; j < s->first[t + 1]; j++) {
            if (s->parent[j] < 0)
                continue;
            const int64_t own = s->rows_at[t] + (j - s->first[t]);
            const int64_t at = find_row(s->rows, own, end, s->parent[j]);
            if (at == end || s->rows[at] != s->parent[j])
                return false;
        }
    }
    return true;
}

/* Do the subtrees of each supernode's children have exactly the numbers before it? */
static bool is_postordered(const wi_symbolic *s) {
    for (int64_t t = 0; t < s->supernodes; t++) {
        int64_t child = t - 1;
        while (child > t - s->size[t] && s->super_parent[child] == t)
            child -= s->size[child];
        if (child != t - s->size[t])
            return false;
    }
    return true;
}

static const char *ordering_named(const char *name) {
    for (size_t k = 0; k < wi_sparse_order_ladder.count; k++) {
        if (strcmp(wi_sparse_order_ladder.rows[k].name, name) == 0)
            return wi_sparse_order_ladder.rows[k].name;
    }
    return "given";
}

/* Does the file's size agree with its header? Checked first, so that a damaged header cannot cause
 * a huge allocation. */
static bool is_header(const header *head, FILE *file) {
    const int64_t most = INT64_MAX / 64;
    if (memcmp(head->magic, magic, sizeof magic) != 0 || head->byte_order != byte_order)
        return false;
    if (head->n < 0 || head->n > most || head->supernodes < 0 || head->supernodes > head->n ||
        head->rows < head->n || head->rows > most)
        return false;
    if (head->kind > WEFT_CHOL_INDEFINITE || head->precision > WEFT_PRECISION_MIXED ||
        !(head->perturbation < 1) ||
        (head->sign_words != 0 && (head->kind != WEFT_CHOL_QUASIDEFINITE ||
                                   head->sign_words != (uint64_t)wi_sign_words(head->n))))
        return false;
    const int64_t words =
        3 * head->n + 3 * head->supernodes + 2 + head->rows + (int64_t)head->sign_words;
    return memchr(head->ordering, 0, sizeof head->ordering) && fseek(file, 0, SEEK_END) == 0 &&
           ftell(file) == (int64_t)sizeof *head + words * (int64_t)sizeof(int64_t) &&
           fseek(file, sizeof *head, SEEK_SET) == 0;
}

/* The message for a file with damaged contents. */
static weft_status damaged(weft_context *ctx, const char *call, const char *path, FILE *file) {
    if (ferror(file))
        return wi_fail(ctx, WEFT_EIO, "%s: %s: reading failed: %s", call, path, strerror(errno));
    return wi_fail(ctx, WEFT_EFORMAT,
                   "%s: %s is not a plan of this version and byte order, or it is damaged; analyze "
                   "and save again",
                   call, path);
}

/* Allocates the arrays that the header tells of, and reads them. */
static weft_status read_arrays(weft_context *ctx, const char *call, const char *path, FILE *file,
                               const header *head, weft_chol *plan, part parts[PARTS]) {
    wi_symbolic *const symbolic = &plan->symbolic;
    weft_status status = wi_symbolic_take_columns(ctx, call, head->n, symbolic);
    if (status == WEFT_OK)
        status = wi_symbolic_take_supernodes(ctx, call, head->supernodes, head->rows, symbolic);
    if (status == WEFT_OK && head->sign_words > 0)
        status = wi_chol_take_signs(ctx, call, plan, head->n);
    if (status != WEFT_OK)
        return status;
    list_parts(plan, head->rows, parts);
    for (int p = 0; p < PARTS; p++) {
        const size_t count = (size_t)parts[p].count;
        if (fread(parts[p].array, sizeof(int64_t), count, file) != count)
            return damaged(ctx, call, path, file);
    }
    return WEFT_OK;
}

/* Computes what a file does not hold of an analysis whose arrays have been checked. */
static weft_status sum_up(weft_context *ctx, const char *call, wi_symbolic *symbolic) {
    const size_t bytes = (size_t)symbolic->n * sizeof(int64_t);
    int64_t *const scratch = wi_host_alloc(bytes);
    if (!scratch)
        return wi_fail(ctx, WEFT_ENOMEM, "%s: no memory for %zu bytes; free some", call, bytes);
    wi_symbolic_sum_up(symbolic, scratch);
    wi_host_free(scratch);
    return WEFT_OK;
}

static void take_facts(weft_chol *plan, const header *head) {
    plan->fingerprint = head->fingerprint;
    plan->kind = (weft_chol_kind)head->kind;
    plan->perturbation = head->perturbation;
    plan->precision = (weft_precision)head->precision;
    plan->narrow = plan->precision == WEFT_PRECISION_MIXED;
    plan->report.nnz_a = head->nnz_a;
    plan->report.ordering = ordering_named(head->ordering);
    wi_chol_describe(plan);
}

static weft_status read_plan(weft_context *ctx, const char *call, const char *path, FILE *file,
                             weft_chol *plan) {
    header head;
    part parts[PARTS];
    wi_symbolic *const symbolic = &plan->symbolic;
    if (fread(&head, sizeof head, 1, file) != 1 || !is_header(&head, file))
        return damaged(ctx, call, path, file);
    weft_status status = read_arrays(ctx, call, path, file, &head, plan, parts);
    if (status != WEFT_OK)
        return status;
    if (checksum(&head, parts) != head.checksum || !are_columns(symbolic) ||
        !are_extents(symbolic, head.rows) || !are_rows(symbolic) || !are_parents(symbolic))
        return damaged(ctx, call, path, file);
    status = sum_up(ctx, call, symbolic);
    if (status != WEFT_OK)
        return status;
    /* A has no more entries than L; memory is allocated by their number. */
    if (!is_postordered(symbolic) || head.nnz_a > (uint64_t)symbolic->nnz_l)
        return damaged(ctx, call, path, file);
    take_facts(plan, &head);
    return WEFT_OK;
}

/* Reads a plan from `file`, and closes it. `name` is for messages. */
static weft_status load(weft_context *ctx, const char *call, const char *name, FILE *file,
                        weft_chol **plan) {
    weft_chol *made;
    weft_status status = wi_chol_create(ctx, call, &made);
    if (status == WEFT_OK) {
        status = read_plan(ctx, call, name, file, made);
        if (status == WEFT_OK)
            *plan = made;
        else
            weft_chol_destroy(made);
    }
    fclose(file);
    return status;
}

static weft_status check_loaded(weft_context *ctx, const char *call, weft_chol **plan) {
    if (wi_check_context(ctx) != WEFT_OK)
        return WEFT_EARG;
    if (!plan)
        return wi_fail(ctx, WEFT_EARG, "%s: plan is NULL; pass where the plan goes", call);
    *plan = NULL;
    return WEFT_OK;
}

weft_status weft_chol_load(weft_context *ctx, const char *path, weft_chol **plan) {
    static const char call[] = "weft_chol_load";
    const weft_status status = check_loaded(ctx, call, plan);
    if (status != WEFT_OK)
        return status;
    if (!path)
        return wi_fail(ctx, WEFT_EARG, "%s: path is NULL; name a file", call);
    FILE *const file = fopen(path, "rb");
    if (!file)
        return wi_fail(ctx, WEFT_EIO, "%s: %s: opening failed: %s", call, path, strerror(errno));
    return load(ctx, call, path, file, plan);
}

weft_status weft_chol_load_memory(weft_context *ctx, const void *memory, size_t bytes,
                                  weft_chol **plan) {
    static const char call[] = "weft_chol_load_memory";
    const weft_status status = check_loaded(ctx, call, plan);
    if (status != WEFT_OK)
        return status;
    if (!memory)
        return wi_fail(ctx, WEFT_EARG, "%s: memory is NULL; pass what weft_chol_save_memory wrote",
                       call);
    wi_memory_file from = {(unsigned char *)(uintptr_t)memory, bytes, 0};
    FILE *const file = wi_memory_file_read(&from);
    if (!file)
        return wi_fail(ctx, WEFT_ENOMEM, "%s: no memory to read from memory; free some", call);
    return load(ctx, call, "memory", file, plan);
}
