/*
 * gpud.h - weft-gpud: lets programs of other hosts use this host's GPUs, a process for each.
 *
 * The daemon itself never touches a GPU and has one thread. It greets who connects, checks who
 * knows the secret, and forks: the child is the program's session (remote/session) and ends with
 * the program.
 */
#ifndef WEFT_GPUD_H
#define WEFT_GPUD_H

#include "base/netif.h"
#include "remote/session/session.h"
#include "remote/wire/hello.h"

#include <poll.h>
#include <sys/types.h>

enum { STRANGERS = 64, MOST_CLIENTS = 256, MOST_WARM = 16, MOST_CHILDREN = 320 };
enum { OWN_FILES = 32 }; /* besides those of strangers and warm sessions */

struct gpud {
    /* options */
    struct weft_root listen;
    const char *secret_file, *driver;
    bool no_secret;
    int devices[WEFT_LINK_DEVICES], device_count;
    uint64_t memory; /* of one client on a device; 0: all */
    uint32_t places;
    uint32_t idle_s; /* how long a program may ask for nothing; 0: for ever */
    uint32_t warm;   /* sessions that are ready before a program comes */
    uid_t user;      /* sessions run as this one; -1: as the daemon */
    gid_t group;
    /* state */
    struct weft_key key;
    pid_t pid;
    int listener;
    uint64_t accept_from; /* nobody could be let in: not before */
    uint64_t minute;      /* when it began, in which so many were refused */
    uint32_t refused;
    struct stranger {
        int fd; /* -1: free */
        uint64_t deadline;
        size_t have; /* bytes of the request */
        struct weft_greeting greeting;
        struct weft_signed_request request;
    } strangers[STRANGERS];
    struct child {
        pid_t pid; /* 0: free */
        int line;  /* where it is told of its program; -1: it has one, */
        char peer[64];
    } children[MOST_CHILDREN];
    uint32_t client_count, idle; /* of children: with a program, and without */
};

/* main.c: one line on stderr. */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* listener.c: strangers. Non-blocking. */
void listener_open(struct gpud *gpud);
void listener_watch(const struct gpud *gpud, struct pollfd polled[1 + STRANGERS]);
void listener_serve(struct gpud *gpud, const struct pollfd polled[1 + STRANGERS]);
/* Says how many refusals of the last minute were not said, once it is over. */
void listener_tell(struct gpud *gpud, uint64_t now);

/* child.c */
/* How many devices the driver has, and its name; asked in a child. False: it has none, said. */
bool child_count_devices(const struct gpud *gpud, int *devices);
/* Starts sessions that wait for a program, with their contexts made, until there are gpud->warm. */
void child_warm(struct gpud *gpud);
/* Starts a session, or takes one that waits, for who has said the right hello. False: the system
 * has no room. */
bool child_start(struct gpud *gpud, const struct weft_hello_request *request, const char *peer);
/* Forgets the sessions that have ended. */
void child_reap(struct gpud *gpud);
/* Ends all; returns how many there were. */
uint32_t child_end_all(struct gpud *gpud);

#endif
