/* remote/client/client.c - opens and closes the client; the table. One thread at a time. */
#include "remote/client/client.h"

#include "base/fork.h"
#include "base/launcher.h"
#include "base/netif.h"
#include "base/say.h"
#include "boot/interface.h"
#include "remote/client/connect.h"
#include "remote/client/inside.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct weft_cuda_table client_table = {
#define CLIENT_FIELD(field, function) .field = client_##field,
    WEFT_TABLE_PROGRAM_MAP(CLIENT_FIELD)
#undef CLIENT_FIELD
};

/* Asks a session for the facts of one of its devices. */
static weft_status ask_facts(struct client_device *device)
{
    struct weft_facts *facts = &device->known.facts;
    struct client_call answer = {.extra = facts, .room = sizeof(*facts)};
    const int domain = 0x8000 + device->known.process; /* in which no local device is */
    char place[20];
    const CUresult result = client_call(device, WEFT_CALL_facts, NULL, 0, NULL, 0, &answer);

    if (result != CUDA_SUCCESS)
        return weft_err(WEFT_ERR_DEVICE, "server %s, device %d: %s",
                        client.server[device->known.process].name, device->known.number,
                        weft_cuda_error(result)->text);
    facts->name[sizeof(facts->name) - 1] = 0;
    facts->pci[sizeof(facts->pci) - 1] = 0;
    if (answer.got != sizeof(*facts) || facts->devices < 1 || facts->devices > WEFT_LINK_DEVICES ||
        facts->memory == 0 || facts->memory > 1ull << 40)
        return weft_err(WEFT_ERR_PROTOCOL, "server %s says that it has %d devices of %llu bytes",
                        client.server[device->known.process].name, facts->devices,
                        (unsigned long long)facts->memory);
    const char *colon = strchr(facts->pci, ':');
    snprintf(place, sizeof(place), "%.16s", colon != NULL ? colon : ":00:00.0");
    snprintf(facts->pci, sizeof(facts->pci), "%04X%s", (unsigned)domain, place);
    facts->attributes[CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID] = domain;
    return WEFT_OK;
}

/* Meets the servers' devices, in the order of the servers. */
static weft_status meet_devices(void)
{
    weft_status status = WEFT_OK;

    for (int p = 1; p < client.links.processes && status == WEFT_OK; p++) {
        struct client_server *server = &client.server[p];
        server->first = client.met;
        server->devices = 1;
        for (int i = 0; i < server->devices && status == WEFT_OK; i++) {
            if (client.met == CLIENT_DEVICES)
                return weft_err(WEFT_ERR_CONFIG, "more than %d devices", CLIENT_DEVICES);
            struct client_device *device = &client.device[client.met];
            *device = (struct client_device){.known = {.process = p, .number = i}};
            client.known.at[client.met++] = &device->known;
            status = ask_facts(device);
            server->devices = device->known.facts.devices;
        }
    }
    client.known.count = client.met;
    weft_known_show(&client.known, weft_launcher_gpus());
    return status;
}

weft_status weft_client_join(const struct weft_cuda_table **table, const struct weft_config *config,
                             const char *const *names)
{
    for (int p = 1; p < config->processes && p < WEFT_LINK_PROCESSES; p++)
        client.server[p].name = names[p - 1];
    client.closing = client.left = false;
    client.forks = weft_forks;
    client.met = client.known.count = 0;
    client.direct = strcmp(config->remote_pipe, "direct") == 0;
    client.links.context = NULL;
    client.links.copy = client_copy_notice;
    weft_status status = weft_plan_parse(&client.plan, config->remote_pipe);
    if (status == WEFT_OK)
        status = weft_links_open(&client.links, config, NULL, 0);
    if (status != WEFT_OK)
        return status;
    client.sources = (struct weft_sources){.links = &client.links};
    client.open = true;
    client_start_tasks();
    status = meet_devices();
    if (status == WEFT_OK)
        status = client_open_memory();
    if (status != WEFT_OK)
        weft_client_close();
    else
        *table = &client_table;
    return status;
}

