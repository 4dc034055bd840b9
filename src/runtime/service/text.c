/*
 * runtime/service/text.c - what ranks say: logs, which come in a ring of their own, and errors,
 * which are commands. A line that cannot be printed now keeps its rank from logging more, and from
 * nothing else. The format comes from a kernel and is not trusted: each conversion is checked
 * against the kind of the argument that came with it.
 */
#include "runtime/job/job.h"

#include "abi/notice.h"
#include "base/say.h"
#include "ring/command.h"
#include "runtime/watch/watch.h"

#include <stdio.h>
#include <string.h>

/*
 * Measures the conversion at text[0] == '%': up to and including its letter; 0 if it is broken or
 * has a width or precision of 1000 or more.
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

/*
 * Prints one argument with the flags of its conversion and the length that its kind has. string: of
 * a WEFT_LOG_STRING.
 */
static void put_value(struct weft_text *w, const char *text, size_t bytes, const weft_log_arg *arg,
                      const char *string)
{
    char spec[24];
    size_t n = 0;
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
        weft_text_add(w, spec, real);
    } else if (arg->kind == WEFT_LOG_STRING) {
        snprintf(spec + n, sizeof(spec) - n, "s");
        weft_text_add(w, spec, string);
    } else if (letter == 'c' && arg->bits != 0 && arg->bits < 128) {
        weft_text_add(w, "%c", (int)arg->bits);
    } else if (arg->kind == WEFT_LOG_PTR && letter == 's' && arg->bits == 0) {
        weft_text_add(w, "(null)");
    } else if (arg->kind == WEFT_LOG_PTR && (letter == 'p' || letter == 's')) {
        weft_text_add(w, "0x%llx", (unsigned long long)arg->bits);
    } else {
        const char plain = arg->kind == WEFT_LOG_INT ? 'd' : 'u';
        snprintf(spec + n, sizeof(spec) - n, "ll%c", strchr("diuxXo", letter) ? letter : plain);
        weft_text_add(w, spec, (unsigned long long)arg->bits);
    }
#pragma GCC diagnostic pop
}

/* Arguments that come with a format: values, and behind them the bytes of those that are text. */
struct arguments {
    const unsigned char *value, *text;
    uint32_t left, text_left; /* values; bytes of text */
};

/* Takes the next value; string becomes its text, if it is one. */
static weft_log_arg next_argument(struct arguments *from, char string[WEFT_LOG_TEXT + 1])
{
    weft_log_arg arg;

    memcpy(&arg, from->value, sizeof(arg));
    from->value += sizeof(arg);
    from->left--;
    if (arg.kind == WEFT_LOG_STRING) {
        uint32_t bytes = arg.bits < from->text_left ? (uint32_t)arg.bits : from->text_left;
        bytes = bytes < WEFT_LOG_TEXT ? bytes : WEFT_LOG_TEXT;
        memcpy(string, from->text, bytes);
        string[bytes] = 0;
        from->text += bytes;
        from->text_left -= bytes;
    } else if (arg.kind == WEFT_LOG_COMM) {
        snprintf(string, WEFT_LOG_TEXT, "%s", weft_comm_name((weft_comm)arg.bits).text);
        arg.kind = WEFT_LOG_STRING;
    } else if (arg.kind == WEFT_LOG_TYPE || arg.kind == WEFT_LOG_OPERATION) {
        snprintf(string, WEFT_LOG_TEXT, "%s",
                 arg.kind == WEFT_LOG_TYPE ? weft_type_name(arg.bits)
                                           : weft_operation_name(arg.bits));
        arg.kind = WEFT_LOG_STRING;
    }
    return arg;
}

void weft_log_format(char *out, size_t bytes, const unsigned char *payload, uint32_t text_bytes,
                     uint32_t payload_bytes, uint32_t args)
{
    struct weft_text w = {out, bytes, 0};
    const char *text = (const char *)payload;
    char string[WEFT_LOG_TEXT + 1];

    *out = 0;
    if (text_bytes > payload_bytes || args > WEFT_LOG_ARGS ||
        payload_bytes - text_bytes < args * sizeof(weft_log_arg)) {
        weft_text_add(&w, "(malformed message)");
        return;
    }
    struct arguments from = {.value = payload + text_bytes, .left = args};
    from.text = from.value + args * sizeof(weft_log_arg);
    from.text_left = (uint32_t)(payload + payload_bytes - from.text);
    for (size_t i = 0; i < text_bytes;) {
        size_t plain = i;
        while (plain < text_bytes && text[plain] != '%')
            plain++;
        weft_text_add(&w, "%.*s", (int)(plain - i), text + i);
        i = plain;
        if (i == text_bytes)
            break;
        if (i + 1 < text_bytes && text[i + 1] == '%') {
            weft_text_add(&w, "%%");
            i += 2;
            continue;
        }
        const size_t length = conversion(text + i, text_bytes - i);
        if (length == 0 || from.left == 0) {
            /* As it stands: nothing to fill in. */
            weft_text_add(&w, "%.*s", (int)(text_bytes - i), text + i);
            break;
        }
        const weft_log_arg arg = next_argument(&from, string);
        put_value(&w, text + i, length, &arg, string);
        i += length;
    }
}

