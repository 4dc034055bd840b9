/* forked.c - see the header. */
#include "forked.h"

#include "boot/interface.h"
#include "fake/fake.h"
#include "remote/client/client.h"
#include "remote/session/session.h"
#include "suite.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { DEVICES = 4 };

void weft_fake_kernels(const struct weft_fake_registry *registry);

pid_t forked_servers[FORKED_SERVERS];
bool forked_hosts;
struct weft_config forked_config;
static int servers;

static void serve(int process, int devices, const char *options)
{
    const int numbers[DEVICES] = {0, 1, 2, 3};
    const struct weft_session_limits limits = {
        .devices = numbers, .device_count = devices, .ends_process = true};
    struct weft_config own = forked_config;
    const struct weft_cuda_table *table;

    own.process = process;
    own.root_fd = -1;
    if (forked_hosts && (unshare(CLONE_NEWUTS) != 0 || sethostname(&"0123456789"[process], 1) != 0))
        _exit(EXIT_FAILURE);
    if (weft_fake_open(&table, options) != WEFT_OK)
        _exit(EXIT_FAILURE);
    weft_fake_kernels(&weft_fake_registry);
    _exit(weft_session_serve(&own, table, &limits) == WEFT_OK ? EXIT_SUCCESS : EXIT_FAILURE);
}

bool forked_join(int count, int devices, const char *options)
{
    static const char *const names[] = {"one", "two", "three", "four"};
    struct weft_config *config = &forked_config;
    const struct weft_cuda_table *table;
    char all[128];
    int fd = -1;

    snprintf(all, sizeof(all), "devices=%d,memory=256M,%s", devices, options);
    if (weft_config_load(config, NULL, NULL) != WEFT_OK ||
        weft_interface_listen(&fd, config->root, config->interface, WEFT_REACH_HOST) != WEFT_OK ||
        weft_secret_make(config->secret) != WEFT_OK)
        return false;
    config->root_fd = fd;
    config->process = 0;
    config->processes = count + 1;
    for (servers = 0; servers < count; servers++) {
        forked_servers[servers] = fork();
        if (forked_servers[servers] == 0)
            serve(servers + 1, devices, all);
    }
    if (weft_client_join(&table, config, names) != WEFT_OK)
        return false;
    weft_cudart_use(table);
    suite_register(NULL);
    return true;
}

void forked_end(void)
{
    weft_client_close();
    for (int s = 0; s < servers; s++)
        waitpid(forked_servers[s], NULL, 0);
}
