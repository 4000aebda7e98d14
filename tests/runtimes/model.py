# SPDX-License-Identifier: MIT
"""Writes a model that llama.cpp loads: a llama of random weights and a vocabulary of bytes. What it says means nothing."""
import array
import random
import struct

UINT32, INT32, FLOAT32, STRING, ARRAY, BOOL = 4, 5, 6, 8, 9, 7
FLOAT16_TENSOR, FLOAT32_TENSOR = 1, 0
PACK = {UINT32: "<I", INT32: "<i", FLOAT32: "<f", BOOL: "<?"}
ALIGNMENT = 32


def text(value):
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def scalar(kind, value):
    return text(value) if kind == STRING else struct.pack(PACK[kind], value)


def entry(key, kind, value, of=None):
    """A key and its value; of: the kind of an array's elements."""
    data = text(key) + struct.pack("<I", kind)
    if kind != ARRAY:
        return data + scalar(kind, value)
    return data + struct.pack("<IQ", of, len(value)) + b"".join(scalar(of, item) for item in value)


def entries(layers, width):
    tokens = ["<unk>", "<s>", "</s>"] + ["<0x%02X>" % byte for byte in range(256)] + list("▁abc") + ["▁a"]
    kinds = [2, 3, 3] + [6] * 256 + [1] * 5
    scores = [0.0] * 259 + [-1.0, -2.0, -3.0, -4.0, -0.5]
    return len(tokens), [
        entry("general.architecture", STRING, "llama"), entry("general.name", STRING, "random"),
        entry("general.file_type", UINT32, 1), entry("llama.context_length", UINT32, 2048),
        entry("llama.embedding_length", UINT32, width), entry("llama.block_count", UINT32, layers),
        entry("llama.feed_forward_length", UINT32, 2 * width), entry("llama.attention.head_count", UINT32, 4),
        entry("llama.attention.head_count_kv", UINT32, 4),
        entry("llama.attention.layer_norm_rms_epsilon", FLOAT32, 1e-5),
        entry("llama.rope.dimension_count", UINT32, width // 4), entry("llama.vocab_size", UINT32, len(tokens)),
        entry("tokenizer.ggml.model", STRING, "llama"), entry("tokenizer.ggml.tokens", ARRAY, tokens, STRING),
        entry("tokenizer.ggml.scores", ARRAY, scores, FLOAT32),
        entry("tokenizer.ggml.token_type", ARRAY, kinds, INT32),
        entry("tokenizer.ggml.bos_token_id", UINT32, 1), entry("tokenizer.ggml.eos_token_id", UINT32, 2),
        entry("tokenizer.ggml.unknown_token_id", UINT32, 0), entry("tokenizer.ggml.add_bos_token", BOOL, True),
        entry("tokenizer.ggml.add_eos_token", BOOL, False)]


def tensors(layers, width, vocabulary):
    """(name, shape with the fastest dimension first, type) of each."""
    yield "token_embd.weight", (width, vocabulary), FLOAT16_TENSOR
    yield "output.weight", (width, vocabulary), FLOAT16_TENSOR
    yield "output_norm.weight", (width,), FLOAT32_TENSOR
    for layer in range(layers):
        block = "blk.%d." % layer
        for norm in ("attn_norm", "ffn_norm"):
            yield block + norm + ".weight", (width,), FLOAT32_TENSOR
        for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
            yield block + name + ".weight", (width, width), FLOAT16_TENSOR
        for name in ("ffn_gate", "ffn_up"):
            yield block + name + ".weight", (width, 2 * width), FLOAT16_TENSOR
        yield block + "ffn_down.weight", (2 * width, width), FLOAT16_TENSOR


def write_model(path, layers=2, width=256):
    vocabulary, head = entries(layers, width)
    chosen = random.Random(1)
    infos, blobs, offset = [], [], 0
    for name, shape, kind in tensors(layers, width, vocabulary):
        count = 1
        for size in shape:
            count *= size
        values = [chosen.gauss(0, 0.05) for _ in range(count)]
        if kind == FLOAT32_TENSOR:
            data = array.array("f", values).tobytes()
        else:
            data = struct.pack("<%de" % count, *values)
        infos.append(text(name) + struct.pack("<I%dQIQ" % len(shape), len(shape), *shape, kind, offset))
        data += bytes(-len(data) % ALIGNMENT)
        blobs.append(data)
        offset += len(data)
    with open(path, "wb") as file:
        file.write(b"GGUF" + struct.pack("<IQQ", 3, len(infos), len(head)))
        file.write(b"".join(head) + b"".join(infos))
        file.write(bytes(-file.tell() % ALIGNMENT))
        file.write(b"".join(blobs))