struct weft_name weft_slot_name(const struct weft_job *job, uint32_t slot)
{
    struct weft_name name;

    if (slot == WEFT_HOST_SLOT)
        snprintf(name.text, sizeof(name.text), "host of process %d", job->numbers.process);
    else
        snprintf(name.text, sizeof(name.text), "rank %d", job->numbers.first_rank + (int)slot - 1);
    return name;
}

/* ---- from the rings ---------------------------------------------------------------------------
 */

enum { LINES_NS = 100000000 }; /* ns that an error waits for the lines before it */
enum { MOST_BYTES = WEFT_LOG_TEXT + WEFT_LOG_ARGS * sizeof(weft_log_arg) };

/* Reads the message at the ring's tail. */
static enum weft_taken read_text(const struct weft_command_consumer *ring,
                                 const struct weft_command *command, char text[WEFT_TEXT_BYTES])
{
    unsigned char payload[MOST_BYTES];

    if (command->width > sizeof(payload) || command->offset > command->width)
        return WEFT_TAKEN_WRONG;
    if (!weft_command_payload(ring, payload, (uint32_t)command->width))
        return WEFT_TAKEN_NOT;
    weft_log_format(text, WEFT_TEXT_BYTES, payload, (uint32_t)command->offset,
                    (uint32_t)command->width, command->height);
    return WEFT_TAKEN;
}

/* Prints what the rank has logged. True: some of it, or it will have to be looked at again. */
static bool hear(struct weft_job *job, uint32_t slot)
{
    struct weft_command_consumer *logs = &job->proxy.of_ranks[slot].logs;
    struct weft_command command;
    char text[WEFT_TEXT_BYTES];
    bool did = false;

    while (weft_command_peek(logs, &command)) {
        const enum weft_taken taken =
            command.kind == WEFT_COMMAND_LOG ? read_text(logs, &command, text) : WEFT_TAKEN_WRONG;
        if (taken == WEFT_TAKEN_WRONG)
            weft_command_wrong(job, slot, &command);
        if (taken != WEFT_TAKEN)
            break;
        if (!weft_device_log(job, weft_slot_name(job, slot).text, text))
            return did; /* a bell rings when there is room */
        weft_command_pop(logs, (uint32_t)command.width);
        did = true;
    }
    return true;
}

static bool log_round(struct weft_job *job)
{
    const struct weft_said *said = job->space.state.signals->said;
    bool did = false;

    if (weft_printer_full(job)) /* to read lines in vain in each round would delay all data */
        return false;
    for (uint32_t slot = 0; slot < weft_job_slots(job) && !weft_job_is_failing(job); slot++)
        if (weft_load_relaxed_u32(&said[slot].lines) != weft_load_relaxed_u32(&said[slot].heard))
            did |= hear(job, slot);
    return did;
}

static enum weft_taken fail_command(struct weft_job *job, uint32_t slot,
                                    const struct weft_command *command, bool alone)
{
    struct weft_command_consumer *ring = &job->proxy.of_ranks[slot].commands;
    char text[WEFT_TEXT_BYTES], work[120];
    const enum weft_taken taken = alone ? read_text(ring, command, text) : WEFT_TAKEN_NOT;

    if (taken != WEFT_TAKEN)
        return taken;
    hear(job, slot); /* what it logged before comes first, where standard output takes it */
    weft_printer_drain(job, LINES_NS);
    weft_services_work(job, command->pitch, work, sizeof(work));
    weft_job_fail(job,
                  command->tag < WEFT_STATUS_COUNT ? (weft_status)command->tag : WEFT_ERR_PROTOCOL,
                  "%s: %s%s", weft_slot_name(job, slot).text, text, work);
    weft_command_pop(ring, (uint32_t)command->width);
    return WEFT_TAKEN;
}

const struct weft_service weft_text_service = {
    .round = {[WEFT_NET_SEND] = log_round},
    .owns[WEFT_OWNS_COMMANDS] = WEFT_KIND(WEFT_COMMAND_FAIL),
    .command = fail_command,
};
