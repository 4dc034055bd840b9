/*
 * boot/local.h - a job whose processes are tasks of one address space, and the job of one.
 *
 * weft_local_job begins a group, starts one task a process, which enters the group before it
 * opens its job, and ends the group when all tasks have ended. Built on locks and bells only, so
 * that it runs as threads and in random mode.
 */
#ifndef WEFT_BOOT_LOCAL_H
#define WEFT_BOOT_LOCAL_H

#include "boot/control.h"

struct weft_local;

/* Errors: MEMORY. */
weft_status weft_local_begin(struct weft_local **group, int processes);

/* The calling task, and those it starts from now on, belong to this process of the group. */
void weft_local_enter(struct weft_local *group, int process);

/* So many of its processes have ended, or never began: who waits for them in weft_open fails. */
void weft_local_gone(struct weft_local *group, int processes);

/* Frees the group; every process has closed its channel. */
void weft_local_end(struct weft_local *group);

/* Does the calling task belong to a group? */
bool weft_local_here(void);

/* For control.c: joins the calling task's group; a group of one, freed with its channel. */
weft_status weft_local_open(struct weft_control **control, const struct weft_config *config);
weft_status weft_local_solo(struct weft_control **control, const struct weft_config *config);

#endif
