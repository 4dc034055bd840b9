/*
 * weft-info/tune.c - measures what settings depend on: up to which size puts go through eager
 * channels, and messages at once, the rings of shm, and how puts that go through host memory are
 * cut. What cannot be measured here stays as it is, and that is said.
 */
#include "tune.h"

#include "base/say.h"
#include "device/device.h"
#include "limit.h"
#include "messages.h"
#include "net/staging.h"
#include "pair.h"
#include "stream.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { VALUES = 5, SIZES = 3 };

#ifdef WEFT_INFO_BRIEF
static const size_t sizes[SIZES] = {256 << 10, 512 << 10, 1 << 20};
#else
static const size_t sizes[SIZES] = {256 << 10, 2 << 20, 16 << 20};
#endif

/* A measured value of a setting, by its name in config.def. */
struct tuned {
    const char *name;
    uint64_t value;
    const char *device; /* the kind of device that it is good for; NULL: any */
};

/* The device whose memory the host cannot reach, if there is one. */
struct target {
    const char *kind;                  /* of device, also of one that the host reaches */
    const struct weft_device_ops *ops; /* NULL: none */
    struct weft_device *device;
};

static bool open_target(const struct weft_config *config, struct target *target)
{
    struct weft_config with = *config;

    if (config->device == WEFT_DEVICE_AUTO)
        with.device = weft_device_no_gpu() == NULL ? WEFT_DEVICE_CUDA : WEFT_DEVICE_CPU;
    target->ops = weft_device_choose(&with, false);
    if (target->ops == NULL)
        return false;
    target->kind = with.device == WEFT_DEVICE_CUDA ? "cuda" : "cpu";
    if (target->ops->host_access) {
        target->ops = NULL;
        return true;
    }
    return target->ops->open(&target->device, config, 0, true) == WEFT_OK;
}

static void add(struct tuned *values, int *count, const char *name, uint64_t value,
                const char *device)
{
    values[(*count)++] = (struct tuned){.name = name, .value = value, .device = device};
    printf("  taken: WEFT_%s=%llu%s%s%s\n", name, (unsigned long long)value,
           device != NULL ? " (with WEFT_DEVICE=" : "", device != NULL ? device : "",
           device != NULL ? ")" : "");
}

/* ---- eager channels ------------------------------------------------------------------------ */

static void tune_eager(const struct pair_found *found, const char *kind, struct tuned *values,
                       int *count)
{
    printf("notified puts of a rank to one of another process and back, us\n");
    if (found->left_out != NULL) {
        printf("  not measured: %s; WEFT_EAGER stays as by default\n", found->left_out);
        return;
    }
    printf("  %5s %9s %9s\n", "bytes", "channel", "directly");
    for (int i = 0; i < PAIR_SIZES; i++)
        printf("  %5zu %9.2f %9.2f\n", pair_sizes[i], found->channel_us[i], found->direct_us[i]);
    add(values, count, "EAGER",
        limit_of(pair_sizes, found->channel_us, found->direct_us, PAIR_SIZES), kind);
}

/* ---- messages ------------------------------------------------------------------------------ */

static void tune_messages(const struct messages_found *found, struct tuned *values, int *count)
{
    const char *const name = found->far ? "MSG_EAGER_NET" : "MSG_EAGER";

    printf("messages between hosts %s and back, us\n",
           found->far ? "over a network" : "that share memory");
    printf("  %5s %9s %9s\n", "bytes", "at once", "offered");
    for (int i = 0; i < MESSAGES_SIZES; i++)
        printf("  %5zu %9.2f %9.2f\n", messages_sizes[i], found->eager_us[i], found->offered_us[i]);
    add(values, count, name,
        limit_of(messages_sizes, found->eager_us, found->offered_us, MESSAGES_SIZES), NULL);
}

/* ---- the rings of shm ---------------------------------------------------------------------- */

/* The smallest ring that is nearly as fast as any: the ring is memory for each pair of processes.
 */
static bool tune_ring(const struct weft_config *config, const struct target *target,
                      struct tuned *values, int *count)
{
    enum { FROM = 64 << 10, RINGS = 7 };
    double rate[RINGS], best = 0;
    int taken = 0;

    printf("network shm, puts of %zu MiB into %s memory\n", sizes[SIZES - 1] >> 20,
           target->ops != NULL ? "device" : "host");
    for (int i = 0; i < RINGS; i++) {
        struct weft_config with = *config;
        struct stream stream;
        with.shm_ring = (uint64_t)FROM << i;
        if (!stream_open(&stream, &with, target->ops, target->device, true))
            return false;
        rate[i] = stream_rate(&stream, sizes[SIZES - 1], 1 << 20, 4);
        stream_close(&stream);
        if (rate[i] == 0)
            return false;
        printf("  WEFT_SHM_RING=%-8llu %6.2f GB/s\n", (unsigned long long)with.shm_ring, rate[i]);
        best = rate[i] > best ? rate[i] : best;
    }
    while (rate[taken] < 0.95 * best)
        taken++;
    add(values, count, "SHM_RING", (uint64_t)FROM << taken, NULL);
    return true;
}

