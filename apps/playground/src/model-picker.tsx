import { useState } from 'preact/hooks';

/** Where a model comes from. */
export interface ModelSource {
  readonly name: string;
  /** An address, or the file itself. */
  readonly input: string | File;
}

export const bundledModel: ModelSource = { name: 'digits.pt', input: './models/digits.pt' };

function lastPart(address: string): string {
  return address.split(/[?#]/)[0].split('/').findLast(Boolean) ?? address;
}

/** The bundled model, a file of one's own, or an address. */
export function ModelPicker({ onPick }: { onPick: (source: ModelSource) => void }) {
  const [address, setAddress] = useState('');
  return (
    <div class="row" role="group" aria-label="Choose a model">
      <button type="button" onClick={() => onPick(bundledModel)}>
        Handwritten digits
      </button>
      <label class="button">
        Choose a .pt file…
        <input
          type="file"
          accept=".pt,.pth,.ptl,.zip"
          onChange={(event) => {
            const file = event.currentTarget.files?.[0];
            // The same file, chosen again after it was changed, is a change too.
            event.currentTarget.value = '';
            if (file) onPick({ name: file.name, input: file });
          }}
        />
      </label>
      <form
        class="url"
        onSubmit={(event) => {
          event.preventDefault();
          if (address.trim() !== '') onPick({ name: lastPart(address.trim()), input: address.trim() });
        }}
      >
        <input
          type="text"
          inputMode="url"
          aria-label="Address of a .pt file"
          placeholder="or the address of one"
          value={address}
          onInput={(event) => setAddress(event.currentTarget.value)}
        />
        <button type="submit">Load</button>
      </form>
    </div>
  );
}
