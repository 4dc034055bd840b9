/*
 * main.c - weft-gpud: options, the socket, and the daemon's loop.
 */
#include "gpud.h"

#include "base/config.h"
#include "base/poll.h"
#include "base/say.h"
#include "base/task.h"
#include "boot/socket.h"

#include <argp.h>
#include <errno.h>
#include <pwd.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum { OPTION_NO_SECRET = 256, OPTION_USER, OPTION_DRIVER, OPTION_WARM, OPTION_IDLE };

static struct gpud gpud = {.listen = {"127.0.0.1", "7070"},
                           .driver = "cuda",
                           .places = 16,
                           .warm = 1,
                           .user = (uid_t)-1,
                           .listener = -1};
static volatile sig_atomic_t ending;

void say(const char *format, ...)
{
    char line[512] = "weft-gpud: ";
    const size_t begin = strlen(line);
    va_list list;

    va_start(list, format);
    vsnprintf(line + begin, sizeof(line) - begin - 1, format, list);
    va_end(list);
    strcat(line, "\n");
    (void)!write(STDERR_FILENO, line, strlen(line));
}

/* ---- options --------------------------------------------------------------------------------- */

static const struct argp_option option_list[] = {
    {"listen", 'l', "HOST:PORT", 0,
     "where programs connect (default 127.0.0.1:7070); port 0: the system chooses one", 0},
    {"secret-file", 's', "FILE", 0,
     "the secret that programs must know; a file that only its owner can read", 0},
    {"no-secret", OPTION_NO_SECRET, NULL, 0, "let in everybody; only at a loopback address", 0},
    {"devices", 'd', "N,...", 0, "which GPUs (default: all)", 0},
    {"clients", 'c', "N", 0, "most programs at once (default 16)", 0},
    {"memory", 'm', "BYTES", 0, "most memory of one program on each GPU; K, M, G", 0},
    {"idle-s", OPTION_IDLE, "N", 0,
     "ends the session of a program that asks for nothing for so many seconds (default: never)", 0},
    {"warm", OPTION_WARM, "N", 0, "sessions that are ready before a program comes (default 1)", 0},
    {"user", OPTION_USER, "NAME", 0, "sessions run as this user", 0},
    {"driver", OPTION_DRIVER, "cuda|FILE", 0,
     "this machine's driver (default), or a shared object that has its functions", 0},
    {0},
};

static long number(struct argp_state *state, const char *option, const char *text, const char **end,
                   long least, long most)
{
    char *stop;

    errno = 0;
    const long value = strtol(text, &stop, 10);
    if (errno != 0 || stop == text || value < least || value > most || (end == NULL && *stop != 0))
        argp_error(state, "--%s: \"%s\" is not a number from %ld to %ld", option, text, least,
                   most);
    if (end != NULL)
        *end = stop;
    return value;
}

static void add_devices(struct argp_state *state, const char *text)
{
    do {
        if (gpud.device_count == WEFT_LINK_DEVICES)
            argp_error(state, "--devices: more than %d", WEFT_LINK_DEVICES);
        const int device = (int)number(state, "devices", text, &text, 0, 255);
        for (int i = 0; i < gpud.device_count; i++)
            if (gpud.devices[i] == device)
                argp_error(state, "--devices: %d is named twice", device);
        gpud.devices[gpud.device_count++] = device;
        if (*text != 0 && *text != ',')
            argp_error(state, "--devices: \"%s\" is no list of numbers", text);
    } while (*text++ == ',');
}

static void set_user(struct argp_state *state, const char *name)
{
    const struct passwd *entry = getpwnam(name);

    if (entry == NULL)
        argp_error(state, "--user: there is no %s", name);
    gpud.user = entry->pw_uid;
    gpud.group = entry->pw_gid;
}

/* HOST:PORT; port 0, which no root has, is the system's choice. */
static void set_listen(struct argp_state *state, const char *text)
{
    struct weft_root roots[WEFT_ROOTS_MAX];
    char with_port[WEFT_ROOT_BYTES];
    const size_t bytes = strlen(text);
    const bool any = bytes > 2 && strcmp(text + bytes - 2, ":0") == 0;

    snprintf(with_port, sizeof(with_port), "%.*s%s", (int)(bytes - any), text, any ? "1" : "");
    if (weft_roots_parse(roots, with_port) != 1)
        argp_error(state, "--listen: \"%s\" is not HOST:PORT", text);
    gpud.listen = roots[0];
    if (any)
        strcpy(gpud.listen.port, "0");
}

