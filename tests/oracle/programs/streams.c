// streams [messages]: stdio on files: what is written must reach the file, what is read to its end must be counted.
#include <err.h>
#include <errno.h>
#include <error.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void write_all(void) {
    static char block[10000];
    memset(block, 'x', sizeof(block));
    FILE *out = fopen("text", "w");
    for (int i = 0; i < 1000; i++) fprintf(out, "line %d of the file\n", i);
    fputs("puts\n", out);
    fputc('c', out);
    putc('\n', out);
    fwrite(block, 1, sizeof(block), out);
    fwrite(block, 3, 7, out);
    fflush(out);
    fclose(out);
    out = fopen("text", "a");
    fprintf(out, "%s\n", "appended");
    fclose(out);
    out = fopen("unbuffered", "w");
    setvbuf(out, NULL, _IONBF, 0);
    for (int i = 0; i < 10; i++) fprintf(out, "%d,", i);
    fclose(out);
}

static void read_all(void) {
    char line[256], *grown = NULL;
    size_t room = 0, bytes = 0;
    FILE *in = fopen("text", "r");
    while (fgets(line, sizeof(line), in) && line[0] == 'l') bytes += strlen(line);
    while (getline(&grown, &room, in) > 0) bytes += strlen(grown);
    printf("%zu %d\n", bytes, feof(in));
    free(grown);
    fclose(in);
    in = fopen("text", "r");
    for (bytes = 0; fgetc(in) != EOF; bytes++)
        ;
    printf("%zu\n", bytes);
    fclose(in);
    in = fopen("text", "r");
    for (bytes = 0; !feof(in);) bytes += fread(line, 1, sizeof(line), in);
    printf("%zu\n", bytes);
    fclose(in);
}

static void update(void) {
    char word[32] = "";
    FILE *both = fopen("text", "r+");
    fseek(both, 100, SEEK_SET);
    fwrite("REPLACED", 1, 8, both);
    fseek(both, 0, SEEK_SET);
    printf("%d %s\n", fscanf(both, "%31s", word), word);
    printf("%ld\n", ftell(both));
    fclose(both);
    FILE *temporary = tmpfile();
    fprintf(temporary, "gone soon\n");
    rewind(temporary);
    printf("%s", fgets(word, sizeof(word), temporary));
    fclose(temporary);
    printf("%d\n", fopen("missing", "r") == NULL);
}

// One file through a stream and its descriptor in turn, streams made from descriptors, and streams that change their
// file.
static void mixed(void) {
    char word[64] = "";
    FILE *both = fopen("mixed", "w");
    fprintf(both, "by the stream\n");
    fflush(both);
    printf("%zd\n", write(fileno(both), "by the descriptor\n", 18));
    fprintf(both, "by the stream again\n");
    both = freopen("reopened", "w", both);
    fputs("in another file\n", both);
    fclose(both);
    int fd = open("mixed", O_RDWR | O_APPEND);
    printf("%d\n", dprintf(fd, "%s\n", "printed to the descriptor"));
    FILE *made = fdopen(fd, "r+");
    rewind(made);
    printf("%s", fgets(word, sizeof(word), made));
    ungetc('#', made);
    printf("%c\n", fgetc(made));
    fseek(made, 0, SEEK_END);
    fputs("at the end\n", made);
    fclose(made);
}

// What libc itself prints on standard error, here a file.
static void messages(void) {
    if (!freopen("messages", "w", stderr)) return;
    fprintf(stderr, "plain\n");
    errno = ENOENT;
    perror("perror");
    warn("warn %d", 1);
    warnx("warnx");
    error(0, EIO, "error %s", "text");
    fclose(stderr);
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "messages") == 0) {
        messages();
        return 0;
    }
    write_all();
    read_all();
    update();
    mixed();
    FILE *left_open = fopen("left-open", "w");
    fprintf(left_open, "flushed at exit\n");
    return 0;
}
