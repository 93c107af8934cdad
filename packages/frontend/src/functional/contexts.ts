/** Objects of `torch` that stand in a `with`: classes that are Python in PyTorch, by module. */
export const GRAD_MODE = `
class no_grad:
    def __init__(self) -> None:
        self.prev = False

    def __enter__(self) -> None:
        self.prev = torch.is_grad_enabled()
        torch.set_grad_enabled(False)

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        torch.set_grad_enabled(self.prev)
`;

export const STRICT_FUSION = `
class strict_fusion:
    def __init__(self):
        pass

    def __enter__(self):
        pass

    def __exit__(self, type: Any, value: Any, tb: Any) -> None:
        pass
`;

export const RECORD_FUNCTION = `
class record_function:
    def __init__(self, name: str, args: Optional[str] = None):
        self.name: str = name
        self.args: Optional[str] = args
        self.run_callbacks_on_exit: bool = True
        self.record: Optional[torch.classes.profiler._RecordFunction] = torch.jit.annotate(Optional[torch.classes.profiler._RecordFunction], None)
        self._cupti_monitor_external_id = None

    def __enter__(self):
        self.record = torch.ops.profiler._record_function_enter_new(self.name, self.args)
        return self

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any):
        if not self.run_callbacks_on_exit:
            return
        record = self.record
        if record is None:
            raise AssertionError("Expected record to be set")
        torch.ops.profiler._record_function_exit(record)

    def _call_end_callbacks_on_future(self, fut: Future[Any]) -> Future[Any]:
        if not self.run_callbacks_on_exit:
            raise RuntimeError("_call_end_callbacks_on_future can only be called once.")
        self.run_callbacks_on_exit = False
        record = self.record
        if record is None:
            raise AssertionError("Expected record to be set")
        return torch.ops.profiler._call_end_callbacks_on_jit_fut(record, fut)
`;

/** What the pass for autocast reads of an object is what `__init__` sets; the rest is PyTorch's own affair. */
const AUTOCAST_METHODS = `
    def __enter__(self):
        return self

    def __exit__(self, exc_type: Any, exc_val: Any, exc_tb: Any):
        return

    def __call__(self, func):
        return func
`;

export const AUTOCAST = `
class autocast:
    def __init__(self, device_type: str, dtype: Optional[int] = None, enabled: bool = True, cache_enabled: Optional[bool] = None):
        self.fast_dtype = torch.get_autocast_dtype(device_type) if dtype is None else dtype
        self._enabled = enabled
        self.device = device_type
${AUTOCAST_METHODS}`;

/** Those of one device; the code of a dtype is its default. */
const autocastOn = (device: string, dtype: number): string => `
class autocast:
    def __init__(self, enabled: bool = True, dtype: int = ${dtype}, cache_enabled: bool = True):
        self._enabled = enabled
        self.device = "${device}"
        self.fast_dtype = dtype
${AUTOCAST_METHODS}`;

export const CUDA_AUTOCAST = autocastOn('cuda', 5);
export const CPU_AUTOCAST = autocastOn('cpu', 15);
