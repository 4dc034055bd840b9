/*
 * remote/wire/hello.h - how a program asks weft-gpud for a session, as pure functions.
 *
 * The server greets with a number that it uses once. The program answers with what it wants, and a
 * code over both that only who knows the secret can make: the secret itself never travels. Then the
 * server says yes, or why not, and the connection ends. All travel as their bytes.
 */
#ifndef WEFT_REMOTE_WIRE_HELLO_H
#define WEFT_REMOTE_WIRE_HELLO_H

#include "base/sha256.h"
#include "weft/types.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    WEFT_GPUD_VERSION = 10,
    WEFT_NONCE_BYTES = 32,
    WEFT_KEY_MOST = 4096 /* bytes of a secret */
};

struct weft_greeting {
    char magic[8];
    uint32_t version;
    unsigned char nonce[WEFT_NONCE_BYTES];
};

enum weft_ask_kind { WEFT_ASK_SESSION = 1, WEFT_ASK_STATUS };

struct weft_hello_request {
    uint32_t kind, process, processes;
    char root[128];   /* where the program listens, boot/control.h */
    char secret[128]; /* the job's, not the server's */
};

struct weft_signed_request {
    unsigned char code[WEFT_SHA256_BYTES];
    struct weft_hello_request request;
};

struct weft_hello_answer {
    uint32_t no;              /* enum weft_no, or of a later version */
    uint32_t clients, places; /* programs that are served; how many there may be */
};
_Static_assert(sizeof(struct weft_greeting) == 8 + 4 + 32 &&
                   sizeof(struct weft_signed_request) == 32 + 3 * 4 + 2 * 128 &&
                   sizeof(struct weft_hello_answer) == 3 * 4,
               "they travel as their bytes: no padding");

/* Why a server says no. X(name, "text") - numbers of the answer may follow it. */
#define WEFT_NO_MAP(X)                                                                             \
    X(NONE, "")                                                                                    \
    X(VERSION, "it speaks another version of weft-gpud's protocol")                                \
    X(SECRET, "the program has another secret, or none (--secret-file)")                           \
    X(MALFORMED, "the request makes no sense")                                                     \
    X(FULL, "all places are taken")                                                                \
    X(SYSTEM, "it cannot start a session")

enum weft_no {
#define WEFT_NO_ENUM(name, text) WEFT_NO_##name,
    WEFT_NO_MAP(WEFT_NO_ENUM)
#undef WEFT_NO_ENUM
        WEFT_NO_COUNT
};

struct weft_key {
    unsigned char bytes[WEFT_KEY_MOST];
    size_t size;
};

/* Reads the secret of a file that its owner alone can read, without a newline at its end. Errors:
 * CONFIG. */
weft_status weft_key_read(struct weft_key *key, const char *file);

/* Fills in a greeting, all but its nonce. */
void weft_greeting_put(struct weft_greeting *greeting);
/* Checks a greeting. MALFORMED: no server of weft's. VERSION: of another version. */
enum weft_no weft_greeting_check(const struct weft_greeting *greeting);

void weft_request_sign(struct weft_signed_request *request, const struct weft_key *key,
                       const unsigned char nonce[WEFT_NONCE_BYTES]);
/* Checks a request: the code first, in constant time; nothing else is looked at before. */
enum weft_no weft_request_check(const struct weft_signed_request *request,
                                const struct weft_key *key,
                                const unsigned char nonce[WEFT_NONCE_BYTES]);

const char *weft_no_text(uint32_t no);

#endif
