/* A stand-in for libnvidia-ml.so.1: one device, which is what the variables FAKE_NVML_* say. */
#include <stdlib.h>
#include <string.h>

static int device, parent;

static int is_set(const char *name) { return getenv(name) != NULL; }
static int number(const char *name, int usual) { return is_set(name) ? atoi(getenv(name)) : usual; }
static int tell(char *text, unsigned size, const char *told) { strncpy(text, told, size); return 0; }

static int users;

int nvmlInit_v2(void) { int status = number("FAKE_NVML_INIT", 0); users += status == 0; return status; }
int nvmlShutdown(void) { users--; return 0; }
int fake_nvml_users(void) { return users; }
int nvmlDeviceGetCount_v2(unsigned *count) { *count = 1; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **found) { *found = &device; return index == 0 ? 0 : 6; }
int nvmlDeviceGetHandleByUUID(const char *uuid, void **found) {
    *found = &device;
    return strcmp(uuid, is_set("FAKE_NVML_MIG") ? "MIG-1" : "GPU-1") == 0 ? 0 : 6;
}
int nvmlDeviceGetDeviceHandleFromMigDeviceHandle(void *at, void **found) {
    (void)at;
    *found = &parent;
    return is_set("FAKE_NVML_MIG") ? 0 : 2;
}
int nvmlDeviceGetUUID(void *at, char *text, unsigned size) {
    return tell(text, size, at == &device && is_set("FAKE_NVML_MIG") ? "MIG-1" : "GPU-1");
}
int nvmlDeviceGetName(void *at, char *text, unsigned size) { (void)at; return tell(text, size, "Fake H100"); }
int nvmlSystemGetDriverVersion(char *text, unsigned size) { return tell(text, size, is_set("FAKE_NVML_DRIVER") ? getenv("FAKE_NVML_DRIVER") : "580.65"); }
int nvmlDeviceGetCudaComputeCapability(void *at, int *major, int *minor) { (void)at; *major = 9; *minor = 0; return 0; }
int nvmlDeviceGetMaxClockInfo(void *at, unsigned kind, unsigned *mhz) { (void)at; *mhz = kind == 1 ? 1980 : 2619; return 0; }
int nvmlDeviceGetClockInfo(void *at, unsigned kind, unsigned *mhz) {
    (void)at;
    *mhz = kind == 1 ? (unsigned)number("FAKE_NVML_MHZ", 1755) : 2619;
    return 0;
}
int nvmlDeviceGetMemoryBusWidth(void *at, unsigned *bits) { (void)at; *bits = 5120; return 0; }
int nvmlDeviceGetNumGpuCores(void *at, unsigned *cores) { (void)at; *cores = 132 * 128; return 0; }
int nvmlDeviceGetCurrentClocksThrottleReasons(void *at, unsigned long long *reasons) {
    (void)at;
    *reasons = (unsigned)number("FAKE_NVML_REASONS", 0);
    return number("FAKE_NVML_LOST", 0);
}
int nvmlDeviceGetEccMode(void *at, unsigned *now, unsigned *pending) { (void)at; *now = *pending = 1; return 0; }
int nvmlDeviceGetTemperature(void *at, unsigned sensor, unsigned *c) { (void)at; *c = sensor == 0 ? 41 : 0; return 0; }
struct process { unsigned pid; unsigned long long used; unsigned instance, compute; };
int nvmlDeviceGetComputeRunningProcesses_v3(void *at, unsigned *count, struct process *found) {
    (void)at;
    unsigned there = number("FAKE_NVML_PROCESSES", 0), room = *count;
    if (is_set("FAKE_NVML_SILENT")) return 3;
    for (unsigned i = 0; i < there && i < room; i++) found[i] = (struct process){4000 + i, 1, 2, 3};
    *count = there;
    return there > room ? 7 : 0;
}
int nvmlDeviceSetGpuLockedClocks(void *at, unsigned least, unsigned most) {
    (void)at;
    return is_set("FAKE_NVML_LOCKS") && least == most && least == 1755 ? 0 : 4;
}
int nvmlDeviceResetGpuLockedClocks(void *at) { (void)at; return 0; }
