/*
 * helper.h - a helper: what it knows, and what it does when it is told something (obey.c). Its
 * loop, and what it tells the launcher: helper.c.
 */
#ifndef WEFTRUN_HELPER_H
#define WEFTRUN_HELPER_H

#include "weftrun.h"

struct helper {
    struct job job;
    struct options options;
    struct link link;
    int first, count, words;
    int running;
    bool over;    /* nothing runs here any more */
    bool stays;   /* in place of process 0 (launch_miss), until the launcher sends a signal */
    bool quit;    /* do not even send what is left */
    int signals;  /* signalfd */
    int to_input; /* process 0's standard input; -1: ended, or elsewhere */
    char *input;  /* what it has not taken */
    size_t input_begin, input_end;
    bool input_last;
    char complaint[400];
    char units[UNITS_BYTES]; /* options.units */
    struct pollfd *polled;   /* twice as long as needed: weft_poll_open */
};

/* Does what a record says. False: it is not expected, or cannot be. */
bool helper_obey(struct helper *helper, const struct weft_header *header, const void *payload);

/* Nothing can be done here: says why (what was complained of), and ends. True. */
bool helper_fail(struct helper *helper, int exit_status);

/* Gives process 0 what it takes of its input, and asks for more. */
void helper_feed(struct helper *helper);

/* Standard input is nothing from now on. False with errno. */
bool helper_close_input(void);

#endif
