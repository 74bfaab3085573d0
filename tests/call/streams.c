// stdio streams: what the program asked for, at which offset, whatever libc's buffer makes of it.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fixture.h"

static void inlined_reads(void) {
#ifdef __getc_unlocked_body
    fixture_begin();
    fixture_stream("r");
    int sum = 0;
    case_start();
    for (int i = 0; i < 100; i++) sum += __getc_unlocked_body(f.stream);
    sum += fgetc(f.stream);
    for (int i = 0; i < 5000; i++) sum += __getc_unlocked_body(f.stream);
    fclose(f.stream);
    f.stream = NULL;
    case_stop(sum);
    expect_sum("getc_unlocked", f.path, 5100);
    expect("fgetc", f.path, POSITION + 100, 1, 1);
    expect("fclose", f.path, NONE, NONE, 0);
    fixture_end();
#else
    case_skip("this libc has no such macro");
#endif
}

static void inlined_writes(void) {
#ifdef __putc_unlocked_body
    fixture_begin();
    fixture_stream("r+");
    case_start();
    for (int i = 0; i < 100; i++) __putc_unlocked_body('x', f.stream);
    fputs("here", f.stream);
    for (int i = 0; i < 5000; i++) __putc_unlocked_body('y', f.stream);
    fclose(f.stream);
    f.stream = NULL;
    case_stop(0);
    expect_sum("putc_unlocked", f.path, 5100);
    expect("fputs", f.path, POSITION + 100, 4, 4);
    expect("fclose", f.path, NONE, NONE, 0);
    fixture_end();
#else
    case_skip("this libc has no such macro");
#endif
}

static void pushed_back(void) {
    fixture_begin();
    fixture_stream("r");
    case_start();
    int byte = fgetc(f.stream);
    ungetc('!', f.stream);
    size_t items = fread(f.buf, 1, 8, f.stream);
    case_stop((int64_t)items);
    CHECK(byte == 'a' && f.buf[0] == '!' && f.buf[1] == 'b');
    expect("fgetc", f.path, POSITION, 1, 1);
    expect("fread", f.path, POSITION, 8, 8);
    fixture_end();
}

static void seeks(void) {
    fixture_begin();
    fixture_stream("r");
    case_start();
    fseek(f.stream, 100, SEEK_CUR);
    fread(f.buf, 1, 8, f.stream);
    fseek(f.stream, 4, SEEK_SET);
    fread(f.buf, 1, 8, f.stream);
    fseek(f.stream, -8, SEEK_END);
    size_t items = fread(f.buf, 1, LENGTH, f.stream);
    rewind(f.stream);
    case_stop((int64_t)items);
    expect("fseek", f.path, NONE, NONE, POSITION + 100);
    expect("fread", f.path, POSITION + 100, 8, 8);
    expect("fseek", f.path, NONE, NONE, 4);
    expect("fread", f.path, 4, 8, 8);
    expect("fseek", f.path, NONE, NONE, DATA_BYTES - 8);
    expect("fread", f.path, DATA_BYTES - 8, LENGTH, 8);
    expect("rewind", f.path, NONE, NONE, 0);
    fixture_end();
}

static void reads_and_writes(void) {
    fixture_begin();
    fixture_stream("r+");
    case_start();
    fread(f.buf, 1, 8, f.stream);
    fseek(f.stream, 0, SEEK_CUR);
    fwrite("12345", 1, 5, f.stream);
    fwrite("67", 1, 2, f.stream);
    fflush(f.stream);
    size_t items = fread(f.buf, 1, 8, f.stream);
    case_stop((int64_t)items);
    expect("fread", f.path, POSITION, 8, 8);
    expect("fseek", f.path, NONE, NONE, POSITION + 8);
    expect("fwrite", f.path, POSITION + 8, 5, 5);
    expect("fwrite", f.path, POSITION + 13, 2, 2);
    expect("fflush", f.path, NONE, NONE, 0);
    expect("fread", f.path, POSITION + 15, 8, 8);
    fixture_end();
}

static void part_of_an_item(void) {
    static char big[DATA_BYTES];
    fixture_begin();
    fixture_stream("r");
    case_start();
    size_t items = fread(big, 5000, 10, f.stream);
    case_stop((int64_t)items);
    CHECK(items == 2);
    expect("fread", f.path, POSITION, 50000, DATA_BYTES - POSITION);
    fixture_end();
}

