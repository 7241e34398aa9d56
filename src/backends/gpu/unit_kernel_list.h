// Kernels of matrix instructions, which a device may have besides those of kernel_list.h. A kernel of weights is there
// once for each way of lying in units: f16 (of bf16, too), q8_0, q4_k, q6_k.
TENON_KERNEL(pack_rows)
TENON_UNIT_KERNEL(linear_narrow)
TENON_UNIT_KERNEL(linear_warpgroup)
TENON_UNIT_KERNEL(linear_wide)
