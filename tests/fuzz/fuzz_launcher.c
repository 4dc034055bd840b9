/*
 * fuzz_launcher.c - what weftrun is sent by a helper on another host, and the hosts that it is
 * given. A helper may say anything; it speaks for its own processes only, and each ends once.
 */
#include "fuzz.h"

#include "weftrun.h"

#include <stdarg.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PROCESSES = 4, FIRST = 1, COUNT = 2 };

/* Of main.c. */
void complain(const char *format, ...)
{
    char line[512];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
}

uint64_t now_ns(void)
{
    return 1000000000;
}

static void ended(void *context, int process, int status)
{
    struct job *job = context;

    MUST(process >= job->processes[process].host->first && process < FIRST + COUNT);
    MUST(job->processes[process].running);
    MUST(WIFEXITED(status) || WIFSIGNALED(status));
    job->processes[process].running = false;
}

static void failed(void *context, struct host *host, int exit_status, const char *text)
{
    struct job *job = context;

    MUST(exit_status > 0 && exit_status < 256 && strlen(text) > 0);
    for (int k = host->first; k < host->first + host->count; k++)
        job->processes[k].running = false;
}

/* Two hosts, the second of which we speak for. */
static void check_records(struct fuzz_bytes *in)
{
    struct host hosts[2] = {{.name = (char *)"a", .count = 1, .errors = -1},
                            {.name = (char *)"b", .first = FIRST, .count = COUNT, .errors = -1}};
    struct options options = {.processes = PROCESSES, .hosts = hosts, .host_count = 2};
    struct process processes[PROCESSES];
    struct job job = {.options = &options, .processes = processes, .listener = -1};
    const struct remote_events events = {&job, ended, failed};
    struct host *host = &hosts[in->size % 3 == 0 ? 0 : 1];
    int pair[2];

    if (host == &hosts[0]) {
        host->first = 0; /* the one with process 0, which also names the root */
        host->count = FIRST + COUNT;
        hosts[1].count = 0;
    }
    for (int k = 0; k < PROCESSES; k++) {
        processes[k] = (struct process){.log = -1, .running = true, .host = host};
        processes[k].out = processes[k].err =
            (struct stream){.from = -1, .terminal = -1, .log = &processes[k].log, .process = k};
        processes[k].out.prefix = true;
    }
    hosts[0].link = hosts[1].link = (struct link){.in = -1, .out = -1};
    MUST(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) == 0);
    MUST(link_open(&host->link, pair[0], pair[0], 30));
    while (in->size > 0 && host->link.in >= 0) {
        const ssize_t sent =
            send(pair[1], in->data, in->size < 4000 ? in->size : 4000, MSG_NOSIGNAL);
        MUST(sent > 0);
        in->data += sent;
        in->size -= (size_t)sent;
        remote_read(&job, host, &events);
    }
    close(pair[1]);
    remote_ended(&job, host, 0, &events);
    for (int k = 0; k < PROCESSES; k++)
        output_close(&processes[k]);
    for (int k = FIRST + COUNT; k < PROCESSES; k++)
        MUST(processes[k].running && processes[k].pid == 0);
}

static void check_hosts(const struct fuzz_bytes *in)
{
    struct options options = {0};
    char *text = strndup((const char *)in->data, in->size);

    MUST(text != NULL);
    options.processes = (int)(in->size % 7);
    if (hosts_add(&options, text) == NULL && hosts_place(&options) == 0) {
        int next = 0;
        for (int i = 0; i < options.host_count; i++) {
            const struct host *host = &options.hosts[i];
            MUST(host->name[0] != 0 && host->name[0] != '-' && host->first == next);
            MUST(strpbrk(host->name, " ;&|$`'\"\\<>()") == NULL);
            next += host->count;
        }
        MUST(next == options.processes);
    }
    hosts_free(&options);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_bytes in = {data, size};

    if (fuzz_byte(&in) % 4 == 0)
        check_hosts(&in);
    else
        check_records(&in);
    return 0;
}
