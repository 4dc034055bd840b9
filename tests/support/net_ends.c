/* support/net_ends.c - see support/net_ends.h. */
#include "support/net_ends.h"

#include "base/task.h"

#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static const uint64_t PATIENCE_NS = 30000000000;

static void die(const char *what)
{
    perror(what);
    exit(1);
}

/* ---- what the network reports ---------------------------------------------------------------- */

void end_count_notice(struct end *end, int process, uint32_t notice)
{
    const uint32_t count = end->notice_count[process];

    CHECK(end->all, count < END_PUTS);
    if (count == END_PUTS)
        return;
    end->notices[process][count] = notice;
    __atomic_store_n(&end->notice_count[process], count + 1, __ATOMIC_RELEASE);
}

static bool arrived(void *context, int process, uint32_t notice)
{
    struct end *end = context;

    if (notice == end->refuse)
        return false;
    if (end->all->lands)
        end_later_notice(end, process, notice);
    else
        end_count_notice(end, process, notice);
    return true;
}

static void sent(void *context, void *cookie)
{
    struct end_put *put = cookie;

    (void)context;
    put->sent++;
    if (put->source == END_SPOIL && put->put.bytes != 0)
        memset((void *)(uintptr_t)put->put.source, 0xdd, put->put.bytes);
}

static void landed(void *context, void *cookie)
{
    struct end *end = context;
    struct end_put *put = cookie;
    struct end *target = &end->all->end[put->put.process];

    put->landed++;
    put->early |= put->sent == 0;
    put->early |= __atomic_load_n(&target->notice_count[end->me], __ATOMIC_ACQUIRE) < put->notices;
    put->early |= put->source == END_KEEP && put->put.bytes != 0 &&
                  memcmp(target->memory + put->put.offset, put->put.source, put->put.bytes) != 0;
}

/* ---- an end ---------------------------------------------------------------------------------- */

static void *receive(void *argument)
{
    struct end *end = argument;

    while (__atomic_load_n(&end->stop, __ATOMIC_ACQUIRE) == 0) {
        bool did = false;
        if (__atomic_load_n(&end->hold, __ATOMIC_ACQUIRE) == 0) {
            weft_status status = end->all->ops->progress(end->net, WEFT_NET_RECEIVE, &did);
            __atomic_store_n(&end->received, (uint32_t)status, __ATOMIC_RELEASE);
            if (status != WEFT_OK)
                return NULL;
        }
        if (!did)
            sched_yield();
    }
    return NULL;
}

void end_open(struct end *end)
{
    const struct ends *all = end->all;

    if (weft_config_load(&end->config, NULL, NULL) != WEFT_OK)
        exit(1);
    end->config.shm_ring = 4096;
    if (all->configure != NULL)
        all->configure(&end->config, end->me);
    end->config.counter_start = (int64_t)all->counter_start;
    struct weft_net_open open = {
        .config = &end->config,
        .process = end->me,
        .processes = all->count,
        .one_address_space = all->one_space,
        .one_host = true,
        .events = {.context = end, .arrived = arrived, .sent = sent, .landed = landed},
    };
    if (all->lands)
        end_lands_later(&open.events);
    if (all->ops->open(&end->net, &open) != WEFT_OK ||
        all->ops->reg(end->net, end->memory, END_MEMORY, &end->key) != WEFT_OK ||
        all->ops->address(end->net, end->address) != WEFT_OK) {
        fprintf(stderr, "%s could not be opened\n", all->ops->name);
        exit(1);
    }
}

void end_close(struct end *end)
{
    end->all->ops->dereg(end->net, end->key);
    end->all->ops->close(end->net);
}

void *end_sources(struct end *end, size_t bytes)
{
    void *sources = calloc(1, bytes);

    if (sources == NULL)
        die("calloc");
    if (end->all->register_sources)
        CHECK(end->all, end->all->ops->reg(end->net, sources, bytes, &end->sources_key) == WEFT_OK);
    return sources;
}

void end_sources_free(struct end *end, void *sources)
{
    if (end->all->register_sources)
        end->all->ops->dereg(end->net, end->sources_key);
    free(sources);
}

weft_status end_move(struct end *end)
{
    bool did = false;
    weft_status status = end->all->ops->progress(end->net, WEFT_NET_SEND, &did);

    if (status == WEFT_OK)
        status = (weft_status)__atomic_load_n(&end->received, __ATOMIC_ACQUIRE);
    if (!did)
        sched_yield();
    return status;
}

