/*
 * gpu/measure.c - the table of messages; argp with every number read strictly; CSV.
 */
#include "measure.h"

#include <argp.h>
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

const struct measure measures[MEASURES] = {
    {"notify", WAY_NOTIFY, 0},
    {"notify_relaxed", WAY_NOTIFY_RELAXED, 0},
    {"put_notify", WAY_PUT_NOTIFY, 4},
    {"put_notify", WAY_PUT_NOTIFY, 8},
    {"put_notify", WAY_PUT_NOTIFY, 64},
    {"put_notify", WAY_PUT_NOTIFY, 256},
    {"put_notify", WAY_PUT_NOTIFY, 1024},
    {"put_notify", WAY_PUT_NOTIFY, 8192},
    {"put_notify", WAY_PUT_NOTIFY, 65536},
    {"put_notify", WAY_PUT_NOTIFY, 1048576},
};

enum { CHECKED = 20, FULL_BYTES = 8192 }; /* larger messages are sent less often */

enum { MESSAGE_MOST = 1 << 20, STREAM_MOST = 64 << 20, RATE_MOST = 1024 };
enum {
    KEY_THREADS = 256,
    KEY_REPEATS,
    KEY_TO,
    KEY_SAME,
    KEY_RANKS,
    KEY_PUTS,
    KEY_FROM,
    KEY_VOLUME,
    KEY_BYTES
};

static const struct argp_option threads_option = {
    .name = "threads", .key = KEY_THREADS, .arg = "N", .doc = "threads of a block (default 128)"};
static const struct argp_option repeats_option = {
    .name = "repeats",
    .key = KEY_REPEATS,
    .arg = "N",
    .doc = "how often, timed: round trips of up to 8 KiB (longer ones less often), barriers, or "
           "messages of a rank (default 20000)"};
static const struct argp_option to_option = {
    .name = "to", .key = KEY_TO, .arg = "BYTES", .doc = "largest message (default 1048576)"};
static const struct argp_option put_option = {
    .name = "to",
    .key = KEY_TO,
    .arg = "BYTES",
    .doc = "bytes of a put of a stream; largest message (default 1048576)"};
static const struct argp_option same_option = {
    .name = "same", .key = KEY_SAME, .doc = "both ranks on the device of one process"};
static const struct argp_option ranks_option = {
    .name = "ranks",
    .key = KEY_RANKS,
    .arg = "N",
    .doc = "blocks of a device (default: as many as it holds, unless said above)"};
static const struct argp_option puts_option = {
    .name = "puts",
    .key = KEY_PUTS,
    .arg = "N",
    .doc = "puts of a rank in the timed part of a stream (default 64)"};
static const struct argp_option from_option = {
    .name = "from",
    .key = KEY_FROM,
    .arg = "BYTES",
    .doc = "also streams of puts of so many bytes, 4 times, 16 times, ... up to --to"};
static const struct argp_option volume_option = {
    .name = "volume",
    .key = KEY_VOLUME,
    .arg = "BYTES",
    .doc = "instead of --puts: about what all ranks of a device put together in the timed part"};

static const struct argp_option bytes_option = {
    .name = "bytes",
    .key = KEY_BYTES,
    .arg = "BYTES",
    .doc = "of a message, a multiple of 8 up to 1024 (default 8)"};

struct input {
    struct measure_options *options;
    int words_most, has;
};

static uint64_t number(struct argp_state *state, const char *what, const char *text,
                       uint64_t lowest, uint64_t highest)
{
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (!isdigit((unsigned char)*text) || *end || errno || value < lowest || value > highest)
        argp_error(state, "--%s %s is not a whole number in %" PRIu64 "..%" PRIu64, what, text,
                   lowest, highest);
    return value;
}

