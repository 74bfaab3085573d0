#include "reduce/run.h"

extern const struct reducer ioseer_reducer __attribute__((visibility("default")));
const struct reducer ioseer_reducer = {REDUCER_BUILD, reduce_run};
