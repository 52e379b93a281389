/* opencl.c - faults that opencl_guard.c must make visible: opencl [i] prints element i
 * of a buffer of 5 that was never written, and what the device says about itself.
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    const char *text = "kernel void f(global float *x, int i) { x[0] = x[i]; }";
    cl_platform_id platform;
    cl_device_id device;
    cl_int i = argc > 1 ? atoi(argv[1]) : 4;
    cl_uint width;
    cl_bool shared;
    float value;
    size_t one = 1;
    clGetPlatformIDs(1, &platform, NULL);
    clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL);
    clGetDeviceInfo(device, CL_DEVICE_NATIVE_VECTOR_WIDTH_INT, sizeof width, &width,
                    NULL);
    clGetDeviceInfo(device, CL_DEVICE_HOST_UNIFIED_MEMORY, sizeof shared, &shared,
                    NULL);
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, NULL);
    cl_mem x =
        clCreateBuffer(context, CL_MEM_READ_WRITE, 5 * sizeof(float), NULL, NULL);
    cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, NULL);
    clBuildProgram(program, 1, &device, "", NULL, NULL);
    cl_kernel kernel = clCreateKernel(program, "f", NULL);
    clSetKernelArg(kernel, 0, sizeof x, &x);
    clSetKernelArg(kernel, 1, sizeof i, &i);
    clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, NULL, 0, NULL, NULL);
    clEnqueueReadBuffer(queue, x, CL_TRUE, 0, sizeof value, &value, 0, NULL, NULL);
    printf("buffer %g lanes %u shared %u\n", value, width, shared);
    return 0;
}
