#!/bin/sh
# Remove the files of PyTorch's default build that only NVIDIA GPUs need. Then run PyTorch, so that the build fails if too much
# was removed.
#
# CUDA libraries to which libtorch_cuda.so is linked stay. The removed files are loaded by name on a GPU (engines of cuDNN,
# transports of NVSHMEM) or belong to compilers (Triton, headers). PyTorch's CPU build (TORCH_INDEX) contains none of them.
set -eu
site=$(/opt/reflink/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
/opt/reflink/bin/pip uninstall --quiet --yes triton 2>/dev/null || true
rm -rf "$site"/nvidia/*/include "$site"/nvidia/cu13/cccl "$site"/torch/include
rm -f "$site"/nvidia/cudnn/lib/libcudnn_*.so.* \
    "$site"/nvidia/cu13/lib/libcusolverMg.so.* \
    "$site"/nvidia/cu13/lib/libnvperf_*.so
if [ -d "$site/nvidia/nvshmem/lib" ]; then
    find "$site/nvidia/nvshmem/lib" -type f ! -name 'libnvshmem_host.so.*' -delete
fi
if [ -d "$site/torch" ]; then
    /opt/reflink/bin/python -B - <<'EOF'
import torch
import torch.nn.functional as F

for kind in (torch.float32, torch.bfloat16):
    x = torch.randn(2, 12, 16, 32, dtype=kind)
    assert F.scaled_dot_product_attention(x, x, x).isfinite().all()
    assert F.linear(x, torch.randn(8, 32, dtype=kind)).isfinite().all()
EOF
fi
