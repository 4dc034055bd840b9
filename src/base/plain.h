/*
 * base/plain.h - numbers are read and printed with a point, whatever the program's locale: between
 * these two calls the thread is in the locale C, of which there is one, which is never freed.
 */
#ifndef WEFT_BASE_PLAIN_H
#define WEFT_BASE_PLAIN_H

#include <locale.h>

static inline locale_t weft_plain_begin(void)
{
    return uselocale(newlocale(LC_ALL_MASK, "C", (locale_t)0));
}

static inline void weft_plain_end(locale_t before)
{
    uselocale(before);
}

#endif
