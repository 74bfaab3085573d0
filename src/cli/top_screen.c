#include "cli/top_screen.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/io.h"
#include "base/terminal.h"
#include "base/utf8.h"

#define LOOK_NS INT64_C(250000000) // spills of short processes must be found before they are removed

struct screen {
    struct live *live;
    struct top_view view;
    struct termios before;
    sigset_t mask_before;
    int signals; // descriptor
    bool shows_help;
    bool is_done;
    int ended_by; // signal
    int64_t interval_ns;
};

bool top_screen_is_possible(void) { return isatty(STDIN_FILENO) && terminal_is(stdout) && terminal_has_keys(); }

static void send_text(const char *text) { io_write_all(STDOUT_FILENO, text, strlen(text)); }

// --- the terminal

// Without lines and echo; Ctrl-C and Ctrl-Z still signal. On the other screen, so that the shell's comes back.
static void take_terminal(const struct screen *screen) {
    struct termios plain = screen->before;
    plain.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    plain.c_cc[VMIN] = 1;
    plain.c_cc[VTIME] = 0;
    tcsetattr(STDIN_FILENO, TCSANOW, &plain);
    send_text("\033[?1049h\033[?25l");
}

static void give_terminal_back(const struct screen *screen) {
    send_text("\033[0m\033[?25h\033[?1049l");
    tcsetattr(STDIN_FILENO, TCSANOW, &screen->before);
}

static int begin(struct screen *screen) {
    static const int caught[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT, SIGWINCH};
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof caught / sizeof *caught; i++) sigaddset(&set, caught[i]);
    RETURN_IF(tcgetattr(STDIN_FILENO, &screen->before), -errno);
    screen->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    RETURN_IF(screen->signals < 0, -errno);
    sigprocmask(SIG_BLOCK, &set, &screen->mask_before);
    screen->view.has_blocks = terminal_has_utf8();
    take_terminal(screen);
    return 0;
}

static void end(struct screen *screen) {
    give_terminal_back(screen);
    close(screen->signals);
    sigprocmask(SIG_SETMASK, &screen->mask_before, NULL);
}

// --- drawing

static const char help[] = "\n"
                           "  q        quit\n"
                           "  p        pause, go on\n"
                           "  b r w    sort by bytes, bytes read, bytes written\n"
                           "  c m i n  sort by calls, metadata calls, time in I/O, rank\n"
                           "  ?        this text\n"
                           "\n"
                           "  READ, WRITE, CALLS/S, META/S: of POSIX and stdio calls, per second.\n"
                           "  IN I/O: share of the time that its threads spend in calls.\n"
                           "  A call counts when it returns; CALL NOW shows those that have not.\n";

// Each line is cleared behind its end, so that nothing flickers.
static void draw_lines(const struct screen *screen, FILE *out, const char *text) {
    unsigned line = 0;
    fputs("\033[H", out);
    for (; *text && line + 1 < screen->view.lines; line++) {
        size_t len = strcspn(text, "\n"), shown = utf8_fitting(text, screen->view.width);
        bool is_header =
            line == 0 || !strncmp(text + strspn(text, " "), "RANK ", 5) || strstr(text, "  FILE\n") == text + len - 6;
        if (is_header) fputs(terminal_style(stdout, STYLE_HEAD), out);
        fwrite(text, 1, shown < len ? shown : len, out);
        if (is_header) fputs(terminal_style(stdout, STYLE_NONE), out);
        fputs("\033[K\r\n", out);
        text += len + (text[len] == '\n');
    }
    fputs("\033[J", out);
}

static void draw_foot(const struct screen *screen, FILE *out) {
    static const char keys[] = "q quit  p pause  sort: bytes read write calls metadata io n(rank)  ? help";
    fprintf(out, "\033[%u;1H%s%.*s%s", screen->view.lines, terminal_style(stdout, STYLE_FOOT),
            (int)screen->view.width - 1, keys, terminal_style(stdout, STYLE_NONE));
}

