/* fuzz_remote_hello.c - what comes to weft-gpud before it knows who sends it, and what a program
 * hears from what listens there. */
#include "fuzz.h"

#include "base/say.h"
#include "remote/client/connect.h"
#include "remote/wire/hello.h"

static void fill(struct fuzz_bytes *bytes, void *memory, size_t size)
{
    for (size_t i = 0; i < size; i++)
        ((unsigned char *)memory)[i] = (unsigned char)fuzz_byte(bytes);
}

static void feed_request(struct fuzz_bytes *bytes, bool signs)
{
    static const struct weft_key key = {.bytes = "key", .size = 3};
    static const unsigned char nonce[WEFT_NONCE_BYTES] = {7};
    struct weft_signed_request wire;
    const struct weft_hello_request *r = &wire.request;

    fill(bytes, &wire, sizeof(wire));
    if (signs) /* from one who knows the secret: what it says is looked at */
        weft_request_sign(&wire, &key, nonce);
    const enum weft_no no = weft_request_check(&wire, &key, nonce);
    MUST(signs || no == WEFT_NO_SECRET);
    if (no != WEFT_NO_NONE)
        return;
    MUST(memchr(r->root, 0, sizeof(r->root)) != NULL);
    MUST(memchr(r->secret, 0, sizeof(r->secret)) != NULL);
    MUST(r->kind == WEFT_ASK_STATUS || (r->process >= 1 && r->process < r->processes));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_bytes bytes = {data, size};
    struct weft_greeting greeting;
    struct weft_hello_answer answer;
    struct weft_servers servers;
    char text[512];

    (void)weft_err_level(WEFT_SAY_INFO);
    const unsigned kind = fuzz_byte(&bytes) % 4;
    if (kind < 2) {
        feed_request(&bytes, kind == 1);
    } else if (kind == 2) {
        fill(&bytes, &greeting, sizeof(greeting));
        fill(&bytes, &answer, sizeof(answer));
        MUST(weft_greeting_check(&greeting) < WEFT_NO_COUNT);
        MUST(weft_no_text(answer.no) != NULL);
    } else {
        snprintf(text, sizeof(text), "%.*s", (int)bytes.size, (const char *)bytes.data);
        if (weft_servers_parse(&servers, text) == WEFT_OK)
            MUST(servers.count >= 1 && servers.count <= WEFT_LINK_SERVERS);
    }
    return 0;
}
