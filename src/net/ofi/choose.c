/*
 * net/ofi/choose.c - libfabric loaded, which of its providers to use, and what that can do. Any
 * thread.
 *
 * The provider is the first that libfabric lists for plain messages, which all must have: it lists
 * the fastest first. Then that provider is asked for more and more, and what it agrees to is used:
 * nothing is assumed of a name.
 */
#include "net/ofi/inside.h"

#include "base/say.h"

#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <rdma/fi_errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

static struct weft_ofi_library library;
static bool loaded;
static char unloadable[256] = "libfabric.so.1 is too old";

/*
 * Some of what libfabric brings along takes signals as it is loaded: psm's libraries print a
 * backtrace then, and exit with status 1, also at a SIGTERM that the program itself handles. The
 * signals stay as they were.
 */
static void load(void)
{
    struct sigaction before[NSIG];

    for (int i = 1; i < NSIG; i++)
        sigaction(i, NULL, &before[i]);
    void *handle = dlopen("libfabric.so.1", RTLD_NOW | RTLD_LOCAL);
    for (int i = 1; i < NSIG; i++) /* in vain for those that nobody can take */
        sigaction(i, &before[i], NULL);
    if (handle == NULL) {
        snprintf(unloadable, sizeof(unloadable), "%s", dlerror());
        return;
    }
    loaded = true;
#define LOAD(name)                                                                                 \
    library.name = (__typeof__(library.name))dlsym(handle, "fi_" #name);                           \
    loaded &= library.name != NULL;
    WEFT_OFI_LIBRARY(LOAD)
#undef LOAD
}

/* False: it cannot be, and `unloadable` says why, in silence. Any thread; loaded once, and kept. */
static bool is_loaded(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, load);
    return loaded;
}

const char *weft_ofi_error(long code)
{
    if (code == FI_EMFILE || code == -FI_EMFILE)
        return "Too many open files (ulimit -n)";
    return is_loaded() ? library.strerror((int)(code < 0 ? -code : code)) : unloadable;
}

/*
 * What ofi_rxm reads of the environment, once; the user's own values stand.
 * It makes its completion queues as deep as so many connections need, 256 unless it is told; over
 * soft-RoCE, and other devices of 32,767 entries at most, that is more than there is, and with
 * fewer than there are connections some are refused. A process that puts to itself has two.
 * Over tcp it would post 4,096 receives of its own, and fill their 72 MiB at the start; 128 are
 * what it posts over devices.
 * It looks at connections under way every 10 ms unless told; each has three such steps.
 */
static void prepare_rxm(int processes)
{
    char text[16];

    snprintf(text, sizeof(text), "%d", processes + 1);
    setenv("FI_UNIVERSE_SIZE", text, 0);
    setenv("FI_OFI_RXM_MSG_RX_SIZE", "128", 0);
    setenv("FI_OFI_RXM_CM_PROGRESS_INTERVAL", "1000", 0); /* us */
}

enum want { MESSAGES, WRITES, ORDERED_WRITES };

static struct fi_info *hints_for(enum want want, size_t data_bytes)
{
    struct fi_info *hints = library.dupinfo(NULL);

    if (hints == NULL)
        return NULL;
    hints->caps = FI_MSG;
    hints->ep_attr->type = FI_EP_RDM;
    hints->mode = FI_CONTEXT | FI_CONTEXT2;
    hints->domain_attr->threading = FI_THREAD_DOMAIN; /* one lock covers it all */
    hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
    hints->domain_attr->mr_mode =
        FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT;
    if (want >= WRITES) {
        hints->caps |= FI_RMA;
        hints->mode |= FI_RX_CQ_DATA;
        hints->domain_attr->cq_data_size = data_bytes;
    }
    if (want >= ORDERED_WRITES) {
        hints->tx_attr->msg_order = FI_ORDER_WAW;
        hints->rx_attr->msg_order = FI_ORDER_WAW;
    }
    return hints;
}

static bool name_text(char **field, const char *text)
{
    *field = text == NULL ? NULL : strdup(text);
    return text == NULL || *field != NULL;
}

/* The same endpoint again, with more asked of it; NULL if it does not agree. */
static struct fi_info *ask(const struct fi_info *of, enum want want, size_t data_bytes)
{
    struct fi_info *hints = hints_for(want, data_bytes), *list = NULL, *found = NULL;

    if (hints == NULL || !name_text(&hints->fabric_attr->prov_name, of->fabric_attr->prov_name) ||
        !name_text(&hints->fabric_attr->name, of->fabric_attr->name) ||
        !name_text(&hints->domain_attr->name, of->domain_attr->name)) {
        library.freeinfo(hints);
        return NULL;
    }
    hints->addr_format = of->addr_format;
    if (library.getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &list) == 0) {
        const struct fi_info *i = list;
        while (i != NULL &&
               (i->src_addrlen != of->src_addrlen ||
                (of->src_addr != NULL && memcmp(i->src_addr, of->src_addr, of->src_addrlen) != 0)))
            i = i->next;
        /* Names like shm's differ from call to call. */
        found = library.dupinfo(i != NULL ? i : list);
        library.freeinfo(list);
    }
    library.freeinfo(hints);
    return found;
}

static bool is_ip(const struct fi_info *info)
{
    return info->src_addr != NULL &&
           (info->addr_format == FI_SOCKADDR || info->addr_format == FI_SOCKADDR_IN ||
            info->addr_format == FI_SOCKADDR_IN6);
}

