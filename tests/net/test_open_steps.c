/*
 * net/test_open_steps.c - every step of opening a network may fail: then it says so, and the
 * program goes on, and ends. Each step of each network fails in a child of its own: calls of the
 * system and of libfabric (the linker gives this program the library's), and every number of files
 * that may be open. A network that none of that keeps from opening closes in order. With an
 * argument N only every Nth of them fails: a child's search for leaks takes a fifth of a second.
 */
#include "net/net.h"

#include "base/say.h"
#include "net/transport.h"
#include "support/notices.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MEMORY = 1 << 16, FILES = 48, STEPS_MOST = 500, HANGS_S = 60 };

/* What a child finds out, apart from the statuses of sanitizers. */
enum { OPENED = 100, REFUSED, ALL_PASSED, SILENT, LEAKS };

/* For AddressSanitizer: what libfabric itself forgets where a call of its fails. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libfabric";
}

static int every = 1;      /* of so many steps one fails */
static int steps, failing; /* the number of the step that fails; 0: none */
static bool leaves;        /* after that an object is left to the system */

static bool fails(void)
{
    return failing != 0 && ++steps == failing;
}

/* ---- the system's calls -------------------------------------------------------------------- */

#define WRAPPED(type, name, failure, error, parameters, ...)                                       \
    type __real_##name parameters;                                                                 \
    type __wrap_##name parameters;                                                                 \
    type __wrap_##name parameters                                                                  \
    {                                                                                              \
        if (!fails())                                                                              \
            return __real_##name(__VA_ARGS__);                                                     \
        errno = (error);                                                                           \
        return (failure);                                                                          \
    }

WRAPPED(void *, malloc, NULL, ENOMEM, (size_t bytes), bytes)
WRAPPED(void *, calloc, NULL, ENOMEM, (size_t count, size_t bytes), count, bytes)
WRAPPED(void *, aligned_alloc, NULL, ENOMEM, (size_t unit, size_t bytes), unit, bytes)
WRAPPED(int, memfd_create, -1, EMFILE, (const char *name, unsigned flags), name, flags)
WRAPPED(int, ftruncate, -1, ENOSPC, (int fd, off_t bytes), fd, bytes)
WRAPPED(void *, mmap, MAP_FAILED, ENOMEM,
        (void *at, size_t bytes, int protection, int flags, int fd, off_t offset), at, bytes,
        protection, flags, fd, offset)
WRAPPED(int, eventfd, -1, EMFILE, (unsigned value, int flags), value, flags)
WRAPPED(ssize_t, getrandom, -1, ENOSYS, (void *bytes, size_t count, unsigned flags), bytes, count,
        flags)
WRAPPED(int, pthread_create, EAGAIN, 0,
        (pthread_t * thread, const pthread_attr_t *attributes, void *(*start)(void *), void *data),
        thread, attributes, start, data)

/* ---- libfabric's --------------------------------------------------------------------------- */

void *__real_dlsym(void *library, const char *name);
void *__wrap_dlsym(void *library, const char *name);

#if __has_include(<rdma/fabric.h>)
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>

/* An object's table of calls is replaced by a copy, in which some of them may fail first. */
#define REPLACE(table, kind, ...)                                                                  \
    do {                                                                                           \
        kind##_real = *(table);                                                                    \
        kind##_ours = *(table);                                                                    \
        __VA_ARGS__;                                                                               \
        (table) = &kind##_ours;                                                                    \
    } while (0)

enum { RECEIVES_APART = 85 }; /* of 256 that are posted, so few count as steps */

static struct fi_ops_fabric fabric_real, fabric_ours;
static struct fi_ops_domain domain_real, domain_ours;
static struct fi_ops_mr mr_real, mr_ours;
static struct fi_ops_msg msg_real, msg_ours;
static struct fi_ops_cm cm_real, cm_ours;
static struct fi_ops_av av_real, av_ours;
static struct fi_ops ep_real, ep_ours, cq_real, cq_ours;
static __typeof__(&fi_fabric) fabric_real_open;
static __typeof__(&fi_getinfo) real_getinfo;

static int cq_control(struct fid *cq, int command, void *argument)
{
    return fails() ? -FI_ENOSYS : cq_real.control(cq, command, argument);
}

static int cq_open(struct fid_domain *domain, struct fi_cq_attr *attributes, struct fid_cq **cq,
                   void *context)
{
    const int error = fails() ? -FI_EMFILE : domain_real.cq_open(domain, attributes, cq, context);

    if (error == 0)
        REPLACE((*cq)->fid.ops, cq, cq_ours.control = cq_control);
    return error;
}

static int av_insert(struct fid_av *av, const void *addresses, size_t count, fi_addr_t *result,
                     uint64_t flags, void *context)
{
    return fails() ? 0 : av_real.insert(av, addresses, count, result, flags, context);
}

