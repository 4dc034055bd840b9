/* weft_cuda.h - the verbs of weft-cuda; each returns the exit status. argv: a program and what is
 * behind it, NULL at the end; list and status have none. */
#ifndef WEFT_CUDA_H
#define WEFT_CUDA_H

/* Becomes the program, with weft's runtime in place of NVIDIA's. */
int run_program(char **argv);
/* A line for each device of the servers. */
int list_devices(char **argv);
/* A line for each server: how many programs it serves. */
int show_status(char **argv);
/* Which functions of the runtime a program uses; 1: some are refused. */
int check_program(char **argv);

#endif
