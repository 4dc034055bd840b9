/* fuzz_remote_hello.c - what comes to weft-gpud before it knows who sends it, and what a program
 * hears from what listens there. */
#include "fuzz.h"

#include "base/say.h"
#include "remote/client/connect.h"
#include "remote/wire/hello.h"

static void feed_request(struct fuzz_bytes *bytes, bool signs)
{
    static const struct weft_key key = {.bytes = "key", .size = 3};
    unsigned char wire[WEFT_REQUEST_BYTES], nonce[WEFT_NONCE_BYTES] = {7};
    struct weft_request request, again;

    for (size_t i = 0; i < sizeof(wire); i++)
        wire[i] = (unsigned char)fuzz_byte(bytes);
    if (signs) { /* from one who knows the secret: what it says is looked at */
        memcpy(&request, wire, sizeof(request) < sizeof(wire) ? sizeof(request) : sizeof(wire));
        weft_request_put(wire, &request, &key, nonce);
    }
    const enum weft_no no = weft_request_get(&again, wire, &key, nonce);
    MUST(signs || no == WEFT_NO_SECRET);
    if (no != WEFT_NO_NONE)
        return;
    MUST(memchr(again.root, 0, sizeof(again.root)) != NULL);
    MUST(memchr(again.secret, 0, sizeof(again.secret)) != NULL);
    MUST(again.kind == WEFT_ASK_STATUS || (again.process >= 1 && again.process < again.processes));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_bytes bytes = {data, size};
    unsigned char greeting[WEFT_GREETING_BYTES], answer[WEFT_ANSWER_BYTES], nonce[WEFT_NONCE_BYTES];
    struct weft_servers servers;
    uint32_t clients, places;
    char text[512];

    (void)weft_err_level(WEFT_SAY_INFO);
    const unsigned kind = fuzz_byte(&bytes) % 4;
    if (kind < 2) {
        feed_request(&bytes, kind == 1);
    } else if (kind == 2) {
        for (size_t i = 0; i < sizeof(greeting); i++)
            greeting[i] = (unsigned char)fuzz_byte(&bytes);
        for (size_t i = 0; i < sizeof(answer); i++)
            answer[i] = (unsigned char)fuzz_byte(&bytes);
        MUST(weft_greeting_get(greeting, nonce) < WEFT_NO_COUNT);
        MUST(weft_no_text(weft_answer_get(answer, &clients, &places)) != NULL);
    } else {
        snprintf(text, sizeof(text), "%.*s", (int)bytes.size, (const char *)bytes.data);
        if (weft_servers_parse(&servers, text) == WEFT_OK)
            MUST(servers.count >= 1 && servers.count <= WEFT_LINK_SERVERS);
    }
    return 0;
}
