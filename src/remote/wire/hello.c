/* remote/wire/hello.c - see the header. */
#include "remote/wire/hello.h"

#include "base/say.h"
#include "base/sha256.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const unsigned char magic[8] = "weftgpud";

static void put_u32(unsigned char *at, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        at[i] = (unsigned char)(value >> 8 * i);
}

static uint32_t get_u32(const unsigned char *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

const char *weft_no_text(enum weft_no no)
{
    static const char *const texts[] = {
#define WEFT_NO_TEXT(name, text) text,
        WEFT_NO_MAP(WEFT_NO_TEXT)
#undef WEFT_NO_TEXT
    };

    return (unsigned)no < WEFT_NO_COUNT ? texts[no]
                                        : "for a reason that this version does not know";
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

/* ---- greeting -------------------------------------------------------------------------------- */

void weft_greeting_put(unsigned char wire[WEFT_GREETING_BYTES],
                       const unsigned char nonce[WEFT_NONCE_BYTES])
{
    memcpy(wire, magic, sizeof(magic));
    put_u32(wire + 8, WEFT_GPUD_VERSION);
    memcpy(wire + 12, nonce, WEFT_NONCE_BYTES);
}

enum weft_no weft_greeting_get(const unsigned char wire[WEFT_GREETING_BYTES],
                               unsigned char nonce[WEFT_NONCE_BYTES])
{
    if (memcmp(wire, magic, sizeof(magic)) != 0)
        return WEFT_NO_MALFORMED;
    if (get_u32(wire + 8) != WEFT_GPUD_VERSION)
        return WEFT_NO_VERSION;
    memcpy(nonce, wire + 12, WEFT_NONCE_BYTES);
    return WEFT_NO_NONE;
}

/* ---- request --------------------------------------------------------------------------------- */

enum { CODE = 0, BODY = WEFT_SHA256_BYTES, ROOT = BODY + 16, SECRET = ROOT + 128 };

void weft_request_put(unsigned char wire[WEFT_REQUEST_BYTES], const struct weft_request *request,
                      const struct weft_key *key, const unsigned char nonce[WEFT_NONCE_BYTES])
{
    memset(wire, 0, WEFT_REQUEST_BYTES);
    put_u32(wire + BODY, request->kind);
    put_u32(wire + BODY + 4, request->process);
    put_u32(wire + BODY + 8, request->processes);
    put_u32(wire + BODY + 12, request->cuda);
    memcpy(wire + ROOT, request->root, strnlen(request->root, 127));
    memcpy(wire + SECRET, request->secret, strnlen(request->secret, 127));
    weft_hmac(wire + CODE, key->bytes, key->size, nonce, WEFT_NONCE_BYTES, wire + BODY,
              WEFT_REQUEST_BYTES - BODY);
}

static bool is_text(const unsigned char *at)
{
    for (int i = 0; i < 128; i++) {
        if (at[i] == 0)
            return true;
        if (at[i] < ' ' || at[i] > '~')
            return false;
    }
    return false;
}

enum weft_no weft_request_get(struct weft_request *request,
                              const unsigned char wire[WEFT_REQUEST_BYTES],
                              const struct weft_key *key,
                              const unsigned char nonce[WEFT_NONCE_BYTES])
{
    unsigned char code[WEFT_SHA256_BYTES], unlike = 0;

    weft_hmac(code, key->bytes, key->size, nonce, WEFT_NONCE_BYTES, wire + BODY,
              WEFT_REQUEST_BYTES - BODY);
    for (int i = 0; i < WEFT_SHA256_BYTES; i++)
        unlike |= code[i] ^ wire[CODE + i];
    if (unlike != 0)
        return WEFT_NO_SECRET;
    request->kind = get_u32(wire + BODY);
    request->process = get_u32(wire + BODY + 4);
    request->processes = get_u32(wire + BODY + 8);
    request->cuda = get_u32(wire + BODY + 12);
    if (!is_text(wire + ROOT) || !is_text(wire + SECRET))
        return WEFT_NO_MALFORMED;
    memcpy(request->root, wire + ROOT, 128);
    memcpy(request->secret, wire + SECRET, 128);
    if (request->kind == WEFT_ASK_STATUS)
        return WEFT_NO_NONE;
    return request->kind == WEFT_ASK_SESSION && request->process >= 1 &&
                   request->process < request->processes && request->processes <= 33 &&
                   request->root[0] != 0
               ? WEFT_NO_NONE
               : WEFT_NO_MALFORMED;
}

/* ---- answer ---------------------------------------------------------------------------------- */

void weft_answer_put(unsigned char wire[WEFT_ANSWER_BYTES], enum weft_no no, uint32_t clients,
                     uint32_t places)
{
    put_u32(wire, (uint32_t)no);
    put_u32(wire + 4, clients);
    put_u32(wire + 8, places);
}

enum weft_no weft_answer_get(const unsigned char wire[WEFT_ANSWER_BYTES], uint32_t *clients,
                             uint32_t *places)
{
    const uint32_t no = get_u32(wire);

    *clients = get_u32(wire + 4);
    *places = get_u32(wire + 8);
    return no < WEFT_NO_COUNT ? (enum weft_no)no : WEFT_NO_COUNT;
}
