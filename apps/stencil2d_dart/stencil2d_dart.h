/* stencil2d_dart/stencil2d_dart.h - the list of tasks. */
#ifndef STENCIL2D_DART_H
#define STENCIL2D_DART_H

#define WORK(X) X(relax)

#endif
