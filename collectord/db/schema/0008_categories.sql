-- SPDX-License-Identifier: MIT
-- What kind of work a kernel is. The rules are in the file, so that whoever reads it gets the
-- same answer: the first pattern, by position, that the demangled name or the raw symbol
-- matches, both in lower case (GLOB). docs/timeline.md has the reasons for the order.
CREATE TABLE rtl_category (
	position INTEGER PRIMARY KEY,	-- rules of the user's are below 0
	category TEXT NOT NULL,
	collective TEXT,		-- of communication, where the name tells: allreduce, ...
	pattern TEXT NOT NULL,
	origin TEXT NOT NULL DEFAULT 'built-in'	-- or user
);

INSERT INTO rtl_category (position, category, collective, pattern) VALUES
	-- First: an all-reduce named ...AllReduce_Sum... is no reduction.
	(100, 'communication', 'allreduce', '*nccl*allreduce*'),
	(101, 'communication', 'reducescatter', '*nccl*reducescatter*'),
	(102, 'communication', 'allgather', '*nccl*allgather*'),
	(103, 'communication', 'alltoall', '*nccl*alltoall*'),
	(104, 'communication', 'broadcast', '*nccl*broadcast*'),
	(105, 'communication', 'sendrecv', '*nccl*sendrecv*'),
	(106, 'communication', 'reduce', '*nccl*kernel_reduce[_]*'),
	(107, 'communication', NULL, '*nccl*'),
	(108, 'communication', 'reducescatter', '*reduce_scatter*'),
	(109, 'communication', 'reducescatter', '*reducescatter*'),
	(110, 'communication', 'allreduce', '*cross_device_reduce*'),
	(111, 'communication', 'allreduce', '*all_reduce*'),
	(112, 'communication', 'allreduce', '*allreduce*'),
	(113, 'communication', 'allgather', '*all_gather*'),
	(114, 'communication', 'allgather', '*allgather*'),
	(115, 'communication', 'alltoall', '*all_to_all*'),
	(116, 'communication', 'alltoall', '*alltoall*'),
	(117, 'communication', NULL, '*rccl*'),
	(118, 'communication', NULL, '*msccl*'),
	(119, 'communication', NULL, '*rocshmem*'),
	-- The runtime's own kernels.
	(200, 'copy', NULL, '*amd_rocclr_copy*'),
	(201, 'copy', NULL, '*memcpy*'),
	(202, 'copy', NULL, 'memory_copy_*'),
	(210, 'memset', NULL, '*amd_rocclr_fill*'),
	(211, 'memset', NULL, '*memset*'),
	-- Frameworks' wrappers: what stands in their arguments (norm, sum, normal) says less.
	(300, 'optimizer', NULL, '*multi_tensor_apply*'),
	(301, 'optimizer', NULL, '*adam*'),
	(302, 'optimizer', NULL, '*optimizer*'),
	(303, 'optimizer', NULL, '*[^a-z]sgd*'),
	(310, 'elementwise', NULL, '*elementwise_kernel*'),
	(311, 'reduction', NULL, '*::reduce_kernel<*'),
	-- Fused attention and convolution are made of GEMMs, and their names say so.
	(400, 'attention', NULL, '*attn*'),
	(401, 'attention', NULL, '*attention*'),
	(402, 'attention', NULL, '*fmha*'),
	(403, 'attention', NULL, '*flash*fwd*'),
	(404, 'attention', NULL, '*flash*bwd*'),
	(405, 'attention', NULL, '*flash*prop*'),
	(406, 'attention', NULL, '*mla_decode*'),
	(500, 'convolution', NULL, '*conv[123]d*'),
	(501, 'convolution', NULL, '*convolution*'),
	(502, 'convolution', NULL, '*conv[_]*fwd*'),
	(503, 'convolution', NULL, '*conv[_]*bwd*'),
	(504, 'convolution', NULL, '*conv[_]*wrw*'),
	(505, 'convolution', NULL, '*convfwd*'),
	(506, 'convolution', NULL, '*convbwd*'),
	(507, 'convolution', NULL, '*asmconv*'),
	(508, 'convolution', NULL, '*naive_conv*'),
	(509, 'convolution', NULL, '*grouped_conv*'),
	(510, 'convolution', NULL, '*depthwise*'),
	(511, 'convolution', NULL, 'igemm_*'),
	(512, 'convolution', NULL, '*winograd*'),
	(513, 'convolution', NULL, '*im2col*'),
	(514, 'convolution', NULL, '*im2d2col*'),
	(600, 'gemm', NULL, '*gemm*'),
	(601, 'gemm', NULL, '*cijk_*'),
	(602, 'gemm', NULL, '*matmul*'),
	(603, 'gemm', NULL, '*flatmm*'),
	(604, 'gemm', NULL, '*gemv*'),
	(605, 'gemm', NULL, '*wvsplitk*'),
	(606, 'gemm', NULL, '*llmm1*'),
	(607, 'gemm', NULL, '*nvjet*'),
	(608, 'gemm', NULL, '*cutlass*'),
	(700, 'softmax', NULL, '*softmax*'),
	(710, 'normalization', NULL, '*layernorm*'),
	(711, 'normalization', NULL, '*layer_norm*'),
	(712, 'normalization', NULL, '*rmsnorm*'),
	(713, 'normalization', NULL, '*rms_norm*'),
	(714, 'normalization', NULL, '*batchnorm*'),
	(715, 'normalization', NULL, '*batch_norm*'),
	(716, 'normalization', NULL, '*groupnorm*'),
	(717, 'normalization', NULL, '*group_norm*'),
	(718, 'normalization', NULL, '*normalization*'),
	(719, 'normalization', NULL, '*norm_kernel*'),
	(720, 'normalization', NULL, '*[^a-z]norm[^a-z]*'),
	(730, 'embedding', NULL, '*embedding*'),
	(731, 'embedding', NULL, '*rotary*'),
	(732, 'embedding', NULL, '*rope[^a-z]*'),
	(740, 'sort', NULL, '*radixsort*'),
	(741, 'sort', NULL, '*radix_sort*'),
	(742, 'sort', NULL, '*topk*'),
	(743, 'sort', NULL, '*top_k*'),
	(744, 'sort', NULL, '*sort*'),
	(745, 'sort', NULL, '*moe_align*'),
	(750, 'random', NULL, '*philox*'),
	(751, 'random', NULL, '*dropout*'),
	(752, 'random', NULL, '*distribution_*'),
	(800, 'reduction', NULL, '*reduce*'),
	(801, 'reduction', NULL, '*reduction*'),
	(802, 'reduction', NULL, '*[^a-z]sum[^a-z]*'),
	(803, 'reduction', NULL, '*cumsum*'),
	(810, 'elementwise', NULL, '*elementwise*'),
	(811, 'elementwise', NULL, '*element_wise*'),
	(812, 'elementwise', NULL, '*pointwise*'),
	(813, 'elementwise', NULL, 'triton_poi_*'),
	(814, 'reduction', NULL, 'triton_red_*'),
	(815, 'reduction', NULL, 'triton_per_*'),
	(816, 'elementwise', NULL, '*act_and_mul*'),
	(817, 'elementwise', NULL, '*silu*'),
	(818, 'elementwise', NULL, '*gelu*'),
	(819, 'elementwise', NULL, '*relu*'),
	(820, 'elementwise', NULL, '*_add_*'),
	(821, 'elementwise', NULL, '*[^a-z]add[^a-z]*'),
	(822, 'elementwise', NULL, '*scale*'),
	(823, 'elementwise', NULL, '*quant*'),
	(824, 'elementwise', NULL, '*transpose*');

-- category, collective: only looked up where somebody asks for them.
DROP VIEW IF EXISTS rtl_kernel;
CREATE VIEW rtl_kernel AS
SELECT k.id, k.symbol, s.string AS name,
	coalesce((SELECT c.category FROM rtl_category c
		WHERE lower(s.string) GLOB c.pattern OR lower(k.symbol) GLOB c.pattern
		ORDER BY c.position LIMIT 1), 'other') AS category,
	(SELECT c.collective FROM rtl_category c
		WHERE lower(s.string) GLOB c.pattern OR lower(k.symbol) GLOB c.pattern
		ORDER BY c.position LIMIT 1) AS collective
FROM rtl_kernel_base k JOIN rocpd_string s ON s.id = k.id;
