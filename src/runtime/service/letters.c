/* runtime/service/letters.c - see the header. */
#include "runtime/service/letters.h"

#include <string.h>

struct weft_letter_box *weft_letters_box(const struct weft_job *job, uint32_t slot)
{
    return slot != WEFT_HOST_SLOT && slot < weft_job_slots(job) ? job->ranks.selves[slot]->letters
                                                                : NULL;
}

/* The rank has left its wait without it: as for one that does not wait. */
static bool land_again(struct weft_job *job, struct weft_letters *letters, uint32_t slot,
                       const struct weft_letter_out *letter)
{
    const unsigned char *payload = letter->in->payload;

    letters->refused++;
    weft_used_shared(payload, letter->bytes); /* as the host wrote it */
    if (letter->bytes != 0 &&
        !weft_stream_copy(job, letters->stream, letter->target, payload, letter->bytes))
        return false;
    weft_stream_count(job, letters->stream, weft_count_index(slot, letter->tag));
    if (!weft_stream_mark(job, letters->stream))
        return false;
    letters->again = letters->stream->mark;
    return true;
}

/* Looks at the door of the i-th rank that has a letter. False: the device failed. */
static bool look_at(struct weft_job *job, struct weft_letters *letters, uint32_t i, bool *did)
{
    const uint32_t slot = letters->out[i];
    struct weft_letter_out *letter = &letters->box[slot];
    const uint64_t door = weft_load_acquire_u64(&letter->in->door, ORDER_letter_told);
    const bool taken = weft_door_taken(door) != letter->taken;

    if (!taken && (uint32_t)(door >> 32) == letter->door)
        return true;
    *did = true;
    letter->out = false;
    /* Its flags differ now: nobody takes it under a door whose stamp comes round again. */
    weft_store_relaxed_u64(&letter->in->head[3], 0);
    letters->out[i] = letters->out[--letters->out_count];
    return taken || land_again(job, letters, slot, letter);
}

bool weft_letters_look(struct weft_job *job, struct weft_letters *letters, bool *did)
{
    bool good = true;

    for (uint32_t i = letters->out_count; i-- > 0 && good;)
        good = look_at(job, letters, i, did);
    return good;
}

bool weft_letters_await(struct weft_job *job, struct weft_letters *letters, uint32_t slot)
{
    bool good = true, did;

    while (good && !weft_job_is_failing(job) &&
           (slot == WEFT_HOST_SLOT ? letters->out_count != 0 : letters->box[slot].out)) {
        good = weft_letters_look(job, letters, &did);
        if (weft_model != NULL || job->ranks.image == NULL || job->proxy.spin_ns == 0)
            weft_task_yield(true);
    }
    return good;
}

/* The door of a rank to which a letter can be written now; 0: it cannot. */
static uint64_t open_door(struct weft_job *job, const struct weft_letters *letters, uint32_t slot,
                          const struct weft_letter_box *box)
{
    if (box == NULL || letters->box[slot].out)
        return 0;
    const uint64_t door = weft_load_acquire_u64(&box->door, ORDER_letter_told);
    return weft_door_open(door) && weft_stream_is_idle(job, letters->stream) ? door : 0;
}

/* All of a payload lies behind the head, also a short one: from there it may land again. */
static void write_box(struct weft_letter_box *box, struct weft_letter *letter, const void *payload)
{
    const size_t bytes = letter->bytes;

    if (bytes != 0) {
        memcpy(letter->payload, payload, bytes < WEFT_LETTER_SHORT ? bytes : WEFT_LETTER_SHORT);
        weft_write_shared(box->payload, payload, bytes);
    }
    for (int w = 0; w < 4; w++)
        weft_store_release_u64(&box->head[w], weft_letter_word(letter, w), ORDER_letter_post);
}

bool weft_letters_write(struct weft_job *job, struct weft_letters *letters, uint32_t slot,
                        const struct weft_arrival *arrival)
{
    struct weft_letter_out *out = &letters->box[slot];
    struct weft_letter_box *const box = weft_letters_box(job, slot);
    const size_t bytes = arrival->bytes;
    const uint64_t door = open_door(job, letters, slot, box);

    if (door == 0 || bytes > job->proxy.letter_bytes ||
        (uintptr_t)arrival->target + bytes > WEFT_LETTER_ADDRESSES)
        return false;
    *out = (struct weft_letter_out){.out = true,
                                    .in = box,
                                    .number = letters->count++,
                                    .door = (uint32_t)(door >> 32),
                                    .taken = weft_door_taken(door),
                                    .flags = out->flags + 1,
                                    .tag = weft_notice_tag(arrival->notice),
                                    .target = arrival->target,
                                    .bytes = bytes};
    letters->out[letters->out_count++] = slot;
    struct weft_letter letter = {.address = (uintptr_t)arrival->target,
                                 .bytes = (uint32_t)bytes,
                                 .tag = out->tag,
                                 .stamp = weft_door_stamp(door),
                                 .flag = weft_letter_flag(out->flags)};
    write_box(box, &letter, arrival->source);
    weft_bell_ring(job->ranks.selves[slot]->port.bell); /* a GPU's rank does not sleep */
    return true;
}

bool weft_letters_known(const struct weft_letters *letters, uint32_t number)
{
    for (uint32_t i = 0; i < letters->out_count; i++)
        if ((int32_t)(letters->box[letters->out[i]].number - number) < 0)
            return false;
    return true;
}