static int av_open(struct fid_domain *domain, struct fi_av_attr *attributes, struct fid_av **av,
                   void *context)
{
    const int error = fails() ? -FI_ENOMEM : domain_real.av_open(domain, attributes, av, context);

    if (error == 0)
        REPLACE((*av)->ops, av, av_ours.insert = av_insert);
    return error;
}

static int ep_bind(struct fid *ep, struct fid *other, uint64_t flags)
{
    if (!fails())
        return ep_real.bind(ep, other, flags);
    leaves = other->fclass == FI_CLASS_AV; /* ofi_rxm would crash */
    return -FI_ENOMEM;
}

static int ep_control(struct fid *ep, int command, void *argument)
{
    return fails() ? -FI_EMFILE : ep_real.control(ep, command, argument);
}

static ssize_t ep_recv(struct fid_ep *ep, void *bytes, size_t count, void *descriptor,
                       fi_addr_t from, void *context)
{
    static int count_all;

    if (count_all++ % RECEIVES_APART == 0 && fails())
        return -FI_ENOMEM;
    return msg_real.recv(ep, bytes, count, descriptor, from, context);
}

static int ep_getname(fid_t ep, void *address, size_t *bytes)
{
    return fails() ? -FI_EOPBADSTATE : cm_real.getname(ep, address, bytes);
}

static int endpoint(struct fid_domain *domain, struct fi_info *info, struct fid_ep **ep,
                    void *context)
{
    const int error = fails() ? -FI_EMFILE : domain_real.endpoint(domain, info, ep, context);

    if (error != 0)
        return error;
    REPLACE((*ep)->fid.ops, ep, ep_ours.bind = ep_bind, ep_ours.control = ep_control);
    REPLACE((*ep)->msg, msg, msg_ours.recv = ep_recv);
    REPLACE((*ep)->cm, cm, cm_ours.getname = ep_getname);
    return 0;
}

static int mr_reg(struct fid *domain, const void *memory, size_t bytes, uint64_t access,
                  uint64_t offset, uint64_t key, uint64_t flags, struct fid_mr **mr, void *context)
{
    return fails() ? -FI_ENOMEM
                   : mr_real.reg(domain, memory, bytes, access, offset, key, flags, mr, context);
}

static int domain_open(struct fid_fabric *fabric, struct fi_info *info, struct fid_domain **domain,
                       void *context)
{
    const int error = fails() ? -FI_ENODEV : fabric_real.domain(fabric, info, domain, context);

    if (error != 0)
        return error;
    REPLACE((*domain)->ops, domain, domain_ours.av_open = av_open, domain_ours.cq_open = cq_open,
            domain_ours.endpoint = endpoint);
    REPLACE((*domain)->mr, mr, mr_ours.reg = mr_reg);
    return 0;
}

static int fabric_open(struct fi_fabric_attr *attributes, struct fid_fabric **fabric, void *context)
{
    const int error = fails() ? -FI_ENODATA : fabric_real_open(attributes, fabric, context);

    if (error == 0)
        REPLACE((*fabric)->ops, fabric, fabric_ours.domain = domain_open);
    return error;
}

static int getinfo(uint32_t version, const char *node, const char *service, uint64_t flags,
                   const struct fi_info *hints, struct fi_info **info)
{
    return fails() ? -FI_ENODATA : real_getinfo(version, node, service, flags, hints, info);
}

void *__wrap_dlsym(void *library, const char *name)
{
    void *symbol = __real_dlsym(library, name);

    if (strcmp(name, "fi_fabric") == 0) {
        fabric_real_open = (__typeof__(fabric_real_open))symbol;
        return (void *)fabric_open;
    }
    if (strcmp(name, "fi_getinfo") == 0) {
        real_getinfo = (__typeof__(real_getinfo))symbol;
        return (void *)getinfo;
    }
    return symbol;
}
#else
void *__wrap_dlsym(void *library, const char *name)
{
    return __real_dlsym(library, name);
}
#endif

/* ---- opening ------------------------------------------------------------------------------- */

struct way {
    const struct weft_transport_ops *ops;
    const char *provider; /* of libfabric; NULL: it is not that */
    bool polls;
    bool later; /* windows are not memory that the host stores to */
};

static weft_status arrived(void *context, const struct weft_net_delivery *delivery)
{
    (void)context, (void)delivery;
    return WEFT_OK;
}

static void done(void *context, void *cookie)
{
    (void)context, (void)cookie;
}

