/*
 * device/cpu/random/random.h - random mode: a small model of a weakly ordered machine, in one
 * thread.
 *
 * Between begin and end, weft_model (order/model.h) is set: the calling thread is the root task,
 * and every task started is a fiber of it. What runs when, and which stores arrive when, is drawn
 * from the seed; the same seed and program give the same run.
 *
 * Schedule. At every call of the model the running task may lose its turn; a yield always gives it
 * up if another task can run. How often, and to whom, is a mood, drawn from the seed and, for some
 * seeds, drawn anew now and then: anyone; mostly one favourite; all but one; or by priorities that
 * change at random points (PCT). Each mood lets every task run again and again.
 *
 * Memory is C11's with acquire, release, relaxed and release fences, seen as vector clocks: each
 * task has a clock, each atomic word the clock of the value that it holds.
 *   - A release store gives its word the clock of its task; a relaxed store that of the task's
 *     latest fence, or none; an add joins the same into what the word has (release sequence).
 *   - An acquire joins the word's clock into the task's: what it covers has happened before.
 *   - Stores and writes (never adds) may be held back after the call has returned, for up to some
 *     hundred calls of each task, and arrive in any order, except that those of one task to
 *     overlapping bytes keep theirs. An arrived store is seen by all at once.
 *   - Whatever happened before an acquire arrives before the acquire returns. A task sees its own
 *     stores through the model's calls at once, and through plain loads after it has acquired
 *     something that it released itself.
 *   - Locks acquire and release. Starting or joining a task first lets all own stores arrive; a
 *     joined task's have arrived when the join returns.
 *   - A put that is held back reads its source when it arrives, or before its task's next reuse.
 * Not modelled: loads that are reordered among themselves (an acquire orders the stores of others,
 * not the loads of this task), sequentially consistent fences, and plain C accesses, which act on
 * memory at once. Weaker than any real machine in one way: nothing but labels orders stores.
 *
 * Races. Ranges given to write, read and claim are remembered, a byte at a time, with the task's
 * clock. Two accesses by different tasks, one of them a write, of which neither happened before the
 * other, are a race, however the run went: the check looks at order, not at luck. A held back write
 * counts from its call. Atomic accesses are not checked. Only a few readers of a word are
 * remembered, so a race of a write with one of many readers may need another seed to show.
 *
 * A message (order/model.h: send) releases nothing, but what it brings has been read. Who takes it
 * knows what its sender had loaded before, and what that has read to send to the same target.
 *
 * Time is virtual: 100 ns a call. Once every task that can run has yielded idle 20 times in a row
 * while nothing changed, the next held-back store arrives; if there is none, each yield takes 1 ms.
 * After 200 such yields each it is quiet: either a deadlock or tasks that wait for the clock.
 */
#ifndef WEFT_DEVICE_CPU_RANDOM_RANDOM_H
#define WEFT_DEVICE_CPU_RANDOM_RANDOM_H

#include "weft/types.h"

#include <stddef.h>
#include <stdint.h>

/* A task's stack: enough with sanitizers, too; pages never touched cost nothing. */
enum { WEFT_RANDOM_STACK = 1 << 20 };

/*
 * Turns random mode on; the caller becomes the root task. May follow an end, not another begin:
 * STATE. Without memory for it the process ends.
 */
weft_status weft_random_begin(uint64_t seed);

/* Turns random mode off. The root task calls it after all others have ended; what is held back
 * arrives first. Says ERR_STATE and drops the rest of any task that still runs. */
void weft_random_end(void);

/* Between begin and end: sets the bytes of the stack of tasks started from now on,
 * WEFT_RANDOM_STACK at least, and returns them. */
size_t weft_random_stack(size_t bytes);

/*
 * Between begin and end: sets what the first race of the run calls, in the task that completes it,
 * inside its call of write, read or claim. It may use the model. NULL, as at first: there is only
 * the message. Races before are forgotten.
 */
void weft_random_on_race(void (*handler)(const char *text, void *argument), void *argument);

#endif
