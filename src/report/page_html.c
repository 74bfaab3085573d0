// The HTML page: the build makes a template from web/, with two places for data (web/README.md).
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "report/page.h"

#ifdef HAVE_PAGE
extern const char page_template[];
extern const char page_template_end[];
#else
static const char page_template[1], *const page_template_end = page_template;
#endif

bool page_has_template(void) { return page_template_end - page_template > 0; }

int page_fill_template(const char *data, const char *server, FILE *out) {
    const struct {
        const char *marker;
        const char *text;
    } fill[] = {{"@IOSEER_DATA@", data}, {"@IOSEER_SERVER@", server}};
    const char *at = page_template;
    RETURN_IF(!page_has_template(), ERR_NOTHING);
    for (size_t i = 0; i < sizeof fill / sizeof fill[0]; i++) {
        const char *marker = memmem(at, (size_t)(page_template_end - at), fill[i].marker, strlen(fill[i].marker));
        RETURN_IF(!marker, ERR_FORMAT);
        fwrite(at, 1, (size_t)(marker - at), out);
        fputs(fill[i].text, out);
        at = marker + strlen(fill[i].marker);
    }
    fwrite(at, 1, (size_t)(page_template_end - at), out);
    return ferror(out) ? -errno : 0;
}

int page_html(struct page *page, FILE *out) {
    char *data;
    size_t len;
    int code = page_json_memory(page, &data, &len);
    if (!code) code = page_fill_template(data, "null", out);
    free(data);
    return code;
}
