/* compat/mpi/request.h - what the calls that wait are made of: request.c, wait.c. */
#ifndef WEFTMPI_REQUEST_H
#define WEFTMPI_REQUEST_H

#include "internal.h"

extern struct weftmpi_request weftmpi_requests[2]; /* MPI_REQUEST_NULL's, WEFTMPI_REQUEST_DONE's */
void weftmpi_request_end(void *request);

/* The request of a handle, in a function of MPI, or for `call`: declares it. */
#define REQUEST_IN(name, handle)                                                                   \
    TRY(weftmpi_is_open(__func__));                                                                \
    REQUEST_OF(name, __func__, handle)
#define REQUEST_OF(name, call, handle) OBJECT_IN(name, request, WEFTMPI_REQUEST, call, handle)
/* Whether it is complete, or not active; waits so long at most for something of it. */
bool weftmpi_request_poll(struct weftmpi_request *request, double seconds);
/* Waits until it is. */
void weftmpi_request_until(struct weftmpi_request *request);
/* It is complete: tells, and ends it. Returns its error. */
int weftmpi_request_tell(struct weftmpi_request *request, MPI_Request *handle, MPI_Status *status);

#endif
