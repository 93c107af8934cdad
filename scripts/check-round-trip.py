"""The half of check-round-trip.mjs that needs PyTorch: loads original and saved files and compares their answers bit for bit.

python3 check-round-trip.py saved.json
"""

import base64
import hashlib
import json
import os
import sys
import warnings

import torch

warnings.filterwarnings("ignore")


def read_tensor(description, folder):
    dtype = getattr(torch, description["dtype"])
    shape = description["shape"]
    count = 1
    for size in shape:
        count *= size
    if "bin" in description:
        width = torch.empty(0, dtype=dtype).element_size()
        with open(os.path.join(folder, description["bin"]), "rb") as file:
            file.seek(description.get("offset", 0))
            data = file.read(count * width)
    else:
        data = base64.b64decode(description.get("data", ""))
    flat = torch.frombuffer(bytearray(data), dtype=dtype) if count else torch.empty(0, dtype=dtype)
    tensor = flat.reshape(shape)
    if "strides" not in description:
        return tensor
    strided = torch.empty_strided(shape, description["strides"], dtype=dtype)
    return strided.copy_(tensor)


def read_value(value, folder):
    if value is None or isinstance(value, bool):
        return value
    ((kind, content),) = [(k, v) for k, v in value.items() if k not in ("elem", "key", "value", "name", "fields")]
    if kind == "tensor":
        return read_tensor(content, folder)
    if kind == "int":
        return int(content)
    if kind == "float":
        return float(content)
    if kind == "complex":
        return complex(float(content[0]), float(content[1]))
    if kind == "str":
        return content
    if kind == "list":
        return [read_value(item, folder) for item in content]
    if kind == "tuple":
        return tuple(read_value(item, folder) for item in content)
    if kind == "dict":
        return {read_value(key, folder): read_value(item, folder) for key, item in content}
    if kind == "device":
        return torch.device(content)
    if kind == "dtype":
        return getattr(torch, content)
    raise ValueError(f"a value of kind {kind}")


def fingerprint(value, shape_only):
    """A text that is the same only for values that are equal bit for bit."""
    if isinstance(value, torch.Tensor):
        head = f"{value.dtype}{list(value.shape)}{value.requires_grad}"
        if shape_only or value.is_quantized:
            return head
        if value.layout != torch.strided:
            value = value.to_dense()
        data = torch.empty(value.numel(), dtype=value.dtype).copy_(value.detach().reshape(-1)).view(torch.uint8)
        return head + hashlib.sha256(bytes(data.tolist())).hexdigest()
    if isinstance(value, (list, tuple)):
        return type(value).__name__ + "(" + ",".join(fingerprint(item, shape_only) for item in value) + ")"
    if isinstance(value, dict):
        return "dict(" + ",".join(f"{fingerprint(k, shape_only)}:{fingerprint(v, shape_only)}" for k, v in value.items()) + ")"
    if isinstance(value, (torch.jit.ScriptModule, torch._C.ScriptObject)):
        return "object"
    if isinstance(value, (float, complex)):
        return "number" if shape_only else repr(value)
    return repr(value)


def answer(module, case, call, folder):
    inputs = [read_value(value, folder) for value in call["inputs"]]
    kwargs = {name: read_value(value, folder) for name, value in call.get("kwargs", {}).items()}
    shape_only = case.get("shape_only", False)
    torch.manual_seed(0)
    entry = call.get("entry") or case.get("entry") or "forward"
    try:
        with torch.no_grad():
            method = module if entry == "forward" else getattr(module, entry)
            output = method(*inputs, **kwargs)
    except Exception as error:
        # The place in the author's source belongs to it; that in generated code may move.
        return type(error).__name__ + str(error).split("Traceback of TorchScript, original code")[-1]
    return "\n".join(fingerprint(value, shape_only) for value in [output, *inputs])


def answers(path, case, folder):
    module = torch.jit.load(path, map_location="cpu")
    return [answer(module, case, call, folder) for call in case.get("calls", [])]


def problems_of(file):
    try:
        torch.jit.load(file["original"], map_location="cpu")
    except Exception:
        return None
    found = []
    for reference in file["cases"]:
        with open(reference["file"], encoding="utf-8") as lines:
            case = json.loads(lines.read().split("\n")[reference["line"]])
        folder = os.path.dirname(reference["file"])
        try:
            want, got = (answers(file[each], case, folder) for each in ("original", "saved"))
            # Some operators do not give the same answer twice.
            if want != got and any(answers(file["original"], case, folder) != want for _ in range(8)):
                continue
        except Exception as error:
            found.append(f"{reference['id']}: {str(error).strip().splitlines()[-1]}")
            continue
        for at, (one, other) in enumerate(zip(want, got)):
            if one != other:
                found.append(f"{reference['id']}, call {at}: {one[:300]} became {other[:300]}")
                break
    return found


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        files = json.load(file)
    wrong = 0
    skipped = 0
    for file in files:
        problems = problems_of(file)
        if problems is None:
            skipped += 1
            continue
        wrong += bool(problems)
        for problem in problems:
            print(f"{file['original']}: in PyTorch, {problem}")
    equal = len(files) - wrong - skipped
    print(
        f"PyTorch {torch.__version__}: {len(files)} saved files, {equal} with the answers of their originals, {wrong} wrong, "
        f"{skipped} whose originals it does not load"
    )
    sys.exit(1 if wrong else 0)


main()
