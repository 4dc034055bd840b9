/*
 * remote/client/client.h - the driver table whose devices are those of weft-gpud on other hosts: a
 * program's side of a remote job.
 */
#ifndef WEFT_REMOTE_CLIENT_CLIENT_H
#define WEFT_REMOTE_CLIENT_CLIENT_H

#include "base/config.h"
#include "remote/table/table.h"

/*
 * Asks the servers of config->remote_servers for a session each and joins them. Blocking, at most
 * config->connect_s for each server; one client a process. The table's functions may be called by
 * any thread, as the driver's. Errors: CONFIG, SYSTEM, TIMEOUT, PEER_LOST, PROTOCOL, those of
 * weft_links_open; said.
 */
weft_status weft_client_open(const struct weft_cuda_table **table,
                             const struct weft_config *config);

/*
 * The same where sessions are under way already: config names the job, in which this is process 0.
 * names: what messages call the servers, one each; they stay the caller's.
 */
weft_status weft_client_join(const struct weft_cuda_table **table, const struct weft_config *config,
                             const char *const *names);

/* Says good-bye to the servers; at most 5 s. At the end of the process at the latest. */
void weft_client_close(void);

/* Of a device: its server's name and its number there. */
const char *weft_client_where(int device, int *number);

#endif