/* As a job does, as far as a process does it alone. */
static weft_status try_way(const struct way *way)
{
    static unsigned char memory[MEMORY], address[WEFT_NET_ADDRESS_MAX];
    static struct weft_config config;
    const struct weft_notice_kinds kinds = all_notices(arrived, NULL);
    const struct weft_net_device device = {0};
    const struct weft_net_open open = {
        .config = &config,
        .processes = 1,
        .one_host = true,
        .polls = way->polls,
        .stage_bytes = MEMORY,
        .events = {.sent = done, .delivered = done},
        .kinds = &kinds,
        .device = way->later ? &device : NULL,
    };
    struct weft_net *net = NULL;
    uint64_t key;

    if (weft_config_load(&config, NULL, NULL) != WEFT_OK)
        exit(SILENT);
    if (way->provider != NULL)
        snprintf(config.ofi_provider, sizeof(config.ofi_provider), "%s", way->provider);
    weft_status status = weft_net_open(&net, way->ops, &open);
    if (status != WEFT_OK)
        return status;
    status = weft_net_reg(net, memory, sizeof(memory), false, &key);
    weft_net_address(net, address);
    if (status == WEFT_OK)
        status = weft_net_connect(net, 0, address);
    weft_net_close(net);
    return status;
}

static int open_files(void)
{
    DIR *list = opendir("/proc/self/fd");
    int count = 0;

    while (list != NULL && readdir(list) != NULL)
        count++;
    if (list != NULL)
        closedir(list);
    return count;
}

/* In a child: step or files, where they are not 0, are what stands against it. */
static int outcome(const struct way *way, int step, rlim_t files)
{
    struct rlimit limit, few;
    const int before = open_files();

    alarm(HANGS_S);
    getrlimit(RLIMIT_NOFILE, &limit);
    few = limit;
    few.rlim_cur = files;
    if (files != 0)
        setrlimit(RLIMIT_NOFILE, &few);
    failing = step;
    const weft_status status = try_way(way);
    failing = 0;
    setrlimit(RLIMIT_NOFILE, &limit);
    if (!leaves && open_files() != before)
        return LEAKS;
    if (status != WEFT_OK)
        return weft_err_last()[0] != 0 ? REFUSED : SILENT;
    return step != 0 && steps < step ? ALL_PASSED : OPENED;
}

static bool good = true;

/* One of OPENED, REFUSED and ALL_PASSED; anything else is said. */
static int child(const struct way *way, int step, rlim_t files)
{
    int status = 0;
    const pid_t pid = fork();

    if (pid == 0)
        exit(outcome(way, step, files));
    waitpid(pid, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) >= OPENED && WEXITSTATUS(status) <= ALL_PASSED)
        return WEXITSTATUS(status);
    good = false;
    printf("FAILED: %s %s%s%s, step %d, %llu files: %s %d\n", way->ops->name,
           way->provider != NULL ? way->provider : "", way->polls ? ", polls" : "",
           way->later ? ", memory of a device" : "", step, (unsigned long long)files,
           WIFSIGNALED(status) ? "signal" : "outcome",
           WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    return REFUSED;
}

static void each_step(const struct way *way)
{
    int step = 1, refused = 0, opened = 0;

    /* What the library keeps, it has then; in its own process nothing may be left of that. */
    if (try_way(way) != WEFT_OK)
        return;
    for (int got; step < STEPS_MOST && (got = child(way, step, 0)) != ALL_PASSED; step += every)
        refused += got == REFUSED;
    for (rlim_t files = 1; files < FILES && !way->polls && !way->later; files += (rlim_t)every)
        opened += child(way, 0, files) == OPENED;
    good &= step > 1 && refused > 0 && step < STEPS_MOST;
    good &= opened > 0 || way->polls || way->later;
    printf("%s %s: of %d steps %d keep it from opening\n", way->ops->name,
           way->provider != NULL ? way->provider : "", (step - 1) / every, refused);
}

int main(int argc, char **argv)
{
    static const char *const providers[] = {"tcp;ofi_rxm", "net", "udp;ofi_rxd", "shm",
                                            "verbs;ofi_rxm"};
    enum { PROVIDERS = sizeof(providers) / sizeof(providers[0]) };
    struct way way = {0};

    if (argc > 1 && (every = atoi(argv[1])) < 1)
        return EXIT_FAILURE;
    setbuf(stdout, NULL);
    weft_say_level(WEFT_SAY_ERROR);
    weft_err_level(WEFT_SAY_INFO); /* not one by one */
    for (int i = 0; (way.ops = weft_transport_at(i)) != NULL; i++) {
        const bool ofi = strcmp(way.ops->name, "ofi") == 0;
        for (int p = 0; p < (ofi ? PROVIDERS : 1); p++)
            for (int form = 0; form < (ofi ? 3 : 1); form++) {
                way.provider = ofi ? providers[p] : NULL;
                way.polls = form == 1;
                way.later = form == 2;
                each_step(&way);
            }
    }
    printf("%s\n", good ? "all good" : "FAILED");
    return !good;
}