/* Whether an endpoint is one that this process may use. */
static bool fits(const struct weft_transport *t, const struct fi_info *info,
                 const struct sockaddr *address)
{
    const struct weft_config *config = t->open.config;
    const char *provider = info->fabric_attr->prov_name;
    const bool reached =
        !is_ip(info) || t->open.one_host || !weft_address_is_loopback(info->src_addr);

    if (info->ep_attr->max_msg_size < WEFT_OFI_PACKET ||
        info->domain_attr->mr_key_size > sizeof(uint64_t))
        return false;
    if (config->ofi_provider[0] == 0 && strcmp(provider, "shm") == 0)
        return false; /* of one host only; weft's own shm is better */
    if (config->ofi_domain[0] != 0)
        return strcmp(info->domain_attr->name, config->ofi_domain) == 0 && reached;
    if (address != NULL && is_ip(info))
        return weft_ofi_same_host_address(info->src_addr, address);
    if (config->interface[0] != 0 && !is_ip(info))
        return strcmp(info->domain_attr->name, config->interface) == 0 ||
               (config->ofi_provider[0] != 0 && address != NULL);
    return config->interface[0] == 0 && reached;
}

static void note_abilities(struct weft_transport *t, enum want want)
{
    const struct fi_info *info = t->info;
    const uint64_t mr = (uint64_t)info->domain_attr->mr_mode;

    t->can = (struct weft_ofi_abilities){
        .data_bits = want == MESSAGES                       ? 0
                     : info->domain_attr->cq_data_size >= 8 ? 64
                                                            : 32,
        .ordered_writes = want == ORDERED_WRITES &&
                          info->ep_attr->max_order_waw_size >= info->ep_attr->max_msg_size,
        .local_mr = (mr & FI_MR_LOCAL) != 0,
        .virtual_addresses = (mr & FI_MR_VIRT_ADDR) != 0,
        .own_keys = (mr & FI_MR_PROV_KEY) == 0,
        .bind_mr = (mr & FI_MR_ENDPOINT) != 0,
        .data_takes_buffer = (info->mode & FI_RX_CQ_DATA) != 0,
        .gathers = (mr & FI_MR_LOCAL) == 0 && info->tx_attr->iov_limit >= 2 &&
                   info->ep_attr->max_msg_size >= WEFT_OFI_GATHERED,
        .inject = info->tx_attr->inject_size,
    };
}

/* The endpoint asked for as much as it agrees to. */
static void refine(struct weft_transport *t, const struct fi_info *plain)
{
    static const struct {
        enum want want;
        size_t data_bytes;
    } wishes[] = {
        {ORDERED_WRITES, 8}, {WRITES, 8}, {ORDERED_WRITES, 4}, {WRITES, 4}, {MESSAGES, 0}};
    const bool writes = t->open.config->ofi_writes != 0;

    for (size_t i = 0; i < sizeof(wishes) / sizeof(wishes[0]) && t->info == NULL; i++) {
        if (wishes[i].want == MESSAGES || writes)
            t->info = ask(plain, wishes[i].want, wishes[i].data_bytes);
        if (t->info != NULL)
            note_abilities(t, wishes[i].want);
    }
}

static weft_status none(const struct weft_transport *t, const char *why)
{
    const struct weft_config *config = t->open.config;

    return weft_err(WEFT_ERR_NETWORK, "ofi: no provider for reliable messages%s%s%s%s%s%s%s: %s",
                    config->ofi_provider[0] != 0 ? ", WEFT_OFI_PROVIDER=" : "",
                    config->ofi_provider, config->ofi_domain[0] != 0 ? ", WEFT_OFI_DOMAIN=" : "",
                    config->ofi_domain, config->interface[0] != 0 ? ", WEFT_INTERFACE=" : "",
                    config->interface,
                    t->open.one_host ? "" : ", on an interface that others reach", why);
}

/*
 * shm names an endpoint by the number of the process. One that was killed leaves it behind,
 * and the next one of that number is told that it is in use.
 */
static weft_status name_endpoint(struct fi_info *info)
{
    char name[48];
    uint64_t number;

    if (strcmp(info->fabric_attr->prov_name, "shm") != 0)
        return WEFT_OK;
    if (getrandom(&number, sizeof(number), 0) != (ssize_t)sizeof(number))
        return weft_err(WEFT_ERR_SYSTEM, "ofi: getrandom: %s", strerror(errno));
    free(info->src_addr);
    info->src_addrlen = (size_t)snprintf(name, sizeof(name), "fi_shm://fi-%016" PRIx64, number) + 1;
    return name_text((char **)&info->src_addr, name)
               ? WEFT_OK
               : weft_err(WEFT_ERR_MEMORY, "ofi: no memory for an endpoint's name");
}

weft_status weft_ofi_choose(struct weft_transport *t)
{
    const struct weft_config *config = t->open.config;
    union weft_address room;
    struct sockaddr *address = NULL;
    struct fi_info *hints, *list = NULL;

    if (!is_loaded())
        return weft_err(WEFT_ERR_NETWORK, "ofi: libfabric: %s", unloadable);
    t->fi = &library;
    prepare_rxm(t->open.processes);
    hints = hints_for(MESSAGES, 0);
    if (hints == NULL || (config->ofi_provider[0] != 0 &&
                          !name_text(&hints->fabric_attr->prov_name, config->ofi_provider))) {
        library.freeinfo(hints);
        return weft_err(WEFT_ERR_MEMORY, "ofi: no memory to ask for providers");
    }
    if (weft_ofi_local_address(&t->open, &room))
        address = &room.any;
    const int error = library.getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &list);
    library.freeinfo(hints);
    if (error != 0 && error != -FI_ENODATA)
        return none(t, weft_ofi_error(error));
    for (const struct fi_info *i = list; i != NULL && t->info == NULL; i = i->next)
        if (fits(t, i, address))
            refine(t, i);
    library.freeinfo(list);
    return t->info != NULL ? name_endpoint(t->info) : none(t, "fi_info lists what there is");
}
