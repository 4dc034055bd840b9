/* remote/table/visible.c - which devices a program sees (CUDA_VISIBLE_DEVICES). The caller owns the
 * list. */
#include "remote/table/known.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Returns a device by its number; -1: none. What stands behind a number does not count. */
static int by_number(const struct weft_known_list *list, const char *text)
{
    char *end;
    const long number = strtol(text, &end, 10);

    return end != text && number >= 0 && number < list->count ? (int)number : -1;
}

/* Writes a UUID as CUDA does: GPU-8-4-4-4-12 digits. */
static void write_uuid(char text[64], const unsigned char uuid[16])
{
    char *at = text + sprintf(text, "GPU");

    for (int i = 0; i < 16; i++)
        at += sprintf(at, i == 0 || (i >= 4 && i <= 10 && i % 2 == 0) ? "-%02x" : "%02x", uuid[i]);
}

/* Returns the device whose UUID begins so; -1: none, or several. */
static int by_uuid(const struct weft_known_list *list, const char *text)
{
    char uuid[64];
    int found = -1, count = 0;

    for (int d = 0; d < list->count; d++) {
        write_uuid(uuid, list->at[d]->facts.uuid);
        if (strncasecmp(uuid, text, strcspn(text, ",")) != 0)
            continue;
        found = d;
        count++;
    }
    return count == 1 ? found : -1;
}

void weft_known_show(struct weft_known_list *list, const char *visible)
{
    const struct weft_known_list all = *list;
    bool named[WEFT_KNOWN_MOST] = {false};

    if (visible == NULL)
        return;
    const bool uuids = strncmp(visible, "GPU-", 4) == 0; /* then all of them are */
    list->count = 0;
    for (const char *at = visible; *at != 0; at += *at == ',') {
        const int device = uuids ? by_uuid(&all, at) : by_number(&all, at);
        if (device < 0)
            return;
        if (named[device]) {
            list->count = 0;
            return;
        }
        named[device] = true;
        list->at[list->count++] = all.at[device];
        at += strcspn(at, ",");
    }
}
