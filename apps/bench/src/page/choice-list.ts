import { element } from './element.ts';

export interface Choice {
  readonly value: string;
  readonly label: string;
  readonly title?: string;
}

/** Boxes to be ticked, all of them or none by a click. */
export class ChoiceList {
  readonly root: HTMLFieldSetElement;
  readonly #boxes: HTMLInputElement[];

  constructor(legend: string, choices: readonly Choice[], isChosen: (value: string) => boolean) {
    this.#boxes = choices.map(({ value }) =>
      element('input', { type: 'checkbox', value, checked: isChosen(value), name: legend }),
    );
    const labels = choices.map(({ label, title = '' }, at) =>
      element('label', { className: 'choice', title }, this.#boxes[at], element('span', {}, label)),
    );
    const all = element('button', { type: 'button', textContent: 'all', className: 'quiet' });
    const none = element('button', { type: 'button', textContent: 'none', className: 'quiet' });
    all.onclick = () => this.#tick(true);
    none.onclick = () => this.#tick(false);
    this.root = element(
      'fieldset',
      {},
      element('legend', {}, legend),
      element('div', { className: 'choices' }, ...labels),
      element('div', { className: 'row' }, all, none),
    );
  }

  get chosen(): string[] {
    return this.#boxes.filter(({ checked }) => checked).map(({ value }) => value);
  }

  set disabled(disabled: boolean) {
    this.root.disabled = disabled;
  }

  #tick(checked: boolean): void {
    for (const box of this.#boxes) box.checked = checked;
    this.root.dispatchEvent(new Event('change'));
  }
}
