/* weft_cuda.h - the verbs of weft-cuda; each returns the exit status. */
#ifndef WEFT_CUDA_H
#define WEFT_CUDA_H

/* Becomes the program, with weft's runtime in place of NVIDIA's. argv ends with NULL. */
int run_program(char **argv);
/* A line for each device of the servers. */
int list_devices(void);
/* A line for each server: how many programs it serves. */
int show_status(void);
/* Which functions of the runtime a program uses; 1: some are refused. */
int check_program(const char *file);

#endif