static void at_the_end(void) {
    fixture_begin();
    fixture_stream("r");
    fseek(f.stream, 0, SEEK_END);
    case_start();
    int byte = fgetc(f.stream);
    char *line = fgets(f.buf, LENGTH, f.stream);
    case_stop(byte);
    CHECK(byte == EOF && !line);
    expect("fgetc", f.path, DATA_BYTES, 1, 0);
    expect("fgets", f.path, DATA_BYTES, 0, 0);
    fixture_end();
}

static void lines(void) {
    fixture_begin();
    int out = open(f.path, O_WRONLY | O_TRUNC);
    write(out, "one\nlonger line\nlast", 20);
    f.stream = fopen(f.path, "r");
    case_start();
    fgets(f.buf, LENGTH, f.stream);
    fgets(f.buf, 8, f.stream);
    fgets(f.buf, LENGTH, f.stream);
    ssize_t len = getline(&f.line, &f.line_room, f.stream);
    case_stop(len);
    expect("fgets", f.path, 0, 4, 4);
    expect("fgets", f.path, 4, 7, 7);
    expect("fgets", f.path, 11, 5, 5);
    expect("getline", f.path, 16, 4, 4);
    fixture_end();
}

static void large(void) {
    static char big[1 << 20];
    fixture_begin();
    fixture_stream("r+");
    case_start();
    fputs("first", f.stream);
    fwrite(big, 1, sizeof big, f.stream);
    fputs("last", f.stream);
    rewind(f.stream);
    fgetc(f.stream);
    size_t items = fread(big, 1, sizeof big, f.stream);
    fgetc(f.stream);
    case_stop((int64_t)items);
    expect("fputs", f.path, POSITION, 5, 5);
    expect("fwrite", f.path, POSITION + 5, sizeof big, sizeof big);
    expect("fputs", f.path, POSITION + 5 + (int64_t)sizeof big, 4, 4);
    expect("rewind", f.path, NONE, NONE, 0);
    expect("fgetc", f.path, 0, 1, 1);
    expect("fread", f.path, 1, sizeof big, sizeof big);
    expect("fgetc", f.path, 1 + (int64_t)sizeof big, 1, 1);
    fixture_end();
}

static void appends(void) {
    fixture_begin();
    case_start();
    f.stream = fopen(f.path, "a");
    int fd = fileno(f.stream);
    fwrite(f.buf, 1, 10, f.stream);
    fputs("second", f.stream);
    fflush(f.stream);
    fprintf(f.stream, "%d", 12345);
    fclose(f.stream);
    f.stream = NULL;
    case_stop(fd);
    expect("fopen", f.path, NONE, NONE, fd);
    expect("fileno", f.path, NONE, NONE, fd);
    expect("fwrite", f.path, DATA_BYTES, 10, 10);
    expect("fputs", f.path, DATA_BYTES + 10, 6, 6);
    expect("fflush", f.path, NONE, NONE, 0);
    expect("fprintf", f.path, DATA_BYTES + 16, 5, 5);
    expect("fclose", f.path, NONE, NONE, 0);
    fixture_end();
}

static void reads_and_appends(void) {
    fixture_begin();
    f.stream = fopen(f.path, "a+");
    case_start();
    fread(f.buf, 1, 8, f.stream);
    fwrite(f.buf, 1, 10, f.stream);
    int result = fflush(f.stream);
    case_stop(result);
    expect("fread", f.path, 0, 8, 8);
    expect("fwrite", f.path, DATA_BYTES, 10, 10);
    expect("fflush", f.path, NONE, NONE, 0);
    fixture_end();
}

static void unbuffered(void) {
    fixture_begin();
    fixture_stream("r+");
    case_start();
    int result = setvbuf(f.stream, NULL, _IONBF, 0);
    fputs("abc", f.stream);
    fputc('d', f.stream);
    fwrite("efgh", 2, 2, f.stream);
    case_stop(result);
    expect("setvbuf", f.path, NONE, NONE, 0);
    expect("fputs", f.path, POSITION, 3, 3);
    expect("fputc", f.path, POSITION + 3, 1, 1);
    expect("fwrite", f.path, POSITION + 4, 4, 4);
    fixture_end();
}

static void unbuffered_reads(void) {
    fixture_begin();
    f.stream = fopen(f.path, "r");
    setvbuf(f.stream, NULL, _IONBF, 0);
    case_start();
    fgets(f.buf, LENGTH, f.stream);
    fgetc(f.stream);
    size_t items = fread(f.buf, 1, 8, f.stream);
    case_stop((int64_t)items);
    expect("fgets", f.path, 0, 16, 16);
    expect("fgetc", f.path, 16, 1, 1);
    expect("fread", f.path, 17, 8, 8);
    fixture_end();
}

