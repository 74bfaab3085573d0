#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/err.h"
#include "model/compare/diff.h"
#include "model/compare/fail_if.h"
#include "model/compare/phase_pair.h"
#include "model/file/read.h"

// --- small models, with ' for "

static const char *const kinds[] = {
    "{'kind':'w','call':'pwrite','layer':'posix','class':'write','file':'f','has_offset':true}",
    "{'kind':'r','call':'pread','layer':'posix','class':'read','file':'f','has_offset':true}",
    "{'kind':'W','call':'MPI_File_write_at','layer':'mpiio','class':'write','file':'f','has_offset':true}",
    "{'kind':'A','call':'MPI_File_write_at_all','layer':'mpiio','class':'write','file':'f','has_offset':true,"
    "'collective':true}",
    "{'kind':'I','call':'MPI_File_iwrite_at','layer':'mpiio','class':'write','file':'f','has_offset':true,"
    "'nonblocking':true}",
    "{'kind':'g','call':'pread','layer':'posix','class':'read','file':'g','has_offset':true}",
    "{'kind':'h','call':'pwrite','layer':'posix','class':'write','file':'h','has_offset':true}",
    "{'kind':'open','layer':'posix','class':'open','file':'f','flags':'O_RDWR'}",
    "{'kind':'trunc','call':'open','layer':'posix','class':'open','file':'f','flags':'O_RDWR|O_TRUNC'}",
    "{'kind':'none','call':'open','layer':'posix','class':'open','file':'g','flags':'O_RDWR','error':'ENOENT'}",
    "{'kind':'stat','layer':'posix','class':'meta','file':'f'}",
    "{'kind':'unlink','layer':'posix','class':'meta','file':'f'}",
    "{'kind':'barrier'}",
};

#define FILES(f, g, members)                                                                                           \
    "{'file':'f','name':'" f "'},{'file':'g','name':'" g "'},"                                                         \
    "{'file':'h','name':'part.*','members':" members ",'numbers':[{'first':0,'step':1,'count':" members "}]}"

#define OP(kind, offset, size) "{'op':'" kind "','offset':'" offset "','size':" size "}"
#define LOOP(kind, times, offset, size)                                                                                \
    "{'loop':" times ",'body':[{'op':'" kind "','offset':'" offset "','size':" size ",'steps':[{'offset':" size "}]}]" \
    "}"
#define PART(ranks, items) "{'ranks':'" ranks "','items':[" items "]}"
#define FAMILY(phases, weight, parts) FAMILY_WITH(phases, weight, parts, "")
#define FAMILY_WITH(phases, weight, parts, others) FAMILY_OF("0", "communication", phases, weight, parts, others)
#define FAMILY_OF(program, separator, phases, weight, parts, others)                                                   \
    "{'program':" program ",'phases':" phases ",'separator':'" separator "','weight':" weight ",'parts':[" parts       \
    "],'others':[" others "]}"
#define PROGRAM(mpi, np, order) "{'mpi':" mpi ",'np':" np ",'order':[" order "]}"

// Eight writes of 1000 bytes in a row by each of four processes, and what reads them.
#define WRITES FAMILY("1", "32000", PART("0-3", LOOP("w", "8", "idP*8*rs", "1000")))
#define READS FAMILY("1", "32000", PART("0-3", LOOP("r", "8", "idP*8*rs", "1000")))
#define FOUR(order) PROGRAM("true", "4", order)

static struct model parse_with(const char *files, const char *programs, const char *families, const char *observed) {
    struct model model;
    struct json_in_error error;
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);
    fprintf(out, "{'ioseer_model':1,'structure':{'programs':[%s],'files':[%s],'families':[%s],'kinds':[", programs,
            files, families);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) fprintf(out, "%s%s", i ? "," : "", kinds[i]);
    fprintf(out, "]}%s%s}", *observed ? ",'observed':" : "", observed);
    fclose(out);
    for (char *at = text; *at; at++) {
        if (*at == '\'') *at = '"';
    }
    int code = model_parse(&model, text, len, &error);
    if (code) print_message("%s\n%s\n", error.message, text);
    assert_int_equal(code, 0);
    free(text);
    return model;
}

