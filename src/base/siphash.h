// SipHash-2-4: a hash with a secret key. Who does not know the key cannot compute the hash of a text that he guesses.
#pragma once

#include <stddef.h>
#include <stdint.h>

uint64_t siphash(const uint64_t key[2], const void *text, size_t len);
