/*
 * fuzz_helper.c - what weftrun's helper on another host is told, by records over its link. Whoever
 * has weftrun's place may say anything: only processes that were started get signals, nothing but
 * NAME=VALUE goes into the environment, and what was refused ends it.
 */
#include "fuzz.h"

#include "helper.h"

#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PID = 0x40000000, MOST_RECORD = 256 };

static struct helper *helper;
static int started, launches_left; /* processes; then one cannot be started */
static int reader;                 /* process 0's standard input; -1: nobody reads it */

/* ---- in place of main.c, launch.c and the system ----------------------------------------------
 */

void complain(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(helper->complaint, sizeof(helper->complaint), format, arguments);
    va_end(arguments);
}

uint64_t now_ns(void)
{
    return 1000000000;
}

int launch_process(struct job *job, int k)
{
    MUST(job == &helper->job && k >= helper->first && k < helper->first + helper->count);
    MUST(!job->processes[k].running && job->options->program[0] != NULL);
    if (launches_left-- == 0)
        return EXIT_NOT_RUN;
    if (k == 0)
        reader = dup(STDIN_FILENO);
    job->processes[k].pid = PID + k;
    job->processes[k].running = true;
    started++;
    return 0;
}

int __wrap_kill(pid_t pid, int number);
int __wrap_kill(pid_t pid, int number)
{
    MUST(number > 0 && number < NSIG);
    MUST(pid >= PID && helper->job.processes[pid - PID].running);
    return 0;
}

int __wrap_putenv(char *variable);
int __wrap_putenv(char *variable)
{
    MUST(variable[0] != '=' && strchr(variable, '=') != NULL);
    return 0;
}

int __wrap_chdir(const char *path);
int __wrap_chdir(const char *path)
{
    MUST(strlen(path) < PATH_MAX);
    return path[0] == '/' ? 0 : -1;
}

/* ---- records ----------------------------------------------------------------------------------
 */

static void send_record(int to, enum record kind, const void *payload, size_t bytes)
{
    const struct weft_header header = {
        .bytes = (uint32_t)bytes, .kind = (uint16_t)kind, .op = WEFT_OP_FRAME};
    unsigned char wire[WEFT_HEADER_BYTES + MOST_RECORD];

    weft_header_put(wire, &header);
    if (bytes > 0)
        memcpy(wire + WEFT_HEADER_BYTES, payload, bytes);
    bytes += WEFT_HEADER_BYTES;
    MUST(send(to, wire, bytes, MSG_NOSIGNAL) == (ssize_t)bytes);
}

/* One more record: a job that is right, any kind with any bytes, or bytes that are no record. */
static void send_some(int to, struct fuzz_bytes *in)
{
    const unsigned how = fuzz_byte(in), length = fuzz_byte(in);
    const size_t bytes = length < in->size ? length : in->size;
    char text[64];

    if (how == 0) {
        const int processes = 1 + (int)(length & 7), first = (int)(length >> 3) % processes;
        snprintf(text, sizeof(text), "%d.%d.%d %d %d %d", WEFT_VERSION_MAJOR, WEFT_VERSION_MINOR,
                 WEFT_VERSION_PATCH, first, processes - first, processes);
        send_record(to, RECORD_JOB, text, strlen(text));
        return;
    }
    if (how == 255)
        MUST(send(to, in->data, bytes, MSG_NOSIGNAL) == (ssize_t)bytes);
    else
        send_record(to, (enum record)(how % (RECORD_COUNT + 2)), in->data, bytes);
    in->data += bytes;
    in->size -= bytes;
}

static void check(void)
{
    const struct job *job = &helper->job;

    MUST(memchr(job->secret, 0, sizeof(job->secret)) != NULL && helper->running == started);
    MUST(helper->input_begin <= helper->input_end);
    MUST(helper->input == NULL || helper->to_input >= 0);
    MUST(helper->to_input < 0 || (helper->first == 0 && job->started));
    if (job->processes == NULL)
        return;
    MUST(helper->first >= 0 && helper->count > 0 && helper->options.processes <= 65536 &&
         helper->first <= helper->options.processes - helper->count);
    for (char **v = helper->options.variables; v != NULL && *v != NULL; v++)
        MUST(strchr(*v, '=') > *v);
}

/* As helper.c does it. */
static void obey(void)
{
    struct weft_header header;
    const void *payload;
    int taken = 0;
    const bool more = link_read(&helper->link);

    while (!helper->over && (taken = link_take(&helper->link, &header, &payload)) > 0)
        if (helper_obey(helper, &header, payload))
            check();
        else
            helper_fail(helper, EXIT_OWN_ERROR);
    helper->over |= taken < 0 || !more;
}

/* Process 0 reads now and then. */
static void read_input(size_t most)
{
    char text[256];

    if (reader >= 0 && fcntl(reader, F_SETFL, O_NONBLOCK) == 0)
        (void)!read(reader, text, most < sizeof(text) ? most : sizeof(text));
    if (helper->input != NULL && helper->to_input >= 0)
        helper_feed(helper);
}

static void free_list(char **list)
{
    for (char **word = list; word != NULL && *word != NULL; word++)
        free(*word);
    free(list);
}

static void close_all(int other_end)
{
    struct job *job = &helper->job;

    free_list(helper->options.variables);
    free_list(helper->options.program);
    free(job->processes);
    free(helper->polled);
    free(helper->input);
    if (job->listener >= 0 && !job->started) /* RECORD_START has closed it */
        close(job->listener);
    if (helper->to_input >= 0)
        close(helper->to_input);
    if (reader >= 0)
        close(reader);
    link_close(&helper->link);
    close(other_end);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_bytes in = {data, size};
    struct helper own = {.job = {.listener = -1}, .to_input = -1, .signals = -1};
    int pair[2];

    signal(SIGPIPE, SIG_IGN);
    helper = &own;
    own.job.options = &own.options;
    started = 0;
    reader = -1;
    launches_left = (int)(fuzz_byte(&in) % 16);
    MUST(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
    MUST(link_open(&own.link, pair[0], open("/dev/null", O_WRONLY | O_CLOEXEC), 30));
    while (in.size > 0 && !own.over) {
        send_some(pair[1], &in);
        obey();
        read_input(in.size);
    }
    close_all(pair[1]);
    return 0;
}
