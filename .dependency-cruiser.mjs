// Data goes down this list and never back up: a package imports only from packages named before it.
const packagesInOrder = [
  'ir',
  'tensor',
  'frontend',
  'archive',
  'tensorexpr',
  'operators',
  'passes',
  'runtime',
  'webgpu-fuser',
  'wasm-fuser',
  'webgpu',
  'cresset',
];

const directionRules = packagesInOrder.map((name, index) => ({
  name: `${name}-imports-upwards`,
  comment: `packages/${name} may import only from: ${packagesInOrder.slice(0, index).join(', ') || 'no package'}`,
  severity: 'error',
  from: { path: `^packages/${name}/src/` },
  to: { path: '^packages/', pathNot: `^packages/(${packagesInOrder.slice(0, index + 1).join('|')})/src/` },
}));

/** @type {import('dependency-cruiser').IConfiguration} */
export default {
  forbidden: [
    ...directionRules,
    {
      name: 'package-without-a-place',
      comment: 'Every package has a place in packagesInOrder above',
      severity: 'error',
      from: { path: '^packages/', pathNot: `^packages/(${packagesInOrder.join('|')})/` },
      to: {},
    },
    {
      name: 'not-through-the-front-door',
      comment:
        "Another package is imported by its name ('@cresset/ir'), never by a path into it; parts have names of their own ('@cresset/runtime/parts/saving')",
      severity: 'error',
      from: { path: '^packages/([^/]+)/' },
      to: {
        path: '^packages/([^/]+)/src/',
        pathNot: ['^packages/$1/', '^packages/[^/]+/src/index\\.ts$', '^packages/[^/]+/src/parts/'],
      },
    },
    {
      name: 'library-imports-an-application',
      comment: 'The packages stand without the playground, the conformance runner and the end-to-end tests',
      severity: 'error',
      from: { path: '^packages/' },
      to: { path: '^(apps|conformance|e2e)/' },
    },
    {
      name: 'library-imports-node',
      comment: 'The library runs in a page: nothing of Node outside its tests and benches',
      severity: 'error',
      from: { path: '^packages/', pathNot: '\\.test\\.ts$|-fixture\\.ts$|^packages/[^/]+/bench/' },
      to: { dependencyTypes: ['core'] },
    },
    {
      name: 'circular',
      comment:
        'Files import in one direction too; only types may refer to each other, since they vanish before anything runs',
      severity: 'error',
      from: {},
      to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } },
    },
    {
      name: 'unresolvable',
      severity: 'error',
      from: {},
      // The bench installs what it compares with when it is run.
      to: { couldNotResolve: true, pathNot: '^(virtual:|onnxruntime-web|@tensorflow/|@jax-js/)' },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    // Applications have packages of their own, which are installed where they are built.
    exclude: { path: '(^|/)dist/|^e2e/apps/' },
    tsConfig: { fileName: 'tsconfig.json' },
    // Type imports count: a type that comes from below ties two packages together as firmly as a value.
    tsPreCompilationDeps: true,
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'default'],
      extensions: ['.ts', '.mjs', '.js', '.json'],
    },
  },
};
