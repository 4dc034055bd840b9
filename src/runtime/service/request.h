/*
 * runtime/service/request.h - commands that became puts, on their way to the network; the progress
 * task's.
 *
 * A put whose source the network cannot read where it lies goes through pinned host memory
 * (staging.h) in pieces: copies from the device are begun, of several pieces and of the next
 * commands, too; each piece is handed on when its copy is done, in the order of the commands; its
 * memory is free again when the network has read it. So the copy engine, the network, and the
 * device at the other end work at the same time. Nothing here waits, and each turn of a rank begins
 * few pieces, so that many ranks share the engine.
 */
#ifndef WEFT_RUNTIME_SERVICE_REQUEST_H
#define WEFT_RUNTIME_SERVICE_REQUEST_H

#include "runtime/job/job.h"

/* A new one of that rank, of which nothing has been handed on; NULL: the job has failed. */
struct weft_request *weft_request_make(struct weft_job *job, uint32_t slot, bool with_payload);
void weft_request_free(struct weft_job *job, struct weft_request *request);

/* Begins copies for the rank's next commands, in their order. True: some were begun. */
bool weft_requests_fetch(struct weft_job *job, struct weft_manager *manager);
/* Hands on to the network what is there, in order. True: anything was finished. */
bool weft_requests_issue(struct weft_job *job, struct weft_manager *manager);

#endif