static struct model parse(const char *programs, const char *families) {
    return parse_with(FILES("f", "g", "4"), programs, families, "");
}

static void print_note(FILE *out, const struct diff_note *note) {
    if (note->op) fprintf(out, "%s ", note->op);
    fputs(note->what, out);
    if (note->unit == DIFF_TEXT)
        fprintf(out, " %s>%s", note->a_text ? note->a_text : "none", note->b_text ? note->b_text : "none");
    else if (note->unit != DIFF_NO_VALUES)
        fprintf(out, " %lld>%lld", (long long)note->a, (long long)note->b);
}

// "1=1 2~3[notes]": same, p the same but for np, m moved, ~ changed, + added, - removed; 0 is no phase.
static char *rows_of(const struct diff *diff) {
    static const char signs[] = "=pm~+-";
    char *text;
    size_t len;
    FILE *out = open_memstream(&text, &len);
    for (size_t i = 0; i < diff->rows; i++) {
        const struct diff_row *row = &diff->row[i];
        fprintf(out, "%s%u%c%u", i ? " " : "", row->a + 1, signs[row->change], row->b + 1);
        for (size_t n = 0; n < row->notes; n++) {
            fputs(n ? "; " : "[", out);
            print_note(out, &row->note[n]);
        }
        if (row->notes) fputc(']', out);
    }
    fclose(out);
    return text;
}

static void expect(struct model a, struct model b, bool equal, const char *rows) {
    struct diff diff;
    assert_int_equal(diff_make(&diff, &a, &b), 0);
    char *found = rows_of(&diff);
    assert_string_equal(found, rows);
    free(found);
    assert_int_equal(diff.equal, equal);
    diff_free(&diff);
    model_free(&a);
    model_free(&b);
}

static void one_program(const char *a, const char *b, bool equal, const char *rows) {
    expect(parse(FOUR("1"), a), parse(FOUR("1"), b), equal, rows);
}

// --- what is equal

static void equal(void **state) {
    (void)state;
    expect(parse(FOUR("1,2"), WRITES "," READS), parse(FOUR("1,2"), WRITES "," READS), true, "1=1 2=2");
    expect(parse("", ""), parse("", ""), true, "");
    // Names of files do not count, their number does.
    expect(parse_with(FILES("f", "g", "4"), FOUR("1"), WRITES, ""),
           parse_with(FILES("other", "else", "4"), FOUR("1"), WRITES, ""), true, "1=1");
#define UNIQUE FAMILY("1", "4000", PART("0-3", "{'op':'h','member':'idP','size':1000}"))
    expect(parse_with(FILES("f", "g", "4"), FOUR("1"), UNIQUE, ""),
           parse_with(FILES("f", "g", "5"), FOUR("1"), UNIQUE, ""), false, "1~1[members 4>5]");
    // An expression is what it gives, however it is written.
    one_program(WRITES, FAMILY("1", "32000", PART("0-3", LOOP("w", "8", "8*(rs*idP)", "1000"))), true, "1=1");
    one_program(WRITES, FAMILY("1", "32000", PART("0-3", LOOP("w", "8", "idP*8000", "1000"))), true, "1=1");
}

static void observed(void **state) {
    (void)state;
    expect(parse_with(FILES("f", "g", "4"), FOUR("1"), WRITES,
                      "{'phases':[{'phase':1,'family':1,'ph':1,'duration':2.0}]}"),
           parse_with(FILES("f", "g", "4"), FOUR("1"), WRITES,
                      "{'phases':[{'phase':1,'family':1,'ph':1,'duration':3.0}]}"),
           true, "1=1");
}

// --- what changed

