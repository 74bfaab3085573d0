// What the system says about the storage under a directory, without any I/O on it.
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { STORAGE_TEXT = 256 };

// Texts that are not known are empty; numbers are 0.
struct storage {
    char directory[STORAGE_TEXT];
    char file_system[STORAGE_TEXT]; // its type
    char source[STORAGE_TEXT];      // device, server or volume
    char options[STORAGE_TEXT];     // it is mounted with
    char device[STORAGE_TEXT];      // block device
    char model[STORAGE_TEXT];       // of the device
    char raid[STORAGE_TEXT];        // level, of software RAID
    char write_cache[STORAGE_TEXT]; // of the device: "write back" or "write through"
    int rotational;                 // 1, 0, or -1: not known
    uint64_t stripe_bytes;          // RAID chunk
    uint64_t size_bytes;
    uint64_t free_bytes;
    uint64_t memory_bytes; // of the machine
    uint32_t processors;
    char host[STORAGE_TEXT];
    char kernel[STORAGE_TEXT];
};

int storage_describe(const char *directory, struct storage *storage);

// Whether files in the directory can be opened for direct I/O; makes one and removes it.
bool storage_has_direct(const char *directory);
