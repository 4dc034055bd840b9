/* base/say.c - messages on stderr, a line each, in one write. */
#include "base/say.h"

#include "base/plain.h"
#include "order/model.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LINE = WEFT_SAY_LINE, TRIES = 10, TRY_MS = 100 };

static enum weft_level most = WEFT_SAY_WARN;
static int log_file = STDERR_FILENO;
static int of_all_threads = -1;
static _Thread_local struct weft_say_task of_thread = {.process = -1};

/* What is remembered of the calling task. */
static struct weft_say_task *mine(void)
{
    struct weft_say_task *task = weft_model != NULL ? weft_model->own()->say : NULL;

    return task != NULL ? task : &of_thread;
}

void weft_say_level(enum weft_level level)
{
    __atomic_store_n(&most, level, __ATOMIC_RELAXED);
}

void weft_say_to(int file)
{
    log_file = file;
}

void weft_say_process(int process)
{
    mine()->process = process;
}

void weft_say_process_of_all(int process)
{
    __atomic_store_n(&of_all_threads, process, __ATOMIC_RELAXED);
}

/*
 * The file may be closed: then there is nobody left to tell. It may be full and, because somebody
 * who shares it wanted that, not block: then its reader gets a second, but only one, until it reads
 * again. Who speaks may hold a lock.
 */
static void write_line(const char *text)
{
    static bool rests; /* only a hint: relaxed */
    static const char *const prefix = "weft: ";
    const int own = mine()->process;
    const int speaking = own >= 0 ? own : __atomic_load_n(&of_all_threads, __ATOMIC_RELAXED);
    char line[LINE + 32];
    int n = speaking >= 0 ? snprintf(line, sizeof(line), "%s[p%d] %s\n", prefix, speaking, text)
                          : snprintf(line, sizeof(line), "%s%s\n", prefix, text);

    for (int i = 0; i + 1 < n; i++) /* one line, whatever a value in it holds */
        if (line[i] == '\n')
            line[i] = ' ';
    const int patience = __atomic_load_n(&rests, __ATOMIC_RELAXED) ? 0 : TRIES;
    for (int done = 0, tries = 0; done < n;) {
        ssize_t wrote = write(log_file, line + done, (size_t)(n - done));
        if (wrote < 0 && errno == EAGAIN && tries < patience) {
            poll(&(struct pollfd){.fd = log_file, .events = POLLOUT}, 1, TRY_MS);
            tries++;
        } else if (wrote < 0 && errno != EINTR) {
            __atomic_store_n(&rests, errno == EAGAIN, __ATOMIC_RELAXED);
            return;
        }
        done += wrote > 0 ? (int)wrote : 0;
    }
    __atomic_store_n(&rests, false, __ATOMIC_RELAXED);
}

int weft_format(char *text, size_t bytes, const char *format, va_list list)
{
    const locale_t before = weft_plain_begin();
    const int length = vsnprintf(text, bytes, format, list);

    weft_plain_end(before);
    return length;
}

void weft_text_add(struct weft_text *text, const char *format, ...)
{
    va_list list;

    va_start(list, format);
    const int more = weft_format(text->at + text->used, text->room - text->used, format, list);
    va_end(list);
    text->used += more > 0 ? (size_t)more : 0;
    if (text->used >= text->room)
        text->used = text->room - 1;
}

void weft_say(enum weft_level level, const char *format, ...)
{
    char text[LINE];
    va_list list;

    if (level > __atomic_load_n(&most, __ATOMIC_RELAXED))
        return;
    va_start(list, format);
    weft_format(text, sizeof(text), format, list);
    va_end(list);
    write_line(text);
}

void weft_err_say(weft_status status, const char *format, ...)
{
    struct weft_say_task *task = mine();
    va_list list;

    va_start(list, format);
    weft_format(task->last, sizeof(task->last), format, list);
    va_end(list);
    task->said = task->errors <= __atomic_load_n(&most, __ATOMIC_RELAXED);
    weft_say(task->errors, "%s: %s", weft_status_name(status), task->last);
}

bool weft_err_was_said(const char *text)
{
    const struct weft_say_task *task = mine();
    const size_t length = strlen(text), tail = strlen(task->last);

    return task->said && tail <= length && strcmp(text + length - tail, task->last) == 0;
}

enum weft_level weft_err_level(enum weft_level level)
{
    struct weft_say_task *task = mine();
    const enum weft_level before = task->errors;

    task->errors = level;
    return before;
}

const char *weft_err_last(void)
{
    return mine()->last;
}
