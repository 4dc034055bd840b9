/*
 * support/bench.c - argp with every number read strictly; CSV.
 */
#include "bench.h"

#include <argp.h>
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { KEY_REPEATS = 256, KEY_FROM, KEY_TO, KEY_RANKS, KEY_MORE, KEY_FORM, KEY_MEMORY };

static const struct argp_option repeats_option = {
    .name = "repeats",
    .key = KEY_REPEATS,
    .arg = "N",
    .doc = "repetitions timed, of small messages (default 20000)"};
static const struct argp_option from_option = {.name = "from",
                                               .key = KEY_FROM,
                                               .arg = "BYTES",
                                               .doc =
                                                   "smallest message, a power of two (default 8)"};
static const struct argp_option to_option = {
    .name = "to",
    .key = KEY_TO,
    .arg = "BYTES",
    .doc = "largest message, a power of two (default 1048576)"};
static const struct argp_option ranks_option = {
    .name = "ranks", .key = KEY_RANKS, .arg = "N", .doc = "ranks of the whole job (default 208)"};
static const struct argp_option more_option = {
    .name = "more",
    .key = KEY_MORE,
    .arg = "N",
    .doc = "ranks of each process beside its first (default 0)"};

static const struct argp_option memory_option = {
    .name = "memory",
    .key = KEY_MEMORY,
    .arg = "WORD",
    .doc = "the host's: malloc; registered with CUDA; part, of which the first page is. The first "
           "being the default"};
static const char *const memories[] = {"malloc", "registered", "part", NULL};

static double one_way_us(size_t bytes, uint64_t repeats, double seconds)
{
    (void)bytes;
    return seconds / (double)repeats / 2 * 1e6;
}

const struct bench_pair bench_latency = {
    .slots = 1,
    .answered = true,
    .repeats_title = "round_trips",
    .value_title = "one_way_us",
    .value = one_way_us,
};

static double gigabytes_per_s(size_t bytes, uint64_t repeats, double seconds)
{
    return (double)bytes * BENCH_WINDOW * (double)repeats / seconds * 1e-9;
}

static double one_us(size_t bytes, uint64_t repeats, double seconds)
{
    (void)bytes;
    return seconds / (double)repeats * 1e6;
}

const struct bench_pair bench_flush = {
    .slots = 1,
    .answered = true,
    .repeats_title = "puts",
    .value_title = "us",
    .value = one_us,
};

const struct bench_pair bench_bandwidth = {
    .slots = BENCH_WINDOW,
    .answered = false,
    .repeats_title = "windows",
    .value_title = "gigabytes_per_s",
    .value = gigabytes_per_s,
};

struct input {
    struct bench_options *options;
    int has;
    const char *const *forms;
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

static size_t message_size(struct argp_state *state, const char *what, const char *text)
{
    const struct input *input = state->input;
    const uint64_t least = (input->has & BENCH_HAS_WORDS) != 0 ? 4 : 8;
    size_t bytes = number(state, what, text, least, (size_t)1 << 28);
    if (bytes & (bytes - 1))
        argp_error(state, "--%s %s is not a power of two", what, text);
    return bytes;
}

static int word(struct argp_state *state, const char *what, const char *const *words,
                const char *text)
{
    for (int i = 0; words[i]; i++) {
        if (strcmp(text, words[i]) == 0)
            return i;
    }
    argp_error(state, "--%s %s is unknown", what, text);
    return 0;
}

static error_t parse(int key, char *text, struct argp_state *state)
{
    const struct input *input = state->input;
    struct bench_options *options = input->options;
    switch (key) {
    case KEY_REPEATS:
        options->repeats = number(state, "repeats", text, 1, UINT32_MAX / 2);
        return 0;
    case KEY_FROM:
        options->from = message_size(state, "from", text);
        return 0;
    case KEY_TO:
        options->to = message_size(state, "to", text);
        return 0;
    case KEY_RANKS:
        options->ranks = (int)number(state, "ranks", text, 1, INT_MAX);
        return 0;
    case KEY_MORE:
        options->more = (int)number(state, "more", text, 0, 4095);
        return 0;
    case KEY_FORM:
        options->form = word(state, "form", input->forms, text);
        return 0;
    case KEY_MEMORY:
        options->memory = (enum bench_memory)word(state, "memory", memories, text);
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "unexpected argument '%s'", text);
        return EINVAL;
    case ARGP_KEY_END:
        if (options->from > options->to)
            argp_error(state, "--from %zu is larger than --to %zu", options->from, options->to);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* The help for --form: "a, b, c, the first being the default". */
static void list_forms(char *text, size_t room, const char *const *forms)
{
    size_t used = 0;
    for (int i = 0; forms[i] && used < room; i++)
        used += (size_t)snprintf(text + used, room - used, "%s, ", forms[i]);
    if (used < room)
        snprintf(text + used, room - used, "the first being the default");
}

void bench_parse(struct bench_options *options, int argc, char **argv, int has, const char *about,
                 const char *const *forms)
{
    char listed[192];
    struct argp_option table[8] = {repeats_option};
    int used = 1;
    if (has & (BENCH_HAS_SIZES | BENCH_HAS_WORDS)) {
        table[used++] = from_option;
        table[used++] = to_option;
    }
    if (has & BENCH_HAS_RANKS)
        table[used++] = ranks_option;
    if (has & BENCH_HAS_MORE)
        table[used++] = more_option;
    if (has & BENCH_HAS_MEMORY)
        table[used++] = memory_option;
    if (forms) {
        list_forms(listed, sizeof(listed), forms);
        table[used] =
            (struct argp_option){.name = "form", .key = KEY_FORM, .arg = "WORD", .doc = listed};
    }
    const struct argp argp = {.options = table, .parser = parse, .doc = about};
    struct input input = {.options = options, .has = has, .forms = forms};
    *options = (struct bench_options){.from = 8, .to = 1 << 20, .repeats = 20000, .ranks = 208};
    argp_parse(&argp, argc, argv, 0, NULL, &input);
}

uint64_t bench_repeats(const struct bench_options *options, size_t bytes)
{
    uint64_t least = (options->repeats + 99) / 100;
    uint64_t scaled = bytes <= 4096 ? options->repeats : options->repeats * 4096 / bytes;
    return scaled > least ? scaled : least;
}

uint64_t bench_warm_up(uint64_t repeats)
{
    return repeats / 10 + 2; /* memory of a message is registered at its second use */
}

double bench_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail: the clock exists everywhere */
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

void bench_header(const char *size, const char *repeats, const char *value)
{
    printf("%s,%s,%s\n", size, repeats, value);
}

void bench_line(uint64_t size, uint64_t repeats, double value)
{
    printf("%" PRIu64 ",%" PRIu64 ",%.6g\n", size, repeats, value);
}

int bench_status(uint64_t wrong)
{
    if (wrong)
        fprintf(stderr, "bench: %" PRIu64 " words or messages arrived wrong\n", wrong);
    return wrong ? EXIT_FAILURE : EXIT_SUCCESS;
}
