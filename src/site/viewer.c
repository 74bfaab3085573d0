#include "site/viewer.h"

#include <errno.h>
#include <grp.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/err.h"
#include "base/scoped.h"
#include "site/settings.h"

// 1 if this process is in the group, 0 if not.
static int is_in_group(const char *name, const char *source, struct problem *problem) {
    errno = 0;
    const struct group *group = getgrnam(name); // of a verb: there is one thread
    if (!group) return problem_set(problem, errno ? -errno : ERR_USAGE, source, "support_group: no group %s", name);
    gid_t wanted = group->gr_gid;
    if (getegid() == wanted) return 1;
    int count = getgroups(0, NULL);
    RETURN_IF(count < 0, -errno);
    SCOPED_FREE gid_t *own = calloc((size_t)count + 1, sizeof *own);
    RETURN_IF(!own, -ENOMEM);
    count = getgroups(count, own);
    RETURN_IF(count < 0, -errno);
    for (int i = 0; i < count; i++) {
        if (own[i] == wanted) return 1;
    }
    return 0;
}

int site_viewer(struct site_viewer *viewer, struct problem *problem) {
    struct site_settings settings;
    struct problem elsewhere = {0}; // what is wrong with other settings is no matter here
    uid_t user = geteuid();
    *viewer = (struct site_viewer){.sees_all = user == 0};
    user_name(user, viewer->name);
    if (viewer->sees_all) return 0;
    int code = site_settings_read(&settings, &elsewhere);
    const char *group = settings.value[SITE_SUPPORT_GROUP];
    code = code == -ENOMEM ? code : *group ? is_in_group(group, settings.source[SITE_SUPPORT_GROUP], problem) : 0;
    viewer->sees_all = code > 0;
    site_settings_free(&settings);
    return code < 0 ? code : 0;
}
