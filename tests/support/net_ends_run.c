/* support/net_ends_run.c - support/net_ends.h: all ends of a job, as threads or as processes. */
#include "support/net_ends.h"

#include "base/task.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static void die(const char *what)
{
    perror(what);
    exit(1);
}

static void *receive(void *argument)
{
    struct end *end = argument;
    uint64_t busy = 0;

    while (__atomic_load_n(&end->stop, __ATOMIC_ACQUIRE) == 0) {
        bool did = false;
        if (__atomic_load_n(&end->hold, __ATOMIC_ACQUIRE) == 0) {
            weft_status status = weft_net_progress(end->net, WEFT_NET_RECEIVE, &did);
            __atomic_store_n(&end->received, (uint32_t)status, __ATOMIC_RELEASE);
            if (status != WEFT_OK)
                return NULL;
        }
        end_rest(&busy, did);
    }
    return NULL;
}

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
        CHECK(all, weft_net_connect(end->net, p, all->end[p].address) == WEFT_OK);
    end_meet(end);
    if (pthread_create(&end->receiver, NULL, receive, end) != 0)
        die("pthread_create");
    run->side(end, run->argument);
    end_meet(end);
    __atomic_store_n(&end->stop, 1, __ATOMIC_RELEASE);
    pthread_join(end->receiver, NULL);
    end_stopped(end);
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

static void prepare(struct ends *all, const struct weft_transport_ops *ops, int count,
                    bool one_space, uint64_t counter_start)
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
    all->later = with->later;
    all->stages = with->stages;
    all->places = with->places;
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

/* ---- ends that a launcher has started ------------------------------------------------------ */

struct launched {
    uint32_t met, unused[1023];
    struct ends ends;
};

/* Maps the shared memory at the same address everywhere, for there are pointers in it. */
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
    const uint64_t deadline = weft_now_ns() + END_PATIENCE_NS;
    const uint32_t mine = __atomic_add_fetch(&launched->met, 1, __ATOMIC_ACQ_REL);
    const uint32_t all = (mine + count - 1) / count * count;
    uint64_t busy = 0;

    while (__atomic_load_n(&launched->met, __ATOMIC_ACQUIRE) < all) {
        end_rest(&busy, false);
        if (weft_now_ns() > deadline) {
            fprintf(stderr, "an end waits in vain for the others of its launch\n");
            exit(1);
        }
    }
}

bool ends_run_launched(const struct weft_transport_ops *ops, int me, int count, const char *file,
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