static error_t take_option(int key, char *text, struct argp_state *state)
{
    switch (key) {
    case 'l':
        set_listen(state, text);
        return 0;
    case 's':
        gpud.secret_file = text;
        return 0;
    case OPTION_NO_SECRET:
        gpud.no_secret = true;
        return 0;
    case 'd':
        add_devices(state, text);
        return 0;
    case 'c':
        gpud.places = (uint32_t)number(state, "clients", text, NULL, 1, MOST_CLIENTS);
        return 0;
    case 'm':
        if (!weft_config_bytes(text, &gpud.memory) || gpud.memory == 0)
            argp_error(state, "--memory: \"%s\" is not a number of bytes", text);
        return 0;
    case OPTION_IDLE:
        gpud.idle_s = (uint32_t)number(state, "idle-s", text, NULL, 1, 10000000);
        return 0;
    case OPTION_WARM:
        gpud.warm = (uint32_t)number(state, "warm", text, NULL, 0, MOST_WARM);
        return 0;
    case OPTION_USER:
        set_user(state, text);
        return 0;
    case OPTION_DRIVER:
        gpud.driver = text;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* Of so many devices all, or those that were asked for. False: some are not there, said. */
static bool choose_devices(int there)
{
    const bool all = gpud.device_count == 0;

    for (int i = 0; all && i < there && i < WEFT_LINK_DEVICES; i++)
        gpud.devices[gpud.device_count++] = i;
    for (int i = 0; i < gpud.device_count; i++)
        if (gpud.devices[i] >= there) {
            say("--devices: there is no device %d: the driver has %d", gpud.devices[i], there);
            return false;
        }
    return true;
}

/* Whether who may come in is decided. */
static bool take_secret(void)
{
    if (gpud.no_secret && gpud.secret_file == NULL && weft_host_is_loopback(gpud.listen.host))
        return true;
    if (gpud.no_secret)
        say("--no-secret is for a loopback address alone, and not beside --secret-file");
    else if (gpud.secret_file == NULL)
        say("--secret-file is missing: whoever knows the secret may use the GPUs");
    else
        return weft_key_read(&gpud.key, gpud.secret_file) == WEFT_OK;
    return false;
}

/* Whether as many files may be open as there may be strangers; else that is said. */
static bool take_files(void)
{
    const rlim_t needed = STRANGERS + gpud.warm + OWN_FILES;
    struct rlimit files = {0, 0};

    getrlimit(RLIMIT_NOFILE, &files); /* it fails for no limit that there is */
    if (files.rlim_cur < needed && files.rlim_max >= needed) {
        files.rlim_cur = needed;
        (void)setrlimit(RLIMIT_NOFILE, &files); /* allowed up to the other one */
    }
    if (files.rlim_cur < needed)
        say("it needs %llu files, and may have %llu open (ulimit -n)", (unsigned long long)needed,
            (unsigned long long)files.rlim_max);
    return files.rlim_cur >= needed;
}

/* ---- the daemon ------------------------------------------------------------------------------ */

static void end(int signal_number)
{
    (void)signal_number;
    ending = 1;
}

static void wake(int signal_number)
{
    (void)signal_number; /* poll returns */
}

static int port_of(int fd)
{
    union weft_address address;
    socklen_t bytes = sizeof(address);

    if (getsockname(fd, &address.any, &bytes) != 0)
        return 0;
    return ntohs(address.any.sa_family == AF_INET ? address.v4.sin_port : address.v6.sin6_port);
}

static void announce(void)
{
    const bool v6 = strchr(gpud.listen.host, ':') != NULL;
    const int count = gpud.device_count;

    printf("weft-gpud: listening on %s%s%s:%d, %d device%s (%s), %u clients\n", v6 ? "[" : "",
           gpud.listen.host, v6 ? "]" : "", port_of(gpud.listener), count, count == 1 ? "" : "s",
           gpud.driver, gpud.places);
    fflush(stdout);
}

static void serve(void)
{
    enum { TICK_MS = 500 };
    struct pollfd polled[2 * (1 + STRANGERS)];

    while (!ending) {
        listener_watch(&gpud, polled);
        const int ready = weft_poll_open(polled, 1 + STRANGERS, TICK_MS);
        child_reap(&gpud);
        child_warm(&gpud);
        if (ready >= 0)
            listener_serve(&gpud, polled);
    }
}

int main(int argc, char **argv)
{
    static const struct argp argp = {.options = option_list,
                                     .parser = take_option,
                                     .args_doc = "",
                                     .doc =
                                         "Lets CUDA programs of other hosts use this host's GPUs.\v"
                                         "Programs: weft-cuda run -s HOST:PORT --secret-file FILE "
                                         "-- PROGRAM. See docs/remote.md."};
    struct sigaction action = {.sa_handler = end};
    int devices = 0;

    argp_parse(&argp, argc, argv, 0, NULL, NULL);
    gpud.pid = getpid();
    if (!take_secret() || !take_files() || !child_count_devices(&gpud, &devices) ||
        !choose_devices(devices) || weft_socket_listen(&gpud.listener, &gpud.listen) != WEFT_OK)
        return EXIT_FAILURE;
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    action.sa_handler = wake;
    sigaction(SIGCHLD, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
    listener_open(&gpud);
    child_warm(&gpud);
    announce();
    serve();
    close(gpud.listener);
    listener_tell(&gpud, UINT64_MAX);
    say("%u sessions ended", child_end_all(&gpud));
    return EXIT_SUCCESS;
}
