/*
 * boot/pmix/pmix.c - begins a job through PMIx. libpmix stays initialised until the program ends,
 * since MPI in the same program may use it too and not every release can begin again; each further
 * job of the process uses keys of its own. One thread at a time calls it.
 */
#include "boot/pmix/pmix.h"

#include "base/fork.h"
#include "base/say.h"
#include "base/task.h"
#include "boot/interface.h"
#include "order/model.h"

#include <dlfcn.h>
#include <pmix.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* X(name): what is needed of libpmix. */
#define PMIX_FUNCTIONS(X) X(Init) X(Put) X(Commit) X(Fence_nb) X(Get) X(Finalize) X(Error_string)

static struct {
#define PMIX_FIELD(name) __typeof__(PMIx_##name) *name;
    PMIX_FUNCTIONS(PMIX_FIELD)
#undef PMIX_FIELD
    pmix_proc_t self;
    bool ready;
    uint32_t forks; /* weft_forks in the process that made it ready */
    int jobs;       /* jobs that this process has joined */

    pmix_info_t collect; /* what the fence under way is to do */
    struct weft_bell bell;
    uint32_t fenced; /* 1: the fence is over */
    pmix_status_t fence_status;
    bool stuck; /* a fence was given up: nobody waits for it */
} pmix;

static weft_status failed(const char *what, pmix_status_t status)
{
    return weft_err(WEFT_ERR_SYSTEM, "PMIx: %s: %s", what, pmix.Error_string(status));
}

/* ---- the library ----------------------------------------------------------------------------- */