static void own_buffer(void) {
    fixture_begin();
    f.stream = fopen(f.path, "r");
    setvbuf(f.stream, f.room, _IOFBF, 64);
    case_start();
    fread(f.buf, 1, 50, f.stream);
    fread(f.buf, 1, 50, f.stream);
    int byte = fgetc(f.stream);
    case_stop(byte);
    expect("fread", f.path, 0, 50, 50);
    expect("fread", f.path, 50, 50, 50);
    expect("fgetc", f.path, 100, 1, 1);
    fixture_end();
}

static void mapped(void) {
    fixture_begin();
    f.stream = fopen(f.path, "rm");
    case_start();
    fread(f.buf, 1, 8, f.stream);
    fseek(f.stream, 4096, SEEK_SET);
    fgets(f.buf, LENGTH, f.stream);
    int byte = fgetc(f.stream);
    case_stop(byte);
    expect("fread", f.path, 0, 8, 8);
    expect("fseek", f.path, NONE, NONE, 4096);
    expect("fgets", f.path, 4096, 16, 16);
    expect("fgetc", f.path, 4112, 1, 1);
    fixture_end();
}

static void write_then_read(void) {
    fixture_begin();
    fixture_stream("r+");
    case_start();
    fputs("12345", f.stream);
    fseek(f.stream, 0, SEEK_SET);
    fgets(f.buf, LENGTH, f.stream);
    fseek(f.stream, 0, SEEK_END);
    fputs("tail", f.stream);
    rewind(f.stream);
    int byte = fgetc(f.stream);
    case_stop(byte);
    expect("fputs", f.path, POSITION, 5, 5);
    expect("fseek", f.path, NONE, NONE, 0);
    expect("fgets", f.path, 0, 16, 16);
    expect("fseek", f.path, NONE, NONE, DATA_BYTES);
    expect("fputs", f.path, DATA_BYTES, 4, 4);
    expect("rewind", f.path, NONE, NONE, 0);
    expect("fgetc", f.path, 0, 1, 1);
    fixture_end();
}

static void other_mode(void) {
    fixture_begin();
    fixture_stream("r");
    int fd = fileno(f.stream);
    case_start();
    f.stream = freopen(NULL, "r+", f.stream);
    int result = f.stream ? fputs("changed", f.stream) : -1;
    if (f.stream) fclose(f.stream);
    f.stream = NULL;
    case_stop(result);
    expect("freopen", f.path, NONE, NONE, fd);
    expect("fputs", f.path, 0, 7, 7);
    expect("fclose", f.path, NONE, NONE, 0);
    fixture_end();
}

static void exclusive(void) {
    fixture_begin();
    case_start();
    FILE *stream = fopen(f.path, "wx");
    case_stop(stream != NULL);
    CHECK(case_error() == EEXIST);
    expect("fopen", f.path, NONE, NONE, -1);
    fixture_end();
}

static void scanned(void) {
    char word[32], last[32];
    int number = 0;
    fixture_begin();
    fixture_stream("r");
    case_start();
    int items = fscanf(f.stream, "%31s %d", word, &number);
    items = items * 10 + fscanf(f.stream, "%31s", last);
    case_stop(items);
    CHECK(items == 21 && number == 1234567);
    expect("fscanf", f.path, POSITION, 15, 15);
    expect("fscanf", f.path, POSITION + 15, 8, 8);
    fixture_end();
}

static void disk_full(void) {
    fixture_begin();
    fixture_stream("r+");
    struct rlimit limit = {DATA_BYTES, RLIM_INFINITY}, old;
    getrlimit(RLIMIT_FSIZE, &old);
    signal(SIGXFSZ, SIG_IGN);
    static char big[2 * DATA_BYTES];
    setvbuf(f.stream, NULL, _IONBF, 0);
    case_start();
    setrlimit(RLIMIT_FSIZE, &limit);
    size_t items = fwrite(big, 1, sizeof big, f.stream);
    setrlimit(RLIMIT_FSIZE, &old);
    case_stop((int64_t)items);
    expect("fwrite", f.path, POSITION, sizeof big, ANY);
    fixture_end();
}

static void line_buffered(void) {
    fixture_begin();
    fixture_stream("r+");
    setvbuf(f.stream, NULL, _IOLBF, 4096);
    case_start();
    int moved = fprintf(f.stream, "a line\nand a half");
    fputs(" more\n", f.stream);
    case_stop(moved);
    expect("fprintf", f.path, POSITION, 17, 17);
    expect("fputs", f.path, POSITION + 17, 6, 6);
    fixture_end();
}