/* ---- servers of weft-gpud -------------------------------------------------------------------- */

static struct weft_servers servers;

/* Returns who has to reach this process: nobody of other hosts, if all servers are on this one. */
static enum weft_reach reach_of(void)
{
    for (int i = 0; i < servers.count; i++)
        if (!weft_host_is_loopback(servers.at[i].host))
            return WEFT_REACH_NETWORK;
    return WEFT_REACH_HOST;
}

/* Makes the job of this program: where its processes meet. */
static weft_status make_job(struct weft_config *config)
{
    int fd = -1;

    weft_status status = weft_interface_listen(&fd, config->root, config->interface, reach_of());
    if (status != WEFT_OK)
        return status;
    config->root_fd = fd;
    config->process = 0;
    config->processes = servers.count + 1;
    status = weft_secret_make(config->secret);
    if (status != WEFT_OK)
        close(fd);
    return status;
}

static weft_status ask_all(const struct weft_config *config, const struct weft_key *key)
{
    struct weft_hello_request request = {.kind = WEFT_ASK_SESSION,
                                         .processes = (uint32_t)config->processes};
    weft_status status = WEFT_OK;
    struct weft_hello_answer answer;

    memcpy(request.root, config->root, sizeof(request.root));
    memcpy(request.secret, config->secret, sizeof(request.secret));
    for (int p = 1; p <= servers.count && status == WEFT_OK; p++) {
        request.process = (uint32_t)p;
        status = weft_server_ask(&servers, p - 1, &request, key, config->connect_s, &answer);
    }
    return status;
}

weft_status weft_client_open(const struct weft_cuda_table **table, const struct weft_config *given)
{
    const char *names[WEFT_LINK_SERVERS] = {NULL};
    struct weft_config config = *given;
    struct weft_key key = {.size = 0};

    weft_status status = weft_plan_parse(&client.plan, config.remote_pipe); /* before it asks */
    if (status == WEFT_OK)
        status = weft_servers_parse(&servers, config.remote_servers);
    if (status == WEFT_OK && config.remote_secret_file[0] != 0)
        status = weft_key_read(&key, config.remote_secret_file);
    if (status == WEFT_OK)
        status = make_job(&config);
    if (status != WEFT_OK)
        return status;
    for (int i = 0; i < servers.count; i++)
        names[i] = servers.name[i];
    status = ask_all(&config, &key);
    explicit_bzero(&key, sizeof(key));
    if (status == WEFT_OK)
        status = weft_client_join(table, &config, names);
    close((int)config.root_fd);
    if (status == WEFT_OK)
        atexit(weft_client_close);
    return status;
}

/* Leaves the job. Other threads may be in calls: none of theirs is made any more, and they wait
 * until all is closed. */
static void leave(void)
{
    weft_lock(&client.lock);
    client.open = false;
    weft_unlock(&client.lock);
    client_stop_tasks();
    weft_sources_close(&client.sources);
    weft_links_close(&client.links, client.links.status == WEFT_OK);
    weft_lock(&client.lock);
    client_fail_waiting(CUDA_ERROR_DEINITIALIZED);
    weft_unlock(&client.lock);
    client_managed_stop();
    client_print();
}

void weft_client_close(void)
{
    if (!client.open || weft_forks != client.forks) /* a child's exit is not the program's */
        return;
    for (int p = 1; p < client.links.processes; p++) {
        const struct client_device device = {.known = {.process = p}};
        client_post(&device, WEFT_CALL_bye, NULL, 0, NULL, 0);
    }
    leave();
}

const char *weft_client_where(int device, int *number)
{
    const struct weft_known *known = weft_known_device(&client.known, device);

    if (known == NULL)
        return NULL;
    *number = known->number;
    return client.server[known->process].name;
}
