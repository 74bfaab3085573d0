// stdio on files: what is written must reach the file, what is read to its end must be counted.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void write_all(void)
{
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

static void read_all(void)
{
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

static void update(void)
{
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

int main(void)
{
    write_all();
    read_all();
    update();
    FILE *left_open = fopen("left-open", "w");
    fprintf(left_open, "flushed at exit\n");
    return 0;
}
