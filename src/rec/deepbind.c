#include "rec/deepbind.h"

#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cpu.h"
#include "rec/library.h"
#include "rec/mpi/core_interface.h"
#include "rec/real.h"

// The base address of the object that was loaded last before the expected library; NOTHING if none is expected.
enum { NOTHING = -1 };
static _Atomic uintptr_t loaded_last = (uintptr_t)NOTHING;

struct range {
    uintptr_t start, end;
};

struct object {
    struct range memory;
    struct range read_only; // once it is relocated
    const ElfW(Dyn) * dynamic;
    uintptr_t base;
};

struct relocations {
    const ElfW(Sym) * symbol;
    const char *text;
    const ElfW(Rela) * data, *calls;
    size_t data_bytes, calls_bytes;
};

static bool contains(const struct range *range, uintptr_t address) {
    return address >= range->start && address < range->end;
}

static struct object object_of(const struct dl_phdr_info *info) {
    struct object object = {.base = info->dlpi_addr, .memory = {UINTPTR_MAX, 0}};
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        uintptr_t start = object.base + part->p_vaddr, end = start + part->p_memsz;
        if (part->p_type == PT_DYNAMIC) object.dynamic = (const ElfW(Dyn) *)start;
        if (part->p_type == PT_GNU_RELRO) object.read_only = (struct range){start, end};
        if (part->p_type == PT_LOAD && start < object.memory.start) object.memory.start = start;
        if (part->p_type == PT_LOAD && end > object.memory.end) object.memory.end = end;
    }
    return object;
}

static struct relocations relocations_of(const struct object *object) {
    struct relocations found = {0};
    for (const ElfW(Dyn) *entry = object->dynamic; entry && entry->d_tag != DT_NULL; entry++) {
        if (entry->d_tag == DT_RELASZ) found.data_bytes = entry->d_un.d_val;
        if (entry->d_tag == DT_PLTRELSZ) found.calls_bytes = entry->d_un.d_val;
        if (!contains(&object->memory, entry->d_un.d_ptr)) continue; // not an address
        const void *address = (const void *)entry->d_un.d_ptr;
        if (entry->d_tag == DT_SYMTAB) found.symbol = address;
        if (entry->d_tag == DT_STRTAB) found.text = address;
        if (entry->d_tag == DT_RELA) found.data = address;
        if (entry->d_tag == DT_JMPREL) found.calls = address;
    }
    return found;
}

static void set_slot(const struct object *object, uintptr_t *slot, uintptr_t value) {
    uintptr_t page_bytes = (uintptr_t)sysconf(_SC_PAGESIZE);
    void *page = (void *)((uintptr_t)slot & ~(page_bytes - 1));
    bool read_only = contains(&object->read_only, (uintptr_t)slot);
    if (read_only && cpu_syscall(SYS_mprotect, page, page_bytes, PROT_READ | PROT_WRITE) < 0) return;
    __atomic_store_n(slot, value, __ATOMIC_RELEASE);
    if (read_only) cpu_syscall(SYS_mprotect, page, page_bytes, PROT_READ);
}

// A slot that points into its own object is not bound yet; the first call would bind it.
static void redirect(const struct object *object, const struct relocations *in, const ElfW(Rela) * rows, size_t bytes) {
    for (size_t i = 0; in->symbol && in->text && rows && i < bytes / sizeof *rows; i++) {
        unsigned kind = (unsigned)ELF64_R_TYPE(rows[i].r_info);
        if (kind != CPU_RELOCATION_DATA && kind != CPU_RELOCATION_CALL) continue;
        const char *name = in->text + in->symbol[ELF64_R_SYM(rows[i].r_info)].st_name;
        void *own = real_own(name);
        void *only = own ? real_only(name) : NULL;
        uintptr_t *slot = (uintptr_t *)(object->base + rows[i].r_offset);
        bool leads_there =
            *slot == (uintptr_t)only || (kind == CPU_RELOCATION_CALL && contains(&object->memory, *slot));
        if (!only || !leads_there) continue;
        bool is_called =
            mpi_is_name(name) || (library_has_name(name) ? library_is_real(name, only) : real_is(name, only));
        if (is_called) set_slot(object, slot, (uintptr_t)own);
    }
}

// --- under the loader's lock, which dl_iterate_phdr holds

struct walk {
    uintptr_t last;
    bool passed; // the object that was loaded last
};

static int visit(struct dl_phdr_info *info, size_t bytes, void *argument) {
    (void)bytes;
    struct walk *walk = argument;
    if (walk->passed) {
        struct object object = object_of(info);
        struct relocations relocations = relocations_of(&object);
        redirect(&object, &relocations, relocations.data, relocations.data_bytes);
        redirect(&object, &relocations, relocations.calls, relocations.calls_bytes);
    }
    if (info->dlpi_addr == walk->last) walk->passed = true;
    return 0;
}

static int last_object(struct dl_phdr_info *info, size_t bytes, void *last) {
    (void)bytes;
    *(uintptr_t *)last = info->dlpi_addr;
    return 0;
}

void deepbind_expect(void) {
    uintptr_t last = (uintptr_t)NOTHING, nothing = (uintptr_t)NOTHING;
    dl_iterate_phdr(last_object, &last);
    atomic_compare_exchange_strong(&loaded_last, &nothing, last);
}

void deepbind_apply(void) {
    if (atomic_load_explicit(&loaded_last, memory_order_relaxed) == (uintptr_t)NOTHING) return;
    struct walk walk = {.last = atomic_exchange(&loaded_last, (uintptr_t)NOTHING)};
    if (walk.last != (uintptr_t)NOTHING) dl_iterate_phdr(visit, &walk);
}