static error_t parse(int key, char *text, struct argp_state *state)
{
    const struct input *input = state->input;
    struct measure_options *options = input->options;
    switch (key) {
    case KEY_THREADS:
        options->threads = (int)number(state, "threads", text, 1, 1024);
        return 0;
    case KEY_REPEATS:
        options->repeats = number(state, "repeats", text, 1, 1000000);
        return 0;
    case KEY_TO:
        options->to = number(state, "to", text, 0,
                             input->has & MEASURE_HAS_FROM ? STREAM_MOST : MESSAGE_MOST);
        return 0;
    case KEY_FROM:
        options->from = number(state, "from", text, 16, STREAM_MOST);
        return 0;
    case KEY_VOLUME:
        options->volume = number(state, "volume", text, 1, (uint64_t)1 << 40);
        return 0;
    case KEY_SAME:
        options->same = true;
        return 0;
    case KEY_RANKS:
        options->ranks = (int)number(state, "ranks", text, 0, 65536);
        return 0;
    case KEY_PUTS:
        options->puts = number(state, "puts", text, STREAM_GROUP, 1000000);
        return 0;
    case KEY_BYTES:
        options->bytes = number(state, "bytes", text, 8, RATE_MOST);
        if (options->bytes % 8 != 0)
            argp_error(state, "--bytes %zu is not a multiple of 8", options->bytes);
        return 0;
    case ARGP_KEY_END: /* ranks share one piece of memory, and 16 bytes are copied at once */
        if ((input->has & MEASURE_HAS_PUTS) && (options->to == 0 || options->to % 16 != 0))
            argp_error(state, "--to %zu is not a multiple of 16", options->to);
        if (options->from % 16 != 0 || options->from > options->to)
            argp_error(state, "--from %zu is not a multiple of 16 up to %zu", options->from,
                       options->to);
        if (options->from == 0)
            options->from = options->to;
        return 0;
    case ARGP_KEY_ARGS:
        options->words = state->argv + state->next;
        options->words_count = state->argc - state->next;
        if (options->words_count > input->words_most)
            argp_error(state, "unexpected argument '%s'", options->words[input->words_most]);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

void measure_parse(struct measure_options *options, int argc, char **argv, int has,
                   const char *about, const char *arguments, int words_most)
{
    struct argp_option table[10] = {0};
    int used = 0;
    if (!(has & MEASURE_NO_THREADS))
        table[used++] = threads_option;
    if (!(has & MEASURE_NO_REPEATS))
        table[used++] = repeats_option;
    if (has & MEASURE_HAS_TO)
        table[used++] = has & MEASURE_HAS_PUTS ? put_option : to_option;
    if (has & MEASURE_HAS_SAME)
        table[used++] = same_option;
    if (has & MEASURE_HAS_RANKS)
        table[used++] = ranks_option;
    if (has & MEASURE_HAS_PUTS)
        table[used++] = puts_option;
    if (has & MEASURE_HAS_FROM) {
        table[used++] = from_option;
        table[used++] = volume_option;
    }
    if (has & MEASURE_HAS_BYTES)
        table[used++] = bytes_option;
    const struct argp argp = {
        .options = table, .parser = parse, .args_doc = arguments, .doc = about};
    struct input input = {.options = options, .words_most = words_most, .has = has};
    *options = (struct measure_options){
        .threads = 128, .repeats = 20000, .puts = 64, .bytes = 8, .to = 1048576};
    argp_parse(&argp, argc, argv, 0, NULL, &input);
}

void measure_list(struct measure_options *options, int skip)
{
    const int words = options->words_count > skip ? options->words_count - skip : 0;
    options->list_count = words ? words : 1;
    options->list = calloc((size_t)options->list_count, sizeof(*options->list));
    if (!options->list) {
        fprintf(stderr, "bench: out of memory\n");
        exit(EXIT_FAILURE);
    }
    for (int i = 0; i < words; i++) {
        const char *text = options->words[skip + i];
        char *end;
        errno = 0;
        const unsigned long value = strtoul(text, &end, 10);
        if (!isdigit((unsigned char)*text) || *end || errno || value < 1 || value > 65536) {
            fprintf(stderr, "bench: %s is not a number of ranks in 1..65536\n", text);
            exit(EXIT_FAILURE);
        }
        options->list[i] = (int)value;
    }
}

struct measure_trips measure_trips_of(const struct measure_options *options, size_t bytes)
{
    uint64_t timed =
        bytes <= FULL_BYTES ? options->repeats : options->repeats * FULL_BYTES / bytes + 1;
    return (struct measure_trips){.checked = CHECKED, .warm_up = timed / 10 + 1, .timed = timed};
}

double measure_one_way(const struct measure_trips *trips, double seconds)
{
    return seconds / (double)trips->timed / 2 * 1e6;
}

struct measure_stream measure_stream_of(const struct measure_options *options, size_t bytes,
                                        int ranks)
{
    const uint64_t whole = (uint64_t)STREAM_GROUP * MESSAGE_MOST / bytes;
    const uint64_t group = whole < 1 ? 1 : whole < STREAM_GROUP ? whole : STREAM_GROUP;
    const uint64_t puts =
        options->volume ? options->volume / (bytes * (uint64_t)ranks) : options->puts;
    const uint64_t groups = puts / group, least = STREAM_AHEAD;
    const uint64_t timed = groups > least ? groups : least;
    return (struct measure_stream){.group = group, .groups = {timed / 4 + 1, timed}};
}

double measure_stream_rate(const struct measure_options *options,
                           const struct measure_stream *stream, size_t bytes, int ranks,
                           double seconds)
{
    const double puts = (double)(stream->groups[1] * stream->group);
    return puts * (double)bytes * ranks * (options->both ? 2 : 1) / seconds * 1e-9;
}

void measure_header(void)
{
    puts("name,kind,bytes,threads,value,unit,ranks");
}

void measure_line(const char *name, const char *kind, size_t bytes, int threads, double us)
{
    measure_ranks_line(name, kind, bytes, threads, 1, us, "us");
}

void measure_ranks_line(const char *name, const char *kind, size_t bytes, int threads, int ranks,
                        double value, const char *unit)
{
    printf("%s,%s,%zu,%d,%.4g,%s,%d\n", name, kind, bytes, threads, value, unit, ranks);
    fflush(stdout); /* what is measured stays, should the program be stopped */
}

bool measure_right(const char *kind, size_t bytes, uint64_t wrong)
{
    if (wrong)
        fprintf(stderr, "bench: %s of %zu bytes: %" PRIu64 " words arrived wrong\n", kind, bytes,
                wrong);
    return !wrong;
}