void end_meet(struct end *end)
{
    const uint64_t deadline = weft_now_ns() + PATIENCE_NS;

    end->met += (uint32_t)end->all->count;
    __atomic_add_fetch(&end->all->met, 1, __ATOMIC_ACQ_REL);
    while (__atomic_load_n(&end->all->met, __ATOMIC_ACQUIRE) < end->met) {
        end_move(end);
        if (weft_now_ns() > deadline) {
            fprintf(stderr, "end %d waits in vain for the others\n", end->me);
            exit(1);
        }
    }
}

weft_status end_try(struct end *end, const struct weft_net_put *put, enum end_source source)
{
    struct end_put *record = &end->puts[end->put_count];

    if (end->put_count == END_PUTS) {
        fprintf(stderr, "a part of the suite puts more than %d times\n", END_PUTS);
        exit(1);
    }
    *record = (struct end_put){.put = *put, .source = source};
    record->put.cookie = record;
    record->notices = end->told[put->process] + (put->notice != 0);
    weft_status status = end->all->ops->put(end->net, &record->put);
    if (status == WEFT_OK) {
        end->put_count++;
        end->told[put->process] = record->notices;
    }
    return status;
}

weft_status end_insist(struct end *end, const struct weft_net_put *put, enum end_source source)
{
    const uint64_t deadline = weft_now_ns() + PATIENCE_NS;
    weft_status status;

    while ((status = end_try(end, put, source)) == WEFT_NET_FULL) {
        status = end_move(end);
        if (status == WEFT_OK && weft_now_ns() > deadline)
            status = WEFT_ERR_TIMEOUT;
        if (status != WEFT_OK)
            return status;
    }
    return status;
}

weft_status end_put(struct end *end, int to, size_t offset, const void *bytes, size_t count,
                    uint32_t notice, enum end_source source)
{
    const struct weft_net_put put = {.process = to,
                                     .key = end->all->end[to].key,
                                     .offset = offset,
                                     .source = bytes,
                                     .bytes = count,
                                     .notice = notice};
    return end_insist(end, &put, source);
}

bool end_await(struct end *end, int sender, uint32_t count)
{
    const uint64_t deadline = weft_now_ns() + PATIENCE_NS;

    while (__atomic_load_n(&end->notice_count[sender], __ATOMIC_ACQUIRE) < count)
        if (end_move(end) != WEFT_OK || weft_now_ns() > deadline)
            return false;
    return true;
}

void end_settle(struct end *end)
{
    struct ends *all = end->all;
    const uint64_t deadline = weft_now_ns() + PATIENCE_NS;

    for (int p = 0; p < all->count; p++)
        CHECK(all, all->ops->flush(end->net, p) == WEFT_OK);
    for (int i = 0; i < end->put_count; i++)
        while (end->puts[i].landed == 0 && end_move(end) == WEFT_OK && weft_now_ns() < deadline)
            ;
    end_meet(end); /* nothing is under way any more: what would come twice has come */
    uint32_t wrong = 0;
    for (int i = 0; i < end->put_count; i++)
        wrong += end->puts[i].sent != 1 || end->puts[i].landed != 1 || end->puts[i].early;
    CHECK(all, wrong == 0);
    for (int p = 0; p < all->count; p++)
        CHECK(all, end->told[p] ==
                       __atomic_load_n(&all->end[p].notice_count[end->me], __ATOMIC_ACQUIRE));
    end_meet(end);
    end->put_count = 0;
    memset(end->told, 0, sizeof(end->told));
    memset(end->notice_count, 0, sizeof(end->notice_count));
    end_meet(end);
}

/* ---- all of them ----------------------------------------------------------------------------- */

struct run {
    struct end *end;
    void (*side)(struct end *, int);
    int argument;
};

static void *run_end(void *argument)
{
    const struct run *run = argument;
    struct end *end = run->end;
    struct ends *all = end->all;

    end_open(end);
    end_meet(end);
    for (int p = 0; p < all->count; p++)
        CHECK(all, all->ops->connect(end->net, p, all->end[p].address) == WEFT_OK);
    end_meet(end);
    if (pthread_create(&end->receiver, NULL, receive, end) != 0)
        die("pthread_create");
    run->side(end, run->argument);
    end_meet(end);
    __atomic_store_n(&end->stop, 1, __ATOMIC_RELEASE);
    pthread_join(end->receiver, NULL);
    end_close(end);
    return NULL;
}

