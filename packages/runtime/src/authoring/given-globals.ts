import { functionOfPlaceholder, type GivenValue, type GivenValues } from '@cresset/frontend';
import { operatorRegistry, type Symbol } from '@cresset/ir';
import { registerOutsideFunction, runInPage } from './custom-operators.ts';
import { NAMESPACE, wholeNumbers, type FunctionProgram, type SourceProgram } from './source-program.ts';
import type { WireGlobal, WireValue } from '../worker/wire/protocol.ts';
import type { WorkerHost } from '../worker/worker-host.ts';

/** What a page gives the source of a program by name. Functions of the page are operators as long as the program lives. */
export function givenGlobals(
  globals: readonly (readonly [name: string, value: WireGlobal])[],
  program: SourceProgram,
  host: WorkerHost,
): GivenValues {
  return new Map(globals.map(([name, wire]) => [name, givenGlobal(name, wire, program, host)]));
}

function givenGlobal(name: string, wire: WireGlobal, program: SourceProgram, host: WorkerHost): GivenValue {
  const read = (value: WireValue): ReturnType<typeof wholeNumbers> => wholeNumbers(program.reader().inferred(value));
  switch (wire.kind) {
    case 'value':
      return { kind: 'value', value: read(wire.value) };
    case 'enum':
      return { kind: 'enum', members: wire.members.map(([member, value]) => [member, read(value)] as const) };
    case 'outside': {
      const kinds: Symbol[] = [];
      program.ends.push(() => kinds.forEach((kind) => operatorRegistry.unregister(kind)));
      const register = (schema: Parameters<typeof registerOutsideFunction>[0]): Symbol => {
        const kind = registerOutsideFunction(schema, wire.operator, (call) => runInPage(call, host));
        kinds.push(kind);
        return kind;
      };
      return { kind: 'outside', signature: wire.signature, register };
    }
    case 'member':
      return { kind: 'member', member: programOf(wire.model, host).member(wire.name)! };
    case 'unit': {
      const unit = programOf(wire.model, host);
      return { kind: 'unit', member: (member) => unit.member(member) };
    }
    case 'module': {
      const module = host.model(wire.model).receiver(wire.path);
      const fn = functionOfPlaceholder(module.type, `${NAMESPACE}.${name}`);
      if (fn !== undefined) return { kind: 'member', member: fn };
      program.shared.push(module);
      return { kind: 'module', module };
    }
    default:
      return wire;
  }
}

function programOf(model: number, host: WorkerHost): FunctionProgram {
  return host.model(model) as FunctionProgram;
}
