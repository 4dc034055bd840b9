/*
 * fuzz_trace.c - files that may be timelines: any bytes give tracks whose events are there and in
 * order, which can be drawn, or one line that says what is wrong.
 */
#include "fuzz.h"

#include "weft-trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct draw_options all = {.last = INT32_MAX, .width = 500, .host = true};
    struct trace trace;
    uint8_t *copy = malloc(size + 1);
    FILE *nowhere = fopen("/dev/null", "w");
    size_t events = 0;

    MUST(copy != NULL && nowhere != NULL);
    memcpy(copy, data, size);
    FILE *in = size != 0 ? fmemopen(copy, size, "r") : NULL;
    if (in != NULL && trace_read(in, "fuzz", &trace)) {
        for (size_t i = 0; i < trace.tracks_count; i++) {
            const struct trace_track *track = &trace.tracks[i];
            MUST(track->first + track->events <= trace.events_count);
            events += track->events;
            for (size_t k = 0; k < track->events; k++) {
                const struct trace_event *e = &trace.events[track->first + k];
                MUST(e->track == i && e->end >= e->begin && e->category < TRACE_CATEGORIES);
                MUST(k == 0 || e[-1].begin <= e->begin);
                MUST(memchr(e->name, 0, sizeof(e->name)) != NULL);
            }
        }
        MUST(events == trace.events_count);
        trace_draw(&trace, nowhere, &all);
        trace_free(&trace);
    }
    if (in != NULL)
        fclose(in);
    fclose(nowhere);
    free(copy);
    return 0;
}