static void run_threads(struct ends *all, struct run *runs)
{
    pthread_t threads[ENDS_MOST];

    for (int i = 1; i < all->count; i++)
        if (pthread_create(&threads[i], NULL, run_end, &runs[i]) != 0)
            die("pthread_create");
    run_end(&runs[0]);
    for (int i = 1; i < all->count; i++)
        pthread_join(threads[i], NULL);
}

static void run_processes(struct ends *all, struct run *runs)
{
    pid_t children[ENDS_MOST];
    int status;

    fflush(NULL);
    for (int i = 1; i < all->count; i++) {
        children[i] = fork();
        if (children[i] < 0)
            die("fork");
        if (children[i] == 0) {
            run_end(&runs[i]);
            fflush(NULL);
            _exit(0);
        }
    }
    run_end(&runs[0]);
    for (int i = 1; i < all->count; i++)
        CHECK(all, waitpid(children[i], &status, 0) == children[i] && status == 0);
}

static void prepare(struct ends *all, const struct weft_net_ops *ops, int count, bool one_space,
                    uint64_t counter_start)
{
    all->ops = ops;
    all->count = count;
    all->one_space = one_space;
    all->counter_start = counter_start;
    for (int i = 0; i < count; i++) {
        all->end[i].all = all;
        all->end[i].me = i;
        all->end[i].memory = all->memory[i];
    }
}

bool ends_run(const struct ends *with, void (*side)(struct end *, int), int argument)
{
    struct run runs[ENDS_MOST];
    struct ends *all =
        mmap(NULL, sizeof(*all), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    const int count = with->count;

    if (all == MAP_FAILED)
        die("mmap");
    prepare(all, with->ops, count, with->one_space, with->counter_start);
    all->configure = with->configure;
    all->register_sources = with->register_sources;
    all->lands = with->lands;
    for (int i = 0; i < count; i++)
        runs[i] = (struct run){&all->end[i], side, argument};
    if (with->one_space)
        run_threads(all, runs);
    else
        run_processes(all, runs);
    const bool good = all->failures == 0;
    munmap(all, sizeof(*all));
    return good;
}

/* ---- ends that a launcher has started ---------------------------------------------------------
 */

struct launched {
    uint32_t met, unused[1023];
    struct ends ends;
};

/* At the same address everywhere, for there are pointers in it. */
static struct launched *map_launched(const char *file)
{
    static struct launched *mapped;

    if (mapped != NULL)
        return mapped;
    const int fd = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, sizeof(struct launched)) != 0)
        die(file);
    mapped = mmap((void *)0x200000000000, sizeof(struct launched), PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_FIXED_NOREPLACE, fd, 0);
    if (mapped == MAP_FAILED)
        die("mmap");
    close(fd);
    return mapped;
}

static void meet_launched(struct launched *launched, uint32_t count)
{
    const uint64_t deadline = weft_now_ns() + PATIENCE_NS;
    const uint32_t mine = __atomic_add_fetch(&launched->met, 1, __ATOMIC_ACQ_REL);
    const uint32_t all = (mine + count - 1) / count * count;

    while (__atomic_load_n(&launched->met, __ATOMIC_ACQUIRE) < all) {
        sched_yield();
        if (weft_now_ns() > deadline) {
            fprintf(stderr, "an end waits in vain for the others of its launch\n");
            exit(1);
        }
    }
}

bool ends_run_launched(const struct weft_net_ops *ops, int me, int count, const char *file,
                       uint64_t counter_start, void (*side)(struct end *, int), int argument)
{
    struct launched *launched = map_launched(file);
    struct ends *all = &launched->ends;
    const uint32_t ends = (uint32_t)count;

    meet_launched(launched, ends);
    if (me == 0) {
        memset(all, 0, sizeof(*all));
        prepare(all, ops, count, false, counter_start);
    }
    meet_launched(launched, ends);
    if (all->ops != ops) {
        fprintf(stderr, "the ends are not at the same addresses\n");
        exit(1);
    }
    run_end(&(struct run){&all->end[me], side, argument});
    meet_launched(launched, ends);
    const bool good = all->failures == 0;
    meet_launched(launched, ends);
    return good;
}