static void on_a_descriptor(void) {
    fixture_begin();
    read(f.fd, f.buf, 4);
    case_start();
    f.stream = fdopen(f.fd, "r+");
    size_t items = fread(f.buf, 1, 8, f.stream);
    case_stop((int64_t)items);
    expect("fdopen", f.path, NONE, NONE, f.fd);
    expect("fread", f.path, POSITION + 4, 8, 8);
    fixture_end();
}

static void stream_and_descriptor(void) {
    fixture_begin();
    f.stream = fdopen(f.fd, "r+");
    case_start();
    fputs("by stream", f.stream);
    fflush(f.stream);
    write(f.fd, "raw", 3);
    fputs("again", f.stream);
    int result = fflush(f.stream);
    case_stop(result);
    expect("fputs", f.path, POSITION, 9, 9);
    expect("fflush", f.path, NONE, NONE, 0);
    expect("write", f.path, POSITION + 9, 3, 3);
    expect("fputs", f.path, POSITION + 12, 5, 5);
    expect("fflush", f.path, NONE, NONE, 0);
    fixture_end();
}

static void reopened(void) {
    fixture_begin();
    fixture_stream("r");
    int fd = fileno(f.stream);
    case_start();
    f.stream = freopen(f.other, "r+", f.stream);
    fread(f.buf, 1, 8, f.stream);
    int result = fclose(f.stream);
    f.stream = NULL;
    case_stop(result);
    expect("freopen", f.other, NONE, NONE, fd);
    expect("fread", f.other, 0, 8, 8);
    expect("fclose", f.other, NONE, NONE, 0);
    fixture_end();
}

static void temporary(void) {
    fixture_begin();
    case_start();
    f.stream = tmpfile();
    int fd = fileno(f.stream);
    fwrite(f.buf, 1, LENGTH, f.stream);
    rewind(f.stream);
    size_t items = fread(f.buf, 1, 8, f.stream);
    case_stop((int64_t)items);
    const char *name = fixture_name_of(fd);
    expect("tmpfile", name, NONE, NONE, fd);
    expect("fileno", name, NONE, NONE, fd);
    expect("fwrite", name, 0, LENGTH, LENGTH);
    expect("rewind", name, NONE, NONE, 0);
    expect("fread", name, 0, 8, 8);
    fixture_end();
}

static void written_at_close(void) {
    fixture_begin();
    case_start();
    f.stream = fopen(f.fresh, "w");
    int fd = fileno(f.stream);
    fputs("waiting", f.stream);
    int result = fclose(f.stream);
    f.stream = NULL;
    case_stop(result);
    CHECK(pread(open(f.fresh, O_RDONLY), f.buf, 7, 0) == 7);
    expect("fopen", f.fresh, NONE, NONE, fd);
    expect("fileno", f.fresh, NONE, NONE, fd);
    expect("fputs", f.fresh, 0, 7, 7);
    expect("fclose", f.fresh, NONE, NONE, 0);
    fixture_end();
}

static void exit_without_close(void) {
    fixture_begin();
    int status = 0;
    case_start();
    pid_t pid = fork();
    if (pid == 0) {
        FILE *stream = fopen(f.fresh, "w");
        fputs("left for exit", stream);
        exit(3);
    }
    waitpid(pid, &status, 0);
    case_stop(WEXITSTATUS(status));
    CHECK(pread(open(f.fresh, O_RDONLY), f.buf, LENGTH, 0) == 13);
    expect("fopen", f.fresh, NONE, NONE, ANY);
    expect("fputs", f.fresh, 0, 13, 13);
    expect_process(pid, "clean");
    fixture_end();
}

static void over_fork(void) {
    fixture_begin();
    fixture_stream("r+");
    case_start();
    fputs("parent", f.stream);
    fflush(f.stream);
    pid_t pid = fork();
    if (pid == 0) {
        fputs("child", f.stream);
        fflush(f.stream);
        _exit(0);
    }
    waitpid(pid, NULL, 0);
    fputs("again", f.stream);
    int result = fflush(f.stream);
    case_stop(result);
    expect("fputs", f.path, POSITION, 6, 6);
    expect("fflush", f.path, NONE, NONE, 0);
    expect("fputs", f.path, POSITION + 6, 5, 5);
    expect("fflush", f.path, NONE, NONE, 0);
    expect("fputs", f.path, POSITION + 11, 5, 5);
    expect("fflush", f.path, NONE, NONE, 0);
    fixture_end();
}