static void changes(void **state) {
    (void)state;
    one_program(WRITES, FAMILY("1", "24000", PART("0-3", LOOP("w", "6", "idP*8*rs", "1000"))), false,
                "1~1[write rep 8>6]");
    one_program(WRITES, FAMILY("1", "64000", PART("0-3", LOOP("w", "8", "idP*8*rs", "2000"))), false,
                "1~1[write request 1000>2000]");
    one_program(WRITES, FAMILY("1", "32000", PART("0-3", LOOP("w", "8", "idP*9*rs", "1000"))), false,
                "1~1[write offset idP*8*rs>idP*9*rs]");
    one_program(WRITES, FAMILY("1", "32000", PART("0-3", LOOP("W", "8", "idP*8*rs", "1000"))), false,
                "1~1[write call pwrite>MPI_File_write_at]");
    one_program(WRITES, FAMILY("1", "32000", PART("0-3", LOOP("A", "8", "idP*8*rs", "1000"))), false,
                "1~1[write call pwrite>MPI_File_write_at_all; write collective no>yes]");
    one_program(WRITES, FAMILY("1", "32000", PART("0-3", LOOP("I", "8", "idP*8*rs", "1000"))), false,
                "1~1[write call pwrite>MPI_File_iwrite_at; write blocking yes>no]");
    one_program(WRITES, FAMILY("1", "24000", PART("1-3", LOOP("w", "8", "idP*8*rs", "1000"))), false,
                "1~1[ranks 0-3>1-3]");
    one_program(WRITES, FAMILY("1", "36000", PART("0-3", LOOP("w", "8", "idP*8*rs", "1000") "," OP("w", "0", "1000"))),
                false, "1~1[write rep 8>9; write mode sequential>irregular]");
}

static void threads(void **state) {
    (void)state;
    one_program(WRITES,
                FAMILY("1", "32000", "{'ranks':'0-3','thread':1,'items':[" LOOP("w", "8", "idP*8*rs", "1000") "]}"),
                false, "1~1[thread]");
}

static void separators(void **state) {
    (void)state;
#define TWO(separator)                                                                                                 \
    WRITES "," FAMILY_OF("0", separator, "1", "32000", PART("0-3", LOOP("r", "8", "idP*8*rs", "1000")), "")
    expect(parse(FOUR("1,2"), TWO("communication")), parse(FOUR("1,2"), TWO("pattern")), false,
           "1=1 2~2[separator communication>pattern]");
    // A pause at a change of the pattern means nothing.
    expect(parse(FOUR("1,2"), TWO("pause")), parse(FOUR("1,2"), TWO("pattern")), true, "1=1 2=2");
}

static void others(void **state) {
    (void)state;
#define WITH(others) FAMILY_WITH("1", "32000", PART("0-3", LOOP("w", "8", "idP*8*rs", "1000")), PART("0-3", others))
    one_program(WITH("{'op':'open'}"), WITH("{'op':'open'}"), true, "1=1");
    one_program(WITH("{'op':'open'}"), WITH("{'op':'trunc'}"), false, "1~1[other flags]");
    one_program(WITH("{'op':'open'}"), WITH("{'op':'open'},{'op':'barrier','times':3}"), false,
                "1~1[barrier count 0>12]");
    one_program(WITH("{'op':'open'}"), WITH("{'op':'open','after':8}"), false, "1~1[other position]");
    // Lookups are listed, but do not make models different; the same holds for failed calls.
    one_program(WITH("{'op':'open'}"), WITH("{'op':'stat'},{'op':'open'},{'op':'stat'}"), true, "1=1[lookups 0>8]");
    one_program(WITH("{'op':'none'},{'op':'open'}"), WITH("{'op':'open'}"), true, "1=1[lookups 4>0]");
    one_program(WITH("{'op':'open'}"), WITH("{'op':'stat'},{'op':'open'},{'op':'unlink'}"), false,
                "1~1[meta count 0>8]");
}

static void files(void **state) {
    (void)state;
#define READS_ELSEWHERE FAMILY("1", "32000", PART("0-3", LOOP("g", "8", "idP*8*rs", "1000")))
    // The same file again, or another one.
    expect(parse(FOUR("1,2"), WRITES "," READS), parse(FOUR("1,2"), WRITES "," READS_ELSEWHERE), false,
           "1=1 2~2[file]");
    expect(parse(FOUR("1"), READS), parse(FOUR("1"), READS_ELSEWHERE), true, "1=1");
    one_program(
        WRITES,
        FAMILY("1", "32000",
               PART("0-3", "{'loop':8,'body':[{'op':'h','member':'idP','size':1000,'steps':[{'offset':1000}]}]}")),
        false, "1~1[files 1>4; write offset idP*8*rs>0]");
}

