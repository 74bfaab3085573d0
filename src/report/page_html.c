// The page itself: a template that the build made of web/, with two places for data (web/README.md).
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "report/page.h"

#ifdef HAVE_PAGE
extern const char page_template[];
extern const char page_template_end[];
#endif

bool page_has_template(void)
{
#ifdef HAVE_PAGE
    return true;
#else
    return false;
#endif
}

int page_fill_template(const char *data, const char *server, FILE *out)
{
#ifdef HAVE_PAGE
    const struct {
        const char *marker;
        const char *text;
    } fill[] = {{"@IOSEER_DATA@", data}, {"@IOSEER_SERVER@", server}};
    const char *at = page_template;
    for (size_t i = 0; i < sizeof fill / sizeof fill[0]; i++) {
        const char *marker = memmem(at, (size_t)(page_template_end - at), fill[i].marker, strlen(fill[i].marker));
        RETURN_IF(!marker, ERR_FORMAT);
        fwrite(at, 1, (size_t)(marker - at), out);
        fputs(fill[i].text, out);
        at = marker + strlen(fill[i].marker);
    }
    fwrite(at, 1, (size_t)(page_template_end - at), out);
    return ferror(out) ? -errno : 0;
#else
    (void)data;
    (void)server;
    (void)out;
    return ERR_NOTHING;
#endif
}

int page_html(struct page *page, FILE *out)
{
    char *data = NULL;
    size_t len;
    FILE *memory = open_memstream(&data, &len);
    RETURN_IF(!memory, -ENOMEM);
    int code = page_json(page, memory);
    if (fclose(memory) && !code) code = -ENOMEM;
    if (!code) code = page_fill_template(data, "null", out);
    free(data);
    return code;
}
