#include "base/cpu.h"

__asm__(CPU_FUNCTION(vfork, CPU_VFORK));
__asm__(".hidden cpu_switch\n" CPU_FUNCTION(cpu_switch, CPU_SWITCH_ANY));
