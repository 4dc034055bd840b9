/* compat/mpi/request.h - what the calls that wait are made of: request.c, wait.c. */
#ifndef WEFTMPI_REQUEST_H
#define WEFTMPI_REQUEST_H

#include "internal.h"

extern struct weftmpi_request weftmpi_requests[1]; /* WEFTMPI_REQUEST_DONE's */
void weftmpi_request_end(void *request);

/*
 * The request of a handle; NULL: MPI_REQUEST_NULL, or, unless `idle_too`, a persistent one that is
 * not active.
 */
int weftmpi_request_find(const char *call, MPI_Request handle, bool idle_too,
                         struct weftmpi_request **request);
/* In a function of MPI: declares it. */
#define REQUEST_IN(request, handle, idle_too)                                                      \
    struct weftmpi_request *request;                                                               \
    TRY(weftmpi_is_open(__func__));                                                                \
    TRY(weftmpi_request_find(__func__, handle, idle_too, &(request)))
/* Whether it is complete; waits so long at most for something that belongs to it. */
bool weftmpi_request_poll(struct weftmpi_request *request, double seconds);
/* Waits until it is. */
void weftmpi_request_until(struct weftmpi_request *request);
/* It is complete (or NULL): tells, and ends it. Returns its error. */
int weftmpi_request_tell(struct weftmpi_request *request, MPI_Request *handle, MPI_Status *status);

#endif
