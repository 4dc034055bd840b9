/*
 * base/say.h - one-line messages on stderr, and errors with their numbers.
 *
 * The function that detects an error says it once, with the numbers, through weft_err; callers
 * pass the status up in silence.
 */
#ifndef WEFT_BASE_SAY_H
#define WEFT_BASE_SAY_H

#include "weft/types.h"

#include <stdarg.h>
#include <stdbool.h>

enum weft_level { WEFT_SAY_ERROR, WEFT_SAY_WARN, WEFT_SAY_INFO };

/* What is remembered of a task: a thread's own, or kept by the model for each of its tasks. */
enum { WEFT_SAY_LINE = 1024 };
struct weft_say_task {
    int process;              /* process that the task speaks for: weft_say_process */
    enum weft_level errors;   /* level of the task's errors: weft_err_level */
    bool said;                /* `last` was printed */
    char last[WEFT_SAY_LINE]; /* text of the task's last error: weft_err_last */
};

/* Messages above this level are dropped; default WEFT_SAY_WARN. */
void weft_say_level(enum weft_level level);
/* Sends messages to `file` in place of stderr from now on; called before other threads speak. */
void weft_say_to(int file);

/* Formats as vsnprintf, in the locale C. */
int weft_format(char *text, size_t bytes, const char *format, va_list list)
    __attribute__((format(printf, 3, 0)));

/* Text that grows, in the locale C, as long as there is room: it ends with a zero always. */
struct weft_text {
    char *at;
    size_t room, used;
};
void weft_text_add(struct weft_text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Prints "weft: [p<process>] text\n" in one write. Any thread. */
void weft_say(enum weft_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * Says the error, keeps its text for weft_err_last of this task; its value is the status. (A
 * macro, so that whoever reads the code, analyzers included, sees that the value is not OK.)
 */
#define weft_err(status, ...)                                                                      \
    ({                                                                                             \
        weft_err_say((status), __VA_ARGS__);                                                       \
        (status);                                                                                  \
    })
void weft_err_say(weft_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* A step of a function that has nothing to undo: it ends with the first error. */
#define WEFT_TRY(step)                                                                             \
    do {                                                                                           \
        const weft_status try_status = (step);                                                     \
        if (try_status != WEFT_OK)                                                                 \
            return try_status;                                                                     \
    } while (0)

/*
 * Sets the level at which weft_err says this task's errors; returns the one before. WEFT_SAY_INFO
 * is for a trial whose failure is no error: its text is kept all the same.
 */
enum weft_level weft_err_level(enum weft_level level);

/* Whether the text ends with that of this task's last weft_err, and that was printed. */
bool weft_err_was_said(const char *text);

/* The text of this task's last weft_err; "" if none. */
const char *weft_err_last(void);

/* Sets the process that the calling task speaks for (-1: not known yet; no prefix then). */
void weft_say_process(int process);
/* Sets the process for all threads of this one that have not set it for themselves. */
void weft_say_process_of_all(int process);

/* Names without WEFT_; "?": there is no such type, or operation. */
const char *weft_type_name(uint64_t type);
const char *weft_operation_name(uint64_t operation);

#endif
