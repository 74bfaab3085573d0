#include "whatif/chart.h"

#include <errno.h>
#include <math.h>

#include "base/human.h"

enum { WIDTH = 640, HEIGHT = 320, LEFT = 70, BOTTOM = 40, TOP = 30 };

static const char head[] =
    "<!DOCTYPE html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>Where collective I/O wins</title>\n"
    "<style>body{font:15px sans-serif;margin:2em;max-width:46em;color-scheme:light dark}"
    "svg{width:100%;height:auto;border:1px solid #8884}text{font-size:12px;fill:currentColor}"
    ".collective{stroke:#0072b2}.independent{stroke:#d55e00}path{fill:none;stroke-width:2}"
    ".crossing{stroke:#888;stroke-dasharray:4}</style>\n<h1>Where collective I/O wins</h1>\n";

// What one chart shows.
struct chart {
    const struct crossover_curve *curve;
    const char *title, *names[2];
    struct human (*unit)(double x);
    bool logarithmic; // along x
    double low, high; // seconds
};

static struct human tau_text(double x) { return human_percent(x); }

static struct human message_text(double x) { return human_bytes((uint64_t)x); }

static void print_escaped(const char *text, FILE *out) {
    for (; *text; text++) {
        if (*text == '<' || *text == '>' || *text == '&')
            fprintf(out, "&#%d;", *text);
        else
            fputc(*text, out);
    }
}

// --- places

static double place_x(const struct chart *chart, double x) {
    double low = chart->curve->x[0], high = chart->curve->x[CROSSOVER_POINTS - 1];
    double share = chart->logarithmic ? log(x / low) / log(high / low) : (x - low) / (high - low);
    return LEFT + share * (WIDTH - LEFT - 20);
}

static double place_y(const struct chart *chart, double seconds) {
    double share = log(fmax(seconds, chart->low) / chart->low) / log(chart->high / chart->low);
    return HEIGHT - BOTTOM - share * (HEIGHT - BOTTOM - TOP);
}

// Powers of ten around all times.
static void find_range(struct chart *chart) {
    double low = INFINITY, high = 0;
    for (size_t i = 0; i < CROSSOVER_POINTS; i++) {
        const double value[] = {chart->curve->collective[i], chart->curve->independent[i]};
        for (unsigned k = 0; k < 2; k++) {
            if (value[k] > 0 && value[k] < low) low = value[k];
            if (value[k] > high) high = value[k];
        }
    }
    chart->low = pow(10, floor(log10(fmin(low, fmax(high, 1e-9)))));
    chart->high = fmax(pow(10, ceil(log10(fmax(high, 1e-9)))), chart->low * 10);
}

// --- parts

static void print_line(const struct chart *chart, const double *seconds, const char *class, FILE *out) {
    fprintf(out, "<path class=\"%s\" d=\"", class);
    for (size_t i = 0; i < CROSSOVER_POINTS; i++)
        fprintf(out, "%c%.1f %.1f", i ? 'L' : 'M', place_x(chart, chart->curve->x[i]), place_y(chart, seconds[i]));
    fprintf(out, "\"/>\n");
}

static void print_axes(const struct chart *chart, FILE *out) {
    for (double seconds = chart->low; seconds <= chart->high * 1.01; seconds *= 10)
        fprintf(out, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n", LEFT - 6, place_y(chart, seconds) + 4,
                human_time(seconds).text);
    for (size_t i = 0; i < CROSSOVER_POINTS; i += (CROSSOVER_POINTS - 1) / 4)
        fprintf(out, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%s</text>\n", place_x(chart, chart->curve->x[i]),
                HEIGHT - BOTTOM + 18, chart->unit(chart->curve->x[i]).text);
}

static void print_crossing(const struct chart *chart, FILE *out) {
    double x = chart->curve->crossing;
    if (!isfinite(x)) return;
    fprintf(out, "<path class=\"crossing\" d=\"M%.1f %dV%d\"/><text x=\"%.1f\" y=\"%d\">%s</text>\n", place_x(chart, x),
            TOP, HEIGHT - BOTTOM, place_x(chart, x) + 4, TOP + 12, chart->unit(x).text);
}

static void print_sentence(const struct chart *chart, FILE *out) {
    const struct crossover_curve *curve = chart->curve;
    if (isfinite(curve->crossing))
        fprintf(out, "<p>%s is less than %s %s %s.</p>\n", chart->names[0], chart->names[1],
                curve->wins_below ? "below" : "above", chart->unit(curve->crossing).text);
    else
        fprintf(out, "<p>%s is %s than %s everywhere.</p>\n", chart->names[0], curve->wins_below ? "less" : "more",
                chart->names[1]);
}

static void print_chart(struct chart chart, FILE *out) {
    if (!chart.curve->is_known) return;
    find_range(&chart);
    fprintf(out, "<h3>%s</h3>\n<svg viewBox=\"0 0 %d %d\" role=\"img\">\n", chart.title, WIDTH, HEIGHT);
    print_axes(&chart, out);
    print_line(&chart, chart.curve->collective, "collective", out);
    print_line(&chart, chart.curve->independent, "independent", out);
    print_crossing(&chart, out);
    fprintf(out, "<text x=\"%d\" y=\"16\">blue: %s, orange: %s</text></svg>\n", LEFT, chart.names[0], chart.names[1]);
    print_sentence(&chart, out);
}

int chart_write(const struct whatif *result, FILE *out) {
    fputs(head, out);
    for (size_t i = 0; i < result->targets; i++) {
        const struct crossover *crossover = &result->target[i].crossover;
        fprintf(out, "<h2>");
        print_escaped(result->target[i].name, out);
        fprintf(out, "</h2>\n");
        print_chart((struct chart){.curve = &crossover->bandwidth,
                                   .title = "This program on storage of other bandwidths",
                                   .names = {"Collective I/O", "independent I/O"},
                                   .unit = human_bandwidth,
                                   .logarithmic = true},
                    out);
        print_chart((struct chart){.curve = &crossover->tau,
                                   .title = "By the share of the data that is exchanged (published model)",
                                   .names = {"Collective I/O", "independent I/O"},
                                   .unit = tau_text},
                    out);
        print_chart((struct chart){.curve = &crossover->message,
                                   .title = "By the bytes of an iteration (published model)",
                                   .names = {"The cost of the exchange", "its gain"},
                                   .unit = message_text,
                                   .logarithmic = true},
                    out);
    }
    fputs("</html>\n", out);
    return ferror(out) ? -EIO : 0;
}
