/* weft_cuda.h - the verbs of weft-cuda; each returns the exit status. argv: a program and what is
 * behind it, NULL at the end; some verbs have none. */
#ifndef WEFT_CUDA_H
#define WEFT_CUDA_H

#include "remote/redirect/elf.h"

/* Becomes the program, with weft's runtime in place of NVIDIA's. */
int run_program(char **argv);
/* A line for each device of the servers. */
int list_devices(char **argv);
/* A line for each server: how many programs it serves. */
int show_status(char **argv);
/* Which functions of the runtime a program uses; 1: some are refused. */
int check_program(char **argv);
/* All that is served, or refused and where one reads why. */
int list_functions(char **argv);

/* Calls `found` for the functions of the runtime that a program with all of them in it calls. */
void tell_calls(const struct weft_elf *elf,
                void (*found)(void *context, const char *name, uint64_t value, uint64_t room),
                void *context);

#endif
