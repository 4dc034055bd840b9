/*
 * remote/client/client.h - the driver table whose devices are those of weft-gpud on other hosts: a
 * program's side of a remote job.
 */
#ifndef WEFT_REMOTE_CLIENT_CLIENT_H
#define WEFT_REMOTE_CLIENT_CLIENT_H

#include "base/config.h"
#include "remote/rows/row.h"
#include "remote/table/table.h"

/*
 * Asks the servers of config->remote_servers for a session each and joins them. Blocking, at most
 * config->connect_s for each server; one client a process. The table's functions may be called by
 * any thread, as the driver's. Errors: CONFIG, SYSTEM, TIMEOUT, PEER_LOST, PROTOCOL, those of
 * weft_links_open; said.
 */
weft_status weft_client_open(const struct weft_cuda_table **table,
                             const struct weft_config *config);

/* Does what weft_client_open does where sessions are under way already: config names the job, in
 * which this is process 0. names: what messages call the servers, one each; they stay the
 * caller's. */
weft_status weft_client_join(const struct weft_cuda_table **table, const struct weft_config *config,
                             const char *const *names);

/* Says good-bye to the servers; blocks for 5 s at most. Called at the end of the process at the
 * latest. */
void weft_client_close(void);

/* Returns the name of a device's server; *number: the device's number there. NULL: no device. */
const char *weft_client_where(int device, int *number);

/*
 * Calls a function of a library at the server of its first object, or of the current device. Waits
 * where something comes back. *status: the library's own; 0 also where nobody waited, whose error
 * comes with a later call. Errors: NOT_SUPPORTED: over a driver of this machine, where the vendor's
 * own are to be used; INVALID_HANDLE: no object; INVALID_VALUE: another device's stream, nowhere to
 * write to, too many bytes; OUT_OF_MEMORY; the session's.
 */
CUresult client_library(enum weft_row row, const struct weft_row_argument *arguments,
                        uint32_t count, int *status);

#endif
