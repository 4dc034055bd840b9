/* dart.h - the name under which programs of the byte-count interface know it: dart_2014.h. */
#include <dart_2014.h>