static weft_status load(void)
{
    void *library = dlopen("libpmix.so.2", RTLD_NOW | RTLD_GLOBAL); /* its plug-ins look for it */

    if (library == NULL)
        library = dlopen(WEFT_PMIX_LIBRARY, RTLD_NOW | RTLD_GLOBAL);
    if (library == NULL)
        return weft_err(WEFT_ERR_CONFIG,
                        "a PMIx launcher has started this process, but libpmix cannot be loaded: "
                        "%s; WEFT_PMIX=off for jobs of one process",
                        dlerror());
#define PMIX_LOAD(name)                                                                            \
    *(void **)&pmix.name = dlsym(library, "PMIx_" #name);                                          \
    if (pmix.name == NULL)                                                                         \
        return weft_err(WEFT_ERR_CONFIG, "libpmix: %s", dlerror());
    PMIX_FUNCTIONS(PMIX_LOAD)
#undef PMIX_LOAD
    return WEFT_OK;
}

/* Finalizes PMIx as the process ends: launchers take a process that ends without it for one that
 * failed; a child of it is none of theirs. */
static void finalize(void)
{
    if (pmix.forks != weft_forks)
        return;
    (void)pmix.Finalize(NULL, 0); /* nobody is left to tell */
}

static weft_status initialise(void)
{
    if (pmix.ready)
        return WEFT_OK;
    WEFT_TRY(load());
    const pmix_status_t result = pmix.Init(&pmix.self, NULL, 0);
    if (result != PMIX_SUCCESS)
        return failed("the launcher's server cannot be reached", result);
    pmix.ready = true;
    pmix.forks = weft_forks;
    if (atexit(finalize) != 0)
        return weft_err(WEFT_ERR_SYSTEM, "PMIx: no memory for its end");
    return WEFT_OK;
}

/* ---- what processes tell each other ---------------------------------------------------------- */

/* Names this job's key, for process 0's secret and root with a space between. */
static void name_key(char key[PMIX_MAX_KEYLEN])
{
    snprintf(key, PMIX_MAX_KEYLEN, "weft.job.%d", pmix.jobs);
}

/* Returns how many of a kind the launcher's job has; 0: it does not say. */
static uint32_t ask_number(const char *key)
{
    pmix_proc_t job = pmix.self;
    pmix_value_t *value;
    uint32_t number = 0;

    job.rank = PMIX_RANK_WILDCARD;
    if (pmix.Get(&job, key, NULL, 0, &value) != PMIX_SUCCESS)
        return 0;
    if (value->type == PMIX_UINT32)
        number = value->data.uint32;
    free(value);
    return number;
}

static weft_status put_text(char *text)
{
    pmix_value_t value;
    char key[PMIX_MAX_KEYLEN];

    memset(&value, 0, sizeof(value));
    value.type = PMIX_STRING;
    value.data.string = text;
    name_key(key);
    pmix_status_t status = pmix.Put(PMIX_GLOBAL, key, &value);
    if (status == PMIX_SUCCESS)
        status = pmix.Commit();
    return status == PMIX_SUCCESS ? WEFT_OK : failed(key, status);
}

/* Notes the end of a fence. A thread of libpmix's own calls it. */
static void fence_over(pmix_status_t status, void *unused)
{
    (void)unused;
    pmix.fence_status = status;
    __atomic_store_n(&pmix.fenced, 1, __ATOMIC_RELEASE); /* the status is there */
    weft_bell_ring(&pmix.bell);
}

/* Waits until all processes are here; then all can have what process 0 put. */
static weft_status fence(double seconds)
{
    pmix_info_t *const collect = &pmix.collect;

    memset(collect, 0, sizeof(*collect));
    snprintf(collect->key, sizeof(collect->key), "%s", PMIX_COLLECT_DATA);
    collect->value.type = PMIX_BOOL;
    collect->value.data.flag = true;
    pmix.fenced = 0;
    pmix_status_t status = pmix.Fence_nb(NULL, 0, collect, 1, fence_over, NULL);
    if (status == PMIX_SUCCESS) {
        pmix.stuck = !weft_bell_await(&pmix.bell, &pmix.fenced, 1,
                                      weft_now_ns() + (uint64_t)(seconds * 1e9));
        if (pmix.stuck)
            return weft_err(WEFT_ERR_TIMEOUT,
                            "PMIx: not all processes of the launch came to weft_open within %g s "
                            "(WEFT_CONNECT_S)",
                            seconds);
        status = pmix.fence_status;
    }
    return status == PMIX_SUCCESS || status == PMIX_OPERATION_SUCCEEDED ? WEFT_OK
                                                                        : failed("fence", status);
}

/* Has process 0 listen, and tells the others where; also that it has failed: by a root without an
 * address. */
static weft_status publish(struct weft_config *config, bool one_host)
{
    char text[WEFT_ROOT_BYTES + WEFT_SECRET_BYTES];
    int listener;
    weft_status status = weft_secret_make(config->secret);

    if (status == WEFT_OK)
        status = weft_interface_listen(&listener, config->root, config->interface,
                                       one_host ? WEFT_REACH_HOST : WEFT_REACH_NETWORK);
    if (status == WEFT_OK)
        config->root_fd = listener;
    else
        config->root[0] = config->secret[0] = 0;
    snprintf(text, sizeof(text), "%s %s", config->secret, config->root);
    const weft_status told = put_text(text);
    return status != WEFT_OK ? status : told;
}

/* Reads what process 0 has put: the secret and its root. */
static weft_status learn(struct weft_config *config)
{
    pmix_proc_t root = pmix.self;
    pmix_value_t *value;
    char key[PMIX_MAX_KEYLEN];
    int found = 0;

    root.rank = 0;
    name_key(key);
    const pmix_status_t status = pmix.Get(&root, key, NULL, 0, &value);
    if (status != PMIX_SUCCESS)
        return failed(key, status);
    if (value->type == PMIX_STRING) {
        found = sscanf(value->data.string != NULL ? value->data.string : "", "%127s %127s",
                       config->secret, config->root);
        free(value->data.string);
    }
    free(value);
    return found == 2
               ? WEFT_OK
               : weft_err(WEFT_ERR_PEER_LOST, "process 0 could not open the job's control channel");
}

weft_status weft_pmix_join(struct weft_config *config)
{
    weft_status status = WEFT_OK;

    WEFT_TRY(initialise());
    if (pmix.stuck)
        return weft_err(WEFT_ERR_TIMEOUT, "PMIx: a fence still waits, since an earlier job");
    const uint32_t processes = ask_number(PMIX_JOB_SIZE);
    if (processes == 0 || processes > 65536 || pmix.self.rank >= processes)
        return weft_err(WEFT_ERR_PROTOCOL, "PMIx: process %u of %u, by its launcher",
                        pmix.self.rank, processes);
    config->process = (int)pmix.self.rank;
    config->processes = (int)processes;
    if (processes == 1 || weft_model != NULL) /* weft_control_open refuses the latter */
        return WEFT_OK;
    weft_say_process((int)pmix.self.rank);
    pmix.jobs++;
    if (pmix.self.rank == 0)
        status = publish(config, ask_number(PMIX_LOCAL_SIZE) == processes);
    const weft_status fenced =
        fence(config->connect_s); /* the others wait there, whatever has failed here */
    if (status == WEFT_OK)
        status = fenced;
    return status == WEFT_OK && pmix.self.rank != 0 ? learn(config) : status;
}
