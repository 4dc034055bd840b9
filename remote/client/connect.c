/* remote/client/connect.c - see the header. Runs in the thread that opens the client. */
#include "remote/client/connect.h"

#include "base/say.h"
#include "base/task.h"
#include "boot/socket.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- the list -------------------------------------------------------------------------------- */

static weft_status add_server(struct weft_servers *servers, const char *text, size_t bytes)
{
    struct weft_root roots[WEFT_ROOTS_MAX];
    char name[WEFT_ROOT_BYTES];

    snprintf(name, sizeof(name), "%.*s", (int)bytes, text);
    if (bytes >= sizeof(name) || weft_roots_parse(roots, name) != 1)
        return weft_err(WEFT_ERR_CONFIG, "server \"%.*s\" is not HOST:PORT", (int)bytes, text);
    if (servers->count == WEFT_LINK_SERVERS)
        return weft_err(WEFT_ERR_CONFIG, "more than %d servers", WEFT_LINK_SERVERS);
    for (int i = 0; i < servers->count; i++)
        if (strcmp(servers->name[i], name) == 0)
            return weft_err(WEFT_ERR_CONFIG, "server %s is named twice", name);
    snprintf(servers->name[servers->count], sizeof(name), "%s", name);
    servers->at[servers->count++] = roots[0];
    return WEFT_OK;
}

weft_status weft_servers_parse(struct weft_servers *servers, const char *text)
{
    weft_status status = WEFT_OK;

    servers->count = 0;
    if (text[0] == 0)
        return weft_err(WEFT_ERR_CONFIG, "no servers: WEFT_REMOTE_SERVERS is empty (weft-cuda -s "
                                         "HOST:PORT,... sets it)");
    while (status == WEFT_OK) {
        const size_t bytes = strcspn(text, ",");
        status = add_server(servers, text, bytes);
        if (text[bytes] == 0)
            break;
        text += bytes + 1;
    }
    return status;
}

/* ---- one of them ----------------------------------------------------------------------------- */

enum { QUIET_NS = 2000000000 };

/* Waits until the server sends something; of one that is quiet for long, says so. False: it sends
 * nothing. */
static bool hears(int fd, const char *name, uint64_t deadline)
{
    const uint64_t now = weft_now_ns();

    if (deadline > now + QUIET_NS) {
        if (weft_socket_await(fd, POLLIN, -1, now + QUIET_NS))
            return true;
        weft_say(WEFT_SAY_WARN, "server %s has been silent for %d s, may be for %.0f more", name,
                 (int)(QUIET_NS / 1000000000), (double)(deadline - now - QUIET_NS) * 1e-9);
    }
    return weft_socket_await(fd, POLLIN, -1, deadline);
}

/* Receives all bytes, by the deadline. */
static bool receive(int fd, const char *name, void *data, size_t bytes, uint64_t deadline)
{
    while (bytes > 0) {
        if (!hears(fd, name, deadline))
            return false;
        const ssize_t got = recv(fd, data, bytes, MSG_DONTWAIT);
        if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
            return false;
        if (got > 0) {
            data = (char *)data + got;
            bytes -= (size_t)got;
        }
    }
    return true;
}

static weft_status refused(const char *name, uint32_t no, uint32_t places)
{
    if (no == WEFT_NO_FULL)
        return weft_err(WEFT_ERR_CONFIG, "server %s refuses: all %u places are taken", name,
                        places);
    return weft_err(no == WEFT_NO_MALFORMED ? WEFT_ERR_PROTOCOL : WEFT_ERR_CONFIG,
                    "server %s refuses: %s", name, weft_no_text(no));
}

static weft_status talk(int fd, const char *name, const struct weft_hello_request *request,
                        const struct weft_key *key, uint64_t deadline,
                        struct weft_hello_answer *answer)
{
    struct weft_signed_request wire = {.request = *request};
    struct weft_greeting greeting;

    if (!receive(fd, name, &greeting, sizeof(greeting), deadline))
        return weft_err(WEFT_ERR_TIMEOUT, "server %s does not greet", name);
    const enum weft_no no = weft_greeting_check(&greeting);
    if (no == WEFT_NO_MALFORMED)
        return weft_err(WEFT_ERR_PROTOCOL, "what listens at %s is no weft-gpud", name);
    if (no != WEFT_NO_NONE)
        return refused(name, no, 0);
    weft_request_sign(&wire, key, greeting.nonce);
    if (!weft_socket_send(fd, &wire, sizeof(wire)) ||
        !receive(fd, name, answer, sizeof(*answer), deadline))
        return weft_err(WEFT_ERR_PEER_LOST, "server %s ends the connection", name);
    return answer->no == WEFT_NO_NONE ? WEFT_OK : refused(name, answer->no, answer->places);
}

weft_status weft_server_ask(const struct weft_servers *servers, int server,
                            const struct weft_hello_request *request, const struct weft_key *key,
                            double seconds, struct weft_hello_answer *answer)
{
    const uint64_t deadline = weft_now_ns() + (uint64_t)(seconds * 1e9);
    const char *name = servers->name[server], *reason = "no time";

    const int fd = weft_socket_connect(&servers->at[server], deadline, &reason);
    if (fd < 0)
        return weft_err(WEFT_ERR_TIMEOUT, "server %s: %s", name, reason);
    weft_socket_tune(fd, (int)seconds);
    const weft_status status = talk(fd, name, request, key, deadline, answer);
    close(fd);
    return status;
}
