// The secret with which names and numbers of machines and users are replaced.
//
// Names can be guessed: whoever has a list of users or of likely paths could hash them all and compare. So the hash
// must be a pseudo-random function with a secret key. SipHash-2-4 is one, made for short texts: its key has 128 bits,
// and who does not know it learns nothing from a hash but which texts were equal.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/problem.h"

struct anonymous_key {
    uint64_t half[2];
};

// What is hashed: the same bytes of two domains have different hashes.
enum anonymous_domain { DOMAIN_NAME, DOMAIN_USER, DOMAIN_DEVICE, DOMAIN_INODE, DOMAIN_JOB, DOMAIN_RECORD };

// A new one.
int anonymous_key_make(struct anonymous_key *key);

// Reads the key of a file that only its owner may read; makes both if nothing is there.
int anonymous_key_file(struct anonymous_key *key, const char *path, struct problem *problem);

uint64_t anonymous_hash(const struct anonymous_key *key, enum anonymous_domain domain, const void *data, size_t len);

// A number that stands for another; 0, which means "not known" and root, stays.
uint64_t anonymous_number(const struct anonymous_key *key, enum anonymous_domain domain, uint64_t value, unsigned bits);
