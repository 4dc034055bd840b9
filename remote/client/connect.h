/* remote/client/connect.h - asks a server for a session. */
#ifndef WEFT_REMOTE_CLIENT_CONNECT_H
#define WEFT_REMOTE_CLIENT_CONNECT_H

#include "base/netif.h"
#include "remote/link/links.h"
#include "remote/wire/hello.h"

struct weft_servers {
    int count;
    struct weft_root at[WEFT_LINK_SERVERS];
    char name[WEFT_LINK_SERVERS][WEFT_ROOT_BYTES]; /* HOST:PORT, as it was written */
};

/* Takes HOST:PORT,... apart. Errors: CONFIG, said: malformed, one twice, too many, none. */
weft_status weft_servers_parse(struct weft_servers *servers, const char *text);

/* Asks one server. Blocking, `seconds` at most. Errors: TIMEOUT, PEER_LOST, PROTOCOL, CONFIG
 * (refused), said. */
weft_status weft_server_ask(const struct weft_servers *servers, int server,
                            const struct weft_hello_request *request, const struct weft_key *key,
                            double seconds, struct weft_hello_answer *answer);

#endif
