// Optional kernels with matrix instructions, in addition to kernel_list.h. A kernel of weights has
// variants (kernel_variants.h); f16 serves bf16, too.
TENON_KERNEL(pack_rows)
TENON_UNIT_KERNEL(linear_narrow)
TENON_UNIT_KERNEL(linear_warpgroup)
TENON_UNIT_KERNEL(linear_wide)