// A model may stand for any number of operations; they are not counted one by one.
static void many_operations(void **state) {
    (void)state;
#define MANY(times, weight) FAMILY("1", weight, PART("0-3", LOOP("w", times, "0", "1")))
    one_program(MANY("100000000000000", "400000000000000"), MANY("100000000000001", "400000000000004"), false,
                "1~1[loops]");
    one_program(MANY("100000000000000", "400000000000000"), MANY("100000000000000", "400000000000000"), true, "1=1");
}

// --- the order of phases

static void order(void **state) {
    (void)state;
#define SMALL FAMILY("1", "40", PART("0", LOOP("w", "4", "0", "10")))
    expect(parse(FOUR("1,2"), WRITES "," READS), parse(FOUR("1,2,3"), WRITES "," SMALL "," READS), false,
           "1=1 0+2 2=3");
    expect(parse(FOUR("1,2,3"), WRITES "," SMALL "," READS), parse(FOUR("1,2"), WRITES "," READS), false,
           "1=1 2-0 3=2");
    expect(parse(FOUR("1,2,3"), WRITES "," SMALL "," READS), parse(FOUR("2,1,3"), WRITES "," SMALL "," READS), false,
           "1m2 2=1 3=3");
    expect(parse(FOUR("1"), WRITES), parse(FOUR("1"), READS), false, "1-0 0+1");
    expect(parse("", ""), parse(FOUR("1"), READS), false, "0+1");
}

static void families(void **state) {
    (void)state;
#define DUMPS(count) FAMILY(count, "4000", PART("0-3", OP("w", "idP*rs + np*rs*(ph-1)", "1000")))
    expect(parse(FOUR("{'loop':5,'body':[1]}"), DUMPS("5")), parse(FOUR("{'loop':7,'body':[1]}"), DUMPS("7")), false,
           "1=1 2=2 3=3 4=4 5=5 0+6 0+7");
    // Single phases that do the same are not a family.
#define DUMP(ph) FAMILY("1", "4000", PART("0-3", OP("w", "idP*rs + np*rs*" #ph, "1000")))
    expect(parse(FOUR("{'loop':2,'body':[1]}"), DUMPS("2")), parse(FOUR("1,2"), DUMP(0) "," DUMP(1)), false,
           "1=1 2~2[family]");
}

// --- the number of processes

