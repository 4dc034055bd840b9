/*
 * runtime/service/text.c - what ranks say: logs, which come in a ring of their own, and errors,
 * which are commands. A line that cannot be printed now keeps its rank from logging more, and from
 * nothing else.
 */
#include "runtime/job/job.h"

#include "ring/command.h"

enum { MOST_BYTES = WEFT_LOG_TEXT + WEFT_LOG_ARGS * sizeof(weft_log_arg) };

/* The message at the ring's tail. */
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

/* All that the rank has logged. True: some of it, or it will have to be looked at again. */
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
    hear(job, slot); /* what it logged before comes first, if there is room for it */
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
