import { useState } from 'preact/hooks';
import { bundledModel, type ModelSource } from './model-source.ts';
import { SourceEditor } from './source-editor.tsx';

function lastPart(address: string): string {
  return address.split(/[?#]/)[0].split('/').findLast(Boolean) ?? address;
}

/** The bundled model, a file of one's own, an address, or source. */
export function ModelPicker({ onPick }: { onPick: (source: ModelSource) => void }) {
  const [address, setAddress] = useState('');
  const [isWriting, setIsWriting] = useState(false);
  return (
    <div class="stack">
      <PickerRow
        address={address}
        onAddress={setAddress}
        isWriting={isWriting}
        onWrite={setIsWriting}
        onPick={onPick}
      />
      {isWriting && <SourceEditor onPick={onPick} />}
    </div>
  );
}

interface RowProperties {
  readonly address: string;
  readonly onAddress: (address: string) => void;
  readonly isWriting: boolean;
  readonly onWrite: (isWriting: boolean) => void;
  readonly onPick: (source: ModelSource) => void;
}

function PickerRow({ address, onAddress, isWriting, onWrite, onPick }: RowProperties) {
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
          onInput={(event) => onAddress(event.currentTarget.value)}
        />
        <button type="submit">Load</button>
      </form>
      <button type="button" aria-expanded={isWriting} onClick={() => onWrite(!isWriting)}>
        Write one
      </button>
    </div>
  );
}
