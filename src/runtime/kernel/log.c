/*
 * runtime/kernel/log.c - turning what a rank logs into text. The format comes from a kernel and is
 * not trusted: each conversion is checked against the kind of the argument that came with it.
 */
#include "runtime/job/job.h"

#include "abi/notice.h"

#include <stdio.h>
#include <string.h>

struct writer {
    char *out;
    size_t left; /* the terminator included */
};

static void put_text(struct writer *w, const char *text, size_t bytes)
{
    if (bytes > w->left - 1)
        bytes = w->left - 1;
    memcpy(w->out, text, bytes);
    w->out += bytes;
    w->left -= bytes;
    *w->out = 0;
}

/*
 * The length of the conversion at text[0] == '%': up to and including its letter; 0 if it is broken
 * or has a width or precision of 1000 or more.
 */
static size_t conversion(const char *text, size_t bytes)
{
    size_t i = 1;

    for (int digits = 0; i < bytes && strchr("-+ #0123456789.hljztL", text[i]) != NULL; i++) {
        digits = text[i] >= '0' && text[i] <= '9' ? digits + 1 : 0;
        if (text[i] == 0 || digits > 3)
            return 0;
    }
    return i < bytes && i < 16 ? i + 1 : 0;
}

/* Prints one argument with the flags of its conversion and the length that its kind has. */
static void put_value(struct writer *w, const char *text, size_t bytes, const weft_log_arg *arg)
{
    char spec[24], value[160];
    size_t n = 0;
    int printed;
    const char letter = text[bytes - 1];
    double real;

    for (size_t i = 0; i + 1 < bytes && n < 16; i++)
        if (strchr("hljztL", text[i]) == NULL)
            spec[n++] = text[i];
    spec[n] = 0;
    memcpy(&real, &arg->bits, sizeof(real));
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    if (arg->kind == WEFT_LOG_REAL) {
        snprintf(spec + n, sizeof(spec) - n, "%c", strchr("eEfFgGaA", letter) ? letter : 'g');
        printed = snprintf(value, sizeof(value), spec, real);
    } else if (letter == 'c' && arg->bits != 0 && arg->bits < 128) {
        printed = snprintf(value, sizeof(value), "%c", (int)arg->bits);
    } else if (arg->kind == WEFT_LOG_PTR && (letter == 'p' || letter == 's')) {
        printed = snprintf(value, sizeof(value), "0x%llx", (unsigned long long)arg->bits);
    } else {
        const char plain = arg->kind == WEFT_LOG_INT ? 'd' : 'u';
        snprintf(spec + n, sizeof(spec) - n, "ll%c", strchr("diuxXo", letter) ? letter : plain);
        printed = snprintf(value, sizeof(value), spec, (unsigned long long)arg->bits);
    }
#pragma GCC diagnostic pop
    if (printed > 0)
        put_text(w, value, strlen(value));
}

void weft_log_format(char *out, size_t bytes, const unsigned char *payload, uint32_t text_bytes,
                     uint32_t payload_bytes, uint32_t args)
{
    struct writer w = {out, bytes};
    const char *text = (const char *)payload;
    uint32_t used = 0;

    *out = 0;
    if (text_bytes > payload_bytes || args > WEFT_LOG_ARGS ||
        payload_bytes - text_bytes != args * sizeof(weft_log_arg)) {
        put_text(&w, "(malformed message)", 19);
        return;
    }
    for (size_t i = 0; i < text_bytes;) {
        size_t plain = i;
        while (plain < text_bytes && text[plain] != '%')
            plain++;
        put_text(&w, text + i, plain - i);
        i = plain;
        if (i == text_bytes)
            break;
        if (i + 1 < text_bytes && text[i + 1] == '%') {
            put_text(&w, "%", 1);
            i += 2;
            continue;
        }
        const size_t length = conversion(text + i, text_bytes - i);
        if (length == 0 || used == args) {
            put_text(&w, text + i, text_bytes - i); /* as it stands: nothing to fill in */
            break;
        }
        weft_log_arg arg;
        memcpy(&arg, payload + text_bytes + used++ * sizeof(arg), sizeof(arg));
        put_value(&w, text + i, length, &arg);
        i += length;
    }
}

void weft_slot_name(const struct weft_job *job, uint32_t slot, char *name, size_t bytes)
{
    if (slot == WEFT_HOST_SLOT)
        snprintf(name, bytes, "host of process %d", job->numbers.process);
    else
        snprintf(name, bytes, "rank %d", job->numbers.first_rank + (int)slot - 1);
}
