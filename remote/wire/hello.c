/* remote/wire/hello.c - see the header. Pure functions for any thread. */
#include "remote/wire/hello.h"

#include "base/say.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char magic[8] = "weftgpud";

const char *weft_no_text(uint32_t no)
{
    static const char *const texts[] = {
#define WEFT_NO_TEXT(name, text) text,
        WEFT_NO_MAP(WEFT_NO_TEXT)
#undef WEFT_NO_TEXT
    };

    return no < WEFT_NO_COUNT ? texts[no] : "for a reason that this version does not know";
}

/* ---- the secret ------------------------------------------------------------------------------ */

static weft_status read_key(struct weft_key *key, const char *name, int file)
{
    struct stat info;

    if (fstat(file, &info) != 0 || !S_ISREG(info.st_mode))
        return weft_err(WEFT_ERR_CONFIG, "secret file %s: not a file", name);
    if ((info.st_mode & 077) != 0)
        return weft_err(WEFT_ERR_CONFIG,
                        "secret file %s: others can read it (mode %03o; chmod 600 %s)", name,
                        (unsigned)info.st_mode & 0777u, name);
    const ssize_t got = read(file, key->bytes, sizeof(key->bytes));
    key->size = got > 0 ? (size_t)got : 0;
    while (key->size > 0 && key->bytes[key->size - 1] == '\n')
        key->size--;
    if (key->size == 0 || info.st_size > WEFT_KEY_MOST)
        return weft_err(WEFT_ERR_CONFIG, "secret file %s: %lld bytes, not 1 to %d", name,
                        (long long)info.st_size, WEFT_KEY_MOST);
    return WEFT_OK;
}

weft_status weft_key_read(struct weft_key *key, const char *name)
{
    const int file = open(name, O_RDONLY | O_CLOEXEC | O_NOCTTY);

    if (file < 0)
        return weft_err(WEFT_ERR_CONFIG, "secret file %s: %s", name, strerror(errno));
    const weft_status status = read_key(key, name, file);
    close(file);
    return status;
}

/* ---- greeting and request -------------------------------------------------------------------- */

void weft_greeting_put(struct weft_greeting *greeting)
{
    memcpy(greeting->magic, magic, sizeof(magic));
    greeting->version = WEFT_GPUD_VERSION;
}

enum weft_no weft_greeting_check(const struct weft_greeting *greeting)
{
    if (memcmp(greeting->magic, magic, sizeof(magic)) != 0)
        return WEFT_NO_MALFORMED;
    return greeting->version == WEFT_GPUD_VERSION ? WEFT_NO_NONE : WEFT_NO_VERSION;
}

void weft_request_sign(struct weft_signed_request *request, const struct weft_key *key,
                       const unsigned char nonce[WEFT_NONCE_BYTES])
{
    weft_hmac(request->code, key->bytes, key->size, nonce, WEFT_NONCE_BYTES, &request->request,
              sizeof(request->request));
}

static bool is_text(const char at[128])
{
    for (int i = 0; i < 128; i++) {
        if (at[i] == 0)
            return true;
        if (at[i] < ' ' || at[i] > '~')
            return false;
    }
    return false;
}

enum weft_no weft_request_check(const struct weft_signed_request *request,
                                const struct weft_key *key,
                                const unsigned char nonce[WEFT_NONCE_BYTES])
{
    const struct weft_hello_request *r = &request->request;
    struct weft_signed_request right = *request;
    unsigned char unlike = 0;

    weft_request_sign(&right, key, nonce);
    for (int i = 0; i < WEFT_SHA256_BYTES; i++)
        unlike |= right.code[i] ^ request->code[i];
    explicit_bzero(&right, sizeof(right));
    if (unlike != 0)
        return WEFT_NO_SECRET;
    if (!is_text(r->root) || !is_text(r->secret))
        return WEFT_NO_MALFORMED;
    if (r->kind == WEFT_ASK_STATUS)
        return WEFT_NO_NONE;
    return r->kind == WEFT_ASK_SESSION && r->process >= 1 && r->process < r->processes &&
                   r->processes <= 33 && r->root[0] != 0
               ? WEFT_NO_NONE
               : WEFT_NO_MALFORMED;
}