static void processes(void **state) {
    (void)state;
#define NINE(order) PROGRAM("true", "9", order)
    expect(parse(FOUR("1"), WRITES),
           parse(NINE("1"), FAMILY("1", "72000", PART("0-8", LOOP("w", "8", "idP*8*rs", "1000")))), false,
           "1p1[np 4>9]");
    // The first rank, and the last one.
    expect(parse(FOUR("1"), FAMILY("1", "8000", PART("0", LOOP("w", "8", "0", "1000")))),
           parse(NINE("1"), FAMILY("1", "8000", PART("0", LOOP("w", "8", "0", "1000")))), false, "1p1[np 4>9]");
    expect(parse(FOUR("1"), FAMILY("1", "8000", PART("3", LOOP("w", "8", "0", "1000")))),
           parse(NINE("1"), FAMILY("1", "8000", PART("8", LOOP("w", "8", "0", "1000")))), false, "1p1[np 4>9]");
    expect(parse(FOUR("1"), FAMILY("1", "8000", PART("2", LOOP("w", "8", "0", "1000")))),
           parse(NINE("1"), FAMILY("1", "8000", PART("3", LOOP("w", "8", "0", "1000")))), false,
           "1~1[ranks 2>3; np 4>9]");
    // A table on one side agrees with an expression on the other.
#define GRID "(idP/3)*3000 + idP%3*1000"
    expect(parse(PROGRAM("true", "4", "1"),
                 FAMILY("1", "4000", PART("0-3", "{'op':'w','offset':[0,1000,2000,3000],'size':1000}"))),
           parse(NINE("1"), FAMILY("1", "9000", PART("0-8", OP("w", GRID, "1000")))), false, "1p1[np 4>9]");
    expect(parse(FOUR("1"), WRITES),
           parse(NINE("1"), FAMILY("1", "72000", PART("0-8", LOOP("w", "8", "idP*7*rs", "1000")))), false,
           "1~1[write offset idP*8*rs>idP*7*rs; np 4>9]");
    // A step over a row of all processes.
#define SEGMENTS(step) "{'loop':8,'body':[{'op':'w','offset':'idP*rs','size':1000,'steps':[{'offset':" step "}]}]}"
    expect(parse(FOUR("1"), FAMILY("1", "32000", PART("0-3", SEGMENTS("4000")))),
           parse(NINE("1"), FAMILY("1", "72000", PART("0-8", SEGMENTS("9000")))), false, "1p1[np 4>9]");
    // A file for each.
    expect(parse_with(FILES("f", "g", "4"), FOUR("1"), UNIQUE, ""),
           parse_with(FILES("f", "g", "9"), NINE("1"),
                      FAMILY("1", "9000", PART("0-8", "{'op':'h','member':'idP','size':1000}")), ""),
           false, "1p1[np 4>9]");
    expect(parse(PROGRAM("false", "4", "1"), WRITES), parse(FOUR("1"), WRITES), false, "1=1");
}

// --- several programs

static void programs(void **state) {
    (void)state;
#define ALONE(program, items, weight) FAMILY_OF(program, "start", "1", weight, PART("0", items), "")
#define A(program) ALONE(program, LOOP("w", "3", "0", "10"), "30")
#define B(program) ALONE(program, LOOP("r", "5", "0", "10"), "50")
#define ONE(order) PROGRAM("false", "1", order)
    expect(parse(ONE("1") "," ONE("2"), A("0") "," B("1")), parse(ONE("1") "," ONE("2"), B("0") "," A("1")), true,
           "1=2 2=1");
    expect(parse(ONE("1") "," ONE("2") "," ONE("3"), A("0") "," B("1") "," A("2")),
           parse(ONE("1") "," ONE("2"), A("0") "," B("1")), false, "1=1 2=2 3-0");
    expect(parse(ONE("1"), A("0")), parse(ONE("1") "," ONE("2"), B("0") "," A("1")), false, "1=2 0+1");
}

// --- long lists

// Phases with few different structures are changed, added and removed at random.
static size_t make_lists(struct phase_fingerprint *a, size_t a_count, struct phase_fingerprint *b, unsigned structures,
                         unsigned permille) {
    size_t count = 0;
    for (size_t i = 0; i < a_count; i++) {
        a[i] = (struct phase_fingerprint){.structure = (uint64_t)rand() % structures, .features.classes = 1};
        unsigned luck = (unsigned)rand() % 1000;
        if (luck < permille) continue;
        b[count++] = a[i];
        if (luck < 2 * permille) b[count - 1].structure = 1000 + (uint64_t)rand() % structures;
        if (luck < 3 * permille && luck >= 2 * permille) b[count++] = a[(size_t)rand() % (i + 1)];
    }
    return count;
}

// Pairs of equal phases in the longest common subsequence.
static size_t longest_common(const struct phase_fingerprint *a, size_t a_count, const struct phase_fingerprint *b,
                             size_t b_count) {
    size_t *row = calloc(b_count + 1, sizeof *row);
    for (size_t i = a_count; i-- > 0;) {
        size_t diagonal = 0;
        for (size_t k = b_count; k-- > 0;) {
            size_t below = row[k];
            row[k] = a[i].structure == b[k].structure ? diagonal + 1 : below > row[k + 1] ? below : row[k + 1];
            diagonal = below;
        }
    }
    size_t longest = row[0];
    free(row);
    return longest;
}

