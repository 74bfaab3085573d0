#include "base/user.h"

#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>

void user_name(uint32_t user, char name[USER_NAME_BYTES]) {
    struct passwd entry, *found = NULL;
    char room[4096];
    bool is_known = getpwuid_r(user, &entry, room, sizeof room, &found) == 0 && found && *found->pw_name;
    if (is_known)
        snprintf(name, USER_NAME_BYTES, "%s", found->pw_name);
    else
        snprintf(name, USER_NAME_BYTES, "%u", user);
}
