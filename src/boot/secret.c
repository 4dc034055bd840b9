/* boot/secret.c - a new secret for a job. */
#include "boot/secret.h"

#include "base/say.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

weft_status weft_secret_make(char secret[WEFT_SECRET_BYTES])
{
    unsigned char word[16];

    if (getrandom(word, sizeof(word), 0) != (ssize_t)sizeof(word))
        return weft_err(WEFT_ERR_SYSTEM, "no random numbers for a secret: %s", strerror(errno));
    for (size_t i = 0; i < sizeof(word); i++)
        snprintf(secret + 2 * i, 3, "%02x", word[i]);
    return WEFT_OK;
}
