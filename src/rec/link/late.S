// A way to the recorder's shim of a function NAME, in an object of its own. The linker takes it only if the program calls
// the function, because then it also needs the library that has it.
#define TEXT(name) #name
#define JOIN(a, b) a##b
#define WITH(prefix, name) JOIN(prefix, name)

    .text
    .globl WITH(__wrap_, NAME)
    .type WITH(__wrap_, NAME), %function
WITH(__wrap_, NAME):
#if defined(__x86_64__)
    endbr64
    jmp WITH(ioseer_late_, NAME)@PLT
#elif defined(__aarch64__)
    b WITH(ioseer_late_, NAME)
#endif
    .size WITH(__wrap_, NAME), . - WITH(__wrap_, NAME)

    .section .data.rel.ro, "aw"
    .balign 8
    .quad WITH(__real_, NAME)

    .section .note.GNU-stack, "", %progbits
