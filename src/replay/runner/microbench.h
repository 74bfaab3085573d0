// Measurements that are no transfers of files: how fast names are made and found, and how fast messages go.
#pragma once

// Runs in all processes of the world; rank 0 writes the result: `metadata` with the rates of all processes together,
// and `messages` with `latency` and `bandwidth` between two processes, null without them. Files are made in
// `directory` and removed again.
int probe_run(const char *directory, const char *result);
