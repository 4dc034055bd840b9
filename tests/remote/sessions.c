/* sessions.c - see the header. */
#include "sessions.h"

#include "base/say.h"
#include "base/task.h"
#include "boot/local.h"
#include "device/cpu/random/random.h"
#include "fake/fake.h"
#include "order/order.h"
#include "remote/client/client.h"
#include "remote/session/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SERVERS = 4, DEVICES = 4 };

void weft_fake_kernels(const struct weft_fake_registry *registry);

bool sessions_direct;
static struct weft_local *group;
static struct server {
    struct weft_task task;
    struct weft_config config;
    struct weft_session_limits limits;
    const struct weft_cuda_table *table;
    int devices[DEVICES];
    weft_status status;
} server[SERVERS];
static int count, contexts;
static struct weft_cuda_table counting; /* the fake driver's, which counts contexts */
static CUresult (*make_context)(CUcontext *context, CUdevice device);

static CUresult make_counted(CUcontext *context, CUdevice device)
{
    __atomic_fetch_add(&contexts, 1, __ATOMIC_RELAXED);
    return make_context(context, device);
}

int sessions_contexts(void)
{
    return __atomic_load_n(&contexts, __ATOMIC_RELAXED);
}

static void serve(void *argument)
{
    struct server *s = argument;

    weft_local_enter(group, (int)s->config.process);
    s->status = weft_session_serve(&s->config, s->table, &s->limits);
    if (s->status != WEFT_OK)
        weft_local_gone(group, 0);
}

static void must(weft_status status)
{
    if (status != WEFT_OK) {
        fprintf(stderr, "sessions: %s\n", weft_status_text(status));
        exit(EXIT_FAILURE);
    }
}

static void on_race(const char *text, void *argument)
{
    (void)text, (void)argument; /* it was said */
    exit(EXIT_FAILURE);
}

const struct weft_cuda_table *sessions_begin(int servers, int devices, const char *options)
{
    static const char *const names[] = {"one", "two", "three", "four"};
    const struct weft_cuda_table *fake, *table;
    struct weft_config config;
    uint64_t seed;
    char all[256];

    snprintf(all, sizeof(all), "devices=%d%s%s", servers * devices, options[0] != 0 ? "," : "",
             options);
    must(weft_fake_open(&fake, all));
    counting = *fake;
    make_context = counting.context_retain;
    counting.context_retain = make_counted;
    weft_fake_kernels(&weft_fake_registry);
    must(weft_config_load(&config, NULL, NULL));
    if (!sessions_direct && strcmp(config.remote_pipe, "direct") == 0)
        strcpy(config.remote_pipe, "auto");
    weft_say_level((enum weft_level)config.log);
    if (weft_config_random(&config, &seed)) {
        must(weft_random_begin(seed));
        weft_random_on_race(on_race, NULL);
        weft_mutation = weft_order_by_name(config.mutate);
    }
    must(weft_local_begin(&group, servers + 1));
    config.processes = servers + 1;
    count = servers;
    for (int i = 0; i < servers; i++) {
        server[i].table = &counting;
        server[i].config = config;
        server[i].config.process = i + 1;
        for (int d = 0; d < devices; d++)
            server[i].devices[d] = i * devices + d;
        server[i].limits =
            (struct weft_session_limits){.devices = server[i].devices, .device_count = devices};
        must(weft_task_start(&server[i].task, "server", serve, &server[i]));
    }
    weft_local_enter(group, 0);
    config.process = 0;
    must(weft_client_join(&table, &config, names));
    return table;
}

int sessions_end(void)
{
    int good = 1;

    weft_client_close();
    for (int i = 0; i < count; i++) {
        weft_task_join(&server[i].task);
        good = good && server[i].status == WEFT_OK;
    }
    weft_local_end(group);
    if (weft_model != NULL)
        weft_random_end();
    return good;
}
