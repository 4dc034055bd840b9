/* list.c - weft-cuda list and status: what the servers have, and whom they serve. */
#include "weft_cuda.h"

#include "base/say.h"
#include "remote/client/client.h"
#include "remote/client/connect.h"

#include <stdio.h>
#include <stdlib.h>

static bool load(struct weft_config *config)
{
    if (weft_config_load(config, NULL, NULL) != WEFT_OK)
        return false;
    weft_say_level((enum weft_level)config->log);
    return true;
}

int list_devices(char **argv)
{
    const struct weft_cuda_table *table;
    struct weft_config config;
    int count = 0, number = 0;

    (void)argv;
    unsetenv("CUDA_VISIBLE_DEVICES"); /* which chooses by the numbers that are printed here */
    if (!load(&config) || weft_client_open(&table, &config) != WEFT_OK ||
        table->device_count(&count) != CUDA_SUCCESS)
        return EXIT_FAILURE;
    for (int d = 0; d < count; d++) {
        char name[256] = "";
        size_t bytes = 0;
        table->device_name(name, sizeof(name), d);
        table->device_total(&bytes, d);
        const char *server = weft_client_where(d, &number);
        printf("%d  %s  device %d  %s  %zu MiB\n", d, server, number, name, bytes >> 20);
    }
    return EXIT_SUCCESS;
}

int show_status(char **argv)
{
    const struct weft_hello_request request = {.kind = WEFT_ASK_STATUS};
    struct weft_servers servers;
    struct weft_config config;
    struct weft_key key = {.size = 0};
    struct weft_hello_answer answer;
    int failed = EXIT_SUCCESS;

    (void)argv;
    if (!load(&config) || weft_servers_parse(&servers, config.remote_servers) != WEFT_OK ||
        (config.remote_secret_file[0] != 0 &&
         weft_key_read(&key, config.remote_secret_file) != WEFT_OK))
        return EXIT_FAILURE;
    for (int i = 0; i < servers.count; i++)
        if (weft_server_ask(&servers, i, &request, &key, config.connect_s, &answer) == WEFT_OK)
            printf("%s  %u clients of %u\n", servers.name[i], answer.clients, answer.places);
        else
            failed = EXIT_FAILURE;
    return failed;
}