// Checks the order; gives the pairs of equal phases.
static size_t count_equal(const struct phase_fingerprint *a, size_t a_count, const struct phase_fingerprint *b,
                          size_t b_count, const uint32_t *to) {
    size_t same = 0, next = 0;
    for (size_t i = 0; i < a_count; i++) {
        if (to[i] == DIFF_NONE) continue;
        assert_true(to[i] >= next && to[i] < b_count);
        next = to[i] + 1;
        same += a[i].structure == b[to[i]].structure;
    }
    return same;
}

static void alignments(void **state) {
    enum { MOST = 12000 };
    static const struct {
        size_t count;
        unsigned structures, permille, percent; // of the equal pairs that there are, at least found
    } cases[] = {
        {0, 1, 0, 100},    {1, 1, 0, 100},       {30, 6, 200, 100},    {40, 3, 300, 100},  {500, 20, 50, 100},
        {3000, 9, 0, 100}, {3000, 200, 10, 100}, {3000, 200, 100, 98}, {3000, 4, 100, 95}, {12000, 1000, 30, 99},
    };
    (void)state;
    struct phase_fingerprint *a = calloc(MOST, sizeof *a), *b = calloc(2 * MOST, sizeof *b);
    uint32_t *to = malloc(MOST * sizeof *to);
    srand(7);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        for (unsigned round = 0; round < (cases[c].count < 100 ? 100 : 1); round++) {
            size_t count = cases[c].count, b_count = make_lists(a, count, b, cases[c].structures, cases[c].permille);
            assert_int_equal(diff_align(a, count, b, b_count, to), 0);
            size_t same = count_equal(a, count, b, b_count, to), most = longest_common(a, count, b, b_count);
            assert_true(same * 100 >= most * cases[c].percent);
        }
    }
    // Nothing is equal, and the lists are too long for an exact comparison: phases are still paired in order.
    for (size_t i = 0; i < MOST; i++) {
        a[i] = (struct phase_fingerprint){.structure = i, .features.classes = 1};
        b[i] = (struct phase_fingerprint){.structure = MOST + i, .features.classes = 1};
    }
    assert_int_equal(diff_align(a, MOST, b, MOST, to), 0);
    assert_int_equal(count_equal(a, MOST, b, MOST, to), 0);
    for (size_t i = 0; i < MOST; i++) assert_int_equal(to[i], i);
    free(a);
    free(b);
    free(to);
}

// --- limits

static const struct {
    const char *text;
    bool holds;
} limits[] = {
    // A: phases of 2 s and 1 s, B: 3 s and 0.5 s.
    {"time>+10%", true},
    {"time>+20%", false},
    {"time >= +16.6 %", true},
    {"time>3s", true},
    {"time>3.5", false},
    {"time>=3500ms", true},
    {"time>+500ms", false},
    {"time>=+500ms", true},
    {"time>+499999us", true},
    {"time<-1%", false},
    {"phase.time>+40%", true},
    {"phase.time>+60%", false},
    {"phase.time<-40%", true},
    {"phase.time>1s and phase.time<-40%", false},
    {"phase.time<1s and phase.time<-40%", true},
    {"phase.time>+40% and time>3s", true},
    {"phase.time>+40% and time>4s", false},
    {"phase.time>+40% and structure", false},
    {"structure", false},
    {"weight!=0%", false},
    {"weight=64000", true},
    {"weight==62.5k", true},
    {"weight>1M", false},
    {"phase.weight=32000", true},
    {"bandwidth<-10%", true},
    {"phase.bandwidth>31k", true},
    {"phases=2", true},
    {"ops!=64", false},
    {"phase.ops=32", true},
    {"other>0", true},
    {"phase.other>+0%", true},
};

static struct model timed(const char *first, const char *second, const char *other) {
    char text[256];
    snprintf(text, sizeof text,
             "{'phases':[{'phase':1,'family':1,'ph':1,'duration':%s},"
             "{'phase':2,'family':2,'ph':1,'duration':%s,'other':%s}]}",
             first, second, other);
    return parse_with(FILES("f", "g", "4"), FOUR("1,2"), WRITES "," READS, text);
}

