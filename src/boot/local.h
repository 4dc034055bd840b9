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

/* Makes a group. Errors: MEMORY. */
weft_status weft_local_begin(struct weft_local **group, int processes);

/* Puts the calling task, and those it starts from now on, into this process of the group. */
void weft_local_enter(struct weft_local *group, int process);

/* Tells that `processes` of the group have ended, or never began: weft_open, where others wait for
 * them, fails. */
void weft_local_gone(struct weft_local *group, int processes);

/* Frees a group whose processes have all closed their channels. */
void weft_local_end(struct weft_local *group);

/* Whether the calling task belongs to a group. */
bool weft_local_here(void);

/* _open, for control.c, joins the calling task's group; _solo a group of one, freed with its
 * channel. */
weft_status weft_local_open(struct weft_control **control, const struct weft_config *config);
weft_status weft_local_solo(struct weft_control **control, const struct weft_config *config);

#endif
