/*
 * fuzz_listener.c - strangers at the listener of a job: any number of connections that send any
 * bytes in any pieces, and end when they like. Only the right hello comes in, once for each
 * process, and the listener keeps no descriptor.
 *
 * The bytes are a script: what is done by which connection, with how many of the bytes behind.
 */
#include "fuzz.h"

#include "base/say.h"
#include "boot/listener.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { PROCESSES = 3, CALLERS = 8 };

static const char secret[] = "loom";
static bool in[PROCESSES];
static uint64_t identity[PROCESSES];
static int inside[2 * PROCESSES], inside_count;

static enum weft_refusal enter(void *context, const struct weft_hello *hello, int fd)
{
    struct weft_listener *listener = context;
    const int process = hello->process;

    MUST(process >= 0 && process < PROCESSES);
    if (in[process] && identity[process] != hello->identity)
        return WEFT_REFUSAL_TAKEN;
    if (in[process]) {
        close(fd); /* as the hub does with second attempts */
        return WEFT_REFUSAL_NONE;
    }
    in[process] = true;
    identity[process] = hello->identity;
    inside[inside_count++] = fd;
    if (inside_count == PROCESSES)
        weft_listener_shut(listener);
    return WEFT_REFUSAL_NONE;
}

/* Connections of the kind that needs no port. */
static int listen_here(struct sockaddr_un *address, socklen_t *size)
{
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    *size = sizeof(address->sun_family); /* the system chooses a name */
    MUST(fd >= 0 && bind(fd, (struct sockaddr *)address, *size) == 0 && listen(fd, 64) == 0);
    *size = sizeof(*address);
    MUST(getsockname(fd, (struct sockaddr *)address, size) == 0);
    return fd;
}

static void serve(struct weft_listener *listener)
{
    struct pollfd polled[WEFT_LISTENER_SOCKETS];

    weft_listener_watch(listener, polled);
    if (poll(polled, WEFT_LISTENER_SOCKETS, 0) >= 0)
        weft_listener_serve(listener, polled);
}

static void hang_up(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void dial(int *fd, const struct sockaddr_un *address, socklen_t size)
{
    hang_up(fd);
    *fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    MUST(*fd >= 0);
    if (connect(*fd, (const struct sockaddr *)address, size) != 0)
        hang_up(fd);
}

/* A whole hello, right but for what the script changes. */
static void say_hello(int fd, struct fuzz_bytes *script)
{
    struct weft_hello hello = {.process = (int)(fuzz_byte(script) % (PROCESSES + 1)),
                               .processes = PROCESSES};
    unsigned char wire[WEFT_HELLO_BYTES];

    strcpy(hello.secret, secret);
    weft_hello_put(wire, &hello);
    const unsigned at = fuzz_byte(script) % sizeof(wire);
    wire[at] ^= (unsigned char)fuzz_byte(script);
    (void)!send(fd, wire, sizeof(wire), MSG_NOSIGNAL);
}

/* It is the same again when whatever was opened is closed. */
static int lowest_free(void)
{
    const int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

    MUST(fd >= 0);
    close(fd);
    return fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_bytes script = {data, size};
    struct weft_hello expected = {.processes = PROCESSES};
    struct weft_listener listener;
    struct sockaddr_un address;
    socklen_t address_size;
    int callers[CALLERS];

    const int lowest = lowest_free();
    weft_say_level(WEFT_SAY_ERROR);
    strcpy(expected.secret, secret);
    memset(in, 0, sizeof(in));
    inside_count = 0;
    memset(callers, -1, sizeof(callers));
    weft_listener_open(&listener, listen_here(&address, &address_size), &expected, 28, enter,
                       &listener);
    while (script.size > 0) {
        const unsigned op = fuzz_byte(&script);
        int *caller = &callers[op % CALLERS];
        size_t bytes = fuzz_byte(&script);
        switch (op / CALLERS % 5) {
        case 0:
            dial(caller, &address, address_size);
            break;
        case 1:
            bytes = bytes < script.size ? bytes : script.size;
            if (*caller >= 0)
                (void)!send(*caller, script.data, bytes, MSG_NOSIGNAL);
            script.data += bytes;
            script.size -= bytes;
            break;
        case 2:
            if (*caller >= 0)
                say_hello(*caller, &script);
            break;
        case 3:
            hang_up(caller);
            break;
        default:
            serve(&listener);
        }
    }
    serve(&listener);
    serve(&listener);
    weft_listener_shut(&listener);
    for (int i = 0; i < CALLERS; i++)
        hang_up(&callers[i]);
    for (int i = 0; i < inside_count; i++)
        close(inside[i]);
    MUST(lowest_free() == lowest);
    return 0;
}
