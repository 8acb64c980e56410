/* A host ELF by hand: launch 0 does what `request` says, launch 1 is well behaved. */
#include <stdint.h>
#include <stddef.h>

__asm__(".pushsection .airlink.manifest,\"a\"\n.incbin \"" MANIFEST_FILE "\"\n.popsection\n");

enum { REQUEST, WEIGHTS, SHORT, RESULT, DEAD, ARG_COUNT };

static volatile float sink;

__attribute__((noinline)) static int recurse(volatile int *request) {
    volatile char frame[4096];
    frame[0] = (char)*request;
    return recurse(request) + frame[0];
}

__attribute__((noinline)) static int jump_the_guard(volatile int *request) {
    volatile char *frame = __builtin_alloca(1 << 20);
    frame[0] = (char)*request;
    return jump_the_guard(request) + frame[0];
}

/* Writes over its own frame and those of its callers. */
__attribute__((noinline)) static int smash(volatile int *request) {
    volatile unsigned char frame[16];
    for (volatile int i = 0; i < 16; i++) frame[i] = 0;
    for (long n = request[1], at = 0; at < n; at++) *((volatile unsigned char *)frame + at) = 0xa5;
    return frame[0];
}

/* Part of launch 0, so that a fault in it lies in a symbol that the ELF exports. */
__attribute__((always_inline)) static inline void misbehave(int request, int amount, void *const *args) {
    volatile float *result = args[RESULT];
    volatile float *weights = args[WEIGHTS];
    volatile unsigned char *bytes = args[SHORT];
    volatile int *numbers = args[REQUEST];
    switch (request) {
    case 1: ((volatile unsigned char *)result)[4096 + amount] = 1; break;
    case 2: sink = *(volatile float *)((char *)result - amount); break;
    case 3: weights[amount] = 1; break;
    case 4: *(volatile int *)(intptr_t)amount = 1; break;
    case 5: numbers[3] = recurse(numbers); break;
    case 6: numbers[3] = jump_the_guard(numbers); break;
    case 7: { unsigned mode = 0x9fc0; __asm__ volatile("ldmxcsr %0" : : "m"(mode)); break; }
    case 8: bytes[200 + amount] = 1; break;
    case 9: bytes[-amount] = 1; break;
    case 10: sink = ((volatile float *)args[DEAD])[amount]; break;
    case 11: numbers[3] = numbers[0] / numbers[2]; break;
    case 12: __asm__ volatile("ud2"); break;
    case 13: ((void (*)(void))args[RESULT])(); break;
    case 14: *(volatile int *)0x0123456789abcdefull = 1; break;
    case 16: __asm__ volatile("movabs $0x0123456789abcdef, %%rsp; push %%rax" ::: "memory"); break;
    case 17: numbers[3] = smash(numbers); break;
    case 18: __asm__ volatile(".byte 0x06"); break;
    case 15: { volatile double zero = 0; result[0] = (float)(1.0 / zero); break; }
    }
}

int32_t airlink_launch_0(void *const *args, uint64_t n_args) {
    if (n_args != ARG_COUNT) return -1;
    const int *request = args[REQUEST];
    if (request[0] < 0) return request[0];
    misbehave(request[0], request[1], args);
    return 0;
}

int32_t airlink_launch_1(void *const *args, uint64_t n_args) {
    const float *weights = args[WEIGHTS];
    float *result = args[RESULT];
    for (int i = 0; i < 1024; i++) result[i] = weights[i % 16] * 2;
    /* Whether denormals are kept: half of the smallest normal number. */
    volatile float smallest = 1.17549435e-38f;
    result[0] = smallest * 0.5f;
    return n_args == ARG_COUNT ? 0 : -1;
}

int32_t airlink_run(void *const *args, uint64_t n_args) {
    int32_t code = airlink_launch_0(args, n_args);
    return code ? code : airlink_launch_1(args, n_args);
}

#ifdef MISSING_SYMBOL
extern void kernel_that_nobody_defines(void);
void *airlink_reference(void) { return (void *)kernel_that_nobody_defines; }
#endif

#ifdef WITH_BIND
int32_t airlink_bind(const uint64_t *api) { return api[0] == 2 && api[1] >= WITH_BIND ? 0 : 7; }
#endif
