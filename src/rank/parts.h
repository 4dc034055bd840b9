/*
 * rank/parts.h - what the calls of weft/device.h are made of. Each part builds on those above it,
 * and includes the rank's state alone.
 */
#ifndef WEFT_RANK_PARTS_H
#define WEFT_RANK_PARTS_H

/* clang-format off */
#include "rank/counter.h"       /* counting, */
#include "rank/fail.h"          /* complaining, */
#include "rank/together.h"      /* meeting, */
#include "rank/trace/trace.h"   /* recording */

#include "rank/path/bell.h"     /* what a wait rings and serves, */
#include "rank/wait/deliver.h"
#include "rank/wait/mailbox.h"
#include "rank/wait/wait.h"     /* and waiting */
#ifdef __CUDACC__
#include "rank/wait/look_cuda.h"
#include "rank/wait/take_cuda.h"
#include "rank/wait/wait_cuda.h"
#endif

#include "rank/route.h"         /* where a target is, */
#include "rank/copy.h"          /* moving bytes there, */
#include "rank/path/command.h"  /* telling the host, */
#include "rank/path/channel.h"  /* and the ways */
#include "rank/path/here.h"
#include "rank/path/peer.h"
#include "rank/path/proxy.h"
#include "rank/path/ask.h"
#include "rank/path/queue.h"
#ifdef __CUDACC__
#include "rank/path/channel_cuda.h"
#endif
#include "rank/path/dispatch.h"
/* clang-format on */

#endif
