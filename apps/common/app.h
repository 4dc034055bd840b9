/*
 * common/app.h - what the host programs of the weft variants share: a job with its settings, device
 * memory that must be there, repetitions, and agreement between processes. A failure on one process
 * stops all of them, so that none waits for it.
 */
#ifndef COMMON_APP_H
#define COMMON_APP_H

#include "report.h"

#include <weft/weft.h>

struct app {
    const struct program *program;
    struct settings settings;
    weft_job *job;
    const weft_numbers *numbers;
};

/*
 * Opens the job and reads the command line. Returns false when the program should end at once;
 * then, too, call app_close.
 */
bool app_open(struct app *app, const struct program *program, int argc, char **argv);
/* "cpu" or "cuda": this process's device. */
const char *app_device(const weft_job *job);
/* Closes the job. Returns the exit status; good: whether all went well so far. */
int app_close(struct app *app, bool good);

/*
 * Collective. Prepares the kernel with as many ranks and threads as the settings say, or as the
 * device holds; at most most_ranks (0: no limit). All devices must have the same number of ranks:
 * otherwise false, after process 0 has said so.
 */
bool app_prepare(struct app *app, const weft_kernel *kernel, int threads, uint64_t most_ranks);

/* New zeroed device memory, never of no bytes; the pointer goes to where `memory` points. */
bool app_allocate(struct app *app, size_t bytes, void *memory);
/* The same, with a copy of these bytes. */
bool app_upload(struct app *app, const void *host, size_t bytes, void *memory);
/* New host memory, zeroed, or NULL after the job was stopped. */
void *app_host_memory(struct app *app, size_t bytes);

/*
 * Collective. The repetitions: each time prepare(problem) and then one run of the kernel with a
 * copy of the user data, which is filled by prepare and copied back. Reports the slowest process's
 * first timer interval. `user` keeps what the last run left there.
 */
bool app_repeat(struct app *app, bool (*prepare)(struct app *app, void *problem), void *problem,
                void *user, size_t user_bytes);

/*
 * Collective. Device memory of all processes, `bytes` from each, in the order of processes: in new
 * host memory on process 0, for the caller to free; *all is NULL elsewhere.
 */
bool app_gather(struct app *app, const void *device, size_t bytes, void *all);

/* Collective: whether all processes say so; process 0 alone knows in the end what is printed. */
bool app_all(struct app *app, bool good);

#endif
