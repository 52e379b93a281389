/* devices.c - lists all OpenCL devices with the values of DEVICE= that select them. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>

enum { DEVICES_MAX = 64, NAME_SIZE = 256 };

int main(void)
{
    cl_platform_id platform[DEVICES_MAX];
    cl_uint platforms = 0;
    if (clGetPlatformIDs(DEVICES_MAX, platform, &platforms) != CL_SUCCESS ||
        platforms == 0) {
        puts("no OpenCL platform (Debian: pocl-opencl-icd provides one for the CPU)");
        return 0;
    }
    for (cl_uint p = 0; p < platforms && p < DEVICES_MAX; p++) {
        cl_device_id device[DEVICES_MAX];
        cl_uint devices = 0;
        if (clGetDeviceIDs(platform[p], CL_DEVICE_TYPE_ALL, DEVICES_MAX, device,
                           &devices)) {
            char name[NAME_SIZE] = "?";
            clGetPlatformInfo(platform[p], CL_PLATFORM_NAME, NAME_SIZE, name, NULL);
            printf(
                "platform %u, %s, has no device (PoCL: is POCL_CACHE_DIR writable?)\n",
                p, name);
            continue;
        }
        for (cl_uint d = 0; d < devices && d < DEVICES_MAX; d++) {
            char name[NAME_SIZE] = "?", version[NAME_SIZE] = "?";
            cl_device_type type = 0;
            cl_uint units = 0;
            clGetDeviceInfo(device[d], CL_DEVICE_NAME, NAME_SIZE, name, NULL);
            clGetDeviceInfo(device[d], CL_DEVICE_VERSION, NAME_SIZE, version, NULL);
            clGetDeviceInfo(device[d], CL_DEVICE_TYPE, sizeof type, &type, NULL);
            clGetDeviceInfo(device[d], CL_DEVICE_MAX_COMPUTE_UNITS, sizeof units,
                            &units, NULL);
            printf("DEVICE=%u:%u  %s, %u compute units, %s, %s\n", p, d,
                   type & CL_DEVICE_TYPE_GPU ? "GPU" : "CPU", units, name, version);
        }
    }
    return 0;
}
