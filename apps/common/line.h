/*
 * common/line.h - lines of text files, which may hold anything: a file without line ends, as
 * /dev/zero, takes no more memory than a line.
 */
#ifndef COMMON_LINE_H
#define COMMON_LINE_H

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { LINE_MOST = 4096 }; /* bytes */

/*
 * Takes the next line, without its end. *end: there is none. Returns NULL, or what is wrong with
 * it; then the rest of the file is not to be read.
 */
static inline const char *line_read(FILE *file, char line[LINE_MOST + 1], bool *end)
{
    size_t length = 0;
    int c;

    errno = 0;
    while ((c = getc_unlocked(file)) != EOF && c != '\n') {
        if (c == '\0')
            return "a zero byte: this is not text";
        if (length == LINE_MOST)
            return "the line is longer than 4096 bytes";
        line[length++] = (char)c;
    }
    *end = c == EOF && length == 0;
    if (length > 0 && line[length - 1] == '\r')
        length--;
    line[length] = '\0';
    return ferror(file) ? strerror(errno) : NULL;
}

#endif
