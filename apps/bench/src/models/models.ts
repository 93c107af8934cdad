import type { ModelEntry } from './bench-model.ts';
import { caseModel, type ModelFolder } from './case-models.ts';
import { programModels, trainingModels } from './program-models.ts';
import { sileroVad } from './silero-vad.ts';

/** What the bench makes itself, and the whole models of a folder where there is one. */
export function allModels(folder: ModelFolder | null): readonly ModelEntry[] {
  const found = folder?.names.map((name) => (name === 'silero-vad' ? sileroVad(folder) : caseModel(folder, name)));
  return [...programModels, ...trainingModels, ...(found ?? [])];
}
