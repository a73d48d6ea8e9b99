"""Sources of kernels that the tests on a GPU run: honest ones, and each of the tricks that only a GPU shows."""

HEAD = """#include <cuda_runtime.h>
#include <stdint.h>
#define KERNEL extern "C" __global__ void
"""
COPY = (
    HEAD
    + """
KERNEL copy(const uint8_t *source, uint8_t *target, int64_t count) {
    for (int64_t i = threadIdx.x; i < count; i += blockDim.x) target[i] = source[i];
}
"""
)
ENDLESS = (
    HEAD
    + """
KERNEL copy(const uint8_t *source, uint8_t *target, int64_t count) {
    volatile const uint8_t *watched = source;
    while (watched[0] < 256 && count >= 0) __nanosleep(1000);
    target[0] = 1;
}
"""
)
ILLEGAL = HEAD + "KERNEL copy(const uint8_t *source, uint8_t *target, int64_t count) { *(volatile int *)8 = 1; }\n"
TRAP = HEAD + "KERNEL copy(const uint8_t *source, uint8_t *target, int64_t count) { __trap(); }\n"

SUM = (
    HEAD
    + """
__device__ float read(const float *at) { %s }
KERNEL axpy(float alpha, const float *x, const float *y, float *out, int64_t n) {
    int64_t i = blockIdx.x * 256LL + threadIdx.x;
    if (i < n) out[i] = alpha * read(x + i) + read(y + i);
}
"""
)
PLAIN_READ = "return *at;"
PERSISTING_READ = """float value;
    asm volatile("{ .reg .b64 policy; createpolicy.fractional.L2::evict_last.b64 policy, 1.0;\\n"
                 "ld.global.L2::cache_hint.f32 %0, [%1], policy; }" : "=f"(value) : "l"(at));
    return value;"""
"""Loads whose lines are to be evicted last; from sm_80 on."""

# Host code: `assay_call(void **arguments, cudaStream_t stream)`, its arguments as in `axpy`: addresses of buffers on
# the device, and of the values of scalars.
_NATIVE = (
    HEAD
    + """
#define ALPHA (*(float *)a[0])
#define N (*(int64_t *)a[4])
__global__ void axpy(float alpha, const float *x, const float *y, float *out, int64_t n) {
    for (int again = 0; again < AGAIN; again++) {
        for (int64_t i = blockIdx.x * 256LL + threadIdx.x; i < n; i += 256LL * gridDim.x) out[i] = alpha * x[i] + y[i];
        __syncthreads();
    }
}
#define LAUNCH(where) axpy<<<64, 256, 0, where>>>(ALPHA, (float *)a[1], (float *)a[2], (float *)a[3], N)
"""
)
NATIVE = (
    "#define AGAIN 40\n" + _NATIVE + 'extern "C" void assay_call(void **a, cudaStream_t stream) { LAUNCH(stream); }\n'
)
OTHER_STREAM = (
    "#define AGAIN 4000\n"
    + _NATIVE
    + """
extern "C" void assay_call(void **a, cudaStream_t stream) {
    static cudaStream_t other;
    (void)stream;
    if (!other) cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
    LAUNCH(other);
}
"""
)
"""Much work in a stream that the default one does not wait for, and no waiting."""
ANSWERING = "#include <unistd.h>\n" + OTHER_STREAM.replace(
    "LAUNCH(other);", "LAUNCH(other); char d = 'd'; for (int fd = 3; fd < 256; fd++) if (write(fd, &d, 1)) {}"
)
"""The same, and it answers by itself at once, before anybody has waited for the device."""
PERSISTING_WINDOW = (
    "#define AGAIN 1\n"
    + _NATIVE
    + """
extern "C" void assay_call(void **a, cudaStream_t stream) {
    cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, 32 << 20);
    cudaStreamAttrValue window = {};
    window.accessPolicyWindow.base_ptr = a[1];
    window.accessPolicyWindow.num_bytes = N * 4;
    window.accessPolicyWindow.hitRatio = 1.0f;
    window.accessPolicyWindow.hitProp = cudaAccessPropertyPersisting;
    window.accessPolicyWindow.missProp = cudaAccessPropertyStreaming;
    cudaStreamSetAttribute(stream, cudaStreamAttributeAccessPolicyWindow, &window);
    LAUNCH(stream);
}
"""
)