static int draw(struct screen *screen) {
    unsigned width = terminal_width(stdout), lines = terminal_height(stdout);
    char *text = NULL, *frame = NULL;
    size_t len;
    screen->view.width = width ? width : 80;
    screen->view.lines = lines ? lines : 24;
    FILE *out = open_memstream(&text, &len);
    RETURN_IF(!out, -errno);
    int code = 0;
    if (screen->shows_help)
        fputs(help, out);
    else
        code = top_text(screen->live, &screen->view, out);
    fclose(out);
    out = open_memstream(&frame, &len);
    if (out) {
        draw_lines(screen, out, text);
        draw_foot(screen, out);
        fclose(out);
        send_text(frame);
    }
    free(text);
    free(frame);
    return code;
}

// --- keys and signals

static void handle_key(struct screen *screen, char key) {
    static const char sorts[TOP_SORTS + 1] = "brwcmin";
    const char *sort = strchr(sorts, key);
    if (screen->shows_help) {
        screen->shows_help = false;
        screen->is_done = key == 'q';
    } else if (key == 'q' || key == 'Q') {
        screen->is_done = true;
    } else if (key == '?' || key == 'h') {
        screen->shows_help = true;
    } else if (key == 'p' || key == ' ') {
        screen->view.is_paused = !screen->view.is_paused;
    } else if (key && sort) {
        screen->view.sort = (enum top_sort)(sort - sorts);
    }
}

static void handle_signal(struct screen *screen, int number) {
    if (number == SIGTSTP) {
        give_terminal_back(screen);
        raise(SIGSTOP);
        take_terminal(screen);
    } else if (number != SIGCONT && number != SIGWINCH) {
        screen->ended_by = number;
        screen->is_done = true;
    }
}

// Waits for a key or a signal, until a time. True if there was one.
static bool wait_for(struct screen *screen, int64_t until_ns) {
    struct pollfd wait[] = {{.fd = STDIN_FILENO, .events = POLLIN}, {.fd = screen->signals, .events = POLLIN}};
    int64_t left_ns = until_ns - clock_now_ns();
    int found = poll(wait, 2, left_ns > 0 ? (int)(left_ns / 1000000) + 1 : 0);
    if (found <= 0) return false;
    struct signalfd_siginfo info;
    char key;
    if (wait[1].revents && read(screen->signals, &info, sizeof info) == sizeof info)
        handle_signal(screen, (int)info.ssi_signo);
    if (!wait[0].revents) return true;
    if (read(STDIN_FILENO, &key, 1) == 1)
        handle_key(screen, key);
    else
        screen->is_done = true; // the terminal is gone
    return true;
}

static int watch(struct screen *screen) {
    struct live *live = screen->live;
    int64_t next_ns = 0;
    while (!screen->is_done && !live->has_ended) {
        FORWARD(live_look(live));
        bool is_due = live->is_behind || clock_now_ns() >= next_ns;
        if (!live->is_behind && is_due) {
            live_mark(live);
            next_ns = clock_now_ns() + screen->interval_ns;
        }
        if (is_due && !screen->view.is_paused) FORWARD(draw(screen));
        int64_t until_ns = live->is_behind ? 0 : clock_now_ns() + LOOK_NS;
        if (until_ns > next_ns && next_ns) until_ns = next_ns;
        while (wait_for(screen, until_ns) && !screen->is_done) FORWARD(draw(screen));
    }
    return 0;
}

int top_screen_run(struct live *live, double interval, enum top_sort sort) {
    struct screen screen = {.live = live, .view.sort = sort, .interval_ns = (int64_t)(interval * 1e9)};
    FORWARD(begin(&screen));
    int code = watch(&screen);
    end(&screen);
    return code < 0 ? code : screen.ended_by;
}

int top_screen_choose(const struct live_jobs *jobs) {
    char line[32];
    if (top_list(jobs, stdout) < 0) return -1;
    printf("Which one? [1-%zu] ", jobs->count);
    fflush(stdout);
    if (!fgets(line, sizeof line, stdin)) return -1;
    char *rest;
    unsigned long number = strtoul(line, &rest, 10);
    return rest != line && number >= 1 && number <= jobs->count ? (int)number - 1 : -1;
}
