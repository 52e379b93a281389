/* devices.c - lists OpenCL devices as DEVICE= names them. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>

enum { MAX = 64, NAME = 256 };

int main(void)
{
    cl_platform_id platform[MAX];
    cl_uint platforms = 0;
    if (clGetPlatformIDs(MAX, platform, &platforms) != CL_SUCCESS || platforms == 0) {
        puts("no OpenCL platform (Debian: pocl-opencl-icd makes one of the CPU)");
        return 0;
    }
    for (cl_uint p = 0; p < platforms && p < MAX; p++) {
        cl_device_id device[MAX];
        cl_uint devices = 0;
        if (clGetDeviceIDs(platform[p], CL_DEVICE_TYPE_ALL, MAX, device, &devices)) {
            char name[NAME] = "?";
            clGetPlatformInfo(platform[p], CL_PLATFORM_NAME, NAME, name, NULL);
            printf(
                "platform %u, %s, has no device (PoCL: is POCL_CACHE_DIR writable?)\n",
                p, name);
            continue;
        }
        for (cl_uint d = 0; d < devices && d < MAX; d++) {
            char name[NAME] = "?", version[NAME] = "?";
            cl_device_type type = 0;
            cl_uint units = 0;
            clGetDeviceInfo(device[d], CL_DEVICE_NAME, NAME, name, NULL);
            clGetDeviceInfo(device[d], CL_DEVICE_VERSION, NAME, version, NULL);
            clGetDeviceInfo(device[d], CL_DEVICE_TYPE, sizeof type, &type, NULL);
            clGetDeviceInfo(device[d], CL_DEVICE_MAX_COMPUTE_UNITS, sizeof units,
                            &units, NULL);
            printf("DEVICE=%u:%u  %s, %u compute units, %s, %s\n", p, d,
                   type & CL_DEVICE_TYPE_GPU ? "GPU" : "CPU", units, name, version);
        }
    }
    return 0;
}
