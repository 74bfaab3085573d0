// A server of a stack that others have to wait for (summary/stack.h).
#include <errno.h>
#include <stdlib.h>

#include "findings/find.h"

// From all calls on files of the stack: which server a call waited for is not known of each.
static int claim(struct findings *findings, const struct summary_stack *stack, double wanted_ns) {
    const struct facts *facts = findings->facts;
    bool *mark = calloc(facts->grains + 1, sizeof *mark);
    RETURN_IF(!mark, -ENOMEM);
    for (size_t i = 0; i < facts->grains; i++) {
        const struct facts_file *file = find_file(findings, &facts->grain[i]);
        mark[i] = file && stack_has_file(stack, file->file);
    }
    int code = find_claim_spread(findings, mark, wanted_ns);
    free(mark);
    return code;
}

static void say_slow(struct findings *findings, struct finding *finding, const struct stack_server *server,
                     int number) {
    finding->title = find_text(findings, "Server %d takes %.1f times as long as the others for the same requests",
                               number, server->slower);
    find_evidence(findings, finding, (struct find_place){0}, "%s went to it, and for %s some were under way",
                  human_count(server->requests, "request").text, human_seconds(server->any_ns).text);
}

static void say_crowded(struct findings *findings, struct finding *finding, const struct stack_server *server,
                        int number) {
    size_t others = findings->facts->stack->servers - 1;
    finding->title = find_text(findings, "Requests wait for server %d while %s nothing to do", number,
                               others == 1 ? "the other one has" : "the others have");
    finding->basis = "time in which several requests waited for this server and none for the others, minus what it "
                     "would take if all servers shared them";
    finding->reason = "A server works on its requests one after the other, and the others cannot help: the data is on "
                      "this one only.";
    finding->advice = "Spread the data over the servers: as shards of one file (ioseer stack up --layout shard), or in "
                      "several files.";
    find_evidence(findings, finding, (struct find_place){0},
                  "in %s of the %s in which it had requests there were several, and the other servers had none",
                  human_seconds(server->crowded_ns).text, human_seconds(server->any_ns).text);
}

int find_overloaded_server(struct findings *findings, struct finding *finding) {
    const struct summary_stack *stack = findings->facts->stack;
    const struct stack_server *worst = NULL;
    for (size_t i = 0; stack && i < stack->servers; i++) {
        const struct stack_server *server = &stack->server[i];
        if (server->overload && (!worst || server->lost_ns > worst->lost_ns)) worst = server;
    }
    if (!worst) return 0;
    FORWARD(claim(findings, stack, (double)worst->lost_ns));
    (worst->overload == OVERLOAD_SLOW ? say_slow : say_crowded)(findings, finding, worst, (int)(worst - stack->server));
    return findings->claims > 0;
}