static void pipes(void) {
    fixture_begin();
    case_start();
    FILE *stream = popen("echo word", "r");
    char *line = stream ? fgets(f.buf, LENGTH, stream) : NULL;
    int result = stream ? pclose(stream) : -1;
    case_stop(result);
    CHECK(line && strcmp(line, "word\n") == 0);
    fixture_end();
}

static void in_memory(void) {
    fixture_begin();
    char *text = NULL;
    size_t bytes = 0;
    case_start();
    FILE *stream = open_memstream(&text, &bytes);
    fputs("nowhere", stream);
    fprintf(stream, "%d", 7);
    int result = fclose(stream);
    stream = fmemopen(f.buf, sizeof f.buf, "r");
    fgetc(stream);
    result += fclose(stream);
    case_stop(result);
    CHECK(text && strcmp(text, "nowhere7") == 0);
    free(text);
    fixture_end();
}

static void flush_all(void) {
    fixture_begin();
    fixture_stream("r+");
    fputs("waiting", f.stream);
    case_start();
    int result = fflush(NULL);
    fputs("more", f.stream);
    case_stop(result);
    expect("fflush", NULL, NONE, NONE, 0);
    expect("fputs", f.path, POSITION + 7, 4, 4);
    fixture_end();
}

static void failed_twice(void) {
    fixture_begin();
    fixture_stream("r");
    case_start();
    int first = fputc('x', f.stream);
    int second = fputs("yz", f.stream);
    case_stop(first + second);
    CHECK(first == EOF && second == EOF && case_error() == EBADF);
    expect("fputc", f.path, ANY, ANY, -1);
    expect("fputs", f.path, ANY, ANY, -1);
    fixture_end();
}

static void two_streams(void) {
    fixture_begin();
    fixture_stream("r");
    FILE *other = fopen(f.path, "r");
    case_start();
    fread(f.buf, 1, 8, f.stream);
    fread(f.buf, 1, 8, other);
    size_t items = fread(f.buf, 1, 8, f.stream);
    case_stop((int64_t)items);
    expect("fread", f.path, POSITION, 8, 8);
    expect("fread", f.path, 0, 8, 8);
    expect("fread", f.path, POSITION + 8, 8, 8);
    fclose(other);
    fixture_end();
}

static void printed_to_descriptor(void) {
    fixture_begin();
    case_start();
    int moved = dprintf(f.fd, "%s", "0123456789");
    write(f.fd, "x", 1);
    case_stop(moved);
    expect("dprintf", f.path, POSITION, 10, 10);
    expect("write", f.path, POSITION + 10, 1, 1);
    fixture_end();
}

int main(int argc, char **argv) {
    static const struct test_case cases[] = {
        {"getc_unlocked inlined", inlined_reads},
        {"putc_unlocked inlined", inlined_writes},
        {"bytes pushed back", pushed_back},
        {"fseek back and forth", seeks},
        {"reads and writes mixed", reads_and_writes},
        {"part of an item at the end", part_of_an_item},
        {"reads at the end", at_the_end},
        {"lines", lines},
        {"more than a buffer", large},
        {"mode a: the true offsets", appends},
        {"mode a+: reads anywhere, appends at the end", reads_and_appends},
        {"unbuffered", unbuffered},
        {"unbuffered reads", unbuffered_reads},
        {"a buffer of the program's own", own_buffer},
        {"mode m", mapped},
        {"writes, then reads", write_then_read},
        {"freopen for another mode", other_mode},
        {"fopen of a file that must not exist", exclusive},
        {"fscanf", scanned},
        {"fwrite past the limit", disk_full},
        {"line-buffered", line_buffered},
        {"fdopen where the descriptor stands", on_a_descriptor},
        {"stream and descriptor in turn", stream_and_descriptor},
        {"freopen to another file", reopened},
        {"tmpfile written and read", temporary},
        {"bytes written by fclose", written_at_close},
        {"exit without fclose", exit_without_close},
        {"a stream shared over fork", over_fork},
        {"pipes of popen are left out", pipes},
        {"streams in memory are left out", in_memory},
        {"fflush of all streams", flush_all},
        {"two failures on one stream", failed_twice},
        {"two streams on one file", two_streams},
        {"dprintf moves the position", printed_to_descriptor},
        {NULL, NULL},
    };
    return case_main(argc, argv, cases);
}
