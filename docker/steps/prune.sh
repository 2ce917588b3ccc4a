#!/bin/sh
# Takes away what PyTorch's package index build brings for NVIDIA GPUs and a processor alone never loads. Then lets PyTorch
# work, so that an image that lacks too much is not built.
#
# PyTorch's libtorch_cuda.so names some CUDA libraries as needed: those stay, though nothing calls them. What goes is loaded by
# name when a GPU is used (cuDNN's engines, NVSHMEM's transports), or belongs to compilers (Triton, headers). With PyTorch's CPU
# build (TORCH_INDEX) none of it is there, and this finds nothing.
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