static void checks(void **state) {
    (void)state;
    struct model a = timed("2.0", "1.0", "0.0"), b = timed("3.0", "0.5", "0.25");
    struct diff diff;
    assert_int_equal(diff_make(&diff, &a, &b), 0);
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        struct diff_limit limit;
        const char *why;
        assert_int_equal(diff_limit_parse(&limit, limits[i].text, &why), 0);
        struct diff_finding finding = diff_limit_check(&limit, &diff);
        if (finding.holds != limits[i].holds) print_message("%s\n", limits[i].text);
        assert_int_equal(finding.holds, limits[i].holds);
        assert_false(finding.unknown);
    }
    struct diff_limit limit;
    const char *why;
    assert_int_equal(diff_limit_parse(&limit, "phase.time>0", &why), 0);
    struct diff_finding finding = diff_limit_check(&limit, &diff);
    assert_int_equal(finding.row, 0); // the largest change
    assert_int_equal(finding.rows, 2);
    assert_true(finding.a == 2 && finding.b == 3);
    diff_free(&diff);
    model_free(&a);
    model_free(&b);
}

static void checks_without_times(void **state) {
    (void)state;
    struct model a = parse(FOUR("1"), WRITES), b = parse(FOUR("1"), READS);
    struct diff diff;
    struct diff_limit limit;
    const char *why;
    assert_int_equal(diff_make(&diff, &a, &b), 0);
    assert_int_equal(diff_limit_parse(&limit, "weight=32000 and phase.time>0", &why), 0);
    assert_true(diff_limit_check(&limit, &diff).unknown);
    // A phase that only one side has counts as 0 on the other.
    assert_int_equal(diff_limit_parse(&limit, "structure and phase.weight>+1000%", &why), 0);
    assert_true(diff_limit_check(&limit, &diff).holds);
    assert_int_equal(diff_limit_parse(&limit, "phase.weight<=-100%", &why), 0);
    assert_true(diff_limit_check(&limit, &diff).holds);
    diff_free(&diff);
    model_free(&a);
    model_free(&b);
}

static void bad_limits(void **state) {
    static const char *const texts[] = {
        "",
        "time",
        "time>",
        "tim>1",
        "times>1",
        "time>x",
        "time>1x",
        "time>1e3",
        "time>0x10",
        "time>inf",
        "time>1.2.3",
        "time>+-1",
        "time>1 s 2",
        "time=>1",
        "time>1M",
        "weight>1s",
        "ops>1k",
        "phase.phases>1",
        "phase.structure",
        "structure>1",
        "structure and",
        "and time>1",
        "time>1 or time>2",
        "time>1 time>2",
        "phase.",
        "phase.time",
        "ops>1 and ops>2 and ops>3 and ops>4 and ops>5 and ops>6 and ops>7 and ops>8 and ops>9"};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct diff_limit limit;
        const char *why = NULL;
        if (diff_limit_parse(&limit, texts[i], &why) != ERR_USAGE) print_message("%s\n", texts[i]);
        assert_int_equal(diff_limit_parse(&limit, texts[i], &why), ERR_USAGE);
        assert_non_null(why);
    }
}

static void percents(void **state) {
    (void)state;
    assert_true(diff_percent(2, 3) == 50);
    assert_true(diff_percent(2, 0) == -100);
    assert_true(diff_percent(0, 0) == 0);
    assert_true(isinf(diff_percent(0, 1)));
    assert_true(isnan(diff_percent(NAN, 1)));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal),      cmocka_unit_test(observed),        cmocka_unit_test(changes),
        cmocka_unit_test(threads),    cmocka_unit_test(separators),      cmocka_unit_test(others),
        cmocka_unit_test(files),      cmocka_unit_test(many_operations), cmocka_unit_test(order),
        cmocka_unit_test(families),   cmocka_unit_test(processes),       cmocka_unit_test(programs),
        cmocka_unit_test(alignments), cmocka_unit_test(checks),          cmocka_unit_test(checks_without_times),
        cmocka_unit_test(bad_limits), cmocka_unit_test(percents),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
