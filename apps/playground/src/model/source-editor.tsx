import { useState } from 'preact/hooks';
import type { ModelSource } from './model-source.ts';

const EXAMPLE = `def forward(self, x: Tensor, steps: int = 3) -> Tensor:
    for _ in range(steps):
        x = torch.tanh(x) * self.gain(x)
    return F.softmax(x, dim=-1)

def gain(self, x: Tensor) -> Tensor:
    return 1.0 + x.abs().mean()
`;

let compiled = 0;

/** Methods of a module as text; compiled, they are a model like any other. */
export function SourceEditor({ onPick }: { onPick: (source: ModelSource) => void }) {
  const [code, setCode] = useState(EXAMPLE);
  return (
    <form
      class="stack"
      aria-label="Source of a module"
      onSubmit={(event) => {
        event.preventDefault();
        onPick({ name: `module ${++compiled}`, code });
      }}
    >
      <label class="field">
        methods of a module, in TorchScript
        <textarea
          class="source"
          value={code}
          rows={12}
          spellcheck={false}
          onInput={(event) => setCode(event.currentTarget.value)}
        />
      </label>
      <div class="row">
        <button type="submit" class="main">
          Compile
        </button>
      </div>
    </form>
  );
}