/* ---- pieces through host memory ------------------------------------------------------------ */

/* The geometric mean of the rates of all sizes; 0: it failed. piece 0: as the default cuts. */
static double rate_of(struct stream *stream, size_t piece, uint32_t depth)
{
    const struct weft_config by_default = {.stage_memory = stream->config.stage_memory};
    double logs = 0;

    if (piece != 0)
        printf("  pieces of %-8zu %u at once: ", piece, depth);
    else
        printf("  as by default:             ");
    for (int i = 0; i < SIZES; i++) {
        const double rate = stream_rate(
            stream, sizes[i], piece != 0 ? piece : weft_stage_piece(&by_default, sizes[i]),
            piece != 0 ? depth : weft_stage_depth(&by_default));
        if (rate == 0)
            return 0;
        printf(" %6.2f", rate);
        logs += log(rate);
    }
    printf("\n");
    return exp(logs / SIZES);
}

static bool tune_pieces(struct stream *stream, struct tuned *values, int *count)
{
    static const uint32_t depths[] = {2, 4, 8};
    size_t best_piece = 0;
    uint32_t best_depth = 0;

    printf("puts through host memory, GB/s of puts of %zu, %zu and %zu KiB\n", sizes[0] >> 10,
           sizes[1] >> 10, sizes[2] >> 10);
    const double by_default = rate_of(stream, 0, 0);
    double best = by_default * 1.02; /* less is no reason to leave the default */
    if (by_default == 0)
        return false;
    for (size_t piece = 64 << 10; piece <= 2 << 20; piece *= 2) {
        for (size_t d = 0; d < sizeof(depths) / sizeof(depths[0]); d++) {
            const double rate = rate_of(stream, piece, depths[d]);
            if (rate == 0)
                return false;
            if (rate > best) {
                best = rate;
                best_piece = piece;
                best_depth = depths[d];
            }
        }
    }
    if (best_piece == 0) {
        printf("  taken: the default\n");
        return true;
    }
    add(values, count, "STAGE_PIECE", best_piece, NULL);
    add(values, count, "STAGE_DEPTH", best_depth, NULL);
    return true;
}

static bool tune_staging(const struct weft_config *config, const struct target *target,
                         struct tuned *values, int *count)
{
    struct weft_config with = *config;
    struct stream stream;

    if (target->ops == NULL) {
        printf("puts through host memory: not measured, there is no GPU here (%s)\n",
               weft_device_no_gpu() != NULL ? weft_device_no_gpu() : "WEFT_DEVICE=cpu");
        return true;
    }
    for (int i = 0; i < *count; i++)
        if (strcmp(values[i].name, "SHM_RING") == 0)
            with.shm_ring = values[i].value;
    if (!stream_open(&stream, &with, target->ops, target->device, false))
        return false;
    const bool good = tune_pieces(&stream, values, count);
    stream_close(&stream);
    return good;
}

/* Lines that a shell takes. */
static void write_values(FILE *file, const struct tuned *values, int count)
{
    fprintf(file, "# made by weft-info --tune\n");
    for (int i = 0; i < count; i++)
        fprintf(file, "export WEFT_%s=%llu%s%s\n", values[i].name,
                (unsigned long long)values[i].value,
                values[i].device != NULL ? " # for WEFT_DEVICE=" : "",
                values[i].device != NULL ? values[i].device : "");
}

/* What one process measures alone, and the file, if there is one. */
static bool tune_here(const struct weft_config *config, const struct pair_found *found,
                      const struct messages_found *messages, FILE *file)
{
    struct tuned values[VALUES];
    struct target target = {0};
    int count = 0;

    if (!open_target(config, &target))
        return false;
    tune_eager(found, target.kind, values, &count);
    if (found->processes == 2)
        tune_messages(messages, values, &count);
    else
        printf("messages: not measured: it takes two processes; WEFT_MSG_EAGER and "
               "WEFT_MSG_EAGER_NET stay as by default\n");
    const bool good =
        tune_ring(config, &target, values, &count) && tune_staging(config, &target, values, &count);
    if (target.ops != NULL)
        target.ops->close(target.device);
    if (good && file != NULL)
        write_values(file, values, count);
    return good;
}

bool tune(const struct weft_config *config, const char *path)
{
    struct messages_found messages;
    struct pair_found found;
    FILE *file = NULL;

    if (path != NULL && config->process <= 0 && (file = fopen(path, "we")) == NULL) {
        weft_err(WEFT_ERR_SYSTEM, "cannot write %s: %s", path, strerror(errno));
        return false;
    }
    bool good = pair_measure(&found) && (found.processes != 2 || messages_measure(&messages));
    if (good && found.process == 0)
        good = tune_here(config, &found, &messages, file);
    if (file != NULL && (ferror(file) | fclose(file)) != 0) {
        weft_err(WEFT_ERR_SYSTEM, "cannot write %s: %s", path, strerror(errno));
        return false;
    }
    return good;
}
