import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { unzipSync } from 'fflate';
import { tokensOf } from './text-mutation.ts';
import type { ArchiveFiles } from './zip-mutation.ts';

/** One archive to start from: its bytes, and what is in it. */
export interface SeedArchive {
  readonly name: string;
  readonly bytes: Uint8Array;
  /** Empty for a file that is no zip. */
  readonly files: ArchiveFiles;
}

/** What mutations start from. */
export interface SeedFiles {
  readonly modules: readonly SeedArchive[];
  readonly checkpoints: readonly SeedArchive[];
  /** Groups of definitions that go together. */
  readonly programs: readonly string[];
  readonly graphs: readonly string[];
  readonly schemas: readonly string[];
  /** Tokens of programs, and of graphs, to put into others. */
  readonly programTokens: readonly string[];
  readonly graphTokens: readonly string[];
}

export function readSeedFiles(folder: string): SeedFiles {
  const text = (name: string): string => readFileSync(join(folder, name), 'utf8');
  const archives = readdirSync(folder)
    .filter((name) => /\.pt2?$/.test(name))
    .sort()
    .map((name) => readArchive(folder, name));
  const programs = text('programs.py').split('\n# ---\n');
  const graphs = text('graphs.txt').split('---\n');
  return {
    modules: archives.filter(({ name }) => !name.includes('checkpoint')),
    checkpoints: archives.filter(({ name }) => name.includes('checkpoint')),
    programs,
    graphs,
    schemas: text('schemas.txt').trim().split('\n'),
    programTokens: [...new Set(programs.flatMap(tokensOf))],
    graphTokens: [...new Set(graphs.flatMap(tokensOf))],
  };
}

function readArchive(folder: string, name: string): SeedArchive {
  const bytes = new Uint8Array(readFileSync(join(folder, name)));
  const isZip = bytes[0] === 0x50 && bytes[1] === 0x4b;
  return { name, bytes, files: new Map(isZip ? Object.entries(unzipSync(bytes)) : []) };
}
