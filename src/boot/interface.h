/*
 * boot/interface.h - where process 0 listens when nobody has said where: on this host's addresses,
 * or on those of the interface that WEFT_INTERFACE names. Launchers and PMIx start-up use it.
 */
#ifndef WEFT_BOOT_INTERFACE_H
#define WEFT_BOOT_INTERFACE_H

#include "base/netif.h"
#include "boot/frame.h"

/* Who has to reach the root. */
enum weft_reach { WEFT_REACH_HOST, WEFT_REACH_NETWORK };

/*
 * Opens a listening socket at a port that the system chooses. root is the text for WEFT_ROOT: all
 * addresses under which it can be reached, as many as fit. WEFT_REACH_HOST listens on the loopback
 * interface alone. interface: "" for every interface that is up, or the name of one, or an address
 * of its network (so that one value serves all hosts); then nothing comes in elsewhere. The socket
 * closes on exec. Errors: CONFIG (no such interface or address), SYSTEM.
 */
weft_status weft_interface_listen(int *fd, char root[WEFT_ROOT_BYTES], const char *interface,
                                  enum weft_reach reach);

/* Makes a new secret for a job: 32 letters that nobody can guess. Errors: SYSTEM. */
weft_status weft_secret_make(char secret[WEFT_SECRET_BYTES]);

#endif
