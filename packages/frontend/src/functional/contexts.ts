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
