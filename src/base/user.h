// Names of users.
#pragma once

#include <stdint.h>

enum { USER_NAME_BYTES = 64 };

// The user's name, or the number if there is none.
void user_name(uint32_t user, char name[USER_NAME_BYTES]);
