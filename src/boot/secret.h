/* boot/secret.h - a new secret for a job: 32 letters that nobody can guess. */
#ifndef WEFT_BOOT_SECRET_H
#define WEFT_BOOT_SECRET_H

#include "boot/frame.h"

/* Errors: SYSTEM. */
weft_status weft_secret_make(char secret[WEFT_SECRET_BYTES]);

#endif
